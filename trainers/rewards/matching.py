"""Comparing calls: equal values, overlap of multisets and sets, one-to-one matching by name."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from planarena.formats import Call
from planarena.records.canonical import CanonicalError, canonical_bytes

__all__ = ["call_key", "jaccard", "match_by_name", "multiset_iou", "same_value", "value_key"]

_PLAIN = (str, bool, int, type(None))


def value_key(value: Any) -> str | bytes:
    """Return a key that two JSON values share exactly when their canonical JSON is equal.

    1, 1.0 and True are three values; the order of an object's keys carries no meaning.
    """
    if type(value) is str:
        return value
    try:
        return canonical_bytes(value)
    except CanonicalError:
        return _odd_key(value)


def _odd_key(value: Any) -> bytes:
    """Key a value that is no canonical JSON (a NaN, a wide integer), which a gold from outside may hold."""
    try:
        return b"\x00" + json.dumps(value, sort_keys=True, default=repr).encode()
    except (TypeError, ValueError, RecursionError):
        return b"\x00" + str(id(value)).encode()


def same_value(left: Any, right: Any) -> bool:
    """Whether two JSON values are equal."""
    if type(left) is type(right) and isinstance(left, _PLAIN):
        return bool(left == right)
    return value_key(left) == value_key(right)


def call_key(call: Call) -> tuple[str, str | bytes]:
    """Return a key of the whole call, name and arguments."""
    return call.name, value_key(call.arguments)


def multiset_iou(left: Sequence[Any], right: Sequence[Any]) -> float:
    """Return the intersection over union of two multisets of hashable items; 1 when both are empty."""
    if left == right:
        return 1.0
    if not left or not right:
        return 0.0
    counts: dict[Any, int] = {}
    for item in right:
        counts[item] = counts.get(item, 0) + 1
    common = 0
    for item in left:
        remaining = counts.get(item, 0)
        if remaining:
            counts[item] = remaining - 1
            common += 1
    return common / (len(left) + len(right) - common)


def jaccard(left: Mapping[str, Any], right: Mapping[str, Any]) -> float:
    """Return the overlap of the keys of two mappings; 1 when both are empty."""
    common = len(left.keys() & right.keys())
    union = len(left) + len(right) - common
    return common / union if union else 1.0


def match_by_name(
    gold: Sequence[Call],
    predicted: Sequence[Call],
    score: Callable[[Mapping[str, Any], Mapping[str, Any]], float],
) -> list[int | None]:
    """Match each gold call to the best unused prediction of its name, greedily in gold order.

    Args:
        gold: Reference calls.
        predicted: Predicted calls.
        score: Of (gold arguments, predicted arguments); the first of equal best ones is taken.

    Returns:
        For each gold call the index of its prediction, or None.
    """
    used: set[int] = set()
    matches: list[int | None] = []
    for reference in gold:
        best: int | None = None
        best_score = 0.0
        for index, call in enumerate(predicted):
            if call.name != reference.name or index in used:
                continue
            value = score(reference.arguments, call.arguments)
            if best is None or value > best_score:
                best, best_score = index, value
        if best is not None:
            used.add(best)
        matches.append(best)
    return matches
