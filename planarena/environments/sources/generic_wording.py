"""Plain words for tools that nobody wrote words for, made from names and roles."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from planarena.environments.sources.instances import Generator, NoInstanceError
from planarena.environments.sources.openapi.identifiers import words_of
from planarena.environments.wording import FIELD, Omission, Reference, ToolWording, parse_pointer

__all__ = ["Phrase", "is_nameable", "is_sayable", "reportable", "sayable_value", "tool_wording", "words_of"]

_PREFERRED = (
    "name",
    "title",
    "label",
    "subject",
    "summary",
    "status",
    "state",
    "type",
    "description",
    "email",
    "total",
    "value",
    "result",
    "text",
)
_LONGEST = 120
_MOST_RANKED = 12
# A sentence holds so many named values of an object, so many objects in one another, and so many objects in a row.
_MOST_LEAVES, _MOST_LEVELS, _MOST_OBJECTS = 8, 2, 3


class Phrase(NamedTuple):
    """What a tool does, in words that templates are made of.

    Attributes:
        ask: Phrases in the imperative, as "create a pet", with `{argument}` for what they name themselves.
        done: What to say when it is done, as "the pet is created".
        told: What its results are about, as "the pet".
    """

    ask: tuple[str, ...]
    done: str
    told: str


def is_nameable(argument: str, *, required: bool) -> bool:
    """Say whether a template can name an argument; an optional one stands in brackets itself."""
    return not re.search(r"[{}]" if required else r"[{}\[\]]", argument)


def is_sayable(value: Any) -> bool:
    """Say whether a value can stand in a sentence: scalars, lists of them, and small objects."""
    if isinstance(value, str):
        return (
            0 < len(value) <= _LONGEST and not re.search(r"[{}\[\]\n\r\t]", value) and value.strip() == value
        )
    if isinstance(value, bool | int | float):
        return True
    if isinstance(value, list) and not any(isinstance(item, dict | list) for item in value):
        return 0 < len(value) <= 6 and all(map(is_sayable, value))
    return isinstance(value, dict | list) and 0 < _leaves(value, 0) <= _MOST_LEAVES


def _leaves(value: Any, level: int) -> int:
    """Return how many scalars an object or a list of objects holds; more than allowed where one cannot be said."""
    refused = _MOST_LEAVES + 1
    if isinstance(value, list) and value and isinstance(value[0], dict):
        few = len(value) <= _MOST_OBJECTS and all(isinstance(item, dict) and item for item in value)
        return sum(_leaves(item, level) for item in value) if few else refused
    if isinstance(value, dict):
        labels = {words_of(str(key)) for key in value}
        plain = all(re.fullmatch(r"[^{}\[\]()\s]{1,40}", str(key)) for key in value)
        if not value or level >= _MOST_LEVELS or len(labels) < len(value) or "" in labels or not plain:
            return refused
        return sum(_leaves(item, level + 1) for item in value.values())
    items = value if isinstance(value, list) else [value]
    scalar = not any(isinstance(item, dict | list) for item in items)
    # Brackets are what keeps the parts of an object together.
    if not (scalar and is_sayable(value)) or any(re.search(r"[()\"]", str(item)) for item in items):
        return refused
    return len(items)


def sayable_value(generator: Generator, schema: Any, name: str) -> Any:
    """Return a value that can stand in a sentence, or None: an object is made smaller where its schema lets it."""
    for made_by in (generator, generator.with_few(2), generator.with_few(1)):
        try:
            value = made_by.value(schema, name, 2)
        except (NoInstanceError, RecursionError):
            return None
        if is_sayable(value):
            return value
        if not isinstance(value, dict | list):
            return None
    return None


def reportable(
    result: Any,
    avoid: Sequence[str] = (),
    within: Sequence[str | int] = (),
    lasting: Callable[[Sequence[str | int]], bool] = lambda _: True,
) -> tuple[str, ...]:
    """Choose what an answer reports of a result: at most two scalars, those with telling names first.

    Args:
        result: A sample result.
        avoid: Names of ids, taken only where there is nothing else.
        within: Where to look first.
        lasting: Says whether other results have a value at a path too; others are taken only where there is no such.

    Returns:
        JSON pointers.
    """
    found: list[tuple[tuple[int, int, int], str]] = []
    start = result
    for word in within:
        try:
            start = start[word]
        except (KeyError, IndexError, TypeError):
            start, within = result, ()
            break
    _collect(start, list(within), found, avoid)
    if not found and within:
        _collect(result, [], found, avoid)
    ranked = [pointer for _, pointer in sorted(found)]
    sure = [pointer for pointer in ranked[:_MOST_RANKED] if lasting(parse_pointer(pointer))]
    return tuple((sure or ranked)[:2])


def _collect(
    value: Any, path: list[str | int], found: list[tuple[tuple[int, int, int], str]], avoid: Sequence[str]
) -> None:
    if len(path) > 5 or len(found) > 200:
        return
    if isinstance(value, dict):
        for name, inner in value.items():
            if isinstance(name, str) and not re.search(r"[{}\[\]]", name) and not name.isdigit():
                _collect(inner, [*path, name], found, avoid)
    elif isinstance(value, list):
        if value:
            _collect(value[0], [*path, 0], found, avoid)
    elif isinstance(value, str | int | float) and not isinstance(value, bool) and is_sayable(value):
        last = next((word for word in reversed(path) if isinstance(word, str)), "")
        rank = next((n for n, word in enumerate(_PREFERRED) if word in last.lower()), len(_PREFERRED))
        is_id = (
            last in avoid or re.search(r"(^|_)id$|Id$|ID$|url$|Url$|href|token|hash|etag", last) is not None
        )
        pointer = "".join(f"/{str(word).replace('~', '~0').replace('/', '~1')}" for word in path)
        found.append(((int(is_id), len(path), rank), pointer))


def _label(name: str) -> str:
    return words_of(name) or "value"


def tool_wording(
    phrase: Phrase,
    arguments: Mapping[str, bool],
    outputs: Sequence[str],
    refer: Mapping[str, Reference],
    labels: Mapping[str, str] | None = None,
) -> ToolWording:
    """Make the words of a tool.

    Args:
        phrase: What it does.
        arguments: The arguments that the phrase does not name itself -> whether they are required.
        outputs: What answers report.
        refer: How its values are referred to.
        labels: What arguments are called, where their names do not say it.
    """
    called = {name: (labels or {}).get(name) or _label(name) for name in arguments}
    required = [name for name, must in arguments.items() if must]
    optional = [name for name, must in arguments.items() if not must and is_nameable(name, required=False)]
    ask = tuple(words + _tail(required, optional, called) for words in phrase.ask)
    missing = {
        name: Omission(
            tuple(
                words + _tail([other for other in required if other != name], optional, called)
                for words in phrase.ask
            ),
            called[name],
        )
        for name in required
    }
    values = " and ".join(f"{_label(_last(pointer))} {{{pointer}}}" for pointer in outputs)
    report: tuple[str, ...]
    if values:
        report = (
            f"{phrase.told} has {values}",
            f"{phrase.done}, with {values}" if phrase.done else f"for {phrase.told}, the answer is {values}",
        )
    else:
        report = (phrase.done or f"{phrase.told} is settled",)
    return ToolWording(
        ask=ask, plan=ask, outputs=tuple(outputs), report=report, refer=dict(refer), missing=missing
    )


def _tail(required: Sequence[str], optional: Sequence[str], called: Mapping[str, str]) -> str:
    fields = "".join(f"{FIELD}{called[name]} {{{name}}}" for name in required)
    return fields + "".join(f"[{FIELD}{called[name]} {{{name}}}]" for name in optional)


def _last(pointer: str) -> str:
    words = [
        word.replace("~1", "/").replace("~0", "~") for word in pointer.split("/")[1:] if not word.isdigit()
    ]
    return words[-1] if words else "value"
