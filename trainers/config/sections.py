"""The settings of a training run, section by section."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from planarena.trainers.config.phases import first_phases
from planarena.trainers.recipes import Recipe

_Seconds = Annotated[float, msgspec.Meta(gt=0)]
_Limit = Annotated[float, msgspec.Meta(ge=0)]

__all__ = [
    "CheckpointConfig",
    "DataConfig",
    "ExpertsConfig",
    "JudgeConfig",
    "LogConfig",
    "LoraConfig",
    "ModelConfig",
    "RewardConfig",
    "RolloutConfig",
    "StageConfig",
    "TinyConfig",
    "TrainConfig",
    "UpdateConfig",
    "ValidationConfig",
]


class _Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of the configuration; None in a field means: the recipe's value, else the engine's."""


class RewardConfig(_Section, frozen=True, kw_only=True):
    """The reward, chosen apart from the algorithm.

    Attributes:
        name: A reward of `planarena.trainers.rewards`; by default the recipe's, else `toolrl`.
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
        warm_start: Supervised steps on the run's gold before an algorithm with rollouts begins; 0 for none. None: 600, and
            fewer where rows are long, so that they take about two minutes on a laptop.
        warm_start_rows: Rows of one such step.
        warm_start_rate: Its learning rate.
    """

    hidden: int = 128
    layers: int = 3
    heads: int = 4
    intermediate: int = 384
    vocabulary: int = 2048
    copy_friendly: bool = True
    warm_start: int | None = None
    warm_start_rows: int = 8
    warm_start_rate: float = 1e-3


class ModelConfig(_Section, frozen=True, kw_only=True):
    """The policy.

    Attributes:
        path: A causal model with its tokenizer: a folder or cached name that transformers loads; or `tiny`, a small new
            one.
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
            RL prompts (CHORD section 4.1); `aligned`: for a share of the RL prompts, their own (LUFFY).
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
        path: Where the rows come from: a run, file or folder.
        mode: `steps`: one row per decision; `episodes`: the policy acts in the scenario's environment.
        format: The format that the policy speaks; empty takes the recipe's (`planarena` for `tiny`).
        template: The prompt template; empty takes the format's (`short` for `tiny` where it fits).
        plan: As `planarena.rows.RowOptions`; None is `none` for `tiny`, else `step`.
        signatures: As there.
        answers: Decisions that answer, too.
        domains: Only these; empty for all.
        difficulty: Only tasks of a run whose pass rate lies in a range, as `0.2:0.8` (see `planarena rate`); for
            validation all are taken.
        limit: Most rows of each kind; 0 for all.
        conditioned: Words that show the ground truth to the teacher of GEAR, RLSD and OPSD; slot {target}.
        user: Who plays the users of episodes: `scripted`, or `model:ID`. An episode that a model spoils (it lies, gives
            away what it holds back, ...) trains nothing; its class is counted.
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
    difficulty: str = ""
    limit: int = 0
    conditioned: str = "The correct next message is:\n{target}"
    user: str = "scripted"
    experts: ExpertsConfig = ExpertsConfig()


class RolloutConfig(_Section, frozen=True, kw_only=True):
    """How the policy is sampled.

    Attributes:
        batch_size: Prompts of a rollout batch.
        group_size: K, rollouts per prompt.
        temperature: Of sampling; 1 trains on what is sampled.
        max_prompt_length: Tokens; rows above it are left out and counted.
        max_response_length: Tokens of one response (of one episode, observations included, in mode `episodes`).
        max_turns: Most decisions until the user has an answer, in mode `episodes`; they count anew with each of the user's
            messages, so that long conversations have room.
        refills: Further draws that replace groups without any difference in reward, where the algorithm asks.
        flat_batches: Batches in a row whose rewards all are equal after which a run of pure RL stops.
        goal_weight: In mode `episodes`: weight of reaching the goal in the reward of a trajectory.
        step_reward: In mode `episodes`: the reward of a step: `none`, `executed` (1 where its calls ran) or
            `gold` (the chosen reward against the gold action of the same number).
        step_weight: Weight of the mean step reward in the reward of a trajectory.
        teacher: Of GEAR, RLSD, OPSD, OPD: `current` policy or that of the `start`, or the folder of another model
            with the same tokenizer (local engine); `auto` is the start for OPSD and OPD.
        correction: Weights for rollouts whose sampler computes otherwise than the update does (`none`): `truncate`
            cuts large ones, `mask` drops those outside the bounds.
        correction_level: One weight a token, or of the whole response.
        correction_upper: Largest weight.
        correction_lower: Smallest weight of `mask`.
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
    teacher: str = "auto"
    correction: Literal["none", "truncate", "mask"] = "none"
    correction_level: Literal["token", "sequence"] = "token"
    correction_upper: float = 2.0
    correction_lower: float = 0.5


class StageConfig(_Section, frozen=True, kw_only=True):
    """The learning rate of a stage of its own, over that stage's steps.

    Attributes:
        learning_rate: Peak.
        schedule: `constant` or `cosine`, after the warm-up.
        warmup: Steps of the linear warm-up.
        final_ratio: Of the cosine: last over peak learning rate.
    """

    learning_rate: float
    schedule: Literal["constant", "cosine"] = "constant"
    warmup: int = 0
    final_ratio: float = 0.1


class UpdateConfig(_Section, frozen=True, kw_only=True):
    """How the policy is updated.

    Attributes:
        learning_rate: Peak.
        schedule: `constant` or `cosine`, after the warm-up.
        warmup: Steps of the linear warm-up.
        final_ratio: Of the cosine: last over peak learning rate.
        sft: The rate of the supervised updates of an algorithm with phases of its own (`sft-rl`, `sasr`, `relift`); each
            stage then warms up and decays over its own steps. None: one rate over the whole run.
        adam_betas: Of AdamW.
        weight_decay: Of AdamW; not on vectors (norms, biases).
        max_grad_norm: Gradients are scaled down to it.
        updates_per_batch: Optimiser updates per rollout batch.
        mini_batch_size: Prompts of one update; None divides the batch by `updates_per_batch`.
        expert_batch_size: Rows of the expert batch, of a supervised or of a preference batch.
        sync_interval: Updates after which the sampled policy takes the trained weights.
        micro_batch_tokens: Most tokens of one forward pass, padding included; changes memory, not results. None: as many
            as suit the model.
    """

    learning_rate: float | None = None
    schedule: Literal["constant", "cosine"] | None = None
    warmup: int = 0
    final_ratio: float = 0.1
    sft: StageConfig | None = None
    adam_betas: tuple[float, float] | None = None
    weight_decay: float = 0.01
    max_grad_norm: float = 1.0
    updates_per_batch: int | None = None
    mini_batch_size: int | None = None
    expert_batch_size: int | None = None
    sync_interval: int | None = None
    micro_batch_tokens: int | None = None


class ValidationConfig(_Section, frozen=True, kw_only=True):
    """Greedy validation: on rows of the split `validation`, and on tasks that the policy plays.

    Attributes:
        every: Steps between two; 0 for none, None for a tenth of the run.
        rows: Most rows.
        bench: Whose tasks are played: a run, or `planarena-2` for the bench that ships; empty for none.
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


class JudgeConfig(_Section, frozen=True, kw_only=True):
    """How patient a training is with `judge_model`, and what it may cost. Nothing of it makes another run.

    A request that fails `attempts` times costs its group the judge: it is scored offline. Twelve failures in a row
    open the circuit; when four trials after that fail too, the training ends with one message, and the same command
    goes on. A judge that hangs holds a training up for a quarter of an hour at most, by these defaults [ours].

    Attributes:
        timeout: Seconds of one attempt, from sending to the last byte.
        attempts: Attempts at one request.
        concurrency: Most requests in flight.
        budget_usd: Most US dollars that one command spends on judging; None sets no limit.
        budget_tokens: Most tokens, likewise.
        budget_calls: Most answers, likewise.
    """

    timeout: _Seconds = 60.0
    attempts: Annotated[int, msgspec.Meta(ge=1, le=100)] = 3
    concurrency: Annotated[int, msgspec.Meta(ge=1, le=4096)] = 32
    budget_usd: _Limit | None = None
    budget_tokens: _Limit | None = None
    budget_calls: _Limit | None = None


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
        rollouts: Groups written to rollouts.jsonl token by token, once a validation, for `planarena view`; 0 for none.
    """

    tensorboard: bool = False
    wandb: str = ""
    samples: int = 4
    rollouts: int = 1


class TrainConfig(_Section, frozen=True, kw_only=True):
    """A training run.

    Attributes:
        out: The folder of the run.
        algorithm: An algorithm or a preset of `planarena train --list`.
        options: Options of the algorithm, over those of its recipe.
        engine: `local`, one process, or `verl`, a cluster.
        steps: Optimiser steps; by default the recipe's.
        epochs: Passes over the supervised rows instead of `steps`.
        seed: Of everything random.
        threads: CPU threads; 0 takes what a short probe finds fastest (or OMP_NUM_THREADS, where it is set).
        judge_model: A model that judges; by default the offline scorers do.
        judge: How long it is waited for, and what it may cost.
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
    judge: JudgeConfig = JudgeConfig()
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
        options |= first_phases(recipe, {}, fields.get("steps"))
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
        """Return what makes two runs the same work: all but the folder, the logs, the threads and the patience."""
        # Through JSON, so that it equals what run.json gives back.
        fields: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self))
        for name in ("out", "log", "threads", "judge"):
            del fields[name]
        if not self.verl:
            del fields["verl"]
        if self.update.sft is None:
            # So that a run of an earlier release goes on.
            del fields["update"]["sft"]
        if not self.validation.bench:
            for name in ("bench", "bench_splits", "bench_tasks"):
                del fields["validation"][name]
        return fields
