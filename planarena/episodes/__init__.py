"""The only loop that acts in an environment, and the only goal check."""

from __future__ import annotations

from planarena.episodes.episode import Backend, Episode, Taken
from planarena.episodes.goal import Goal, RequiredOutput, reached

__all__ = ["Backend", "Episode", "Goal", "RequiredOutput", "Taken", "reached"]
