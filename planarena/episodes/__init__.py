"""The only loop that acts in an environment, and the only check of goal and success."""

from __future__ import annotations

from planarena.episodes.episode import Backend, Episode, Taken
from planarena.episodes.goal import Goal, RequiredOutput, reached, succeeded

__all__ = ["Backend", "Episode", "Goal", "RequiredOutput", "Taken", "reached", "succeeded"]
