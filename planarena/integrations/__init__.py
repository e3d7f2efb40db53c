"""Our environments for other people's trainers, in process: one module per trainer."""

from __future__ import annotations

from planarena.integrations.trl import TaskSpec, episode_reward

__all__ = ["TaskSpec", "episode_reward"]
