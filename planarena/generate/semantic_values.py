"""Collecting typed values from results: which values of which semantic type an agent has seen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

__all__ = ["semantic_values"]


def semantic_values(schema: Any, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield `(semantic type, scalar)` for every annotated scalar of a value.

    Args:
        schema: The value's schema, with `x-semantic` annotations.
        value: A JSON value that fits it.
    """
    stack = [(schema, value)]
    while stack:
        part, item = stack.pop()
        if not isinstance(part, dict):
            continue
        if isinstance(item, dict):
            properties = part.get("properties", {})
            stack.extend((properties[key], inner) for key, inner in item.items() if key in properties)
        elif isinstance(item, list):
            inner_schema = part.get("items")
            stack.extend((inner_schema, inner) for inner in item)
        elif "x-semantic" in part and isinstance(item, str | int | float) and not isinstance(item, bool):
            yield part["x-semantic"], item
