"""Reading one output whoever wrote it: the way that its calls are written is decided output by output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from planarena.errors import UserError
from planarena.formats.blocks import BlockError, read_json
from planarena.formats.native import Native
from planarena.formats.parsed import Call
from planarena.formats.vendors import VENDORS
from planarena.formats.written import ReadCalls, split_thought

__all__ = ["READERS", "Reading", "read_output", "write_output"]

_NATIVE = Native()
# Names under which people know a way of writing.
_ALIASES = {
    "qwen": "hermes",
    "llama-json": "llama",
    "python-tag": "llama",
    "gpt-oss": "harmony",
    "hammer": "xlam",
    "toolace": "python",
    "bfcl": "python",
    # The formats of training all write JSON between the tags of Hermes, one call or several, under some key.
    "planarena": "hermes",
    "think": "hermes",
    "parameters": "hermes",
    "params": "hermes",
    "answer": "hermes",
    "toolrl": "hermes",
    "toolupt": "hermes",
    "chord": "hermes",
}
READERS = ("auto", "native", *VENDORS, *_ALIASES, "plain")
"""What may be named to `read_output`: auto decides, plain reads no call."""


class Reading(msgspec.Struct, frozen=True):
    """One output as read.

    Attributes:
        written: The way in which it was written: a name of `READERS`; "plain" where it holds no call.
        calls: In order.
        content: What was said besides.
        thought: Reasoning before it.
        problem: Why a call that was begun cannot be read; it then counts as no call.
    """

    written: str
    calls: tuple[Call, ...] = ()
    content: str = ""
    thought: str = ""
    problem: str = ""


def read_output(value: Any, form: str = "auto") -> Reading:
    r"""Read an output.

    Args:
        value: Text, or an assistant message of the OpenAI chat format.
        form: A name of `READERS`; a forced one reads what carries its marks and nothing else.

    Raises:
        UserError: There is no reader of that name.

    Example:
        >>> read_output('[TOOL_CALLS][{"name": "f", "arguments": {"x": 1}}]').calls
        (Call(name='f', arguments={'x': 1}),)
    """
    if form not in READERS:
        raise UserError(
            f"there is no way {form!r} to read an output",
            where="--format",
            fix="one of: " + ", ".join(READERS),
        )
    if isinstance(value, Mapping):
        return _message(value, "", form)
    if not isinstance(value, str):
        return Reading("plain", problem=f"{type(value).__name__}, not text")
    # A message is what carries an output, whatever way its content writes calls in.
    if form != "plain" and (found := _native(value, form)) is not None:
        return found
    thought, said = split_thought(value)
    if form == "plain":
        return Reading("plain", content=said, thought=thought)
    wanted = _ALIASES.get(form, form)
    for name in VENDORS if wanted in ("auto", "native") else (wanted,):
        read = VENDORS[name].read(said)
        if read is not None:
            return _reading(name, read, thought)
    return Reading("plain", content=said, thought=thought)


def write_output(form: str, calls: Sequence[Call], content: str = "") -> str:
    """Write calls in a way that `read_output` reads back; without calls the content alone.

    Raises:
        UserError: There is no such way.
    """
    wanted = _ALIASES.get(form, form)
    if wanted == "native":
        return _NATIVE.render(calls=calls, response=content or None)
    if wanted not in VENDORS:
        raise UserError(f"there is no way {form!r} to write calls", fix="one of: " + ", ".join(VENDORS))
    return VENDORS[wanted].write(calls, content) if calls else content


def _reading(name: str, read: ReadCalls, thought: str) -> Reading:
    return Reading(name, read.calls, read.content, read.thought or thought, read.problem)


def _native(text: str, form: str) -> Reading | None:
    """An assistant message as JSON text; None where the text is something else."""
    body = text.strip()
    if not body.startswith("{") or '"role"' not in body:
        return None
    try:
        message = read_json(body)
    except BlockError:
        return None
    if not isinstance(message, dict) or message.get("role") != "assistant":
        return None
    return _message(message, text, form)


def _message(message: Mapping[str, Any], text: str, form: str) -> Reading:
    """A message; calls that a server left in its content are read from there."""
    parsed = _NATIVE.parse_message(message, text)
    content, thought = parsed.response or "", parsed.plan or ""
    if parsed.broken:
        return Reading("native", problem=parsed.reason, content=content, thought=thought)
    if not parsed.calls and content and form != "plain":
        wanted = _ALIASES.get(form, form)
        said_thought, said = split_thought(content)
        for name in VENDORS if wanted in ("auto", "native") else (wanted,):
            read = VENDORS[name].read(said)
            if read is not None:
                return _reading(name, read, thought or said_thought)
    return Reading("native", parsed.calls, content, thought)
