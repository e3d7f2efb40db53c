"""How recipes and defaults complete the settings of a training run, and the numbers that no run can use."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from planarena.errors import ConfigError
from planarena.trainers.config.origin import find_checkpoint, grew_from_tiny, trained_with
from planarena.trainers.config.phases import first_phases
from planarena.trainers.config.sections import (
    RewardConfig,
    StageConfig,
    TrainConfig,
    UpdateConfig,
    ValidationConfig,
)
from planarena.trainers.recipes import Recipe, load_recipe, recipe_names

__all__ = ["complete"]

# [ours] for a model of a million parameters on two cores; the papers' values suit billions on clusters.
_TINY = {
    "batch_size": 16,
    "group_size": 8,
    "temperature": 1.0,
    "max_prompt_length": 1024,
    "max_response_length": 192,
    "learning_rate": 2e-4,
    "schedule": "constant",
    "adam_betas": (0.9, 0.999),
    "updates_per_batch": 2,
    "expert_batch_size": 16,
    "sync_interval": 1,
    "steps": 100,
}
_LARGE = {
    "batch_size": 32,
    "group_size": 8,
    "temperature": 1.0,
    "max_prompt_length": 4096,
    "max_response_length": 1024,
    "learning_rate": 1e-6,
    "schedule": "constant",
    "adam_betas": (0.9, 0.999),
    "updates_per_batch": 1,
    "sync_interval": 1,
    "steps": 100,
}
_FULLY_SUPERVISED = frozenset({"sft", "dft", "sft-light", "sft-best"})


def complete(config: TrainConfig) -> TrainConfig:
    """Fill every open field: the caller's value, else the recipe's, else the engine's.

    Recipes hold the papers' values, which suit models of billions; for `tiny` their training settings are left
    out and only algorithm, reward and selection are taken. A training run given as the model stands for its best
    checkpoint; it reads the prompts that it has learned from, and one that grew from `tiny` trains as `tiny` does.

    Raises:
        ConfigError: An unknown algorithm, or a number out of range.
    """
    recipe = load_recipe(config.algorithm) if config.algorithm in recipe_names() else None
    config = _go_on(config)
    tiny = config.model.path == "tiny" or grew_from_tiny(Path(config.model.path))
    base: dict[str, Any] = dict(_TINY if tiny else _LARGE)
    if tiny and config.algorithm in _FULLY_SUPERVISED:
        base |= {"learning_rate": 1e-3, "steps": 1000}
    given: Mapping[str, Any] = {} if tiny or recipe is None else msgspec.structs.asdict(recipe.training)
    base |= {key: value for key, value in given.items() if value is not None}
    if "sft_learning_rate" in base:
        schedule = base.get("sft_schedule", "constant")
        base["sft"] = StageConfig(learning_rate=base["sft_learning_rate"], schedule=schedule)

    def fill(section: Any) -> Any:
        open_fields = {
            name: base[name]
            for name in section.__struct_fields__
            if getattr(section, name) is None and base.get(name) is not None
        }
        return msgspec.structs.replace(section, **open_fields)

    rollout = fill(config.rollout)
    update = _passes(fill(config.update), rollout.batch_size, config, tiny=tiny)
    epochs = config.epochs
    steps = config.steps
    if steps is None and epochs is None and given.get("epochs") and not given.get("steps"):
        epochs = float(given["epochs"])
    if steps is None and epochs is None:
        steps = int(base["steps"])
    options = dict(config.options)
    if recipe is not None:
        options |= first_phases(recipe, options, steps)
    every = max((steps or 100) // 10, 1)
    validation, checkpoint = config.validation, config.checkpoint
    if validation.every is None:
        validation = msgspec.structs.replace(validation, every=every)
    if validation.select is None:
        validation = msgspec.structs.replace(validation, select="bench" if validation.bench else "success")
    if checkpoint.every is None:
        checkpoint = msgspec.structs.replace(checkpoint, every=every)
    data = config.data
    if not data.format:
        form = "planarena" if tiny or recipe is None else recipe.format
        data = msgspec.structs.replace(data, format=form)
    if data.plan is None:
        data = msgspec.structs.replace(data, plan="none" if tiny else "step")
    if tiny and not data.template and data.format in _SHORT:
        data = msgspec.structs.replace(data, template="short")
    completed = msgspec.structs.replace(
        config,
        options=options,
        steps=steps,
        epochs=epochs,
        rollout=rollout,
        update=update,
        validation=validation,
        checkpoint=checkpoint,
        data=data,
        reward=_reward(config.reward, recipe),
    )
    _check(completed)
    return completed


def _passes(update: UpdateConfig, batch_size: int, config: TrainConfig, *, tiny: bool) -> UpdateConfig:
    """Say in how many updates and forward passes a batch is taken, where that is open."""
    if update.mini_batch_size is None and update.updates_per_batch is None:
        update = msgspec.structs.replace(update, updates_per_batch=1)
    if update.mini_batch_size is not None and config.update.updates_per_batch is None:
        passes = -(-batch_size // update.mini_batch_size)
        update = msgspec.structs.replace(update, updates_per_batch=passes)
    if update.micro_batch_tokens is None:
        # What so small a model computes on stays in a processor's cache: 1.4 times as fast on two cores.
        cached = tiny and config.model.tiny.hidden <= 256 and not config.model.device.startswith("cuda")
        update = msgspec.structs.replace(update, micro_batch_tokens=1024 if cached else 16384)
    if update.expert_batch_size is None:
        update = msgspec.structs.replace(update, expert_batch_size=batch_size)
    return update


def _go_on(config: TrainConfig) -> TrainConfig:
    """Name the checkpoint of a training run that was given as the model, and keep to the prompts of its training."""
    if config.model.path in ("", "tiny"):
        return config
    given = Path(config.model.path)
    folder = find_checkpoint(given)
    before = trained_with(folder)
    kept = {
        key: before[key]
        for key in ("format", "template", "plan", "signatures")
        if not getattr(config.data, key) and isinstance(before.get(key), str)
    }
    if folder.is_symlink():  # `best` is another one as soon as that run goes on
        folder = folder.with_name(folder.resolve().name)
    return msgspec.structs.replace(
        config,
        model=config.model if folder == given else msgspec.structs.replace(config.model, path=str(folder)),
        data=msgspec.structs.replace(config.data, **kept),
    )


# Formats that the template `short` describes.
_SHORT = frozenset({"planarena", "think", "parameters", "params", "answer", "toolupt", "hermes"})


def _reward(reward: RewardConfig, recipe: Recipe | None) -> RewardConfig:
    if reward.name:
        return reward
    if recipe is None or recipe.reward is None:
        return msgspec.structs.replace(reward, name="toolrl")
    overlong = reward.overlong if reward.overlong is not None else recipe.reward.overlong
    options = {**recipe.reward.options, **reward.options}
    return RewardConfig(name=recipe.reward.name, options=options, overlong=overlong)


def _check(config: TrainConfig) -> None:
    """Refuse numbers that no run can use."""
    rollout, update = config.rollout, config.update
    at_least_one = {
        "rollout.batch_size": rollout.batch_size,
        "rollout.group_size": rollout.group_size,
        "rollout.max_prompt_length": rollout.max_prompt_length,
        "rollout.max_response_length": rollout.max_response_length,
        "rollout.max_turns": rollout.max_turns,
        "update.updates_per_batch": update.updates_per_batch,
        "update.mini_batch_size": update.mini_batch_size,
        "update.expert_batch_size": update.expert_batch_size,
        "update.sync_interval": update.sync_interval,
        "update.micro_batch_tokens": update.micro_batch_tokens,
        "validation.bench_tasks": config.validation.bench_tasks,
        "checkpoint.keep": config.checkpoint.keep,
        "steps": config.steps,
    }
    for key, value in at_least_one.items():
        if value is not None and value < 1:
            raise ConfigError(f"{value} is out of range", where=key, fix="give a number of at least 1")
    above_zero = {
        "update.learning_rate": update.learning_rate,
        "update.sft.learning_rate": update.sft.learning_rate if update.sft else None,
        "update.max_grad_norm": update.max_grad_norm,
        "rollout.temperature": rollout.temperature,
        "epochs": config.epochs,
    }
    for key, number in above_zero.items():
        if number is not None and not 0 < number < float("inf"):
            raise ConfigError(f"{number} is out of range", where=key, fix="give a number above 0")
    _check_validation(config.validation)
    tiny = config.model.tiny
    if tiny.hidden % (2 * tiny.heads):
        raise ConfigError(
            f"{tiny.hidden} does not divide into {tiny.heads} heads of even width",
            where="model.tiny.hidden",
            fix="give a multiple of twice the heads",
        )
    if not 0 <= config.seed < 2**31:
        raise ConfigError(f"{config.seed} is out of range", where="seed", fix="give 0 to 2147483647")


def _check_validation(validation: ValidationConfig) -> None:
    if validation.select == "bench" and not validation.bench:
        raise ConfigError(
            "there is no bench to select by",
            where="validation.select",
            fix="name one: validation.bench=planarena-2, or a run",
        )
    if validation.bench and not validation.every:
        raise ConfigError(
            "the bench would never be played",
            where="validation.every",
            fix="give the steps between two validations, or leave validation.bench away",
        )
