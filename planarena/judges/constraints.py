"""What no judge may exceed: the rubric's hard constraints, held by comparing calls, not by asking a model."""

from __future__ import annotations

import math

from planarena.judges.items import JudgedAction
from planarena.judges.offline import parameter_setting

__all__ = ["TIERS", "rubric_cap", "similarity_cap", "snap"]

TIERS = (1.0, 0.9, 0.75, 0.5, 0.25, 0.0)
"""The six tiers (AWPO Figure 2)."""


def snap(score: float) -> float:
    """Return the nearest tier; of two equally near, the higher.

    Raises:
        ValueError: The number is NaN, or outside of [0, 1].
    """
    if not (math.isfinite(score) and 0 <= score <= 1):
        raise ValueError(f"{score} is no score from 0 to 1")
    # Rounded, or 0.825 would be nearer to 0.9 by the last bit alone.
    return min(TIERS, key=lambda tier: round(abs(tier - score), 9))


def rubric_cap(action: JudgedAction) -> tuple[float, str]:
    """Return the highest score that the hard constraints of AWPO Figure 2 leave, and which one holds.

    Deviations (the paper leaves the downgrades to the judge): (1) they are caps, held here as well; (2) an
    invented tool: D; a missing tool, or a call that cannot be read: C; a parameter mismatch or a call too
    many: B. The milder of the two tiers that the paper names is taken: the judge may go below a cap.
    """
    candidate, gold = action.candidate, action.gold
    if action.invents_tool:
        return 0.25, "hallucination"
    if candidate.broken:
        return 0.5, "missing tool"
    left = [call.name for call in candidate.calls]
    for call in gold.calls:
        if call.name not in left:
            return 0.5, "missing tool"
        left.remove(call.name)
    if left or parameter_setting(candidate.calls, gold.calls) < 1:
        return 0.75, "parameter mismatch"
    return 1.0, ""


def similarity_cap(action: JudgedAction) -> tuple[float, str]:
    """Return the highest similarity that the scale of our prompt leaves, and why.

    0.25 where one of the two calls a tool and the other does not, where the call cannot be read, and where
    the candidate calls a tool that does not exist. Deviation: DUPO Eq. 18 knows no caps; ours.
    """
    candidate, gold = action.candidate, action.gold
    if candidate.broken or bool(candidate.calls) != bool(gold.calls):
        return 0.25, "call against no call"
    if action.invents_tool:
        return 0.25, "hallucination"
    return 1.0, ""
