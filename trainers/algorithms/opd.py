"""OPD: on-policy distillation; the teacher's log-probability of what the policy wrote is the advantage.

A_t = log pi_T(y_t) - log pi_old(y_t), the negated reverse KL of one sampled token, for the policy's own rollouts;
L = -token-mean min(r A, clip(r) A). `reward_weight` adds GRPO's advantage of the outcome.
Source: "On-policy distillation" (Thinking Machines, 2025); arXiv 2306.13649 (on-policy samples);
the k1 distillation loss of verl.

Deviations: 1. a token's advantage is bounded by `limit`; 2. dual clip at 3.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import torch

from planarena.trainers.algorithms import groups
from planarena.trainers.algorithms.base import GroupConfig, GroupPolicy, advantage_metrics
from planarena.trainers.types import Advantages, Needs, RolloutBatch, Step, option

__all__ = ["OPD", "OPDConfig"]


class OPDConfig(GroupConfig, frozen=True, kw_only=True, tag="opd"):
    """Options of OPD."""

    limit: Annotated[float, option("ours: one impossible token must not rule", "bound of |A|", gt=0)] = 10.0
    reward_weight: Annotated[
        float, option("ours: 0 is distillation alone", "weight of GRPO's advantage", ge=0)
    ] = 0.0


class OPD(GroupPolicy[OPDConfig]):
    """On-policy distillation from another model, which reads the same prompt as the policy."""

    title = "On-policy distillation"
    paper = "arXiv 2306.13649; Thinking Machines 2025"

    def base_needs(self) -> Needs:
        """Add the teacher's log-probabilities, by the policy's own prompt."""
        return replace(super().base_needs(), teacher_logp=True, plain_teacher=True)

    def advantages(self, batch: RolloutBatch, step: Step) -> Advantages:  # noqa: ARG002
        """Return the teacher's log-ratio at each token, plus the weighted advantage of the outcome.

        Raises:
            ValueError: If the log-probabilities of teacher or policy are absent.
        """
        if batch.teacher_logp_BT is None or batch.old_logp_BT is None:
            raise ValueError("opd needs RolloutBatch.teacher_logp_BT and old_logp_BT")
        valid_BT = batch.mask_BT.bool()
        gap_BT = torch.where(valid_BT, batch.teacher_logp_BT.double() - batch.old_logp_BT.double(), 0.0)
        values_BT = gap_BT.nan_to_num(0.0).clamp(-self.config.limit, self.config.limit)
        grouped = groups.group_rewards(batch.rewards_B, batch.group_B, batch.mask_BT)
        if self.config.reward_weight > 0:
            outcome_B = grouped.standardised(ddof=self.config.ddof, eps=self.config.std_eps)
            values_BT = values_BT + self.config.reward_weight * torch.where(valid_BT, outcome_B[:, None], 0.0)
        metrics = advantage_metrics(grouped)
        metrics["policy/kl_to_teacher"] = float(-gap_BT.sum() / valid_BT.sum().clamp(min=1))
        return Advantages(values_BT=values_BT.to(batch.dtype), metrics=metrics)
