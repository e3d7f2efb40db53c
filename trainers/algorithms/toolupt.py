"""ToolUPT: FG-DAPO with selective preference optimisation on expert and rejected tokens, mixed cyclically.

L_SPO = sum(phi* keep [1 - sigm(b log pi*)]) / sum|y*| + sum(phi 1[A < 0] [1 - sigm(-b log pi)]) / sum|y|
(Eq. 19-22), phi = sg(p (1 - p)); L = gamma L_SPO + (1 - gamma) L_FG-DAPO (Eq. 23), gamma a triangle.
Source: ToolUPT sections 3.2-3.4.

Deviations: 1. Eq. 20 and 22 print a minus before both sums, which would lower expert and raise rejected
log-probabilities; the sign here is KTO's; 2. phi is detached, as in CHORD; 3. b, the numbers of the
triangle and the constants of FG-DAPO are ours; 4. `fgae: false` takes DAPO*'s advantage (unbiased
deviation of the outcome), `spo: false` the cross-entropy (ToolUPT Figure 4); 5. dual clip at 3.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

import torch
from torch import Tensor

from planarena.trainers import schedules
from planarena.trainers.algorithms import demonstrations, groups, surrogate
from planarena.trainers.algorithms.base import ClippedPolicy, advantage_metrics, to_tokens
from planarena.trainers.algorithms.fg_dapo import FineGrainedConfig, fine_grained_advantages
from planarena.trainers.types import Advantages, LossInputs, LossOutputs, Needs, RolloutBatch, Step, option

__all__ = ["ToolUPT", "ToolUPTConfig", "chosen_loss", "rejected_loss"]

# A token at the group's mean has an advantage of 0 but for the rounding of the mean, whose sign depends on
# the order of the rows; advantages are in units of the deviation.
AT_THE_MEAN = 1e-6


class ToolUPTConfig(FineGrainedConfig, frozen=True, kw_only=True, tag="toolupt"):
    """Options of ToolUPT."""

    fgae: Annotated[bool, option("ToolUPT Figure 4 left", "off: sequence-level outcome advantages")] = True
    spo: Annotated[bool, option("ToolUPT Figure 4 right", "off: plain cross-entropy in place of SPO")] = True
    phi: Annotated[bool, option("ToolUPT Eq. 21-22", "off: Eq. 20, without the uncertainty weight")] = True
    beta: Annotated[float, option("ours: KTO's 0.1", "scale inside the sigmoid", gt=0)] = 0.1
    mixing: Annotated[Literal["cyclic", "constant"], option("ToolUPT section 3.4", "schedule of gamma")] = (
        "cyclic"
    )
    gamma: Annotated[float, option("ours", "constant gamma", ge=0, le=1)] = 0.1
    gamma_low: Annotated[
        float, option("ours: ToolUPT gives no value", "bottom of the triangle", ge=0, le=1)
    ] = 0.02
    gamma_high: Annotated[
        float, option("ours: ToolUPT gives no value", "top of the triangle", ge=0, le=1)
    ] = 0.2
    gamma_period: Annotated[int, option("ours: ToolUPT gives no value", "steps of one cycle", ge=1)] = 200
    gamma_rise: Annotated[float, option("ours: symmetric", "share of the cycle spent rising", gt=0, lt=1)] = (
        0.5
    )


def chosen_loss(inputs: LossInputs, step: Step, *, beta: float, phi: bool) -> Tensor:
    """Return the chosen half of SPO: sum(phi keep [1 - sigm(b log pi*)]) / sum|y*|.

    Args:
        inputs: `expert_logp_ET`, `expert_mask_ET`, `expert_keep_ET` (default: keep all).
        step: `expert_tokens` is the divisor; it counts the tokens that `keep` drops.
        beta: b.
        phi: Weigh each token by sg(p (1 - p)).
    """
    if inputs.expert_logp_ET is None:
        return inputs.require("logp_BT").new_zeros(())
    mask_ET = inputs.require("expert_mask_ET")
    logp_ET = torch.where(mask_ET.bool(), inputs.expert_logp_ET, 0.0)
    # 1 - sigm(x) is sigm(-x), without the cancellation.
    loss_ET = torch.sigmoid(-beta * logp_ET)
    if phi:
        loss_ET = loss_ET * demonstrations.uncertainty(logp_ET)
    if inputs.expert_keep_ET is not None:
        loss_ET = loss_ET * inputs.expert_keep_ET.to(loss_ET.dtype)
    return surrogate.aggregate(loss_ET, mask_ET, "token-mean", tokens=step.expert_tokens)


def rejected_loss(inputs: LossInputs, step: Step, *, beta: float, phi: bool) -> Tensor:
    """Return the rejected half of SPO: sum(phi 1[A < 0] [1 - sigm(-b log pi)]) / sum|y|.

    A token at its group's mean (A within 1e-6 of 0) is not rejected.

    Args:
        inputs: `logp_BT`, `mask_BT`, `advantages_BT`.
        step: `tokens` is the divisor; it counts the tokens with A >= 0.
        beta: b.
        phi: Weigh each token by sg(p (1 - p)).
    """
    mask_BT = inputs.require("mask_BT")
    logp_BT = torch.where(mask_BT.bool(), inputs.require("logp_BT"), 0.0)
    loss_BT = torch.sigmoid(beta * logp_BT)
    weight_BT = (inputs.require("advantages_BT") < -AT_THE_MEAN).to(loss_BT.dtype)
    if phi:
        weight_BT *= demonstrations.uncertainty(logp_BT)
    return surrogate.aggregate(loss_BT * weight_BT, mask_BT, "token-mean", tokens=step.tokens)


class ToolUPT(ClippedPolicy[ToolUPTConfig]):
    """Unified post-training for tool use."""

    title = "ToolUPT"
    paper = "ToolUPT Eq. 13-23"

    def base_needs(self) -> Needs:
        """Add experts, the mask of their selective part, and token rewards."""
        return replace(
            super().base_needs(), experts=True, expert_keep=self.config.spo, token_rewards=self.config.fgae
        )

    def coefficients(self, step: Step) -> dict[str, float]:
        """Return the weight of the supervised term."""
        return {"mixing": self.mixing(step)}

    def mixing(self, step: Step) -> float:
        """Return gamma for this step."""
        config = self.config
        if config.mixing == "constant":
            return config.gamma
        return schedules.cyclic_triangle(
            step.step,
            low=config.gamma_low,
            high=config.gamma_high,
            period=config.gamma_period,
            rise=config.gamma_rise,
        )

    def advantages(self, batch: RolloutBatch, step: Step) -> Advantages:  # noqa: ARG002
        """Return fine-grained advantages, or DAPO*'s without `fgae`."""
        if self.config.fgae:
            return fine_grained_advantages(batch, ddof=self.config.ddof, eps=self.config.std_eps)
        grouped = groups.group_rewards(batch.rewards_B, batch.group_B, batch.mask_BT)
        values_B = grouped.standardised(ddof=1, eps=self.config.std_eps)
        return Advantages(values_BT=to_tokens(values_B, batch), metrics=advantage_metrics(grouped))

    def loss(self, inputs: LossInputs, step: Step) -> LossOutputs:
        """Return gamma L_SPO + (1 - gamma) L_FG-DAPO.

        Without experts the chosen half is 0 and the rejected half stays (`spo: false` then is pure RL);
        without rollouts gamma is 1.
        """
        config = self.config
        gamma = self.mixing(step)
        if not config.spo:
            gamma = demonstrations.mixing_coefficient(gamma, inputs, step)
        elif not demonstrations.has_rollouts(inputs, step):
            gamma = 1.0
        if config.spo:
            preferred = chosen_loss(inputs, step, beta=config.beta, phi=config.phi)
        else:
            preferred = demonstrations.expert_loss(inputs, step)
        metrics = {"loss/chosen" if config.spo else "loss/sft": preferred.detach()}
        if inputs.logp_BT is None:
            loss = gamma * preferred
            return LossOutputs(loss=loss, metrics=metrics | {"loss/total": loss.detach()})
        if config.spo:
            rejected = rejected_loss(inputs, step, beta=config.beta, phi=config.phi)
            metrics["loss/rejected"] = rejected.detach()
            preferred = preferred + rejected
        policy, policy_metrics = self.policy_loss(inputs, step)
        loss = gamma * preferred + (1.0 - gamma) * policy
        return self.regularised(loss, metrics | policy_metrics, inputs, step)
