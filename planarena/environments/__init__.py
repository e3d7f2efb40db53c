"""Executing calls: state, environments of our own, the world of a scenario, the sandbox for code of others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planarena.environments.contract import (
    BOUND,
    Environment,
    Seed,
    ToolError,
    tool,
)
from planarena.environments.world import Operation, Outcome, World, operations
from planarena.lazy import on_first_use

if TYPE_CHECKING:
    from planarena.environments.sandbox import (
        Limits,
        ReplyError,
        Sandbox,
        Worker,
        WorkerDiedError,
        WorkerTimeoutError,
    )

__all__ = [
    "BOUND",
    "Environment",
    "Limits",
    "Operation",
    "Outcome",
    "ReplyError",
    "Sandbox",
    "Seed",
    "ToolError",
    "Worker",
    "WorkerDiedError",
    "WorkerTimeoutError",
    "World",
    "operations",
    "tool",
]

_CONFINED = ("Limits", "ReplyError", "Sandbox", "Worker", "WorkerDiedError", "WorkerTimeoutError")

# A build over our own environments starts no process of others.
__getattr__, __dir__ = on_first_use(__name__, __all__, dict.fromkeys(_CONFINED, "sandbox"))
