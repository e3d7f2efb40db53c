"""Export as ShareGPT: conversations as LLaMA-Factory and its kin read them, one JSON object a line."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import Any, BinaryIO

import msgspec

from planarena.export.folder import OutputFolder
from planarena.export.hugging_face import order_splits
from planarena.export.options import ExportOptions
from planarena.export.trajectories import JoinedTrajectory
from planarena.records import Run, canonical_bytes, canonical_json
from planarena.rows.dialogue import Decision, Dialogue, Observation, openai_tool
from planarena.rows.difficulty import tasks_within
from planarena.rows.run_reading import read_dialogues
from planarena.rows.templates import render_context

__all__ = ["write_sharegpt"]


def write_sharegpt(
    run: Run,
    trajectories: Iterable[JoinedTrajectory],  # noqa: ARG001  every format is called alike
    options: ExportOptions,
    folder: OutputFolder,
    progress: Callable[[int], None],
) -> dict[str, int]:
    """Write `SPLIT.jsonl` and the `dataset_info.json` of LLaMA-Factory; return the rows by split."""
    rows: dict[str, int] = {}
    files: dict[str, BinaryIO] = {}
    with ExitStack() as stack:
        done = 0
        within = tasks_within(run, options.difficulty) if options.difficulty else None
        for dialogue in read_dialogues(run, kinds=options.kinds):
            if dialogue.kind == "gold" and dialogue.label == "negative":
                continue
            if within is not None and dialogue.task_id not in within:
                continue
            done += 1
            split = dialogue.split
            if split not in files:
                files[split] = stack.enter_context(folder.new_file(f"{split}.jsonl").open("wb"))
            files[split].write(canonical_bytes(_line(dialogue, options)) + b"\n")
            rows[split] = rows.get(split, 0) + 1
            progress(done)
    if rows:
        info = {
            f"planarena_{split}": {
                "file_name": f"{split}.jsonl",
                "formatting": "sharegpt",
                "columns": {"messages": "conversations", "system": "system", "tools": "tools"},
            }
            for split in order_splits(rows)
        }
        folder.new_file("dataset_info.json").write_bytes(
            msgspec.json.format(msgspec.json.encode(info)) + b"\n"
        )
    return order_splits(rows)


def _line(dialogue: Dialogue, options: ExportOptions) -> dict[str, Any]:
    dialogue = dialogue.one_call_per_turn() if options.one_call_per_turn else dialogue
    known = render_context(dialogue.known) if options.context else ""
    return {
        "conversations": _conversations(dialogue),
        "system": "\n\n".join(filter(None, (options.system, known))),
        # JSON text, as the readers want it: Arrow would merge the schemas of different tools.
        "tools": canonical_json([openai_tool(tool)["function"] for tool in dialogue.tools]),
        "trajectory_id": dialogue.trajectory_id,
        "split": dialogue.split,
        "domain": dialogue.domain,
        "kind": dialogue.kind,
        "plan": dialogue.plan,
    }


def _conversations(dialogue: Dialogue) -> list[dict[str, str]]:
    said: list[dict[str, str]] = []
    for turn in dialogue.turns:
        if turn.user:
            said.append({"from": "human", "value": turn.user})
        for decision in turn.decisions:
            said += _decision(decision)
    return said


def _decision(decision: Decision) -> list[dict[str, str]]:
    """Return the messages of a decision: several calls are a JSON list, and so are their results."""
    said = [] if decision.text is None else [{"from": "gpt", "value": decision.text}]
    if decision.calls:
        calls = [{"name": call.name, "arguments": call.arguments} for call in decision.calls]
        said.append({"from": "function_call", "value": canonical_json(calls if len(calls) > 1 else calls[0])})
        if any(observation is not None for observation in decision.observations):
            results = [_value(observation) for observation in decision.observations]
            said.append(
                {"from": "observation", "value": canonical_json(results if len(results) > 1 else results[0])}
            )
    return said


def _value(observation: Observation | None) -> Any:
    return None if observation is None else observation.value
