"""The clipped surrogate, its log-ratio, and the ways to reduce a (B, T) loss matrix to a scalar."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

__all__ = [
    "LOG_RATIO_LIMIT",
    "Aggregation",
    "KLEstimator",
    "aggregate",
    "clipped_loss",
    "clipped_tokens",
    "kl_estimate",
    "log_ratio",
    "mean_log_ratio",
    "rows_with_tokens",
    "sequence_advantage",
    "unclipped_loss",
]

LOG_RATIO_LIMIT = 20.0

Aggregation = Literal[
    "token-mean", "seq-mean-token-mean", "seq-mean-token-sum", "seq-mean-token-sum-norm", "token-sum-norm"
]
KLEstimator = Literal["k1", "k2", "k3"]


def log_ratio(logp_BT: Tensor, old_logp_BT: Tensor | None, mask_BT: Tensor) -> Tensor:
    """Return log(pi / pi_old) per token, held inside +-20 so that its exponential never overflows.

    Args:
        logp_BT: (B, T) with gradient.
        old_logp_BT: (B, T), detached here; None on a strictly on-policy update (ratio 1).
        mask_BT: (B, T); masked positions give 0, whatever they hold (padding may be -inf or NaN).

    Returns:
        (B, T) in the dtype of `logp_BT`.
    """
    old = logp_BT.detach() if old_logp_BT is None else old_logp_BT.detach()
    difference = torch.where(mask_BT.bool(), logp_BT - old, 0.0)
    return difference.clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT)


def mean_log_ratio(
    logp_BT: Tensor, old_logp_BT: Tensor | None, mask_BT: Tensor, *, length_norm: bool
) -> Tensor:
    """Return the log-ratio of whole sequences, held inside +-20.

    Args:
        logp_BT: (B, T) with gradient.
        old_logp_BT: (B, T), detached here; None on a strictly on-policy update.
        mask_BT: (B, T).
        length_norm: Divide by the number of valid tokens (GSPO); else the plain sum (AWPO Eq. 30).

    Returns:
        (B,); 0 for a row without valid tokens.
    """
    old = logp_BT.detach() if old_logp_BT is None else old_logp_BT.detach()
    valid_BT = mask_BT.bool()
    # Each token is bounded too: a sum of huge finite differences would be infinite minus infinite.
    total_B = torch.where(valid_BT, logp_BT - old, 0.0).clamp(-1e4, 1e4).sum(1)
    if length_norm:
        total_B = total_B / valid_BT.sum(1).clamp(min=1)
    return total_B.clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT)


def clipped_loss(
    log_ratio: Tensor,
    advantages: Tensor,
    *,
    eps_low: float | Tensor,
    eps_high: float | Tensor,
    dual_clip: float | None,
) -> Tensor:
    """Return -min(r A, clip(r, 1 - eps_low, 1 + eps_high) A), the PPO loss to minimise.

    For A >= 0 the minimum is A min(r, 1 + eps_high), for A < 0 it is A max(r, 1 - eps_low), so each
    sign needs one bound alone; the dual clip is the bound on the other side for A < 0.

    Args:
        log_ratio: Any shape.
        advantages: Same shape, detached here.
        eps_low: Lower radius, number or broadcastable tensor.
        eps_high: Upper radius, number or broadcastable tensor.
        dual_clip: Bound c on the ratio where A < 0, so that the loss is at most -c A (verl's addition;
            no paper here has it); None for none.

    Returns:
        The loss per element, in the shape and dtype of `log_ratio`.
    """
    ratio = log_ratio.exp()
    gain = advantages.detach()
    if isinstance(eps_high, Tensor):
        raised = torch.minimum(ratio, 1.0 + eps_high.detach().to(ratio.dtype))
    else:
        raised = ratio.clamp(max=1.0 + eps_high)
    if isinstance(eps_low, Tensor):
        lowered = torch.maximum(ratio, 1.0 - eps_low.detach().to(ratio.dtype))
        lowered = lowered if dual_clip is None else lowered.clamp(max=dual_clip)
    else:
        lowered = ratio.clamp(min=1.0 - eps_low, max=dual_clip)
    # One factor is 0 for each sign; a choice by `where` costs twenty times a product on a CPU.
    return gain.clamp(max=0.0).neg_() * lowered - gain.clamp(min=0.0) * raised


def unclipped_loss(log_ratio: Tensor, advantages: Tensor) -> Tensor:
    """Return -r A per element, in the shape and dtype of `log_ratio`."""
    return log_ratio.exp() * -advantages.detach()


def clipped_tokens(
    log_ratio: Tensor, advantages: Tensor, *, eps_low: float | Tensor, eps_high: float | Tensor
) -> Tensor:
    """Return bool, same shape as `log_ratio`: the clip took the gradient away."""
    # Bounds on the log-ratio spare another exponential.
    highest = log_ratio.new_tensor(eps_high) if isinstance(eps_high, float | int) else eps_high
    lowest = log_ratio.new_tensor(eps_low) if isinstance(eps_low, float | int) else eps_low
    above = (advantages > 0) & (log_ratio > torch.log1p(highest))
    below = (advantages < 0) & (log_ratio < torch.log1p(-lowest))
    return above | below


def aggregate(
    loss_BT: Tensor,
    mask_BT: Tensor,
    mode: Aggregation,
    *,
    tokens: int | None = None,
    sequences: int | None = None,
    horizon: int | None = None,
) -> Tensor:
    """Reduce a loss matrix to a scalar, dividing by global counts where they are given.

    | mode | result |
    |---|---|
    | token-mean | sum / tokens |
    | seq-mean-token-mean | mean over sequences of the mean over their tokens |
    | seq-mean-token-sum | mean over sequences of the sum over their tokens |
    | seq-mean-token-sum-norm | the same, divided by the horizon |
    | token-sum-norm | sum / horizon (LUFFY's official reduction) |

    Args:
        loss_BT: (B, T).
        mask_BT: (B, T); masked positions count for nothing, whatever they hold.
        mode: As above. Rows without valid tokens are no sequences.
        tokens: Valid tokens of the whole batch; default: of this mask.
        sequences: Rows with valid tokens of the whole batch; default: of this mask.
        horizon: Constant length; default: the width T of the mask.

    Returns:
        A scalar; 0 with a gradient of 0 where no token is valid.

    Raises:
        ValueError: For an unknown mode.
    """
    valid_BT = mask_BT.bool()
    kept_BT = torch.where(valid_BT, loss_BT, 0.0)
    if mode == "token-mean":
        return kept_BT.sum() / (max(tokens, 1) if tokens is not None else valid_BT.sum().clamp(min=1))
    length = horizon if horizon is not None else mask_BT.shape[1]
    if mode == "token-sum-norm":
        return kept_BT.sum() / max(length, 1)
    length_B = valid_BT.sum(1)
    rows = max(sequences, 1) if sequences is not None else (length_B > 0).sum().clamp(min=1)
    if mode == "seq-mean-token-mean":
        return (kept_BT.sum(1) / length_B.clamp(min=1)).sum() / rows
    if mode == "seq-mean-token-sum":
        return kept_BT.sum() / rows
    if mode == "seq-mean-token-sum-norm":
        return kept_BT.sum() / rows / max(length, 1)
    raise ValueError(f"unknown aggregation {mode!r}")


def kl_estimate(logp_BT: Tensor, ref_logp_BT: Tensor, mask_BT: Tensor, kind: KLEstimator) -> Tensor:
    """Return an estimate of KL(policy || reference) per sampled token.

    k1 = log(pi / ref), k2 = k1^2 / 2, k3 = ref / pi - 1 - log(ref / pi) (Schulman's low-variance one).

    Args:
        logp_BT: (B, T) with gradient.
        ref_logp_BT: (B, T), detached here.
        mask_BT: (B, T).
        kind: Estimator.

    Returns:
        (B, T), 0 at masked positions; k3 is held inside [0, 10], as in verl.
    """
    difference = log_ratio(logp_BT, ref_logp_BT, mask_BT)
    if kind == "k1":
        return difference
    if kind == "k2":
        return 0.5 * difference.square()
    return ((-difference).exp() + difference - 1.0).clamp(-10.0, 10.0)


def rows_with_tokens(mask_BT: Tensor) -> Tensor:
    """Return (B,) bool: rows with at least one valid token."""
    return mask_BT.bool().any(1)


def sequence_advantage(advantages_BT: Tensor, mask_BT: Tensor) -> Tensor:
    """Return (B,) the mean advantage over each row's valid tokens: the row's own where it is constant."""
    valid_BT = mask_BT.bool()
    total_B = torch.where(valid_BT, advantages_BT.detach(), 0.0).sum(1)
    return total_B / valid_BT.sum(1).clamp(min=1)
