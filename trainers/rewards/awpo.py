"""AWPO's rewards (paper AWPO Eqs. 14-20, appendix B): outcome, reasoning tiers, mixed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from planarena import formats
from planarena.formats import Call, Gold, Parsed
from planarena.trainers.rewards.matching import jaccard, match_by_name, same_value
from planarena.trainers.rewards.score import Context, Reward, Score, finite, sourced

__all__ = ["AWPO", "JUDGE_WEIGHTS", "TIERS", "Execution", "execution", "snap"]

TIERS = (1.0, 0.9, 0.75, 0.5, 0.25, 0.0)
"""The judge's six tiers (AWPO Figure 2)."""
JUDGE_WEIGHTS = {
    "reasoning_path": 0.35,
    "tool_selection": 0.30,
    "parameter_setting": 0.25,
    "execution_strategy": 0.10,
}
"""Weights of the judge's four dimensions (AWPO Figure 2)."""


class Execution(NamedTuple):
    """The terms of AWPO Eq. 19."""

    name: float
    para: float
    value: float
    score: float


def _equal_values(gold: Mapping[str, Any], predicted: Mapping[str, Any]) -> int:
    return sum([key in predicted and same_value(value, predicted[key]) for key, value in gold.items()])


def _similarity(gold: Mapping[str, Any], predicted: Mapping[str, Any]) -> float:
    return jaccard(gold, predicted) + _equal_values(gold, predicted)


def execution(predicted: Sequence[Call], gold: Sequence[Call]) -> Execution:
    """Return r_name, r_para, r_value and S_exec (AWPO Eqs. 16-19).

    r_name is the Jaccard index of the sets of names, r_para the SUM over gold calls of the Jaccard index
    of parameter names, r_value the COUNT of equal values; S_exec divides their sum by its maximum.
    Deviations: (1) the paper does not say which predicted call answers a gold call: greedy one-to-one
    matching by name. (2) An unmatched gold call adds 0; a matched pair without parameters adds 1 to r_para.
    (3) Without gold calls S_exec is 1 if nothing is called, else 0.

    Args:
        predicted: Predicted calls.
        gold: Reference calls.
    """
    r_name = jaccard(
        dict.fromkeys([call.name for call in gold]), dict.fromkeys([call.name for call in predicted])
    )
    r_para, r_value = 0.0, 0
    for reference, index in zip(gold, match_by_name(gold, predicted, _similarity), strict=True):
        if index is not None:
            r_para += jaccard(reference.arguments, predicted[index].arguments)
            r_value += _equal_values(reference.arguments, predicted[index].arguments)
    most = 1 + len(gold) + sum([len(call.arguments) for call in gold])
    return Execution(r_name, r_para, float(r_value), (r_name + r_para + r_value) / most)


def snap(score: float) -> float:
    """Return the rubric tier nearest to a judge's number (AWPO appendix B); of two equally near, the higher.

    Deviation: (1) the paper's judge writes a tier; a number between two is ours to place.
    """
    # Rounded, or 0.825 and 0.95 would be nearer to the lower tier by the last bit alone.
    return min(TIERS, key=lambda tier: round(abs(tier - score), 9))


class AWPO(Reward, frozen=True, kw_only=True):
    """R_out = S_format + S_exec in [0, 2] (AWPO Eq. 14); R_mix = R_out + R_reasoning in [0, 3] (Eq. 20).

    `parts` holds both channels, which AWPO reads; `total` is one of them. Deviations: those of `execution`
    and `snap`; (4) a broken call has S_exec 0, also where the gold calls nothing; (5) without a judge's
    score R_mix is R_out and `missing` says so.
    """

    name: ClassVar[str] = "awpo"
    needs: ClassVar[tuple[str, ...]] = ("reasoning",)

    format: str = "toolrl"
    channel: Annotated[
        Literal["outcome", "mixed"], sourced("AWPO Eqs. 14, 20", "which reward `total` is")
    ] = "outcome"
    tiers: Annotated[bool, sourced("AWPO Figure 2", "snap the judge's number to its tier")] = True

    def _score(self, parsed: Parsed, gold: Gold, context: Context) -> Score:
        s_format = 0.0 if formats.get(parsed.format).check(parsed, gold.category) else 1.0
        terms = Execution(0.0, 0.0, 0.0, 0.0) if parsed.broken else execution(parsed.calls, gold.calls)
        outcome = s_format + terms.score
        reasoning = finite(context.reasoning)
        given = 0.0
        if reasoning is not None:
            given = snap(reasoning) if self.tiers else min(max(reasoning, 0.0), 1.0)
        mixed = outcome + given
        return Score(
            total=mixed if self.channel == "mixed" else outcome,
            parts={
                "format": s_format,
                "name": terms.name,
                "para": terms.para,
                "value": terms.value,
                "execution": terms.score,
                "outcome": outcome,
                "reasoning": given,
                "mixed": mixed,
            },
            missing=("reasoning",) if reasoning is None else (),
        )
