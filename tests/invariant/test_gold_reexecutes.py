"""Every gold trajectory of a build, read back from its tables alone, re-executes to what was recorded."""

from __future__ import annotations

from collections import Counter

import msgspec
import pytest

import planarena
from planarena.config import BuildConfig, ExecutionConfig
from planarena.environments.domains import DOMAINS
from planarena.episodes import reached
from planarena.proofs import open_scenario, read_goal, replay_trajectory
from planarena.tools import SchemaValidator

decode = msgspec.json.decode


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    config = BuildConfig(
        out=str(tmp_path_factory.mktemp("gold") / "run"),
        trajectories=60 * len(DOMAINS),
        chunk_scenarios=len(DOMAINS),
        execution=ExecutionConfig(workers=1),
    )
    return planarena.build(config)


def rows(run, table):
    return run.table(table).collect().to_dicts()


@pytest.fixture(scope="module")
def stored(run):
    steps = {}
    for step in rows(run, "steps"):
        steps.setdefault(step["trajectory_id"], []).append(step)
    return {
        "scenarios": {row["scenario_id"]: row for row in rows(run, "scenarios")},
        "tasks": {row["task_id"]: row for row in rows(run, "tasks")},
        "queries": {row["query_id"]: row for row in rows(run, "queries")},
        "executions": {row["execution_id"]: row for row in rows(run, "executions")},
        "tools": {row["tool_id"]: row for row in rows(run, "tools")},
        "trajectories": [
            row for row in rows(run, "trajectories") if row["kind"] == "gold" and row["n_actions"]
        ],
        "contrastive": [row for row in rows(run, "trajectories") if row["kind"] == "contrastive"],
        "no_call": [
            row for row in rows(run, "trajectories") if row["kind"] == "gold" and not row["n_actions"]
        ],
        "decision_points": rows(run, "decision_points"),
        "steps": steps,
    }


def replay(stored, change=None):
    """Replay every trajectory, its steps changed by `change` first; return the faults by trajectory."""
    names = {tool_id: row["wire_name"] for tool_id, row in stored["tools"].items()}
    worlds, faults = {}, {}
    for trajectory in stored["trajectories"]:
        task = stored["tasks"][trajectory["task_id"]]
        if task["scenario_id"] not in worlds:
            scenario = stored["scenarios"][task["scenario_id"]]
            worlds[task["scenario_id"]] = open_scenario(scenario)
            assert worlds[task["scenario_id"]].digest() == scenario["seed_state_hash"]
        steps = stored["steps"][trajectory["trajectory_id"]]
        if change is not None:
            steps = change(steps)
        found = replay_trajectory(
            worlds[task["scenario_id"]], read_goal(task["goal"]), steps, stored["executions"], names
        )
        faults[trajectory["trajectory_id"]] = found
    return faults


def test_every_gold_trajectory_reexecutes_to_its_results_states_and_goal(stored):
    faults = replay(stored)
    assert len(faults) == 60 * len(DOMAINS)
    assert {key: found for key, found in faults.items() if found} == {}


def test_a_dropped_last_step_never_reaches_the_goal(stored):
    assert all(replay(stored, lambda steps: steps[:-1]).values())


def test_doing_nothing_never_reaches_the_goal(stored):
    for task in stored["tasks"].values():
        if task["category"] != "call":
            continue
        scenario = stored["scenarios"][task["scenario_id"]]
        assert not reached(read_goal(task["goal"]), scenario["seed_state_hash"], [])


def test_arguments_fit_their_schemas_and_ids_are_only_ever_bound(stored):
    validators = {key: SchemaValidator(decode(row["input_schema"])) for key, row in stored["tools"].items()}
    for trajectory in stored["trajectories"]:
        for step in stored["steps"][trajectory["trajectory_id"]]:
            arguments = decode(step["arguments"])
            assert validators[step["tool_id"]].reference_is_valid(arguments)
            properties = decode(stored["tools"][step["tool_id"]]["input_schema"])["properties"]
            hidden = {f"/{name}" for name in arguments if properties[name].get("x-hidden")}
            assert hidden <= set(decode(step["bound_from"]))


def test_no_query_names_a_tool_or_an_id_that_the_user_cannot_know(stored):
    names = {row["wire_name"] for row in stored["tools"].values()}
    for trajectory in stored["trajectories"]:
        text = " ".join(decode(stored["queries"][trajectory["query_id"]]["turns"]))
        assert not any(name in text for name in names if "_" in name)
        assert "{" not in text
        for step in stored["steps"][trajectory["trajectory_id"]]:
            properties = decode(stored["tools"][step["tool_id"]]["input_schema"])["properties"]
            for name, value in decode(step["arguments"]).items():
                if properties[name].get("x-hidden"):
                    assert value not in text


def test_every_literal_is_grounded_in_the_query_or_the_context(stored):
    for trajectory in stored["trajectories"]:
        grounded = decode(stored["queries"][trajectory["query_id"]]["checks"])["grounded"]
        for step in stored["steps"][trajectory["trajectory_id"]]:
            bound = decode(step["bound_from"])
            for name in decode(step["arguments"]):
                where = grounded[f"{step['step']}/{name}"]
                assert where.startswith("step ") if f"/{name}" in bound else where in {"query", "context"}


def test_the_dataset_has_the_promised_variety(stored, run):
    counts = run.info["counts"]
    lengths = Counter(row["n_actions"] for row in stored["trajectories"])
    assert set(lengths) >= set(range(1, 8))
    assert counts["gold_parallel"] >= counts["gold"] / 4
    assert counts["gold_data_edge"] >= counts["gold"] / 2
    assert set(counts["gold_domain"]) >= set(DOMAINS)
    assert any("+" in name for name in counts["gold_domain"])
    # Answers are checked, calls are executed.
    assert set(counts["executions"]) == {"real", "answer_check"}
    assert min(map(len, (row["seed_state"] for row in stored["scenarios"].values()))) >= 8 * 1024


def test_views_in_polars_pandas_and_datasets_agree(run):
    frame = run.table("trajectories").collect()
    assert run.to_pandas("trajectories")["trajectory_id"].tolist() == frame["trajectory_id"].to_list()
    assert run.to_dataset("trajectories")["trajectory_id"][:] == frame["trajectory_id"].to_list()
    assert isinstance(run.to_pandas("tools", decode=True)["input_schema"][0], dict)
    assert run.table("labels").collect().height == 0
