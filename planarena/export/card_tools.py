"""Whose tools a run holds: by execution kind, licence and vendor, on offer and called in gold trajectories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from planarena.records import Run
from planarena.records.shards import read_columns
from planarena.tools.tool import vendor_of

__all__ = ["ToolCounts", "count_tools", "largest"]

_SHOWN = 25


class ToolCounts(NamedTuple):
    """Distinct tools by class: (on offer in scenarios, called in gold trajectories)."""

    execution_kind: dict[str, tuple[int, int]]
    licence: dict[str, tuple[int, int]]
    vendor: dict[str, tuple[int, int]]


def count_tools(run: Run) -> ToolCounts:
    """Count the distinct tools of a run, shard by shard."""
    called = set(_called(run))
    offered: dict[str, Counter[str]] = {name: Counter() for name in ToolCounts._fields}
    used: dict[str, Counter[str]] = {name: Counter() for name in ToolCounts._fields}
    columns = ("tool_id", "execution_kind", "licence", "source_kind", "namespace")
    for path in run.shards("tools"):
        for tool_id, kind, licence, source_kind, namespace in zip(*read_columns(path, *columns), strict=True):
            vendor = vendor_of(source_kind, namespace)
            classes = zip(ToolCounts._fields, (kind, licence, vendor), strict=True)
            is_called = bytes.fromhex(tool_id)[:8] in called
            for name, value in classes:
                offered[name][value] += 1
                used[name][value] += is_called
    return ToolCounts(
        **{
            name: {value: (number, used[name][value]) for value, number in sorted(found.items())}
            for name, found in offered.items()
        }
    )


def _called(run: Run) -> Iterator[bytes]:
    """Yield the first 8 bytes of the id of every tool called in a gold trajectory."""
    for steps, trajectories in zip(run.shards("steps"), run.shards("trajectories"), strict=True):
        kinds = zip(*read_columns(trajectories, "trajectory_id", "kind"), strict=True)
        gold = {trajectory_id for trajectory_id, kind in kinds if kind == "gold"}
        made = zip(*read_columns(steps, "trajectory_id", "tool_id"), strict=True)
        # A call of a tool that does not exist bears its name, not an id; gold has none.
        for tool_id in {tool_id for trajectory_id, tool_id in made if trajectory_id in gold}:
            yield bytes.fromhex(tool_id)[:8]


def largest(counts: Mapping[str, Any], weight: Mapping[str, int]) -> tuple[list[str], list[str]]:
    """Split names into those shown, by weight, and the rest."""
    ordered = sorted(counts, key=lambda name: (-weight.get(name, 0), name))
    return ordered[:_SHOWN], ordered[_SHOWN:]
