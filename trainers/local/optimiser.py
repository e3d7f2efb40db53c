"""AdamW, clipping, and updates that are skipped rather than poisoned."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from planarena.trainers.config import UpdateConfig
from planarena.trainers.local.model import Policy

__all__ = ["Optimiser", "decay_groups"]


class Optimiser:
    """AdamW over the trainable parameters of a policy.

    Args:
        policy: The policy.
        config: Betas, decay, clipping.
    """

    def __init__(self, policy: Policy, config: UpdateConfig) -> None:
        self.config = config
        self.named = policy.trainable()
        groups = decay_groups([value for _, value in self.named], config.weight_decay)
        self.adam = torch.optim.AdamW(groups, lr=1.0, betas=config.adam_betas or (0.9, 0.999))

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
            return norm, False
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

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Take over what `tensors` gave."""
        for name, value in self.named:
            state: dict[str, Any] = {}
            for key in ("step", "exp_avg", "exp_avg_sq"):
                stored = tensors.get(f"{key}/{name}")
                if stored is not None:
                    state[key] = stored.clone() if key == "step" else stored.to(value.device).clone()
            if state:
                self.adam.state[value] = state


def decay_groups(parameters: Sequence[Tensor], weight_decay: float) -> list[dict[str, Any]]:
    """Return groups of AdamW in which matrices alone decay, not vectors (norms, biases)."""
    matrices = [value for value in parameters if value.dim() >= 2]
    vectors = [value for value in parameters if value.dim() < 2]
    groups = ({"params": matrices, "weight_decay": weight_decay}, {"params": vectors, "weight_decay": 0.0})
    return [group for group in groups if group["params"]]
