"""Rollout batches through verl: its agent loops sample, its workers make the second passes; the rest is shared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol

import torch
from torch import Tensor

from planarena.trainers.config import RolloutConfig, TrainConfig
from planarena.trainers.local.collect import Collector as LocalCollector
from planarena.trainers.local.data import Order, Prompt
from planarena.trainers.local.generate import Generated
from planarena.trainers.local.rollout import Rollouts, sample_steps
from planarena.trainers.local.score import Scorer
from planarena.trainers.types import Algorithm, RolloutBatch, Step
from planarena.trainers.update import Sample
from planarena.trainers.verl.group import Workers
from planarena.trainers.verl.rows import Kind, Row
from planarena.trainers.verl.settings import frozen_teacher

__all__ = ["Collector", "Sampler"]


class Sampler(Protocol):
    """What samples: verl's agent loops behind Ray."""

    def generate(
        self,
        prompts: Sequence[Sequence[int]],
        *,
        repeats: int,
        limits: Sequence[int],
        temperature: float,
        seed: int,
    ) -> list[list[Generated]]:
        """Return `repeats` continuations of each prompt."""
        ...

    def episodes(
        self,
        prompts: Sequence[Prompt],
        config: RolloutConfig,
        scorer: Scorer,
        *,
        repeats: int,
        temperature: float,
        seed: int,
        demonstrations: bool,
        gamma: float,
    ) -> Rollouts:
        """Let the policy act in the environments of its tasks."""
        ...


class Collector(LocalCollector):
    """Draws rollout batches through verl.

    Args:
        config: Complete.
        algorithm: What it needs is supplied.
        scorer: The reward.
        prompts: All prompts of the run.
        order: In which they come.
        workers: For the second passes.
        sampler: For the rollouts.
        rolled: Called between the rollouts and the second passes.
    """

    def __init__(
        self,
        config: TrainConfig,
        algorithm: Algorithm,
        scorer: Scorer,
        prompts: Sequence[Prompt],
        order: Order,
        *,
        workers: Workers,
        sampler: Sampler,
        rolled: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(config, algorithm, scorer, prompts, order)
        self.workers, self.sampler, self.rolled = workers, sampler, rolled
        self.fresh = True
        self._again = False

    def _roll(self, policy: Any, prompts: Sequence[Prompt], step: Step, draw: int) -> Rollouts:
        needs, rollout = self.algorithm.needs, self.config.rollout
        repeats = int(rollout.group_size or 1)
        seed = self.config.seed * 1_000_003 + draw
        if self.config.data.mode == "episodes":
            gamma = float(getattr(self.algorithm.config, "gamma", 1.0)) if needs.step_anchors else 1.0
            return self.sampler.episodes(
                prompts,
                rollout,
                self.scorer,
                repeats=repeats,
                temperature=self.temperature,
                seed=seed,
                demonstrations=needs.demonstrations,
                gamma=gamma,
            )
        return sample_steps(
            policy,
            prompts,
            rollout,
            self.scorer,
            step=step,
            seed=seed,
            temperature=self.temperature,
            repeats=repeats,
            demonstrations=needs.demonstrations,
            draw_hints=getattr(self.algorithm, "draw_hint_segments", None) if needs.prompt_hints else None,
            sample=self._generate,
        )

    def _rolled(self) -> None:
        if self.rolled is not None:
            self.rolled()

    def _generate(
        self,
        policy: Any,  # noqa: ARG002  (part of the call that `generate` answers)
        prompts: Sequence[Sequence[int]],
        *,
        entropy: bool,
        **wanted: Any,
    ) -> list[list[Generated]]:
        found = self.sampler.generate(prompts, **wanted)
        if entropy:
            # Demonstrations and masked tokens have none; `_recompute` fills in the rest.
            for one in (one for group in found for one in group):
                one.entropy = [0.0] * len(one.ids)
        return found

    def collect(self, policy: Any, step: Step, number: int) -> Any:
        """Return the next batch, as the local collector does."""
        # Old weights are not here to score with: what a stale rollout says of its samples is taken.
        self._again = self.fresh and policy.bfloat16
        wanted = replace(policy, bfloat16=self._again or self.algorithm.needs.entropy)
        return super().collect(wanted, step, number)

    def _recompute(self, policy: Any, samples: Sequence[Sample]) -> None:  # noqa: ARG002
        own = [sample for sample in samples if not sample.is_demo]
        entropy = self.algorithm.needs.entropy
        rows = [self._row(sample) for sample in own]
        for sample, (logp, entropies) in zip(own, self.workers.score(rows, entropy=entropy), strict=True):
            sample.logp = logp if self._again else sample.logp
            if entropy:
                sample.entropy = entropies

    def _with_teacher(
        self,
        policy: Any,  # noqa: ARG002
        batch: RolloutBatch,
        samples: Sequence[Sample],
        prompts: list[Sequence[int]],
    ) -> RolloutBatch:
        frozen = frozen_teacher(self.config)
        if self.algorithm.needs.teacher_distribution:
            rows = [
                replace(self._row(sample), teacher=prompt)
                for sample, prompt in zip(samples, prompts, strict=True)
            ]
            return replace(batch, reverse_kl_BT=_filled(batch, self.workers.reverse_kl(rows, frozen=frozen)))
        rows = [
            replace(self._row(sample), prompt=prompt) for sample, prompt in zip(samples, prompts, strict=True)
        ]
        values = [logp for logp, _ in self.workers.score(rows, reference=frozen)]
        return replace(batch, teacher_logp_BT=_filled(batch, values))

    def _reference(self, batch: RolloutBatch, samples: Sequence[Sample]) -> Tensor:
        rows = [self._row(sample) for sample in samples]
        values = [logp for logp, _ in self.workers.score(rows, reference=True)]
        return _filled(batch, values).nan_to_num(nan=0.0)

    def _row(self, sample: Sample) -> Row:
        return Row(
            prompt=sample.prompt_ids,
            response=sample.response_ids,
            mask=sample.mask,
            kind=Kind.ROLLOUT,
            temperature=self.temperature,
        )


def _filled(batch: RolloutBatch, values: Sequence[Sequence[float]]) -> Tensor:
    """Return (B, T) of values per row, NaN where there is no token."""
    found_BT = torch.full_like(batch.mask_BT, float("nan"), dtype=torch.float32)
    for row, tokens in enumerate(values):
        found_BT[row, : len(tokens)] = torch.tensor(list(tokens), dtype=torch.float32)
    return found_BT
