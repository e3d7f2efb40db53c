"""Everything that a study's units share: the sets of tasks on disk, and the untrained model with its tokenizer."""

from __future__ import annotations

import shutil
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from planarena.errors import PlanArenaError, UserError
from planarena.eval.algorithms.conversations import draw_conversations, spoil_conversation
from planarena.eval.algorithms.data import (
    StudyTask,
    composition_is_held_out,
    draw_tasks,
    of_one_errand,
    single_requests,
    spoil,
)
from planarena.eval.algorithms.plan import StudyConfig
from planarena.eval.algorithms.writing import write_tasks

__all__ = ["SETS", "TEST_SETS", "check_sizes", "choose_mixed", "draw_sets", "make_base", "prepare"]

TEST_SETS = ("seen", "unseen")
# Set -> what it is; the numbers of houses keep the initial states of all sets apart.
SETS = {
    "clean": "demonstrations for the start of the regime gold, and part of the ceiling's",
    "parts": "demonstrations for the start of the regime scarce: tasks of one errand, some of two; of the regime "
    "conversations: conversations, some of them led carelessly",
    "faulty": "the same tasks as `clean`, most demonstrations stopping early or leaving a call out",
    "tasks": "the tasks that are practised in the regimes gold, repair and conversations",
    "pool": "tasks of which the regime scarce practises those that its start now solves and now does not",
    "mixed": "those tasks, chosen when the start is there",
    "all": "the tasks of `clean`, `parts` and `tasks` with their gold, for the ceiling",
    "seen": "held-out tasks of compositions that training has",
    "unseen": "held-out tasks of compositions that no training set has",
}
_HOUSES = 100_000
_ERRANDS = (1, 2, 2, 3)
# Parts of the tasks to come.
_PARTS = (1, 1, 1, 2)


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
    found = _prepare_conversations(config) if config.talks else _prepare_requests(config)
    make_base(config)
    stored.write_bytes(msgspec.json.encode(found))
    return found


def _prepare_conversations(config: StudyConfig) -> dict[str, Any]:
    seed, data = config.seed, Path(config.out) / "data"
    sets = draw_sets(config)
    parts, practised, seen, unseen = (sets[name] for name in ("parts", "tasks", "seen", "unseen"))
    overlap = _prove(seed, {"parts": parts, "tasks": practised}, {"seen": seen, "unseen": unseen})
    rng = Random(f"faults/{seed}")
    led = [spoil_conversation(task, config.fault_share, rng) for task in parts]
    write_tasks(data / "parts", parts, seed=seed, split="train", said=lambda number, _: led[number])
    write_tasks(data / "tasks", practised, seed=seed, split="train")
    write_tasks(data / "all", [*parts, *practised], seed=seed, split="train")
    write_tasks(data / "seen", seen, seed=seed, split="test")
    write_tasks(data / "unseen", unseen, seed=seed, split="test")
    faulty = sum(one.exchanges != task.exchanges for one, task in zip(led, parts, strict=True))
    return {
        "sizes": {**{name: len(tasks) for name, tasks in sets.items()}, "faulty": faulty},
        "overlap": overlap,
        "compositions": _compositions(practised, unseen),
    }


def _compositions(practised: list[StudyTask], unseen: list[StudyTask]) -> dict[str, int]:
    return {
        "practised": len({task.kinds for task in practised}),
        "unseen": len({task.kinds for task in unseen}),
    }


def _prepare_requests(config: StudyConfig) -> dict[str, Any]:
    seed = config.seed
    sets = draw_sets(config)
    clean, parts, practised, pool, seen, unseen = (
        sets[name] for name in ("clean", "parts", "tasks", "pool", "seen", "unseen")
    )
    overlap = _prove(
        seed,
        {"clean": clean, "parts": parts, "tasks": practised, "pool": pool},
        {"seen": seen, "unseen": unseen},
    )
    rng = Random(f"faults/{seed}")
    spoiled = {
        number: spoil(task, rng) if rng.random() < config.fault_share else task.groups
        for number, task in enumerate(clean)
    }
    data = Path(config.out) / "data"
    write_tasks(data / "clean", clean, seed=seed, split="train")
    write_tasks(data / "parts", parts, seed=seed, split="train")
    write_tasks(
        data / "faulty",
        clean,
        seed=seed,
        split="train",
        said=lambda number, one: one.with_calls(spoiled[number]),
    )
    write_tasks(data / "tasks", practised, seed=seed, split="train")
    write_tasks(data / "pool", pool, seed=seed, split="train")
    write_tasks(data / "all", [*clean, *parts, *practised], seed=seed, split="train")
    write_tasks(data / "seen", seen, seed=seed, split="test")
    write_tasks(data / "unseen", unseen, seed=seed, split="test")
    return {
        "sizes": {
            "clean": len(clean),
            "parts": len(parts),
            "faulty": sum(spoiled[number] != task.groups for number, task in enumerate(clean)),
            "tasks": len(practised),
            "pool": len(pool),
            "seen": len(seen),
            "unseen": len(unseen),
        },
        "overlap": overlap,
        "compositions": _compositions(practised, unseen),
    }


def draw_sets(config: StudyConfig) -> dict[str, list[StudyTask]]:
    """Draw every set of tasks; the same ones for the same configuration.

    Raises:
        UserError: There are not so many requests as the sets want.
    """
    check_sizes(config)
    seed = config.seed
    if config.talks:
        return _draw_conversations(config)
    clean = draw_tasks(config.demonstrations, seed=seed, first_house=0)
    taken = frozenset(task.query for task in clean)
    parts = draw_tasks(
        config.scarce_demonstrations, seed=seed, first_house=_HOUSES, errands=_PARTS, without=taken
    )
    taken |= {task.query for task in parts}
    practised = draw_tasks(config.tasks, seed=seed, first_house=2 * _HOUSES, errands=_ERRANDS, without=taken)
    taken |= {task.query for task in practised}
    seen = draw_tasks(config.test, seed=seed, first_house=3 * _HOUSES, without=taken)
    unseen = draw_tasks(
        config.test,
        seed=seed,
        first_house=4 * _HOUSES,
        unseen=True,
        without=taken | {task.query for task in seen},
    )
    held_out = frozenset(task.query for task in (*seen, *unseen))
    pool = draw_tasks(config.pool, seed=seed, first_house=5 * _HOUSES, without=taken | held_out)
    return {"clean": clean, "parts": parts, "tasks": practised, "pool": pool, "seen": seen, "unseen": unseen}


def _draw_conversations(config: StudyConfig) -> dict[str, list[StudyTask]]:
    found: dict[str, list[StudyTask]] = {}
    taken: frozenset[str] = frozenset()
    wanted = {
        "parts": config.demonstrations,
        "tasks": config.tasks,
        "seen": config.test,
        "unseen": config.test,
    }
    for place, (name, number) in enumerate(wanted.items()):
        found[name] = draw_conversations(
            number,
            seed=config.seed,
            first_house=place * _HOUSES,
            unseen=name == "unseen",
            without=taken,
        )
        taken |= {task.query for task in found[name]}
    return found


def check_sizes(config: StudyConfig) -> None:
    """Refuse sets that want more requests of one errand than there are: no request occurs in two sets.

    Raises:
        UserError: They do.
    """
    if config.talks:
        return  # there are hundreds of thousands
    wanted = {
        "demonstrations": of_one_errand(config.demonstrations, _ERRANDS),
        "scarce_demonstrations": of_one_errand(config.scarce_demonstrations, _PARTS),
        "tasks": of_one_errand(config.tasks, _ERRANDS),
        "test": of_one_errand(config.test, _ERRANDS),
        "pool": of_one_errand(config.pool, _ERRANDS),
    }
    there = single_requests()
    if sum(wanted.values()) > there:
        parts = ", ".join(f"{name} {number}" for name, number in wanted.items())
        raise UserError(
            f"the sets want {sum(wanted.values())} requests of one errand, and there are {there}: {parts}",
            where="tasks of the study",
            fix="lower one of these, as --set pool=160 or --set scarce_demonstrations=900",
        )


def choose_mixed(config: StudyConfig, wins: dict[str, int], tries: int) -> dict[str, int]:
    """Write the set `mixed`: tasks of the pool that the start of `scarce` now solves and now does not.

    Where all tries of a task end alike its rollouts have no advantage. Those nearest to one success in two come first;
    where there are too few, all that are mixed are taken, and where there are none, the pool's first tasks.

    Args:
        config: The study.
        wins: Successes by request.
        tries: Of each.

    Returns:
        How many tasks were tried, how many are mixed, and how many are practised.
    """
    pool = draw_sets(config)["pool"]
    mixed = [task for task in pool if 0 < wins[task.query] < tries]
    chosen = sorted(mixed, key=lambda task: abs(2 * wins[task.query] - tries))[: config.tasks]
    chosen = chosen or pool[: config.tasks]
    folder = Path(config.out) / "data" / "mixed"
    shutil.rmtree(folder, ignore_errors=True)  # of a unit that was killed after writing it
    write_tasks(folder, chosen, seed=config.seed, split="train")
    return {"pool": len(pool), "mixed": len(mixed), "practised": len(chosen)}


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
    from planarena.trainers.local.model import Policy, make_tiny, save_model
    from planarena.trainers.loop.data import load_texts
    from planarena.trainers.loop.tokenizer import ChatTokenizer, train_tokenizer
    from planarena.trainers.types import Needs

    folder = Path(config.out) / "base"
    rollout = rollout_config(config, episodes=True)
    training = TrainConfig(
        model=ModelConfig(path="tiny", tiny=config.tiny),
        data=data_config(config, "all", mode="episodes" if config.talks else "steps"),
        rollout=rollout,
    )
    chat = ChatTokenizer(train_tokenizer(load_texts(training, Needs(experts=True)), config.tiny.vocabulary))
    positions = int(rollout.max_prompt_length or 1) + 2 * int(rollout.max_response_length or 1) + 64
    model = make_tiny(config.tiny, chat, seed=config.seed, positions=positions)
    folder.mkdir(parents=True, exist_ok=True)
    save_model(Policy(model, chat), folder)
    return folder
