"""ToolUPT's rewards (paper ToolUPT section 3.2.1): sequence outcome and token process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from planarena import formats
from planarena.formats import Call, Gold, Parsed
from planarena.formats.toolupt import ToolUPT as ToolUPTFormat
from planarena.trainers.rewards.alignment import lcs_flags, positional_flags
from planarena.trainers.rewards.matching import jaccard, match_by_name, same_value
from planarena.trainers.rewards.score import Context, Reward, Score, sourced

__all__ = ["UPPER", "Correctness", "ToolUPT", "answer_is_correct", "correctness", "token_rewards"]

UPPER = 4.0
"""Reward of a correct token (ToolUPT Eq. 13): the upper bound of the outcome reward."""


class Correctness(NamedTuple):
    """The terms of ToolUPT Eq. 11, each in [0, 1], and their scaled sum in [-3, 3]."""

    syntax: float
    name: float
    param: float
    reward: float


def _pair(gold: Mapping[str, Any], predicted: Mapping[str, Any]) -> float:
    """Return (s_key + s_value) / 2 of one matched pair (ToolUPT Eqs. 7-9); two empty sides score 1."""
    most = max(len(gold), len(predicted))
    if not most:
        return 1.0
    equal = sum([key in predicted and same_value(value, predicted[key]) for key, value in gold.items()])
    return (jaccard(gold, predicted) + equal / most) / 2


def correctness(
    predicted: Sequence[Call],
    gold: Sequence[Call],
    syntax_ok: bool,
    weights: tuple[float, float, float] = (1 / 3, 1 / 3, 1 / 3),
) -> Correctness:
    """Return r_syntax, r_name, r_param and R_correct = 6 (l1 r_syntax + l2 r_name + l3 r_param) - 3.

    ToolUPT Eqs. 4-11. Deviations: (1) Eq. 10 sums to m, the number of predicted calls, over terms of gold
    calls: the sum runs over the gold calls. (2) A gold call without candidate scores 0.
    (3) Bad syntax makes all three 0. (4) Eq. 11's weights are not given: a third each.

    Args:
        predicted: P, m calls.
        gold: G, n calls.
        syntax_ok: The call block could be read.
        weights: lambda_1..lambda_3, summing to 1.
    """
    if not syntax_ok:
        return Correctness(0.0, 0.0, 0.0, 6 * 0.0 - 3)
    r_name = jaccard(
        dict.fromkeys([call.name for call in gold]), dict.fromkeys([call.name for call in predicted])
    )
    best = 0.0
    for reference, index in zip(gold, match_by_name(gold, predicted, _pair), strict=True):
        if index is not None:
            best += _pair(reference.arguments, predicted[index].arguments)
    most = max(len(predicted), len(gold))
    r_param = best / most if most else 1.0
    share = weights[0] + weights[1] * r_name + weights[2] * r_param
    return Correctness(1.0, r_name, r_param, 6 * share - 3)


def answer_is_correct(parsed: Parsed) -> bool:
    """Whether an output suits a gold answer: no call tag between <answer> and </answer> (ToolUPT section 3.2.1).

    Nothing checks the words of the answer. Deviation: (1) without answer tags the whole output is searched,
    or a bare call would count as a correct answer.
    """
    tags = formats.get(parsed.format).call_tags
    if not tags:
        return not (parsed.calls or parsed.broken)
    searched = parsed.text
    for segment in parsed.segments:
        if segment.kind == "response" and segment.open < segment.start:
            searched = parsed.text[segment.start : segment.end]
            break
    return not any(tag in searched for tag in tags)


def token_rewards(flags: NDArray[np.bool_], outcome: float) -> NDArray[np.float64]:
    """Return max(R_process, R_outcome) per token (ToolUPT Eqs. 13-14).

    Args:
        flags: (T,) which tokens are correct.
        outcome: R_outcome, at least -3, so that Eq. 13's -3 never binds.
    """
    return np.where(flags, max(UPPER, outcome), max(-3.0, outcome))


class ToolUPT(Reward, frozen=True, kw_only=True):
    """R_outcome = R_format + R_correct in [-3, 4] (ToolUPT Eq. 12) and, for gold calls, rewards per token.

    Deviations: those of `correctness` and `answer_is_correct`; (5) a correct or wrong answer
    has R_correct 3 or -3, the end points of Eq. 11; (6) "the t-th token is correct" compares positions,
    `alignment` "lcs" compares along a longest common subsequence; (7) the format's predicate reads the block
    too, `format_check` "tags" is Eq. 3 as printed.
    """

    name: ClassVar[str] = "toolupt"
    needs: ClassVar[tuple[str, ...]] = ("tokens", "gold_tokens")

    format: str = "toolupt"
    weights: Annotated[
        tuple[float, float, float], sourced("ours", "lambda_1..lambda_3 of ToolUPT Eq. 11")
    ] = (
        1 / 3,
        1 / 3,
        1 / 3,
    )
    process: Annotated[bool, sourced("ToolUPT Eq. 14", "give token rewards")] = True
    alignment: Annotated[
        Literal["positional", "lcs"], sourced("ToolUPT Eq. 13", "how tokens are compared with the gold's")
    ] = "positional"
    format_check: Annotated[
        Literal["grammar", "tags"],
        sourced("ours; ToolUPT Eq. 3", "the whole predicate, or the outer tags alone"),
    ] = "grammar"

    @property
    def needed(self) -> tuple[str, ...]:
        """Token ids for the token process alone."""
        return self.needs if self.process else ()

    def _score(self, parsed: Parsed, gold: Gold, context: Context) -> Score:
        form = formats.get(parsed.format)
        if self.format_check == "tags" and isinstance(form, ToolUPTFormat):
            r_format = 1.0 if form.starts_and_ends(parsed, gold.category) else 0.0
        else:
            r_format = 0.0 if form.check(parsed, gold.category) else 1.0
        if gold.calls:
            terms = correctness(parsed.calls, gold.calls, bool(parsed.calls), self.weights)
        else:
            right = answer_is_correct(parsed)
            terms = Correctness(1.0, 1.0, 1.0, 3.0) if right else Correctness(0.0, 0.0, 0.0, -3.0)
        outcome = r_format + terms.reward
        rewards: NDArray[np.float64] | None = None
        missing: tuple[str, ...] = ()
        if self.process:
            if context.tokens is None or (gold.calls and context.gold_tokens is None):
                missing = ("tokens",)
            elif gold.calls and context.gold_tokens is not None:
                align = positional_flags if self.alignment == "positional" else lcs_flags
                rewards = token_rewards(align(context.tokens, context.gold_tokens), outcome)
            else:
                rewards = np.full(len(context.tokens), outcome)
        return Score(
            total=outcome,
            parts={
                "format": r_format,
                "syntax": terms.syntax,
                "name": terms.name,
                "param": terms.param,
                "correct": terms.reward,
            },
            token_rewards=rewards,
            missing=missing,
        )
