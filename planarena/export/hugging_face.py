"""Export for Hugging Face: Parquet files by split, one row a trajectory, and a card that names them.

`datasets.load_dataset(FOLDER)` opens it offline. `tools`, `steps`, `goal` and `context` are JSON text: Arrow would
merge the schemas of different tools and fill them with nulls. Chat templates take `messages` as objects with the
arguments as objects inside. No plain Arrow type holds those apart, so the rows are written twice: `data/` has
messages of the JSON type that `datasets` knows since 4.7, `text/` has them as JSON text for every other reader.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from functools import partial
from itertools import accumulate, count
from typing import Any

import msgspec

from planarena.export.card import render_header
from planarena.export.card_facts import render_facts
from planarena.export.exact_json import exact_json
from planarena.export.folder import OutputFolder
from planarena.export.messages import render_messages, render_tool
from planarena.export.options import ExportOptions
from planarena.export.row_groups import RowGroups
from planarena.export.trajectories import JoinedTrajectory
from planarena.quality.splits import SPLITS
from planarena.records import Run, canonical_json

__all__ = ["COLUMNS", "CONFIGURATIONS", "order_splits", "write_hugging_face"]

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
# Configuration -> its folder.
CONFIGURATIONS = {"default": "data", "text": "text"}
_FILE_ROWS = 25_000


def write_hugging_face(
    run: Run,
    trajectories: Iterable[JoinedTrajectory],
    options: ExportOptions,
    folder: OutputFolder,
    progress: Callable[[int], None],
) -> dict[str, int]:
    """Write the files; return the rows by split."""
    writers: dict[str, dict[str, RowGroups]] = {}
    with ExitStack() as stack:
        for done, trajectory in enumerate(trajectories, 1):
            split = trajectory.scenario.split
            if split not in writers:
                writers[split] = {
                    name: stack.enter_context(_split_writer(folder, name, split)) for name in CONFIGURATIONS
                }
            row = _row(trajectory, options)
            messages = row["messages"]
            writers[split]["default"].add({**row, "messages": list(map(exact_json, messages))})
            writers[split]["text"].add({**row, "messages": canonical_json(messages)})
            progress(done)
    rows = order_splits({split: both["default"].rows for split, both in writers.items()})
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
        # Null without tools: some templates speak of tools where the list is empty.
        "tools": canonical_json([render_tool(tool) for tool in trajectory.tools])
        if trajectory.tools
        else None,
        "messages": render_messages(trajectory, **options.of_messages(), style="template"),
        "plan": row.plan,
        "steps": canonical_json([action.as_data() for action in trajectory.actions]),
        "response": row.response,
        "goal": trajectory.task.goal,
    }


def _said_before(trajectory: JoinedTrajectory) -> dict[str, Any]:
    return {"said_before": list(trajectory.said_before)} if trajectory.said_before else {}


def _split_writer(folder: OutputFolder, configuration: str, split: str) -> RowGroups:
    """Return what writes the rows of one split, to a new file whenever one is full."""
    numbers = count()
    columns = dict(COLUMNS) if configuration == "default" else {**COLUMNS, "messages": "string"}
    return RowGroups(
        lambda: folder.new_file(f"{CONFIGURATIONS[configuration]}/{split}-{next(numbers):05d}.parquet"),
        _schema(columns),
        table=partial(_table, columns),
        file_rows=_FILE_ROWS,
    )


def _table(columns: dict[str, str], rows: list[dict[str, Any]]) -> Any:
    import pyarrow

    arrays = [_array([row[name] for row in rows], kind) for name, kind in columns.items()]
    return pyarrow.Table.from_arrays(arrays, schema=_schema(columns))


def _array(values: list[Any], kind: str) -> Any:
    """Return a column; Arrow cannot make JSON arrays of Python values by itself."""
    import pyarrow

    if kind != "json list":
        return pyarrow.array(values, pyarrow.type_for_alias(kind))
    offsets = pyarrow.array([0, *accumulate(map(len, values))], pyarrow.int32())
    items = pyarrow.array([item for value in values for item in value], pyarrow.string())
    return pyarrow.ListArray.from_arrays(offsets, pyarrow.ExtensionArray.from_storage(pyarrow.json_(), items))


def _schema(columns: dict[str, str]) -> Any:
    """Return the Arrow schema with the metadata from which `datasets` learns its features."""
    import pyarrow

    listed = {"feature": {"_type": "Json"}, "_type": "List"}
    stated = {
        name: listed if kind == "json list" else {"dtype": kind, "_type": "Value"}
        for name, kind in columns.items()
    }
    metadata = {"huggingface": msgspec.json.encode({"info": {"features": stated}}).decode()}
    fields = [
        (name, pyarrow.list_(pyarrow.json_()) if kind == "json list" else pyarrow.type_for_alias(kind))
        for name, kind in columns.items()
    ]
    return pyarrow.schema(fields, metadata=metadata)


def _card(run: Run, rows: dict[str, int]) -> str:
    header = render_header(
        run,
        [
            {
                "config_name": name,
                "data_files": [{"split": split, "path": f"{path}/{split}-*.parquet"} for split in rows],
            }
            for name, path in CONFIGURATIONS.items()
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
rows[0]["messages"]                    # system, user, assistant with tool_calls, tool, ..., assistant
tools = json.loads(rows[0]["tools"])   # OpenAI function-calling shape
steps = json.loads(rows[0]["steps"])   # calls, sources of their values, observations

trl.SFTTrainer(model, train_dataset=rows)   # as it is: TRL reads `messages` and `tools`
```

| configuration | `messages` | for |
|---|---|---|
| `default` | objects; the arguments of a call are an object | `datasets` 4.7 or newer, TRL, chat templates |
| `text` | the same as JSON text | `datasets` 3 to 4.6, pandas, any reader of Parquet: `load_dataset("FOLDER", "text")` |

`tools` (null where there are none), `steps`, `goal` and `context` are JSON text in both, so that no schema of one
tool leaks into another.

The sections below speak of the whole run that this was exported from.

{render_facts(run)}"""
