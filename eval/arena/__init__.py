"""The PlanArena bench: a policy acts in scenarios that no build draws, and the goal predicate says what it reached."""

from __future__ import annotations

from planarena.eval.arena.play import Played, play
from planarena.eval.arena.suite import generate, score
from planarena.eval.arena.tasks import BENCH, Task, load_tasks

__all__ = ["BENCH", "Played", "Task", "generate", "load_tasks", "play", "score"]
