"""Whether a tool is used, and if not, why and what its author may write."""

from __future__ import annotations

from typing import NamedTuple

from planarena.tools.tool import Tool

__all__ = ["Verdict", "advice"]


class Verdict(NamedTuple):
    """Whether a tool is used; where it is not, why, and what to write."""

    tool: str
    used: bool
    why: str
    write: str


def advice(unit: str, tool: Tool, reason: str) -> str:
    """Return what to write so that a tool is used; empty where it is.

    Args:
        unit: The name of its unit.
        tool: The tool.
        reason: Why it is not used.
    """
    if not reason:
        return ""
    if "network" in reason:
        return (
            '"network": true for the server, which makes it live'
            if unit.startswith("mcp")
            else "a version of it that answers without the network"
        )
    shown = ", ".join(f'"{key}": ...' for key in tool.required)
    if unit.startswith("python"):
        return f'EXAMPLES = {{"{tool.name}": [{{{shown}}}]}}, with values that work at the start'
    examples = f'{{"{tool.name}": {{"examples": [{{{shown}}}]}}}}'
    return f'"planarena": {{"tools": {examples}}}, with values that work at the start'
