"""What an environment is: a class whose typed methods are tools over a `View` of the state, in a folder.

The folder bears the name of the domain and is opened by `planarena.environments.folders.open_folder`:

| file | holds |
|---|---|
| `environment.py` | the one class: its tools, and the state that they keep through `self.state` |
| `world.py` | the seed, the proposals, and what else makes a world |
| `words.yaml` | how people ask for, plan, report and refer to things: `planarena.environments.wording` |
| `seeds.yaml` | names, texts and situations that worlds are drawn from: `Environment.seeds` |
| `README.md` | one screen for readers: its tools, and one request with its trajectory |

    class Shed(Environment):
        domain = "shed"
        summary = "A garden shed: tools that are lent and come back."

        @classmethod
        def seed(cls, rng, shared=None):
            rows = {name: {"lent_to": ""} for name in rng.sample(cls.seeds()["tools"], 5)}
            facts = {"now": "2026-05-04T09:00", "user_name": "Ana Costa"}
            return Seed({"tools": rows}, "A garden shed", "Ana lends her garden tools.", facts)

        @tool("update")
        def lend_tool(self, name: ToolName, to: Person) -> Loan:
            '''Lend a tool that is in the shed to somebody.

Args:
                name: Which tool.
                to: Who borrows it.
            '''
            if self.require("tools", name, "tool")["lent_to"]:
                raise ToolError("lent_already", f"The {name} is lent already.")
            self.state.patch("tools", name, lent_to=to)
            return {"name": name, "lent_to": to}
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b
from pathlib import Path
from random import Random
from typing import Any, ClassVar, Literal, TypeVar

import msgspec

from planarena.data import load_yaml
from planarena.environments.shapes import Shape
from planarena.environments.state import Record, View
from planarena.errors import SourceError
from planarena.records.canonical import canonical_bytes
from planarena.records.foreign_yaml import bounded_yaml

__all__ = [
    "BOUND",
    "SEEDS",
    "WORDS",
    "Effect",
    "Environment",
    "Proposer",
    "Seed",
    "ToolError",
    "all_bound",
    "read_seeds",
    "tool",
]

SEEDS, WORDS = "seeds.yaml", "words.yaml"
Effect = Literal["read", "create", "update", "delete"]
_F = TypeVar("_F", bound=Callable[..., Any])
Proposer = Callable[[Any, Random], Iterable[dict[str, Any]]]


class ToolError(Exception):
    """An expected failure of a call: sold out, insufficient funds, wrong device state.

    It becomes the call's error result; the state is as before the call.

    Args:
        code: A stable word for programs, as `sold_out`.
        message: A sentence for people and models.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message)
        self.code, self.message = code, message


class _Bound:
    """The marker `BOUND`: a proposal leaves this argument to be bound to an earlier step's output."""

    def __repr__(self) -> str:
        return "BOUND"


BOUND: Any = _Bound()


def all_bound(*tools: str) -> dict[str, Proposer]:
    """Return proposals for tools that leave nothing to propose: every argument is bound, if there is one."""
    return dict.fromkeys(tools, lambda _env, _rng: [{}])


class Seed(msgspec.Struct, frozen=True):
    """The initial world of a scenario.

    Attributes:
        tables: `{table: {id: record}}`, table names without namespace.
        title: A few words, as "A weekend in Lisbon".
        description: A sentence or two on the situation.
        facts: What the user knows and may have told before, by name (`user_name`, `home_city`): JSON values.
            They form the scenario's context; a value found here counts as grounded.
        story: Values that proposals draw on so that the calls of a scenario belong together
            (destination, dates, people). Not shown to anybody.
    """

    tables: dict[str, dict[str, Record]]
    title: str
    description: str
    facts: dict[str, Any]
    story: dict[str, Any] = {}


class Environment:
    """Base of environments: deterministic, stateful, undoable.

    A subclass sets `domain`, `summary` and `proposals`, defines `seed` and tools (methods marked with `@tool`),
    and keeps all its state in `self.state`.

    Attributes:
        proposals: Tool -> function of the environment and a random source that gives dictionaries of literal
            arguments which make sense in the present state and story. Arguments whose semantic type is hidden are
            left out: composition binds them. `BOUND` as a value asks for the binding of one that is not hidden.
        state: The tables.
        facts: The seed's facts.
        story: The seed's story.
        now: The scenario's fixed "now", ISO 8601 without zone (`facts["now"]`); clocks do not tick per call.
    """

    domain: ClassVar[str]
    summary: ClassVar[str]
    proposals: ClassVar[Mapping[str, Proposer]] = {}

    def __init__(self, view: View, facts: Mapping[str, Any], story: Mapping[str, Any]) -> None:
        self.state = view
        self.facts = facts
        self.story = story
        self.now: str = facts["now"]

    @classmethod
    def seed(cls, rng: Random, shared: Mapping[str, Any] | None = None) -> Seed:
        """Make an initial world, a pure function of `rng` and `shared`.

        Args:
            rng: Chooses everything that is left open.
            shared: What the environments of one scenario have in common, or None where this is the only
                one: facts by name (`now`, `user_name`, `home_city`), and whatever the seeds of one family
                of environments agree on (ours: `planarena.environments.domains`). A seed that is given
                facts keeps to them.
        """
        raise NotImplementedError

    @classmethod
    def folder(cls) -> Path:
        """Return the folder that the class lies in."""
        return Path(str(sys.modules[cls.__module__].__file__)).parent

    @classmethod
    def seeds(cls) -> dict[str, Any]:
        """Return what `seeds.yaml` of the folder holds, read once per process; treat it as immutable.

        Raises:
            SourceError: There is no such file, or it holds no mapping.
        """
        known = _SEEDS.get(cls)
        if known is None:
            known = _SEEDS[cls] = read_seeds(cls.folder() / SEEDS)
        return known

    @classmethod
    def reference(cls) -> str:
        """Return where the environment is found, as tables name it: the package of its folder, and the class."""
        return f"{cls.__module__.removesuffix('.environment')}:{cls.__name__}"

    @staticmethod
    def new_id(prefix: str, *content: Any) -> str:
        """Return an id derived from content, so that two creates commute: equal content gives an equal id."""
        return f"{prefix}_{blake2b(canonical_bytes(list(content)), digest_size=5).hexdigest()}"

    @property
    def today(self) -> str:
        """The day of `now`, as `2026-05-04`."""
        return self.now[:10]

    def rows(self, table: str, **fields: Any) -> list[Record]:
        """Return the records of a table whose fields have these values: `self.rows("bills", status="unpaid")`."""
        found = list(self.state.scan(table))
        for name, value in fields.items():
            found = [row for row in found if row[name] == value]
        return found

    def require(self, table: str, key: str, noun: str) -> Record:
        """Return a record, or fail the call with `not_found`."""
        record = self.state.get(table, key)
        if record is None:
            raise ToolError("not_found", f"There is no {noun} with id {key}.")
        return record

    def named(self, table: str, noun: str, **field: str) -> Record:
        """Return the record that has a name in a field, as `name="Ana"`, or fail the call with `not_found`."""
        for record in self.rows(table, **field):
            return record
        raise ToolError("not_found", f"There is no {noun} named {', '.join(field.values())}.")

    def refuse_past(self, when: str) -> None:
        """Fail the call with `in_the_past` for a day before today, or a moment that is not after now."""
        if when <= self.now if "T" in when else when < self.today:
            raise ToolError("in_the_past", f"{when} has passed.")


_SEEDS: dict[type[Environment], dict[str, Any]] = {}


def read_seeds(file: Path) -> dict[str, Any]:
    """Read a `seeds.yaml`.

    Raises:
        SourceError: There is no such file, or it holds no mapping.
    """
    import yaml

    try:
        bounded_yaml(file)
        found = load_yaml(file)
    except (OSError, UnicodeError, yaml.YAMLError) as error:
        raise SourceError(
            f"cannot be read: {error}", where=str(file), fix="write it as a YAML mapping"
        ) from error
    if not isinstance(found, dict):
        raise SourceError("holds no mapping", where=str(file), fix="write `name: value` lines")
    return found


def tool(effect: Effect, gives: Shape | None = None, proposes: Proposer | None = None) -> Callable[[_F], _F]:
    """Mark a method of an `Environment` as a tool.

    Args:
        effect: `read` changes nothing; the others change the state.
        gives: The fields that the result shows; the method may return more (a whole record). Without it the
            method's return type says what the result is.
        proposes: As a line of `Environment.proposals`, which may say it instead.
    """

    def mark(function: _F) -> _F:
        function.__tool_effect__ = effect  # type: ignore[attr-defined]
        function.__tool_gives__ = gives  # type: ignore[attr-defined]
        function.__tool_proposes__ = proposes  # type: ignore[attr-defined]
        return function

    return mark
