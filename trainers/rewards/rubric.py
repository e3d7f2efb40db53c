"""The rubric-only reward for tasks that nothing can verify (paper CHORD appendix B.4)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, ClassVar

from planarena.formats import Gold, Parsed
from planarena.trainers.rewards.score import Context, Reward, Score, finite, sourced

__all__ = ["Rubric", "rubric_share"]


def rubric_share(met: Sequence[float | bool], weights: Sequence[float] | None = None) -> float:
    """Return the weighted share of rubric items that an output meets, in [0, 1].

    sum of w_j c_j over the sum of the positive weights, clipped. Deviation: (1) CHORD B.4 names a judge
    model and no formula; weights below 0 mark pitfalls.

    Args:
        met: Verdict c_j of each item, 0..1.
        weights: w_j; None weighs all alike.

    Raises:
        ValueError: When the lengths differ, or no weight is above 0.
    """
    weights = [1.0] * len(met) if weights is None else weights
    if len(weights) != len(met):
        raise ValueError(f"{len(met)} verdicts for {len(weights)} rubric items")
    whole = math.fsum([weight for weight in weights if weight > 0])
    if not whole > 0:
        raise ValueError("a rubric needs an item with a weight above 0")
    share = math.fsum([weight * float(verdict) for weight, verdict in zip(weights, met, strict=True)])
    return min(max(share / whole, 0.0), 1.0)


class Rubric(Reward, frozen=True, kw_only=True):
    """The judge's rubric score alone, scaled (CHORD B.4); text and gold are not read.

    Deviation: (1) without a judge's score the reward is 0 and `missing` says so.
    """

    name: ClassVar[str] = "rubric"
    needs: ClassVar[tuple[str, ...]] = ("rubric",)

    scale: Annotated[float, sourced("ours", "reward of an output that meets the whole rubric", gt=0)] = 1.0

    def _score(self, parsed: Parsed, gold: Gold, context: Context) -> Score:
        del parsed, gold
        given = finite(context.rubric)
        share = 0.0 if given is None else min(max(given, 0.0), 1.0)
        missing = ("rubric",) if given is None else ()
        return Score(total=self.scale * share, parts={"rubric": share}, missing=missing)
