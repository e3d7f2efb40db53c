"""The PlanArena bench: tasks that a policy plays in their environments, and what its episodes show.

Evaluation, `bench algorithms` and validation in training all play and score through this package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from planarena.lazy import on_first_use

if TYPE_CHECKING:
    from planarena.bench.measures import KINDS, MEASURES, EpisodeMeasures, measure, shares, summarise
    from planarena.bench.playing import Made, Played, parse_reply, play
    from planarena.bench.policies import DoNothing, GoldPolicy, RandomTool, Recorded
    from planarena.bench.policy import Asked, Policy, Reply
    from planarena.bench.shipped import BENCH, HELD_OUT, bench_path
    from planarena.bench.tasks import Task, bench_options, load_tasks

__all__ = [
    "BENCH",
    "HELD_OUT",
    "KINDS",
    "MEASURES",
    "Asked",
    "DoNothing",
    "EpisodeMeasures",
    "GoldPolicy",
    "Made",
    "Played",
    "Policy",
    "RandomTool",
    "Recorded",
    "Reply",
    "Task",
    "bench_options",
    "bench_path",
    "load_tasks",
    "measure",
    "parse_reply",
    "play",
    "shares",
    "summarise",
]

_HOMES = {
    "Asked": "policy",
    "BENCH": "shipped",
    "DoNothing": "policies",
    "EpisodeMeasures": "measures",
    "GoldPolicy": "policies",
    "HELD_OUT": "shipped",
    "KINDS": "measures",
    "MEASURES": "measures",
    "Made": "playing",
    "Played": "playing",
    "Policy": "policy",
    "RandomTool": "policies",
    "Recorded": "policies",
    "Reply": "policy",
    "Task": "tasks",
    "bench_options": "tasks",
    "bench_path": "shipped",
    "load_tasks": "tasks",
    "measure": "measures",
    "parse_reply": "playing",
    "play": "playing",
    "shares": "measures",
    "summarise": "measures",
}

# What a policy is asked is known without an environment being read.
__getattr__, __dir__ = on_first_use(__name__, __all__, _HOMES)
