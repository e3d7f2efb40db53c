"""GSPO: one length-normalised importance ratio per sequence, clipped as a whole.

s_i = exp(mean_t(log pi - log pi_old)); L = -mean_i min(s_i A_i, clip(s_i) A_i).
Source: arXiv 2507.18071.

Deviations: 1. the log of s_i is held inside +-20 (verl: at most 10); 2. `dual_clip` is off by default.
"""

from __future__ import annotations

from typing import Annotated

import torch
from torch import Tensor

from planarena.trainers.algorithms import surrogate
from planarena.trainers.algorithms.base import GroupConfig, GroupPolicy
from planarena.trainers.types import LossInputs, Step, option

__all__ = ["GSPO", "GSPOConfig", "sequence_policy_loss"]


class GSPOConfig(GroupConfig, frozen=True, kw_only=True, tag="gspo"):
    """Options of GSPO."""

    eps_low: Annotated[float, option("GSPO section 5.1, unverified", "lower clip radius", ge=0, le=1)] = 3e-4
    eps_high: Annotated[float, option("GSPO section 5.1, unverified", "upper clip radius", ge=0)] = 4e-4
    dual_clip: Annotated[float, option("GSPO has none", "bound on the ratio where A < 0", gt=1)] | None = None


def sequence_policy_loss(
    inputs: LossInputs,
    step: Step,
    *,
    eps_low: float | Tensor,
    eps_high: float | Tensor,
    dual_clip: float | None,
    length_norm: bool,
) -> tuple[Tensor, dict[str, Tensor]]:
    """Return the mean over sequences of the clipped surrogate with one ratio per sequence.

    Args:
        inputs: `logp_BT`, `mask_BT`, `advantages_BT` (a row's mean is its advantage).
        step: `sequences` is the global divisor.
        eps_low: Lower radius, number or (B,).
        eps_high: Upper radius, number or (B,).
        dual_clip: As in `surrogate.clipped_loss`.
        length_norm: Geometric mean of the token ratios (GSPO), else their product (AWPO Eq. 30).

    Returns:
        The loss and its metrics.
    """
    logp_BT, mask_BT = inputs.require("logp_BT"), inputs.require("mask_BT")
    advantage_B = surrogate.sequence_advantage(inputs.require("advantages_BT"), mask_BT)
    ratio_B = surrogate.mean_log_ratio(logp_BT, inputs.old_logp_BT, mask_BT, length_norm=length_norm)
    loss_B = surrogate.clipped_loss(
        ratio_B, advantage_B, eps_low=eps_low, eps_high=eps_high, dual_clip=dual_clip
    )
    rows_B1 = surrogate.rows_with_tokens(mask_BT)[:, None]
    loss = surrogate.aggregate(loss_B[:, None], rows_B1, "token-mean", tokens=step.sequences)
    with torch.no_grad():
        clipped_B = surrogate.clipped_tokens(ratio_B, advantage_B, eps_low=eps_low, eps_high=eps_high)
        metrics = {
            "loss/policy": loss.detach(),
            "policy/clip_fraction": surrogate.aggregate(
                clipped_B.to(loss.dtype)[:, None], rows_B1, "token-mean", tokens=step.sequences
            ),
        }
    return loss, metrics


class GSPO(GroupPolicy[GSPOConfig]):
    """Group sequence policy optimisation."""

    title = "GSPO"
    paper = "arXiv 2507.18071"

    def policy_loss(
        self, inputs: LossInputs, step: Step, weight_BT: Tensor | None = None
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the sequence-level loss; token weights have no meaning here.

        Raises:
            ValueError: If token weights are given.
        """
        if weight_BT is not None:
            raise ValueError("a sequence-level ratio takes no token weights")
        return sequence_policy_loss(
            inputs,
            step,
            eps_low=self.config.eps_low,
            eps_high=self.config.eps_high,
            dual_clip=self.config.dual_clip,
            length_norm=True,
        )
