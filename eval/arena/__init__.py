"""The PlanArena bench: a policy acts in scenarios that no build draws, and the goal predicate says what it reached."""

from __future__ import annotations

from planarena.bench import BENCH, Played, Task, load_tasks, play
from planarena.eval.arena.suite import describe, generate, score

__all__ = ["BENCH", "Played", "Task", "describe", "generate", "load_tasks", "play", "score"]
