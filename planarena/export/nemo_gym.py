"""Export as rows of NeMo Gym: one decision a line, for its server that compares calls with the expected ones.

A row has `responses_create_params` (the dialogue before the decision as items of the Responses API, and the tools),
`expected_action` (`message`, `function_call`, or `function_call_batch` for calls of one turn) and `agent_ref`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from typing import IO, Any

from planarena.export.folder import OutputFolder
from planarena.export.hugging_face import order_splits
from planarena.export.openenv import project_name
from planarena.export.options import ExportOptions
from planarena.export.projects import render
from planarena.export.trajectories import JoinedTrajectory
from planarena.formats import Gold
from planarena.records import Run, canonical_bytes, canonical_json
from planarena.rows import RowOptions, TrainingRow, load_rows

__all__ = ["AGENT", "write_nemo_gym"]

AGENT = "single_step_tool_use_with_argument_comparison_agent"


def write_nemo_gym(
    run: Run,
    _trajectories: Iterable[JoinedTrajectory],
    options: ExportOptions,
    folder: OutputFolder,
    progress: Callable[[int], None],
) -> dict[str, int]:
    """Write `train.jsonl`, `validation.jsonl`, `test.jsonl` and a README; return the rows by split."""
    wanted = RowOptions(
        format="native",
        plan="none",
        splits=(),
        difficulty=options.difficulty,
        context=options.context,
        one_call_per_turn=options.one_call_per_turn,
    )
    rows: dict[str, int] = {}
    files: dict[str, IO[bytes]] = {}
    with ExitStack() as stack:
        for done, row in enumerate(load_rows(run.path, wanted), 1):
            if row.split not in files:
                files[row.split] = stack.enter_context(folder.new_file(f"{row.split}.jsonl").open("wb"))
            files[row.split].write(canonical_bytes(_row(row, options)) + b"\n")
            rows[row.split] = rows.get(row.split, 0) + 1
            progress(done)
    rows = order_splits(rows)
    render(
        folder,
        "nemo_gym",
        {"README.md.txt": "README.md"},
        name=project_name(folder),
        counts=", ".join(f"{split}: {number}" for split, number in rows.items()),
        agent=AGENT,
    )
    return rows


def _row(row: TrainingRow, options: ExportOptions) -> dict[str, Any]:
    return {
        "id": row.row_id,
        "responses_create_params": {
            "input": list(_items(row.prompt, options.system)),
            "tools": [
                {
                    "type": "function",
                    "name": tool["function"]["name"],
                    "description": tool["function"].get("description", ""),
                    "parameters": tool["function"].get("parameters") or {"type": "object", "properties": {}},
                    "strict": False,
                }
                for tool in row.tools
            ],
            "parallel_tool_calls": not options.one_call_per_turn,
        },
        "expected_action": _expected(row.gold),
        "agent_ref": {"type": "responses_api_agents", "name": AGENT},
    }


def _expected(gold: Gold) -> dict[str, Any]:
    calls = [
        {"type": "function_call", "name": call.name, "arguments": canonical_json(call.arguments)}
        for call in gold.calls
    ]
    if not calls:
        return {"type": "message", "content": gold.response or ""}
    return calls[0] if len(calls) == 1 else {"type": "function_call_batch", "calls": calls}


def _items(messages: Iterable[dict[str, Any]], system: str) -> Iterator[dict[str, Any]]:
    """Yield chat messages as items of the Responses API."""
    if system:
        yield {"type": "message", "role": "system", "content": system}
    for message in messages:
        if message["role"] == "tool":
            yield {
                "type": "function_call_output",
                "call_id": message["tool_call_id"],
                "output": message["content"],
            }
            continue
        if message.get("content"):
            yield {"type": "message", "role": message["role"], "content": message["content"]}
        for call in message.get("tool_calls") or ():
            yield {
                "type": "function_call",
                "call_id": call["id"],
                "name": call["function"]["name"],
                "arguments": call["function"]["arguments"],
            }
