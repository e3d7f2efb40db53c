"""The session: gold to 1 and everything else to 0, going back and forth, and tasks that stand without their run."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planarena import Run
from planarena.errors import UserError
from planarena.session import (
    Session,
    SessionTask,
    Snapshot,
    TaskSet,
    observation_text,
    read_tasks,
    write_tasks,
)


@pytest.fixture(scope="module")
def tasks(built_run: Run) -> TaskSet:
    return read_tasks(built_run.path)


def play_gold(
    session: Session, task: SessionTask, *, skip: int | None = None, answer: bool = True
) -> list[str]:
    """Do what the gold does, but for one call, and with or without the last answer; return what was shown."""
    session.reset(task)
    shown, number = [], 0
    answers = iter(task.answers)
    for decision in task.gold:
        if not decision:
            text = next(answers)
            if answer or len(session.answers) + 1 < len(task.turns):
                session.answer(text)
            continue
        for call in decision:
            if number != skip:
                shown.append(observation_text(session.call(call.name, call.arguments)))
            number += 1
    return shown


def test_the_gold_of_every_task_earns_one(tasks: TaskSet) -> None:
    session = Session(tasks)
    for task in tasks:
        play_gold(session, task)
        reward = session.reward()
        assert (reward.value, reward.goal, reward.answered) == (1.0, True, True)
        assert reward.calls == task.actions
    assert len(tasks) > 40


def test_a_call_left_out_or_no_answer_earns_nothing(tasks: TaskSet) -> None:
    session = Session(tasks)
    for task in tasks:
        play_gold(session, task, answer=False)
        assert session.reward().value == 0.0
        assert session.reward().goal
        if task.actions:
            # The last one: what earlier ones look up, this policy knows without looking.
            play_gold(session, task, skip=task.actions - 1)
            assert session.reward().value == 0.0, task.id
            assert session.reward().answered


def test_where_no_call_is_right_a_look_earns_nothing(tasks: TaskSet) -> None:
    without = [task for task in tasks if not task.actions]
    assert without
    session = Session(tasks)
    for task in without:
        session.reset(task)
        session.call(sorted(task.offered)[0], {})
        for text in task.answers:
            session.answer(text)
        assert session.reward().value == 0.0


def test_the_user_goes_on_until_the_last_message(tasks: TaskSet) -> None:
    # One who held something back says it only when asked.
    told = {"plain", "long", "noise"}
    task = next(task for task in tasks if len(task.turns) > 1 and task.known.kind in told)
    session = Session()
    opening = session.reset(task)
    assert opening.messages[-1] == {"role": "user", "content": task.turns[0]}
    said = [session.answer(f"answer {number}") for number in range(len(task.turns))]
    assert said == [*task.turns[1:], None]
    assert session.answered
    assert session.answers == [f"answer {number}" for number in range(len(task.turns))]


def test_what_the_task_withholds_cannot_be_called(tasks: TaskSet) -> None:
    session = Session(tasks)
    held = 0
    for task in tasks:
        session.reset(task)
        for name in set(session.world.operations) - task.offered:
            before = session.world.digest()
            outcome = session.call(name, {})
            assert outcome.error == {"code": "unknown_tool", "message": f"There is no tool named {name}."}
            assert session.world.digest() == before
            held += 1
    assert held


@settings(max_examples=60)
@given(st.integers(0, 10_000))
def test_any_point_can_be_gone_to(tasks: TaskSet, seed: int) -> None:
    """A walk with jumps shows at every point what a new session shows that does the same events only."""
    rng = Random(seed)
    session, other = Session(tasks), Session(tasks)
    session.reset(seed=seed)
    task = session.task
    assert task is not None
    other.reset(task)
    calls = [call for decision in task.gold for call in decision]
    points: list[Snapshot] = [session.snapshot()]
    for _ in range(12):
        kind = rng.random()
        if kind < 0.55 and calls:
            call = rng.choice(calls)
            session.call(call.name, call.arguments if rng.random() < 0.9 else {"nonsense": 1})
        elif kind < 0.7 and not session.answered:
            session.answer("so it is")
        else:
            session.restore(rng.choice(points))
        points.append(session.snapshot())
    fresh = Session(tasks)
    fresh.reset(task)
    fresh.restore(session.snapshot())
    assert _state(fresh) == _state(session)
    assert other.snapshot().events == ()
    while session.undo():
        pass
    assert _state(session) == _state(other)


def _state(session: Session) -> Any:
    observed = [(name, observation_text(outcome), outcome.status) for name, outcome in session.observed]
    return session.world.digest(), observed, session.answers, session.answered, session.reward()


def test_a_point_of_another_task_is_refused(tasks: TaskSet) -> None:
    session = Session(tasks)
    session.reset(tasks[0])
    point = session.snapshot()
    session.reset(tasks[1])
    with pytest.raises(UserError, match="another task"):
        session.restore(point)


def test_sessions_do_not_see_each_other(tasks: TaskSet) -> None:
    task = max(tasks, key=lambda one: one.actions)
    left, right = Session(), Session()
    left.reset(task)
    right.reset(task)
    before = right.world.digest()
    play_gold(left, task)
    assert right.world.digest() == before
    assert right.reward().calls == 0


def test_tasks_stand_without_their_run(tasks: TaskSet, tmp_path: Path) -> None:
    file = tmp_path / "tasks.jsonl"
    assert write_tasks(file, tasks) == len(tasks)
    again = read_tasks(file)
    assert [task.id for task in again] == [task.id for task in tasks]
    assert write_tasks(tmp_path / "twice.jsonl", again) == len(tasks)
    assert (tmp_path / "twice.jsonl").read_bytes() == file.read_bytes()
    session, ours = Session(again), Session(tasks)
    for task in again:
        assert play_gold(session, task) == play_gold(ours, tasks.get(task.id))
        assert session.reward() == ours.reward()
        assert session.reward().value == 1.0


def test_a_seed_draws_one_task_and_seeds_differ(tasks: TaskSet) -> None:
    assert [tasks.draw(seed).id for seed in range(20)] == [tasks.draw(seed).id for seed in range(20)]
    assert len({tasks.draw(seed).id for seed in range(20)}) > 5


def test_faults_cost_one_episode(tasks: TaskSet) -> None:
    session = Session(tasks, most_calls=3)
    session.reset(seed=1)
    for arguments in ({}, {"\x00": [None]}, {"a": {"b": "c"}}):
        assert session.call("no_such_tool", arguments).status == "schema_error"
    outcome = session.call("no_such_tool", {})
    assert outcome.error is not None
    assert outcome.error["code"] == "too_many_calls"
    assert session.reward().calls == 3
    session.close()
    with pytest.raises(UserError, match="no episode is under way"):
        session.call("no_such_tool", {})
    with pytest.raises(UserError, match="there is no task"):
        session.reset("nothing")
