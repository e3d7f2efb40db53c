"""What is drafted, by whom, and what it may cost."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from planarena.errors import ConfigError, UserError
from planarena.llm import Budget

__all__ = ["DraftConfig", "names_of", "read_topics"]

_LITTLE = frozenset("a an and at by for from in of on or our the their to with".split())
_LONGEST_TOPIC = 400
_MOST_BYTES = 4 << 20


class DraftConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The settings of drafting.

    Attributes:
        topics: What each environment is about, in a few words.
        model: Who drafts.
        out: The folder that the environments' folders are written to.
        tools: Fewest and most tools of one.
        repairs: How often each part is repaired with the findings before it is given up.
        tasks: Fewest composed tasks of two, three and four actions that must pass the proofs.
        budget: Most to spend, with what earlier calls over the same `out` spent.
        workers: Environments at a time.
        temperature: Of the model; None leaves it to the model.
        max_tokens: Of one answer.
        timeout: Seconds for one attempt at an answer, from sending to the last byte.
        attempts: Attempts at one answer before its environment is given up.
        start_seconds: What the code of a draft may take to be imported in the sandbox.
        retry_failed: Draft those that were given up once more.
    """

    topics: tuple[str, ...]
    model: str
    out: str
    tools: tuple[int, int] = (8, 14)
    repairs: int = 3
    tasks: int = 3
    budget: Budget = Budget()
    workers: int = 2
    temperature: float | None = None
    max_tokens: int = 16_000
    timeout: float = 600.0
    attempts: int = 6
    start_seconds: float = 15.0
    retry_failed: bool = False

    def check(self) -> None:
        """Refuse settings that mean nothing.

        Raises:
            ConfigError: There is one.
        """
        if not self.topics:
            raise ConfigError(
                "no topic is named", where="TOPIC", fix='name one, as "the desk of a car rental"'
            )
        for topic in self.topics:
            if not re.search(r"[A-Za-z]{2}", topic) or len(topic) > _LONGEST_TOPIC:
                raise ConfigError(
                    f"{topic[:60]!r} is no topic", where="TOPIC", fix="say in a few words what it is about"
                )
        if not 3 <= self.tools[0] <= self.tools[1] <= 30:
            raise ConfigError(f"{self.tools} tools", where="tools", fix="give two numbers from 3 to 30")
        if not self.timeout > 0:
            raise ConfigError(f"is {self.timeout}", where="timeout", fix="give seconds above 0")
        least_of = {"repairs": 0, "tasks": 1, "workers": 1, "max_tokens": 256, "attempts": 1}
        for name, least in least_of.items():
            if getattr(self, name) < least:
                raise ConfigError(f"is {getattr(self, name)}", where=name, fix=f"give {least} or more")


def read_topics(file: Path, count: int) -> tuple[str, ...]:
    """Return the first topics of a file, one a line; empty lines and those that begin with `#` are left out.

    Args:
        file: The file.
        count: How many; 0 for all.

    Raises:
        UserError: It cannot be read, or holds fewer.
    """
    try:
        with file.open("rb") as handle:
            data = handle.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise UserError(
                f"is longer than {_MOST_BYTES >> 20} MiB",
                where=str(file),
                fix="give a text file, one topic a line",
            )
        lines = [line.strip() for line in data.decode().splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(
            f"cannot be read: {error}", where=str(file), fix="give a text file, one topic a line"
        ) from error
    topics = tuple(dict.fromkeys(line for line in lines if line and not line.startswith("#")))
    if len(topics) < max(count, 1):
        raise UserError(
            f"holds {len(topics)} topics", where=str(file), fix=f"write {max(count, 1)}, one a line"
        )
    return topics[:count] if count else topics


def names_of(topics: tuple[str, ...]) -> list[str]:
    """Return the name of each topic's folder: its first telling words, and a number where two are alike.

    >>> names_of(("The front desk of a car rental", "front desk, car rental"))
    ['front_desk_car_rental', 'front_desk_car_rental_2']
    """
    names: list[str] = []
    for topic in topics:
        words = [word for word in re.findall(r"[a-z][a-z0-9]*", topic.lower()) if word not in _LITTLE]
        name = "_".join(words[:4])[:36] or "environment"
        number, found = 1, name
        while found in names:
            number += 1
            found = f"{name}_{number}"
        names.append(found)
    return names
