"""Collecting typed values from results: which an agent has seen of which semantic type, and which no user sees."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

__all__ = ["hidden_values", "semantic_values"]


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


def hidden_values(schema: Any, value: Any) -> Iterator[str]:
    """Yield every text of a value that its schema marks as hidden from users, such as an id."""
    stack = [(schema, value)]
    while stack:
        part, item = stack.pop()
        if not isinstance(part, dict):
            continue
        if isinstance(item, dict):
            properties = part.get("properties", {})
            stack.extend((properties[key], inner) for key, inner in item.items() if key in properties)
        elif isinstance(item, list):
            stack.extend((part.get("items"), inner) for inner in item)
        elif part.get("x-hidden") and isinstance(item, str) and len(item) > 2:
            yield item
