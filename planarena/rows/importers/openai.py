"""OpenAI dialogues: `{"messages": [...], "tools": [...]}`, one JSON object a line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planarena.rows.importers.assistant import (
    as_text,
    call_of,
    decode,
    observation,
    read_said,
    read_tools,
)
from planarena.rows.importers.trace import SPLITS, ImportOptions, Trace, TraceError, TurnBuilder

__all__ = ["LICENCE", "read"]

LICENCE = "unknown"


def read(record: dict[str, Any], options: ImportOptions, number: int) -> Trace:
    """Read one record.

    Raises:
        TraceError: It cannot be used.
    """
    del options, number
    messages = record.get("messages")
    if isinstance(messages, str):
        messages = decode(messages)
    if not isinstance(messages, list):
        raise TraceError("no list of messages")
    system: list[str] = []
    builder = TurnBuilder()
    places: dict[str, int] = {}
    for written in messages:
        message = decode(written)  # Arrow holds each message as JSON text
        if not isinstance(message, Mapping):
            raise TraceError("a message that is no object")
        role = message.get("role")
        if role in ("system", "developer"):
            system.append(as_text(message.get("content")))
        elif role == "user":
            builder.user(as_text(message.get("content")))
        elif role == "assistant":
            places = _assistant(builder, message)
        elif role in ("tool", "function"):
            value = observation(as_text(message.get("content")))
            place = places.get(str(message.get("tool_call_id")))
            if place is None:
                builder.observe([value])
            else:
                builder.observe_at(place, value)
        else:
            raise TraceError("an unknown role", str(role))
    tools = record.get("tools")
    functions = record.get("functions")
    metadata = record.get("metadata")
    given = metadata if isinstance(metadata, Mapping) else {}
    return Trace(
        tools=read_tools(tools if tools is not None else functions),
        turns=builder.finish(),
        instructions="\n\n".join(part.strip() for part in system if part.strip()),
        plan=str(given.get("plan") or ""),
        category=str(given.get("category") or "call"),
        split=record["split"] if record.get("split") in SPLITS else "",
    )


def _assistant(builder: TurnBuilder, message: Mapping[str, Any]) -> dict[str, int]:
    """Add one message of the assistant; return the place of each call id."""
    reasoning = message.get("reasoning_content") or message.get("reasoning") or message.get("thinking") or ""
    said = read_said(as_text(message.get("content")))
    rationale = as_text(reasoning).strip() or said.rationale
    entries = message.get("tool_calls")
    if entries is not None and not isinstance(entries, list):
        raise TraceError("tool_calls that are no list")
    if not entries and message.get("function_call"):
        entries = [message["function_call"]]
    calls = tuple(map(call_of, entries)) if entries else said.calls
    builder.say(said.text, rationale)
    if not calls:
        return {}
    builder.call(calls, rationale)
    return {
        str(entry["id"]): place for place, entry in enumerate(entries or ()) if entry.get("id") is not None
    }
