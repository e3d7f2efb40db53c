"""Cross-entropy on demonstrations, its token weights, and how it mixes with an RL loss."""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor

from planarena.trainers.algorithms import surrogate
from planarena.trainers.types import LossInputs, Step

__all__ = [
    "TokenWeight",
    "entropy_statistics",
    "expert_loss",
    "has_experts",
    "has_rollouts",
    "mixing_coefficient",
    "token_weights",
    "uncertainty",
]

TokenWeight = Literal["none", "phi", "is", "is_clip", "focal", "entropy_top", "entropy_norm"]


def uncertainty(logp: Tensor) -> Tensor:
    """Return phi = p (1 - p), detached: 0 at both ends of the probability scale (CHORD Eq. 5, ToolUPT Eq. 21).

    The papers' losses only mean what their text says with a stop-gradient: undetached, the expert
    token of a small p would be pushed down.
    """
    p = logp.detach().exp()
    return (1.0 - p).mul_(p)


def token_weights(
    kind: TokenWeight,
    logp_ET: Tensor,
    mask_ET: Tensor,
    *,
    entropy_ET: Tensor | None = None,
    clip_above: float = 0.4,
    focal_gamma: float = 2.0,
    top_fraction: float = 0.05,
    entropy_mean: float | None = None,
    entropy_threshold: float | None = None,
) -> Tensor:
    """Return the stop-gradient weight of each expert token.

    Source: CHORD Eq. 4-6 and appendix B.2. Deviations: 1. `is_clip` drops tokens with p > 0.4 (the paper
    says "clips"); 2. the focal exponent and the scale of `entropy_norm` (mean weight 1) are ours.

    Args:
        kind: none 1 | phi p (1 - p) | is p (DFT) | is_clip p unless above `clip_above` | focal
            (1 - p)^gamma | entropy_top 1 on the tokens of highest entropy | entropy_norm H / mean H.
        logp_ET: (E, T') expert log-probabilities.
        mask_ET: (E, T').
        entropy_ET: (E, T') policy entropy, for the two entropy kinds.
        clip_above: Probability above which `is_clip` gives 0.
        focal_gamma: Exponent of `focal`.
        top_fraction: Share of tokens that `entropy_top` keeps.
        entropy_mean: Mean entropy of the whole expert batch; default: of these rows.
        entropy_threshold: Entropy from which a token belongs to the top; default: of these rows.

    Returns:
        (E, T'), 0 at masked positions.

    Raises:
        ValueError: If an entropy kind gets no entropy.
    """
    valid_ET = mask_ET.bool()
    p_ET = torch.where(valid_ET, logp_ET.detach(), 0.0).exp()
    if kind == "none":
        weight_ET = torch.ones_like(p_ET)
    elif kind == "phi":
        weight_ET = p_ET * (1.0 - p_ET)
    elif kind == "is":
        weight_ET = p_ET
    elif kind == "is_clip":
        weight_ET = torch.where(p_ET > clip_above, 0.0, p_ET)
    elif kind == "focal":
        weight_ET = (1.0 - p_ET).clamp(min=0.0).pow(focal_gamma)
    else:
        if entropy_ET is None:
            raise ValueError(f"the token weight {kind!r} needs LossInputs.expert_entropy_ET")
        entropy_ET = entropy_ET.detach()
        if entropy_mean is None or entropy_threshold is None:
            local = entropy_statistics(entropy_ET, mask_ET, top_fraction=top_fraction)
            entropy_mean = local["expert_entropy_mean"] if entropy_mean is None else entropy_mean
            if entropy_threshold is None:
                entropy_threshold = local["expert_entropy_threshold"]
        if kind == "entropy_top":
            weight_ET = (entropy_ET >= entropy_threshold).to(p_ET.dtype)
        else:
            weight_ET = entropy_ET / entropy_mean if entropy_mean > 0 else torch.ones_like(p_ET)
    return torch.where(valid_ET, weight_ET, 0.0)


def entropy_statistics(entropy_ET: Tensor, mask_ET: Tensor, *, top_fraction: float) -> dict[str, float]:
    """Return the batch-wide numbers that the entropy weights need, for `LossInputs.scalars`.

    Args:
        entropy_ET: (E, T') policy entropy in nats.
        mask_ET: (E, T').
        top_fraction: Share of tokens that `entropy_top` keeps; at least one token.
    """
    values = entropy_ET.detach()[mask_ET.bool()]
    if values.numel() == 0:
        return {"expert_entropy_mean": 0.0, "expert_entropy_threshold": math.inf}
    kept = max(1, math.ceil(top_fraction * values.numel()))
    return {
        "expert_entropy_mean": float(values.mean()),
        "expert_entropy_threshold": float(values.topk(kept).values[-1]),
    }


def expert_loss(inputs: LossInputs, step: Step, weight_ET: Tensor | None = None) -> Tensor:
    """Return -sum(w log pi) / sum(mask) over the expert batch: the token-mean of weighted cross-entropy.

    Source: CHORD Eq. 1, ToolUPT Eq. 1, DUPO Eq. 14 (with the current policy). No weight counts in the divisor.

    Args:
        inputs: `expert_logp_ET` and `expert_mask_ET`; without them the result is 0.
        step: `expert_tokens` is the global divisor.
        weight_ET: (E, T'), detached here; default: 1.

    Returns:
        A scalar with gradient to the expert log-probabilities.
    """
    if inputs.expert_logp_ET is None:
        return inputs.require("logp_BT").new_zeros(())
    mask_ET = inputs.require("expert_mask_ET")
    nll_ET = -torch.where(mask_ET.bool(), inputs.expert_logp_ET, 0.0)
    if weight_ET is not None:
        nll_ET = nll_ET * weight_ET.detach()
    return surrogate.aggregate(nll_ET, mask_ET, "token-mean", tokens=step.expert_tokens)


def has_experts(inputs: LossInputs, step: Step) -> bool:
    """Say whether the step has an expert batch, by the global count where it is known."""
    if step.expert_tokens is not None:
        return step.expert_tokens > 0
    return inputs.expert_mask_ET is not None and bool(inputs.expert_mask_ET.any())


def has_rollouts(inputs: LossInputs, step: Step) -> bool:
    """Say whether the step has rollouts, by the global count where it is known."""
    if step.tokens is not None:
        return step.tokens > 0
    return inputs.mask_BT is not None and bool(inputs.mask_BT.any())


def mixing_coefficient(coefficient: float, inputs: LossInputs, step: Step) -> float:
    """Return the weight of the supervised term: the scheduled one, unless one side has no data.

    Without experts it is 0 and without rollouts 1, so that an empty side never shrinks the other.
    """
    if not has_experts(inputs, step):
        return 0.0
    return coefficient if has_rollouts(inputs, step) else 1.0
