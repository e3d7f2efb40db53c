"""SASR (approximate): each step is supervised with a probability that follows the gradient norm, else GRPO.

After a supervised warm-up, p_t = g_t / (g_t + gamma g_warm), g the gradient norm of the last supervised
update. Source: arXiv 2505.13026, abstract only; CHORD names it a baseline.

Deviations: 1. the formula of p_t is unverified (no text of it was at hand): the whole algorithm
is approximate; 2. the draw is seeded by step, so that a resumed run repeats it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

import torch

from planarena.trainers.algorithms import demonstrations
from planarena.trainers.algorithms.base import GroupConfig, GroupPolicy
from planarena.trainers.types import LossInputs, LossOutputs, Needs, Phase, Step, option

__all__ = ["SASR", "SASRConfig"]


class SASRConfig(GroupConfig, frozen=True, kw_only=True, tag="sasr"):
    """Options of SASR; every default is ours."""

    warmup_steps: Annotated[int, option("ours", "supervised steps at the start", ge=1)] = 20
    gamma: Annotated[float, option("ours", "weight of the warm-up's gradient norm", gt=0)] = 1.0
    seed: Annotated[int, option("ours", "seed of the draw", ge=0)] = 0


class SASR(GroupPolicy[SASRConfig]):
    """Step-wise adaptive integration of SFT and RL, approximated."""

    title = "SASR (approximate)"
    paper = "arXiv 2505.13026, abstract"
    approximate = True

    def __init__(self, config: SASRConfig) -> None:
        super().__init__(config)
        self._warmup_norm = 0.0
        self._warmup_count = 0
        self._last_norm = 0.0

    def base_needs(self) -> Needs:
        """Add experts and the gradient norm."""
        return replace(super().base_needs(), experts=True, gradient_norm=True, own_phases=True)

    def coefficients(self, step: Step) -> dict[str, float]:  # noqa: ARG002
        """Return p_t."""
        return {"supervised_probability": self.probability()}

    def probability(self) -> float:
        """Return p_t, the probability that the next step is supervised."""
        scale = self._last_norm + self.config.gamma * self._warmup_norm
        return self._last_norm / scale if scale > 0 else 0.0

    def phase(self, step: Step) -> Phase:
        """Warm up supervised, then draw."""
        if step.step < self.config.warmup_steps:
            return "sft"
        generator = torch.Generator().manual_seed(self.config.seed * 1_000_003 + step.step)
        return (
            "sft"
            if float(torch.rand((), generator=generator, dtype=torch.float64)) < self.probability()
            else "rl"
        )

    def observe_gradient_norm(self, norm: float, step: Step) -> None:
        """Average the norms of the warm-up; afterwards remember that of the last supervised update."""
        if self.phase(step) != "sft":
            return
        if step.step < self.config.warmup_steps:
            self._warmup_count += 1
            self._warmup_norm += (norm - self._warmup_norm) / self._warmup_count
        self._last_norm = norm

    def loss(self, inputs: LossInputs, step: Step) -> LossOutputs:
        """Return the cross-entropy where only experts are given, else GRPO's loss."""
        if inputs.logp_BT is not None:
            return super().loss(inputs, step)
        inputs.require("expert_logp_ET")
        sft = demonstrations.expert_loss(inputs, step)
        return LossOutputs(loss=sft, metrics={"loss/sft": sft.detach(), "loss/total": sft.detach()})

    def state_dict(self) -> dict[str, Any]:
        """Return the gradient norms."""
        return {
            "warmup_norm": self._warmup_norm,
            "warmup_count": self._warmup_count,
            "last_norm": self._last_norm,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the gradient norms."""
        self._warmup_norm = float(state["warmup_norm"])
        self._warmup_count = int(state["warmup_count"])
        self._last_norm = float(state["last_norm"])
