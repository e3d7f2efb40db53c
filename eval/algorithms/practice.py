"""A first set of tasks to train on: errands in a small house, written as a run with held-out splits.

>>> write_practice(Path("runs/errands"))  # doctest: +SKIP
{'train': 600, 'validation': 128, 'test': 128}

Which split a task belongs to follows from its request alone, so a task that is held out with one seed is in the training
set of no other.
"""

from __future__ import annotations

from collections import Counter
from hashlib import blake2b
from pathlib import Path

import msgspec

from planarena.environments.domains.errands.environment import Errands
from planarena.errors import UserError
from planarena.eval.algorithms.data import StudyTask, draw_tasks
from planarena.eval.algorithms.writing import write_tasks
from planarena.records.tables import FORMAT_VERSION
from planarena.version import __version__

__all__ = ["PRACTICE_TASKS", "write_practice"]

PRACTICE_TASKS = 600
_HELD_OUT = 128
_ERRANDS = (1, 2)
# Shares of all requests, by their digest.
_VALIDATION, _TEST = 0.12, 0.24
_HOUSES = 100_000


def write_practice(out: Path, *, tasks: int = PRACTICE_TASKS, seed: int = 0) -> dict[str, int]:
    """Draw tasks of one or two errands, execute them and write them as a run.

    Args:
        out: A new folder.
        tasks: Of the split `train`; validation and test get 128 each.
        seed: Of houses and tasks.

    Returns:
        The number of tasks by split.

    Raises:
        UserError: The folder holds something, or there are not so many tasks.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UserError("is there already", where=str(out), fix="choose another --out, or give --fresh")
    counts: dict[str, int] = {}
    lengths, houses, parallel = Counter[str](), set[int](), 0
    for number, (split, wanted) in enumerate(
        {"train": tasks, "validation": _HELD_OUT, "test": _HELD_OUT}.items()
    ):
        found = _draw(split, wanted, seed, number * _HOUSES)
        lengths.update(str(task.actions) for task in found)
        parallel += sum(any(len(group) > 1 for group in task.groups) for task in found)
        houses |= {task.house for task in found}
        write_tasks(out, found, seed=seed, split=split, shard=f"{number:05}")
        counts[split] = len(found)
    gold = sum(counts.values())
    info = {
        "format_version": FORMAT_VERSION,
        "kind": "build",
        "versions": {"planarena": __version__},
        "config": {"sources": [Errands.domain], "trajectories": tasks},
        "seed": seed,
        "stop_reason": "trajectories",
        "counts": {
            "gold": gold,
            "gold_kind": {"real": gold},
            "gold_domain": {Errands.domain: gold},
            "gold_length": dict(sorted(lengths.items())),
            "gold_parallel": parallel,
            "scenarios": len(houses),
        },
        "splits": counts,
        "quarantined": [],
        "cost": {"usd": 0.0, "llm_calls": 0, "tokens": 0},
    }
    (out / "run.json").write_bytes(msgspec.json.encode(info))
    return counts


def _draw(split: str, wanted: int, seed: int, first_house: int) -> list[StudyTask]:
    """Draw the tasks of a split: ever more, until so many belong to it."""
    drawn = int(wanted / (0.76 if split == "train" else 0.12) * 1.1) + 16
    while True:
        tasks = draw_tasks(drawn, seed=seed, first_house=first_house, errands=_ERRANDS)
        found = [task for task in tasks if _split_of(task.query) == split]
        if len(found) >= wanted:
            return found[:wanted]
        drawn += drawn // 4


def _split_of(query: str) -> str:
    digest = blake2b(f"practice/{query}".encode(), digest_size=4).digest()
    share = int.from_bytes(digest, "big") / 2**32
    return "validation" if share < _VALIDATION else "test" if share < _TEST else "train"
