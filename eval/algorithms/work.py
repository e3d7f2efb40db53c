"""One unit of a study: train from the start of its regime, play the held-out tasks, write down both."""

from __future__ import annotations

import shutil
import time
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from planarena.bench import Task, load_tasks, play, summarise
from planarena.eval.algorithms.plan import StudyConfig, Unit
from planarena.eval.algorithms.setting import TEST_SETS, choose_mixed
from planarena.rows import RowOptions
from planarena.trainers.config import (
    CheckpointConfig,
    DataConfig,
    ExpertsConfig,
    LogConfig,
    ModelConfig,
    RewardConfig,
    RolloutConfig,
    TrainConfig,
    UpdateConfig,
    ValidationConfig,
)

__all__ = ["data_config", "do_unit", "rollout_config", "training_config"]

_FORMAT, _TEMPLATE = "planarena", "short"
_PROMPT, _REPLY, _EPISODE, _TURNS = 384, 96, 288, 9
# Of a conversation: tokens, and replies in all.
_CONVERSATION, _REPLIES = 512, 24
# Regimes whose practised tasks have an environment and no gold.
_UNSUPERVISED = ("scarce", "conversations")
_DEMONSTRATIONS = {"gold": "clean", "scarce": "parts", "repair": "clean", "conversations": "parts"}


def data_config(
    config: StudyConfig,
    name: str,
    *,
    mode: Literal["steps", "episodes"],
    experts: str = "",
    plan: bool = False,
) -> DataConfig:
    """Return where rows of a set come from and how they look, the same for all."""
    root = Path(config.out) / "data"
    return DataConfig(
        path=str(root / name),
        mode=mode,
        format=_FORMAT,
        template=_TEMPLATE,
        plan="step" if plan else "none",
        experts=ExpertsConfig(data=str(root / experts) if experts else ""),
    )


def rollout_config(config: StudyConfig, *, episodes: bool) -> RolloutConfig:
    """Return how policies are sampled, the same for all."""
    return RolloutConfig(
        batch_size=config.prompts,
        group_size=config.group,
        temperature=config.temperature,
        max_prompt_length=_PROMPT,
        max_response_length=(_CONVERSATION if config.talks else _EPISODE) if episodes else _REPLY,
        max_turns=_TURNS,
        refills=1,
        # A study reports what a run without any difference in reward gives; it does not stop it.
        flat_batches=10**9,
    )


def training_config(config: StudyConfig, unit: Unit) -> TrainConfig:
    """Return the training of a unit."""
    if unit.kind == "train" and unit.method not in ("sft-steps", "sft-compute"):
        return _practice(config, unit)
    taught = {"start": _DEMONSTRATIONS.get(unit.regime, ""), "ceiling": "all"}.get(unit.kind, "")
    spoiling = unit.kind == "start" and bool(unit.needs)
    if spoiling:
        taught = "faulty"
    if unit.kind == "train":
        # The controls see what the algorithms may see: gold of the practised tasks, or the demonstrations alone.
        taught = "parts" if unit.regime in _UNSUPERVISED else "tasks"
    first = unit.kind != "train"
    steps = {
        "start": config.fault_steps if spoiling else config.start_steps.get(unit.regime, 0),
        "ceiling": config.ceiling_steps,
        "train": config.steps
        * (config.compute_ratio.get(unit.regime, 1) if unit.method == "sft-compute" else 1),
    }[unit.kind]
    return TrainConfig(
        out=str(_folder(config, unit) / "training"),
        algorithm="sft",
        steps=steps,
        seed=unit.seed,
        threads=1,
        model=ModelConfig(path=_from(config, unit), device=config.device),
        # Of a conversation all decisions are taught at once.
        data=data_config(config, taught, mode="episodes" if config.talks else "steps"),
        rollout=rollout_config(config, episodes=config.talks),
        update=UpdateConfig(
            learning_rate=config.fault_rate if spoiling else config.start_rate if first else config.rate,
            schedule="cosine" if first else "constant",
            warmup=min(40, steps // 4) if first else 0,
            adam_betas=(0.9, 0.999),
            updates_per_batch=1,
            expert_batch_size=config.start_rows if first else config.expert_rows,
            micro_batch_tokens=config.pass_tokens,
            sync_interval=1,
        ),
        validation=ValidationConfig(every=0),
        checkpoint=CheckpointConfig(every=200 if first else 0, keep=1),
        log=LogConfig(samples=0),
    )


def _practice(config: StudyConfig, unit: Unit) -> TrainConfig:
    from planarena.trainers.algorithms.ablations import ablation
    from planarena.trainers.recipes import Recipe, load_recipe, recipe_names

    episodes = unit.regime in _UNSUPERVISED
    options: dict[str, Any] = {}
    reward = RewardConfig(name="toolrl")
    algorithm, plan = unit.method, False
    training: dict[str, Any] = {}
    recipe: Recipe | None = None
    if config.ablation:
        variant = next(one for one in ablation(config.ablation).variants if one.label == unit.method)
        recipe = variant.resolve()
        algorithm = variant.recipe
        options = {key: value for key, value in recipe.algorithm.items() if key != "algorithm"}
        changed = {path.partition(".")[2] for path in variant.changes if path.startswith("training.")}
        training = {name: getattr(recipe.training, name) for name in changed}
        plan = bool(variant.data.get("plan", False))
    elif algorithm in recipe_names():
        recipe = load_recipe(algorithm)
    if recipe is not None and recipe.reward is not None:
        reward = RewardConfig(**msgspec.structs.asdict(recipe.reward))
    rollout = rollout_config(config, episodes=episodes)
    group = int(training.get("group_size") or config.group)
    updates = int(training.get("updates_per_batch") or config.updates)
    return TrainConfig(
        out=str(_folder(config, unit) / "training"),
        algorithm=algorithm,
        options=options,
        steps=config.batches * updates if "updates_per_batch" in training else config.steps,
        seed=unit.seed,
        threads=1,
        reward=reward,
        model=ModelConfig(path=_from(config, unit), device=config.device),
        data=data_config(
            config,
            "mixed" if unit.regime == "scarce" else "tasks",
            mode="episodes" if episodes else "steps",
            experts="parts" if episodes else "",
            plan=plan,
        ),
        rollout=msgspec.structs.replace(rollout, group_size=group, step_reward="none"),
        update=UpdateConfig(
            learning_rate=config.rate,
            schedule="constant",
            adam_betas=(0.9, 0.999),
            updates_per_batch=updates,
            mini_batch_size=max(config.prompts // updates, 1),
            expert_batch_size=config.expert_rows,
            micro_batch_tokens=config.pass_tokens,
            sync_interval=int(training.get("sync_interval") or 1),
        ),
        validation=ValidationConfig(every=0),
        checkpoint=CheckpointConfig(every=0, keep=1),
        log=LogConfig(samples=0),
    )


def _folder(config: StudyConfig, unit: Unit) -> Path:
    return Path(config.out) / "units" / unit.name


def _from(config: StudyConfig, unit: Unit) -> str:
    if not unit.needs:
        return str(Path(config.out) / "base") if config.model == "tiny" else config.model
    return str(Path(config.out) / "units" / unit.needs / "model")


def do_unit(config: StudyConfig, unit: Unit) -> dict[str, Any]:
    """Do a unit and return what its result.json holds; the file is there when all of it is done.

    Args:
        config: The study.
        unit: Whose needs are done.
    """
    from planarena.records.step_lines import read_steps
    from planarena.trainers import train
    from planarena.trainers.loop.checkpoints import write_json

    folder = _folder(config, unit)
    result = folder / "result.json"
    if result.is_file():
        done: dict[str, Any] = msgspec.json.decode(result.read_bytes())
        return done
    folder.mkdir(parents=True, exist_ok=True)
    clock, spent = time.perf_counter(), time.process_time()
    training = training_config(config, unit)
    model = folder / "model"
    trained = train(training)
    if not trained.checkpoint and not model.is_dir():
        # It was finished and tidied up before, and its result is gone.
        trained = train(training, fresh=True)
    trained_seconds = time.process_time() - spent
    if not model.is_dir():
        # What the study needs of the checkpoint: weights and tokenizer, not the moments.
        draft = folder / ".model.tmp"
        shutil.rmtree(draft, ignore_errors=True)
        unwanted = shutil.ignore_patterns("optimiser.safetensors", "rollout.safetensors", "state.json")
        shutil.copytree(trained.checkpoint, draft, ignore=unwanted)
        draft.replace(model)
    found = {
        "unit": msgspec.to_builtins(unit),
        "steps": trained.steps,
        "curve": _curve(read_steps(Path(training.out) / "metrics.jsonl")),
        "results": evaluate(config, model, seed=unit.seed),
        "parameters": trained.info.get("parameters"),
        "counts": trained.info.get("counts"),
    }
    if unit.kind == "start" and unit.regime == "scarce":
        found["practised"] = _choose_practised(config, model)
    found["seconds"] = {
        "training": round(trained_seconds, 2),
        "all": round(time.process_time() - spent, 2),
        "clock": round(time.perf_counter() - clock, 2),
    }
    write_json(result, found)
    if unit.kind == "train":
        shutil.rmtree(Path(training.out) / "checkpoints", ignore_errors=True)
        shutil.rmtree(model, ignore_errors=True)
    return found


def _choose_practised(config: StudyConfig, model: Path) -> dict[str, int]:
    """Let the start of `scarce` try the pool, and write down which tasks are worth practising."""
    from planarena.trainers.local.chat_policy import ChatPolicy
    from planarena.trainers.local.model import choose_device, load_policy

    loaded = load_policy(model, ModelConfig(path=str(model)), choose_device(config.device), train=False)
    policy = ChatPolicy(loaded, _FORMAT, limit=_REPLY, temperature=config.temperature, seed=config.seed)
    wins: dict[str, int] = {}
    tasks = _tasks(str(Path(config.out) / "data" / "pool"), "train")
    for episode in play(policy, tasks, samples=config.pool_tries, most_turns=_TURNS):
        request = episode.task.row.turns[0]
        wins[request] = wins.get(request, 0) + int(episode.success)
    return choose_mixed(config, wins, config.pool_tries)


def evaluate(config: StudyConfig, model: Path, *, seed: int) -> dict[str, Any]:
    """Play both test sets greedily and sampled; per task whether it succeeded, and what the episodes show."""
    from planarena.trainers.local.chat_policy import ChatPolicy
    from planarena.trainers.local.model import choose_device, load_policy

    found: dict[str, Any] = {}
    loaded = load_policy(model, ModelConfig(path=str(model)), choose_device(config.device), train=False)
    for manner, temperature in (("greedy", 0.0), ("sampled", 1.0)):
        policy = ChatPolicy(loaded, _FORMAT, limit=_REPLY, temperature=temperature, seed=seed + 1)
        found[manner] = {}
        for name in TEST_SETS:
            turns = _REPLIES if config.talks else _TURNS
            tasks = _tasks(str(Path(config.out) / "data" / name), "test")
            episodes = list(play(policy, tasks, most_turns=turns))
            found[manner][name] = {
                "success": [int(one.success) for one in episodes],
                "goal": [int(one.goal) for one in episodes],
                "actions": [one.task.actions for one in episodes],
                "tokens": [one.tokens for one in episodes],
                "measures": summarise(episodes),
            }
    return found


@lru_cache(maxsize=4)
def _tasks(path: str, split: str) -> list[Task]:
    options = RowOptions(format=_FORMAT, template=_TEMPLATE, plan="none")
    return load_tasks(path, options, splits=(split,))


def _curve(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one point per rollout batch, or per tenth of a supervised training."""
    kept = ("reward/mean", "reward/success", "length/mean", "policy/entropy", "loss/sft")
    found: list[dict[str, Any]] = []
    seen = None
    for line in lines:
        if line.get("phase") == "start":
            continue
        number = line.get("rollout/batch")
        if number is not None and number == seen:
            continue
        if number is None and found and line["step"] % max(len(lines) // 10, 1):
            continue
        seen = number
        found.append({"step": line["step"], **{key: line[key] for key in kept if line.get(key) is not None}})
    return found
