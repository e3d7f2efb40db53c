"""Intervals and differences against numbers worked out elsewhere, and their coverage."""

from __future__ import annotations

import itertools
import math
import random

import pytest

from planarena.eval.statistics import (
    bootstrap_difference,
    holm,
    mean_interval,
    paired_difference,
    pass_all,
    pass_any,
    weighted_interval,
    wilson,
)


def test_wilson_equals_the_textbook_values() -> None:
    # Newcombe (1998), table I, method 3: 81 of 263 and 15 of 148, printed with four decimals.
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert wilson(15, 148) == pytest.approx((0.0624, 0.1605), abs=5e-5)
    assert wilson(0, 20) == pytest.approx((0.0, 0.1611), abs=5e-5)
    assert wilson(1, 29) == pytest.approx((0.0061, 0.1718), abs=5e-5)


def test_intervals_stay_in_range_and_are_not_empty() -> None:
    for correct, items in ((0, 1), (1, 1), (0, 1000), (1000, 1000)):
        low, high = wilson(correct, items)
        assert 0 <= low < high <= 1
        assert low <= correct / items <= high
    assert wilson(0, 0) == (0.0, 1.0)
    assert mean_interval([]) == (0.0, 1.0)


def test_samples_of_an_item_do_not_narrow_the_interval() -> None:
    """Four equal samples of each item say no more than one."""
    values = [1.0, 0.0, 1.0, 1.0, 0.0] * 20
    assert mean_interval(values) == wilson(60, 100)
    half = [0.5 + (value - 0.5) / 2 for value in values]  # means of samples that disagree
    low, high = mean_interval(half)
    deviation = math.sqrt(sum((value - 0.55) ** 2 for value in half) / 99 / 100)
    assert (low, high) == pytest.approx((0.55 - 1.959964 * deviation, 0.55 + 1.959964 * deviation), abs=1e-6)


def test_the_weighted_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    draw = random.Random(3)
    truth = {"a": (0.5, 0.3, 200), "b": (0.3, 0.9, 50), "c": (0.2, 1.0, 16)}
    value = sum(weight * share for weight, share, _ in truth.values())
    covered = 0
    for _ in range(2000):
        seen = {
            name: (weight, sum(draw.random() < share for _ in range(items)) / items, items)
            for name, (weight, share, items) in truth.items()
        }
        low, high = weighted_interval(seen)
        covered += low <= value <= high
    # 95 % of 2,000 with a standard deviation of 10: five of them, and more because the ends are smoothed.
    assert 1850 <= covered <= 1990


def test_the_difference_counts_common_items_alone() -> None:
    ours = {"a": 1.0, "b": 1.0, "c": 0.0, "d": 1.0, "only ours": 1.0}
    base = {"a": 0.0, "b": 0.0, "c": 1.0, "d": 1.0, "only theirs": 1.0}
    found = paired_difference(ours, base)
    assert (found["items"], found["gained"], found["lost"]) == (4, 2, 1)
    assert found["difference"] == 0.25
    # Two-sided sign test of 2 to 1: 2 (1 + 3) / 8 = 1.
    assert found["p"] == 1.0
    assert paired_difference(base, ours)["difference"] == -0.25
    nine = paired_difference({str(n): 1.0 for n in range(9)}, {str(n): float(n == 0) for n in range(9)})
    assert nine["p"] == pytest.approx(2 / 256, rel=1e-12)
    assert paired_difference({}, base)["items"] == 0
    many = paired_difference({str(n): 1.0 for n in range(5000)}, {str(n): 0.0 for n in range(5000)})
    assert many["p"] == pytest.approx(0.0, abs=1e-300)


def test_pass_any_and_pass_all_are_the_share_of_all_draws() -> None:
    for samples in range(1, 7):
        for correct in range(samples + 1):
            outputs = [True] * correct + [False] * (samples - correct)
            for k in range(1, samples + 1):
                draws = list(itertools.combinations(outputs, k))
                assert pass_any(correct, samples, k) == pytest.approx(sum(map(any, draws)) / len(draws))
                assert pass_all(correct, samples, k) == pytest.approx(sum(map(all, draws)) / len(draws))


def test_holm_is_statsmodels_holm() -> None:
    # By hand: 4 * .005, 3 * .011, max(2 * .02, .033), then the largest may not fall below the one before it.
    found = holm({"a": 0.02, "b": 0.005, "c": 0.03, "d": 0.011})
    assert found == pytest.approx({"a": 0.04, "b": 0.02, "c": 0.04, "d": 0.033})
    assert holm({"a": 0.9, "b": 0.8}) == {"a": 1.0, "b": 1.0}
    assert holm({}) == {}


def test_the_bootstrap_interval_agrees_with_scipys() -> None:
    scipy_stats = pytest.importorskip("scipy.stats")
    import numpy

    generator = numpy.random.default_rng(7)
    ours = (generator.random(300) < 0.62).astype(float)
    base = numpy.where(generator.random(300) < 0.7, ours, generator.random(300) < 0.5).astype(float)
    found = bootstrap_difference(
        {"all": list(zip(ours, base, strict=True))}, lambda means: means["all"], draws=8000
    )
    wanted = scipy_stats.bootstrap(
        (ours, base), lambda x, y, axis=-1: (x - y).mean(axis=axis), paired=True, n_resamples=8000,
        method="percentile", rng=1,
    ).confidence_interval  # fmt: skip
    assert found is not None
    # Two bootstraps of 8,000 draws: their ends differ by one step of 1/300 at most.
    assert found == pytest.approx((wanted.low, wanted.high), abs=0.0051)
    assert bootstrap_difference({}, lambda means: 0.0) is None


def test_the_bootstrap_follows_the_formula_and_the_seed() -> None:
    pairs = {"a": [(1.0, 0.0)] * 50, "b": [(0.0, 1.0), (1.0, 1.0)] * 25}
    weighted = bootstrap_difference(pairs, lambda means: 0.9 * means["a"] + 0.1 * means["b"])
    assert weighted is not None
    assert 0.8 < weighted[0] < weighted[1] < 0.9
    assert weighted == bootstrap_difference(pairs, lambda means: 0.9 * means["a"] + 0.1 * means["b"])
