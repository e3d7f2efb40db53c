"""GTPO: the discounted return from each turn, standardised among the rollouts of a prompt, as its advantage.

G_ij = sum_{k >= j} gamma^(k - j) r_ik; A_ij = (G_ij - mean) / (std + eps) over the rollouts that reached turn j;
the loss is GRPO's. Source: arXiv 2511.14846 (its equations were not at hand: approximate).

Deviations: 1. a turn is compared with the same turn of the other rollouts (`across: turns` compares all turns
of a prompt); 2. the paper shapes rewards by the similarity of generated code: here the environment's reward of
each step takes that place; 3. dual clip at 3.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

import torch

from planarena.trainers.algorithms import groups
from planarena.trainers.algorithms.base import (
    ADVANTAGE_LIMIT,
    GroupConfig,
    GroupPolicy,
    advantage_metrics,
)
from planarena.trainers.types import Advantages, Needs, RolloutBatch, Step, option

__all__ = ["GTPO", "GTPOConfig"]


class GTPOConfig(GroupConfig, frozen=True, kw_only=True, tag="gtpo"):
    """Options of GTPO."""

    gamma: Annotated[float, option("ours, unverified: 0.9", "discount of the returns", ge=0, le=1)] = 0.9
    across: Annotated[
        Literal["turn", "turns"],
        option("ours: turns at one place are alike", "compare the same turn, or all turns of a prompt"),
    ] = "turn"


class GTPO(GroupPolicy[GTPOConfig]):
    """Group turn policy optimisation.

    A row is a whole episode whose tokens carry `turn_BT`, or one response; `step_return_BN` holds the returns
    from its turns and `anchor_BN` is negative where there is no turn.
    """

    title = "GTPO (approximate)"
    paper = "arXiv 2511.14846"
    approximate = True

    def __init__(self, config: GTPOConfig) -> None:
        super().__init__(config)
        self.step_discount = config.gamma

    def base_needs(self) -> Needs:
        """Add the returns of the steps."""
        return replace(super().base_needs(), step_anchors=True)

    def advantages(self, batch: RolloutBatch, step: Step) -> Advantages:  # noqa: ARG002
        """Return the standardised return from each token's turn.

        Raises:
            ValueError: If the returns are absent.
        """
        if batch.anchor_BN is None or batch.step_return_BN is None:
            raise ValueError("gtpo needs RolloutBatch.anchor_BN and step_return_BN")
        return_BN = batch.step_return_BN.detach().double()
        valid_BN = (batch.anchor_BN >= 0) & torch.isfinite(return_BN) & batch.mask_BT.bool().any(1)[:, None]
        turns = return_BN.shape[1]
        group_BN = torch.unique(batch.group_B, return_inverse=True)[1][:, None].expand(return_BN.shape)
        if self.config.across == "turn":
            group_BN = group_BN * turns + torch.arange(turns, device=group_BN.device)
        compared = groups.group_values(return_BN.reshape(-1), valid_BN.reshape(-1), group_BN.reshape(-1))
        value_BN = compared.standardised(ddof=self.config.ddof, eps=self.config.std_eps).reshape(
            valid_BN.shape
        )
        turn_BT = (
            torch.zeros_like(batch.mask_BT, dtype=torch.long)
            if batch.turn_BT is None
            else batch.turn_BT.long()
        )
        value_BT = value_BN.gather(1, turn_BT).clamp(-ADVANTAGE_LIMIT, ADVANTAGE_LIMIT)
        value_BT = torch.where(batch.mask_BT.bool(), value_BT, 0.0)
        grouped = groups.group_rewards(batch.rewards_B, batch.group_B, batch.mask_BT)
        return Advantages(values_BT=value_BT.to(batch.dtype), metrics=advantage_metrics(grouped))
