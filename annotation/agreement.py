"""How much annotators agree: Cohen's kappa, Fleiss' kappa and Krippendorff's alpha, computed directly.

Each returns None where the measure is undefined: nothing to compare, or every value the same, so that chance
alone would agree always.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

__all__ = ["cohen_kappa", "fleiss_kappa", "krippendorff_alpha", "percent_agreement", "summarise"]

Ratings = Mapping[str, Mapping[str, Any]]
"""Unit -> annotator -> value; annotators may be missing."""


def percent_agreement(ratings: Ratings) -> float | None:
    """Return the share of pairs of annotators, over all units, that gave the same value.

    Args:
        ratings: Unit -> annotator -> value.
    """
    same = pairs = 0
    for values in ratings.values():
        for one, other in combinations(values.values(), 2):
            pairs += 1
            same += one == other
    return same / pairs if pairs else None


def cohen_kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> float | None:
    """Return Cohen's kappa of two annotators: (p_o - p_e) / (1 - p_e).

    p_o is the share of units with the same value, p_e = sum over values of the product of both annotators'
    shares (Cohen 1960).

    Args:
        first: One annotator's values by unit.
        second: The other's, in the same order.

    Raises:
        ValueError: The lists differ in length.
    """
    number = len(first)
    if number != len(second):
        raise ValueError("both annotators must have judged the same units")
    if not number:
        return None
    observed = sum(one == other for one, other in zip(first, second, strict=True)) / number
    left, right = Counter(first), Counter(second)
    expected = sum(left[value] * right[value] for value in left) / number**2
    return (observed - expected) / (1 - expected) if expected < 1 else None


def fleiss_kappa(ratings: Ratings) -> float | None:
    """Return Fleiss' kappa over the units that the most common number of annotators judged.

    kappa = (mean P_i - sum p_j^2) / (1 - sum p_j^2), P_i = (sum_j n_ij^2 - n) / (n (n - 1)) with n_ij annotators
    who gave unit i the value j, and p_j the share of all ratings with value j (Fleiss 1971).

    Args:
        ratings: Unit -> annotator -> value.
    """
    sizes = Counter(len(values) for values in ratings.values() if len(values) > 1)
    if not sizes:
        return None
    number = max(sizes, key=lambda size: (sizes[size], size))
    counts = [Counter(values.values()) for values in ratings.values() if len(values) == number]
    within = [
        (sum(count**2 for count in unit.values()) - number) / (number * (number - 1)) for unit in counts
    ]
    total = Counter[Any]()
    for unit in counts:
        total.update(unit)
    expected = sum((count / (number * len(counts))) ** 2 for count in total.values())
    return (sum(within) / len(within) - expected) / (1 - expected) if expected < 1 else None


def krippendorff_alpha(
    ratings: Ratings, distance: Callable[[Any, Any], float] = lambda one, other: float(one != other)
) -> float | None:
    """Return Krippendorff's alpha, 1 - D_o / D_e; units may have any number of values, those with one do not count.

    With m_u values of unit u and n their total: D_o = 1/n sum_u 1/(m_u - 1) sum over ordered pairs within u of
    the distance; D_e = 1/(n (n - 1)) sum over ordered pairs of all values (Krippendorff 2011, section B-D).

    Args:
        ratings: Unit -> annotator -> value.
        distance: The squared difference of two values; by default that of nominal data.
    """
    units = [list(values.values()) for values in ratings.values() if len(values) > 1]
    number = sum(map(len, units))
    observed = sum(
        2 * sum(distance(one, other) for one, other in combinations(unit, 2)) / (len(unit) - 1)
        for unit in units
    )
    totals = Counter(value for unit in units for value in unit)
    expected = 2 * sum(
        totals[one] * totals[other] * distance(one, other) for one, other in combinations(totals, 2)
    )
    if not expected:
        return None
    return 1 - (number - 1) * observed / expected


def summarise(ratings: Ratings, *, interval: bool = False) -> dict[str, Any]:
    """Return every measure of one question.

    Args:
        ratings: Unit -> annotator -> value.
        interval: The values are numbers, and near ones nearly agree; for alpha alone.

    Returns:
        `{units, pairs, annotators, percent, cohen_kappa, fleiss_kappa, krippendorff_alpha}`; `units` has those
        with two values or more, `cohen_kappa` is by pair of annotators, as `ann, bob`.
    """
    shared = {unit: values for unit, values in ratings.items() if len(values) > 1}
    people = sorted({name for values in shared.values() for name in values})
    kappas = {}
    for one, other in combinations(people, 2):
        both = [
            (values[one], values[other]) for values in shared.values() if one in values and other in values
        ]
        if both:
            kappas[f"{one}, {other}"] = {"units": len(both), "kappa": cohen_kappa(*_unzip(both))}
    return {
        "units": len(shared),
        "annotators": people,
        "percent": percent_agreement(shared),
        "cohen_kappa": kappas,
        "fleiss_kappa": fleiss_kappa(shared),
        "krippendorff_alpha": krippendorff_alpha(shared, _squared if interval else _differs),
    }


def _unzip(pairs: Iterable[tuple[Any, Any]]) -> tuple[list[Any], list[Any]]:
    first, second = zip(*pairs, strict=True)
    return list(first), list(second)


def _differs(one: Any, other: Any) -> float:
    return float(one != other)


def _squared(one: Any, other: Any) -> float:
    return float(one - other) ** 2
