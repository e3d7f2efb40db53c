"""The small language of the words files: `docs/wording.md` describes it.

`{name}` is an argument, `{/pointer}` a value of the result, `{/count|card|cards}` a number with its noun, `{/cards*}` the
records of a list; `[...]` is left out when something inside it is absent.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, NamedTuple

from planarena.environments.wording import parse_pointer, schema_at
from planarena.generate.spelling import Style, spell
from planarena.generate.surfaces import surface
from planarena.tools.tool import Tool

__all__ = [
    "Segment",
    "counted",
    "field_schema",
    "parse_template",
    "render_record",
    "segments_of",
    "text_after",
]

_PART = re.compile(r"\[([^\[\]]*)\]|\{([^{}]*)\}|([^\[\]{}]+)")


_FIELDS: dict[tuple[int, str], tuple[Tool, dict[str, Any]]] = {}
_MOST_FIELDS = 50_000


def field_schema(tool: Tool, pointer: str) -> dict[str, Any]:
    """Return the schema of a value in a tool's result, empty where there is none; looked up once a tool."""
    known = _FIELDS.get((id(tool), pointer))
    if known is None:
        if len(_FIELDS) > _MOST_FIELDS:
            _FIELDS.clear()
        # The tool is kept, so that no other one ever gets its place in memory.
        found = schema_at(tool.output_schema, parse_pointer(pointer)) or {}
        known = _FIELDS[id(tool), pointer] = tool, found
    return known[1]


class Segment(NamedTuple):
    """A part of a template.

    Attributes:
        kind: `text`, `argument`, `result`, `rows` or `optional`.
        text: The words, the argument's name or the pointer.
        inner: The parts of an optional one.
        noun: Singular and plural of what is counted; empty for a value alone.
    """

    kind: str
    text: str
    inner: tuple[Segment, ...] = ()
    noun: tuple[str, ...] = ()


@lru_cache(maxsize=16384)
def parse_template(template: str) -> tuple[Segment, ...]:
    """Split a template into segments.

    Raises:
        ValueError: Brackets or braces that do not match.
    """
    found, place = [], 0
    for part in _PART.finditer(template):
        if part.start() != place:
            raise ValueError(f"cannot read the template {template!r} at character {place}")
        place = part.end()
        optional, name, text = part.groups()
        if optional is not None:
            found.append(Segment("optional", "", parse_template(optional)))
        elif name is not None:
            found.append(_placeholder(name))
        else:
            found.append(Segment("text", text))
    if place != len(template):
        raise ValueError(f"cannot read the template {template!r} at character {place}")
    return tuple(found)


def segments_of(template: str, style: Style) -> tuple[Segment, ...]:
    """Return the segments of a template with its own words in a style.

    Raises:
        ValueError: Brackets or braces that do not match.
    """
    if style.british and not style.contracted:
        return parse_template(template)
    return _spelled(template, style.british, style.contracted)


@lru_cache(maxsize=32768)
def _spelled(template: str, british: bool, contracted: bool) -> tuple[Segment, ...]:
    style = Style(british, contracted)

    def written(segments: tuple[Segment, ...]) -> tuple[Segment, ...]:
        return tuple(
            Segment(
                kind,
                spell(text, style) if kind == "text" else text,
                written(inner),
                tuple(spell(word, style) for word in noun),
            )
            for kind, text, inner, noun in segments
        )

    return written(parse_template(template))


def _placeholder(name: str) -> Segment:
    head, *noun = name.split("|")
    if head.endswith("*"):  # "{*}": the whole result is the list
        return Segment("rows", head[:-1])
    if head[:1] not in {"", "/"}:
        return Segment("argument", head, (), tuple(noun))
    return Segment("result", head, (), tuple(noun))


def counted(value: Any, text: str, noun: tuple[str, ...]) -> str:
    """Write a number with the noun that agrees with it."""
    if len(noun) != 2 or isinstance(value, bool) or not isinstance(value, int | float):
        return text
    one, many = noun
    if value == 0:
        return f"no {many}"
    return f"{text} {one if value == 1 else many}"


def render_record(template: str, record: Any, schema: Any, style: Style) -> str | None:
    """Write a record by a template over its fields; None where it lacks one."""
    if not isinstance(record, dict):
        return None
    properties = schema.get("properties", {}) if isinstance(schema, dict) else {}
    return _render_fields(segments_of(template, style), record, properties, style)


def _render_fields(
    segments: tuple[Segment, ...], record: dict[str, Any], properties: dict[str, Any], style: Style
) -> str | None:
    out = []
    for kind, text, inner, noun in segments:
        if kind == "text":
            out.append(text)
        elif kind == "optional":
            out.append(_render_fields(inner, record, properties, style) or "")
        else:
            value = record.get(text)
            if value in (None, [], ""):
                return None
            said = surface(value, properties.get(text, {}), style.manner, None, style.year)
            out.append(counted(value, said, noun))
    return "".join(out)


def text_after(segments: tuple[Segment, ...], place: int) -> str:
    """Return the words that follow a placeholder, as far as they are of the template."""
    for kind, text, inner, _ in segments[place + 1 :]:
        if kind == "text":
            return text
        if kind == "optional":
            return inner[0].text if inner and inner[0].kind == "text" else " "
        return " "
    return ""
