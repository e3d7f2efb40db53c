"""Executing calls: state, environments of our own, the world of a scenario."""

from __future__ import annotations

from planarena.environments.environment import BOUND, Environment, Seed, ToolError, proposals, tool
from planarena.environments.world import Operation, Outcome, World, operations

__all__ = [
    "BOUND",
    "Environment",
    "Operation",
    "Outcome",
    "Seed",
    "ToolError",
    "World",
    "operations",
    "proposals",
    "tool",
]
