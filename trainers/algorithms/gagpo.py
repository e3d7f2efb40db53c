"""GAGPO: generalised advantages over the turns of an episode, from mean returns at like observations as values.

V(o) = mean discounted return of the steps of a prompt that saw o; d_j = r_j + gamma V(o_{j+1}) - V(o_j);
A_j = sum_{k >= j} (gamma lambda)^(k - j) d_k, standardised over all steps of the prompt; one importance ratio
for each action, the geometric mean over its tokens.
Source: arXiv 2605.13217 (its abstract and reviews; its equations were not at hand: approximate).

Deviations: 1. an action is an unbroken stretch of the policy's own tokens, and its ratio stands at each of them, so
that `aggregation` reduces tokens as everywhere; 2. the state after the last turn is worth 0; 3. gamma, lambda and
the clip are ours; 4. dual clip at 3.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import torch
from torch import Tensor

from planarena.trainers.algorithms import groups
from planarena.trainers.algorithms.base import (
    ADVANTAGE_LIMIT,
    GroupConfig,
    GroupPolicy,
    advantage_metrics,
)
from planarena.trainers.types import Advantages, LossInputs, Needs, RolloutBatch, Step, option

__all__ = ["GAGPO", "GAGPOConfig", "action_means", "grouped_gae"]


class GAGPOConfig(GroupConfig, frozen=True, kw_only=True, tag="gagpo"):
    """Options of GAGPO."""

    gamma: Annotated[
        float, option("ours, unverified: GiGPO's 0.95", "discount of the returns", ge=0, le=1)
    ] = 0.95
    lam: Annotated[
        float, option("ours, unverified: GAE's 0.95", "decay of later differences", ge=0, le=1)
    ] = 0.95


def grouped_gae(
    return_BN: Tensor, anchor_BN: Tensor, group_B: Tensor, *, gamma: float, lam: float
) -> tuple[Tensor, Tensor]:
    """Return (B, N) advantages before they are standardised, and which steps there are.

    With `lam` 1 they are the returns less the mean return at their observation: GiGPO's step advantage.

    Args:
        return_BN: Discounted returns from each step on, of one row's steps in order.
        anchor_BN: Ids of observations, negative where there is no step; a row's steps come first.
        group_B: (B,) prompts.
        gamma: The discount that the returns were made with.
        lam: Decay.
    """
    valid_BN = (anchor_BN >= 0) & torch.isfinite(return_BN)
    prompt_BN = torch.unique(group_B, return_inverse=True)[1][:, None].expand(anchor_BN.shape)
    pair_S2 = torch.stack([prompt_BN, anchor_BN.long()], -1).reshape(-1, 2)
    same_S = torch.unique(pair_S2, dim=0, return_inverse=True)[1]
    alike = groups.group_values(return_BN.reshape(-1), valid_BN.reshape(-1), same_S)
    value_BN = torch.where(valid_BN, alike.mean_P[alike.member_B].reshape(valid_BN.shape), 0.0)
    known_BN = torch.where(valid_BN, return_BN, 0.0)
    end_B1 = known_BN.new_zeros(known_BN.shape[0], 1)
    reward_BN = known_BN - gamma * torch.cat([known_BN[:, 1:], end_B1], 1)
    difference_BN = reward_BN + gamma * torch.cat([value_BN[:, 1:], end_B1], 1) - value_BN
    running_B, found = end_B1[:, 0], torch.zeros_like(known_BN)
    for turn in range(known_BN.shape[1] - 1, -1, -1):
        running_B = torch.where(valid_BN[:, turn], difference_BN[:, turn] + gamma * lam * running_B, 0.0)
        found[:, turn] = running_B
    return found, valid_BN


def action_means(values_BT: Tensor, mask_BT: Tensor) -> Tensor:
    """Return (B, T) at each valid token the mean over its unbroken stretch of valid tokens; 0 elsewhere."""
    valid_BT = mask_BT.bool()
    starts_BT = valid_BT.clone()
    starts_BT[:, 1:] &= ~valid_BT[:, :-1]
    action_BT = starts_BT.long().cumsum(1) - 1
    action_BT = torch.where(valid_BT, action_BT, 0)
    held_BT = torch.where(valid_BT, values_BT, 0.0)
    total_BA = torch.zeros_like(held_BT).scatter_add(1, action_BT, held_BT)
    count_BA = torch.zeros_like(held_BT).scatter_add(1, action_BT, valid_BT.to(held_BT.dtype))
    return torch.where(valid_BT, (total_BA / count_BA.clamp(min=1)).gather(1, action_BT), 0.0)


class GAGPO(GroupPolicy[GAGPOConfig]):
    """Generalised advantage grouped policy optimisation.

    A row is a whole episode whose tokens carry `turn_BT`, or one response; `step_return_BN` and `anchor_BN` hold its
    steps.
    """

    title = "GAGPO (approximate)"
    paper = "arXiv 2605.13217"
    approximate = True

    def __init__(self, config: GAGPOConfig) -> None:
        super().__init__(config)
        self.step_discount = config.gamma

    def base_needs(self) -> Needs:
        """Add the returns and observations of the steps."""
        return replace(super().base_needs(), step_anchors=True)

    def advantages(self, batch: RolloutBatch, step: Step) -> Advantages:  # noqa: ARG002
        """Return the standardised generalised advantage of each token's turn.

        Raises:
            ValueError: If anchors or returns are absent.
        """
        if batch.anchor_BN is None or batch.step_return_BN is None:
            raise ValueError("gagpo needs RolloutBatch.anchor_BN and step_return_BN")
        found_BN, valid_BN = grouped_gae(
            batch.step_return_BN.detach().double(),
            batch.anchor_BN,
            batch.group_B,
            gamma=self.config.gamma,
            lam=self.config.lam,
        )
        valid_BN = valid_BN & batch.mask_BT.bool().any(1)[:, None]
        group_BN = torch.unique(batch.group_B, return_inverse=True)[1][:, None].expand(found_BN.shape)
        compared = groups.group_values(found_BN.reshape(-1), valid_BN.reshape(-1), group_BN.reshape(-1))
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

    def token_losses(
        self, ratio_BT: Tensor, advantages_BT: Tensor, inputs: LossInputs
    ) -> tuple[Tensor, Tensor]:
        """Return the clipped loss with the ratio of each token's action."""
        return super().token_losses(action_means(ratio_BT, inputs.require("mask_BT")), advantages_BT, inputs)
