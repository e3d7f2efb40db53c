"""Tool calls in tagged text: JSON objects, one a line, after the last <tool_call>."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["tagged_calls"]

_MAX_CHARACTERS = 1_000_000


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
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, dict) and isinstance(item.get("name"), str):
                arguments: Any = next(
                    (item[key] for key in ("arguments", "parameters", "params") if key in item), {}
                )
                if isinstance(arguments, dict):
                    calls.append({"name": item["name"], "arguments": arguments})
    return calls
