"""Export as OpenAI chat messages: one JSON object a line, one file a split."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import Any, BinaryIO

from planarena.export.folder import OutputFolder
from planarena.export.hugging_face import order_splits
from planarena.export.messages import render_messages, render_tool
from planarena.export.options import ExportOptions
from planarena.export.trajectories import JoinedTrajectory
from planarena.records import Run, canonical_bytes

__all__ = ["write_openai_chat"]


def write_openai_chat(
    run: Run,  # noqa: ARG001  every format is called alike
    trajectories: Iterable[JoinedTrajectory],
    options: ExportOptions,
    folder: OutputFolder,
    progress: Callable[[int], None],
) -> dict[str, int]:
    """Write `train.jsonl`, `validation.jsonl` and `test.jsonl`; return the rows by split."""
    rows: dict[str, int] = {}
    files: dict[str, BinaryIO] = {}
    with ExitStack() as stack:
        for done, trajectory in enumerate(trajectories, 1):
            split = trajectory.scenario.split
            if split not in files:
                files[split] = stack.enter_context(folder.new_file(f"{split}.jsonl").open("wb"))
            files[split].write(canonical_bytes(_line(trajectory, options)) + b"\n")
            rows[split] = rows.get(split, 0) + 1
            progress(done)
    return order_splits(rows)


def _line(trajectory: JoinedTrajectory, options: ExportOptions) -> dict[str, Any]:
    return {
        "messages": render_messages(trajectory, **options.of_messages()),
        "tools": [render_tool(tool) for tool in trajectory.tools],
        "parallel_tool_calls": not options.one_call_per_turn,
        "metadata": {
            "trajectory_id": trajectory.row.trajectory_id,
            "kind": trajectory.row.kind,
            "scenario_id": trajectory.scenario.scenario_id,
            "domain": trajectory.scenario.domain,
            "category": trajectory.task.category,
            "plan": trajectory.row.plan,
        },
    }
