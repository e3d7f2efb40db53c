"""The only loop that acts in an environment, and the only check of goal and success."""

from __future__ import annotations

from planarena.episodes.episode import Backend, Episode, ExecutedCall
from planarena.episodes.goal import Goal, RequiredOutput, reached, succeeded
from planarena.episodes.replay import ReplayBackend, WithheldCallError

__all__ = [
    "Backend",
    "Episode",
    "ExecutedCall",
    "Goal",
    "ReplayBackend",
    "RequiredOutput",
    "WithheldCallError",
    "reached",
    "succeeded",
]
