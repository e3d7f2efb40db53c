"""Hermes (`hermes-function-calling-v1`): ShareGPT with `<tool_call>` and `<tool_response>` blocks.

The tools stand in the column `tools` or inside of `<tools>` in the system message; a tool message holds one
`<tool_response>` for each call.
"""

from __future__ import annotations

import re
from typing import Any

from planarena.rows.importers.assistant import as_text, decode, observation, read_tools
from planarena.rows.importers.sharegpt import conversation
from planarena.rows.importers.trace import ImportOptions, SourceTool, Trace, TraceError

__all__ = ["LICENCE", "read"]

LICENCE = "Apache-2.0"

_TOOLS = re.compile(r"<tools>(.*?)</tools>", re.DOTALL)
_RESPONSE = re.compile(r"<tool_response>(.*?)</tool_response>", re.DOTALL)


def read(record: dict[str, Any], options: ImportOptions, number: int) -> Trace:
    """Read one record.

    Raises:
        TraceError: It cannot be used.
    """
    del options, number
    messages = record.get("conversations")
    if not isinstance(messages, list):
        raise TraceError("no list of messages")
    system = ""
    prepared: list[dict[str, Any]] = []
    for message in messages:
        if not isinstance(message, dict):
            raise TraceError("a message that is no object")
        if message.get("from") == "system":
            system = as_text(message.get("value"))
        elif message.get("from") == "tool":
            prepared.append({"from": "tool", "value": _results(as_text(message.get("value")))})
        else:
            prepared.append(message)
    _, turns = conversation({"conversations": prepared})
    # A system message with tools is the convention's own text; one without is an instruction of the dialogue.
    return Trace(
        tools=_tools(record, system), turns=turns, instructions="" if "<tools>" in system else system.strip()
    )


def _tools(record: dict[str, Any], system: str) -> tuple[SourceTool, ...]:
    stated = record.get("tools")
    if stated:
        return read_tools(stated)
    # The text may speak of the tags before it uses them.
    for found in reversed(_TOOLS.findall(system)):
        body = found.strip()
        if body[:1] not in ("[", "{"):
            continue
        if body.startswith("["):
            return read_tools(body)
        return tuple(tool for line in body.splitlines() if line.strip() for tool in read_tools(line))
    return ()


def _results(text: str) -> Any:
    found = [_result(inner.strip()) for inner in _RESPONSE.findall(text)]
    if not found:
        return observation(text)
    return found[0] if len(found) == 1 else found


def _result(text: str) -> Any:
    """Return a result without the wrapping `{"name", "content"}` that some rows have."""
    try:
        value = decode(text)
    except TraceError:
        return text
    if isinstance(value, dict) and "content" in value and set(value) <= {"name", "content", "tool_call_id"}:
        return value["content"]
    return value
