"""The loop of the local engine over verl's workers: the same phases, batches, validation, checkpoints and metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from torch import Tensor

from planarena.errors import RunError
from planarena.trainers.config import RolloutConfig, TrainConfig
from planarena.trainers.local.data import Prompt
from planarena.trainers.local.engine import Engine as LocalEngine
from planarena.trainers.local.engine import coverage
from planarena.trainers.local.generate import Generated
from planarena.trainers.local.material import Material
from planarena.trainers.local.model import Policy
from planarena.trainers.local.rollout import Rollouts, sample_steps
from planarena.trainers.local.run import RunFolder
from planarena.trainers.local.save import Checkpoints, CheckpointState, reason
from planarena.trainers.local.score import Scorer
from planarena.trainers.local.start import make_encoder
from planarena.trainers.types import Algorithm, Step
from planarena.trainers.verl.adapters import keep_adapters
from planarena.trainers.verl.collect import Collector, Sampler
from planarena.trainers.verl.group import Workers
from planarena.trainers.verl.remote import RemotePolicy
from planarena.trainers.verl.update import Skips, Updater

__all__ = ["Cluster", "Engine"]

_WORKERS_PART = "verl"


class Cluster:
    """What the loop asks of verl besides rows: weights to the rollout, checkpoints, a note for its loggers.

    Args:
        workers: What computes.
        sampler: What samples.
        synchronise: Sends the trained weights to the rollout; told the optimiser steps done.
        sleep: Frees the rollout's memory, where it does not keep it.
        save: Writes a checkpoint of all ranks into a folder.
        load: Reads one.
        note: Told (metrics, step), for verl's own loggers.
        sleeps: The rollout forgets its weights while the policy trains.
        facts: For run.json.
        adapters: Folder of the adapters that the run began with, where adapters train.
    """

    def __init__(
        self,
        *,
        workers: Workers,
        sampler: Sampler,
        synchronise: Callable[[int], None],
        sleep: Callable[[], None],
        save: Callable[[str, int], None],
        load: Callable[[str], None],
        note: Callable[[Mapping[str, float], int], None],
        sleeps: bool,
        facts: Mapping[str, Any],
        adapters: str | None = None,
    ) -> None:
        self.workers, self.sampler = workers, sampler
        self.synchronise, self.sleep = synchronise, sleep
        self.save, self.load, self.note = save, load, note
        self.sleeps, self.facts = sleeps, facts
        self.adapters = Path(adapters) if adapters else None


class _ClusterCheckpoints(Checkpoints):
    """Checkpoints whose weights the workers write: what transformers loads, and verl's own shards in `verl/`."""

    def __init__(self, root: Path, keep: int, cluster: Cluster) -> None:
        super().__init__(root.resolve(), keep)
        self.cluster = cluster
        self.step = 0

    def _write(
        self,
        folder: Path,
        policy: Policy,
        moments: dict[str, Tensor],  # noqa: ARG002  (the workers hold them)
        rollout: Policy | None,  # noqa: ARG002
    ) -> None:
        part = folder / _WORKERS_PART
        self.cluster.save(str(part), self.step)
        for path in sorted((part / "huggingface").iterdir()):
            path.replace(folder / path.name)
        (part / "huggingface").rmdir()
        if self.cluster.adapters is not None:
            keep_adapters(folder, self.cluster.adapters)
        policy.chat.tokenizer.save_pretrained(folder)

    def load(self, step: int) -> tuple[CheckpointState, dict[str, Tensor], None]:
        """Return the state; the workers read the rest.

        Raises:
            RunError: The checkpoint is damaged.
        """
        folder = self.path(step)
        try:
            state = msgspec.json.decode((folder / "state.json").read_bytes(), type=CheckpointState)
            self.cluster.load(str(folder / _WORKERS_PART))
        except Exception as error:
            raise RunError(
                f"the checkpoint cannot be loaded: {reason(error)}",
                where=str(folder),
                fix="take as many ranks as wrote it, remove this checkpoint to go on from the one before it, or "
                "start with --fresh",
            ) from error
        return state, {}, None


class _NoMoments(Skips):
    """Stands where the local loop has its optimiser: the workers hold the moments."""

    def tensors(self) -> dict[str, Tensor]:
        """Return none."""
        return {}

    def restore(self, tensors: dict[str, Tensor], counts: dict[str, Any]) -> None:  # noqa: ARG002
        """Take over the counts of skipped steps."""
        self.skipped = int(counts.get("skipped", 0))
        self.skipped_in_a_row = int(counts.get("skipped_in_a_row", 0))


class Engine(LocalEngine):
    """One training run on verl.

    Args:
        config: Complete.
        algorithm: Fresh.
        folder: The run's folder, opened.
        policy: The tokenizer and the size of the context.
        cluster: Verl.
        show: Told (steps done, steps, metrics) after each step.
        say: Told what else happens.
        material: What the run works on, where it has been read already; closed at the end either way.
    """

    def __init__(
        self,
        config: TrainConfig,
        algorithm: Algorithm,
        folder: RunFolder,
        policy: RemotePolicy,
        cluster: Cluster,
        *,
        show: Callable[[int, int, dict[str, Any]], None],
        say: Callable[[str], None],
        material: Material | None = None,
    ) -> None:
        super().__init__(config, algorithm, folder, show=show, say=say, material=material)
        self.remote, self.cluster = policy, cluster
        self._sent = -1

    def _open_checkpoints(self) -> Checkpoints:
        return _ClusterCheckpoints(self.folder.path, self.config.checkpoint.keep, self.cluster)

    def _set_up(self) -> None:
        config = self.config
        # The shared loop hands the policy on to the parts below alone.
        self.policy = self.sampled = self.remote  # type: ignore[assignment]
        self._load(make_encoder(config, self.remote, self.algorithm.needs))
        skips = _NoMoments()
        self.optimiser = skips  # type: ignore[assignment]
        self.updater = Updater(  # type: ignore[assignment]
            self.cluster.workers, self.algorithm, skips, config, self.total
        )
        self.collector = Collector(
            config,
            self.algorithm,
            self.scorer,
            self.data.prompts,
            self.orders["prompts"],
            workers=self.cluster.workers,
            sampler=self.cluster.sampler,
            rolled=self.cluster.sleep if self.cluster.sleeps else None,
        )
        steps = self.checkpoints.steps()
        if steps:
            self._resume(steps[-1])
        self._open_log()
        self.folder.begin(
            steps=self.total,
            counts=dict(self.data.counts),
            coverage=coverage(self.data),
            **self.cluster.facts,
        )

    def _synchronise(self) -> bool:
        due = self.since_sync >= int(self.config.update.sync_interval or 1)
        if due or self._sent < 0 or self.cluster.sleeps:
            self._send()
        fresh = self._sent == self.done
        collector: Any = self.collector
        collector.fresh = fresh
        return fresh

    def _send(self) -> None:
        """Give the rollout the trained weights."""
        if self._sent != self.done or self.cluster.sleeps:
            self.cluster.synchronise(self.done)
        self._sent, self.since_sync = self.done, 0

    @contextmanager
    def _sampling(self) -> Iterator[None]:
        self._send()
        yield
        if self.cluster.sleeps:
            self.cluster.sleep()

    def _roll_out(
        self, policy: Any, prompts: Sequence[Prompt], config: RolloutConfig, scorer: Scorer
    ) -> Rollouts:
        """Sample greedily, once per prompt; judges are not asked."""
        if self.config.data.mode == "episodes":
            return self.cluster.sampler.episodes(
                prompts,
                config,
                scorer,
                repeats=1,
                temperature=0.0,
                seed=0,
                demonstrations=False,
                gamma=1.0,
            )
        return sample_steps(
            policy,
            prompts,
            config,
            scorer,
            step=Step(),
            seed=0,
            temperature=0.0,
            repeats=1,
            judge=False,
            sample=self._generate,
        )

    def _generate(
        self,
        policy: Policy,  # noqa: ARG002  (the weights are with the workers)
        prompts: Sequence[Sequence[int]],
        *,
        entropy: bool = False,
        **wanted: Any,
    ) -> list[list[Generated]]:
        found = self.cluster.sampler.generate(prompts, **wanted)
        if entropy:
            for one in (one for group in found for one in group):
                one.entropy = [0.0] * len(one.ids)
        return found

    def _save(self) -> None:
        checkpoints: Any = self.checkpoints
        checkpoints.step = self.done
        super()._save()

    def _write(self, line: dict[str, Any]) -> None:
        super()._write(line)
        numbers = {key: float(value) for key, value in line.items() if isinstance(value, int | float)}
        self.cluster.note(numbers, self.done)
