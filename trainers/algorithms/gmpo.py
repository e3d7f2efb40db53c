"""GMPO: the geometric mean of clipped token ratios, one ratio per sequence.

rho_i = exp(mean_t s min(s l, s clip(l, -eps_low, eps_high))), l the log-ratio, s the sign of A;
L = -mean_i rho_i A_i, with GRPO's advantage. Source: arXiv 2507.20673 Eq. 4; the bounds are in log space.

Deviations: 1. the log of a token's ratio is held inside +-20; 2. degenerate groups give exactly 0.
"""

from __future__ import annotations

from typing import Annotated

import torch
from torch import Tensor

from planarena.trainers.algorithms import surrogate
from planarena.trainers.algorithms.base import (
    Ddof,
    StdEps,
    SurrogateConfig,
    SurrogatePolicy,
    standardised,
    token_mean,
)
from planarena.trainers.types import Advantages, LossInputs, RolloutBatch, Step, option

__all__ = ["GMPO", "GMPOConfig"]


class GMPOConfig(SurrogateConfig, frozen=True, kw_only=True, tag="gmpo"):
    """Options of GMPO."""

    eps_low: Annotated[float, option("GMPO: exp(-0.4)", "lower bound of the log-ratio, negated", ge=0)] = 0.4
    eps_high: Annotated[float, option("GMPO: exp(0.4)", "upper bound of the log-ratio", ge=0)] = 0.4
    ddof: Ddof = 1
    std_eps: StdEps = 1e-6


class GMPO(SurrogatePolicy[GMPOConfig]):
    """Geometric-mean policy optimisation."""

    title = "GMPO"
    paper = "arXiv 2507.20673 Eq. 4"

    def advantages(self, batch: RolloutBatch, step: Step) -> Advantages:  # noqa: ARG002
        """Return the standardised reward of each row at its tokens."""
        return standardised(batch, ddof=self.config.ddof, eps=self.config.std_eps)

    def policy_loss(
        self, inputs: LossInputs, step: Step, weight_BT: Tensor | None = None
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the sequence-level loss; token weights have no meaning here.

        Raises:
            ValueError: If token weights are given.
        """
        if weight_BT is not None:
            raise ValueError("a sequence-level ratio takes no token weights")
        logp_BT, mask_BT = inputs.require("logp_BT"), inputs.require("mask_BT")
        advantage_B = surrogate.sequence_advantage(inputs.require("advantages_BT"), mask_BT)
        log_BT = surrogate.log_ratio(logp_BT, inputs.old_logp_BT, mask_BT)
        bounded_BT = log_BT.clamp(-self.config.eps_low, self.config.eps_high)
        one_sided_BT = torch.where(
            advantage_B[:, None] > 0, torch.minimum(log_BT, bounded_BT), torch.maximum(log_BT, bounded_BT)
        )
        length_B = mask_BT.bool().sum(1).clamp(min=1)
        ratio_B = (one_sided_BT.sum(1) / length_B).exp()
        rows_B1 = surrogate.rows_with_tokens(mask_BT)[:, None]
        loss = surrogate.aggregate(
            -(ratio_B * advantage_B)[:, None], rows_B1, "token-mean", tokens=step.sequences
        )
        with torch.no_grad():
            clipped_BT = (one_sided_BT != log_BT) & (advantage_B != 0)[:, None]
            metrics = {
                "loss/policy": loss.detach(),
                "policy/clip_fraction": token_mean(clipped_BT.to(loss.dtype), mask_BT, step),
                "policy/kl_to_rollout": token_mean(-log_BT.detach(), mask_BT, step),
            }
        return loss, metrics
