"""AdamW, the learning rate over the run, clipping, and updates that are skipped rather than poisoned."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from planarena.trainers.config import UpdateConfig
from planarena.trainers.local.model import Policy

__all__ = ["Optimiser", "learning_rate"]


def learning_rate(step: int, total: int, config: UpdateConfig) -> float:
    """Return the learning rate of a step: a linear warm-up, then constant or a cosine to `final_ratio`.

    Args:
        step: Optimiser steps done, from 0.
        total: Of the run.
        config: Peak, shape, warm-up.
    """
    peak = float(config.learning_rate or 0.0)
    if step < config.warmup:
        return peak * (step + 1) / config.warmup
    if config.schedule != "cosine":
        return peak
    progress = min((step - config.warmup) / max(total - config.warmup, 1), 1.0)
    low = peak * config.final_ratio
    return low + 0.5 * (peak - low) * (1.0 + math.cos(math.pi * progress))


class Optimiser:
    """AdamW over the trainable parameters of a policy.

    Args:
        policy: The policy.
        config: Rates, betas, decay, clipping.

    Attributes:
        skipped: Steps skipped because a loss or gradient was not finite.
        skipped_in_a_row: Of those, the newest without a good step between.
    """

    def __init__(self, policy: Policy, config: UpdateConfig) -> None:
        self.config = config
        self.named = policy.trainable()
        decayed = [value for _, value in self.named if value.dim() >= 2]
        plain = [value for _, value in self.named if value.dim() < 2]
        groups = [
            {"params": decayed, "weight_decay": config.weight_decay},
            {"params": plain, "weight_decay": 0.0},
        ]
        betas = config.adam_betas or (0.9, 0.999)
        self.adam = torch.optim.AdamW([group for group in groups if group["params"]], lr=1.0, betas=betas)
        self.skipped = 0
        self.skipped_in_a_row = 0

    def zero(self) -> None:
        """Forget gradients."""
        self.adam.zero_grad(set_to_none=True)

    def apply(self, rate: float, *, finite: bool) -> tuple[float, bool]:
        """Clip and step, unless the loss or a gradient is not finite.

        Args:
            rate: Learning rate.
            finite: Whether the loss is.

        Returns:
            The gradient norm before clipping, and whether the step was made.
        """
        gradients = [value.grad for _, value in self.named if value.grad is not None]
        if finite and not gradients:
            # Nothing depends on the policy in this batch: no step, and no fault either.
            return 0.0, True
        norm = float(torch.nn.utils.get_total_norm(gradients)) if gradients else math.nan
        if not (finite and math.isfinite(norm)):
            self.zero()
            self.skipped += 1
            self.skipped_in_a_row += 1
            return norm, False
        self.skipped_in_a_row = 0
        if norm > self.config.max_grad_norm:
            for gradient in gradients:
                gradient.mul_(self.config.max_grad_norm / (norm + 1e-6))
        for group in self.adam.param_groups:
            group["lr"] = rate
        self.adam.step()
        self.zero()
        return norm, True

    def tensors(self) -> dict[str, Tensor]:
        """Return the moments by parameter name, for a checkpoint."""
        found: dict[str, Tensor] = {}
        for name, value in self.named:
            for key, entry in self.adam.state.get(value, {}).items():
                found[f"{key}/{name}"] = torch.as_tensor(entry).detach().cpu().contiguous()
        return found

    def restore(self, tensors: dict[str, Tensor], counts: dict[str, Any]) -> None:
        """Take over what `tensors` gave, and the counts of skipped steps."""
        self.skipped = int(counts.get("skipped", 0))
        self.skipped_in_a_row = int(counts.get("skipped_in_a_row", 0))
        for name, value in self.named:
            state: dict[str, Any] = {}
            for key in ("step", "exp_avg", "exp_avg_sq"):
                stored = tensors.get(f"{key}/{name}")
                if stored is not None:
                    state[key] = stored.clone() if key == "step" else stored.to(value.device).clone()
            if state:
                self.adam.state[value] = state
