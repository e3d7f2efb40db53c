"""`train(config)`: one verb for both engines."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import msgspec

from planarena.config import merge_settings
from planarena.errors import UserError
from planarena.trainers.config import TrainConfig, complete

if TYPE_CHECKING:
    from planarena.trainers.loop.run import RunFolder
    from planarena.trainers.types import Algorithm

__all__ = ["TrainResult", "build_algorithm", "result_of", "train"]


class TrainResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a run became.

    Attributes:
        out: Its folder.
        steps: Optimiser steps done.
        checkpoint: The last checkpoint.
        best: The checkpoint of the best validation; empty without one.
        metrics: Of the last step.
        info: What run.json holds.
    """

    out: str
    steps: int
    checkpoint: str
    best: str
    metrics: dict[str, Any]
    info: dict[str, Any]


def build_algorithm(config: TrainConfig) -> Algorithm:
    """Return the algorithm of a configuration: its recipe's options, then the caller's.

    Raises:
        ConfigError: An unknown name or option (the nearest is named), or a value out of range.
    """
    from planarena.trainers import algorithms
    from planarena.trainers.recipes import load_recipe, recipe_names

    base: dict[str, Any] = {"algorithm": config.algorithm}
    if config.algorithm in recipe_names():
        base = dict(load_recipe(config.algorithm).algorithm)
    elif config.algorithm not in algorithms.names():
        algorithms.get(config.algorithm)
    return algorithms.get(algorithms.build_config(merge_settings(base, config.options)))


def train(
    config: TrainConfig,
    *,
    show: Callable[[int, int, dict[str, Any]], None] | None = None,
    say: Callable[[str], None] | None = None,
    stage: Callable[[str, int, int, str], None] | None = None,
    fresh: bool = False,
) -> TrainResult:
    """Train a policy; a run that was interrupted goes on where its last checkpoint stands.

    Args:
        config: What to do; open fields take the recipe's or the engine's values.
        show: Gets (steps done, steps, metrics) after each step.
        say: Gets what else happens, in words.
        stage: Gets (stage, parts done, parts, words) of what comes before the steps and takes long.
        fresh: Throw an earlier run in the same folder away.

    Raises:
        UserError: Something that the caller can fix.
        PlanArenaError: Out of memory, no space, updates that are not finite.
    """
    completed = complete(config)
    algorithm = build_algorithm(completed)
    _check_names(completed)
    for name, value in completed.options.items():
        if say is not None and config.options.get(name) != value:
            say(f"{name} is {value}: the paper's, cut to its share of {completed.steps} steps")
    if completed.engine == "verl":
        return _train_on_verl(completed, show, say, fresh)
    from planarena.trainers.local.backend import LocalBackend
    from planarena.trainers.local.start import start_policy
    from planarena.trainers.loop.loop import Loop
    from planarena.trainers.loop.run import RunFolder

    folder, tell = RunFolder(completed, fresh=fresh), say or _ignore
    if not folder.finished:
        start = partial(start_policy, completed, algorithm.needs, say=tell, stage=stage)
        backend = LocalBackend(completed, algorithm, start)
        Loop(completed, algorithm, folder, backend, show=show or _ignore, say=tell).run()
    return result_of(folder, completed)


def result_of(folder: RunFolder, config: TrainConfig) -> TrainResult:
    """Return what the run in a folder became.

    Args:
        folder: The run's folder, opened.
        config: Complete.
    """
    from planarena.records.step_lines import read_steps
    from planarena.trainers.loop.checkpoints import Checkpoints

    checkpoints = Checkpoints(folder.path, config.checkpoint.keep)
    steps = checkpoints.steps()
    lines = read_steps(folder.path / "metrics.jsonl", missing_ok=True)
    best = checkpoints.folder / "best"
    return TrainResult(
        out=str(folder.path),
        steps=int(folder.info.get("steps_done", 0)),
        checkpoint=str(checkpoints.path(steps[-1])) if steps else "",
        best=str(best.resolve()) if best.exists() else "",
        metrics=lines[-1] if lines else {},
        info=folder.info,
    )


def _check_names(config: TrainConfig) -> None:
    """Refuse names and packages that do not exist before anything that takes time."""
    from planarena import formats
    from planarena.trainers import rewards

    if not config.data.path:
        raise UserError("no data is given", where="--data", fix="write --data RUN, a file or a folder")
    for package, wanted in (("tensorboard", config.log.tensorboard), ("wandb", config.log.wandb)):
        if wanted and find_spec(package) is None:
            raise UserError(
                f"{package} is not installed",
                where=f"log.{package}",
                fix=f"install {package}, or leave log.{package} out",
            )
    formats.get(config.data.format)
    rewards.get(config.reward.name, config.reward.options, config.reward.overlong)


def _ignore(*_: Any) -> None:
    """Show nothing."""


def _train_on_verl(
    config: TrainConfig,
    show: Callable[[int, int, dict[str, Any]], None] | None,
    say: Callable[[str], None] | None,
    fresh: bool,
) -> TrainResult:
    from importlib import import_module

    if find_spec("planarena.trainers.verl") is None:
        raise UserError(
            "the verl engine is not part of this installation",
            where="--engine verl",
            fix="use --engine local",
        )
    launch = import_module("planarena.trainers.verl").launch
    result: TrainResult = launch(config, show=show, say=say, fresh=fresh)
    return result
