"""RLSD: GRPO's advantage bent per token towards what a teacher finds more likely.

d = sg(log pi_T - log pi_S) at the sampled token; w = clip(exp(sign(A) d), 1 - 0.2, 1 + 0.2);
A_t = A ((1 - lambda) + lambda w). Source: arXiv 2604.03128, as in ms-swift.

Deviations: 1. d is held inside +-20; 2. a token without a finite teacher value keeps w = 1;
3. dual clip at 3.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import torch
from torch import Tensor

from planarena.trainers.algorithms import groups, surrogate
from planarena.trainers.algorithms.base import GroupConfig, GroupPolicy, advantage_metrics, to_tokens
from planarena.trainers.types import Advantages, Needs, RolloutBatch, Step, option

__all__ = ["RLSD", "RLSDConfig", "teacher_weights"]


class RLSDConfig(GroupConfig, frozen=True, kw_only=True, tag="rlsd"):
    """Options of RLSD."""

    strength: Annotated[float, option("RLSD: lambda 0.5", "share of the weighted advantage", ge=0, le=1)] = (
        0.5
    )
    eps_weight: Annotated[float, option("RLSD: 0.2", "radius of the weight's clip", ge=0, le=1)] = 0.2


def teacher_weights(
    advantages_BT: Tensor,
    teacher_logp_BT: Tensor,
    student_logp_BT: Tensor,
    *,
    strength: float,
    eps_weight: float,
) -> Tensor:
    """Return (B, T) factors (1 - lambda) + lambda clip(exp(sign(A) d)), detached.

    Args:
        advantages_BT: (B, T); only signs count.
        teacher_logp_BT: (B, T) log-probability of the sampled token under the teacher.
        student_logp_BT: (B, T) the same under the policy that sampled.
        strength: lambda.
        eps_weight: Radius of the clip.
    """
    difference = (teacher_logp_BT - student_logp_BT).detach()
    difference = torch.nan_to_num(
        difference, posinf=surrogate.LOG_RATIO_LIMIT, neginf=-surrogate.LOG_RATIO_LIMIT
    )
    difference = difference.clamp(-surrogate.LOG_RATIO_LIMIT, surrogate.LOG_RATIO_LIMIT)
    weight = (advantages_BT.sign() * difference).exp().clamp(1.0 - eps_weight, 1.0 + eps_weight)
    return (1.0 - strength) + strength * weight


class RLSD(GroupPolicy[RLSDConfig]):
    """Reinforcement learning with self-distillation."""

    title = "RLSD"
    paper = "arXiv 2604.03128"

    def base_needs(self) -> Needs:
        """Add the teacher's log-probabilities."""
        return replace(super().base_needs(), teacher_logp=True)

    def advantages(self, batch: RolloutBatch, step: Step) -> Advantages:  # noqa: ARG002
        """Return GRPO's advantages times the teacher's factors.

        Raises:
            ValueError: If teacher or rollout log-probabilities are absent.
        """
        if batch.teacher_logp_BT is None or batch.old_logp_BT is None:
            raise ValueError("rlsd needs RolloutBatch.teacher_logp_BT and old_logp_BT")
        grouped = groups.group_rewards(batch.rewards_B, batch.group_B, batch.mask_BT)
        values_BT = to_tokens(grouped.standardised(ddof=self.config.ddof, eps=self.config.std_eps), batch)
        factor_BT = teacher_weights(
            values_BT,
            batch.teacher_logp_BT,
            batch.old_logp_BT,
            strength=self.config.strength,
            eps_weight=self.config.eps_weight,
        )
        # Zeroing by the mask, not by a product: padding may hold anything.
        bent_BT = torch.where(batch.mask_BT.bool(), values_BT * factor_BT, 0.0)
        return Advantages(values_BT=bent_BT.to(batch.dtype), metrics=advantage_metrics(grouped))
