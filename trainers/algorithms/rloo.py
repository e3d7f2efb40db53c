"""RLOO: each rollout against the mean of the others in its group.

A_i = R_i - mean_{j != i} R_j = K / (K - 1) * (R_i - mean); L = token-mean clipped surrogate.
Source: arXiv 2402.14740.

Deviations: 1. the clipped surrogate (and dual clip) as in verl, inert at one update per batch;
2. a group of one gives 0, where verl gives the raw reward.
"""

from __future__ import annotations

from planarena.trainers.algorithms import groups
from planarena.trainers.algorithms.base import ClippedPolicy, PolicyConfig, advantage_metrics, to_tokens
from planarena.trainers.types import Advantages, RolloutBatch, Step

__all__ = ["RLOO", "RLOOConfig"]


class RLOOConfig(PolicyConfig, frozen=True, kw_only=True, tag="rloo"):
    """Options of RLOO."""


class RLOO(ClippedPolicy[RLOOConfig]):
    """REINFORCE leave-one-out."""

    title = "RLOO"
    paper = "arXiv 2402.14740"

    def advantages(self, batch: RolloutBatch, step: Step) -> Advantages:  # noqa: ARG002
        """Return the reward of each row minus the mean of the rest of its group."""
        grouped = groups.group_rewards(batch.rewards_B, batch.group_B, batch.mask_BT)
        return Advantages(
            values_BT=to_tokens(grouped.leave_one_out(), batch), metrics=advantage_metrics(grouped)
        )
