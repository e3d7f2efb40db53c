"""The trajectories of a run by family: a trajectory, the wrong ones that depart from it, and its decision points.

Columns are read as they are and JSON stays text, so that a report of many trajectories takes seconds.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from planarena.errors import RunError
from planarena.records import Run
from planarena.records.shards import read_columns

__all__ = [
    "Choice",
    "ExecutionRecord",
    "Family",
    "PointRecord",
    "QueryRecord",
    "ScenarioRecord",
    "Shard",
    "StepRecord",
    "TaskRecord",
    "ToolRecord",
    "TrajectoryRecord",
    "read_shard",
    "read_tools",
]


# The fields of each record are the columns that are read, in any order of the file.
class TrajectoryRecord(NamedTuple):
    """What a report needs of a trajectory."""

    trajectory_id: str
    task_id: str
    query_id: str
    kind: str
    parent_id: str
    diverge_step: int
    mutation: str
    plan: str
    turn_responses: str
    response: str
    n_actions: int


class StepRecord(NamedTuple):
    """What a report needs of a step."""

    trajectory_id: str
    step: int
    group: int
    turn: int
    tool: str
    tool_id: str
    plan: str
    arguments: str
    bound_from: str
    execution_id: str


class ExecutionRecord(NamedTuple):
    """What a report needs of an execution."""

    execution_id: str
    status: str
    result: str
    error: str
    execution_kind: str


class TaskRecord(NamedTuple):
    """What a report needs of a task."""

    task_id: str
    scenario_id: str
    expression: str
    bindings: str
    goal: str
    over_serialised: bool
    category: str
    withheld_tool_ids: str


class QueryRecord(NamedTuple):
    """What a report needs of a query."""

    query_id: str
    turns: str
    context: str
    register: str


class ScenarioRecord(NamedTuple):
    """What a report needs of a scenario."""

    scenario_id: str
    title: str
    description: str
    domain: str
    tool_ids: str
    context: str
    split: str


class PointRecord(NamedTuple):
    """What a report needs of a decision point."""

    trajectory_id: str
    step: int
    candidates: str
    turn: int


class ToolRecord(NamedTuple):
    """What a report needs of a tool."""

    tool_id: str
    wire_name: str
    description: str
    effects: str
    execution_kind: str


class Choice(msgspec.Struct):
    """A candidate at a decision point; `arguments` stays JSON text."""

    outcome: str
    tool: str = ""
    arguments: msgspec.Raw = msgspec.Raw(b"{}")
    mutation: str = ""
    relevance: float | None = None
    execution_id: str = ""
    response: str = ""


class Family(NamedTuple):
    """A trajectory with what belongs to it.

    Attributes:
        first: A gold trajectory, or a wrong one without a parent beside it.
        task: What it solves.
        query: What the user says.
        scenario: Where it happens.
        points: (step, choices), by step.
        wrong: The contrastive trajectories that depart from it.
    """

    first: TrajectoryRecord
    task: TaskRecord
    query: QueryRecord
    scenario: ScenarioRecord
    points: list[tuple[int, list[Choice]]]
    wrong: list[TrajectoryRecord]


class Shard(NamedTuple):
    """What stands in the shards of one name.

    Attributes:
        families: In the run's order.
        steps: By trajectory, in order.
        executions: By id.
    """

    families: list[Family]
    steps: dict[str, list[StepRecord]]
    executions: dict[str, ExecutionRecord]


_Record = TypeVar("_Record", bound=tuple[Any, ...])


def read_tools(run: Run) -> dict[str, ToolRecord]:
    """Return the tools of a run by id.

    Raises:
        RunError: A shard is damaged.
    """
    return {tool.tool_id: tool for path in run.shards("tools") for tool in _read(path, ToolRecord)}


_CHOICES = msgspec.json.Decoder(list[Choice])


def read_shard(path: Path) -> Shard:
    """Return a shard of the table `trajectories` with what belongs to it.

    Raises:
        RunError: A row refers to one that is not there, or the shard is damaged.
    """
    trajectories = _read(path, TrajectoryRecord)
    steps: dict[str, list[StepRecord]] = {}
    for step in sorted(_beside(path, "steps", StepRecord), key=lambda one: one.step):
        steps.setdefault(step.trajectory_id, []).append(step)
    executions = {one.execution_id: one for one in _beside(path, "executions", ExecutionRecord)}
    tasks = {one.task_id: one for one in _beside(path, "tasks", TaskRecord)}
    queries = {one.query_id: one for one in _beside(path, "queries", QueryRecord)}
    scenarios = {one.scenario_id: one for one in _beside(path, "scenarios", ScenarioRecord)}
    heads = {one.trajectory_id for one in trajectories if one.kind == "gold"}
    points: dict[str, list[tuple[int, list[Choice]]]] = {}
    wrong: dict[str, list[TrajectoryRecord]] = {}
    for one in trajectories:
        if one.parent_id in heads:
            wrong.setdefault(one.parent_id, []).append(one)
    families = []
    try:
        for point in sorted(
            _beside(path, "decision_points", PointRecord), key=lambda one: (one.turn < 0, one.step, one.turn)
        ):
            # At an answer before the end: -1 for the first message, and so on.
            place = point.step if point.turn < 0 else -1 - point.turn
            points.setdefault(point.trajectory_id, []).append((place, _CHOICES.decode(point.candidates)))
        for one in trajectories:
            if one.parent_id in heads:
                continue
            task, name = tasks[one.task_id], one.trajectory_id
            query, scenario = queries[one.query_id], scenarios[task.scenario_id]
            families.append(Family(one, task, query, scenario, points.get(name, []), wrong.get(name, [])))
    except (KeyError, msgspec.MsgspecError) as error:
        raise RunError(
            f"the run is incomplete: {error}",
            where=str(path),
            fix="run the same `planarena build` command again; it writes what is missing",
        ) from error
    return Shard(families, steps, executions)


def _beside(path: Path, table: str, record: type[_Record]) -> list[_Record]:
    beside = path.parent.parent / table / path.name
    return _read(beside, record) if beside.is_file() else []


def _read(path: Path, record: type[_Record]) -> list[_Record]:
    names: tuple[str, ...] = record._fields  # type: ignore[attr-defined]
    return [record(*values) for values in zip(*read_columns(path, *names), strict=True)]
