"""The PlanArena bench: baselines score what they must, measures count what happened, replies are never invented."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from planarena import Run
from planarena.bench import (
    Asked,
    DoNothing,
    GoldPolicy,
    RandomTool,
    Recorded,
    Reply,
    Task,
    bench_options,
    bench_path,
    load_tasks,
    measure,
    play,
    summarise,
)
from planarena.environments import operations
from planarena.environments.domains import load_domain
from planarena.errors import RunError, UserError
from planarena.formats import Call, get
from planarena.records import write_shard
from planarena.rows import RowOptions
from planarena.rows.prompts import Prompter
from planarena.rows.run_reading import read_dialogues


@pytest.fixture(scope="module")
def tasks() -> list[Task]:
    with bench_path() as path:
        return load_tasks(path)


def share(episodes: Sequence[object]) -> float:
    return sum(one.success for one in episodes) / len(episodes)  # type: ignore[attr-defined]


def test_the_bench_has_500_tasks_of_every_length_and_kind(tasks: list[Task]) -> None:
    assert len(tasks) == len({task.id for task in tasks}) == 500
    kinds = [task.talk if task.talk != "plain" else task.actions or task.category for task in tasks]
    assert {kind: kinds.count(kind) for kind in range(1, 8)} == {
        **dict.fromkeys(range(1, 6), 32),
        6: 30,
        7: 20,
    }
    wanted = {
        "missing_value": 40,
        "failed_call": 40,
        "change_of_mind": 35,
        "long": 40,
        "rule": 25,
        "noise": 30,
    }
    assert {kind: kinds.count(kind) for kind in wanted} == wanted
    assert {
        kinds.count(name) for name in ("tool_missing", "trap", "parameter_missing", "no_tool_needed")
    } == {20}
    assert {task.row.split for task in tasks} == {"test", "unseen_tools"}
    held = {"smart_home", "support"}
    for task in tasks:
        assert (task.row.split == "unseen_tools") == bool(held & set(task.row.domain.split("+")))


@pytest.mark.parametrize("form", ["planarena", "native", "hermes"])
def test_the_gold_succeeds_everywhere_without_waste(form: str) -> None:
    with bench_path() as path:
        tasks = load_tasks(path, bench_options(form), limit=None if form == "planarena" else 8)
    found = list(play(GoldPolicy(tasks), tasks))
    assert share(found) == 1.0
    measured = summarise(found)
    assert {name: measured[name] for name in ("goal", "answered", "steps done")} == dict.fromkeys(
        ("goal", "answered", "steps done"), 1.0
    )
    for name in ("wasted calls", "schema errors", "ungrounded values", "unreadable replies"):
        assert measured[name] == 0.0, name
    # Calls fail in the gold where the conversation is about that, and nowhere else.
    failing = [one for one in found if one.task.talk == "failed_call"]
    assert summarise(failing)["tool errors"] > 0
    assert summarise([one for one in found if one.task.talk != "failed_call"])["tool errors"] == 0.0


def test_doing_nothing_succeeds_only_where_no_call_is_right(tasks: list[Task]) -> None:
    found = list(play(DoNothing(), tasks))
    assert not any(one.success for one in found if one.task.actions)
    # A request of one turn without a call is answered by any answer; whether it is a good one is not judged.
    assert all(one.success == (len(one.task.row.turns) == 1) for one in found if not one.task.actions)


def test_random_tools_hardly_ever_succeed(tasks: list[Task]) -> None:
    found = list(play(RandomTool(), tasks))
    assert share(found) < 0.05
    measured = summarise(found)
    assert measured["ungrounded values"] > 0.3
    # Arguments are drawn from the schemas.
    assert measured["schema errors"] < 0.1


def test_every_negative_trajectory_of_a_build_fails_its_own_task(built_run: Run) -> None:
    tasks = {task.id: task for task in load_tasks(built_run.path, splits=("train", "validation", "test"))}
    prompter = Prompter(RowOptions())
    texts: dict[tuple[str, int], list[str]] = {}
    chosen: list[Task] = []
    for dialogue in read_dialogues(built_run, kinds=("contrastive",)):
        task = tasks[dialogue.task_id]
        said = [prompter.render(prompter.gold(dialogue, place, made)) for place, made in dialogue.decisions()]
        texts[dialogue.trajectory_id, 0] = said
        chosen.append(msgspec.structs.replace(task, id=dialogue.trajectory_id))
    assert len(chosen) >= 50
    found = list(play(Recorded(texts, "planarena"), chosen))
    assert [one.task.id for one in found if one.success or one.goal] == []
    # The same machinery lets the gold of the same tasks pass.
    assert share(list(play(GoldPolicy(list(tasks.values())), list(tasks.values())))) == 1.0


def test_a_tool_that_the_task_withholds_is_unknown(tasks: list[Task]) -> None:
    task = next(task for task in tasks if task.category == "tool_missing")
    name = next(
        name for name in operations(load_domain(task.row.domain.split("+")[0])) if name not in task.offered
    )
    text = get("planarena").render(calls=[Call(name, {})])
    (found,) = play(Recorded({(task.id, 0): [text]}, "planarena"), [task])
    assert found.calls[0].outcome.status == "schema_error"
    assert "no tool named" in found.calls[0].outcome.error["message"]  # type: ignore[index]


def test_a_fault_of_an_environment_costs_its_item_alone(
    tasks: list[Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    from planarena.environments import World

    def fail(self: World, name: str, arguments: dict[str, object]) -> object:
        self.store.view("x").put("rows", "1", {"half": "done"})
        raise ValueError("month must be in 1..12")

    task = next(task for task in tasks if task.actions == 1)
    monkeypatch.setattr(World, "call", fail)
    (found,) = play(GoldPolicy([task]), [task])
    assert not found.success
    assert found.answered
    assert found.calls[0].outcome.error == {
        "code": "internal_error",
        "message": f"{task.calls[0].name} failed: ValueError.",
    }


def test_measures_count_what_happened(tasks: list[Task]) -> None:
    task = next(task for task in tasks if task.actions == 2 and len(task.row.targets) == 3)
    form = get("planarena")
    first, second, answer = task.row.targets
    wrong_tool = form.render(calls=[Call("no_such_tool", {"word": "xylophone"})])
    call = task.calls[0]
    wrong_value = form.render(calls=[Call(call.name, {**call.arguments, "colour_of_it": "ultramarine"})])
    texts = {(task.id, 0): [wrong_tool, wrong_value, first, second, answer]}
    (found,) = play(Recorded(texts, "planarena"), [task])
    counted = measure(found)
    assert found.success
    assert (counted.calls, counted.schema_errors, counted.tool_errors) == (4, 2, 0)
    assert (counted.wasted, counted.done, counted.ungrounded) == (2, 2, 2)
    (half,) = play(Recorded({(task.id, 0): [first, answer]}, "planarena"), [task])
    assert not half.success
    assert (measure(half).done, measure(half).wasted) == (1, None)


def test_the_goal_without_an_answer_is_no_success(tasks: list[Task]) -> None:
    task = next(task for task in tasks if task.actions == 1 and len(task.row.turns) == 1)
    (found,) = play(Recorded({(task.id, 0): [task.row.targets[0]]}, "planarena"), [task])
    assert found.goal
    assert not found.answered
    assert not found.success


def test_a_failed_request_is_reported_and_is_no_answer(tasks: list[Task]) -> None:
    class Half(GoldPolicy):
        def reply(self, asked: Sequence[Asked]) -> list[Reply]:
            said = super().reply(asked)
            broken = {task.id for task in tasks[1:40:2]}
            return [
                Reply(problem="the server is busy") if one.id in broken and one.turn else reply
                for one, reply in zip(asked, said, strict=True)
            ]

    chosen = tasks[:40]
    found = list(play(Half(chosen), chosen))
    assert {one.problem for one in found} == {"", "the server is busy"}
    assert all(one.success == (not one.problem) for one in found)
    # What is done is carried out again without asking; only the failed ones are asked.
    done = {(one.task.id, 0): one.texts for one in found if not one.problem}
    asked: list[str] = []

    class Counting(GoldPolicy):
        def reply(self, batch: Sequence[Asked]) -> list[Reply]:
            asked.extend(one.id for one in batch)
            return super().reply(batch)

    again = list(play(Counting(chosen), chosen, done=done))
    assert share(again) == 1.0
    assert set(asked) == {one.task.id for one in found if one.problem}


def test_a_run_without_held_out_tasks_and_other_tools_are_refused(built_run: Run, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no task of the splits"):
        load_tasks(built_run.path, splits=("unseen_tools",))
    with bench_path() as path:
        run = Run.open(path)
        copy = tmp_path / "other"
        copy.mkdir()
        (copy / "run.json").write_bytes((path / "run.json").read_bytes())
        from planarena.records import read_rows

        for table in run.tables:
            rows = [row for shard in run.shards(table) for row in read_rows(shard, table)]
            if table == "tools":
                rows[0] = msgspec.structs.replace(rows[0], tool_id="0" * 32)
            write_shard(copy, table, "00000", rows)
    with pytest.raises(RunError, match="other versions of 1 tools"):
        load_tasks(copy)


def test_packed_prompts_are_refused() -> None:
    with pytest.raises(UserError, match="pack the history"):
        bench_options("toolrl")
