"""Running a study: units in processes, each done once; a second call goes on where the first one stopped."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from planarena.errors import ConfigError, Interrupted, PlanArenaError, UserError
from planarena.eval.algorithms.plan import StudyConfig, Unit, units_of
from planarena.records.shards import is_vacant

__all__ = ["Progress", "estimate", "run_study"]

Progress = Callable[[int, int, str, float | None], None]

# [measured] CPU seconds of each of two processes on two cores of a server, which share its memory, for a model of 0.7
# million parameters: a supervised row of 110 tokens, a rollout of 25 tokens with its update (members of a group share
# their prompt's passes), a reply in an evaluation.
_SECONDS_PER_ROW = 0.0165
_SECONDS_PER_ROLLOUT = 0.018
_SECONDS_PER_REPLY = 0.0092
# Of a conversation: as taught in one piece, and as held.
_ROWS_PER_CONVERSATION = 0.85
_DECISIONS = 3.3


def run_study(config: StudyConfig, tell: Progress | None = None) -> dict[str, Any]:
    """Run what is left of a study and write its tables and its page.

    Args:
        config: The study.
        tell: Told units done, units in all, the unit that ended, and the seconds that are left (None if unknown).

    Returns:
        What scores.json holds.

    Raises:
        UserError: No folder, one that holds another study, an ablation that cannot be run here.
        PlanArenaError: A unit failed; what is done stays done.
    """
    from planarena.eval.algorithms.results import gather, write_study
    from planarena.eval.algorithms.setting import prepare
    from planarena.eval.algorithms.signs import refuse_ablation
    from planarena.trainers.algorithms.ablations import current_name

    if not config.out:
        raise UserError("no folder for the study is given", where="--out", fix="write --out DIR")
    if config.ablation:
        # A name of an earlier release is understood.
        config = msgspec.structs.replace(config, ablation=current_name(config.ablation))
        refuse_ablation(config.ablation)
    units = units_of(config)
    root = Path(config.out)
    _claim(root, config)
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    sets = prepare(config)
    _run_units(config, units, tell or (lambda *_: None))
    scores = gather(config, units, sets)
    write_study(root, scores)
    return scores


def _claim(root: Path, config: StudyConfig) -> None:
    stored = root / "study.json"
    if stored.is_file():
        if msgspec.json.decode(stored.read_bytes()) != config.identity():
            raise UserError(
                "holds another study",
                where=str(root),
                fix="repeat its options to go on with it, or name another --out",
            )
        return
    if root.is_dir() and not is_vacant(root):
        raise UserError("is not empty and holds no study", where=str(root), fix="name another --out")
    root.mkdir(parents=True, exist_ok=True)
    draft = root / ".study.tmp"
    draft.write_bytes(msgspec.json.format(msgspec.json.encode(config.identity()), indent=1))
    draft.replace(stored)


def result_path(config: StudyConfig, unit: Unit) -> Path:
    """Return where a unit's result lies once it is done."""
    return Path(config.out) / "units" / unit.name / "result.json"


def _run_units(config: StudyConfig, units: list[Unit], tell: Progress) -> None:
    left = [unit for unit in units if not result_path(config, unit).is_file()]
    done = {unit.name for unit in units} - {unit.name for unit in left}
    if not left:
        return
    # Starts and ceiling first, the longest first: a ceiling that starts last keeps one process waiting for it. Then
    # training by training, so that a study that is stopped has whole rounds of seeds.
    cost = {unit.name: _cost(config, unit) for unit in left}
    left.sort(key=lambda unit: (unit.kind == "train", bool(unit.needs), unit.seed, -cost[unit.name]))
    total = sum(cost.values())
    started, spent = time.perf_counter(), 0.0

    def ended(unit: Unit) -> None:
        nonlocal spent
        done.add(unit.name)
        spent += cost[unit.name]
        rate = (time.perf_counter() - started) / spent
        tell(len(done), len(units), unit.name, rate * (total - spent))

    if config.jobs == 1:
        # Starts stand before what needs them.
        for unit in left:
            with _named(unit):
                _work(config, unit)
            ended(unit)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(
        config.jobs, mp_context=context, initializer=_set_up, initargs=(os.getpid(),)
    ) as pool:
        running: dict[Future[float], Unit] = {}
        try:
            while left or running:
                for unit in list(left):
                    if len(running) >= config.jobs:
                        break
                    if not unit.needs or unit.needs in done:
                        left.remove(unit)
                        running[pool.submit(_work, config, unit)] = unit
                finished, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in finished:
                    unit = running.pop(future)
                    with _named(unit):
                        future.result()
                    ended(unit)
        except BaseException:
            # Each unit starts anew or from its last checkpoint.
            workers = list((pool._processes or {}).values())
            pool.shutdown(wait=False, cancel_futures=True)
            for process in workers:
                process.terminate()
            raise


@contextmanager
def _named(unit: Unit) -> Iterator[None]:
    try:
        yield
    except (UserError, Interrupted):
        raise
    except Exception as error:
        raise PlanArenaError(
            f"the unit {unit.name} failed: {error}\n  fix: mend the cause and run the same command again; what is done "
            "stays done"
        ) from error


def _set_up(parent: int) -> None:
    import signal

    from planarena.pipeline.run.orphans import die_with

    # Else the same command, given again after a kill, would find its units still in work.
    die_with(parent)
    # Ctrl-C is the parent's: it ends the workers itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    import torch

    torch.set_num_threads(1)


def _work(config: StudyConfig, unit: Unit) -> float:
    from planarena.eval.algorithms.work import do_unit

    return float(do_unit(config, unit)["seconds"]["all"])


def _cost(config: StudyConfig, unit: Unit) -> float:
    """Return about how many CPU seconds a unit takes."""
    size = _parameters(config) / 0.7e6
    # Greedy and sampled, two sets, three to four replies an episode.
    playing = 2 * 2 * config.test * (_DECISIONS if config.talks else 3.5) * _SECONDS_PER_REPLY
    rows: float = {
        "start": (config.fault_steps if unit.needs else config.start_steps.get(unit.regime, 0))
        * config.start_rows,
        "ceiling": config.ceiling_steps * config.start_rows,
        "train": config.steps * config.expert_rows,
    }[unit.kind]
    if config.talks:
        rows *= _ROWS_PER_CONVERSATION
    if unit.method == "sft-compute":
        rows *= config.compute_ratio.get(unit.regime, 1)
    elif unit.kind == "train" and unit.method != "sft-steps":
        each = {"scarce": 3, "conversations": _DECISIONS}.get(unit.regime, 1)
        decisions = config.batches * config.prompts * config.group * each
        return size * (decisions * _SECONDS_PER_ROLLOUT + playing)
    if unit.kind == "start" and unit.regime == "scarce":
        playing += config.pool * config.pool_tries * 2.5 * _SECONDS_PER_REPLY
    return size * (rows * _SECONDS_PER_ROW + playing)


def _parameters(config: StudyConfig) -> float:
    tiny = config.tiny
    layer = 4 * tiny.hidden**2 + 3 * tiny.hidden * tiny.intermediate
    return tiny.layers * layer + tiny.vocabulary * tiny.hidden


def estimate(config: StudyConfig) -> dict[str, Any]:
    """Return the plan: units by kind, and about how long they take with the study's processes.

    Raises:
        UserError: A model whose size is not known, or sets that want more requests than there are.
    """
    if config.model != "tiny" and not Path(config.model).is_dir():
        raise ConfigError(
            "there is no such folder",
            where="--model",
            fix="write --model tiny, or a folder that transformers loads",
        )
    from planarena.eval.algorithms.setting import check_sizes

    check_sizes(config)
    units = units_of(config)
    seconds = sum(_cost(config, unit) for unit in units)
    kinds: dict[str, int] = {}
    for unit in units:
        kinds[unit.kind] = kinds.get(unit.kind, 0) + 1
    return {
        "units": [unit.name for unit in units],
        "counts": kinds,
        "steps": config.steps,
        "rollouts per training": config.batches * config.prompts * config.group,
        "held-out tasks": 2 * config.test,
        "cpu_minutes": round(seconds / 60, 1),
        "minutes": round(seconds / 60 / config.jobs, 1),
    }
