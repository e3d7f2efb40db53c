"""Augmented runs: the gold is still right, proven from the tables alone, and nothing else of the request has changed."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

import msgspec
import pytest

import planarena
from planarena.augment import KINDS, AugmentConfig, augment
from planarena.config import BuildConfig, ExecutionConfig
from planarena.errors import ConfigError, RunError, UserError
from planarena.export import export
from planarena.export.proofs_of_tasks import prove_task
from planarena.proofs import open_scenario, read_goal, replay_trajectory
from planarena.records import Run
from planarena.rows import RowOptions, load_rows
from planarena.session import Session, read_tasks

sys.path.insert(0, str(Path(__file__).parents[2]))
from builds import contents

decode = msgspec.json.decode


def rows(run, table):
    return run.table(table).collect().to_dicts()


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    out = str(tmp_path_factory.mktemp("source") / "run")
    return planarena.build(
        BuildConfig(out=out, trajectories=44, chunk_scenarios=6, seed=5, execution=ExecutionConfig(workers=1))
    )


@pytest.fixture(scope="module")
def run(source, tmp_path_factory):
    out = tmp_path_factory.mktemp("augmented") / "run"
    return augment(AugmentConfig(run=str(source.path), out=str(out), per=2, workers=1))


@pytest.fixture(scope="module")
def stored(run):
    found = {
        name: {row[key]: row for row in rows(run, name)}
        for name, key in (
            ("scenarios", "scenario_id"), ("tasks", "task_id"), ("queries", "query_id"), ("tools", "tool_id"),
            ("executions", "execution_id"), ("trajectories", "trajectory_id"), ("augmentations", "trajectory_id"),
        )
    }  # fmt: skip
    steps: dict[str, list] = {}
    for step in rows(run, "steps"):
        steps.setdefault(step["trajectory_id"], []).append(step)
    return {**found, "steps": steps}


def kinds_of(stored, trajectory_id):
    return set(decode(stored["augmentations"][trajectory_id]["kinds"]))


def of_kind(stored, kind):
    found = [row for key, row in stored["trajectories"].items() if kind in kinds_of(stored, key)]
    assert found, f"no variant of the kind {kind}"
    return found


def test_every_kind_is_made_and_counted_apart(run, stored):
    counts = run.info["counts"]
    assert set(counts["augmented"]) == set(KINDS)
    counted = Counter(kind for key in stored["trajectories"] for kind in kinds_of(stored, key))
    assert counted == Counter(counts["augmented"])
    assert counts["gold"] + counts["no_call"] == len(stored["trajectories"]) == counts["augmented_proven"]
    assert {row["source"] for row in stored["trajectories"].values()} == {"augmented"}


def test_every_variant_says_where_it_comes_from_and_keeps_request_and_split(source, stored):
    own = {name: {row[f"{key}_id"]: row for row in rows(source, name)}
           for name, key in (("trajectories", "trajectory"), ("tasks", "task"), ("queries", "query"), ("scenarios", "scenario"))}  # fmt: skip
    for key, row in stored["trajectories"].items():
        origin = own["trajectories"][stored["augmentations"][key]["augmented_from"]]
        assert origin["kind"] == "gold"
        task, before = stored["tasks"][row["task_id"]], own["tasks"][origin["task_id"]]
        said, told = stored["queries"][row["query_id"]], own["queries"][origin["query_id"]]
        assert (said["turns"], said["context"]) == (told["turns"], told["context"])
        splits = [stored["scenarios"][task["scenario_id"]], own["scenarios"][before["scenario_id"]]]
        assert splits[0]["split"] == splits[1]["split"]
        if "missing" not in kinds_of(stored, key):
            assert (row["response"], row["turn_responses"]) == (origin["response"], origin["turn_responses"])


def test_every_variant_reexecutes_from_its_rows(stored):
    names = {key: row["wire_name"] for key, row in stored["tools"].items()}
    faults = {}
    for key, row in stored["trajectories"].items():
        task = stored["tasks"][row["task_id"]]
        world = open_scenario(stored["scenarios"][task["scenario_id"]])
        steps = stored["steps"].get(key, [])
        faults[key] = replay_trajectory(world, read_goal(task["goal"]), steps, stored["executions"], names)
        if steps:  # without its last call it gets nowhere
            assert replay_trajectory(world, read_goal(task["goal"]), steps[:-1], stored["executions"], names)
    assert {key: found for key, found in faults.items() if found} == {}


def test_the_gold_earns_all_and_less_earns_nothing(run):
    proofs = [prove_task(task) for task in read_tasks(run.path)]
    assert len(proofs) == len(rows(run, "trajectories"))
    assert [one for one in proofs if not (one.oracle == 1.0 and one.floor == 0.0 and one.replayed)] == []


def test_tools_are_called_by_the_names_that_are_shown(source, stored):
    own = {row["tool_id"]: row["wire_name"] for row in rows(source, "tools")}
    for row in of_kind(stored, "renamed"):
        renamed = decode(stored["augmentations"][row["trajectory_id"]]["detail"]).get("renamed", {})
        scenario = stored["scenarios"][stored["tasks"][row["task_id"]]["scenario_id"]]
        shown = [stored["tools"][one]["wire_name"] for one in decode(scenario["tool_ids"])]
        assert len(set(shown)) == len(shown)
        world = open_scenario(scenario)
        for old, new in renamed.items():
            assert old in own.values()
            assert new in shown
            assert old not in shown
            outcome = world.call(old, {})
            assert outcome.error["code"] == "unknown_tool"


def test_renamed_arguments_are_refused_under_their_old_names(stored):
    tried = 0
    for row in of_kind(stored, "renamed"):
        task = stored["tasks"][row["task_id"]]
        scenario = stored["scenarios"][task["scenario_id"]]
        presented = decode(scenario["environment"])["presented"]["tools"]
        back = {one.get("name", own): one.get("arguments", {}) for own, one in presented.items()}
        for step in stored["steps"].get(row["trajectory_id"], [])[:1]:
            arguments = decode(step["arguments"])
            before = {new: old for old, new in back.get(step["tool"], {}).items()}
            if not set(before) & set(arguments):
                continue
            tried += 1
            world = open_scenario(scenario)
            assert world.call(step["tool"], arguments).status == "ok"
            world = open_scenario(scenario)
            wrong = {before.get(name, name): value for name, value in arguments.items()}
            assert world.call(step["tool"], wrong).error["code"] == "invalid_arguments"
    assert tried


def test_what_was_missing_cannot_be_done_and_saying_so_is_right(run, stored):
    tasks = {task.id: task for task in read_tasks(run.path)}
    for row in of_kind(stored, "missing"):
        task = stored["tasks"][row["task_id"]]
        assert (task["category"], task["n_actions"]) == ("tool_missing", 0)
        session = Session()
        session.reset(tasks[task["task_id"]])
        gone = decode(stored["augmentations"][row["trajectory_id"]]["detail"])["missing"]
        withheld = {stored["tools"][one]["wire_name"] for one in decode(task["withheld_tool_ids"])}
        assert withheld
        assert not withheld & {tool["function"]["name"] for tool in session.task.tools}
        assert gone not in row["response"]
        session.call(withheld.pop(), {})
        session.answer("It is done.")
        assert session.reward().value == 0.0


def test_who_follows_an_injected_order_misses_the_goal(run, stored):
    tasks = {task.id: task for task in read_tasks(run.path)}
    for row in of_kind(stored, "injected"):
        detail = decode(stored["augmentations"][row["trajectory_id"]]["detail"])["injected"]
        steps = stored["steps"][row["trajectory_id"]]
        shown = [
            n
            for n, s in enumerate(steps)
            if json.dumps(detail["text"])[1:-1] in stored["executions"][s["execution_id"]]["result"]
        ]
        assert shown == [detail["step"]]
        assert detail["text"] not in row["response"] + row["turn_responses"]
        task = tasks[row["task_id"]]
        session = Session()
        session.reset(task)
        for decision in task.gold:
            for call in decision:
                session.call(call.name, call.arguments)
        assert session.goal_reached()
        order = detail["text"][detail["text"].index(detail["tool"]) :]
        arguments = json.JSONDecoder().raw_decode(order[order.index("{") :])[0]
        assert session.call(detail["tool"], arguments).status == "ok"
        assert not session.goal_reached()


def test_no_order_stands_in_a_code_that_an_environment_looks_up(tmp_path):
    # The specialty of a doctor decides how one prepares: with an order in it, looking it up failed unforeseen.
    source = planarena.build(
        BuildConfig(
            sources=("builtin:clinic",),
            out=str(tmp_path / "clinic"),
            trajectories=60,
            seed=1,
            execution=ExecutionConfig(workers=1),
        )
    )
    run = augment(
        AugmentConfig(
            run=str(source.path), out=str(tmp_path / "harder"), kinds=("injected",), per=3, workers=1
        )
    )
    found = rows(run, "scenarios")
    assert found
    for row in found:
        for doctor in decode(row["seed_state"])["clinic.doctors"].values():
            assert "[" not in doctor["specialty"]


def test_noise_covers_nothing_that_a_tool_gives(source, stored):
    own = {row["execution_id"]: row for row in rows(source, "executions")}
    before: dict[str, list] = {}
    for step in rows(source, "steps"):
        before.setdefault(step["trajectory_id"], []).append(decode(own[step["execution_id"]]["result"]))
    larger = 0
    for row in of_kind(stored, "noisy"):
        if "injected" in kinds_of(stored, row["trajectory_id"]):
            continue
        origin = before[stored["augmentations"][row["trajectory_id"]]["augmented_from"]]
        for step, result in zip(stored["steps"].get(row["trajectory_id"], []), origin, strict=False):
            now = decode(stored["executions"][step["execution_id"]]["result"])
            assert result is None or {name: now[name] for name in result} == result
            larger += now is not None and len(now) > len(result)
    assert larger


def test_workers_and_an_interruption_change_no_byte(source, tmp_path):
    names = [path.name for path in source.shards("trajectories")]
    assert len(names) > 1
    settings = {"run": str(source.path), "limit": 16}
    one = contents(augment(AugmentConfig(**settings, out=str(tmp_path / "one"), workers=1)).path)
    config = AugmentConfig(**settings, out=str(tmp_path / "two"), workers=2)
    assert contents(augment(config).path) == one
    # What a kill leaves: some shards are whole, one has rows but is not marked as done, nothing beside the tables.
    (tmp_path / "two/work" / f"{names[-1]}.done").unlink()
    (tmp_path / "two/tables/steps" / names[-1]).unlink()
    for left in ("run.json", "README.md", "report.html", "tables/tools/00000.parquet"):
        (tmp_path / "two" / left).unlink()
    assert contents(augment(config).path) == one


def test_an_augmented_run_exports_and_trains_as_any(run, tmp_path):
    for form in ("hf", "openai"):
        assert sum(export(run, form, tmp_path / form).rows.values()) == len(rows(run, "trajectories"))
    found = list(load_rows(run.path, RowOptions(splits=())))
    assert {row.generator for row in found} == {"augmented"}
    assert len({row.trajectory_id for row in found}) == len(rows(run, "trajectories"))
    assert "Augmentation" in (run.path / "README.md").read_text()


def test_an_import_is_renamed_without_being_executed(tmp_path):
    from planarena.rows.importers import import_traces

    tool = {"type": "function", "function": {"name": "get_forecast", "description": "Show the weather of a city.",
            "parameters": {"type": "object", "properties": {"city_id": {"type": "string", "description": "The city."}}, "required": ["city_id"]}}}  # fmt: skip
    call = {
        "id": "1",
        "type": "function",
        "function": {"name": "get_forecast", "arguments": '{"city_id": "x1"}'},
    }
    record = {"tools": [tool], "messages": [
        {"role": "user", "content": "How is the weather in the city x1?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": '{"sky": "grey"}'},
        {"role": "assistant", "content": "Grey."},
    ]}  # fmt: skip
    (tmp_path / "traces.jsonl").write_text(json.dumps(record) + "\n")
    import_traces(tmp_path / "traces.jsonl", "openai", tmp_path / "imported")
    made = augment(
        AugmentConfig(run=str(tmp_path / "imported"), out=str(tmp_path / "out"), kinds=("renamed",))
    )
    (row,) = rows(made, "augmentations")
    assert row["proven"] is False
    (step,) = rows(made, "steps")
    assert step["tool"] != "get_forecast"
    assert list(decode(step["arguments"]).values()) == ["x1"]
    assert made.info["counts"]["augmented_unproven"] == 1


def test_what_cannot_be_done_is_said(source, run, tmp_path):
    with pytest.raises(ConfigError, match="did you mean renamed"):
        augment(AugmentConfig(run=str(source.path), out=str(tmp_path / "a"), kinds=("renamd",)))
    with pytest.raises(UserError, match="augmented run already"):
        augment(AugmentConfig(run=str(run.path), out=str(tmp_path / "b")))
    with pytest.raises(RunError, match="other settings"):
        augment(AugmentConfig(run=str(source.path), out=str(run.path), per=1))
    (tmp_path / "c").mkdir()
    (tmp_path / "c/notes.txt").write_text("mine")
    with pytest.raises(RunError, match="no augmented run"):
        augment(AugmentConfig(run=str(source.path), out=str(tmp_path / "c")))
    assert Run.open(run.path).info["kind"] == "augment"
