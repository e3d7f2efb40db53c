"""Export for verl: one Parquet file a split for RL, and one for supervised fine-tuning.

RL rows are step-wise decisions. The tools of a row stand in its prompt, and as JSON text in `extra_info`: columns of
schemas or arguments would be merged by Arrow over all rows and padded with nulls. `extra_info.tool_selection` names
them for verl's ToolAgentLoop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import Any

import msgspec

from planarena.export.folder import OutputFolder
from planarena.export.hugging_face import order_splits
from planarena.export.options import ExportOptions
from planarena.export.row_groups import RowGroups
from planarena.export.trajectories import JoinedTrajectory
from planarena.records import Run, canonical_json
from planarena.rows import EpisodeRow, TrainingRow, load_episodes, load_rows

__all__ = ["DATA_SOURCE", "write_verl"]

DATA_SOURCE = "planarena"


def write_verl(
    run: Run,
    trajectories: Iterable[JoinedTrajectory],  # noqa: ARG001  every format is called alike
    options: ExportOptions,
    folder: OutputFolder,
    progress: Callable[[int], None],
) -> dict[str, int]:
    """Write `rl/SPLIT.parquet` and `sft/SPLIT.parquet`; return the RL rows by split.

    Raises:
        UserError: The format `native`, whose messages hold nested calls.
    """
    wanted = options.of_rows()
    done = 0
    with ExitStack() as stack:
        rl = _Splits(folder, "rl", _rl_schema(), stack)
        for row in load_rows(run.path, wanted, allow_empty=True):
            rl.add(row.split, _rl_row(row, rl.rows.get(row.split, 0), options))
            done += 1
            progress(done)
        sft = _Splits(folder, "sft", _sft_schema(), stack)
        for episode in load_episodes(run.path, wanted, allow_empty=True):
            sft.add(episode.split, _sft_row(episode, options))
    return order_splits(rl.rows)


def _rl_row(row: TrainingRow, index: int, options: ExportOptions) -> dict[str, Any]:
    return {
        "data_source": DATA_SOURCE,
        "prompt": options.with_results(row.prompt),
        "ability": "math" if row.format == "math" else "tool_use",
        "reward_model": {"style": "rule", "ground_truth": _json(row.gold)},
        "extra_info": {
            "index": index,
            "split": row.split,
            "row_id": row.row_id,
            "prompt_id": row.prompt_id,
            "trajectory_id": row.trajectory_id,
            "scenario_id": row.scenario_id,
            "task_id": row.task_id,
            "domain": row.domain,
            "category": row.category,
            "polarity": row.polarity,
            "generator": row.generator,
            "format": row.format,
            "target": row.target,
            "rationale": row.rationale,
            "anchor": row.anchor,
            "step": row.step,
            "steps": row.steps,
            "tools": canonical_json(list(row.tools)),
            "tool_selection": [tool["function"]["name"] for tool in row.tools],
            "environment": _json(row.environment),
        },
    }


def _sft_row(episode: EpisodeRow, options: ExportOptions) -> dict[str, Any]:
    return {
        "messages": options.with_results(episode.messages),
        "trajectory_id": episode.trajectory_id,
        "format": episode.format,
        "tools_json": canonical_json(list(episode.tools)),
    }


def _json(value: Any) -> str:
    return canonical_json(msgspec.to_builtins(value))


def _rl_schema() -> Any:
    import pyarrow

    text = pyarrow.string()
    extra = dict.fromkeys(
        "split row_id prompt_id trajectory_id scenario_id task_id domain category polarity generator format "
        "target rationale anchor tools environment".split(),
        text,
    )
    numbers = dict.fromkeys(("index", "step", "steps"), pyarrow.int64())
    return pyarrow.schema(
        {
            "data_source": text,
            "prompt": _messages(),
            "ability": text,
            "reward_model": pyarrow.struct({"style": text, "ground_truth": text}),
            "extra_info": pyarrow.struct({**extra, **numbers, "tool_selection": pyarrow.list_(text)}),
        }
    )


def _sft_schema() -> Any:
    import pyarrow

    text = pyarrow.string()
    return pyarrow.schema(
        {"messages": _messages(), "trajectory_id": text, "format": text, "tools_json": text}
    )


def _messages() -> Any:
    import pyarrow

    text = pyarrow.string()
    return pyarrow.list_(pyarrow.struct({"role": text, "content": text}))


class _Splits:
    """One Parquet file a split, opened when its first row comes."""

    def __init__(self, folder: OutputFolder, name: str, schema: Any, stack: ExitStack) -> None:
        self._folder, self._name, self._schema, self._stack = folder, name, schema, stack
        self._writers: dict[str, RowGroups] = {}
        self.rows: dict[str, int] = {}

    def add(self, split: str, row: dict[str, Any]) -> None:
        if split not in self._writers:
            path = self._folder.new_file(f"{self._name}/{split}.parquet")
            self._writers[split] = self._stack.enter_context(RowGroups(lambda: path, self._schema))
        self._writers[split].add(row)
        self.rows[split] = self.rows.get(split, 0) + 1
