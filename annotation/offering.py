"""What a run offers to annotators: its trajectories and decision points as items, a shard at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from planarena.annotation.forms import Item
from planarena.annotation.items import decision_item, is_blind, trajectory_item
from planarena.export.trajectories import join_trajectories
from planarena.records import Run, read_rows
from planarena.records.canonical import content_id
from planarena.records.tables import DecisionPointRow, TrajectoryRow

__all__ = [
    "choose",
    "decision_ids",
    "decision_items",
    "longest",
    "most_choices",
    "trajectory_ids",
    "trajectory_items",
]


def trajectory_ids(run: Run) -> list[str]:
    """Return the ids of all trajectories, in the run's order."""
    return _column(run, "trajectories", "trajectory_id")


def longest(run: Run) -> int:
    """Return the number of actions of a run's longest trajectory."""
    return max(_column(run, "trajectories", "n_actions"), default=1)


def most_choices(run: Run) -> int:
    """Return the largest number of choices at one of a run's decision points, as annotators see them."""
    columns = _column(run, "decision_points", "candidates")
    return max((len(msgspec.json.decode(text, type=list[msgspec.Raw])) for text in columns), default=1)


def decision_ids(run: Run) -> list[str]:
    """Return the ids of all decision points, in the run's order."""
    return _column(run, "decision_points", "decision_point_id")


def _column(run: Run, table: str, name: str) -> list[Any]:
    import pyarrow.parquet

    shards = run.shards(table)
    return [
        one for path in shards for one in pyarrow.parquet.read_table(path, columns=[name])[name].to_pylist()
    ]


def choose(ids: Sequence[str], limit: int | None) -> set[str]:
    """Return the first `limit` ids by hash: the same ones each time, and more of them under a larger limit."""
    return set(sorted(ids, key=_shuffled)[:limit])


def _shuffled(item_id: str) -> str:
    return content_id("order", item_id)


def trajectory_items(
    run: Run,
    wanted: Collection[str],
    blind: float,
    answers: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
) -> Iterator[Item]:
    """Yield trajectories as items; shuffled within a shard, so that neighbours betray nothing.

    Args:
        run: The run.
        wanted: Their ids.
        blind: The share without suggestions.
        answers: For adjudication: what was answered, by trajectory.

    Raises:
        RunError: A shard is damaged or incomplete.
    """
    for path in run.shards("trajectories"):
        checks = _checks(run, path.stem)
        joined = join_trajectories(run, {path.stem}, partial(_is_among, wanted))
        for one in sorted(joined, key=lambda one: _shuffled(one.row.trajectory_id)):
            name = one.row.trajectory_id
            yield trajectory_item(
                one,
                blind=is_blind(name, blind),
                checks=checks.get(one.row.query_id),
                answers=None if answers is None else answers[name],
            )


def _checks(run: Run, shard: str) -> dict[str, dict[str, Any]]:
    path = run.path / "tables" / "queries" / f"{shard}.parquet"
    rows = read_rows(path, "queries") if path.is_file() else []
    return {row.query_id: msgspec.json.decode(row.checks, type=dict[str, Any]) for row in rows}


def decision_items(run: Run, wanted: Collection[str], blind: float) -> Iterator[Item]:
    """Yield decision points as items, shuffled within a shard.

    Raises:
        RunError: A shard is damaged or incomplete.
    """
    for path in run.shards("decision_points"):
        rows: list[DecisionPointRow] = [
            row for row in read_rows(path, "decision_points") if row.decision_point_id in wanted
        ]
        owners = {row.trajectory_id for row in rows}
        joined = {
            one.row.trajectory_id: one
            for one in join_trajectories(run, {path.stem}, partial(_is_among, owners))
        }
        for row in sorted(rows, key=lambda row: _shuffled(row.decision_point_id)):
            if row.trajectory_id in joined:
                name = row.decision_point_id
                yield decision_item(row, joined[row.trajectory_id], blind=is_blind(name, blind))


def _is_among(names: Collection[str], row: TrajectoryRow) -> bool:
    return row.trajectory_id in names
