"""Optimiser updates as an engine is given them: rows, global counts, batch-wide scalars, the learning rate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from planarena.trainers.config import TrainConfig
from planarena.trainers.loop.backend import Backend, Job, Work
from planarena.trainers.loop.batches import Expert, Sample, pad, step_of
from planarena.trainers.loop.encoding import PairTokens
from planarena.trainers.loop.rates import rate_of
from planarena.trainers.types import Algorithm

__all__ = ["Updater"]


class Updater:
    """Makes updates by one algorithm on one backend.

    Args:
        backend: What computes.
        algorithm: Its needs say what an update is given.
        config: Complete.
        total: Optimiser steps of the run.

    Attributes:
        skipped: Updates skipped because a loss or gradient was not finite.
        skipped_in_a_row: Of those, the newest without a good one between.
    """

    def __init__(self, backend: Backend, algorithm: Algorithm, config: TrainConfig, total: int) -> None:
        self.backend, self.algorithm, self.config, self.total = backend, algorithm, config, total
        self.horizon = int(config.rollout.max_response_length or 1)
        self.skipped = self.skipped_in_a_row = 0

    def on_rollouts(
        self, work: Work, rows: Sequence[int], experts: Sequence[Expert], done: int
    ) -> dict[str, Any]:
        """Update on some rows of a rollout batch, and on experts where there are any.

        Args:
            work: The batch.
            rows: Rows of this update.
            experts: A fresh expert batch; ignored where hints are the experts.
            done: Optimiser steps done.

        Returns:
            Metrics of the update.
        """
        samples = [work.samples[row] for row in rows]
        if self.algorithm.needs.prompt_hints:
            wanted = {sample.key for sample in samples}
            experts = [hint for hint in work.hints if hint.key in wanted]
        scalars = {name: float(value) for name, value in work.advantages.scalars.items()}
        job = self._job(done, samples, experts, scalars=scalars | self._expert_scalars(experts))
        job.work, job.rows = work, rows
        metrics = self._made(job)
        work.fresh = False
        return metrics

    def on_experts(self, experts: Sequence[Expert], done: int) -> dict[str, Any]:
        """Update on demonstrations alone."""
        return self._made(self._job(done, (), experts, scalars=self._expert_scalars(experts)))

    def on_pairs(self, pairs: Sequence[PairTokens], done: int) -> dict[str, Any]:
        """Update on preference pairs, or on their members as single labelled rows."""
        samples = [
            Sample(pair.prompt_ids, ids, [1] * len(ids), [], group=number)
            for number, pair in enumerate(pairs)
            for ids in (pair.chosen, pair.rejected)
        ]
        scalars = self._mismatch_scalars(samples) if self.algorithm.needs.mismatched_pairs else {}
        job = self._job(done, samples, (), scalars=scalars)
        job.pairs = samples
        job.pair_ref_logp_NT = self.backend.score(samples, by="start", together=True).logp_NT.nan_to_num(0.0)
        return self._made(job) | {f"preference/{key}": value for key, value in scalars.items()}

    # -- parts ---------------------------------------------------------------------------------------

    def _job(
        self, done: int, samples: Sequence[Sample], experts: Sequence[Expert], *, scalars: dict[str, float]
    ) -> Job:
        step = step_of(done, self.total, samples=samples, experts=experts, horizon=self.horizon)
        supervised = bool(experts) and not samples
        rate = rate_of(self.algorithm, step, self.config.update, supervised=supervised)
        return Job(step=step, rate=rate, scalars=scalars, experts=experts)

    def _made(self, job: Job) -> dict[str, Any]:
        made = self.backend.update(job)
        self.skipped += not made.done
        self.skipped_in_a_row = 0 if made.done else self.skipped_in_a_row + 1
        self.algorithm.observe_gradient_norm(made.norm if math.isfinite(made.norm) else 0.0, job.step)
        metrics: dict[str, Any] = dict(made.metrics)
        metrics |= {"update/gradient_norm": made.norm, "update/learning_rate": job.rate}
        metrics |= {"update/skipped": 0.0 if made.done else 1.0, "update/micro_batches": made.micro_batches}
        if job.step.expert_tokens:
            metrics["update/expert_tokens"] = float(job.step.expert_tokens)
        return metrics

    def _expert_scalars(self, experts: Sequence[Expert]) -> dict[str, float]:
        """Return the batch-wide numbers of the entropy weights."""
        if not (experts and self.algorithm.needs.expert_entropy):
            return {}
        rows = [
            Sample(expert.prompt_ids, expert.target_ids, expert.mask, [], group=number)
            for number, expert in enumerate(experts)
        ]
        entropy_ET = self.backend.score(rows, by="policy", entropy=True).entropy_NT
        assert entropy_ET is not None
        mask_ET = pad((expert.mask for expert in experts), dtype=torch.bool).to(entropy_ET.device)
        return self.algorithm.expert_scalars(entropy_ET, mask_ET)

    def _mismatch_scalars(self, samples: Sequence[Sample]) -> dict[str, float]:
        """Return what the algorithm makes of the batch's prompts with each other's responses, as TRL pairs them."""
        if len(samples) < 4:
            return self.algorithm.mismatch_scalars(*(torch.zeros(0, 1) for _ in range(3)))
        shifted = []
        for place, sample in enumerate(samples):
            other = samples[(place + 2) % len(samples)]
            shifted.append(replace(sample, response_ids=other.response_ids, mask=other.mask, group=place))
        own, theirs = (self.backend.score(shifted, by=by).logp_NT for by in ("policy", "start"))
        mask_NT = pad((sample.mask for sample in shifted), dtype=torch.bool).to(own.device)
        return self.algorithm.mismatch_scalars(own, theirs, mask_NT)
