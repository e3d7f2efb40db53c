"""Agreement measures against values computed by hand and against published examples."""

from __future__ import annotations

import math

import pytest

from planarena.annotation.agreement import (
    cohen_kappa,
    fleiss_kappa,
    krippendorff_alpha,
    percent_agreement,
    summarise,
)

# Rounding of a double in sums of fewer than 100 terms of size one.
EXACT = 1e-12


def by_unit(*columns):
    """Turn annotators' columns (None: not judged) into unit -> annotator -> value."""
    return {
        str(unit): {str(who): value for who, value in enumerate(values) if value is not None}
        for unit, values in enumerate(zip(*columns, strict=True))
    }


def test_cohen_of_the_textbook_table():
    # 50 applications, two readers: 20 both yes, 5 yes/no, 10 no/yes, 15 both no.
    # p_o = 35/50 = 0.7; p_e = 0.5 * 0.6 + 0.5 * 0.4 = 0.5; kappa = 0.2 / 0.5 = 0.4.
    first = ["yes"] * 25 + ["no"] * 25
    second = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    assert cohen_kappa(first, second) == pytest.approx(0.4, abs=EXACT)


def test_cohen_below_chance_is_negative():
    # p_o = 0, p_e = 0.5: kappa = -1.
    assert cohen_kappa([1, 0, 1, 0], [0, 1, 0, 1]) == pytest.approx(-1.0, abs=EXACT)


def test_cohen_is_undefined_where_everybody_always_says_the_same():
    assert cohen_kappa(["yes"] * 4, ["yes"] * 4) is None
    assert cohen_kappa([], []) is None


def test_cohen_needs_the_same_units():
    with pytest.raises(ValueError, match="same units"):
        cohen_kappa([1], [1, 2])


def test_fleiss_of_the_published_example():
    # Fleiss 1971 as worked in textbooks: 10 subjects, 14 raters, 5 categories; kappa = 0.210.
    counts = [
        (0, 0, 0, 0, 14), (0, 2, 6, 4, 2), (0, 0, 3, 5, 6), (0, 3, 9, 2, 0), (2, 2, 8, 1, 1),
        (7, 7, 0, 0, 0), (3, 2, 6, 3, 0), (2, 5, 3, 2, 2), (6, 5, 2, 1, 0), (0, 2, 2, 3, 7),
    ]  # fmt: skip
    ratings = {
        str(unit): dict(enumerate(value for value, number in enumerate(row) for _ in range(number)))
        for unit, row in enumerate(counts)
    }
    # P_bar = 0.378, P_e = 0.213 (printed with three digits).
    assert fleiss_kappa(ratings) == pytest.approx(0.210, abs=0.0005)


def test_fleiss_takes_the_most_common_number_of_annotators():
    ratings = by_unit([1, 0, 1, 0, 1], [1, 0, 1, 1, 0], [None, None, None, None, 1])
    pairs = {unit: values for unit, values in ratings.items() if len(values) == 2}
    assert fleiss_kappa(ratings) == fleiss_kappa(pairs)


def test_alpha_of_the_published_nominal_example():
    # Krippendorff 2011, "Computing Krippendorff's alpha-reliability", section C: four observers, twelve units,
    # missing values; nominal alpha = 0.743, interval alpha = 0.849.
    a = [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None]
    b = [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3]
    c = [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None]
    d = [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None]
    ratings = by_unit(a, b, c, d)
    assert krippendorff_alpha(ratings) == pytest.approx(0.743, abs=0.0005)
    interval = krippendorff_alpha(ratings, lambda one, other: (one - other) ** 2)
    assert interval == pytest.approx(0.849, abs=0.0005)


def test_alpha_of_two_observers_and_binary_data():
    # Krippendorff 2011, section A: ten units; o_01 = 4, n_0 = 14, n_1 = 6:
    # alpha = 1 - (20 - 1) * 4 / (14 * 6) = 0.095.
    meg = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0]
    owen = [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    assert krippendorff_alpha(by_unit(meg, owen)) == pytest.approx(1 - 19 * 4 / 84, abs=EXACT)


def test_alpha_ignores_units_with_one_value():
    ratings = by_unit([0, 1, 0, 0, 1], [1, 1, 1, 0, 0])
    assert krippendorff_alpha({**ratings, "alone": {"0": 1}}) == krippendorff_alpha(ratings)


def test_alpha_is_undefined_without_variation_or_pairs():
    assert krippendorff_alpha(by_unit([1, 1], [1, 1])) is None
    assert krippendorff_alpha({"a": {"ann": 1}}) is None


def test_percent_counts_pairs():
    # Three annotators, one of them differs: one of three pairs agrees; then one agreeing pair: 2 of 4.
    assert percent_agreement(by_unit([1, 0], [1, 0], [0, None])) == pytest.approx(0.5, abs=EXACT)


def test_summary_names_pairs_and_leaves_single_judgements_out():
    ratings = {"a": {"ann": 1, "bob": 1}, "b": {"ann": 0, "bob": 1}, "c": {"ann": 1}}
    found = summarise(ratings)
    assert (found["units"], found["annotators"]) == (2, ["ann", "bob"])
    assert list(found["cohen_kappa"]) == ["ann, bob"]
    # ann 1, 0; bob 1, 1: p_o = 0.5, p_e = 0.5 * 1 = 0.5, so kappa = 0.
    assert found["cohen_kappa"]["ann, bob"] == {"units": 2, "kappa": 0.0}
    assert found["percent"] == 0.5
    assert not math.isnan(found["krippendorff_alpha"])
