"""Export as OpenAI chat messages: one JSON object a line, one file a split.

A line has the keys of OpenAI's files for fine-tuning and no other. What else there is to say of it stands in
`metadata.csv`, a row a line.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import IO, Any

from planarena.export.folder import OutputFolder
from planarena.export.hugging_face import order_splits
from planarena.export.messages import render_messages, render_tool
from planarena.export.options import ExportOptions
from planarena.export.trajectories import JoinedTrajectory
from planarena.records import Run, canonical_bytes

__all__ = ["METADATA", "write_openai_chat"]

METADATA = ("split", "line", "trajectory_id", "kind", "scenario_id", "domain", "category", "plan")


def write_openai_chat(
    run: Run,  # noqa: ARG001  every format is called alike
    trajectories: Iterable[JoinedTrajectory],
    options: ExportOptions,
    folder: OutputFolder,
    progress: Callable[[int], None],
) -> dict[str, int]:
    """Write `train.jsonl`, `validation.jsonl`, `test.jsonl` and `metadata.csv`; return the rows by split."""
    rows: dict[str, int] = {}
    files: dict[str, IO[bytes]] = {}
    with ExitStack() as stack:
        beside = stack.enter_context(folder.new_file("metadata.csv").open("w", encoding="utf-8", newline=""))
        table = csv.writer(beside, lineterminator="\n")
        table.writerow(METADATA)
        for done, trajectory in enumerate(trajectories, 1):
            split = trajectory.scenario.split
            if split not in files:
                files[split] = stack.enter_context(folder.new_file(f"{split}.jsonl").open("wb"))
            files[split].write(canonical_bytes(_line(trajectory, options)) + b"\n")
            rows[split] = rows.get(split, 0) + 1
            table.writerow((split, rows[split], *_metadata(trajectory)))
            progress(done)
    return order_splits(rows)


def _line(trajectory: JoinedTrajectory, options: ExportOptions) -> dict[str, Any]:
    return {
        "messages": render_messages(trajectory, **options.of_messages()),
        "tools": [render_tool(tool) for tool in trajectory.tools],
        "parallel_tool_calls": not options.one_call_per_turn,
    }


def _metadata(trajectory: JoinedTrajectory) -> tuple[str, ...]:
    row, scenario = trajectory.row, trajectory.scenario
    return (
        row.trajectory_id,
        row.kind,
        scenario.scenario_id,
        scenario.domain,
        trajectory.task.category,
        row.plan,
    )
