"""What the readers of vendors' texts share: calls as JSON values, the marks that end a reply, thoughts before it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from planarena.formats.blocks import MAX_BLOCK, BlockError, read_json
from planarena.formats.parsed import Call

__all__ = [
    "ReadCalls",
    "as_calls",
    "call_list",
    "call_object",
    "calls_of_text",
    "ended",
    "json_values",
    "marked",
    "named_calls",
    "split_thought",
    "write_arguments",
]

_DECODER = json.JSONDecoder()
_GAP = re.compile(r"[\s;,]*")
_ENDS = (
    *(f"<|{word}|>" for word in ("eot_id", "eom_id", "eot", "end", "im_end", "end_of_text", "endoftext")),
    *("<|return|>", "<|call|>", "<|stop|>", "</s>", "<eos>", "<end_of_turn>", "<｜end▁of▁sentence｜>"),
)
_KEYS = ("arguments", "parameters", "params", "args", "input")
_NAMES = ("name", "function", "tool", "tool_name")
_THINKING = re.compile(r"\s*<think>")


class ReadCalls(NamedTuple):
    """What one reader found.

    Attributes:
        calls: In order; empty where the marks hold no readable call.
        content: What was said besides.
        problem: Why a call that was begun cannot be read; empty where all can.
        thought: Reasoning that the way of writing keeps apart.
    """

    calls: tuple[Call, ...] = ()
    content: str = ""
    problem: str = ""
    thought: str = ""


def split_thought(text: str) -> tuple[str, str]:
    """Return what was thought and what was said; a template may have opened the thinking already.

    A text that never stops thinking says nothing.
    """
    head, tag, tail = text.partition("</think>")
    if not tag:
        match = _THINKING.match(text)
        return (text[match.end() :].strip(), "") if match else ("", text)
    return head.replace("<think>", "", 1).strip(), tail.strip()


def ended(text: str) -> str:
    """The text without the marks that end a reply."""
    text = text.rstrip()
    while text.endswith(_ENDS):
        text = text[: max(len(text) - len(end) for end in _ENDS if text.endswith(end))].rstrip()
    return text


# --- JSON ----------------------------------------------------------------------------------------------


def as_calls(value: Any) -> list[Call]:
    """Calls of a JSON value: an object with a name and arguments, or a list of such.

    Raises:
        BlockError: Anything else, or nothing.
    """
    if isinstance(value, list):
        return [call for item in value for call in as_calls(item)]
    if not isinstance(value, dict):
        raise BlockError("a call is not a JSON object")
    if isinstance(value.get("function"), dict):
        value = value["function"]
    name = next((value[key] for key in _NAMES if isinstance(value.get(key), str)), None)
    if not name:
        raise BlockError('a call has no "name"')
    arguments: Any = next((value[key] for key in _KEYS if key in value), {} if len(value) == 1 else None)
    if isinstance(arguments, str):
        arguments = read_json(arguments) if arguments.strip() else {}
    if arguments is None and any(key in value for key in _KEYS):
        arguments = {}
    if not isinstance(arguments, dict):
        raise BlockError("a call has no object of arguments")
    return [Call(name, arguments)]


def json_values(text: str, position: int = 0) -> tuple[list[Any], int]:
    """Read JSON objects and lists that follow each other; return them and where reading stopped.

    Raises:
        BlockError: A value that begins there and cannot be read.
    """
    if len(text) > MAX_BLOCK:
        raise BlockError(f"more than {MAX_BLOCK} characters")
    values: list[Any] = []
    while True:
        gap = _GAP.match(text, position)
        begin = gap.end() if gap else position
        if begin >= len(text) or text[begin] not in "[{":
            return values, begin
        try:
            _, position = _DECODER.raw_decode(text, begin)
        except (ValueError, RecursionError) as error:
            raise BlockError("nests too deep" if isinstance(error, RecursionError) else str(error)) from None
        values.append(read_json(text[begin:position]))


def calls_of_text(text: str) -> tuple[Call, ...]:
    """All of a text as calls in JSON.

    Raises:
        BlockError: Something else stands there.
    """
    values, end = json_values(text)
    if text[end:].strip():
        raise BlockError("text beside the calls")
    found = tuple(call for value in values for call in as_calls(value))
    if not found and not values:
        raise BlockError("no call")
    return found


def marked(text: str, content: str) -> ReadCalls:
    """Read what stands behind a mark: calls in JSON up to the end."""
    try:
        return ReadCalls(calls_of_text(ended(text)), content.strip())
    except BlockError as error:
        return ReadCalls((), content.strip(), str(error))


def call_object(call: Call, key: str = "arguments") -> str:
    """Write a call as one JSON object."""
    return json.dumps({"name": call.name, key: call.arguments}, ensure_ascii=False)


def call_list(calls: Sequence[Call]) -> str:
    """Write calls as one JSON list."""
    return "[" + ", ".join(map(call_object, calls)) + "]"


def write_arguments(call: Call) -> str:
    """Write the arguments of a call as JSON."""
    return json.dumps(call.arguments, ensure_ascii=False)


def named_calls(found: Iterable[tuple[str, str]], content: str) -> ReadCalls:
    """Calls whose name and arguments stand apart."""
    calls = []
    for name, written in found:
        body = ended(written).strip().removeprefix("```json").removesuffix("```").strip()
        try:
            arguments = read_json(body) if body else {}
        except BlockError as error:
            return ReadCalls((), content, f"the arguments of {name[:80]}: {error}")
        if isinstance(arguments, str):
            try:
                arguments = read_json(arguments)
            except BlockError as error:
                return ReadCalls((), content, f"the arguments of {name[:80]}: {error}")
        if not isinstance(arguments, dict):
            return ReadCalls((), content, f"the arguments of {name[:80]} are no object")
        calls.append(Call(name.strip(), arguments))
    return ReadCalls(tuple(calls), content)
