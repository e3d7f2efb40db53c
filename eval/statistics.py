"""Intervals and differences: what a score says about the next run, and about another model."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from random import Random

__all__ = [
    "bootstrap_difference",
    "holm",
    "mean_interval",
    "paired_difference",
    "pass_all",
    "pass_any",
    "weighted_interval",
    "wilson",
]

_Z = 1.959963984540054  # the 97.5 % point of the normal distribution


def wilson(correct: float, items: int) -> tuple[float, float]:
    """The 95 % interval of a proportion (Wilson 1927): it stays in [0, 1] and is not empty at 0 or 1."""
    if items <= 0:
        return 0.0, 1.0
    share, spread = correct / items, _Z * _Z / items
    middle = (share + spread / 2) / (1 + spread)
    half = _Z * math.sqrt(share * (1 - share) / items + spread / (4 * items)) / (1 + spread)
    # At the ends the exact bounds are 0 and 1; rounding would leave 1e-17 there.
    return (0.0 if correct <= 0 else max(0.0, middle - half)), (
        1.0 if correct >= items else min(1.0, middle + half)
    )


def mean_interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of the mean of per-item values in [0, 1], each the mean of that item's samples.

    Items are independent and samples of an item are not, so the items alone are counted. Where every item
    has one value the proportion's interval is returned, which holds for values that are all 0 or all 1 too.
    """
    items = len(values)
    if items == 0:
        return 0.0, 1.0
    mean = sum(values) / items
    if all(value in (0.0, 1.0) for value in values):
        return wilson(sum(values), items)
    variance = sum((value - mean) ** 2 for value in values) / max(1, items - 1)
    half = _Z * math.sqrt(variance / items)
    return max(0.0, mean - half), min(1.0, mean + half)


def weighted_interval(parts: Mapping[str, tuple[float, float, int]]) -> tuple[float, float]:
    """The 95 % interval of a weighted sum of independent proportions.

    Args:
        parts: By category (weight, accuracy, items). The variance of each is that of the proportion with two
            successes and two failures added (Agresti and Coull 1998), so that a category at 0 or 1 keeps one.
    """
    value = sum(weight * share for weight, share, _ in parts.values())
    variance = 0.0
    for weight, share, items in parts.values():
        smoothed = (share * items + 2) / (items + 4)
        variance += weight * weight * smoothed * (1 - smoothed) / (items + 4)
    half = _Z * math.sqrt(variance)
    return max(0.0, value - half), min(1.0, value + half)


def paired_difference(ours: Mapping[str, float], base: Mapping[str, float]) -> dict[str, float | int]:
    """The difference on the items that both have, with its 95 % interval and the exact sign test.

    Args:
        ours: Per-item values in [0, 1] by item.
        base: The base's.

    Returns:
        `items` in common, `difference` (ours minus base), `low`, `high`, `gained` and `lost` items (better and
        worse than the base) and `p`, the two-sided probability of so uneven a split under no difference.
    """
    shared = [key for key in ours if key in base]
    changes = [ours[key] - base[key] for key in shared]
    items = len(changes)
    gained, lost = sum(change > 0 for change in changes), sum(change < 0 for change in changes)
    if items == 0:
        return {"items": 0, "difference": 0.0, "low": -1.0, "high": 1.0, "gained": 0, "lost": 0, "p": 1.0}
    mean = sum(changes) / items
    variance = sum((change - mean) ** 2 for change in changes) / max(1, items - 1)
    half = _Z * math.sqrt(variance / items)
    return {
        "items": items,
        "difference": mean,
        "low": max(-1.0, mean - half),
        "high": min(1.0, mean + half),
        "gained": gained,
        "lost": lost,
        "p": _sign_test(gained, lost),
    }


def _sign_test(gained: int, lost: int) -> float:
    moved, fewer = gained + lost, min(gained, lost)
    if moved == 0:
        return 1.0
    # Logarithms: 0.5 ** moved is 0 beyond a thousand changes.
    tail = [
        math.lgamma(moved + 1) - math.lgamma(k + 1) - math.lgamma(moved - k + 1) - moved * math.log(2)
        for k in range(fewer + 1)
    ]
    return min(1.0, 2 * sum(math.exp(term) for term in tail))


def pass_any(correct: int, samples: int, k: int) -> float:
    """pass@k of one item: the chance that any of k outputs drawn from its samples is right (Chen et al. 2021).

    1 - C(n - c, k) / C(n, k), unbiased for k up to n.

    Example:
        >>> pass_any(1, 2, 1), pass_any(1, 2, 2)
        (0.5, 1.0)
    """
    return 1.0 - math.comb(samples - correct, k) / math.comb(samples, k)


def pass_all(correct: int, samples: int, k: int) -> float:
    """pass^k of one item: the chance that all of k outputs drawn from its samples are right (tau-bench 2024).

    C(c, k) / C(n, k).

    Example:
        >>> pass_all(1, 2, 1), pass_all(1, 2, 2)
        (0.5, 0.0)
    """
    return math.comb(correct, k) / math.comb(samples, k)


def holm(values: Mapping[str, float]) -> dict[str, float]:
    """Correct p values for their number (Holm 1979): the m-th smallest of n times n - m + 1, never decreasing.

    Example:
        >>> holm({"a": 0.01, "b": 0.04})
        {'a': 0.02, 'b': 0.04}
    """
    found: dict[str, float] = {}
    worst = 0.0
    ordered = sorted(values.items(), key=lambda pair: pair[1])
    for place, (name, value) in enumerate(ordered):
        worst = max(worst, min(1.0, (len(ordered) - place) * value))
        found[name] = worst
    return {name: found[name] for name in values}


def bootstrap_difference(
    pairs: Mapping[str, Sequence[tuple[float, float]]],
    value: Callable[[Mapping[str, float]], float | None],
    *,
    seed: int = 0,
    draws: int = 2_000,
) -> tuple[float, float] | None:
    """The 95 % interval of the difference of two overall values, by a paired bootstrap within categories.

    Args:
        pairs: By category the (ours, base) value of each item that both have.
        value: The overall value of the categories' means; None where it cannot be computed.
        seed: Of the draws.
        draws: How many.

    Returns:
        The 2.5 and 97.5 % points; None without items.
    """
    listed = {name: items for name, items in pairs.items() if items}
    if not listed or value(dict.fromkeys(listed, 0.0)) is None:
        return None
    import numpy

    generator = numpy.random.default_rng(Random(f"bootstrap:{seed}").getrandbits(64))
    ours = numpy.empty((len(listed), draws))
    base = numpy.empty((len(listed), draws))
    for row, items in enumerate(listed.values()):
        columns = numpy.asarray(items, dtype=float)
        # A resample of items is a multinomial draw of how often each kind of pair is taken.
        kinds, counts = numpy.unique(columns, axis=0, return_counts=True)
        taken = generator.multinomial(len(items), counts / len(items), size=draws) / len(items)
        ours[row], base[row] = taken @ kinds[:, 0], taken @ kinds[:, 1]
    changes = []
    for draw in range(draws):
        left = value(dict(zip(listed, ours[:, draw].tolist(), strict=True)))
        right = value(dict(zip(listed, base[:, draw].tolist(), strict=True)))
        changes.append((left or 0.0) - (right or 0.0))
    low, high = numpy.quantile(changes, [0.025, 0.975])
    return float(low), float(high)
