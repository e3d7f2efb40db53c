"""Tool calls in tagged text: API-Bank's soft reading of the last block, and the reading of every block."""

from __future__ import annotations

import json
import re
from typing import Any

from planarena.eval.responses import MAX_DEPTH, nests_deeper

__all__ = ["all_tagged_calls", "tagged_calls"]

_MAX_CHARACTERS = 1_000_000
_TAG = "<tool_call>"
_BETWEEN = re.compile(r"[\s,;]*(?=[{\[])")
_DECODER = json.JSONDecoder()


def tagged_calls(text: str) -> list[dict[str, Any]]:
    """Read the calls after the last `<tool_call>`: {"name", "arguments"}; what is no call is passed over.

    The soft reading of API-Bank's scoring: lines that are not JSON do not void the others, `parameters` and
    `params` mean `arguments`, a JSON list on a line counts as its items.
    """
    head, tag, tail = text.rpartition("<tool_call>")
    if not tag or len(text) > _MAX_CHARACTERS:
        return []
    del head
    calls = []
    for line in tail.partition("</tool_call>")[0].split("\n"):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        calls += _calls_of(value)
    return calls


def all_tagged_calls(text: str) -> list[dict[str, Any]]:
    """Read the calls of every `<tool_call>` block after the thinking: JSON values one after the other.

    A tag inside a JSON string is part of the string.
    """
    if len(text) > _MAX_CHARACTERS:
        return []
    text = text.rpartition("</think>")[2]
    calls: list[dict[str, Any]] = []
    position = text.find(_TAG)
    while position != -1:
        position += len(_TAG)
        while (found := _BETWEEN.match(text, position)) is not None:
            try:
                value, position = _DECODER.raw_decode(text, found.end())
            except (ValueError, RecursionError):
                break
            calls += _calls_of(value)
        position = text.find(_TAG, position)
    return calls


def _calls_of(value: Any) -> list[dict[str, Any]]:
    calls = []
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, dict) and isinstance(item.get("name"), str):
            arguments: Any = next(
                (item[key] for key in ("arguments", "parameters", "params") if key in item), {}
            )
            if isinstance(arguments, dict) and not nests_deeper(arguments, MAX_DEPTH):
                calls.append({"name": item["name"], "arguments": arguments})
    return calls
