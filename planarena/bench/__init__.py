"""The PlanArena bench: tasks that a policy plays in their environments, and what its episodes show.

Evaluation, `bench algorithms` and validation in training all play and score through this package.
"""

from __future__ import annotations

from planarena.bench.measures import KINDS, MEASURES, EpisodeMeasures, measure, shares, summarise
from planarena.bench.play import Made, Played, parse_reply, play
from planarena.bench.policies import DoNothing, GoldPolicy, RandomTool, Recorded
from planarena.bench.policy import Asked, Policy, Reply
from planarena.bench.tasks import BENCH, HELD_OUT, Task, bench_options, bench_path, load_tasks

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
