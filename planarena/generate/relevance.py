"""How relevant a choice is to what a request still asks for, without a model.

Method `left-1`: a call is compared with every step of the message at hand that is not done, not with one gold call.
What a call does is known from its execution: one that does such a step has relevance 1, one that does it only early
0.9. Any other call has 0.8 times the best of its likenesses to the steps that are left; a step that cannot come yet
counts three quarters, and a call that was made before three tenths, as does the second call of a turn.
Likeness = 0.6 * tool + 0.15 * names + 0.25 * values, each in [0, 1].
tool: 1 for the same tool, else 0.85 * (0.35 [same namespace] + 0.15 [same effect] + 0.3 * Jaccard of the
semantic types that the arguments take + 0.2 * Jaccard of the words of the two names); 0 for no tool.
names: Jaccard of the argument names given. values: share of the step's values that the call gives too.
The right answer has 1; another one 0.8 times the share of what was asked for that is done and told.
The method's name is stored beside each score.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from planarena.tools import Tool

__all__ = ["DONE_BEFORE", "EARLY", "METHOD", "NOT_YET", "likeness", "relevance_of_answer", "relevance_of_call",
           "tool_similarity"]  # fmt: skip

METHOD = "left-1"
_SHORT = 0.8
EARLY, NOT_YET, DONE_BEFORE = 0.9, 0.75, 0.3


def _jaccard(left: Iterable[Any], right: Iterable[Any]) -> float:
    a, b = set(left), set(right)
    return len(a & b) / len(a | b) if a or b else 1.0


def _types(tool: Tool) -> set[str]:
    return {schema.get("x-semantic", name) for name, schema in tool.parameters.items()}


def tool_similarity(left: Tool, right: Tool) -> float:
    """Return the similarity of two tools in [0, 1]; 1 only for the same tool."""
    if left.tool_id == right.tool_id:
        return 1.0
    key = left.tool_id, left.wire_name, left.effects, right.tool_id, right.wire_name, right.effects
    known = _SIMILAR.get(key)
    if known is None:
        if len(_SIMILAR) > _MOST_SIMILAR:
            _SIMILAR.clear()
        known = _SIMILAR[key] = _similarity(left, right)
    return known


# Scenarios of a domain offer the same tools over and over.
_SIMILAR: dict[tuple[str, ...], float] = {}
_MOST_SIMILAR = 200_000


def _similarity(left: Tool, right: Tool) -> float:
    words = _jaccard(left.wire_name.split("_"), right.wire_name.split("_"))
    return 0.85 * (
        0.35 * (left.namespace == right.namespace)
        + 0.15 * (left.effects == right.effects)
        + 0.3 * _jaccard(_types(left), _types(right))
        + 0.2 * words
    )


def likeness(wanted: dict[str, Any], similarity: float, arguments: dict[str, Any]) -> float:
    """Return the likeness of a call to a step that is left.

    Args:
        wanted: The step's arguments.
        similarity: Of the two tools (see `tool_similarity`).
        arguments: The call's arguments.

    Returns:
        A number in [0, 1]; 1 only for the step itself.
    """
    if arguments == wanted:
        names = values = 1.0
    else:
        shared = sum(arguments.get(name, _ABSENT) == value for name, value in wanted.items())
        names = _jaccard(arguments, wanted)
        values = shared / len(wanted) if wanted else 0.0
    return 0.6 * similarity + 0.15 * names + 0.25 * values


def relevance_of_call(outcome: str, best: float = 0.0) -> float:
    """Return the relevance of a call.

    Args:
        outcome: What its execution showed; see `planarena.proofs.outcomes`.
        best: Its likeness to the step that is left which it is most like, weighed by whether that can come yet.

    Returns:
        A number in [0, 1], rounded to 4 digits; above 0.8 only for what does a step that is left.
    """
    if outcome in ("frontier", "equivalent"):
        return 1.0
    if outcome == "harmless":
        return EARLY
    return round(_SHORT * min(best, 0.99), 4)


def relevance_of_answer(share: float) -> float:
    """Return the relevance of an answer that is not the right one.

    Args:
        share: Of what the message asks for: done and told.
    """
    return round(_SHORT * min(share, 0.99), 4)


_ABSENT = object()
