"""A build acts through `Episode`, players through the session above it: both have to give the same, to the last byte."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

import planarena
from planarena import BuildConfig, Run
from planarena.config import ExecutionConfig
from planarena.records import canonical_json
from planarena.session import Session, TaskSet, read_tasks

# Every kind of conversation that a build makes; a run that lacks one shows nothing of it.
KINDS = {"plain", "long", "noise", "missing_value", "change_of_mind", "failed_call", "rule"}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Enough tasks for every kind of conversation."""
    return planarena.build(
        BuildConfig(
            out=str(tmp_path_factory.mktemp("kinds") / "run"),
            trajectories=120,
            sources=("builtin:email", "builtin:files", "builtin:travel"),
            execution=ExecutionConfig(workers=1),
        )
    )


@pytest.fixture(scope="module")
def tasks(run: Run) -> TaskSet:
    return read_tasks(run.path)


@pytest.fixture(scope="module")
def recorded(run: Run) -> dict[str, tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Return each task's gold trajectory and its steps with their executions, as the tables hold them."""
    executions = {row["execution_id"]: row for row in run.table("executions").collect().to_dicts()}
    steps: dict[str, list[dict[str, Any]]] = {}
    for row in sorted(run.table("steps").collect().to_dicts(), key=lambda one: one["step"]):
        step = {**executions[row["execution_id"]], **row}
        steps.setdefault(row["trajectory_id"], []).append(step)
    return {
        row["task_id"]: (row, steps.get(row["trajectory_id"], []))
        for row in run.table("trajectories").collect().to_dicts()
        if row["kind"] == "gold"
    }


def test_the_run_has_every_kind_of_conversation(tasks: TaskSet) -> None:
    kinds = Counter(task.known.kind for task in tasks)
    assert set(kinds) >= KINDS, kinds
    assert any(len(task.turns) > 2 for task in tasks)


def test_a_session_gives_what_the_build_recorded(
    tasks: TaskSet, recorded: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]]
) -> None:
    """Every gold call has the recorded status, result, error and states; the user says the recorded messages."""
    session = Session(tasks)
    assert {task.id for task in tasks} == set(recorded)
    for task in tasks:
        gold, steps = recorded[task.id]
        opening = session.reset(task)
        said = [opening.messages[-1]["content"]]
        waiting, answers = iter(steps), iter([*json.loads(gold["turn_responses"]), gold["response"]])
        for decision in task.gold:
            if not decision:
                message = session.answer(next(answers))
                said += [] if message is None else [message]
            for call in decision:
                step = next(waiting)
                assert (call.name, canonical_json(call.arguments)) == (step["tool"], step["arguments"]), (
                    task.id
                )
                before = session.world.digest()
                outcome = session.call(call.name, call.arguments)
                shown = (outcome.status, _text(outcome.result), _text(outcome.error))
                kept = (step["status"], _same(step["result"]), _same(step["error"]))
                assert shown == kept, task.id
                assert (before, session.world.digest()) == (step["state_before"], step["state_after"]), (
                    task.id
                )
        assert next(waiting, None) is None, task.id
        assert next(answers, None) is None, task.id
        assert tuple(said) == task.turns, (task.id, task.known.kind)
        assert session.reward().value == 1.0, task.id
        assert session.over and not session.spoiled, task.id


def _text(value: Any) -> str:
    return canonical_json(value)


def _same(text: str | None) -> str:
    return canonical_json(None if text is None else msgspec.json.decode(text))


def test_nothing_but_the_session_and_the_build_acts_through_an_episode(root: Path) -> None:
    """Who plays uses the session: the piece below it is made where gold is found and proven, and nowhere else."""
    allowed = ("augment", "episodes", "pipeline", "proofs", "rows", "session")
    package = root / "planarena"
    users = {
        file.relative_to(package).parts[0]
        for file in package.rglob("*.py")
        if "Episode(" in file.read_text(encoding="utf-8")
    }
    assert users <= set(allowed), users
