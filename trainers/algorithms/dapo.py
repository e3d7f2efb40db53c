"""DAPO: GRPO's advantage, a higher upper clip, a token-mean loss, and groups refilled until they differ.

L = -(1 / sum_i |y_i|) sum_i sum_t min(r A, clip(r, 1 - 0.2, 1 + 0.28) A).
Source: arXiv 2503.14476. The soft overlong penalty is a reward (`trainers/rewards`).
`dynamic_sampling: false` without that penalty is ToolUPT's DAPO*.

Deviations: 1. a group is dropped by the tolerance of degenerate groups, not by std == 0 exactly;
2. dual clip at 3.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from torch import Tensor

from planarena.trainers.algorithms import groups
from planarena.trainers.algorithms.base import GroupConfig, GroupPolicy
from planarena.trainers.types import Needs, RolloutBatch, option

__all__ = ["DAPO", "DAPOConfig"]


class DAPOConfig(GroupConfig, frozen=True, kw_only=True, tag="dapo"):
    """Options of DAPO."""

    eps_high: Annotated[float, option("DAPO section 3.1", "upper clip radius", ge=0)] = 0.28
    dynamic_sampling: Annotated[
        bool, option("DAPO section 3.2", "drop and refill groups of equal rewards")
    ] = True


class DAPO(GroupPolicy[DAPOConfig]):
    """Decoupled clip and dynamic sampling."""

    title = "DAPO"
    paper = "arXiv 2503.14476"

    def base_needs(self) -> Needs:
        """Add the group filter."""
        return replace(super().base_needs(), group_filter=self.config.dynamic_sampling)

    def keep_groups(self, batch: RolloutBatch) -> Tensor:
        """Return (B,) bool: rows of groups whose rewards differ."""
        if not self.config.dynamic_sampling:
            return super().keep_groups(batch)
        grouped = groups.group_rewards(batch.rewards_B, batch.group_B, batch.mask_BT)
        return ~grouped.expand(grouped.degenerate_P)
