"""What an assistant message of a data set says: reasoning, calls, words; and values of tool results."""

from __future__ import annotations

import ast
import re
from typing import Any, NamedTuple

from planarena.formats import BlockError, Call, read_json
from planarena.records import CanonicalError, canonical_json
from planarena.rows.importers.python_calls import CallSyntaxError, looks_like_calls, read_calls
from planarena.rows.importers.trace import SourceTool, TraceError

__all__ = ["Said", "as_text", "call_of", "calls_of", "decode", "observation", "read_said", "read_tools"]

_THINK = re.compile(r"\s*<think>(.*?)</think>", re.DOTALL)
_BLOCK = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)
_ARGUMENTS = ("arguments", "parameters", "params", "args")


class Said(NamedTuple):
    """One message of the assistant, read."""

    rationale: str
    calls: tuple[Call, ...]
    text: str


def read_said(value: str) -> Said:
    """Read a message in any of the usual ways: `<think>`, `<tool_call>` blocks, Python-like calls, or text.

    Raises:
        TraceError: A call was begun and cannot be read.
    """
    rationale = ""
    thought = _THINK.match(value)
    if thought:
        rationale, value = thought[1].strip(), value[thought.end() :]
    if "<tool_call>" in value:
        calls = [call for block in _BLOCK.findall(value) for call in _block(block)]
        if not calls or value.count("<tool_call>") != len(_BLOCK.findall(value)):
            raise TraceError("a call that cannot be read", value[:200])
        return Said(rationale, tuple(calls), _BLOCK.sub("", value).strip())
    if looks_like_calls(value):
        try:
            return Said(rationale, read_calls(value), "")
        except CallSyntaxError as error:
            raise TraceError("a call that cannot be read", f"{error}: {value[:200]}") from error
    return Said(rationale, (), value.strip())


def _block(text: str) -> tuple[Call, ...]:
    body = text.strip()
    try:
        return calls_of(decode(body))
    except TraceError:
        # Several objects, one a line.
        return tuple(call for line in body.splitlines() if line.strip() for call in calls_of(decode(line)))


def calls_of(value: Any) -> tuple[Call, ...]:
    """Return the calls of a decoded block: one object or a list of them.

    Raises:
        TraceError: It holds something else.
    """
    return tuple(map(call_of, value if isinstance(value, list) else [value]))


def call_of(value: Any) -> Call:
    """Return the call of one object; arguments may be JSON text.

    Raises:
        TraceError: It is no call.
    """
    if isinstance(value, dict) and isinstance(value.get("function"), dict):
        value = value["function"]
    name = value.get("name") if isinstance(value, dict) else None
    if not isinstance(name, str) or not name:
        raise TraceError("a call that cannot be read", str(value)[:200])
    given: Any = next((value[key] for key in _ARGUMENTS if key in value), {})
    if isinstance(given, str):
        given = decode(given) if given.strip() else {}
    given = {} if given is None else given
    if not isinstance(given, dict):
        raise TraceError("a call whose arguments are no object", str(value)[:200])
    return Call(name, given)


def decode(text: Any) -> Any:
    """Read JSON, or what Python writes when it prints a dict (older Hermes rows).

    Raises:
        TraceError: It is neither.
    """
    if not isinstance(text, str):
        return text
    try:
        return read_json(text)
    except BlockError as error:
        try:
            value = ast.literal_eval(text.strip())
            canonical_json(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError, CanonicalError):
            raise TraceError("text that is no JSON", f"{error}: {text[:200]}") from error
        return value


def observation(content: Any) -> Any:
    """Return a tool result as a value; text stays text unless it is an object, a list or canonical JSON."""
    if not isinstance(content, str):
        return content
    try:
        value = read_json(content)
    except BlockError:
        return content
    if isinstance(value, dict | list):
        return value
    # A plain 007 or 1e5 would come out written in another way.
    return value if canonical_json(value) == content else content


def as_text(value: Any, what: str = "a message") -> str:
    """Return the text of a message, which may be a list of parts.

    Raises:
        TraceError: It holds no text.
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        parts = [part.get("text") if isinstance(part, dict) else part for part in value]
        texts = [part for part in parts if isinstance(part, str)]
        if len(texts) == len(parts):
            return "".join(texts)
    raise TraceError(f"{what} that is no text", str(value)[:200])


def read_tools(value: Any) -> tuple[SourceTool, ...]:
    """Read a list of tools: OpenAI's shape, bare functions, or JSON text of either.

    Raises:
        TraceError: It is no such list.
    """
    if value is None or value == "":
        return ()
    value = decode(value)
    entries = [value] if isinstance(value, dict) else value
    if not isinstance(entries, list):
        raise TraceError("a list of tools that is no list", str(value)[:200])
    tools = []
    for entry in entries:
        entry = decode(entry)
        if isinstance(entry, dict) and isinstance(entry.get("function"), dict):
            entry = entry["function"]
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str) or not entry["name"]:
            raise TraceError("a tool without a name", str(entry)[:200])
        parameters = entry.get("parameters", entry.get("arguments", entry.get("input_schema")))
        tools.append(SourceTool(entry["name"], str(entry.get("description") or ""), parameters))
    return tuple(tools)
