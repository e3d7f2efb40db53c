"""One episode in an environment: what every player and every server of ours acts through."""

from __future__ import annotations

from planarena.session.session import Reward, Session, Snapshot, observation_text
from planarena.session.task import SessionTask, StoredWorld
from planarena.session.task_set import TaskSet, read_tasks, write_tasks

__all__ = [
    "Reward",
    "Session",
    "SessionTask",
    "Snapshot",
    "StoredWorld",
    "TaskSet",
    "observation_text",
    "read_tasks",
    "write_tasks",
]
