"""REINFORCE++: discounted token returns, whitened over all tokens of the batch; and its group baseline.

G_t = r_t + gamma G_{t+1} over valid tokens, A = (G - mean) / sqrt(var + 1e-8), var unbiased.
With `baseline`: A = whiten(R - group mean), broadcast over tokens.
Source: arXiv 2501.03262, as in verl.

Deviations: 1. a batch of equal returns, or of fewer than two tokens, gives 0, where verl raises or
divides by nothing; 2. with `baseline`, degenerate groups are set to exactly 0 after whitening
(whitening alone would give them minus the token-weighted mean).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import torch
from torch import Tensor

from planarena.trainers.algorithms import groups
from planarena.trainers.algorithms.base import ClippedPolicy, PolicyConfig, advantage_metrics
from planarena.trainers.types import Advantages, Needs, RolloutBatch, Step, option

__all__ = ["ReinforcePP", "ReinforcePPConfig", "discounted_returns"]


class ReinforcePPConfig(PolicyConfig, frozen=True, kw_only=True, tag="reinforce-pp"):
    """Options of REINFORCE++."""

    gamma: Annotated[float, option("verl's 1.0", "discount per token", ge=0, le=1)] = 1.0
    baseline: Annotated[
        bool, option("REINFORCE++ section 3; off in the first version", "subtract the group mean")
    ] = False
    dense: Annotated[bool, option("ours", "use token rewards instead of the outcome")] = False


def discounted_returns(rewards_BT: Tensor, mask_BT: Tensor, gamma: float) -> Tensor:
    """Return G_t = r_t + gamma G_{t+1} over the valid tokens of each row; rewards at masked tokens count for nothing.

    Args:
        rewards_BT: (B, T) float64.
        mask_BT: (B, T).
        gamma: Discount per valid token.

    Returns:
        (B, T), 0 at masked positions.
    """
    valid_BT = mask_BT.bool()
    rewards_BT = torch.where(valid_BT, rewards_BT, 0.0)
    if gamma == 1.0:
        returns_BT = rewards_BT.flip(1).cumsum(1).flip(1)
    else:
        returns_BT = torch.zeros_like(rewards_BT)
        running_B = rewards_BT.new_zeros(rewards_BT.shape[0])
        for t in range(rewards_BT.shape[1] - 1, -1, -1):
            running_B = torch.where(valid_BT[:, t], rewards_BT[:, t] + gamma * running_B, running_B)
            returns_BT[:, t] = running_B
    return torch.where(valid_BT, returns_BT, 0.0)


class ReinforcePP(ClippedPolicy[ReinforcePPConfig]):
    """REINFORCE++ and REINFORCE++-baseline."""

    title = "REINFORCE++"
    paper = "arXiv 2501.03262"

    def base_needs(self) -> Needs:
        """Add token rewards where they are asked for."""
        return replace(super().base_needs(), token_rewards=self.config.dense)

    def advantages(self, batch: RolloutBatch, step: Step) -> Advantages:  # noqa: ARG002
        """Return the whitened returns.

        Raises:
            ValueError: If dense rewards are configured and absent.
        """
        valid_BT = batch.mask_BT.bool()
        grouped = groups.group_rewards(batch.rewards_B, batch.group_B, batch.mask_BT)
        if self.config.baseline:
            counted_BT = valid_BT & grouped.valid[:, None]
            whitened_BT = groups.whiten(grouped.centred()[:, None].expand(valid_BT.shape), counted_BT)
            whitened_BT = torch.where(grouped.expand(grouped.degenerate_P)[:, None], 0.0, whitened_BT)
        else:
            whitened_BT = groups.whiten(
                discounted_returns(self._token_rewards(batch, grouped), batch.mask_BT, self.config.gamma),
                valid_BT & grouped.valid[:, None],
            )
        return Advantages(values_BT=whitened_BT.to(batch.dtype), metrics=advantage_metrics(grouped))

    def _token_rewards(self, batch: RolloutBatch, grouped: groups.Grouped) -> Tensor:
        if self.config.dense:
            if batch.token_rewards_BT is None:
                raise ValueError("reinforce-pp with `dense` needs RolloutBatch.token_rewards_BT")
            return torch.nan_to_num(batch.token_rewards_BT.double(), posinf=0.0, neginf=0.0)
        positions_T = torch.arange(batch.mask_BT.shape[1], device=batch.mask_BT.device)
        shown_BT = torch.where(batch.mask_BT.bool(), positions_T, -1)
        last_B1 = torch.nn.functional.pad(shown_BT, (0, 1), value=-1).amax(1, keepdim=True)
        return torch.where(positions_T == last_B1, grouped.rewards[:, None], 0.0)
