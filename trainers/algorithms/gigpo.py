"""GiGPO: an episode advantage plus a step advantage among steps that saw the same observation.

A = A_episode + omega A_step; A_episode compares the episodes of one prompt, A_step the discounted
returns of steps with the same prompt and the same anchor observation.
Source: arXiv 2505.10978 Eq. 3, 6-8; authors' code.

Deviations: 1. a prompt with one episode gives A_episode = 0 (the code gives the raw reward);
2. episode statistics count each episode once, however many rows it has; 3. dual clip at 3.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

import torch
from torch import Tensor

from planarena.trainers.algorithms import groups
from planarena.trainers.algorithms.base import (
    ADVANTAGE_LIMIT,
    GroupConfig,
    GroupPolicy,
    advantage_metrics,
)
from planarena.trainers.types import Advantages, Needs, RolloutBatch, Step, option

__all__ = ["GiGPO", "GiGPOConfig", "step_returns"]


class GiGPOConfig(GroupConfig, frozen=True, kw_only=True, tag="gigpo"):
    """Options of GiGPO."""

    step_weight: Annotated[float, option("GiGPO Eq. 8: omega 1", "weight of the step advantage", ge=0)] = 1.0
    gamma: Annotated[float, option("GiGPO, unverified: 0.95", "discount of step returns", ge=0, le=1)] = 0.95
    normalise: Annotated[
        Literal["mean", "mean_std"], option("GiGPO: mean_norm or mean_std_norm", "divide by the deviation")
    ] = "mean"


def step_returns(rewards: list[float], gamma: float) -> list[float]:
    """Return the discounted return from each step of one episode, in order.

    Args:
        rewards: Reward after each step.
        gamma: Discount per step.
    """
    returns, running = [0.0] * len(rewards), 0.0
    for index in range(len(rewards) - 1, -1, -1):
        running = rewards[index] + gamma * running
        returns[index] = running
    return returns


class GiGPO(GroupPolicy[GiGPOConfig]):
    """Group-in-group policy optimisation.

    A row is one step, or a whole episode whose tokens carry `turn_BT`; `anchor_BN` and
    `step_return_BN` hold the row's steps, N = 1 where a row is one step.
    """

    title = "GiGPO"
    paper = "arXiv 2505.10978 Eq. 3, 6-8"

    def __init__(self, config: GiGPOConfig) -> None:
        super().__init__(config)
        self.step_discount = config.gamma

    def base_needs(self) -> Needs:
        """Add step anchors."""
        return replace(super().base_needs(), step_anchors=True)

    def advantages(self, batch: RolloutBatch, step: Step) -> Advantages:  # noqa: ARG002
        """Return the sum of both advantages at each token.

        Raises:
            ValueError: If anchors or step returns are absent.
        """
        if batch.anchor_BN is None or batch.step_return_BN is None:
            raise ValueError("gigpo needs RolloutBatch.anchor_BN and step_return_BN")
        episode_B, grouped = self.episode_advantage(batch)
        step_BN = self.step_advantage(batch)
        turn_BT = (
            torch.zeros_like(batch.mask_BT, dtype=torch.long)
            if batch.turn_BT is None
            else batch.turn_BT.long()
        )
        values_BT = episode_B[:, None] + self.config.step_weight * step_BN.gather(1, turn_BT)
        values_BT = values_BT.clamp(-ADVANTAGE_LIMIT, ADVANTAGE_LIMIT)
        values_BT = torch.where(batch.mask_BT.bool(), values_BT, 0.0)
        return Advantages(values_BT=values_BT.to(batch.dtype), metrics=advantage_metrics(grouped))

    def episode_advantage(self, batch: RolloutBatch) -> tuple[Tensor, groups.Grouped]:
        """Return (B,) A_episode of each row's episode, and the statistics over episodes."""
        rows = batch.rewards_B.shape[0]
        position_B = torch.arange(rows, device=batch.rewards_B.device)
        ids_E, episode_B = torch.unique(
            position_B if batch.trajectory_B is None else batch.trajectory_B, return_inverse=True
        )
        first_E = position_B.new_full((ids_E.numel(),), rows).scatter_reduce(0, episode_B, position_B, "amin")
        grouped = groups.group_rewards(
            batch.rewards_B[first_E], batch.group_B[first_E], batch.mask_BT[first_E]
        )
        return self._normalised(grouped)[episode_B], grouped

    def step_advantage(self, batch: RolloutBatch) -> Tensor:
        """Return (B, N) A_step; 0 for absent steps and for anchors seen once."""
        if batch.anchor_BN is None or batch.step_return_BN is None:
            raise ValueError("gigpo needs RolloutBatch.anchor_BN and step_return_BN")
        anchor_BN = batch.anchor_BN.long()
        prompt_BN = torch.unique(batch.group_B, return_inverse=True)[1][:, None].expand(anchor_BN.shape)
        pair_S2 = torch.stack([prompt_BN, anchor_BN], -1).reshape(-1, 2)
        same_S = torch.unique(pair_S2, dim=0, return_inverse=True)[1]
        returns_S = batch.step_return_BN.detach().double().reshape(-1)
        valid_S = (anchor_BN >= 0).reshape(-1) & torch.isfinite(returns_S)
        grouped = groups.group_values(returns_S, valid_S, same_S)
        return self._normalised(grouped).reshape(anchor_BN.shape)

    def _normalised(self, grouped: groups.Grouped) -> Tensor:
        if self.config.normalise == "mean":
            return grouped.centred()
        return grouped.standardised(ddof=self.config.ddof, eps=self.config.std_eps)
