"""UFT: a fading prefix of the demonstration in the prompt, and a small cross-entropy on its tokens.

L = L_GRPO - c_H entropy + 0.001 CE(hint tokens); the number of hint segments of a demonstration cut into
5 is Binomial(5, p(t)), p a cosine from 0.95 to 0.05 over 300 steps, 0 afterwards.
Source: authors' code. The hint tokens are the expert batch.

Deviations: 1. the entropy coefficient is verl's 0.001, unverified; 2. dual clip at 3.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from planarena.trainers import schedules
from planarena.trainers.algorithms import demonstrations
from planarena.trainers.algorithms.base import GroupConfig, GroupPolicy
from planarena.trainers.types import LossInputs, LossOutputs, Needs, Phase, Step, option

__all__ = ["UFT", "UFTConfig"]


class UFTConfig(GroupConfig, frozen=True, kw_only=True, tag="uft"):
    """Options of UFT."""

    entropy_coef: Annotated[
        float, option("verl's 0.001, unverified", "weight of the entropy bonus", ge=0)
    ] = 0.001
    hint_coef: Annotated[float, option("UFT run.py", "weight of the cross-entropy on hints", ge=0)] = 0.001
    hint_low: Annotated[
        float, option("UFT rl_dataset.py", "probability at the last step with hints", ge=0, le=1)
    ] = 0.05
    hint_high: Annotated[float, option("UFT rl_dataset.py", "probability at step 0", ge=0, le=1)] = 0.95
    hint_steps: Annotated[int, option("UFT: 300 of 500 steps", "last step with hints", ge=1)] = 300
    hint_segments: Annotated[int, option("UFT rl_dataset.py", "segments of a demonstration", ge=1)] = 5
    seed: Annotated[int, option("ours", "seed of the number of segments", ge=0)] = 0


class UFT(GroupPolicy[UFTConfig]):
    """Unified fine-tuning."""

    title = "UFT"
    paper = "UFT, authors' code"

    def base_needs(self) -> Needs:
        """Add hints."""
        return replace(super().base_needs(), experts=True, prompt_hints=True)

    def phase(self, step: Step) -> Phase:
        """Use hints until they fade."""
        return "both" if step.step <= self.config.hint_steps else "rl"

    def coefficients(self, step: Step) -> dict[str, float]:
        """Return the probability of hints."""
        return {"hint_probability": self.hint_probability(step)}

    def hint_probability(self, step: Step) -> float:
        """Return the probability of keeping each segment at this step."""
        config = self.config
        return schedules.hint_probability(
            step.step, horizon=config.hint_steps, low=config.hint_low, high=config.hint_high
        )

    def draw_hint_segments(self, step: Step, row: int, chunks: int) -> int:
        """Return how many leading segments of a demonstration of `chunks` chunks the prompt shows."""
        return schedules.draw_hint_segments(
            self.hint_probability(step),
            min(self.config.hint_segments, chunks),
            seed=self.config.seed + step.step,
            row=row,
        )

    def hint_tokens(self, step: Step, row: int, length: int) -> int:
        """Return the tokens of the shown segments, which are equal parts of the demonstration."""
        kept = self.draw_hint_segments(step, row, length)
        return schedules.hint_length(length, self.config.hint_segments, kept)

    def loss(self, inputs: LossInputs, step: Step) -> LossOutputs:
        """Return the policy loss plus the hints' cross-entropy."""
        hint = demonstrations.expert_loss(inputs, step)
        policy, metrics = self.policy_loss(inputs, step)
        metrics["loss/hint"] = hint.detach()
        return self.regularised(policy + self.config.hint_coef * hint, metrics, inputs, step)
