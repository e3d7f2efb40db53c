"""Everything that a study's units share: the sets of tasks on disk, and the untrained model with its tokenizer."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from planarena.errors import PlanArenaError
from planarena.eval.algorithms.data import (
    StudyTask,
    composition_is_held_out,
    draw_tasks,
    spoil,
)
from planarena.eval.algorithms.plan import StudyConfig
from planarena.eval.algorithms.writing import write_tasks

__all__ = ["SETS", "TEST_SETS", "make_base", "prepare"]

TEST_SETS = ("seen", "unseen")
# Set -> what it is; the numbers of houses keep the initial states of all sets apart.
SETS = {
    "clean": "demonstrations for the start of the regime gold, and part of the ceiling's",
    "parts": "demonstrations for the start of the regime scarce: tasks of one errand, some of two",
    "faulty": "the same tasks as `clean`, most demonstrations stopping early or leaving a call out",
    "tasks": "the tasks that are practised in every regime",
    "all": "the tasks of `clean`, `parts` and `tasks` with their gold, for the ceiling",
    "seen": "held-out tasks of compositions that training has",
    "unseen": "held-out tasks of compositions that no training set has",
}
_HOUSES = 100_000


def prepare(config: StudyConfig) -> dict[str, Any]:
    """Draw and write every set, prove that nothing leaks, and make the untrained model; done once.

    Returns:
        What the page says of the sets.

    Raises:
        PlanArenaError: A test request or house occurs in a training set.
    """
    root = Path(config.out)
    stored = root / "data" / "sets.json"
    if stored.is_file():
        found: dict[str, Any] = msgspec.json.decode(stored.read_bytes())
        return found
    seed = config.seed
    clean = draw_tasks(config.demonstrations, seed=seed, first_house=0)
    taken = frozenset(task.query for task in clean)
    parts = draw_tasks(
        config.scarce_demonstrations, seed=seed, first_house=_HOUSES, errands=(1, 1, 1, 2), without=taken
    )
    taken |= {task.query for task in parts}
    practised = draw_tasks(
        config.tasks, seed=seed, first_house=2 * _HOUSES, errands=(1, 2, 2, 3), without=taken
    )
    taken |= {task.query for task in practised}
    seen = draw_tasks(config.test, seed=seed, first_house=3 * _HOUSES, without=taken)
    unseen = draw_tasks(
        config.test,
        seed=seed,
        first_house=4 * _HOUSES,
        unseen=True,
        without=taken | {task.query for task in seen},
    )
    overlap = _prove(
        seed, {"clean": clean, "parts": parts, "tasks": practised}, {"seen": seen, "unseen": unseen}
    )
    rng = Random(f"faults/{seed}")
    spoiled = {
        number: spoil(task, rng) if rng.random() < config.fault_share else task.groups
        for number, task in enumerate(clean)
    }
    data = root / "data"
    write_tasks(data / "clean", clean, seed=seed, split="train")
    write_tasks(data / "parts", parts, seed=seed, split="train")
    write_tasks(data / "faulty", clean, seed=seed, split="train", said=lambda number, _: spoiled[number])
    write_tasks(data / "tasks", practised, seed=seed, split="train")
    write_tasks(data / "all", [*clean, *parts, *practised], seed=seed, split="train")
    write_tasks(data / "seen", seen, seed=seed, split="test")
    write_tasks(data / "unseen", unseen, seed=seed, split="test")
    make_base(config)
    found = {
        "sizes": {
            "clean": len(clean),
            "parts": len(parts),
            "faulty": sum(spoiled[number] != task.groups for number, task in enumerate(clean)),
            "tasks": len(practised),
            "seen": len(seen),
            "unseen": len(unseen),
        },
        "overlap": overlap,
        "compositions": {
            "practised": len({task.kinds for task in practised}),
            "unseen": len({task.kinds for task in unseen}),
        },
    }
    stored.write_bytes(msgspec.json.encode(found))
    return found


def _prove(
    seed: int, training: dict[str, list[StudyTask]], held_out: dict[str, list[StudyTask]]
) -> dict[str, int]:
    """Count what training and test share; all counts must be 0."""
    from planarena.eval.algorithms.data import House

    def houses(tasks: list[StudyTask]) -> set[str]:
        return {House(seed, number).world.digest() for number in {task.house for task in tasks}}

    shown = {task.query for tasks in training.values() for task in tasks}
    states = set().union(*map(houses, training.values()))
    counts: dict[str, int] = {}
    for name, tasks in held_out.items():
        counts[f"requests of {name} in training"] = len(shown & {task.query for task in tasks})
        counts[f"initial states of {name} in training"] = len(states & houses(tasks))
    counts["requests in both test sets"] = len(
        {task.query for task in held_out["seen"]} & {task.query for task in held_out["unseen"]}
    )
    pairs = {pair for tasks in training.values() for task in tasks for pair in pairwise(task.kinds)}
    counts["unseen tasks whose every pair of errands training has"] = sum(
        all(pair in pairs for pair in pairwise(task.kinds)) for task in held_out["unseen"]
    )
    counts["training tasks of a held-out composition"] = sum(
        composition_is_held_out(task.kinds) for tasks in training.values() for task in tasks
    )
    if any(counts.values()):
        raise PlanArenaError(f"the study's sets overlap: {counts}")
    return counts


def make_base(config: StudyConfig) -> Path:
    """Make the untrained model that every start is taught from, its tokenizer trained on all training sets.

    One tokenizer for all, so that no regime reads words that another one cannot.
    """
    if config.model != "tiny":
        return Path(config.model)
    from planarena.eval.algorithms.work import data_config, rollout_config
    from planarena.trainers.config import ModelConfig, TrainConfig
    from planarena.trainers.local.data import load_texts
    from planarena.trainers.local.model import Policy, make_tiny
    from planarena.trainers.local.save import save_model
    from planarena.trainers.local.tokenizer import ChatTokenizer, train_tokenizer
    from planarena.trainers.types import Needs

    folder = Path(config.out) / "base"
    rollout = rollout_config(config, episodes=True)
    training = TrainConfig(
        model=ModelConfig(path="tiny", tiny=config.tiny),
        data=data_config(config, "all", mode="steps"),
        rollout=rollout,
    )
    chat = ChatTokenizer(train_tokenizer(load_texts(training, Needs(experts=True)), config.tiny.vocabulary))
    positions = int(rollout.max_prompt_length or 1) + 2 * int(rollout.max_response_length or 1) + 64
    model = make_tiny(config.tiny, chat, seed=config.seed, positions=positions)
    folder.mkdir(parents=True, exist_ok=True)
    save_model(Policy(model, chat), folder)
    return folder
