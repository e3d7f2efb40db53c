"""Export for Hugging Face: Parquet files by split, one row a trajectory, and a card that names them.

`datasets.load_dataset(FOLDER)` opens it offline. `tools`, `steps`, `goal` and `context` are JSON text: Arrow would
merge the schemas of different tools and fill them with nulls, and the JSON type of `datasets` does not give every
number back exactly (5.2 reads 0.3 as 0.30000000000000004). `messages` hold strings alone, so that type serves them:
JSON values to `datasets`, JSON text to every other reader of Parquet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from itertools import accumulate, count
from typing import Any

import msgspec

from planarena.export.card import render_header
from planarena.export.card_facts import render_facts
from planarena.export.folder import OutputFolder
from planarena.export.messages import render_messages, render_tool
from planarena.export.options import ExportOptions
from planarena.export.row_groups import RowGroups
from planarena.export.trajectories import JoinedTrajectory
from planarena.quality.splits import SPLITS
from planarena.records import Run, canonical_json

__all__ = ["COLUMNS", "order_splits", "write_hugging_face"]

# Column -> what `datasets` takes it for.
COLUMNS = {
    "trajectory_id": "string",
    "kind": "string",
    "source": "string",
    "split": "string",
    "domain": "string",
    "scenario_id": "string",
    "execution_kind": "string",
    "licence": "string",
    "category": "string",
    "n_actions": "int64",
    "expression": "string",
    "context": "string",
    "query": "string",
    "tools": "string",
    "messages": "json list",
    "plan": "string",
    "steps": "string",
    "response": "string",
    "goal": "string",
}
_FILE_ROWS = 25_000


def write_hugging_face(
    run: Run,
    trajectories: Iterable[JoinedTrajectory],
    options: ExportOptions,
    folder: OutputFolder,
    progress: Callable[[int], None],
) -> dict[str, int]:
    """Write the files; return the rows by split."""
    writers: dict[str, RowGroups] = {}
    with ExitStack() as stack:
        for done, trajectory in enumerate(trajectories, 1):
            split = trajectory.scenario.split
            if split not in writers:
                writers[split] = stack.enter_context(_split_writer(folder, split))
            writers[split].add(_row(trajectory, options))
            progress(done)
    rows = order_splits({split: writer.rows for split, writer in writers.items()})
    if rows:
        folder.new_file("README.md").write_text(_card(run, rows), encoding="utf-8")
    return rows


def order_splits(rows: dict[str, int]) -> dict[str, int]:
    """Return rows by split in the usual order of splits."""
    known = list(SPLITS)
    return dict(
        sorted(rows.items(), key=lambda pair: (known.index(pair[0]) if pair[0] in known else 9, pair[0]))
    )


def _row(trajectory: JoinedTrajectory, options: ExportOptions) -> dict[str, Any]:
    row = trajectory.row
    return {
        "trajectory_id": row.trajectory_id,
        "kind": row.kind,
        "source": row.source,
        "split": trajectory.scenario.split,
        "domain": trajectory.scenario.domain,
        "scenario_id": trajectory.scenario.scenario_id,
        "execution_kind": "+".join(sorted({action.execution_kind for action in trajectory.actions}))
        or "none",
        "licence": "+".join(sorted({tool.licence for tool in trajectory.tools})),
        "category": trajectory.task.category,
        "n_actions": row.n_actions,
        "expression": trajectory.task.expression,
        "context": canonical_json({**trajectory.context, **_said_before(trajectory)}),
        "query": "\n\n".join(trajectory.turns),
        "tools": canonical_json([render_tool(tool) for tool in trajectory.tools]),
        "messages": [
            canonical_json(message) for message in render_messages(trajectory, **options.of_messages())
        ],
        "plan": row.plan,
        "steps": canonical_json([action.as_data() for action in trajectory.actions]),
        "response": row.response,
        "goal": trajectory.task.goal,
    }


def _said_before(trajectory: JoinedTrajectory) -> dict[str, Any]:
    return {"said_before": list(trajectory.said_before)} if trajectory.said_before else {}


def _split_writer(folder: OutputFolder, split: str) -> RowGroups:
    """Return what writes the rows of one split, to a new file whenever one is full."""
    numbers = count()
    return RowGroups(
        lambda: folder.new_file(f"data/{split}-{next(numbers):05d}.parquet"),
        _schema(),
        table=_table,
        file_rows=_FILE_ROWS,
    )


def _table(rows: list[dict[str, Any]]) -> Any:
    import pyarrow

    columns = [_array([row[name] for row in rows], kind) for name, kind in COLUMNS.items()]
    return pyarrow.Table.from_arrays(columns, schema=_schema())


def _array(values: list[Any], kind: str) -> Any:
    """Return a column; Arrow cannot make JSON arrays of Python values by itself."""
    import pyarrow

    if kind != "json list":
        return pyarrow.array(values, pyarrow.type_for_alias(kind))
    offsets = pyarrow.array([0, *accumulate(map(len, values))], pyarrow.int32())
    items = pyarrow.array([item for value in values for item in value], pyarrow.string())
    return pyarrow.ListArray.from_arrays(offsets, pyarrow.ExtensionArray.from_storage(pyarrow.json_(), items))


def _schema() -> Any:
    """Return the Arrow schema with the metadata from which `datasets` learns its features."""
    import pyarrow

    listed = {"feature": {"_type": "Json"}, "_type": "List"}
    stated = {
        name: listed if kind == "json list" else {"dtype": kind, "_type": "Value"}
        for name, kind in COLUMNS.items()
    }
    metadata = {"huggingface": msgspec.json.encode({"info": {"features": stated}}).decode()}
    fields = [
        (name, pyarrow.list_(pyarrow.json_()) if kind == "json list" else pyarrow.type_for_alias(kind))
        for name, kind in COLUMNS.items()
    ]
    return pyarrow.schema(fields, metadata=metadata)


def _card(run: Run, rows: dict[str, int]) -> str:
    header = render_header(
        run,
        [
            {
                "config_name": "default",
                "data_files": [{"split": split, "path": f"data/{split}-*.parquet"} for split in rows],
            }
        ],
    )
    listed = "\n".join(f"- `{split}`: {number} rows" for split, number in rows.items())
    return f"""{header}
# Tool-use trajectories

Multi-step tool-use trajectories, one a row: query, tools, chat messages, plan, steps with observations, answer and
goal. Composed from tools, executed and proven by `planarena`. A scenario is in one split as a whole.

{listed}

```python
import json, datasets
rows = datasets.load_dataset("FOLDER", split="train")
tools = json.loads(rows[0]["tools"])   # OpenAI function-calling shape
steps = json.loads(rows[0]["steps"])   # calls, sources of their values, observations
rows[0]["messages"]                    # system, user, assistant with tool_calls, tool, ..., assistant
```

`tools`, `steps`, `goal` and `context` are JSON text, so that no schema of one tool leaks into another and every
number stays exact. `messages` are JSON values with `datasets` 5 or newer, JSON text with other readers of Parquet.

The sections below speak of the whole run that this was exported from.

{render_facts(run)}"""
