"""The sandbox: processes of third-party code, confined, and workers in them that are called like functions."""

from __future__ import annotations

from planarena.environments.sandbox.bubblewrap import Limits, Sandbox, interpreter_paths, missing
from planarena.environments.sandbox.worker import ReplyError, Worker, WorkerDiedError, WorkerTimeoutError

__all__ = [
    "Limits",
    "ReplyError",
    "Sandbox",
    "Worker",
    "WorkerDiedError",
    "WorkerTimeoutError",
    "interpreter_paths",
    "missing",
]
