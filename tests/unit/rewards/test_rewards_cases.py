"""Each reward at its edges: what the papers leave open, options, categories, broken calls."""

from __future__ import annotations

import math

import numpy as np
import pytest

from planarena import formats
from planarena.errors import ConfigError, UserError
from planarena.formats import Call, Gold
from planarena.trainers import rewards
from planarena.trainers.rewards import Context

CD = Call("cd", {"dir": "docs"})
CAT = Call("cat", {"file": "a.txt", "n": 3})
GOLD = Gold(calls=(CD, CAT))
ANSWER = Gold(response="It rains.")


def test_registry() -> None:
    assert rewards.names() == (
        "dupo",
        "awpo",
        "awpo_mixed",
        "toolupt",
        "toolupt_outcome",
        "toolrl",
        "binary",
        "math",
        "rubric",
        "overlong",
    )
    with pytest.raises(UserError, match="'toolrl'"):
        rewards.get("tool_rl")
    with pytest.raises(UserError, match="one of"):
        rewards.get("zzz")
    with pytest.raises(ConfigError, match="'lambda_sem'"):
        rewards.get("dupo", {"lamda_sem": 0.2})
    with pytest.raises(ConfigError):
        rewards.get("dupo", {"lambda_sem": -1.0})
    with pytest.raises(ConfigError):
        rewards.get("dupo", {"decay": "quadratic"})


def test_a_reward_asks_for_no_score_that_it_does_not_read() -> None:
    assert rewards.get("dupo").needed == ("similarity", "step", "steps")
    assert rewards.get("dupo", {"lambda_sem": 0.0}).needed == ("step", "steps")
    assert rewards.get("awpo").needed == ("reasoning",)
    assert rewards.get("toolupt").needed == ("tokens", "gold_tokens")
    assert rewards.get("toolupt_outcome").needed == ()
    assert rewards.get("binary").needed == ()


@pytest.mark.parametrize("name", rewards.names())
def test_every_option_says_where_its_default_comes_from(name: str) -> None:
    kind = type(rewards.get(name))
    hints = kind.__annotations__
    own = [field for field in kind.__struct_fields__ if field in hints and field != "format"]
    for field in own:
        assert "sourced(" in str(hints[field]), field


def test_dupo_rows_of_table_6_and_7() -> None:
    text = formats.get("planarena").render(calls=(CD, CAT))
    context = Context(similarity=0.6, step=2, steps=4)
    for coefficient in (0.0, 0.2, 0.5, 0.8):
        score = rewards.get("dupo", {"lambda_sem": coefficient, "decay": "none"}).score(text, GOLD, context)
        assert score.total == pytest.approx(3 - 0.4 * coefficient, rel=1e-12)
    wanted = {"sequential": 5**-0.5, "linear": 1.0, "discrete": 1.5, "none": 1.0}
    for law, weight in wanted.items():
        score = rewards.get("dupo", {"lambda_sem": 0.0, "decay": law}).score(text, GOLD, context)
        assert score.total == pytest.approx(3 * weight, rel=1e-12)
        left = rewards.get("dupo", {"lambda_sem": 0.0, "decay": law, "decay_application": "advantage"})
        later = left.score(text, GOLD, context)
        assert (later.total, later.parts["decay"]) == pytest.approx((3.0, weight), rel=1e-12)


def test_dupo_counts_repeated_calls_and_binds_values_to_their_tool() -> None:
    gold = Gold(calls=(Call("f", {"x": 1}), Call("f", {"x": 1}), Call("g", {"x": 2})))
    predicted = (Call("f", {"x": 1}), Call("g", {"x": 1}), Call("g", {"x": 2}))
    score = rewards.get("dupo").score(formats.get("planarena").render(calls=predicted), gold)
    # Names {f, f, g} and {f, g, g}: 2 of 4. Triples (f,x,1) x2, (g,x,2) and (f,x,1), (g,x,1), (g,x,2): 2 of 4.
    assert (score.parts["name"], score.parts["param"]) == (0.5, 0.5)


@pytest.mark.parametrize(("left", "right"), [(1, 1.0), (1, True), ("1", 1), (None, "null"), ([1], [1.0])])
def test_values_of_different_types_differ(left: object, right: object) -> None:
    gold = Gold(calls=(Call("f", {"x": left}),))
    text = formats.get("planarena").render(calls=(Call("f", {"x": right}),))
    assert rewards.get("dupo").score(text, gold).parts["param"] == 0.0
    assert rewards.get("binary", {"format": "planarena"}).score(text, gold).total == 0.0
    assert rewards.get("awpo", {"format": "planarena"}).score(text, gold).parts["value"] == 0.0


def test_dupo_without_a_gold_call() -> None:
    reward = rewards.get("dupo")
    context = Context(similarity=1.0)
    assert reward.score("<response>It rains.</response>", ANSWER, context).total == pytest.approx(1.5)
    called = reward.score(formats.get("planarena").render(calls=(CD,)), ANSWER, context)
    assert (called.parts["name"], called.parts["param"], called.parts["format"]) == (0.0, 0.0, 0.0)
    cut = reward.score('<tool_call>{"name": ', ANSWER, context)
    assert cut.parts["structure"] == 0.0


def test_dupo_says_when_the_judge_failed() -> None:
    text = formats.get("planarena").render(calls=(CD, CAT))
    for similarity in (None, math.nan, math.inf):
        score = rewards.get("dupo").score(text, GOLD, Context(similarity=similarity))
        assert (score.missing, score.parts["semantic"]) == (("similarity",), 0.0)
    assert rewards.get("dupo", {"lambda_sem": 0.0}).score(text, GOLD).missing == ()
    for similarity, want in ((-3.0, -0.5), (7.0, 0.0)):
        score = rewards.get("dupo").score(text, GOLD, Context(similarity=similarity))
        assert score.parts["semantic"] == want


def test_one_group_never_mixes_scorers() -> None:
    assert rewards.one_scorer([0.5, 1.0], lambda index: -1.0) == [0.5, 1.0]
    for failed in (None, math.nan):
        assert rewards.one_scorer([0.5, failed, 1.0], float) == [0.0, 1.0, 2.0]


def test_decay_counts_from_one() -> None:
    with pytest.raises(ValueError, match="count from 1"):
        rewards.sequential_decay(0, 4)
    with pytest.raises(ValueError, match="count from 1"):
        rewards.sequential_decay(1, 0)


def test_awpo_matches_repeated_tools_one_to_one() -> None:
    gold = Gold(calls=(Call("f", {"x": 1}), Call("f", {"x": 2})))
    text = formats.get("toolrl").render(calls=(Call("f", {"x": 2}),))
    score = rewards.get("awpo").score(text, gold)
    # The first gold call takes the only prediction with the key right and the value wrong.
    assert (score.parts["name"], score.parts["para"], score.parts["value"]) == (1.0, 1.0, 0.0)
    assert score.parts["execution"] == pytest.approx(2 / 5)
    both = formats.get("toolrl").render(calls=(Call("f", {"x": 2}), Call("f", {"x": 1})))
    assert rewards.get("awpo").score(both, gold).total == 2.0


def test_awpo_mixed_channel_and_missing_judge() -> None:
    text = formats.get("toolrl").render(plan="t", calls=(CD, CAT))
    mixed = rewards.get("awpo_mixed").score(text, GOLD, Context(reasoning=0.77))
    assert (mixed.total, mixed.parts["outcome"], mixed.missing) == (2.75, 2.0, ())
    smooth = rewards.get("awpo", {"channel": "mixed", "tiers": False}).score(
        text, GOLD, Context(reasoning=0.77)
    )
    assert smooth.total == pytest.approx(2.77)
    absent = rewards.get("awpo_mixed").score(text, GOLD, Context(reasoning=math.nan))
    assert (absent.total, absent.missing) == (2.0, ("reasoning",))
    cut = rewards.get("awpo").score("<think>t</think>\n<tool_call>\n{", ANSWER)
    assert (cut.parts["execution"], cut.total) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("number", "tier"),
    [
        *((1.0, 1.0), (0.96, 1.0), (0.94, 0.9), (0.83, 0.9), (0.82, 0.75)),
        # Halfway, where floating point sides with the lower tier.
        *((0.95, 1.0), (0.825, 0.9), (0.625, 0.75)),
        *((0.375, 0.5), (0.125, 0.25), (0.1, 0.0), (-5.0, 0.0), (9.0, 1.0)),
    ],
)
def test_snap_takes_the_nearest_tier_and_the_higher_of_two(number: float, tier: float) -> None:
    assert rewards.snap(number) == tier


def test_toolupt_binds_its_terms() -> None:
    # Two gold calls of one name, one prediction with a further key: keys 1/2, values 1/2 -> 1/2 of one in two.
    gold = Gold(calls=(Call("f", {"x": 1}), Call("f", {"x": 2})))
    text = formats.get("toolupt").render(calls=(Call("f", {"x": 1, "y": 0}),))
    score = rewards.get("toolupt").score(text, gold)
    assert (score.parts["syntax"], score.parts["name"], score.parts["param"]) == (1.0, 1.0, 0.25)
    assert score.total == pytest.approx(1 + 6 * 2.25 / 3 - 3)
    weighted = rewards.get("toolupt", {"weights": [0.5, 0.25, 0.25]}).score(text, gold)
    assert weighted.parts["correct"] == pytest.approx(6 * (0.5 + 0.25 + 0.0625) - 3)


@pytest.mark.parametrize(
    ("text", "total"),
    [
        ("<answer></answer>", 4.0),
        ("It rains.", 3.0),
        ("<answer>It rains.", 3.0),
        ('<tool_call>{"name": "f", "params": {}}</tool_call>', -3.0),
        ('<tool_call>{"name": "f", "params": {}}</tool_call><answer>yes</answer>', 3.0),
        ("<answer>a</tool_call></answer>", -2.0),
    ],
)
def test_toolupt_answers(text: str, total: float) -> None:
    assert rewards.get("toolupt").score(text, ANSWER).total == total


def test_toolupt_format_as_printed_looks_at_the_outer_tags() -> None:
    text = "<tool_call>{oops}</tool_call>"
    assert rewards.get("toolupt").score(text, GOLD).total == -3.0
    assert rewards.get("toolupt", {"format_check": "tags"}).score(text, GOLD).total == -2.0
    assert (
        rewards.get("toolupt", {"format_check": "tags"}).score("<tool_call></tool_call", GOLD).total == -3.0
    )


def test_toolupt_hermes_text_before_a_call_is_no_answer() -> None:
    text = 'So. <tool_call>{"name": "f", "arguments": {}}</tool_call>'
    assert rewards.get("toolupt", {"format": "hermes"}).score(text, ANSWER).total == -3.0
    assert rewards.get("toolupt", {"format": "native"}).score('{"tool_calls": 3}', ANSWER).total == -3.0


def test_toolupt_token_rewards() -> None:
    text = formats.get("toolupt").render(calls=(CD,))
    context = Context(tokens=[1, 9, 2, 3], gold_tokens=[1, 2, 3])
    positional = rewards.get("toolupt").score(text, GOLD, context)
    assert positional.token_rewards is not None
    assert positional.token_rewards.tolist() == [4.0, positional.total, positional.total, positional.total]
    aligned = rewards.get("toolupt", {"alignment": "lcs"}).score(text, GOLD, context)
    assert aligned.token_rewards is not None
    assert aligned.token_rewards.tolist() == [4.0, positional.total, 4.0, 4.0]
    answer = rewards.get("toolupt").score("<answer>x</answer>", ANSWER, Context(tokens=[1, 2]))
    assert answer.token_rewards is not None and answer.token_rewards.tolist() == [4.0, 4.0]
    assert rewards.get("toolupt").score(text, GOLD).missing == ("tokens",)
    outcome = rewards.get("toolupt_outcome").score(text, GOLD, context)
    assert (outcome.token_rewards, outcome.missing) == (None, ())


def test_tokens_may_be_lists_or_arrays() -> None:
    tokens, gold = [1, 9, 3, 4], [1, 2, 3]
    for left in (tokens, tuple(tokens), np.array(tokens), list(np.array(tokens))):
        for right in (gold, np.array(gold)):
            assert rewards.positional_flags(left, right).tolist() == [True, False, True, False]
            assert rewards.lcs_flags(left, right).tolist() == [True, False, True, False]


def test_toolrl_reads_keys_only_where_the_public_code_does() -> None:
    gold = Gold(calls=(Call("f", {"x": 1}),))
    head, tail = "<think>t</think>\n<tool_call>\n", "\n</tool_call>"
    reward = rewards.get("toolrl")

    def correct(*lines: str) -> float:
        return reward.score(head + "\n".join(lines) + tail, gold).parts["correct"]

    assert correct('{"name": "f", "parameters": {"x": 1.0}}') == 3.0
    # A prediction of another name is never asked for its parameters.
    assert correct('{"name": "f", "parameters": {"x": 1}}', '{"name": "g"}') == pytest.approx(6 * 2.5 / 3 - 3)
    assert correct('{"name": "f"}') == -3.0
    assert correct('{"parameters": {"x": 1}}') == -3.0
    assert correct('{"name": ["f"], "parameters": {"x": 1}}') == -3.0
    assert correct('{"name": "f", "parameters": ["x"]}') == -3.0
    assert correct('{"name": "f", "parameters": {"x": 2}}', '{"name": "f", "parameters": {"x": 1}}') == (
        pytest.approx(6 * 2.5 / 3 - 3)
    )
    assert correct('{"name": "f", "parameters": {"x": 1}, "id": 7}') == 3.0
    assert correct("") == -3.0
    assert correct("3") == -3.0


def test_toolrl_in_another_format_and_its_variants() -> None:
    text = formats.get("planarena").render(calls=(CD, Call("cat", {"n": 3, "file": "b.txt"})))
    fine = rewards.get("toolrl", {"format": "planarena"}).score(text, GOLD)
    # 1 for names, 1 + 1 for cd, 1 + 1 for cat, of 1 + 2 + 3.
    assert fine.total == pytest.approx(1 + 6 * 5 / 6 - 3)
    wanted = {"coarse": -3.0, "refined": 6 * 5 / 6 - 3, "intermediate": 6 * 2 / 3 - 3}
    for detail, correct in wanted.items():
        score = rewards.get("toolrl", {"format": "planarena", "detail": detail}).score(text, GOLD)
        assert score.parts["correct"] == pytest.approx(correct), detail
    small = rewards.get("toolrl", {"format": "planarena", "correct_max": 1.0}).score(text, GOLD)
    assert small.parts["correct"] == pytest.approx(2 * 5 / 6 - 1)
    cut = rewards.get("toolrl", {"format": "planarena"}).score("<tool_call>{", GOLD)
    assert cut.total == -3.0


def test_toolrl_schedules() -> None:
    text = (
        "<think>a b</think>\n<tool_call>\n"
        + '{"name": "cd", "parameters": {"dir": "docs"}}'
        + "\n</tool_call>"
    )
    gold = Gold(calls=(CD,))

    def parts(step: int, **options: object) -> dict[str, float]:
        return rewards.get("toolrl", options).score(text, gold, Context(training_step=step)).parts

    assert parts(0, schedule="two_stage") == {"format": 1.0, "correct": 1.0}
    assert parts(30, schedule="two_stage") == {"format": 0.5, "correct": 3.0}
    assert parts(0, schedule="linear") == {"format": 2.0, "correct": 2.0}
    assert parts(75, schedule="linear") == {"format": 1.5, "correct": 2.5}
    assert parts(300, schedule="linear") == {"format": 1.0, "correct": 3.0}
    failed = rewards.get("toolrl", {"schedule": "linear"}).score("x", gold, Context(training_step=75))
    assert failed.parts == {"format": -1.0, "correct": -2.5}
    long = "<think>" + "w " * 256 + "</think>"
    fixed = rewards.get("toolrl", {"length": "fixed"}).score(long, Gold())
    assert fixed.parts == {"format": 1.0, "correct": 0.0, "length": 0.5}
    later = rewards.get("toolrl", {"length": "scheduled"}).score(long, Gold(), Context(training_step=105))
    assert later.parts["length"] == 0.4
    assert rewards.get("toolrl", {"length": "fixed"}).score("w", Gold()).parts["length"] == 0.0


def test_binary() -> None:
    form = formats.get("chord")
    reward = rewards.get("binary")
    assert reward.score(form.render(plan="t", calls=(CAT, CD)), GOLD).total == 1.0
    assert reward.score(form.render(plan="t", calls=(CD,)), GOLD).total == 0.0
    assert reward.score(form.render(plan="t", calls=(CD, CD)), GOLD).total == 0.0
    unformatted = form.render(plan="t", calls=(CD, CAT)) + " done"
    assert reward.score(unformatted, GOLD).total == 0.0
    assert rewards.get("binary", {"require_format": False}).score(unformatted, GOLD).total == 1.0
    assert reward.score("<think>t</think> It pours.", ANSWER).total == 1.0
    assert reward.score(form.render(calls=(CD,)), ANSWER).total == 0.0
    assert reward.score("<think>t</think><tool_call>[{]</tool_call>", ANSWER).total == 0.0
    repeated = Gold(calls=(CD, CD, CAT))
    assert reward.score(form.render(calls=(CD, CAT, CAT)), repeated).total == 0.0


@pytest.mark.parametrize(
    ("text", "truncated", "total"),
    [
        ("<think>t</think> \\boxed{39}", False, 1.0),
        ("so \\boxed{39}", False, 1.0),
        ("<think>t</think> \\boxed{40}", False, 0.0),
        ("so \\boxed{40}", False, -0.1),
        ("so 39", False, -0.1),
        ("<think>t \\boxed{39}", False, -0.1),
        ("<think>t \\boxed{39}", True, -1.0),
        ("<think>t</think> \\boxed{40} and so", True, 0.0),
        ("<think>t</think> \\boxed{39} and so", True, 1.0),
        ("so \\boxed{40} and", True, -0.1),
    ],
)
def test_math_has_four_levels(text: str, truncated: bool, total: float) -> None:
    score = rewards.get("math").score(text, Gold(response="39"), Context(truncated=truncated))
    assert score.total == total


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("39", " $39$. ", True),
        ("1,000", "1000", True),
        ("\\$ 39", "39", True),
        ("\\leftarrow", "arrow", False),
        ("1{,}000", "1000", False),
        ("039", "39", True),
        ("39.0", "39", True),
        ("-0", "0", True),
        ("+3", "3", True),
        ("-3", "3", False),
        ("3.5", "3.50", True),
        (".5", "0.5", True),
        ("\\text{A}", "A", True),
        ("\\frac{1}{2}", "\\frac{1}{ 2}", True),
        ("\\left(1,2\\right)", "(1, 2)", True),
        ("1,2", "12", False),
        ("39", "40", False),
        ("", "0", False),
        (".", "0", False),
        ("9" * 6000, "9" * 6000 + ".0", True),
    ],
)
def test_answers_compare_by_value(left: str, right: str, same: bool) -> None:
    assert rewards.answers_equal(left, right) is same


def test_rubric() -> None:
    assert rewards.rubric_share([1, 0, 1, 1]) == 0.75
    assert rewards.rubric_share([True, False, 0.5], [5.0, 3.0, 2.0]) == pytest.approx(0.6)
    assert rewards.rubric_share([1, 1], [1.0, -2.0]) == 0.0
    assert rewards.rubric_share([1, 0], [1.0, -2.0]) == 1.0
    with pytest.raises(ValueError, match="2 verdicts for 1"):
        rewards.rubric_share([1, 1], [1.0])
    with pytest.raises(ValueError, match="above 0"):
        rewards.rubric_share([])
    assert rewards.get("rubric").score("", Gold(), Context(rubric=0.8)).total == 0.8
    assert rewards.get("rubric", {"scale": 2.0}).score("", Gold(), Context(rubric=7.0)).total == 2.0
    assert rewards.get("rubric").score("", Gold(), Context(rubric=math.nan)).missing == ("rubric",)


def test_overlong_alone_and_on_top_of_another_reward() -> None:
    assert [rewards.overlong_penalty(n, 20, 4, 2.0) for n in (0, 16, 17, 20, 21)] == [
        0.0,
        0.0,
        -0.5,
        -2.0,
        -2.0,
    ]
    assert [rewards.overlong_penalty(n, 20, 0) for n in (20, 21)] == [0.0, -1.0]
    alone = rewards.get("overlong", {"max_length": 20, "cache": 4})
    assert alone.score("", Gold(), Context(length=18)).total == -0.5
    assert alone.score("", Gold()).missing == ("length",)
    text = formats.get("toolupt").render(calls=(CD, CAT))
    shaped = rewards.get("toolupt", overlong={"max_length": 20, "cache": 4})
    score = shaped.score(text, GOLD, Context(length=18, tokens=[1, 2], gold_tokens=[1, 3]))
    assert (score.total, score.parts["overlong"]) == (3.5, -0.5)
    assert (shaped.format, shaped.needed) == ("toolupt", ("tokens", "gold_tokens", "length"))
    assert score.token_rewards is not None
    np.testing.assert_array_equal(score.token_rewards, [3.5, 3.5])
    assert shaped.score(text, GOLD).missing == ("tokens", "length")


def test_a_gold_may_be_text_and_a_prediction_may_be_parsed() -> None:
    form = formats.get("planarena")
    text = form.render(calls=(CD, CAT))
    reward = rewards.get("dupo", {"lambda_sem": 0.0})
    assert reward.score(form.parse(text), text) == reward.score(text, GOLD)


def test_a_gold_from_outside_with_odd_values_is_compared_without_raising() -> None:
    deep: list[object] = []
    for _ in range(5_000):
        deep = [deep]
    for odd in (math.nan, 2**70, {1: 2}, "\ud800", object(), deep):
        gold = Gold(calls=(Call("f", {"x": odd}),))
        for name in rewards.names():
            reward = rewards.get(name, {"format": "planarena"})
            assert math.isfinite(reward.score(formats.get("planarena").render(calls=(CD,)), gold).total)
