"""GRPO: the reward of a rollout, standardised inside its group, as the advantage of every token.

A_i = (R_i - mean) / (std + 1e-6); L = -mean_i mean_t min(r A, clip(r) A).
Source: DeepSeekMath Eq. 3; ToolUPT Eq. 2 (seq-mean-token-mean, the default); CHORD Eq. 2 (token-mean).
With ToolRL's reward this is ToolRL.

Deviations: 1. dual clip at 3 (`dual_clip: null` removes it); 2. degenerate groups give exactly 0.
"""

from __future__ import annotations

from typing import Annotated

from planarena.trainers.algorithms.base import GroupConfig, GroupPolicy
from planarena.trainers.algorithms.surrogate import Aggregation
from planarena.trainers.types import option

__all__ = ["GRPO", "GRPOConfig"]


class GRPOConfig(GroupConfig, frozen=True, kw_only=True, tag="grpo"):
    """Options of GRPO."""

    aggregation: Annotated[Aggregation, option("ToolUPT Eq. 2", "how the token losses become one")] = (
        "seq-mean-token-mean"
    )


class GRPO(GroupPolicy[GRPOConfig]):
    """Group-relative policy optimisation."""

    title = "GRPO / ToolRL"
    paper = "DeepSeekMath Eq. 3; ToolUPT Eq. 2; CHORD Eq. 2"
