"""The offline scorers, by hand: every number here follows from the definitions in the docstrings."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planarena.errors import ConfigError
from planarena.formats import Call, Gold, Parsed
from planarena.judges import (
    OFFLINE,
    TIERS,
    WEIGHTS,
    JudgedAction,
    RubricJudge,
    SimilarityJudge,
    offline_rubric,
    offline_similarity,
    rubric_cap,
    similarity_cap,
    snap,
)
from planarena.judges.offline import execution_strategy, parameter_setting, tool_selection
from planarena.judges.overlap import (
    call_similarity,
    calls_similarity,
    mentioned,
    text_similarity,
    words,
)
from planarena.llm import Gateway

FIND, BOOK = Call("find_flight", {"to": "Oslo", "day": 3}), Call("book", {"flight": "F1"})
GOLD = Gold(calls=(FIND, BOOK), plan="find a flight to Oslo, then book it")


def parsed(*calls: Call, **fields: Any) -> Parsed:
    return Parsed(format="planarena", text="", calls=calls, **fields)


def action(candidate: Parsed, gold: Gold = GOLD, **fields: Any) -> JudgedAction:
    return JudgedAction(candidate=candidate, gold=gold, **fields)


def test_words_part_names_and_fold_case() -> None:
    assert words("getUserName get_user-name ﬁne STRASSE ß") == [
        *("get", "user", "name", "get", "user", "name", "fine", "strasse", "ss"),
    ]


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("", "", 1.0),
        ("a", "", 0.0),
        ("!?", "--", 1.0),
        ("a b c", "a b c", 1.0),
        ("A, b; C", "a b c", 1.0),
        # Words a b c / a b d and pairs ab bc / ab bd: 2 * 3 / (5 + 5).
        ("a b c", "a b d", 0.6),
        # The same words in another order: 2 * 2 / (3 + 3).
        ("a b", "b a", 2 / 3),
        ("a a", "a", 2 * 1 / (3 + 1)),
        ("x y", "a b", 0.0),
    ],
)
def test_text_similarity_by_hand(left: str, right: str, expected: float) -> None:
    assert text_similarity(left, right) == pytest.approx(expected, abs=1e-12)
    assert text_similarity(right, left) == pytest.approx(expected, abs=1e-12)


def test_calls_by_hand() -> None:
    assert call_similarity(FIND, FIND) == pytest.approx(1.0, abs=1e-12)
    # The same name; of two keys one equal, one string without a common word.
    assert call_similarity(FIND, Call("find_flight", {"to": "Rome", "day": 3})) == pytest.approx(
        0.4 + 0.6 / 2
    )
    # 1 and 1.0 and "1" are three values.
    assert call_similarity(Call("f", {"a": 1}), Call("f", {"a": 1.0})) == pytest.approx(0.4)
    assert call_similarity(Call("f", {}), Call("f", {})) == pytest.approx(1.0)
    assert call_similarity(Call("f", {}), Call("g", {})) == pytest.approx(0.6)
    assert calls_similarity((), ()) == 1.0
    assert calls_similarity((FIND,), ()) == 0.0
    assert calls_similarity((BOOK, FIND), (FIND, BOOK)) == pytest.approx(1.0)
    # One of two calls is there.
    assert calls_similarity((FIND,), (FIND, BOOK)) == pytest.approx(0.5)


def test_mentions_by_hand() -> None:
    # find, flight, oslo, 3: all four; book, f1: both.
    assert mentioned("find the flight to Oslo on day 3, then book F1", GOLD.calls) == 1.0
    assert mentioned("book F1, then find the flight to Oslo, 3", GOLD.calls) == pytest.approx((1 + 0.5) / 2)
    assert mentioned("find something", GOLD.calls) == pytest.approx((1 / 4 + 0) / 2)
    assert mentioned("", ()) == 1.0


def test_similarity_weighs_what_is_there() -> None:
    assert offline_similarity(action(parsed(FIND, BOOK, plan=GOLD.plan))) == pytest.approx(1.0)
    # Calls half right (0.6), no response on either side, plan without a common word (0.1).
    assert offline_similarity(action(parsed(FIND, plan="xyz"))) == pytest.approx(0.6 * 0.5 / 0.7)
    assert offline_similarity(action(parsed(response="a b c"), Gold(response="a b d"))) == pytest.approx(0.6)
    # A response instead of the calls: nothing of 0.6, nothing of 0.3, the plan's 0.1.
    assert offline_similarity(action(parsed(response="done", plan=GOLD.plan))) == pytest.approx(0.1)
    broken = parsed(broken=True, reason="truncated", plan=GOLD.plan)
    assert offline_similarity(action(broken)) == pytest.approx(0.1 / 0.7)
    assert offline_similarity(action(parsed(), Gold())) == 1.0


def test_dimensions_by_hand() -> None:
    assert tool_selection((FIND, BOOK), (FIND, BOOK)) == 1.0
    assert tool_selection((BOOK, FIND), (FIND, BOOK)) == pytest.approx(0.5)
    assert tool_selection((FIND,), (FIND, BOOK)) == pytest.approx(2 / 3)
    assert tool_selection((FIND, FIND, BOOK), (FIND, BOOK)) == pytest.approx(0.8)
    assert tool_selection((), ()) == 1.0
    assert tool_selection((FIND,), ()) == 0.0
    assert parameter_setting((FIND, BOOK), (FIND, BOOK)) == 1.0
    changed = Call("find_flight", {"to": "Oslo", "day": 4})
    assert parameter_setting((changed, BOOK), (FIND, BOOK)) == pytest.approx((0.5 + 1) / 2)
    extra = Call("book", {"flight": "F1", "seat": "2A"})
    assert parameter_setting((FIND, extra), (FIND, BOOK)) == pytest.approx((1 + 0.5) / 2)
    assert execution_strategy(action(parsed(FIND, BOOK))) == 1.0
    assert execution_strategy(action(parsed(FIND, FIND, BOOK))) == pytest.approx(1 / 3)
    assert execution_strategy(action(parsed(broken=True, reason="r"))) == pytest.approx(2 / 3)


def test_rubric_weighs_four_dimensions() -> None:
    assert math.fsum(WEIGHTS.values()) == pytest.approx(1.0, abs=1e-12)
    thought = "find the flight to Oslo on day 3, then book F1"
    gold = Gold(calls=GOLD.calls)
    assert offline_rubric(action(parsed(FIND, BOOK, plan=thought), gold)) == pytest.approx(1.0)
    assert offline_rubric(action(parsed(FIND, BOOK), gold)) == pytest.approx(0.65)
    # With a rationale, half of the first dimension is likeness to it.
    like = text_similarity(thought, "book it")
    found = offline_rubric(action(parsed(FIND, BOOK, plan=thought), gold, reference="book it"))
    assert found == pytest.approx(0.35 * (1 + like) / 2 + 0.65)
    missing = offline_rubric(action(parsed(FIND, plan=thought), gold))
    assert missing == pytest.approx(0.35 + 0.30 * 2 / 3 + 0.25 / 2 + 0.10)


@pytest.mark.parametrize(
    ("score", "tier"),
    [
        *((1, 1), (0.95, 1), (0.94, 0.9), (0.825, 0.9), (0.82, 0.75), (0.625, 0.75), (0.62, 0.5)),
        *((0.375, 0.5), (0.37, 0.25), (0.125, 0.25), (0.12, 0), (0, 0)),
    ],
)
def test_snapping_takes_the_nearest_tier_and_ties_go_up(score: float, tier: float) -> None:
    assert snap(score) == tier


@pytest.mark.parametrize("score", [math.nan, math.inf, -0.01, 1.01, 42.0])
def test_what_is_no_score_is_not_snapped(score: float) -> None:
    with pytest.raises(ValueError, match="no score"):
        snap(score)


OFFERED = ("find_flight", "book")


@pytest.mark.parametrize(
    ("candidate", "cap", "why"),
    [
        (parsed(FIND, BOOK), 1.0, ""),
        (parsed(BOOK, FIND), 1.0, ""),  # the order is the judge's to weigh
        (parsed(FIND), 0.5, "missing tool"),
        (parsed(), 0.5, "missing tool"),
        (parsed(broken=True, reason="r"), 0.5, "missing tool"),
        (parsed(FIND, BOOK, Call("delete_everything", {})), 0.25, "hallucination"),
        (parsed(FIND, Call("book", {"flight": "F2"})), 0.75, "parameter mismatch"),
        (parsed(FIND, Call("book", {})), 0.75, "parameter mismatch"),
        (parsed(FIND, BOOK, BOOK), 0.75, "parameter mismatch"),
    ],
)
def test_hard_constraints_cap_the_rubric(candidate: Parsed, cap: float, why: str) -> None:
    assert rubric_cap(action(candidate, tools=OFFERED)) == (cap, why)


def test_similarity_is_capped_where_the_scale_says_so() -> None:
    assert similarity_cap(action(parsed(Call("search", {})))) == (1.0, "")
    assert similarity_cap(action(parsed(Call("search", {})), tools=OFFERED)) == (0.25, "hallucination")
    assert similarity_cap(action(parsed(response="done")))[0] == 0.25
    assert similarity_cap(action(parsed(FIND), Gold(response="no")))[0] == 0.25
    assert similarity_cap(action(parsed(broken=True, reason="r")))[0] == 0.25


values = (
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=8) | st.lists(st.integers(), max_size=2)
)
calls = st.builds(
    Call,
    st.sampled_from(["find_flight", "book", "x"]),
    st.dictionaries(st.sampled_from("abc"), values, max_size=3),
)
texts = st.none() | st.text(max_size=30)
actions = st.builds(
    JudgedAction,
    candidate=st.builds(
        lambda calls, plan, response, broken: parsed(
            *(() if broken else calls),
            plan=plan,
            response=response,
            broken=broken,
            reason="r" if broken else "",
        ),
        st.lists(calls, max_size=4),
        texts,
        texts,
        st.booleans(),
    ),
    gold=st.builds(Gold, st.lists(calls, max_size=4).map(tuple), texts, texts),
    tools=st.sampled_from([(), OFFERED]),
    reference=st.text(max_size=20),
)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(actions)
def test_scores_stay_in_range_and_below_caps(item: JudgedAction) -> None:
    assert 0 <= offline_similarity(item) <= 1 + 1e-12
    assert 0 <= offline_rubric(item) <= 1 + 1e-12
    similarity, _ = SimilarityJudge().offline(item)
    rubric, _ = RubricJudge().offline(item)
    assert 0 <= similarity <= 1 + 1e-12
    assert rubric in TIERS
    assert rubric <= rubric_cap(item)[0]


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.builds(Gold, st.lists(calls, max_size=4).map(tuple), texts, texts))
def test_the_gold_itself_scores_one(gold: Gold) -> None:
    # An empty plan is none: a candidate without words has nothing to compare either.
    item = action(parsed(*gold.calls, plan=gold.plan, response=gold.response), gold)
    assert offline_similarity(item) == pytest.approx(1.0, abs=1e-12)
    assert similarity_cap(item)[0] == 1.0
    assert rubric_cap(item)[0] == 1.0


def test_groups_are_scored_without_a_model() -> None:
    judge = SimilarityJudge()
    groups = judge.score([[action(parsed(FIND, BOOK)), action(parsed(FIND))], []])
    assert [group.scorer for group in groups] == [OFFLINE, OFFLINE]
    assert groups[0].scores == (1.0, pytest.approx(0.6 * 0.5 / 0.7))
    assert groups[0].notes == (("identical",), ())
    assert groups[1].scores == ()
    assert judge.counts["groups"] == 2


def test_scores_do_not_depend_on_the_hash_seed() -> None:
    script = (
        "from planarena.formats import Call, Gold, Parsed\n"
        "from planarena.judges import JudgedAction, offline_rubric, offline_similarity\n"
        "c = Call('find_flight', {k: f'v {k} w' for k in 'abcdefg'})\n"
        "g = Call('find_flights', {k: f'w {k}' for k in 'bcdefgh'})\n"
        "a = JudgedAction(candidate=Parsed(format='p', text='', calls=(c,), plan='v a w b'), gold=Gold(calls=(g,)))\n"
        "print(offline_similarity(a).hex(), offline_rubric(a).hex())"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", script], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(seen) == 1


def test_a_gateway_and_a_model_come_together(tmp_path: Any) -> None:
    with pytest.raises(ConfigError):
        SimilarityJudge(None, "m")
    with pytest.raises(ConfigError):
        RubricJudge(Gateway(cache=tmp_path / "c.sqlite"))
