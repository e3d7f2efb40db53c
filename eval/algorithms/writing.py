"""The study's tasks as runs: executed and written, so that training and evaluation read them as they read any run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from planarena.environments import operations
from planarena.environments.domains.errands.environment import Errands
from planarena.eval.algorithms.data import House, StudyTask
from planarena.formats import Call
from planarena.pipeline.execute.origins import tool_row
from planarena.records import canonical_json, content_id, write_shard
from planarena.records.tables import (
    FORMAT_VERSION,
    ExecutionRow,
    QueryRow,
    ScenarioRow,
    StepRow,
    TaskRow,
    TrajectoryRow,
)
from planarena.users import Brief

__all__ = ["write_tasks"]


def write_tasks(
    out: Path,
    tasks: Sequence[StudyTask],
    *,
    seed: int,
    split: str,
    said: Callable[[int, StudyTask], StudyTask] | None = None,
    shard: str = "00000",
) -> Path:
    """Write tasks as a run, their trajectories executed.

    Args:
        out: A new folder.
        tasks: The tasks.
        seed: Of the study.
        split: Of all its scenarios.
        said: What is said and done in the trajectory of a task, by its number; None for its gold.
        shard: Of the tables; tools stand in the first one alone.
    """
    names = {name: operation.tool for name, operation in operations(Errands).items()}
    houses: dict[int, House] = {}
    first = shard == "00000"
    tables: dict[str, list[Any]] = {"tools": [tool_row(tool) for tool in names.values()]} if first else {}
    for name in ("scenarios", "tasks", "queries", "trajectories", "steps", "executions"):
        tables[name] = []
    executed: set[str] = set()
    for number, task in enumerate(tasks):
        house = houses.get(task.house)
        if house is None:
            house = houses[task.house] = House(seed, task.house)
            tables["scenarios"].append(_scenario(house, split, names.values()))
        world, start = house.world, house.world.mark()
        for group in task.groups:
            for call in group:
                world.call(call.name, call.arguments)
        goal_hash = world.digest()
        world.rollback(start)
        task_id = content_id("study task", house.scenario_id, task.query)
        trajectory_id = content_id("study trajectory", task_id, split, number)
        tables["tasks"].append(_task_row(task, task_id, house, goal_hash))
        shown = task if said is None else said(number, task)
        brief = Brief(messages=tuple(exchange.message for exchange in shown.exchanges))
        query_id = content_id("study query", task_id)
        turns = canonical_json([message.text for message in brief.messages])
        tables["queries"].append(QueryRow(query_id, task_id, turns, "[]", "plain", "", "{}", _stored(brief)))
        tools = {name: tool.tool_id for name, tool in names.items()}
        steps = _execute(house, shown, trajectory_id, tools, tables, executed)
        tables["trajectories"].append(
            TrajectoryRow(
                trajectory_id,
                task_id,
                query_id,
                "gold",
                "offline",
                "",
                -1,
                "",
                "\n".join(_plan(call) for group in shown.groups for call in group),
                canonical_json([exchange.answer for exchange in shown.exchanges[:-1]]),
                shown.exchanges[-1].answer,
                steps,
                said is None,
                said is None,
            )
        )
    for name, rows in tables.items():
        write_shard(out, name, shard, rows)
    info = {
        "format_version": FORMAT_VERSION,
        "kind": "build",
        "seed": seed,
        "counts": {"gold": len(tasks), "scenarios": len(houses)},
    }
    (out / "run.json").write_bytes(msgspec.json.encode(info))
    return out


def _execute(
    house: House,
    shown: StudyTask,
    trajectory_id: str,
    tools: Mapping[str, str],
    tables: Mapping[str, list[Any]],
    executed: set[str],
) -> int:
    """Execute a trajectory and write its steps, and what was not executed before; return how many steps it has."""
    world, start = house.world, house.world.mark()
    step = place = 0
    for turn, exchange in enumerate(shown.exchanges):
        for group in exchange.groups:
            for call in group:
                before = world.digest()
                outcome = world.call(call.name, call.arguments)
                after = world.digest()
                key = content_id("study execution", house.scenario_id, before, call.name, call.arguments)
                if key not in executed:
                    executed.add(key)
                    found = (canonical_json(outcome.result), canonical_json(outcome.error))
                    tables["executions"].append(
                        ExecutionRow(key, outcome.status, *found, before, after, "real", False)
                    )
                where = trajectory_id, step, place, turn
                made = call.name, tools[call.name], _plan(call), canonical_json(call.arguments)
                tables["steps"].append(StepRow(*where, *made, "{}", key, _rationale(call)))
                step += 1
            place += 1
    world.rollback(start)
    return step


def _stored(brief: Brief) -> str:
    """Return the column `brief`, as builds write it: the table has the texts. One request needs none."""
    if len(brief.messages) == 1:
        return "{}"
    bare = tuple(msgspec.structs.replace(one, text="") for one in brief.messages)
    return canonical_json(msgspec.to_builtins(msgspec.structs.replace(brief, messages=bare)))


def _plan(call: Call) -> str:
    return f"{call.name} {' '.join(str(value) for value in call.arguments.values())}"


def _rationale(call: Call) -> str:
    return f"Next comes {_plan(call)}."


def _scenario(house: House, split: str, tools: Iterable[Any]) -> ScenarioRow:
    state = house.world.store.dump()
    return ScenarioRow(
        scenario_id=house.scenario_id,
        title=house.drawn.title,
        description=house.drawn.description,
        domain=Errands.domain,
        tool_ids=canonical_json([tool.tool_id for tool in tools]),
        environment=canonical_json({"kind": "builtin", "domains": [Errands.domain], "safety": "snapshot"}),
        context="{}",
        seed_state=canonical_json(state),
        seed_state_hash=house.world.digest(),
        split=split,
    )


def _task_row(task: StudyTask, task_id: str, house: House, goal_hash: str) -> TaskRow:
    expression = ", ".join(
        f"({' || '.join(call.name for call in group)})" if len(group) > 1 else group[0].name
        for group in task.groups
    )
    outputs = [
        {"tool": tool, "values": [{"pointer": f"/{key}", "value": value} for key, value in result.items()]}
        for tool, result in task.outputs
    ]
    return TaskRow(
        task_id=task_id,
        scenario_id=house.scenario_id,
        expression=expression,
        canonical=expression,
        shape=" > ".join(task.kinds),
        level=len(task.kinds),
        n_actions=task.actions,
        n_parallel_groups=sum(len(group) > 1 for group in task.groups),
        bindings="[]",
        goal=canonical_json({"final_state_hash": goal_hash, "required_outputs": outputs}),
        stop_reason="",
        over_serialised=False,
        category="call",
        withheld_tool_ids="[]",
    )
