"""What a policy speaks: one parser and one renderer per format."""

from __future__ import annotations

from difflib import get_close_matches

from planarena.errors import UserError
from planarena.formats.blocks import BlockError, read_json
from planarena.formats.chord import Chord
from planarena.formats.hermes import Hermes
from planarena.formats.math import Math
from planarena.formats.native import Native
from planarena.formats.parsed import Call, Category, Gold, Parsed, Segment, SegmentKind, Span, TokenType
from planarena.formats.planarena import Answer, Parameters, Params, PlanArena, Think
from planarena.formats.reading import READERS, Reading, read_output, write_output
from planarena.formats.tagged import Format
from planarena.formats.token_types import decode_with_offsets, selective_keep, token_types
from planarena.formats.toolrl import ToolRL
from planarena.formats.toolupt import ToolUPT

__all__ = [
    "READERS",
    "BlockError",
    "Call",
    "Category",
    "Format",
    "Gold",
    "Native",
    "Parsed",
    "Reading",
    "Segment",
    "SegmentKind",
    "Span",
    "TokenType",
    "decode_with_offsets",
    "get",
    "names",
    "read_json",
    "read_output",
    "selective_keep",
    "token_types",
    "write_output",
]

_FORMATS: dict[str, Format] = {
    form.name: form
    for form in (
        PlanArena(),
        ToolRL(),
        ToolUPT(),
        Chord(),
        Math(),
        Hermes(),
        Native(),
        Think(),
        Parameters(),
        Params(),
        Answer(),
    )
}


def names() -> tuple[str, ...]:
    """Return the names of all formats."""
    return tuple(_FORMATS)


def get(name: str) -> Format:
    """Return a format by name.

    Raises:
        UserError: When there is none of that name.
    """
    form = _FORMATS.get(name)
    if form is None:
        near = get_close_matches(name, _FORMATS, n=1)
        fix = f"write {near[0]!r}" if near else "write one of: " + ", ".join(_FORMATS)
        raise UserError(f"there is no format {name!r}", fix=fix)
    return form
