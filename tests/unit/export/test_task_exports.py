"""Exports that play tasks: the row schema of NeMo Gym, what the proofs leave out, and bytes that stay the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pytest
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from planarena import Run
from planarena.cli import main
from planarena.export import export
from planarena.export.proofs_of_tasks import prove_task
from planarena.formats import Call
from planarena.integrations.trl import TaskSpec
from planarena.rows import RowOptions, load_rows
from planarena.session import read_tasks


class Message(BaseModel):
    model_config = ConfigDict(extra="forbid")
    type: Literal["message"]
    content: str


class FunctionCall(BaseModel):
    model_config = ConfigDict(extra="forbid")
    type: Literal["function_call"]
    name: str
    arguments: str


class Batch(BaseModel):
    model_config = ConfigDict(extra="forbid")
    type: Literal["function_call_batch"]
    calls: list[FunctionCall] = Field(min_length=1)


# The server's own schema of a row: one expected action, told apart by its type.
EXPECTED: TypeAdapter[Any] = TypeAdapter(
    Annotated[Message | FunctionCall | Batch, Field(discriminator="type")]
)


def lines(folder: Path) -> list[dict[str, Any]]:
    return [
        json.loads(line) for file in sorted(folder.glob("*.jsonl")) for line in file.read_text().splitlines()
    ]


def test_rows_of_nemo_gym_pass_their_schema(built_run: Run, tmp_path: Path) -> None:
    from openai.types.responses import ResponseInputParam, ToolParam

    exported = export(built_run, "nemo-gym", tmp_path / "rows")
    found = {row["id"]: row for row in lines(exported.path)}
    items: TypeAdapter[Any] = TypeAdapter(ResponseInputParam)
    tools: TypeAdapter[Any] = TypeAdapter(list[ToolParam])
    options = RowOptions(format="native", plan="none", splits=())
    kinds = set()
    for row in load_rows(built_run.path, options):
        given = found.pop(row.row_id)
        items.validate_python(given["responses_create_params"]["input"])
        tools.validate_python(given["responses_create_params"]["tools"])
        action = EXPECTED.validate_python(given["expected_action"])
        kinds.add(action.type)
        calls = action.calls if action.type == "function_call_batch" else [action]
        if action.type == "message":
            assert action.content == row.gold.response
        else:
            assert [Call(one.name, json.loads(one.arguments)) for one in calls] == list(row.gold.calls)
        listed = given["responses_create_params"]["input"]
        outputs = [one["call_id"] for one in listed if one["type"] == "function_call_output"]
        assert outputs == [one["call_id"] for one in listed if one["type"] == "function_call"]
        assert given["agent_ref"]["type"] == "responses_api_agents"
    assert not found
    assert kinds == {"message", "function_call", "function_call_batch"}


@pytest.mark.parametrize("name", ["openenv", "verifiers", "trl", "nemo-gym"])
def test_an_export_is_the_same_twice(built_run: Run, tmp_path: Path, name: str) -> None:
    first = export(built_run, name, tmp_path / "a" / "tasks").path
    second = export(built_run, name, tmp_path / "b" / "tasks").path
    files = sorted(path.relative_to(first) for path in first.rglob("*") if path.is_file())
    assert files == sorted(path.relative_to(second) for path in second.rglob("*") if path.is_file())
    assert all((first / file).read_bytes() == (second / file).read_bytes() for file in files)
    assert main(["export", str(built_run.path), "--format", name, "--out", str(first)]) == 0


def test_servers_get_no_gold(built_run: Run, tmp_path: Path) -> None:
    tasks = read_tasks(built_run.path)
    answers = [text for task in tasks for text in task.answers if len(text) > 20]
    for name, file in (
        ("openenv", "tasks.jsonl"),
        ("verifiers", "tasks/tasks.jsonl"),
        ("trl", "tasks.jsonl"),
    ):
        text = (export(built_run, name, tmp_path / name / "tasks").path / file).read_text()
        decoded = [json.loads(line) for line in text.splitlines()]
        assert len(decoded) == len(tasks)
        assert not any(row["gold"] or row["answers"] for row in decoded)
        assert not [answer for answer in answers if json.dumps(answer, ensure_ascii=False) in text]


def test_the_trl_folder_opens_without_its_run(built_run: Run, tmp_path: Path) -> None:
    folder = export(built_run, "trl", tmp_path / "tasks").path
    spec, run = TaskSpec(folder, splits=()), TaskSpec(built_run.path, splits=())
    assert spec.train_dataset.to_list() == run.train_dataset.to_list()
    assert set(spec.environment_factory) == set(run.environment_factory)


def test_proofs_find_what_does_not_hold(built_run: Run) -> None:
    tasks = read_tasks(built_run.path)
    task = next(task for task in tasks if task.actions > 1 and len(task.turns) == 1)
    assert prove_task(task).holds
    last = max(place for place, calls in enumerate(task.gold) if calls)
    kept = [calls[:-1] if place == last else calls for place, calls in enumerate(task.gold)]
    less = tuple(calls for place, calls in enumerate(kept) if calls or place != last)
    assert prove_task(msgspec.structs.replace(task, gold=less, actions=task.actions - 1)).oracle == 0.0
    goal = task.open().goal.final_state_hash
    told = ({**task.messages[0], "content": f"{task.messages[0]['content']} {goal}"}, *task.messages[1:])
    leaky = prove_task(msgspec.structs.replace(task, messages=told))
    assert leaky.leaks == (goal,)
    assert not leaky.holds
