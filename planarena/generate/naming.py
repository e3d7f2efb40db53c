"""Which records people call by their own names, which by what tells them from others, and which only once they were shown.

A person who wants something changed says which thing: the card "Show prices offline", invoice 2603-0761. A description
is for what has no name yet, or for one that is picked by what it is like: the cheapest flight, the next free slot.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from planarena.environments.wording import (
    Path,
    Record,
    Reference,
    ToolWording,
    names_in,
    parse_pointer,
    schema_at,
)
from planarena.generate.spelling import PLAIN
from planarena.generate.templates import Segment, parse_template, render_record
from planarena.tasks.atoms import resolve
from planarena.tools.tool import Tool

__all__ = ["must_be_told", "naming_phrases", "said_by_name"]

# Described values that no request should make its reader work out.
_DERIVED = frozenset({"date", "datetime", "time", "money", "minutes", "percent", "temperature"})


def naming_phrases(
    tool: Tool, words: ToolWording, pointer: str, arguments: Mapping[str, Any], result: Any
) -> tuple[str, ...]:
    """Return the templates that call the record of a pointer by its name; none where that name is not its own alone.

    Args:
        tool: The tool of the look-up.
        words: Its words.
        pointer: Into its result.
        arguments: The look-up's, each of which a phrase says.
        result: What it gave.
    """
    found = _of_list(words, pointer)
    if found is None:
        return ()
    record, path = found
    schema = schema_at(tool.output_schema, parse_pointer(pointer)) or {}
    if not record.named or not schema.get("x-hidden"):
        return ()
    if not _is_own(tool, words.refer.get(pointer), record, pointer):
        return ()
    rows, own = resolve(result, path[:-1]), resolve(result, path)
    fields = schema_at(tool.output_schema, path) or {}
    name = render_record(record.name, own, fields, PLAIN)
    rows = rows if isinstance(rows, list) else []
    if name is None:
        return ()
    fitting = tuple(
        one
        for one in record.named
        if not _unsaid(one, name, arguments) and _is_alone(rows, own, parse_template(one))
    )
    at = "".join(f"/{word}" for word in path)
    return tuple(_placed(one, at) for one in fitting)


def _is_alone(rows: Sequence[Any], own: Any, phrase: Sequence[Segment]) -> bool:
    """Say whether no other record of a list has the values that a phrase says of one."""
    fields = [part.text[1:] for part in phrase if part.kind == "result"]
    alike = [
        row
        for row in rows
        if isinstance(row, dict) and all(row.get(field) == own.get(field) for field in fields)
    ]
    return bool(fields) and len(alike) == 1


def said_by_name(phrase: str, name: str, arguments: Mapping[str, Any]) -> dict[str, str]:
    """Return by argument that a phrase leaves out the text that the name says for it: "catering" in "Catering for two"."""
    found = {}
    for argument in sorted(arguments.keys() - names_in(phrase)):
        value = arguments[argument]
        for text in (value, value[:1].upper() + value[1:]) if isinstance(value, str) and value else ():
            if re.search(rf"(?<!\w){re.escape(text)}(?!\w)", name):
                found[argument] = text
                break
    return found


def _unsaid(phrase: str, name: str, arguments: Mapping[str, Any]) -> set[str]:
    return set(arguments) - names_in(phrase) - said_by_name(phrase, name, arguments).keys()


@lru_cache(maxsize=8192)
def _placed(phrase: str, at: str) -> str:
    """Return a phrase over the fields of a record as one over the whole result."""
    return re.sub(r"\{/", "{" + at + "/", phrase)


def must_be_told(
    tool: Tool,
    words: ToolWording,
    pointer: str,
    arguments: Mapping[str, Any],
    result: Any,
    *,
    writes: bool,
) -> bool:
    """Say whether a request may speak of a value only after an answer has told it.

    "The second card due in the backlog", or "the day on which the first of them is back", is a puzzle; "the cheapest
    flight to Rome" and "the manager of Ada" are none.

    Args:
        tool: The tool of the look-up.
        words: Its words.
        pointer: Into its result.
        arguments: The look-up's.
        result: What it gave.
        writes: Whether what takes the value up changes something.
    """
    reference = words.refer.get(pointer)
    if reference is None:
        return False
    if reference.untold:
        return reference.untold == "never" or (reference.untold == "look_ups" and writes)
    path = parse_pointer(pointer)
    found = _of_list(words, pointer)
    if found is None:
        # The day of an event is looked up; what is done on it is asked for once it is known.
        return _is_derived(tool, path)
    record, _ = found
    if not _is_own(tool, reference, record, pointer):
        return True
    if naming_phrases(tool, words, pointer, arguments, result):
        return False
    first = all(word == 0 for word in path if isinstance(word, int))
    return not first or (writes and bool(record.named))


def _of_list(words: ToolWording, pointer: str) -> tuple[Record, Path] | None:
    """Return the words and the path of the record of a list in which a value stands."""
    path = parse_pointer(pointer)
    for place, word in enumerate(path):
        if isinstance(word, int):
            at = "".join(f"/{one}" for one in path[:place])
            return words.records.get(at, _NO_WORDS), path[: place + 1]
    return None


_NO_WORDS = Record("", "")


def _is_own(tool: Tool, reference: Reference | None, record: Record, pointer: str) -> bool:
    """Say whether a value stands for its record: its id, or what the record goes by."""
    path = parse_pointer(pointer)
    last = next((word for word in reversed(path) if isinstance(word, str)), "")
    if reference is not None and reference.noun and reference.noun != record.noun:
        return False
    schema = schema_at(tool.output_schema, path) or {}
    return bool(schema.get("x-hidden")) or names_in(record.name) == {last}


def _is_derived(tool: Tool, path: Path) -> bool:
    schema = schema_at(tool.output_schema, path) or {}
    return schema.get("x-surface") in _DERIVED
