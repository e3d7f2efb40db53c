"""What a training run is told, and how recipes and defaults complete it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from planarena.errors import ConfigError
from planarena.trainers.recipes import Recipe, load_recipe, recipe_names

__all__ = [
    "CheckpointConfig",
    "DataConfig",
    "ExpertsConfig",
    "LogConfig",
    "LoraConfig",
    "ModelConfig",
    "RewardConfig",
    "RolloutConfig",
    "TinyConfig",
    "TrainConfig",
    "UpdateConfig",
    "ValidationConfig",
    "complete",
]


class _Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of the configuration; None in a field means: the recipe's value, else the engine's."""


class RewardConfig(_Section, frozen=True, kw_only=True):
    """The reward, chosen apart from the algorithm.

    Attributes:
        name: A name of `planarena.trainers.rewards`; empty takes the recipe's, else `toolrl`.
        options: Options of that reward.
        overlong: Options of DAPO's overlong penalty, added to it; None takes the recipe's with its reward.
    """

    name: str = ""
    options: dict[str, Any] = {}
    overlong: dict[str, Any] | None = None


class LoraConfig(_Section, frozen=True, kw_only=True):
    """Low-rank adapters through peft.

    Attributes:
        rank: r.
        alpha: Scale.
        dropout: Of the adapters.
        targets: Names of the modules that get adapters; empty takes every linear layer but the output.
    """

    rank: int = 16
    alpha: float = 32.0
    dropout: float = 0.0
    targets: tuple[str, ...] = ()


class TinyConfig(_Section, frozen=True, kw_only=True):
    """The model of `--model tiny`: Qwen2's architecture, from scratch, with a tokenizer of the run's own text.

    Attributes:
        hidden: Width.
        layers: Decoder layers.
        heads: Attention heads, as many for keys and values.
        intermediate: Width of the feed-forward layer.
        vocabulary: Most tokens of the tokenizer, added tokens excluded.
        copy_friendly: Start the values as a random rotation and the output projection as its inverse, so that
            attention copies from the first step on.
        warm_start: Supervised steps on the run's gold before an algorithm with rollouts begins; 0 for none.
        warm_start_rows: Rows of one such step.
        warm_start_rate: Its learning rate.
    """

    hidden: int = 128
    layers: int = 3
    heads: int = 4
    intermediate: int = 384
    vocabulary: int = 2048
    copy_friendly: bool = True
    warm_start: int = 600
    warm_start_rows: int = 8
    warm_start_rate: float = 1e-3


class ModelConfig(_Section, frozen=True, kw_only=True):
    """The policy.

    Attributes:
        path: A folder or cached name that transformers loads, or `tiny`.
        dtype: `float32`, or `bfloat16`: float32 weights, bfloat16 arithmetic (a frozen base under LoRA is
            bfloat16 itself).
        device: `auto`, `cpu`, `cuda` or `cuda:N`.
        lora: Train adapters alone.
        tiny: Of `--model tiny`.
    """

    path: str = "tiny"
    dtype: Literal["float32", "bfloat16"] = "float32"
    device: str = "auto"
    lora: LoraConfig | None = None
    tiny: TinyConfig = TinyConfig()


class ExpertsConfig(_Section, frozen=True, kw_only=True):
    """Where demonstrations come from.

    Attributes:
        mode: `shared`: the gold of the RL prompts themselves; `disjoint`: a share of the tasks, which then are no
            RL prompts (003 section 4.1); `aligned`: for a share of the RL prompts, their own (LUFFY).
        ratio: That share.
        data: Another run, file or folder; empty takes the run's.
        generators: Only demonstrations that these made; empty for all.
    """

    mode: Literal["shared", "disjoint", "aligned"] = "shared"
    ratio: float = 1.0
    data: str = ""
    generators: tuple[str, ...] = ()


class DataConfig(_Section, frozen=True, kw_only=True):
    """Rows and how they look.

    Attributes:
        path: A run, file or folder.
        mode: `steps`: one row per decision; `episodes`: the policy acts in the scenario's environment.
        format: The format that the policy speaks; empty takes the recipe's (`planarena` for `tiny`).
        template: The prompt template; empty takes the format's (`short` for `tiny` where it fits).
        plan: As `planarena.rows.RowOptions`; None is `none` for `tiny`, else `step`.
        signatures: As there.
        answers: Decisions that answer, too.
        domains: Only these; empty for all.
        limit: Most rows of each kind; 0 for all.
        conditioned: Words that show the ground truth to the teacher of GEAR, RLSD and OPSD; slot {target}.
        experts: Where demonstrations come from.
    """

    path: str = ""
    mode: Literal["steps", "episodes"] = "steps"
    format: str = ""
    template: str = ""
    plan: Literal["global", "step", "none"] | None = None
    signatures: Literal["json", "compact", "names"] | None = None
    answers: bool = True
    domains: tuple[str, ...] = ()
    limit: int = 0
    conditioned: str = "The correct next message is:\n{target}"
    experts: ExpertsConfig = ExpertsConfig()


class RolloutConfig(_Section, frozen=True, kw_only=True):
    """How the policy is sampled.

    Attributes:
        batch_size: Prompts of a rollout batch.
        group_size: K, rollouts per prompt.
        temperature: Of sampling; 1 trains on what is sampled.
        max_prompt_length: Tokens; rows above it are left out and counted.
        max_response_length: Tokens of one response (of one episode, observations included, in mode `episodes`).
        max_turns: Decisions of one episode.
        refills: Further draws that replace groups without any difference in reward, where the algorithm asks.
        flat_batches: Batches in a row whose rewards all are equal after which a run of pure RL stops.
        goal_weight: In mode `episodes`: weight of reaching the goal in the reward of a trajectory.
        step_reward: In mode `episodes`: the reward of a step: `none`, `executed` (1 where its calls ran) or
            `gold` (the chosen reward against the gold action of the same number).
        step_weight: Weight of the mean step reward in the reward of a trajectory.
        teacher: Of GEAR, RLSD, OPSD: `current` policy or that of the `start`; `auto` is the start for OPSD.
    """

    batch_size: int | None = None
    group_size: int | None = None
    temperature: float | None = None
    max_prompt_length: int | None = None
    max_response_length: int | None = None
    max_turns: int = 12
    refills: int = 3
    flat_batches: int = 20
    goal_weight: float = 1.0
    step_reward: Literal["none", "executed", "gold"] = "executed"
    step_weight: float = 0.0
    teacher: Literal["auto", "current", "start"] = "auto"


class UpdateConfig(_Section, frozen=True, kw_only=True):
    """How the policy is updated.

    Attributes:
        learning_rate: Peak.
        schedule: `constant` or `cosine`, after the warm-up.
        warmup: Steps of the linear warm-up.
        final_ratio: Of the cosine: last over peak learning rate.
        adam_betas: Of AdamW.
        weight_decay: Of AdamW; not on vectors (norms, biases).
        max_grad_norm: Gradients are scaled down to it.
        updates_per_batch: Optimiser updates per rollout batch.
        mini_batch_size: Prompts of one update; None divides the batch by `updates_per_batch`.
        expert_batch_size: Rows of the expert batch, of a supervised or of a preference batch.
        sync_interval: Updates after which the sampled policy takes the trained weights.
        micro_batch_tokens: Most tokens of one forward pass, padding included; changes memory, not results.
    """

    learning_rate: float | None = None
    schedule: Literal["constant", "cosine"] | None = None
    warmup: int = 0
    final_ratio: float = 0.1
    adam_betas: tuple[float, float] | None = None
    weight_decay: float = 0.01
    max_grad_norm: float = 1.0
    updates_per_batch: int | None = None
    mini_batch_size: int | None = None
    expert_batch_size: int | None = None
    sync_interval: int | None = None
    micro_batch_tokens: int = 16384


class ValidationConfig(_Section, frozen=True, kw_only=True):
    """Greedy validation: on rows of the split `validation`, and on tasks that the policy plays.

    Attributes:
        every: Steps between two; 0 for none, None for a tenth of the run.
        rows: Most rows.
        bench: Whose tasks are played: a run, or `planarena-1` for the bench that ships; empty for none.
        bench_splits: Of that run.
        bench_tasks: Most tasks, drawn by the seed.
        select: What makes a checkpoint the best: `success` or `reward` on the rows, `bench` for success on the
            tasks; None is `bench` where there is one, else `success`.
    """

    every: int | None = None
    rows: int = 64
    bench: str = ""
    bench_splits: tuple[str, ...] = ("validation",)
    bench_tasks: int = 64
    select: Literal["success", "reward", "bench"] | None = None


class CheckpointConfig(_Section, frozen=True, kw_only=True):
    """What is kept.

    Attributes:
        every: Steps between two checkpoints; 0 for the last alone, None for a tenth of the run.
        keep: Newest checkpoints kept, besides the best.
    """

    every: int | None = None
    keep: int = 2


class LogConfig(_Section, frozen=True, kw_only=True):
    """Where metrics go besides metrics.jsonl.

    Attributes:
        tensorboard: Write event files into OUT/tensorboard.
        wandb: A Weights & Biases project; empty for none.
        samples: Rollouts written to samples.jsonl at each validation; 0 for none.
    """

    tensorboard: bool = False
    wandb: str = ""
    samples: int = 4


class TrainConfig(_Section, frozen=True, kw_only=True):
    """A training run.

    Attributes:
        out: Its folder.
        algorithm: An algorithm or a preset of `planarena train --list`.
        options: Options of the algorithm, over those of its recipe.
        engine: `local`, or `verl`.
        steps: Optimiser steps; None takes the recipe's.
        epochs: Passes over the supervised rows instead of `steps`.
        seed: Of everything random.
        threads: CPU threads; 0 takes what a short probe finds fastest (or OMP_NUM_THREADS, where it is set).
        judge_model: A model of the gateway that judges; empty for the offline scorer.
        verl: Keys of verl's own configuration, as `verl.actor_rollout_ref.rollout.name=vllm` (engine `verl`).
    """

    out: str = ""
    algorithm: str = "grpo"
    options: dict[str, Any] = {}
    engine: Literal["local", "verl"] = "local"
    steps: int | None = None
    epochs: float | None = None
    seed: int = 0
    threads: int = 0
    judge_model: str = ""
    reward: RewardConfig = RewardConfig()
    model: ModelConfig = ModelConfig()
    data: DataConfig = DataConfig()
    rollout: RolloutConfig = RolloutConfig()
    update: UpdateConfig = UpdateConfig()
    validation: ValidationConfig = ValidationConfig()
    checkpoint: CheckpointConfig = CheckpointConfig()
    log: LogConfig = LogConfig()
    verl: dict[str, Any] = {}

    @classmethod
    def of_recipe(cls, recipe: Recipe, **fields: Any) -> TrainConfig:
        """Return a configuration that runs a recipe as it stands (an ablation's variant, for example).

        Args:
            recipe: Its algorithm, reward and format are taken over; its training settings where none are given.
            **fields: Further fields of the configuration; `data` keeps a format of its own.
        """
        options = {key: value for key, value in recipe.algorithm.items() if key != "algorithm"}
        options |= _phases(recipe, {}, fields.get("steps"))
        data = fields.pop("data", DataConfig())
        reward = RewardConfig(**msgspec.structs.asdict(recipe.reward)) if recipe.reward else RewardConfig()
        return cls(
            algorithm=recipe.name,
            options=options | dict(fields.pop("options", {})),
            reward=fields.pop("reward", reward),
            data=data if data.format else msgspec.structs.replace(data, format=recipe.format),
            **fields,
        )

    def identity(self) -> dict[str, Any]:
        """Return what makes two runs the same work: all but the folder, the logs and the threads."""
        # Through JSON, so that it equals what run.json gives back.
        fields: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self))
        for name in ("out", "log", "threads"):
            del fields[name]
        if not self.verl:
            del fields["verl"]
        if not self.validation.bench:
            for name in ("bench", "bench_splits", "bench_tasks"):
                del fields["validation"][name]
        return fields


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
    out and only algorithm, reward and selection are taken.

    Raises:
        ConfigError: An unknown algorithm, or a number out of range.
    """
    recipe = load_recipe(config.algorithm) if config.algorithm in recipe_names() else None
    tiny = config.model.path == "tiny"
    base: dict[str, Any] = dict(_TINY if tiny else _LARGE)
    if tiny and config.algorithm in _FULLY_SUPERVISED:
        base |= {"learning_rate": 1e-3, "steps": 1000}
    given: Mapping[str, Any] = {} if tiny or recipe is None else msgspec.structs.asdict(recipe.training)
    base |= {key: value for key, value in given.items() if value is not None}

    def fill(section: Any) -> Any:
        open_fields = {
            name: base[name]
            for name in section.__struct_fields__
            if getattr(section, name) is None and base.get(name) is not None
        }
        return msgspec.structs.replace(section, **open_fields)

    rollout, update = fill(config.rollout), fill(config.update)
    if update.mini_batch_size is None and update.updates_per_batch is None:
        update = msgspec.structs.replace(update, updates_per_batch=1)
    if update.mini_batch_size is not None and config.update.updates_per_batch is None:
        passes = -(-rollout.batch_size // update.mini_batch_size)
        update = msgspec.structs.replace(update, updates_per_batch=passes)
    if update.expert_batch_size is None:
        update = msgspec.structs.replace(update, expert_batch_size=rollout.batch_size)
    epochs = config.epochs
    steps = config.steps
    if steps is None and epochs is None and given.get("epochs") and not given.get("steps"):
        epochs = float(given["epochs"])
    if steps is None and epochs is None:
        steps = int(base["steps"])
    options = dict(config.options)
    if recipe is not None:
        options |= _phases(recipe, options, steps)
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


# Options that count the steps of an algorithm's first phase.
_PHASES = ("sft_steps", "hint_steps", "warmup_steps")


def _phases(recipe: Recipe, given: Mapping[str, Any], steps: int | None) -> dict[str, int]:
    """Return the lengths of first phases that would fill the whole run, cut to their share of the paper's run.

    A paper's 3,000 supervised steps of 3,600 are 83 of 100; where the recipe does not say how long the run is, a half.

    Args:
        recipe: Of the algorithm.
        given: Options that the caller chose; they stay.
        steps: Of this run; None where it is told in epochs.
    """
    found: dict[str, int] = {}
    whole = recipe.training.steps or 0
    for name in _PHASES:
        phase = recipe.algorithm.get(name)
        if steps is None or name in given or not isinstance(phase, int) or phase < steps:
            continue
        share = phase / whole if phase < whole else 0.5
        found[name] = max(round(share * steps), 1)
    return found


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
            fix="name one: validation.bench=planarena-1, or a run",
        )
    if validation.bench and not validation.every:
        raise ConfigError(
            "the bench would never be played",
            where="validation.every",
            fix="give the steps between two validations, or leave validation.bench away",
        )
