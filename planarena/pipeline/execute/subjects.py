"""What a call is about: the things it names, takes up and shows, by which composition sees what belongs together.

Nobody asks in one breath for a seat on a flight and for another flight's bags, or for the balance of an account and for
an address. Parts of a task that stand beside each other share a thing: the person, the account, the playlist, the day.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planarena.tools import Tool

__all__ = ["subjects_of"]

# Words shorter than this are no names: "home", "low".
_SHORTEST = 3
# The surfaces of moments; two results have a day in common by chance, two requests seldom have.
_MOMENTS = frozenset({"date", "datetime"})
# Where one of many words is chosen it names a thing, as a room; where one of few, a way of doing: "express".
_FEW = 6


def subjects_of(tool: Tool, arguments: Mapping[str, Any], result: Any) -> frozenset[str]:
    """Return the things that a call is about.

    These are the names and ids among its arguments, the days that it is told, and the names and ids that its result
    gives for one thing, not those of a list's rows. Look-ups are also about what they look up: two bills, two songs.

    Args:
        tool: The tool.
        arguments: The call's.
        result: What it gave.
    """
    found = {f"tool {tool.wire_name}"} if tool.effects == "read" else set[str]()
    for name, value in arguments.items():
        schema = tool.parameters.get(name, {})
        if isinstance(value, str) and not _is_choice(schema) and schema.get("x-surface") != "time":
            found.add(value[:10] if schema.get("x-surface") in _MOMENTS else value)
    properties = tool.output_schema.get("properties", {})
    for name, value in result.items() if isinstance(result, dict) else ():
        if isinstance(value, dict):
            inner = properties.get(name, {}).get("properties", {})
            found |= {one for key, one in value.items() if _is_name(one, inner.get(key, {}))}
        elif _is_name(value, properties.get(name, {})):
            found.add(value)
    return frozenset(one for one in found if len(one) > _SHORTEST)


def _is_name(value: Any, schema: Mapping[str, Any]) -> bool:
    return (
        isinstance(value, str)
        and "x-semantic" in schema
        and not _is_choice(schema)
        and schema.get("x-surface") not in {*_MOMENTS, "time"}
    )


def _is_choice(schema: Mapping[str, Any]) -> bool:
    return len(schema.get("enum", range(_FEW + 1))) <= _FEW
