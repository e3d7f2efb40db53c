"""The distributed engine: rollout, score, update and save through verl's workers, behind the loop of every engine."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import torch

from planarena.trainers.config import RolloutConfig, TrainConfig
from planarena.trainers.loop.backend import (
    Generated,
    Job,
    Made,
    Rollouts,
    Sampling,
    Scores,
)
from planarena.trainers.loop.batches import Sample, pad
from planarena.trainers.loop.checkpoints import damage_named
from planarena.trainers.loop.encoding import Prompt
from planarena.trainers.loop.rollout import sample_steps
from planarena.trainers.loop.score import Scorer
from planarena.trainers.loop.tokenizer import ChatTokenizer
from planarena.trainers.types import Algorithm
from planarena.trainers.verl.adapters import keep_adapters
from planarena.trainers.verl.group import Workers
from planarena.trainers.verl.remote import RemotePolicy
from planarena.trainers.verl.rows import Info, Kind, Row, expert_row, preference_row, sample_row
from planarena.trainers.verl.sampler import VerlSampler

__all__ = ["Cluster", "VerlBackend"]

_WORKERS_PART = "verl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """verl's processes.

    Attributes:
        workers: What computes.
        sampler: What samples.
        synchronise: Sends the trained weights to the rollout; told the optimiser steps done.
        sleep: Frees the rollout's memory, where it does not keep it.
        save: Writes a checkpoint of all ranks into a folder.
        load: Reads one.
        note: Gets (metrics, step), for verl's own loggers.
        sleeps: The rollout forgets its weights while the policy trains.
        facts: For run.json.
        adapters: Folder of the adapters that the run began with, where adapters train.
    """

    workers: Workers
    sampler: VerlSampler
    synchronise: Callable[[int], None]
    sleep: Callable[[], None]
    save: Callable[[str, int], None]
    load: Callable[[str], None]
    note: Callable[[Mapping[str, float], int], None]
    sleeps: bool
    facts: Mapping[str, Any]
    adapters: str | None = None


class VerlBackend:
    """verl's workers and rollout servers; see `planarena.trainers.loop.backend.Backend`.

    Args:
        config: Complete.
        algorithm: What it needs is supplied; its state travels with every update.
        policy: The tokenizer and the size of the context.
        cluster: verl.
    """

    rescores: Literal["never", "fresh", "always"]
    gives_entropy = False

    def __init__(
        self, config: TrainConfig, algorithm: Algorithm, policy: RemotePolicy, cluster: Cluster
    ) -> None:
        self.config, self.algorithm, self.policy, self.cluster = config, algorithm, policy, cluster
        # Old weights are not here to score with: what a stale rollout says of its samples is taken.
        self.rescores = "fresh" if policy.rounds else "never"
        self.temperature = float(config.rollout.temperature or 1.0)
        self.device = torch.device("cpu")
        self._sent = -1

    @property
    def chat(self) -> ChatTokenizer:
        """The tokenizer."""
        return self.policy.chat

    @property
    def context(self) -> int:
        """Positions of the model."""
        return self.policy.context

    def open(self, checkpoint: Path | None, known: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """Let the workers read a checkpoint; the start they hold already."""
        if checkpoint is not None:
            with damage_named(checkpoint, "take as many ranks as wrote it, "):
                self.cluster.load(str(checkpoint.resolve() / _WORKERS_PART))
        return dict(self.cluster.facts)

    # -- rollout -------------------------------------------------------------------------------------

    @contextmanager
    def sampling(self, done: int, *, renew: bool = False, validation: bool = False) -> Iterator[bool]:
        """Send the weights where it is time, and let the rollout forget them afterwards where it does."""
        sleeps = self.cluster.sleeps
        if sleeps or ((renew or validation or self._sent < 0) and self._sent != done):
            self.cluster.synchronise(done)
            self._sent = done
        yield self._sent == done
        if sleeps:
            self.cluster.sleep()

    def rollout(
        self, prompts: Sequence[Prompt], config: RolloutConfig, scorer: Scorer, how: Sampling
    ) -> Rollouts:
        """Sample and score; episodes are acted out in verl's workers."""
        if prompts and prompts[0].is_episode:
            return self.cluster.sampler.episodes(prompts, config, scorer, how)
        return sample_steps(self.policy, prompts, config, scorer, how, self.generate)

    def generate(
        self,
        prompts: Sequence[Sequence[int]],
        *,
        entropy: bool = False,  # noqa: ARG002  (the rollout knows none: `gives_entropy`)
        **wanted: Any,
    ) -> list[list[Generated]]:
        """Continue lists of ids."""
        return self.cluster.sampler.generate(prompts, **wanted)

    # -- score ---------------------------------------------------------------------------------------

    def score(
        self,
        samples: Sequence[Sample],
        *,
        by: Literal["sampled", "policy", "start", "teacher"],
        prompts: Sequence[Sequence[int]] | None = None,
        temperature: float = 1.0,
        entropy: bool = False,
        reverse_kl: bool = False,
        together: bool = False,  # noqa: ARG002  (passes of verl's workers hold whole rows)
    ) -> Scores:
        """Score responses."""
        rows = [
            Row(sample.prompt_ids, sample.response_ids, sample.mask, Kind.ROLLOUT, temperature=temperature)
            for sample in samples
        ]
        width, nan = max([1, *(len(sample.response_ids) for sample in samples)]), float("nan")
        if reverse_kl:
            assert prompts is not None
            rows = [replace(row, teacher=prompt) for row, prompt in zip(rows, prompts, strict=True)]
            values = pad(self.cluster.workers.reverse_kl(rows, frozen=by == "start"), value=nan, width=width)
            return Scores(torch.full_like(values, nan), reverse_kl_NT=values)
        if prompts is not None:
            rows = [replace(row, prompt=prompt) for row, prompt in zip(rows, prompts, strict=True)]
        found = self.cluster.workers.score(rows, entropy=entropy, reference=by == "start")
        logp, entropies = (pad((one[part] for one in found), value=nan, width=width) for part in (0, 1))
        return Scores(logp, entropies if entropy else None)

    # -- update, save --------------------------------------------------------------------------------

    def update(self, job: Job) -> Made:
        """Let the workers make one optimiser step."""
        needs = self.algorithm.needs
        info = Info(
            step=job.step,
            scalars=job.scalars,
            state=self.algorithm.state_dict(),
            rate=job.rate,
            expert_entropy=needs.expert_entropy,
        )
        packed = [expert_row(expert) for expert in job.experts]
        if job.work is not None:
            packed = self._rollout_rows(job, info) + packed
        elif job.pairs:
            assert job.pair_ref_logp_NT is not None
            signs = (1.0 - 2.0 * (place % 2) for place in range(len(job.pairs)))
            packed = [
                preference_row(sample, sign, ref)
                for sample, sign, ref in zip(job.pairs, signs, job.pair_ref_logp_NT, strict=True)
            ]
            info.present = ["ref_log_prob", "preference", "pair"]
        found = self.cluster.workers.update(packed, info, pairs=bool(job.pairs))
        norm = found.get("grad_norm", math.nan)
        # Of verl's own numbers (memory, flops) those with a slash in their name are no metrics of a loss.
        metrics = {
            name: value for name, value in found.items() if "/" in name and not name.startswith("perf/")
        }
        return Made(metrics, norm, math.isfinite(norm), found.get("micro_batches", 1.0))

    def _rollout_rows(self, job: Job, info: Info) -> list[Row]:
        """Return the rows of rollouts, and note in `info` what their loss reads."""
        work, needs = job.work, self.algorithm.needs
        assert work is not None
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
        info.present = [name for name, value in present.items() if value is not None]
        info.on_policy, info.together = work.fresh, needs.prompt_hints
        info.entropy, info.distributions = needs.entropy, needs.teacher_in_loss
        return [
            sample_row(
                row,
                work.samples[row],
                present,
                temperature=self.temperature,
                teacher=work.teacher_prompts[row] if work.teacher_prompts else None,
            )
            for row in job.rows
        ]

    def save(self, folder: Path, done: int) -> None:
        """Write what transformers loads, and verl's own shards in `verl/`."""
        part = folder.resolve() / _WORKERS_PART
        self.cluster.save(str(part), done)
        for path in sorted((part / "huggingface").iterdir()):
            path.replace(folder / path.name)
        (part / "huggingface").rmdir()
        if self.cluster.adapters is not None:
            keep_adapters(folder, Path(self.cluster.adapters))
        self.chat.tokenizer.save_pretrained(folder)

    def note(self, line: Mapping[str, Any], done: int) -> None:
        """Tell verl's loggers."""
        self.cluster.note(
            {key: float(value) for key, value in line.items() if isinstance(value, int | float)}, done
        )
