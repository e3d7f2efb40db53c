"""ToolRL (`rlla_*.json` and the processed Parquet): one decision a record, the dialogue packed into one message.

Raw: `{"instruction", "input", "output"}`. Processed: `{"prompt": [system, user], "reward_model": {"ground_truth"}}`.
The history is in tags: `<user>`, `<think>`, `<tool_call>`, `<response>`, `<obs>`. Its actions are history alone; the
output is the gold.
"""

from __future__ import annotations

import re
from json import JSONDecodeError, JSONDecoder
from typing import Any

from planarena.formats import Call
from planarena.rows.importers.assistant import as_text, calls_of, decode, observation
from planarena.rows.importers.trace import ImportOptions, SourceTool, Trace, TraceError, TurnBuilder

__all__ = ["LICENCE", "read"]

LICENCE = "unknown"

_TOOL = re.compile(r"^\d+\. Name: (?P<name>.*)\nDescription: (?P<about>(?:.*\n)*?)Parameters: ", re.MULTILINE)
_PART = re.compile(r"<(user|obs|think|tool_call|response)>(.*?)</\1>", re.DOTALL)


def read(record: dict[str, Any], options: ImportOptions, number: int) -> Trace:
    """Read one record.

    Raises:
        TraceError: It cannot be used.
    """
    del options, number
    system, history, output = _fields(record)
    builder = TurnBuilder()
    _add(builder, history)
    before = builder.count
    _add(builder, output)
    if builder.count == before:
        raise TraceError("no gold action", output[:200])
    extra = record.get("extra_info")
    split = extra.get("split") if isinstance(extra, dict) else ""
    return Trace(
        tools=_tools(system),
        turns=builder.finish(),
        first_decision=before,
        split={"train": "train", "test": "test", "validation": "validation"}.get(str(split), ""),
    )


def _fields(record: dict[str, Any]) -> tuple[str, str, str]:
    if "instruction" in record:
        fields = record["instruction"], record.get("input"), record.get("output")
    else:
        prompt = record.get("prompt")
        model = record.get("reward_model")
        if not isinstance(prompt, list) or not isinstance(model, dict):
            raise TraceError("neither instruction and output nor prompt and reward_model")
        texts = {
            str(message.get("role")): message.get("content")
            for message in prompt
            if isinstance(message, dict)
        }
        fields = texts.get("system"), texts.get("user"), model.get("ground_truth")
    if not fields[2]:
        raise TraceError("no gold action", "the record has no output")
    system, history, output = (as_text(field) for field in fields)
    return system, history, output


def _tools(system: str) -> tuple[SourceTool, ...]:
    decoder = JSONDecoder()
    tools = []
    for match in _TOOL.finditer(system):
        try:
            parameters, _ = decoder.raw_decode(system, match.end())
        except (JSONDecodeError, RecursionError) as error:
            raise TraceError("a tool whose schema is no JSON", match["name"]) from error
        tools.append(SourceTool(match["name"].strip(), match["about"].strip(), parameters))
    return tuple(tools)


def _add(builder: TurnBuilder, text: str) -> None:
    """Add the parts of a text; a call and the words after it are one action."""
    rationale, response = "", ""
    calls: tuple[Call, ...] = ()

    def settle() -> None:
        nonlocal rationale, response, calls
        if response:
            builder.say(response, rationale)
        if calls:
            builder.call(calls, rationale)
        rationale, response, calls = "", "", ()

    for match in _PART.finditer(text):
        kind, body = match[1], match[2].strip()
        if kind in ("user", "obs", "think"):
            settle()
        if kind == "user":
            builder.user(body)
        elif kind == "obs":
            builder.observe([observation(body)])  # one text for all calls of the turn
        elif kind == "think":
            rationale = body
        elif kind == "tool_call":
            calls = tuple(
                call for line in body.splitlines() if line.strip() for call in calls_of(decode(line))
            )
        else:
            response = body
    settle()
    builder.settle()
