"""Executing calls: state, environments of our own, the world of a scenario, the sandbox for code of others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planarena.environments.contract import (
    BOUND,
    Environment,
    Seed,
    ToolError,
    tool,
)
from planarena.environments.world import Operation, Outcome, World, operations

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

_CONFINED = {"Limits", "ReplyError", "Sandbox", "Worker", "WorkerDiedError", "WorkerTimeoutError"}


def __getattr__(name: str) -> Any:
    # Lazy: a build over our own environments starts no process of others.
    if name in _CONFINED:
        from importlib import import_module

        return getattr(import_module(f"{__name__}.sandbox"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
