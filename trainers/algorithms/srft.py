"""SRFT: one stage of SFT and RL on rollouts and demonstrations, weighted by the policy's entropy.

w_SFT = 0.5 sg(exp(-H)), w_RL = 0.1 sg(exp(H)); L = w_SFT (-mean log pi(demo)) - mean(pi(demo) A_demo)
+ L_self, with A over the mixed group divided by its deviation.
L_self, literal: w_RL mean(-log pi(y+)) + mean(log pi(y-)), y+ the rollouts with a positive reward.
Source: arXiv 2506.19767 Eq. 7-13.

Deviations: 1. L_self is by default the clipped surrogate with group advantages, whose tokens of A > 0
weigh w_RL, because the literal form is unbounded below (`self_term: literal` has it); 2. H is the mean
entropy of the batch's rollouts (`entropy_scope: token` takes each token's); 3. exp(H) is capped at
exp(3); 4. the code reportedly weighs SFT by exp(+H) (`sft_entropy_sign: 1`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

import torch
from torch import Tensor

from planarena.trainers.algorithms import groups, surrogate
from planarena.trainers.algorithms.base import GroupConfig, GroupPolicy, advantage_metrics, to_tokens
from planarena.trainers.algorithms.luffy import demo_rows
from planarena.trainers.types import Advantages, LossInputs, Needs, RolloutBatch, Step, option

__all__ = ["SRFT", "SRFTConfig"]


class SRFTConfig(GroupConfig, frozen=True, kw_only=True, tag="srft"):
    """Options of SRFT."""

    sft_weight: Annotated[float, option("SRFT Eq. 9", "factor of w_SFT", ge=0)] = 0.5
    self_weight: Annotated[float, option("SRFT Eq. 12", "factor of w_RL", ge=0)] = 0.1
    sft_entropy_sign: Annotated[Literal[-1, 1], option("SRFT Eq. 9", "sign of H in w_SFT")] = -1
    entropy_scope: Annotated[Literal["batch", "token"], option("ours", "H of the batch or of each token")] = (
        "batch"
    )
    entropy_cap: Annotated[float, option("ours", "largest H inside the exponentials", gt=0)] = 3.0
    self_term: Annotated[
        Literal["clipped", "literal"], option("ours: SRFT Eq. 11 is unbounded below", "form of L_self")
    ] = "clipped"


class SRFT(GroupPolicy[SRFTConfig]):
    """Supervised reinforcement fine-tuning."""

    title = "SRFT"
    paper = "arXiv 2506.19767 Eq. 7-13"

    def base_needs(self) -> Needs:
        """Add demonstrations and entropy."""
        return replace(super().base_needs(), entropy=True, demonstrations=True)

    def advantages(self, batch: RolloutBatch, step: Step) -> Advantages:  # noqa: ARG002
        """Return advantages over the mixed group, and the mean entropy of the rollouts."""
        grouped = groups.group_rewards(batch.rewards_B, batch.group_B, batch.mask_BT)
        values_B = grouped.standardised(ddof=self.config.ddof, eps=self.config.std_eps)
        metrics = advantage_metrics(grouped)
        scalars: dict[str, float] = {}
        if batch.entropy_BT is not None:
            on_policy_BT = batch.mask_BT.bool() & ~demo_rows(batch, batch.mask_BT)[:, None]
            inside = batch.entropy_BT[on_policy_BT].double()
            scalars["entropy"] = float(inside.mean()) if inside.numel() else 0.0
            metrics["policy/mean_entropy"] = scalars["entropy"]
        return Advantages(values_BT=to_tokens(values_B, batch), scalars=scalars, metrics=metrics)

    def policy_loss(
        self, inputs: LossInputs, step: Step, weight_BT: Tensor | None = None
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the sum of the three terms, each averaged over its own tokens."""
        config = self.config
        logp_BT, mask_BT = inputs.require("logp_BT"), inputs.require("mask_BT")
        advantages_BT = inputs.require("advantages_BT").detach()
        demo_B = demo_rows(inputs, mask_BT)
        rollout_BT = mask_BT.bool() & ~demo_B[:, None]
        rows_D = demo_B.nonzero().squeeze(1)
        demo_DT = mask_BT[rows_D].bool()
        both_known = step.tokens is not None and step.demo_tokens is not None
        rollout_tokens = step.tokens - step.demo_tokens if both_known else None  # type: ignore[operator]

        entropy = self._entropy(inputs)
        demo_entropy = entropy if entropy.dim() == 0 else entropy[rows_D]
        sft_factor = config.sft_weight * (config.sft_entropy_sign * demo_entropy).exp()
        self_factor = config.self_weight * entropy.exp()
        safe_DT = torch.where(demo_DT, logp_BT[rows_D], 0.0)
        sft = surrogate.aggregate(-safe_DT * sft_factor, demo_DT, "token-mean", tokens=step.demo_tokens)
        guided = surrogate.aggregate(
            -safe_DT.exp() * advantages_BT[rows_D], demo_DT, "token-mean", tokens=step.demo_tokens
        )
        if config.self_term == "literal":
            positive_B1 = inputs.require("rewards_B")[:, None] > 0
            safe_BT = torch.where(rollout_BT, logp_BT, 0.0)
            self_BT = -torch.where(positive_B1, self_factor, -1.0) * safe_BT
        else:
            low, high = self.clip_radii(inputs)
            ratio_BT = surrogate.log_ratio(logp_BT, inputs.old_logp_BT, rollout_BT)
            surrogate_BT = surrogate.clipped_loss(
                ratio_BT, advantages_BT, eps_low=low, eps_high=high, dual_clip=config.dual_clip
            )
            self_BT = torch.where(advantages_BT > 0, self_factor, 1.0) * surrogate_BT
        if weight_BT is not None:
            self_BT = self_BT * weight_BT.detach()
        own = surrogate.aggregate(self_BT, rollout_BT, "token-mean", tokens=rollout_tokens)
        metrics = {"loss/sft": sft.detach(), "loss/guided": guided.detach(), "loss/self": own.detach()}
        return sft + guided + own, metrics

    def _entropy(self, inputs: LossInputs) -> Tensor:
        """Return H, detached and capped: a scalar, or (B, T) with `entropy_scope: token`."""
        cap = self.config.entropy_cap
        logp_BT = inputs.require("logp_BT")
        if self.config.entropy_scope == "batch" and "entropy" in inputs.scalars:
            return logp_BT.new_tensor(min(inputs.scalars["entropy"], cap))
        mask_BT = inputs.require("mask_BT").bool()
        entropy_BT = torch.where(mask_BT, inputs.require("entropy_BT").detach(), 0.0)
        if self.config.entropy_scope == "token":
            return entropy_BT.clamp(max=cap)
        on_policy_BT = mask_BT & ~demo_rows(inputs, mask_BT)[:, None]
        return surrogate.aggregate(entropy_BT, on_policy_BT, "token-mean").clamp(max=cap)
