"""The loop of a training run: phases, updates, validation, checkpoints, metrics, resume, on any backend."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable
from typing import Any

import msgspec
import torch

from planarena.errors import Interrupted, UserError
from planarena.llm.models import tell_served
from planarena.records.shards import write_durably
from planarena.records.step_lines import read_steps
from planarena.report import render_training
from planarena.trainers.config import TrainConfig
from planarena.trainers.loop.backend import Backend, Work
from planarena.trainers.loop.batches import Expert, mini_batches
from planarena.trainers.loop.bench import play_bench
from planarena.trainers.loop.chat_policy import DialoguePolicy
from planarena.trainers.loop.checkpoints import Checkpoints, CheckpointState, no_room
from planarena.trainers.loop.collect import Collector
from planarena.trainers.loop.data import coverage
from planarena.trainers.loop.encoding import make_encoder
from planarena.trainers.loop.faults import memory_ran_out, no_room_left, not_finite, out_of_memory
from planarena.trainers.loop.following import next_commands
from planarena.trainers.loop.material import Material
from planarena.trainers.loop.metrics import MetricsLog
from planarena.trainers.loop.plot import draw_plot
from planarena.trainers.loop.run import RunFolder
from planarena.trainers.loop.score import OFFLINE_GROUPS
from planarena.trainers.loop.token_log import TokenLog
from planarena.trainers.loop.update import Updater
from planarena.trainers.loop.validate import standing, validate
from planarena.trainers.types import Algorithm, Step

__all__ = ["Loop"]

_MOST_SKIPPED = 3
# Drawing takes as long as many steps of a small model.
_PLOT_SECONDS = 60.0


class Loop:
    """One training run.

    Args:
        config: Complete.
        algorithm: Fresh.
        folder: The run's folder, opened.
        backend: Holds the policy and computes.
        show: Gets (steps done, steps, metrics) after each step.
        say: Gets what else happens.
        material: What the run works on, where it has been read already; closed at the end either way.
    """

    def __init__(
        self,
        config: TrainConfig,
        algorithm: Algorithm,
        folder: RunFolder,
        backend: Backend,
        *,
        show: Callable[[int, int, dict[str, Any]], None],
        say: Callable[[str], None],
        material: Material | None = None,
    ) -> None:
        self.config, self.algorithm, self.folder, self.backend = config, algorithm, folder, backend
        self.show, self.say = show, say
        self.material = material or Material(config, algorithm.needs, say)
        self.checkpoints = Checkpoints(folder.path, config.checkpoint.keep)
        self.done = 0
        self.batches = 0
        self.flat = 0
        self.called: dict[str, int] = {}
        self.since_sync = 0
        self.best: tuple[int, float, float] | None = None
        self.pending: list[list[int]] = []
        self.work: Work | None = None
        self.counters: dict[str, float] = {}
        self._saved = -1
        self._validated = -1
        self._plotted = time.monotonic()

    def run(self) -> dict[str, Any]:
        """Train to the last step and return what run.json says.

        Raises:
            UserError: Data or model that cannot be used.
            PlanArenaError: Out of memory, no space, three updates in a row that are not finite.
            Interrupted: Ctrl-C.
        """
        try:
            # First of all: a wrong path is reported before a tiny model has been taught its format.
            self.material.open()
            self._set_up()
            return self._train()
        except KeyboardInterrupt as error:
            raise Interrupted(self._interrupted()) from error
        except (torch.OutOfMemoryError, MemoryError) as error:
            raise out_of_memory(self.config, self.done + 1, self.checkpoints.last_good()) from error
        except Exception as error:
            if memory_ran_out(error):
                raise out_of_memory(self.config, self.done + 1, self.checkpoints.last_good()) from error
            if no_room(error):
                raise no_room_left(error, self.folder.path, self.checkpoints.last_good()) from error
            raise
        finally:
            self._close()

    def _interrupted(self) -> str:
        """Say what an interrupted run keeps."""
        steps = self.checkpoints.steps()
        if steps:
            return f"interrupted after step {self.done}; the same command goes on from {self.checkpoints.last_good()}"
        kept = ", with the model that --model tiny made" if self.folder.has_start else ""
        when = (
            f"after step {self.done}, before the first checkpoint" if self.done else "before the first step"
        )
        return f"interrupted {when}: the same command starts again at step 1{kept}"

    # -- setting up ----------------------------------------------------------------------------------

    def _set_up(self) -> None:
        config, backend = self.config, self.backend
        steps = self.checkpoints.steps()
        checkpoint = self.checkpoints.path(steps[-1]) if steps else None
        facts = backend.open(checkpoint, self.folder.info)
        found = self.material
        found.read(make_encoder(config, backend.chat, backend.context, self.algorithm.needs))
        self.bench, self.data, self.scorer = found.bench, found.data, found.scorer
        self.orders, self.total = found.orders, found.total
        self.updater = Updater(backend, self.algorithm, config, self.total)
        self.collector = Collector(
            backend, config, self.algorithm, self.scorer, self.data.prompts, self.orders["prompts"]
        )
        if steps:
            self._resume(steps[-1])
        self._by_key = {expert.key: expert for expert in self.data.experts}
        self._by_key |= {
            prompt.row.row_id: prompt.demonstration
            for prompt in self.data.prompts
            if prompt.demonstration is not None
        }
        self.log = MetricsLog(
            self.folder.path,
            config.log,
            step=self.done,
            settings=msgspec.to_builtins(config),
            run_id=str(self.folder.info.get("run_id", "")),
        )
        if self.log.lost:
            self.say(f"metrics.jsonl lacks {self.log.lost} of {self.done} steps: it was damaged")
        # The engine of one process; a cluster has other places for what people look at.
        groups = config.log.rollouts if config.engine == "local" else 0
        every = config.validation.every or max(self.total // 10, 1)
        self.tokens = TokenLog(self.folder.path, groups, every, step=self.done)
        counts = dict(self.data.counts)
        self.folder.begin(steps=self.total, counts=counts, coverage=coverage(self.data), **facts)

    def _resume(self, step: int) -> None:
        state = self.checkpoints.load(step)
        self.done, self.batches, self.flat = state.step, state.batches, state.flat
        self.since_sync, self.best, self.counters = state.since_sync, state.best, dict(state.counters)
        self._saved = self._validated = step
        for name, taken in state.orders.items():
            self.orders[name].taken = taken
        self.algorithm.load_state_dict(state.algorithm)
        self.updater.skipped = state.optimiser.get("skipped", 0)
        self.updater.skipped_in_a_row = state.optimiser.get("skipped_in_a_row", 0)
        self.say(f"going on from step {step} of {self.total}")

    # -- the loop ------------------------------------------------------------------------------------

    def _train(self) -> dict[str, Any]:
        started = time.perf_counter()
        before = self.counters.get("seconds", 0.0)
        if self.done == 0:
            self._write({"step": 0, "phase": "start", **self._validation()})
        while self.done < self.total:
            tick = time.perf_counter()
            line = self._one_step()
            line["time/step"] = time.perf_counter() - tick
            self.counters["seconds"] = before + time.perf_counter() - started
            # After a skipped update the weights may be what made it fail: they are not saved.
            row = self.updater.skipped_in_a_row
            if not self.pending and (row == 0 or (self.done >= self.total and row < _MOST_SKIPPED)):
                line |= self._boundary()
            self._write(line)
            self.show(self.done, self.total, line)
            if self.updater.skipped_in_a_row >= _MOST_SKIPPED:
                raise not_finite(_MOST_SKIPPED, self.done, self.log.path, self.checkpoints.last_good())
        self._plot()
        info = self.folder.finish(
            steps_done=self.done,
            seconds=round(self.counters.get("seconds", 0.0), 3),
            skipped_steps=self.updater.skipped,
            best=None if self.best is None else {"step": self.best[0], "value": self.best[1]},
            scoring=dict(self.scorer.counts),
            served_by=self.scorer.served(),
        )
        following = next_commands(self.config, self.folder.path, self.done)
        page = render_training(self.folder.path, following)
        write_durably(self.folder.path / "report.html", page.encode("utf-8", "replace"))
        return info

    def _one_step(self) -> dict[str, Any]:
        """Make one optimiser update and return its line."""
        step = Step(step=self.done, total_steps=self.total)
        due = () if self.pending else self.algorithm.pending_experts()
        phase = "sft" if due else self.algorithm.phase(step)
        line: dict[str, Any] = {"step": self.done + 1, "phase": phase}
        line |= {f"coefficient/{key}": value for key, value in self.algorithm.coefficients(step).items()}
        if due:
            line |= self.updater.on_experts(self._demonstrations(due), self.done)
        elif phase == "sft":
            line |= self.updater.on_experts(self._expert_batch(), self.done)
        elif phase == "preference":
            size = int(self.config.update.expert_batch_size or 1)
            pairs = [self.data.pairs[index] for index in self.orders["pairs"].take(size)]
            line |= self.updater.on_pairs(pairs, self.done)
        else:
            if not self.pending:
                self._draw_batch(step)
            assert self.work is not None
            rows = self.pending.pop(0)
            hinted = self.algorithm.needs.prompt_hints
            experts = self._expert_batch() if phase == "both" and not hinted else []
            line |= {**self.work.metrics, "rollout/batch": float(self.batches)}
            line |= self.updater.on_rollouts(self.work, rows, experts, self.done)
        self.done += 1
        self.since_sync += 1
        return line

    def _draw_batch(self, step: Step) -> None:
        update = self.config.update
        judged, offline = self.scorer.groups, self.scorer.counts[OFFLINE_GROUPS]
        renew = self.batches == 0 or self.since_sync == 0 or self.since_sync >= int(update.sync_interval or 1)
        self.work = self.collector.collect(step, self.batches, renew=renew)
        if self.work.fresh:
            self.since_sync = 0
        if self.tokens.due(self.done):
            experts = self._by_key if self.algorithm.needs.experts else {}
            name = str(self.algorithm.config.__struct_config__.tag)
            self.tokens.write(self.work, step, self.batches, name, self.backend, experts)
        self.batches += 1
        self._watch_judge(judged, offline)
        self.counters["rollout_tokens"] = self.counters.get("rollout_tokens", 0.0) + sum(
            sum(sample.mask) for sample in self.work.samples if not sample.is_demo
        )
        parts = mini_batches(
            [sample.group for sample in self.work.samples],
            int(update.updates_per_batch or 1),
            self.config.seed * 1_000_003 + self.batches,
            mini_batch_size=update.mini_batch_size,
        )
        self.pending = parts[: self.total - self.done]
        self._watch_flatness(step)

    def _watch_judge(self, judged: int, offline: int) -> None:
        """Note the share of the batch's groups that the judge could not score, and say so the first time."""
        assert self.work is not None
        groups, lost = self.scorer.groups - judged, self.scorer.counts[OFFLINE_GROUPS] - offline
        if groups:
            self.work.metrics["judge/offline"] = lost / groups
        if lost and not offline:
            self.say(
                f"the judge cannot score {lost} of {groups} groups of batch {self.batches}, "
                f"which are scored offline: {self.scorer.fallback}"
            )
        served = self.scorer.served()
        for model, names in served.items():
            # Said again when another name turns up, not with every batch.
            if len(names) > self.called.get(model, 0):
                self.called[model] = len(names)
                for note in tell_served({model: names}):
                    self.say(note)

    def _watch_flatness(self, step: Step) -> None:
        """Say when all rewards are equal, and stop a run that has nothing else to learn from."""
        assert self.work is not None
        flat = self.work.metrics.get("advantage/degenerate_groups", 0.0) >= 1.0
        # A teacher, or terms of equal sums, may tell responses apart that the reward does not.
        if not flat or bool(self.work.advantages.values_BT.any()):
            self.flat = 0
            return
        self.flat += 1
        alone = self.algorithm.phase(step) == "rl" and not self.algorithm.needs.own_phases
        if self.flat == 1 and alone:
            mean = self.work.metrics.get("reward/mean", float("nan"))
            self.say(
                f"every reward of batch {self.batches} equals its group's (mean {mean:.3f}): nothing to learn"
            )
        if alone and self.flat >= self.config.rollout.flat_batches:
            raise UserError(
                f"all rewards were equal within their groups in {self.flat} batches in a row, so nothing is learned",
                where=f"step {self.done + 1}",
                fix="start from a model that succeeds sometimes (train it with --algorithm sft first), raise "
                "rollout.temperature or rollout.group_size, or choose a reward with more steps (--reward toolrl)",
            )

    def _expert_batch(self) -> list[Expert]:
        if not self.data.experts:
            return []
        size = int(self.config.update.expert_batch_size or 1)
        return [self.data.experts[index] for index in self.orders["experts"].take(size)]

    def _demonstrations(self, keys: tuple[str, ...]) -> list[Expert]:
        found = [self._by_key[key] for key in keys if key in self._by_key]
        return found or self._expert_batch()

    # -- between batches -----------------------------------------------------------------------------

    def _boundary(self) -> dict[str, Any]:
        """Validate and save where it is time, with no update of a batch outstanding."""
        last = self.done >= self.total
        metrics: dict[str, Any] = {}
        better = False
        if last or _crossed(self._validated, self.done, self.config.validation.every or 0):
            metrics = self._validation()
            better = self._is_better(metrics)
        if last or better or _crossed(self._saved, self.done, self.config.checkpoint.every or 0):
            self._save()
            if better:
                self.checkpoints.mark_best(self.done)
            if time.monotonic() - self._plotted > _PLOT_SECONDS:
                self._plot()
        return metrics

    def _validation(self) -> dict[str, Any]:
        config = self.config
        if not config.validation.every or not (self.data.validation or self.bench):
            return {}
        started = time.perf_counter()
        metrics: dict[str, Any] = {}
        shown: list[dict[str, Any]] = []
        number = config.log.samples
        with self.backend.sampling(self.done, validation=True):
            if self.data.validation:
                rows, rollout = self.data.validation, config.rollout
                metrics, shown = validate(self.backend, rows, rollout, self.scorer, number)
            if self.bench:
                limit = int(config.rollout.max_response_length or 1)
                player = DialoguePolicy(self.backend, self.backend.generate, config.data.format, limit=limit)
                found, played = play_bench(self.bench, player, number)
                metrics, shown = {**metrics, **found}, [*shown, *played]
        self._validated = self.done
        if shown:
            self.folder.write_samples(self.done, shown)
        return {**metrics, "time/validation": time.perf_counter() - started}

    def _is_better(self, metrics: dict[str, Any]) -> bool:
        found = standing(metrics, self.config.validation.select or "success")
        if found is None:
            return False
        value, second = found
        if math.isnan(value) or (self.best is not None and (value, second) <= self.best[1:]):
            return False
        self.best = (self.done, value, second)
        return True

    def _save(self) -> None:
        state = CheckpointState(
            step=self.done,
            orders={name: order.taken for name, order in self.orders.items()},
            batches=self.batches,
            algorithm=self.algorithm.state_dict(),
            optimiser={
                "skipped": self.updater.skipped,
                "skipped_in_a_row": self.updater.skipped_in_a_row,
            },
            flat=self.flat,
            since_sync=self.since_sync,
            best=self.best,
            counters=self.counters,
        )
        self.checkpoints.save(state, lambda folder: self.backend.save(folder, self.done))
        self._saved = self.done

    def _write(self, line: dict[str, Any]) -> None:
        self.log.write(line)
        self.backend.note(line, self.done)

    def _plot(self) -> None:
        self._plotted = time.monotonic()
        lines = read_steps(self.log.path, missing_ok=True)
        if lines:
            draw_plot(
                lines, self.folder.path / "plot.png", f"{self.config.algorithm}, {self.config.reward.name}"
            )

    # -- ends ----------------------------------------------------------------------------------------

    def _close(self) -> None:
        self.material.close()
        log = getattr(self, "log", None)
        if log is not None:
            # What a full disk refused to take is refused again here.
            with contextlib.suppress(OSError):
                log.close()


def _crossed(last: int, now: int, every: int) -> bool:
    """Whether a multiple of `every` lies after `last`, up to `now`."""
    return every > 0 and now // every > max(last, 0) // every
