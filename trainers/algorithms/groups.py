"""Group statistics in float64 and the one rule for groups that teach nothing."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

__all__ = ["Grouped", "group_rewards", "group_token_rewards", "group_values", "whiten"]

SPREAD_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouped:
    """Rewards sorted into their groups, with the statistics of each; all float64.

    A group is degenerate where it has fewer than two valid members, or where its rewards differ by no
    more than 1e-6 of their size: the rounding of a mean, divided by a vanishing deviation, is noise
    and not an advantage. Every advantage built on this class is exactly 0 there.

    Args:
        rewards: (B,) or (B, T) rewards; 0 where not valid.
        valid: Same shape, bool.
        member_B: (B,) index of the row's group in 0..P-1.
        count_P: (P,) valid members.
        mean_P: (P,) mean reward.
        spread_P: (P,) root of the summed squared deviations.
        degenerate_P: (P,) bool.
    """

    rewards: Tensor
    valid: Tensor
    member_B: Tensor
    count_P: Tensor
    mean_P: Tensor
    spread_P: Tensor
    degenerate_P: Tensor

    def expand(self, values_P: Tensor) -> Tensor:
        """Return a value per group at every row: (B,), or (B, 1) where the rewards are per token."""
        values_B = values_P[self.member_B]
        return values_B[:, None] if self.rewards.dim() == 2 else values_B

    def keep(self, values: Tensor) -> Tensor:
        """Return the values with exact zeros at invalid members and in degenerate groups."""
        return torch.where(self.valid & ~self.expand(self.degenerate_P), values, 0.0)

    def centred(self) -> Tensor:
        """Return R - mean."""
        return self.keep(self.rewards - self.expand(self.mean_P))

    def deviation_P(self, ddof: int) -> Tensor:
        """Return (P,) the standard deviation with `ddof` (0 population, 1 unbiased); 0 if degenerate."""
        std_P = self.spread_P / (self.count_P - ddof).clamp(min=1.0).sqrt()
        return torch.where(self.degenerate_P, 0.0, std_P)

    def standardised(self, *, ddof: int, eps: float) -> Tensor:
        """Return (R - mean) / (std + eps)."""
        return self.centred() / (self.expand(self.deviation_P(ddof)) + eps)

    def leave_one_out(self) -> Tensor:
        """Return R minus the mean of the other members = K / (K - 1) * (R - mean)."""
        scale_P = self.count_P / (self.count_P - 1.0).clamp(min=1.0)
        return self.centred() * self.expand(scale_P)


def group_rewards(rewards_B: Tensor, group_B: Tensor, mask_BT: Tensor) -> Grouped:
    """Sort one reward per row into groups.

    Args:
        rewards_B: (B,). A reward that is not finite makes its row invalid.
        group_B: (B,) integer ids.
        mask_BT: (B, T); a row without valid tokens is invalid.
    """
    valid_B = mask_BT.bool().any(1) & torch.isfinite(rewards_B)
    return group_values(rewards_B.detach().double(), valid_B, group_B)


def group_token_rewards(rewards_BT: Tensor, group_B: Tensor, mask_BT: Tensor) -> Grouped:
    """Sort one reward per token into groups: statistics run over all tokens of a group (ToolUPT Eq. 15-16).

    Args:
        rewards_BT: (B, T). A reward that is not finite makes its token invalid.
        group_B: (B,) integer ids.
        mask_BT: (B, T).
    """
    return group_values(rewards_BT.detach().double(), mask_BT.bool() & torch.isfinite(rewards_BT), group_B)


def group_values(rewards: Tensor, valid: Tensor, group_B: Tensor) -> Grouped:
    """Sort float64 values, (B,) or (B, T), with their bool validity into the groups of (B,) ids."""
    ids_P, member_B = torch.unique(group_B, return_inverse=True)
    groups = ids_P.numel()
    rewards = torch.where(valid, rewards, 0.0)

    def total(values: Tensor) -> Tensor:
        values_B = values.sum(1) if values.dim() == 2 else values
        return rewards.new_zeros(groups).index_add_(0, member_B, values_B.double())

    def extreme(filler: float, kind: str) -> Tensor:
        values = torch.where(valid, rewards, filler)
        values_B = getattr(values, kind)(1) if values.dim() == 2 else values
        return rewards.new_zeros(groups).scatter_reduce(0, member_B, values_B, kind, include_self=False)

    count_P = total(valid)
    mean_P = total(rewards) / count_P.clamp(min=1.0)
    if rewards.shape[-1] == 0:
        low_P = high_P = mean_P
    else:
        low_P, high_P = extreme(torch.inf, "amin"), extreme(-torch.inf, "amax")
    size_P = torch.maximum(low_P.abs(), high_P.abs()).clamp(min=1.0)
    degenerate_P = (count_P < 2) | (high_P - low_P <= SPREAD_TOLERANCE * size_P)
    mean = mean_P[member_B]
    deviation = torch.where(valid, rewards - (mean[:, None] if rewards.dim() == 2 else mean), 0.0)
    return Grouped(
        rewards=rewards,
        valid=valid,
        member_B=member_B,
        count_P=count_P,
        mean_P=mean_P,
        spread_P=total(deviation.square_()).sqrt(),
        degenerate_P=degenerate_P,
    )


def whiten(values_BT: Tensor, mask_BT: Tensor) -> Tensor:
    """Return (v - mean) / sqrt(var + 1e-8) over all valid tokens, variance unbiased (as verl's).

    Args:
        values_BT: (B, T).
        mask_BT: (B, T).

    Returns:
        (B, T) float64; exactly 0 at masked positions, and everywhere if fewer than two tokens are
        valid or all values are the same by the tolerance of degenerate groups.
    """
    valid_BT = mask_BT.bool()
    values = torch.where(valid_BT, values_BT.detach().double(), 0.0)
    inside = values[valid_BT]
    if inside.numel() < 2:
        return torch.zeros_like(values)
    low, high = inside.min(), inside.max()
    if bool(high - low <= SPREAD_TOLERANCE * torch.maximum(low.abs(), high.abs()).clamp(min=1.0)):
        return torch.zeros_like(values)
    variance = inside.var(correction=1)
    return torch.where(valid_BT, (values - inside.mean()) * torch.rsqrt(variance + 1e-8), 0.0)
