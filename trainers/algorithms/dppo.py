"""DPPO: a trust region on the divergence of the sampled token's probability, not on the ratio.

A token keeps its gradient unless the update pushes on where the divergence is already too large:
TV: |p - p_old| (sign of the push); KL: the binary KL(p_old || p) of "this token or another".
L = -token-mean of keep sg(min(r, truncation)) A log pi, with GRPO's advantage.
Source: arXiv 2602.04879 (Binary-TV, Binary-KL); the form of the loss is verl's.

Deviations: 1. degenerate groups give exactly 0.
"""

from __future__ import annotations

from typing import Annotated, Literal

import torch
from torch import Tensor

from planarena.trainers.algorithms.base import Ddof, StdEps, SurrogateConfig, SurrogatePolicy, standardised
from planarena.trainers.types import Advantages, LossInputs, RolloutBatch, Step, option

__all__ = ["DPPO", "DPPOConfig"]

# verl's constant: the share of "another token" is never quite 0.
REST = 1e-8


class DPPOConfig(SurrogateConfig, frozen=True, kw_only=True, tag="dppo"):
    """Options of DPPO."""

    divergence: Annotated[
        Literal["tv", "kl"], option("DPPO: Binary-TV, Binary-KL", "what the trust region bounds")
    ] = "tv"
    limit_low: Annotated[float, option("ours, unverified", "largest divergence where A <= 0", ge=0)] = 0.15
    limit_high: Annotated[float, option("ours, unverified", "largest divergence where A > 0", ge=0)] = 0.15
    truncation: Annotated[float, option("verl's 20", "largest importance weight", gt=0)] = 20.0
    ddof: Ddof = 1
    std_eps: StdEps = 1e-6


class DPPO(SurrogatePolicy[DPPOConfig]):
    """Divergence proximal policy optimisation."""

    title = "DPPO"
    paper = "arXiv 2602.04879"

    def advantages(self, batch: RolloutBatch, step: Step) -> Advantages:  # noqa: ARG002
        """Return the standardised reward of each row at its tokens."""
        return standardised(batch, ddof=self.config.ddof, eps=self.config.std_eps)

    def token_losses(
        self, ratio_BT: Tensor, advantages_BT: Tensor, inputs: LossInputs
    ) -> tuple[Tensor, Tensor]:
        """Return the loss of each token, and whether it lies outside the trust region."""
        valid_BT = inputs.require("mask_BT").bool()
        logp_BT = torch.where(valid_BT, inputs.require("logp_BT"), 0.0)
        old = inputs.old_logp_BT
        old_BT = logp_BT.detach() if old is None else torch.where(valid_BT, old.detach(), 0.0)
        outside_BT = self._outside(logp_BT.detach(), old_BT, advantages_BT)
        weight_BT = ratio_BT.detach().exp().clamp(max=self.config.truncation)
        loss_BT = -advantages_BT * weight_BT * logp_BT
        return torch.where(outside_BT, 0.0, loss_BT), outside_BT

    def _outside(self, logp_BT: Tensor, old_BT: Tensor, advantages_BT: Tensor) -> Tensor:
        """Return (B, T) bool: the push goes on beyond the limit of its side."""
        p_BT, q_BT = logp_BT.exp(), old_BT.exp()
        upwards_BT = advantages_BT > 0
        if self.config.divergence == "tv":
            too_high_BT = p_BT - q_BT > self.config.limit_high
            too_low_BT = p_BT - q_BT < -self.config.limit_low
            return torch.where(upwards_BT, too_high_BT, too_low_BT)
        kl_BT = q_BT * (old_BT - logp_BT) + (1.0 - q_BT) * ((1.0 - q_BT + REST) / (1.0 - p_BT + REST)).log()
        too_high_BT = (kl_BT > self.config.limit_high) & (p_BT > q_BT)
        too_low_BT = (kl_BT > self.config.limit_low) & (p_BT < q_BT)
        return torch.where(upwards_BT, too_high_BT, too_low_BT)
