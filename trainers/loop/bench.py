"""Validation on the PlanArena bench: the policy plays tasks as `planarena eval planarena` lets it."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from planarena.bench import (
    BENCH,
    HELD_OUT,
    Policy,
    Task,
    bench_options,
    bench_path,
    load_tasks,
    play,
    shares,
    summarise,
)
from planarena.errors import UserError
from planarena.trainers.config import TrainConfig
from planarena.trainers.loop.metrics import mean

__all__ = ["load_bench", "play_bench"]


def load_bench(config: TrainConfig, stack: ExitStack, say: Callable[[str], None]) -> list[Task]:
    """Return the tasks that validation plays, with prompts as the rows have them; none where no bench is named.

    Args:
        config: Complete.
        stack: Closed after the last episode.
        say: Gets what the choice of the bench means.

    Raises:
        UserError: A run without such tasks, or a format whose prompts are no chat.
        RunError: It is no run, or one of other environments.
    """
    wanted, data = config.validation, config.data
    if not (wanted.bench and wanted.every):
        return []
    options = bench_options(
        data.format, template=data.template, signatures=data.signatures, plan=data.plan or "none"
    )
    path, splits = wanted.bench, wanted.bench_splits
    if wanted.bench == BENCH:
        path, splits = str(stack.enter_context(bench_path())), HELD_OUT
        if wanted.select == "bench":
            say(f"the best checkpoint is chosen on {BENCH}: what it scores there is no held-out result")
    tasks = load_tasks(path, options, splits=splits, allow_empty=True)
    if not tasks:
        raise UserError(
            f"has no task of the splits {', '.join(splits)} in which a policy can act",
            where=f"validation.bench={wanted.bench}",
            fix="build it with --set split.validation=0.1, name other validation.bench_splits, or write "
            f"validation.bench={BENCH}",
        )
    # The first tasks would all be of a few scenarios.
    random.Random(f"validation/{config.seed}").shuffle(tasks)
    return tasks[: wanted.bench_tasks]


def play_bench(
    tasks: Sequence[Task], policy: Policy, samples: int
) -> tuple[dict[str, float], list[dict[str, Any]]]:
    """Return metrics of the episodes and a few of them for people.

    Args:
        tasks: With prompts in the policy's format.
        policy: Who plays.
        samples: Episodes to return.
    """
    episodes = list(play(policy, tasks))
    found = {**shares(episodes), **summarise(episodes)}
    metrics = {f"bench/{name.replace(':', '').replace(' ', '_')}": value for name, value in found.items()}
    metrics["bench/length"] = mean(float(one.tokens or 0) for one in episodes)
    shown = [
        {
            "task": one.task.id,
            "last_message": str(one.task.row.prompt[-1].get("content") or ""),
            "output": "\n".join(one.texts),
            "target": "\n".join(one.task.row.targets),
            "goal": one.goal,
            "success": float(one.success),
        }
        for one in episodes[:samples]
    ]
    return metrics, shown
