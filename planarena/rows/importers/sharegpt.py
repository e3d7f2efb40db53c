"""ShareGPT: `{"conversations": [{"from", "value"}], "system", "tools"}`, as LLaMA-Factory reads it.

Roles: human or user, gpt or assistant, function_call or tool_call, observation, tool or tool_response, system. A
function_call holds one call or a JSON list of them; an observation one result, or a list with one for each call.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planarena.formats import Call
from planarena.rows.importers.assistant import as_text, calls_of, decode, observation, read_said, read_tools
from planarena.rows.importers.trace import SPLITS, ImportOptions, Trace, TraceError, TurnBuilder

__all__ = ["LICENCE", "conversation", "pack_results", "read"]

LICENCE = "unknown"

_ROLES = {
    "human": "user", "user": "user",
    "gpt": "assistant", "assistant": "assistant", "model": "assistant", "bot": "assistant", "chatgpt": "assistant",
    "function_call": "call", "tool_call": "call", "tool_calls": "call", "function-call": "call",
    "observation": "result", "tool": "result", "tool_response": "result", "function_response": "result",
    "function": "result", "ipython": "result", "tool_result": "result",
    "system": "system", "developer": "system",
}  # fmt: skip


def read(record: dict[str, Any], options: ImportOptions, number: int) -> Trace:
    """Read one record.

    Raises:
        TraceError: It cannot be used.
    """
    del options, number
    system, turns = conversation(record)
    split = record.get("split")
    plan = record.get("plan")
    return Trace(
        tools=read_tools(record.get("tools")),
        turns=turns,
        instructions=system,
        plan=plan if isinstance(plan, str) else "",
        split=split if split in SPLITS else "",
    )


def conversation(record: Mapping[str, Any]) -> tuple[str, Any]:
    """Return the system text and the turns of a record with `conversations` or `messages`.

    Raises:
        TraceError: A message has no known role, or the dialogue does not hold together.
    """
    messages = record.get("conversations", record.get("messages"))
    if isinstance(messages, str):
        messages = decode(messages)
    if not isinstance(messages, list):
        raise TraceError("no list of messages")
    system = [as_text(record.get("system"), "a system text")]
    builder = TurnBuilder()
    for message in messages:
        if not isinstance(message, Mapping):
            raise TraceError("a message that is no object")
        role = _ROLES.get(str(message.get("from", message.get("role"))).lower())
        value = message.get("value", message.get("content"))
        if role is None:
            raise TraceError("an unknown role", str(message.get("from", message.get("role"))))
        if role == "system":
            system.append(as_text(value))
        elif role == "user":
            builder.user(as_text(value))
        elif role == "call":
            builder.call(_calls(value))
        elif role == "result":
            pack_results(builder, value)
        else:
            said = read_said(as_text(value))
            builder.say(said.text, said.rationale)
            if said.calls:
                builder.call(said.calls, said.rationale)
    return "\n\n".join(part.strip() for part in system if part.strip()), builder.finish()


def _calls(value: Any) -> tuple[Call, ...]:
    if isinstance(value, str) and "<tool_call>" in value:
        return read_said(value).calls
    if isinstance(value, str) and value.lstrip()[:1] not in ("{", "["):
        raise TraceError("a call that cannot be read", value[:200])
    if isinstance(value, str) and value.lstrip().startswith("["):
        said = read_said(value)
        if said.calls:
            return said.calls
    return calls_of(decode(value))


def pack_results(builder: TurnBuilder, value: Any) -> None:
    """Give one message of results to the calls before it: as many as the list holds, or one.

    Raises:
        TraceError: There are more results than calls.
    """
    result = observation(value)
    calls = builder.last_calls
    if isinstance(result, list) and len(calls) > 1 and len(result) == len(calls):
        builder.observe(result)
    else:
        builder.observe([result])
