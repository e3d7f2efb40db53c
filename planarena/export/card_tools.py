"""Whose tools a run holds: by execution kind, licence and vendor, on offer and called in gold trajectories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from planarena.records import Run
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
    import pyarrow.parquet

    called = set(_called(run))
    offered: dict[str, Counter[str]] = {name: Counter() for name in ToolCounts._fields}
    used: dict[str, Counter[str]] = {name: Counter() for name in ToolCounts._fields}
    columns = ["tool_id", "execution_kind", "licence", "source_kind", "namespace"]
    for path in run.shards("tools"):
        for row in pyarrow.parquet.read_table(path, columns=columns).to_pylist():
            vendor = vendor_of(row["source_kind"], row["namespace"])
            classes = zip(ToolCounts._fields, (row["execution_kind"], row["licence"], vendor), strict=True)
            is_called = bytes.fromhex(row["tool_id"])[:8] in called
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
    import pyarrow.compute
    import pyarrow.parquet

    for steps, trajectories in zip(run.shards("steps"), run.shards("trajectories"), strict=True):
        read = pyarrow.parquet.read_table(trajectories, columns=["trajectory_id", "kind"])
        gold = read.filter(pyarrow.compute.equal(read["kind"], "gold"))["trajectory_id"]
        made = pyarrow.parquet.read_table(steps, columns=["trajectory_id", "tool_id"])
        mine = made.filter(pyarrow.compute.is_in(made["trajectory_id"], value_set=gold))
        for tool_id in pyarrow.compute.unique(mine["tool_id"]).to_pylist():
            # A call of a tool that does not exist bears its name, not an id; gold has none.
            yield bytes.fromhex(tool_id)[:8]


def largest(counts: Mapping[str, Any], weight: Mapping[str, int]) -> tuple[list[str], list[str]]:
    """Split names into those shown, by weight, and the rest."""
    ordered = sorted(counts, key=lambda name: (-weight.get(name, 0), name))
    return ordered[:_SHOWN], ordered[_SHOWN:]
