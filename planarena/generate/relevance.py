"""How relevant a wrong or alternative call is to the right one, without a model.

Method `overlap-1`: relevance = 0.6 * tool + 0.25 * names + 0.15 * values, each in [0, 1].
tool: 1 for the same tool, else 0.85 * (0.35 [same namespace] + 0.15 [same effect] + 0.3 * Jaccard of the
semantic types that the arguments take + 0.2 * Jaccard of the words of the two names); 0 for no tool.
names: Jaccard of the argument names given. values: share of the right call's values that the other gives too.
Siblings (same namespace, shared types) so score above strangers. The method's name is stored beside each score.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from planarena.tools import Tool

__all__ = ["METHOD", "relevance", "tool_similarity"]

METHOD = "overlap-1"


def _jaccard(left: Iterable[Any], right: Iterable[Any]) -> float:
    a, b = set(left), set(right)
    return len(a & b) / len(a | b) if a or b else 1.0


def _types(tool: Tool) -> set[str]:
    return {schema.get("x-semantic", name) for name, schema in tool.parameters.items()}


def tool_similarity(left: Tool, right: Tool) -> float:
    """Return the similarity of two tools in [0, 1]; 1 only for the same tool."""
    if left.tool_id == right.tool_id:
        return 1.0
    words = _jaccard(left.wire_name.split("_"), right.wire_name.split("_"))
    return 0.85 * (
        0.35 * (left.namespace == right.namespace)
        + 0.15 * (left.effects == right.effects)
        + 0.3 * _jaccard(_types(left), _types(right))
        + 0.2 * words
    )


def relevance(right_arguments: dict[str, Any], similarity: float, arguments: dict[str, Any] | None) -> float:
    """Return the relevance of a call to the right one.

    Args:
        right_arguments: Its arguments.
        similarity: Of the two tools (see `tool_similarity`).
        arguments: The other call's arguments; None when it calls nothing.

    Returns:
        A number in [0, 1], rounded to 4 digits; 1 only for the right call itself.
    """
    if arguments is None:
        return 0.0
    names = _jaccard(arguments, right_arguments)
    shared = sum(arguments.get(name, _ABSENT) == value for name, value in right_arguments.items())
    values = shared / len(right_arguments) if right_arguments else float(not arguments)
    return round(0.6 * similarity + 0.25 * names + 0.15 * values, 4)


_ABSENT = object()
