"""The bench that ships: its gold re-executes to the letter, and no default build draws one of its scenarios."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from planarena import BuildConfig, Run
from planarena.bench import bench_path
from planarena.config import PRESETS
from planarena.eval.arena.making import BENCH_CONFIG, make_bench
from planarena.pipeline.execute.scenarios import draw_scenario
from planarena.proofs import open_scenario, read_goal, replay_trajectory
from planarena.records import content_id


@pytest.fixture(scope="module")
def bench() -> Iterator[Run]:
    with bench_path() as path:
        yield Run.open(path)


def rows(run: Run, table: str) -> list[dict[str, object]]:
    return run.table(table).collect().to_dicts()


def test_every_gold_trajectory_reexecutes_to_what_was_recorded(bench: Run) -> None:
    scenarios = {row["scenario_id"]: row for row in rows(bench, "scenarios")}
    tasks = {row["task_id"]: row for row in rows(bench, "tasks")}
    executions = {row["execution_id"]: row for row in rows(bench, "executions")}
    names = {row["tool_id"]: row["wire_name"] for row in rows(bench, "tools")}
    steps: dict[object, list[dict[str, object]]] = {}
    for step in rows(bench, "steps"):
        steps.setdefault(step["trajectory_id"], []).append(step)
    worlds = {key: open_scenario(row) for key, row in scenarios.items()}
    assert all(worlds[key].digest() == row["seed_state_hash"] for key, row in scenarios.items())
    faults = {}
    replayed = 0
    for trajectory in rows(bench, "trajectories"):
        task = tasks[trajectory["task_id"]]
        listed = steps.get(trajectory["trajectory_id"], [])
        assert len(listed) == task["n_actions"] == trajectory["n_actions"]
        found = replay_trajectory(
            worlds[task["scenario_id"]], read_goal(task["goal"]), listed, executions, names
        )
        replayed += 1
        if found:
            faults[trajectory["trajectory_id"]] = found
    assert faults == {}
    assert replayed == 500
    # The one number that pins the environments: the ids of all executions hold what they gave.
    assert bench.info["executions"] == content_id("bench", sorted(executions))


def test_no_default_build_draws_a_scenario_of_the_bench(bench: Run) -> None:
    ours = {str(row["scenario_id"]) for row in rows(bench, "scenarios")}
    states = {str(row["seed_state_hash"]) for row in rows(bench, "scenarios")}
    assert bench.info["config"]["seed"] == 730_021
    for seed in (0, 1, 2):
        config = BuildConfig(seed=seed, **PRESETS["demo"])
        for number in range(120):
            drawn = draw_scenario(config, number)
            assert drawn.scenario_id not in ours
            assert drawn.world.digest() not in states


def test_the_bench_shares_no_scenario_and_no_request_with_the_sample(bench: Run, root: Path) -> None:
    sample = Run.open(root / "data" / "sample")
    for table, column in (("scenarios", "scenario_id"), ("tasks", "task_id")):
        assert {row[column] for row in rows(bench, table)}.isdisjoint(
            row[column] for row in rows(sample, table)
        )
    # "Can you look up the classes of the coming days?" names nothing, and is said alike where no tool can do it.
    asked = [
        {row["turns"] for row in rows(run, "queries") if row["task_id"] in called}
        for run in (bench, sample)
        for called in [{row["task_id"] for row in rows(run, "tasks") if row["category"] == "call"}]
    ]
    assert all(len(one) > 50 for one in asked)
    assert asked[0].isdisjoint(asked[1])


@pytest.mark.full
def test_a_bench_is_made_whole_and_twice_the_same(bench: Run, tmp_path: Path) -> None:
    # With other environments than those of `planarena-2` its tasks are others, but never their number and kinds.
    config = msgspec.structs.replace(BENCH_CONFIG, seed=730_002)
    first = make_bench(tmp_path / "first", config)
    second = make_bench(tmp_path / "second", config)
    assert first == second
    counts = {name: bench.info["counts"][name] for name in ("tasks", "no_call")}
    assert {name: first["counts"][name] for name in counts} == counts
    for table in bench.tables:
        name = f"tables/{table}/00000.parquet"
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "second" / name).read_bytes()
