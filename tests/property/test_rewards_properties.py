"""Rewards on arbitrary outputs: never an exception, inside their bounds, greatest at the gold."""

from __future__ import annotations

import json
import math
import random
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from planarena import formats
from planarena.formats import Call, Gold
from planarena.trainers import rewards
from planarena.trainers.rewards import Context

QUIET = settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.too_slow])

# name -> (options, least and greatest total); the decay of DUPO is left out so that 3 is reached.
REWARDS: dict[str, tuple[dict[str, Any], float, float]] = {
    "dupo": ({"decay": "none"}, -0.5, 3.0),
    "awpo": ({}, 0.0, 2.0),
    "awpo_mixed": ({}, 0.0, 3.0),
    "toolupt": ({}, -3.0, 4.0),
    "toolupt_outcome": ({"format_check": "tags"}, -3.0, 4.0),
    "toolrl": ({}, -3.0, 4.0),
    "binary": ({}, 0.0, 1.0),
    "math": ({}, -1.0, 1.0),
    "rubric": ({}, 0.0, 1.0),
    "overlong": ({"max_length": 20, "cache": 4}, -1.0, 0.0),
}
BEST = Context(similarity=1.0, reasoning=1.0, rubric=1.0, length=1, tokens=[1, 2, 3], gold_tokens=[1, 2, 3])

scores = st.one_of(st.none(), st.floats(), st.floats(0, 1))
contexts = st.builds(
    Context,
    similarity=scores,
    reasoning=scores,
    rubric=scores,
    step=st.integers(1, 9),
    steps=st.integers(1, 9),
    training_step=st.integers(0, 500),
    length=st.one_of(st.none(), st.integers(0, 40)),
    truncated=st.booleans(),
    tokens=st.one_of(st.none(), st.lists(st.integers(0, 3), max_size=8)),
    gold_tokens=st.one_of(st.none(), st.lists(st.integers(0, 3), max_size=8)),
)
TAGS = [
    f"<{slash}{tag}>" for tag in ("plan", "think", "tool_call", "response", "answer") for slash in ("", "/")
]
pieces = st.one_of(
    st.text(max_size=6),
    st.sampled_from([*TAGS, "\n", "[", "]", "{", "}", '"', "\\boxed{39}", "NaN", "9" * 30, "\ud800"]),
    st.sampled_from(
        [f'{{"name": "f", "{key}": {{"x": 1}}}}' for key in ("arguments", "parameters", "params")]
    ),
    st.sampled_from(['{"name": "f"}', '{"name": 3, "parameters": 4}', "<think>t</think>\n<tool_call>\n"]),
)
soup = st.lists(pieces, max_size=12).map("".join)
small = st.sampled_from([1, 2, 1.5, "a", "b", True, None, [1], {"k": 1, "j": [2]}])
call_lists = st.lists(
    st.builds(Call, st.sampled_from("fgh"), st.dictionaries(st.sampled_from("xyz"), small, max_size=3)),
    max_size=4,
).map(tuple)
golds = st.one_of(
    st.builds(Gold, calls=call_lists.filter(bool)),
    st.builds(Gold, response=st.sampled_from(["39", "It rains."])),
    st.builds(Gold, calls=call_lists, response=st.sampled_from([None, "done"])),
)
formats_strategy = st.sampled_from(formats.names())


@QUIET
@given(st.sampled_from(sorted(REWARDS)), formats_strategy, soup, golds, contexts)
@example(
    "toolrl", "toolrl", "<tool_call>" + "[" * 10_000 + "</tool_call>", Gold(calls=(Call("f", {}),)), Context()
)
@example("dupo", "native", '{"a":' * 10_000, Gold(calls=(Call("f", {}),)), Context())
def test_no_text_raises_and_every_total_is_in_its_bounds(
    name: str, form: str, text: str, gold: Gold, context: Context
) -> None:
    options, low, high = REWARDS[name]
    score = rewards.get(name, options | {"format": form}).score(text, gold, context)
    # One rounding of a sum of thirds may stand above the bound.
    assert low - 1e-12 <= score.total <= high + 1e-12
    assert all(math.isfinite(part) for part in score.parts.values())
    if score.token_rewards is not None:
        assert score.token_rewards.shape == (len(context.tokens or ()),)
        assert np.all((score.token_rewards >= low - 1e-12) & (score.token_rewards <= high + 1e-12))


@QUIET
@given(st.sampled_from(sorted(REWARDS)), formats_strategy, soup, soup)
def test_a_gold_given_as_any_text_raises_nothing(name: str, form: str, text: str, gold: str) -> None:
    score = rewards.get(name, REWARDS[name][0] | {"format": form}).score(text, gold, BEST)
    assert math.isfinite(score.total)


@QUIET
@given(
    st.sampled_from(sorted(set(REWARDS) - {"math"})),
    st.sampled_from(sorted(set(formats.names()) - {"math"})),
    call_lists.filter(bool),
)
def test_the_gold_itself_earns_the_greatest_reward(name: str, form: str, calls: tuple[Call, ...]) -> None:
    text = formats.get(form).render(plan="p", calls=calls)
    score = rewards.get(name, REWARDS[name][0] | {"format": form}).score(text, Gold(calls=calls), BEST)
    assert score.total == pytest.approx(REWARDS[name][2], abs=1e-12)
    assert score.missing == ()


@QUIET
@given(
    st.sampled_from(["dupo", "awpo", "toolupt", "toolrl", "binary"]),
    call_lists.filter(bool),
    call_lists.filter(bool),
    st.randoms(),
)
def test_key_order_and_white_space_do_not_change_a_reward(
    name: str, calls: tuple[Call, ...], gold: tuple[Call, ...], rng: random.Random
) -> None:
    def shuffled(value: Any) -> Any:
        if isinstance(value, dict):
            keys = list(value)
            rng.shuffle(keys)
            return {key: shuffled(value[key]) for key in keys}
        return [shuffled(item) for item in value] if isinstance(value, list) else value

    def write(call: Call, **style: Any) -> str:
        return json.dumps(shuffled({"name": call.name, key: call.arguments}), **style)

    form = {
        "dupo": "planarena",
        "awpo": "planarena",
        "toolupt": "params",
        "toolrl": "toolrl",
        "binary": "hermes",
    }[name]
    key = {"toolupt": "params", "toolrl": "parameters"}.get(name, "arguments")
    separators = rng.choice([(",", ":"), (" ,\t", " :  ")])
    style: dict[str, Any] = {"separators": separators}
    gap = "\n"
    if name != "toolrl":  # Its format is read line by line, so only white space within a line is free.
        style["indent"] = rng.choice([None, 2])
        gap = rng.choice(["\n", "\n \n"])
    written = [write(call, **style) for call in calls]
    if form == "hermes":
        text = gap.join(f"<tool_call>{gap}{one}{gap}</tool_call>" for one in written)
    else:
        head = "<think>p</think>\n" if form == "toolrl" else f"<plan>p</plan>{gap}"
        text = f"{head}<tool_call>\n{gap.join(written)}\n</tool_call>"
    plain = formats.get(form).render(plan="p", calls=calls)
    reordered = Gold(calls=tuple([Call(call.name, shuffled(call.arguments)) for call in gold]))
    reward = rewards.get(name, {"format": form})
    assert reward.score(text, reordered, BEST).parts == reward.score(plain, Gold(calls=gold), BEST).parts


@QUIET
@given(call_lists.filter(bool), call_lists.filter(bool), st.randoms())
def test_the_order_of_calls_does_not_change_dupo_and_binary(
    calls: tuple[Call, ...], gold: tuple[Call, ...], rng: random.Random
) -> None:
    form = formats.get("planarena")
    mixed = list(calls)
    rng.shuffle(mixed)
    for name in ("dupo", "binary"):
        reward = rewards.get(name, {"format": "planarena"})
        left = reward.score(form.render(calls=calls), Gold(calls=gold), BEST)
        assert left == reward.score(form.render(calls=mixed), Gold(calls=gold), BEST)


def slow_lcs(tokens: list[int], gold: list[int]) -> list[bool]:
    """The full table, filled cell by cell, and the same scan from the left."""
    best = [[0] * (len(gold) + 1) for _ in range(len(tokens) + 1)]
    for i in reversed(range(len(tokens))):
        for j in reversed(range(len(gold))):
            same = tokens[i] == gold[j]
            best[i][j] = best[i + 1][j + 1] + 1 if same else max(best[i + 1][j], best[i][j + 1])
    flags = [False] * len(tokens)
    i = j = 0
    while i < len(tokens) and j < len(gold):
        if tokens[i] == gold[j]:
            flags[i] = True
            i, j = i + 1, j + 1
        elif best[i + 1][j] >= best[i][j + 1]:
            i += 1
        else:
            j += 1
    return flags


ids = st.lists(st.integers(0, 4), max_size=24)


@settings(QUIET, max_examples=400)
@given(ids, ids)
def test_lcs_flags_equal_the_full_table(tokens: list[int], gold: list[int]) -> None:
    flags = rewards.lcs_flags(tokens, gold)
    assert flags.tolist() == slow_lcs(tokens, gold)
    assert int(flags.sum()) >= int(rewards.positional_flags(tokens, gold).sum())


@QUIET
@given(ids)
def test_every_token_of_the_gold_is_correct(tokens: list[int]) -> None:
    assert rewards.lcs_flags(tokens, tokens).all()
    assert rewards.positional_flags(tokens, tokens).all()


def test_lcs_of_long_rollouts_stays_small() -> None:
    rng = np.random.default_rng(0)
    tokens = rng.integers(0, 50, 2_000).tolist()
    gold = [*tokens[:500], 99, *tokens[500:1_500], *tokens[1_510:]]
    flags = rewards.lcs_flags(tokens, gold)
    # One token went in, ten were left out: all others can be kept in order.
    assert int(flags.sum()) == 1_990


@QUIET
@given(st.integers(1, 40), st.sampled_from(["sequential", "linear", "discrete", "none"]))
def test_decay_never_rises_with_the_step(steps: int, law: Any) -> None:
    weights = [rewards.sequential_decay(n, steps, law) for n in range(1, steps + 1)]
    assert all(left >= right > 0 for left, right in pairwise(weights))
    if law == "sequential":
        # exp and log each round once: a few units in the last place.
        assert weights[-1] == pytest.approx(1 / (steps + 1), rel=1e-14)


@QUIET
@given(st.integers(0, 60), st.integers(1, 50), st.integers(0, 50))
def test_overlong_penalty_falls_from_zero_to_minus_one(length: int, most: int, cache: int) -> None:
    cache = min(cache, most)
    here, next_one = (rewards.overlong_penalty(n, most, cache) for n in (length, length + 1))
    assert -1.0 <= next_one <= here <= 0.0
    assert (here == 0.0) == (length <= most - cache)
    assert (here == -1.0) == (length >= most and (cache > 0 or length > most))
