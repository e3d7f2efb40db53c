"""One optimiser update through verl's workers: the same rows, counts and scalars as in the local engine."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from planarena.trainers.algorithms import demonstrations
from planarena.trainers.algorithms.kto import KTO, reference_point
from planarena.trainers.config import TrainConfig
from planarena.trainers.local.data import PairTokens
from planarena.trainers.local.optimiser import learning_rate
from planarena.trainers.local.update import Work
from planarena.trainers.types import Algorithm, Step
from planarena.trainers.update import Expert, Sample, distributions_in_loss, pad, step_of
from planarena.trainers.verl.group import Workers
from planarena.trainers.verl.rows import Info, Kind, Row, expert_row, sample_row

__all__ = ["Skips", "Updater"]


class Skips:
    """Counts updates that verl did not make because their gradient was not finite.

    Attributes:
        skipped: All.
        skipped_in_a_row: The newest without a good one between.
    """

    def __init__(self) -> None:
        self.skipped = 0
        self.skipped_in_a_row = 0

    def note(self, made: bool) -> None:
        """Count an update."""
        self.skipped += not made
        self.skipped_in_a_row = 0 if made else self.skipped_in_a_row + 1


class Updater:
    """Makes updates by one algorithm; the counterpart of the local engine's.

    Args:
        workers: What computes.
        algorithm: Its needs say what travels.
        skips: Told of every update.
        config: Complete.
        total: Optimiser steps of the run.
    """

    def __init__(
        self, workers: Workers, algorithm: Algorithm, skips: Skips, config: TrainConfig, total: int
    ) -> None:
        self.workers, self.algorithm, self.skips = workers, algorithm, skips
        self.config, self.total = config, total
        self.temperature = float(config.rollout.temperature or 1.0)
        self.horizon = int(config.rollout.max_response_length or 1)

    def on_rollouts(
        self, work: Work, rows: Sequence[int], experts: Sequence[Expert], done: int
    ) -> dict[str, Any]:
        """Update on some rows of a rollout batch, and on experts where there are any.

        Args:
            work: The batch.
            rows: Rows of this update.
            experts: A fresh expert batch; ignored where hints are the experts.
            done: Optimiser steps done.
        """
        needs = self.algorithm.needs
        samples = [work.samples[row] for row in rows]
        if needs.prompt_hints:
            wanted = {sample.key for sample in samples}
            experts = [hint for hint in work.hints if hint.key in wanted]
        step = step_of(done, self.total, samples=samples, experts=experts, horizon=self.horizon)
        scalars = dict(work.advantages.scalars)
        if needs.expert_entropy and experts:
            scalars |= self._entropy_statistics(experts)
        in_loss = distributions_in_loss(self.algorithm)
        packed = [
            sample_row(
                row,
                work.samples[row],
                work.batch,
                work.advantages,
                ref_logp_BT=work.ref_logp_BT,
                temperature=self.temperature,
                teacher=work.teacher_prompts[row] if in_loss and work.teacher_prompts else None,
            )
            for row in rows
        ]
        present = {
            "old_log_probs": work.batch.old_logp_BT,
            "advantages": work.advantages.values_BT,
            "ref_log_prob": work.ref_logp_BT,
            "token_types": work.batch.token_type_BT,
            "reward": work.batch.rewards_B,
            "eps_low": work.advantages.eps_low_B,
            "eps_high": work.advantages.eps_high_B,
            "is_demo": work.batch.is_demo_B,
        }
        info = self._info(step, scalars, done)
        info.on_policy, info.together = work.fresh, needs.prompt_hints
        info.entropy, info.distributions = needs.entropy, in_loss
        info.present = [name for name, value in present.items() if value is not None]
        packed += [expert_row(expert) for expert in experts]
        work.fresh = False
        return self._finish(self.workers.update(packed, info), info)

    def on_experts(self, experts: Sequence[Expert], done: int) -> dict[str, Any]:
        """Update on demonstrations alone."""
        step = step_of(done, self.total, experts=experts, horizon=self.horizon)
        scalars = self._entropy_statistics(experts) if self.algorithm.needs.expert_entropy else {}
        info = self._info(step, scalars, done)
        return self._finish(self.workers.update([expert_row(expert) for expert in experts], info), info)

    def on_pairs(self, pairs: Sequence[PairTokens], done: int) -> dict[str, Any]:
        """Update on preference pairs; KTO reads their members as single labelled rows."""
        rows = [
            _preference_row(pair.prompt_ids, ids, number, sign)
            for number, pair in enumerate(pairs)
            for ids, sign in ((pair.chosen, 1.0), (pair.rejected, -1.0))
        ]
        samples = [Sample(row.prompt, list(row.response), list(row.mask), [], 0) for row in rows]
        step = step_of(done, self.total, samples=samples, horizon=self.horizon)
        scalars = {"z0": self._reference_point(rows)} if isinstance(self.algorithm, KTO) else {}
        for row, (logp, _) in zip(rows, self.workers.score(rows, reference=True), strict=True):
            row.tokens["ref_log_prob"] = logp
        info = self._info(step, scalars, done)
        info.present = ["ref_log_prob", "preference", "pair"]
        metrics = self._finish(self.workers.update(rows, info, pairs=True), info)
        return metrics | {f"preference/{key}": value for key, value in scalars.items()}

    # -- parts ---------------------------------------------------------------------------------------

    def _info(self, step: Step, scalars: Mapping[str, float], done: int) -> Info:
        return Info(
            step=step,
            scalars={name: float(value) for name, value in scalars.items()},
            state=self.algorithm.state_dict(),
            rate=learning_rate(done, self.total, self.config.update),
            expert_entropy=self.algorithm.needs.expert_entropy,
        )

    def _finish(self, found: dict[str, float], info: Info) -> dict[str, Any]:
        norm = found.get("grad_norm", math.nan)
        made = math.isfinite(norm)
        self.skips.note(made)
        self.algorithm.observe_gradient_norm(norm if made else 0.0, info.step)
        # Of verl's own numbers (memory, flops) those with a slash in their name are no metrics of a loss.
        metrics: dict[str, Any] = {
            name: value for name, value in found.items() if "/" in name and not name.startswith("perf/")
        }
        metrics |= {"update/gradient_norm": norm, "update/learning_rate": info.rate}
        metrics |= {
            "update/skipped": 0.0 if made else 1.0,
            "update/micro_batches": found.get("micro_batches", 1.0),
        }
        if info.step.expert_tokens:
            metrics["update/expert_tokens"] = float(info.step.expert_tokens)
        return metrics

    def _entropy_statistics(self, experts: Sequence[Expert]) -> dict[str, float]:
        """Return the batch-wide numbers of the entropy weights, which no micro-batch could know."""
        config: Any = self.algorithm.config
        share = float(getattr(getattr(config, "sft", config), "top_fraction", 0.05))
        scores = self.workers.score([expert_row(expert) for expert in experts], entropy=True)
        found = demonstrations.entropy_statistics(
            pad(entropy for _, entropy in scores),
            pad((expert.mask for expert in experts), dtype=torch.bool),
            top_fraction=share,
        )
        # The update computes the same entropies in passes of other sizes: the token that sets the threshold, rounded
        # otherwise in its last bits, is to stay above it.
        threshold = found["expert_entropy_threshold"]
        if math.isfinite(threshold):
            found["expert_entropy_threshold"] = threshold - 1e-5 * abs(threshold)
        return found

    def _reference_point(self, rows: Sequence[Row]) -> float:
        """Return KTO's z0 from the batch's prompts with each other's responses, as TRL does."""
        if len(rows) < 4:
            return 0.0
        shifted = []
        for place, row in enumerate(rows):
            other = rows[(place + 2) % len(rows)].response
            shifted.append(replace(row, response=other, mask=[1] * len(other), tokens={}))
        own = self.workers.score(shifted)
        theirs = self.workers.score(shifted, reference=True)
        mask_BT = pad((row.mask for row in shifted), dtype=torch.bool)
        return reference_point(pad(logp for logp, _ in own), pad(logp for logp, _ in theirs), mask_BT)


def _preference_row(prompt: Sequence[int], response: Sequence[int], pair: int, sign: float) -> Row:
    return Row(
        prompt=prompt,
        response=response,
        mask=[1] * len(response),
        kind=Kind.ROLLOUT,
        numbers={"pair": float(pair), "preference": sign},
    )
