"""Importance weights for rollouts whose sampler computes otherwise than the trained policy does.

w = pi_old(y) / pi_sampler(y), per token or of the whole response; too large ones are cut to the bound
(truncated importance sampling) or, with a lower bound, dropped on both sides (masked, "IcePop").
Source: verl's rollout correction (`rollout_corr_helper`), whose numbers these are.

Deviations: 1. the weights multiply the advantages and not the losses, which is the same for every loss that is
linear in the advantage of a token; sequence-level losses (GSPO, GMPO) take the mean weight of the row.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from planarena.trainers.algorithms.surrogate import log_ratio, mean_log_ratio

__all__ = ["Level", "correction_weights"]

Level = Literal["token", "sequence"]


def correction_weights(
    logp_BT: Tensor,
    sampler_logp_BT: Tensor,
    mask_BT: Tensor,
    *,
    level: Level = "token",
    upper: float = 2.0,
    lower: float | None = None,
) -> Tensor:
    """Return (B, T) weights of the advantages, 0 at masked tokens.

    Args:
        logp_BT: (B, T) of the policy that the rollouts stand for, by the trainer's own arithmetic.
        sampler_logp_BT: (B, T) as the sampler reported them.
        mask_BT: (B, T).
        level: One weight a token (biased, low variance), or the product over the response.
        upper: Largest weight.
        lower: None truncates at `upper`; a number drops what lies outside [lower, upper].

    Raises:
        ValueError: If the bounds are not 0 < lower <= upper.
    """
    if upper <= 0 or (lower is not None and not 0 < lower <= upper):
        raise ValueError(f"bounds of importance weights must be 0 < lower <= upper, not {lower} and {upper}")
    if level == "token":
        weight_BT = log_ratio(logp_BT.detach(), sampler_logp_BT, mask_BT).exp()
    else:
        log_B = mean_log_ratio(logp_BT.detach(), sampler_logp_BT, mask_BT, length_norm=False)
        weight_BT = log_B.exp()[:, None].expand(mask_BT.shape)
    if lower is None:
        weight_BT = weight_BT.clamp(max=upper)
    else:
        weight_BT = torch.where((weight_BT >= lower) & (weight_BT <= upper), weight_BT, 0.0)
    return torch.where(mask_BT.bool(), weight_BT, 0.0)
