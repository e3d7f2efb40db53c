"""JSON inside a call block: reading it in linear time without ever raising, writing it without tags."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

import orjson

from planarena.formats.parsed import Call
from planarena.records.canonical import canonical_bytes

__all__ = [
    "MAX_BLOCK",
    "MAX_DEPTH",
    "BlockError",
    "read_block",
    "read_call",
    "read_json",
    "write_call",
    "write_json",
    "write_lines",
    "write_list",
]

MAX_DEPTH = 100
"""Brackets may nest this deep: comparing and sorting deeper values would lean on the interpreter's stack."""
MAX_BLOCK = 1_000_000
"""Characters that one call block may hold."""

# The closing quote is optional and the repeat possessive, so an open string is passed once, not per quote.
_STRUCTURE = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[\]{}]', re.DOTALL)
_LONG_INTEGER = re.compile(r"\d{19}")
_TAG_LIKE = re.compile(r"<(?=/?\w+>|\|)")


class BlockError(ValueError):
    """The content of a call block is not what the format asks for; the message says why."""


def _refuse_wide(digits: str) -> int:
    value = int(digits)
    if not -(2**63) <= value < 2**64:
        raise ValueError(digits)
    return value


_INTEGERS = json.JSONDecoder(parse_int=_refuse_wide)


def _check_depth(text: str) -> None:
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    depth = 0
    for match in _STRUCTURE.finditer(text):
        mark = text[match.start()]
        if mark in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise BlockError(f"brackets nest deeper than {MAX_DEPTH}")
        elif mark in "]}":
            depth -= 1


def read_json(text: str) -> Any:
    """Read one JSON value that canonical JSON can hold.

    Args:
        text: Any text.

    Returns:
        The value; of a repeated key the last value stays.

    Raises:
        BlockError: When it is no JSON, NaN or infinite, nested deeper than MAX_DEPTH, longer than
            MAX_BLOCK, or holds a lone surrogate or an integer beyond 64 bits.
    """
    if len(text) > MAX_BLOCK:
        raise BlockError(f"more than {MAX_BLOCK} characters")
    _check_depth(text)
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise BlockError(f"no JSON: {error.msg}") from error
    # orjson turns a wider integer into a float: another number than the one written.
    if _LONG_INTEGER.search(text):
        try:
            _INTEGERS.decode(text)
        except ValueError as error:
            raise BlockError("an integer beyond 64 bits") from error
    return value


def read_call(value: Any, arguments_key: str) -> Call:
    """Read one call from a JSON value.

    Args:
        value: A JSON object with "name" and `arguments_key`; further keys are passed over.
        arguments_key: "arguments", "parameters" or "params".

    Raises:
        BlockError: When a key is missing or has the wrong type.
    """
    if type(value) is not dict:
        raise BlockError("a call is not a JSON object")
    name = value.get("name")
    if type(name) is not str or not name:
        raise BlockError('a call has no "name"')
    arguments = value.get(arguments_key)
    if type(arguments) is not dict:
        raise BlockError(f'a call has no object "{arguments_key}"')
    return Call(name, arguments)


def _split_values(text: str) -> list[str]:
    """Split white-space-separated JSON objects and lists; brackets in strings do not count."""
    values: list[str] = []
    depth = start = end = 0
    for match in _STRUCTURE.finditer(text):
        mark = text[match.start()]
        if mark in "[{":
            if depth == 0:
                start = match.start()
                if text[end:start].strip():
                    raise BlockError("text between the calls")
            depth += 1
            if depth > MAX_DEPTH:
                raise BlockError(f"brackets nest deeper than {MAX_DEPTH}")
        elif mark in "]}":
            depth -= 1
            if depth < 0:
                raise BlockError("a bracket is closed that was not opened")
            if depth == 0:
                end = match.end()
                values.append(text[start:end])
    if depth or text[end:].strip():
        raise BlockError("the last call is not complete")
    return values


def read_block(text: str, arguments_key: str) -> tuple[Call, ...]:
    """Read a call block: JSON objects, one per line or otherwise spaced, or one JSON list of objects.

    Args:
        text: The content between the tags.
        arguments_key: As in `read_call`.

    Returns:
        One or more calls.

    Raises:
        BlockError: When anything in the block is not a call, or there is none.
    """
    if len(text) > MAX_BLOCK:
        raise BlockError(f"more than {MAX_BLOCK} characters")
    body = text.strip()
    if not body:
        raise BlockError("no call in the block")
    if body[0] == "[":
        values = read_json(body)
        if not values:
            raise BlockError("no call in the block")
        return tuple([read_call(value, arguments_key) for value in values])
    try:
        return tuple([read_call(read_json(line), arguments_key) for line in body.split("\n")])
    except BlockError:
        # An object may be spread over lines, and two may share one: white space carries no meaning.
        parts = _split_values(body)
    if any(part[0] == "[" for part in parts):
        raise BlockError("a list beside other calls")
    return tuple([read_call(read_json(part), arguments_key) for part in parts])


def write_call(call: Call, arguments_key: str) -> dict[str, Any]:
    """Return the JSON object of a call.

    Raises:
        CanonicalError: When the arguments are not JSON that canonical JSON accepts.
    """
    canonical_bytes(call.arguments)
    return {"name": call.name, arguments_key: call.arguments}


def write_json(value: Any) -> str:
    """Write JSON on one line; what looks like a tag or a control mark inside a string is escaped."""
    return _TAG_LIKE.sub(r"\\u003c", json.dumps(value, ensure_ascii=False, allow_nan=False))


def write_lines(calls: Iterable[Call], arguments_key: str) -> str:
    """Write calls as JSON objects, one per line."""
    return "\n".join(write_json(write_call(call, arguments_key)) for call in calls)


def write_list(calls: Iterable[Call], arguments_key: str) -> str:
    """Write calls as one JSON list."""
    return write_json([write_call(call, arguments_key) for call in calls])
