"""Native calls of a local model: from the text that its chat template teaches to one assistant message.

Read are the forms of the common families: `<tool_call>` blocks (Hermes, Qwen), one or more JSON objects with
`name` and `parameters` or `arguments`, alone or after `<|python_tag|>` (Llama), and `[TOOL_CALLS]` with a JSON list
(Mistral). What cannot be read as calls is content.
"""

from __future__ import annotations

import json
import re
from typing import Any

from planarena.eval.tagged import all_tagged_calls

__all__ = ["message_of", "split_thought"]

_MISTRAL = "[TOOL_CALLS]"
_LLAMA = "<|python_tag|>"
_BETWEEN = re.compile(r"[\s;,]*")
_MAX_CHARACTERS = 1_000_000
_DECODER = json.JSONDecoder()


def split_thought(text: str) -> tuple[str, str]:
    """Return what was thought and what was said; a template may have opened the thinking already."""
    head, tag, tail = text.partition("</think>")
    if not tag:
        return ("", text) if not text.lstrip().startswith("<think>") else (text.lstrip()[7:].strip(), "")
    return head.replace("<think>", "", 1).strip(), tail.strip()


def message_of(text: str) -> dict[str, Any]:
    """Return the assistant message that a text says; call ids are call_0, call_1, ..."""
    thought, said = split_thought(text)
    content, calls = _calls(said)
    message: dict[str, Any] = {"role": "assistant", "content": content}
    if thought:
        message["reasoning_content"] = thought
    if calls:
        message["tool_calls"] = [
            {
                "id": f"call_{place}",
                "type": "function",
                "function": {"name": call["name"], "arguments": json.dumps(call["arguments"])},
            }
            for place, call in enumerate(calls)
        ]
    return message


def _calls(text: str) -> tuple[str, list[dict[str, Any]]]:
    if "<tool_call>" in text:
        return text.partition("<tool_call>")[0].strip(), all_tagged_calls(text)
    head, mark, tail = text.partition(_MISTRAL)
    if mark:
        return head.strip(), _objects(tail)
    bare = text.strip().removeprefix(_LLAMA).strip()
    if bare.startswith("{"):
        found = _objects(bare)
        if found:
            return "", found
    return text, []


def _objects(text: str) -> list[dict[str, Any]]:
    """Read JSON objects or lists that follow each other up to the end; nothing where something else is between."""
    calls: list[dict[str, Any]] = []
    if len(text) > _MAX_CHARACTERS:
        return calls
    position = 0
    while True:
        gap = _BETWEEN.match(text, position)
        position = gap.end() if gap else position
        if position >= len(text):
            return calls
        try:
            value, position = _DECODER.raw_decode(text, position)
        except (ValueError, RecursionError):
            return []
        for item in value if isinstance(value, list) else [value]:
            arguments = item.get("arguments", item.get("parameters")) if isinstance(item, dict) else None
            if not isinstance(arguments, dict) or not isinstance(item.get("name"), str):
                return []
            calls.append({"name": item["name"], "arguments": arguments})
