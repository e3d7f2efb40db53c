"""Dr.GRPO: GRPO without the division by the deviation and with a constant length normaliser.

A_i = R_i - mean; L = -(1 / B) sum_i (1 / T) sum_t min(r A, clip(r) A).
Source: arXiv 2503.20783.

Deviations: 1. dual clip at 3; 2. T is `Step.horizon`, or the padded width where that is not given.
"""

from __future__ import annotations

from typing import Annotated

from planarena.trainers.algorithms import groups
from planarena.trainers.algorithms.base import ClippedPolicy, PolicyConfig, advantage_metrics, to_tokens
from planarena.trainers.algorithms.surrogate import Aggregation
from planarena.trainers.types import Advantages, RolloutBatch, Step, option

__all__ = ["DrGRPO", "DrGRPOConfig"]


class DrGRPOConfig(PolicyConfig, frozen=True, kw_only=True, tag="dr-grpo"):
    """Options of Dr.GRPO."""

    aggregation: Annotated[Aggregation, option("Dr.GRPO section 3", "how the token losses become one")] = (
        "seq-mean-token-sum-norm"
    )


class DrGRPO(ClippedPolicy[DrGRPOConfig]):
    """GRPO done right."""

    title = "Dr.GRPO"
    paper = "arXiv 2503.20783"

    def advantages(self, batch: RolloutBatch, step: Step) -> Advantages:  # noqa: ARG002
        """Return the reward of each row minus the mean of its group."""
        grouped = groups.group_rewards(batch.rewards_B, batch.group_B, batch.mask_BT)
        return Advantages(values_BT=to_tokens(grouped.centred(), batch), metrics=advantage_metrics(grouped))
