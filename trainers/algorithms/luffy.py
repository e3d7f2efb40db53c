"""LUFFY: one demonstration in each group, whose tokens take a shaped off-policy ratio.

A over the mixed group without deviation; on-policy -A r without clip; off-policy -A f(p),
f(p) = p / (p + 0.1), differentiated; the loss is sum / T.
Source: arXiv 2504.14945, authors' code and train.sh.

Deviations: 1. sum / T is over the global batch with `Step.horizon`, so it does not depend on
micro-batches (`aggregation: token-mean` divides by tokens); the entropy bonus is a mean over tokens in
either case. A demonstration below its group's mean is
unlearned: that is the formula, and a metric counts it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import torch
from torch import Tensor

from planarena.trainers.algorithms import groups, surrogate
from planarena.trainers.algorithms.base import (
    ClippedPolicy,
    PolicyConfig,
    advantage_metrics,
    to_tokens,
    token_mean,
)
from planarena.trainers.types import Advantages, LossInputs, Needs, RolloutBatch, Step, option

__all__ = ["LUFFY", "LUFFYConfig", "demo_rows"]


class LUFFYConfig(PolicyConfig, frozen=True, kw_only=True, tag="luffy"):
    """Options of LUFFY; the clip radii act only with `clip_on_policy`."""

    aggregation: Annotated[surrogate.Aggregation, option("LUFFY: loss_remove_token_mean", "reduction")] = (
        "token-sum-norm"
    )
    entropy_coef: Annotated[float, option("LUFFY train.sh", "weight of the entropy bonus", ge=0)] = 0.001
    shaping_gamma: Annotated[float, option("LUFFY: p_div_p_0.1", "constant of f(p)", gt=0)] = 0.1
    clip_on_policy: Annotated[bool, option("LUFFY: loss_remove_clip", "clip the on-policy ratio")] = False


def demo_rows(inputs: LossInputs | RolloutBatch, rows: Tensor) -> Tensor:
    """Return (B,) bool: demonstration rows; none where the engine flags none."""
    if inputs.is_demo_B is None:
        return torch.zeros(rows.shape[0], dtype=torch.bool, device=rows.device)
    return inputs.is_demo_B.bool()


class LUFFY(ClippedPolicy[LUFFYConfig]):
    """Learning to reason under off-policy guidance."""

    title = "LUFFY"
    paper = "arXiv 2504.14945"

    def base_needs(self) -> Needs:
        """Add a demonstration in each group."""
        return replace(super().base_needs(), demonstrations=True)

    def advantages(self, batch: RolloutBatch, step: Step) -> Advantages:  # noqa: ARG002
        """Return R - mean over rollouts and demonstration together."""
        grouped = groups.group_rewards(batch.rewards_B, batch.group_B, batch.mask_BT)
        centred_B = grouped.centred()
        unlearned = demo_rows(batch, batch.mask_BT) & (centred_B < 0)
        metrics = advantage_metrics(grouped) | {"advantage/unlearned_demonstrations": float(unlearned.sum())}
        return Advantages(values_BT=to_tokens(centred_B, batch), metrics=metrics)

    def policy_loss(
        self, inputs: LossInputs, step: Step, weight_BT: Tensor | None = None
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the mixed loss: ratio on rollouts, shaped probability on demonstrations."""
        logp_BT, mask_BT = inputs.require("logp_BT"), inputs.require("mask_BT")
        advantages_BT = inputs.require("advantages_BT").detach()
        demo_B = demo_rows(inputs, mask_BT)
        on_policy_BT = mask_BT.bool() & ~demo_B[:, None]
        ratio_BT = surrogate.log_ratio(logp_BT, inputs.old_logp_BT, on_policy_BT)
        if self.config.clip_on_policy:
            low, high = self.clip_radii(inputs)
            loss_BT = surrogate.clipped_loss(
                ratio_BT, advantages_BT, eps_low=low, eps_high=high, dual_clip=self.config.dual_clip
            )
        else:
            loss_BT = surrogate.unclipped_loss(ratio_BT, advantages_BT)
        # The shaped ratio of the demonstrations' rows alone: of all rows it would cost another batch of memory.
        rows_D = demo_B.nonzero().squeeze(1)
        p_DT = torch.where(mask_BT[rows_D].bool(), logp_BT[rows_D], 0.0).exp()
        shaped_DT = -advantages_BT[rows_D] * p_DT / (p_DT + self.config.shaping_gamma)
        loss_BT = loss_BT.index_put((rows_D,), shaped_DT)
        if weight_BT is not None:
            loss_BT = loss_BT * weight_BT.detach()
        loss = self.aggregate(loss_BT, mask_BT, step)
        metrics = {
            "loss/policy": loss.detach(),
            "policy/kl_to_rollout": token_mean(-ratio_BT.detach(), mask_BT, step),
        }
        return loss, metrics
