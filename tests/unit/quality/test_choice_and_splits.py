"""Duplicates, the mix asked for, and splits without leaks."""

from __future__ import annotations

import random

import pytest

from planarena.config import SplitConfig
from planarena.quality import Balance, Chooser, FingerprintSet, ItemKeys, fingerprint, split_of
from planarena.quality.choice import BALANCE, DROP, DUPLICATE, KEEP
from planarena.records.canonical import content_id


def keys(tasks, categories=None):
    return ItemKeys(tuple(tasks), tuple(tasks), tuple(categories or [{}] * len(tasks)))


def test_the_first_n_count_and_duplicates_do_not():
    chooser = Chooser(3)
    assert chooser.choose(keys([5, 0, 5, 7])) == bytes([KEEP, DROP, DUPLICATE, KEEP])
    assert chooser.choose(keys([7, 9, 11])) == bytes([DUPLICATE, KEEP])
    assert chooser.full
    assert chooser.choose(keys([13])) == b""


def test_a_smaller_choice_is_a_prefix_of_a_larger():
    rng = random.Random(4)
    chunks = [
        keys(
            [rng.randrange(1, 400) for _ in range(30)],
            [{"length": str(rng.randrange(1, 4))} for _ in range(30)],
        )
        for _ in range(10)
    ]

    def decide(wanted):
        chooser = Chooser(wanted, {"length": Balance({"1": 1, "2": 1, "3": 1}, 0.01)})
        return b"|".join(chooser.choose(chunk) for chunk in chunks)

    small, large = decide(60), decide(120)
    assert large.startswith(small.rstrip(b"|"))


def test_shares_are_held_within_two_points_when_the_supply_is_lopsided():
    rng = random.Random(1)
    weights = {"a": 0.5, "b": 0.3, "c": 0.2}
    chooser = Chooser(5000, {"kind": Balance(weights, 0.0025)})
    taken = {"a": 0, "b": 0, "c": 0}
    number = 0
    while not chooser.full:
        kinds = rng.choices("abc", [0.7, 0.15, 0.15], k=100)
        decisions = chooser.choose(keys(range(number + 1, number + 101), [{"kind": kind} for kind in kinds]))
        for kind, decision in zip(kinds, decisions, strict=False):
            taken[kind] += decision == KEEP
            assert decision in {KEEP, BALANCE}
        number += 100
    for kind, weight in weights.items():
        assert abs(taken[kind] / 5000 - weight) < 0.02


def test_a_category_out_of_reach_does_not_end_the_build():
    balance = Balance({"1": 0.1, "2": 0.2, "7": 0.7}, 0.004)
    chooser = Chooser(3000, {"length": balance})
    for chunk in range(200):
        kinds = [{"length": str(1 + number % 2)} for number in range(40)]
        chooser.choose(keys(range(chunk * 40 + 1, chunk * 40 + 41), kinds))
        if chooser.full:
            break
    assert chooser.full
    # Of what is in reach the weights hold: 1 to 2, within the slack of 0.004 and 4 items.
    assert abs(balance._counts["1"] / 3000 - 1 / 3) < 0.01
    # Offered at last, it counts again: the others wait for it.
    chooser.wanted = 6000
    for chunk in range(200, 240):
        kinds = [{"length": "7" if number == 0 else "2"} for number in range(40)]
        chooser.choose(keys(range(chunk * 40 + 1, chunk * 40 + 41), kinds))
    assert balance._counts["7"] == 40


def test_a_weight_of_nothing_admits_nothing_and_no_weight_limits_nothing():
    balance = Balance({"a": 0.0, "b": 1.0}, 0.1)
    assert [balance.admits(name) for name in "abc"] == [False, True, True]


def test_fingerprints_hold_no_more_than_64_bytes_each_and_lose_none():
    found = FingerprintSet()
    rng = random.Random(2)
    values = {rng.getrandbits(64) or 1 for _ in range(50_000)}
    assert all(found.add(value) for value in values)
    assert not any(found.add(value) for value in values)
    assert len(found) == len(values)
    assert found._slots.nbytes / len(values) <= 32


def test_fingerprints_are_never_zero_and_differ():
    texts = [f"text {number}" for number in range(1000)]
    assert len({fingerprint(text) for text in texts}) == 1000
    assert all(map(fingerprint, texts))


def test_splits_depend_on_the_scenario_alone_and_keep_their_shares():
    config = SplitConfig(validation=0.1, test=0.2)
    found = [split_of(config, content_id("s", number), ["travel"]) for number in range(5000)]
    assert found == [split_of(config, content_id("s", number), ["travel"]) for number in range(5000)]
    # Five standard errors at 5,000 draws: 0.03 at most.
    assert abs(found.count("validation") / 5000 - 0.1) < 0.03
    assert abs(found.count("test") / 5000 - 0.2) < 0.03


@pytest.mark.parametrize("namespaces", [["email"], ["travel", "email"]])
def test_a_scenario_that_touches_a_held_out_namespace_is_in_no_other_split(namespaces):
    config = SplitConfig(held_out=("email",))
    assert {split_of(config, content_id(number), namespaces) for number in range(200)} == {"unseen_tools"}
    assert "unseen_tools" not in {split_of(config, content_id(number), ["travel"]) for number in range(200)}
