"""AWPO: outcome and mixed advantages blended by variance, weighted by difficulty, under a dynamic clip.

r_g = s_mix / (s_out + s_mix + eps_std) (Eq. 24); w_g = 1[mean_out < R_max] 1[r_g < eps_mix] r_g (Eq. 25);
A_out, A_mix standardised with population deviations (Eq. 22-23, 26); d_g = a_prio where
tau_low < mean_out < tau_high, else a_base (Eq. 27); A = d_g [(1 - w_g) A_out + w_g A_mix] (Eq. 28);
eps = e_min + (1 - mean_g w_g)(e_max - e_min) (Eq. 29); L = -E min(r A, clip(r, 1 - eps, 1 + eps) A) (Eq. 30).
Source: AWPO section 3.2. Algorithm 1's garbled line for r_g is read as Eq. 24.

Deviations: 1. eps_mix = 1.0 by default, because any smaller value closes the gate exactly where the
outcome reward has no variance, the case the paper is about; 2. Eq. 30's ratio is a product over the
whole sequence, which leaves the clip range at once: the default is the token ratio (`ratio: sequence`
is literal, `sequence_geo` is GSPO's); 3. R_max is the attainable maximum 2, compared with a tolerance
of 1e-6; 4. a group in which the judge failed for any member has w_g = 0; 5. all numbers are ours, the
paper gives none; 6. dual clip at 3.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

import torch
from torch import Tensor

from planarena.trainers import schedules
from planarena.trainers.algorithms import groups
from planarena.trainers.algorithms.base import ClippedPolicy, PolicyConfig, advantage_metrics, to_tokens
from planarena.trainers.algorithms.gspo import sequence_policy_loss
from planarena.trainers.types import Advantages, LossInputs, Needs, RolloutBatch, Step, option

__all__ = ["AWPO", "AWPOConfig"]

SOLVED_TOLERANCE = 1e-6


class AWPOConfig(PolicyConfig, frozen=True, kw_only=True, tag="awpo"):
    """Options of AWPO; `eps_low` and `eps_high` act only without dynamic clipping."""

    ddof: Annotated[Literal[0, 1], option("AWPO Eq. 22-23", "degrees of freedom of the deviations")] = 0
    eps_adv: Annotated[float, option("ours", "added to the deviation in Eq. 26", ge=0)] = 1e-6
    eps_std: Annotated[float, option("ours", "added in Eq. 24", ge=0)] = 1e-6
    eps_mix: Annotated[
        float, option("ours: below 1 the gate closes at zero outcome variance", "cap of r_g", ge=0)
    ] = 1.0
    reward_max: Annotated[
        float, option("AWPO Eq. 14: the maximum of the outcome reward", "R_max of Eq. 25")
    ] = 2.0
    tau_low: Annotated[float, option("ours", "lower difficulty threshold")] = 0.5
    tau_high: Annotated[float, option("ours", "upper difficulty threshold")] = 1.5
    a_base: Annotated[float, option("ours", "weight of easy and hard groups", gt=0)] = 1.0
    a_prio: Annotated[float, option("ours", "weight of groups of medium difficulty", gt=0)] = 1.5
    e_min: Annotated[float, option("ours", "smallest clip radius", ge=0, le=1)] = 0.1
    e_max: Annotated[float, option("ours", "largest clip radius", ge=0, le=1)] = 0.2
    ratio: Annotated[
        Literal["token", "sequence", "sequence_geo"],
        option("AWPO Eq. 30 is `sequence`; the default is ours", "ratio"),
    ] = "token"
    gating: Annotated[bool, option("AWPO Table 5", "off: the mixed reward alone makes the advantage")] = True
    difficulty: Annotated[bool, option("AWPO Table 5", "off: every group weighs a_base")] = True
    dynamic_clip: Annotated[bool, option("AWPO Table 5", "off: the fixed radii eps_low and eps_high")] = True


class AWPO(ClippedPolicy[AWPOConfig]):
    """Advantage-weighted policy optimisation."""

    title = "AWPO"
    paper = "AWPO Eq. 21-30"

    def base_needs(self) -> Needs:
        """Add the reasoning reward."""
        return replace(super().base_needs(), reasoning_reward=True)

    def advantages(self, batch: RolloutBatch, step: Step) -> Advantages:  # noqa: ARG002
        """Return the blended advantages and one clip radius for the batch.

        Raises:
            ValueError: If the batch has no reasoning reward.
        """
        if batch.reason_B is None:
            raise ValueError("awpo needs RolloutBatch.reason_B (NaN where the judge failed)")
        config = self.config
        outcome = groups.group_rewards(batch.rewards_B, batch.group_B, batch.mask_BT)
        reason_B = batch.reason_B.detach().double()
        unjudged_P = torch.zeros_like(outcome.mean_P).index_add_(
            0, outcome.member_B, (outcome.valid & ~torch.isfinite(reason_B)).double()
        )
        judged_P = unjudged_P == 0
        mixed_B = outcome.rewards + torch.nan_to_num(reason_B, posinf=0.0, neginf=0.0)
        mixed = groups.group_values(mixed_B, outcome.valid, batch.group_B)

        deviation_out_P = outcome.deviation_P(config.ddof)
        deviation_mix_P = mixed.deviation_P(config.ddof)
        share_P = deviation_mix_P / (deviation_out_P + deviation_mix_P + config.eps_std).clamp(min=1e-300)
        unsolved_P = outcome.mean_P < config.reward_max - SOLVED_TOLERANCE
        gate_P = torch.where(unsolved_P & (share_P < config.eps_mix) & judged_P, share_P, 0.0)
        weight_P = gate_P if config.gating else judged_P.double()
        medium_P = (config.tau_low < outcome.mean_P) & (outcome.mean_P < config.tau_high)
        # In float64 from the start: `where` on two plain numbers gives float32.
        base_P = torch.full_like(outcome.mean_P, config.a_base)
        priority_P = base_P.masked_fill(medium_P & config.difficulty, config.a_prio)

        weight_B = outcome.expand(weight_P)
        blended_B = outcome.expand(priority_P) * (
            (1.0 - weight_B) * outcome.standardised(ddof=config.ddof, eps=config.eps_adv)
            + weight_B * mixed.standardised(ddof=config.ddof, eps=config.eps_adv)
        )
        present_P = outcome.count_P > 0
        # Without the gate the radius still follows the gate's weights: the ablation removes one thing.
        mean_gate = float(gate_P[present_P].mean()) if bool(present_P.any()) else 0.0
        radius = schedules.variance_clip_radius(mean_gate, smallest=config.e_min, largest=config.e_max)
        radius_B = (
            torch.full_like(batch.rewards_B, radius, dtype=batch.dtype) if config.dynamic_clip else None
        )
        metrics = advantage_metrics(outcome) | {
            "advantage/mixed_weight": mean_gate,
            "advantage/unjudged_groups": float((~judged_P).double().mean()) if judged_P.numel() else 0.0,
            "policy/clip_radius": radius if config.dynamic_clip else config.eps_high,
        }
        return Advantages(
            values_BT=to_tokens(blended_B, batch), eps_low_B=radius_B, eps_high_B=radius_B, metrics=metrics
        )

    def policy_loss(
        self, inputs: LossInputs, step: Step, weight_BT: Tensor | None = None
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the loss with the configured ratio."""
        if self.config.ratio == "token":
            return super().policy_loss(inputs, step, weight_BT)
        return sequence_policy_loss(
            inputs,
            step,
            eps_low=self.config.eps_low if inputs.eps_low_B is None else inputs.eps_low_B,
            eps_high=self.config.eps_high if inputs.eps_high_B is None else inputs.eps_high_B,
            dual_clip=self.config.dual_clip,
            length_norm=self.config.ratio == "sequence_geo",
        )
