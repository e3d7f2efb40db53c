"""A trajectory with everything that belongs to it, joined from the tables one shard at a time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from planarena.errors import RunError
from planarena.records import Run, read_rows
from planarena.records.shards import read_columns
from planarena.records.tables import (
    DecisionPointRow,
    ExecutionRow,
    QueryRow,
    ScenarioRow,
    StepRow,
    TaskRow,
    ToolRow,
    TrajectoryRow,
)

__all__ = ["Action", "JoinedTrajectory", "OrderEdge", "find_ids", "find_rejected", "join_trajectories"]

# A tool that was called and does not exist has a name and nothing else.
_NO_TOOL = partial(
    ToolRow,
    tool_id="",
    namespace="",
    description="",
    input_schema="{}",
    output_schema="null",
    effects="unknown",
    execution_kind="none",
    determinism="unknown",
    source_kind="",
    source_ref="",
    source_version="",
    source_sha256="",
    licence="unknown",
    schema_repairs="[]",
    contamination="[]",
)


class Action(NamedTuple):
    """One step: the call, where its values came from, and what came back.

    Attributes:
        number: From 0.
        group: Steps of one group may be called together.
        turn: The user's turn that asks for it, from 0.
        tool: What is called; its id is empty where there is no such tool.
        plan: A line of plan.
        arguments: Of the call.
        bound: (argument pointer, source step, result pointer) of each data edge into it.
        status: `ok`, or the kind of failure.
        observation: The result, or the error where the status is not `ok`.
        execution_kind: How honest the execution was.
        asked: Whether the user's message asks for it; what is not asked for only serves another step.
    """

    number: int
    group: int
    turn: int
    tool: ToolRow
    plan: str
    arguments: dict[str, Any]
    bound: tuple[tuple[str, int, str], ...]
    status: str
    observation: Any
    execution_kind: str
    asked: bool = True

    def as_data(self) -> dict[str, Any]:
        """Return the step as exports and `planarena inspect --json` write it."""
        return {
            "step": self.number,
            "group": self.group,
            "turn": self.turn,
            "asked": self.asked,
            "tool": self.tool.wire_name,
            "plan": self.plan,
            "arguments": self.arguments,
            "bound_from": {
                argument: {"step": source, "pointer": pointer} for argument, source, pointer in self.bound
            },
            "status": self.status,
            "observation": self.observation,
            "execution_kind": self.execution_kind,
        }


class OrderEdge(NamedTuple):
    """`later` must come after `earlier` for the state's sake; `evidence` says what a swap changes."""

    earlier: int
    later: int
    evidence: str


class JoinedTrajectory(NamedTuple):
    """A trajectory with its task, scenario, words and actions.

    Attributes:
        row: The trajectory.
        task: What it solves.
        scenario: Where it happens.
        turns: The user's messages.
        said_before: What the user had said before, beyond the scenario's context.
        tools: The tools on offer, in the scenario's order, without those that the task withholds.
        actions: In order; none where no call is right.
        responses: The assistant's answer to each user turn.
        order_edges: The order edges of the task; none for a trajectory that is not gold.
        grounded: Where a value that no step gives is stated: `{"STEP/ARGUMENT": "query" or "context"}`; of a
            contrastive trajectory only before it departs.
    """

    row: TrajectoryRow
    task: TaskRow
    scenario: ScenarioRow
    turns: tuple[str, ...]
    said_before: tuple[str, ...]
    tools: tuple[ToolRow, ...]
    actions: tuple[Action, ...]
    responses: tuple[str, ...]
    order_edges: tuple[OrderEdge, ...]
    grounded: dict[str, str]

    @property
    def context(self) -> dict[str, Any]:
        """What the user told before, as the date."""
        return msgspec.json.decode(self.scenario.context, type=dict[str, Any])

    @property
    def goal(self) -> dict[str, Any]:
        """The final state's hash and the outputs that the response reports."""
        return msgspec.json.decode(self.task.goal, type=dict[str, Any])


def find_ids(run: Run, prefix: str = "", most: int | None = None) -> list[tuple[str, str]]:
    """Return (trajectory id, shard) of the trajectories whose id starts with a prefix, in the run's order.

    Args:
        run: The run.
        prefix: Hexadecimal digits; the empty prefix fits all.
        most: Stop after so many; None finds all.

    Raises:
        RunError: A shard is damaged.
    """
    found: list[tuple[str, str]] = []
    for path in run.shards("trajectories"):
        for name in read_columns(path, "trajectory_id")[0]:
            if name.startswith(prefix):
                found.append((name, path.stem))
                if len(found) == most:
                    return found
    return found


def find_rejected(run: Run) -> frozenset[str]:
    """Return the ids of gold trajectories that people judged negative: nobody should learn to imitate them.

    Raises:
        RunError: A shard is damaged.
    """
    negative = {
        row.trajectory_id
        for path in run.shards("labels")
        for row in _read(path, "labels")
        if row.label == "negative"
    }
    if not negative:
        return frozenset()
    return frozenset(
        row.trajectory_id
        for path in run.shards("trajectories")
        for row in _read(path, "trajectories")
        if row.kind == "gold" and row.trajectory_id in negative
    )


def join_trajectories(
    run: Run, shards: Collection[str] | None = None, keep: Callable[[TrajectoryRow], bool] | None = None
) -> Iterator[JoinedTrajectory]:
    """Yield trajectories with all that belongs to them, in the run's order, holding one shard at a time.

    Rows that belong together stand in shards of one name; only the tools are in one shard for all.

    Args:
        run: The run.
        shards: The names of the shards to read; None reads all.
        keep: Says which trajectories are wanted; None wants all.

    Yields:
        The joined trajectories.

    Raises:
        RunError: A row refers to one that is not there, or a shard is damaged.
    """
    tools = {row.tool_id: row for path in run.shards("tools") for row in _read(path, "tools")}
    for path in run.shards("trajectories"):
        if shards is None or path.stem in shards:
            yield from _join_shard(run, path, tools, keep)


def _read(path: Path, table: str) -> list[Any]:
    import pyarrow

    try:
        return read_rows(path, table)
    except pyarrow.ArrowException as error:
        reason = str(error).splitlines()[0]
        raise RunError(
            f"the shard is damaged: {reason}", where=str(path), fix="build the run again"
        ) from error


def _join_shard(
    run: Run, path: Path, tools: dict[str, ToolRow], keep: Callable[[TrajectoryRow], bool] | None
) -> Iterator[JoinedTrajectory]:
    wanted = [row for row in _read(path, "trajectories") if keep is None or keep(row)]
    if not wanted:
        return

    def read(table: str) -> list[Any]:
        beside = run.path / "tables" / table / path.name
        return _read(beside, table) if beside.is_file() else []

    tasks: dict[str, TaskRow] = {row.task_id: row for row in read("tasks")}
    queries: dict[str, QueryRow] = {row.query_id: row for row in read("queries")}
    scenarios: dict[str, ScenarioRow] = {row.scenario_id: row for row in read("scenarios")}
    executions: dict[str, ExecutionRow] = {row.execution_id: row for row in read("executions")}
    ids = {row.trajectory_id for row in wanted}
    steps: dict[str, list[StepRow]] = {}
    for step in read("steps"):
        if step.trajectory_id in ids:
            steps.setdefault(step.trajectory_id, []).append(step)
    if any(step.tool_id == "" for found in steps.values() for step in found):
        invented = _invented_tools(read("decision_points"))
    else:
        invented = {}
    decode = msgspec.json.decode
    for row in wanted:
        try:
            task = tasks[row.task_id]
            scenario = scenarios[task.scenario_id]
            actions = tuple(
                _action(
                    step,
                    tools[step.tool_id] if step.tool_id else invented[step.execution_id],
                    executions[step.execution_id],
                )
                for step in sorted(steps.get(row.trajectory_id, ()), key=lambda step: step.step)
            )
            query = queries[row.query_id]
            yield JoinedTrajectory(
                row=row,
                task=task,
                scenario=scenario,
                turns=decode(query.turns, type=tuple[str, ...]),
                said_before=decode(query.context, type=tuple[str, ...]),
                tools=tuple(
                    tools[name]
                    for name in decode(scenario.tool_ids, type=list[str])
                    if name not in decode(task.withheld_tool_ids, type=list[str])
                ),
                actions=actions,
                responses=(*decode(row.turn_responses, type=tuple[str, ...]), row.response),
                order_edges=_order_edges(task) if row.kind == "gold" else (),
                grounded=_grounded(query, len(actions) if row.kind == "gold" else row.diverge_step),
            )
        except (KeyError, msgspec.MsgspecError) as error:
            raise RunError(
                f"the trajectory {row.trajectory_id} is incomplete: {error}",
                where=str(path),
                fix="run the same `planarena build` command again; it writes what is missing",
            ) from error


def _invented_tools(points: list[DecisionPointRow]) -> dict[str, ToolRow]:
    """Return by execution the tools that do not exist but were called: only the choices tell their names."""
    found = {}
    for point in points:
        for choice in msgspec.json.decode(point.candidates, type=list[dict[str, Any]]):
            if choice["tool"] and not choice["tool_id"] and choice["execution_id"]:
                found[choice["execution_id"]] = _NO_TOOL(name=choice["tool"], wire_name=choice["tool"])
    return found


def _action(step: StepRow, tool: ToolRow, execution: ExecutionRow) -> Action:
    bound = msgspec.json.decode(step.bound_from, type=dict[str, dict[str, Any]])
    return Action(
        number=step.step,
        group=step.group,
        turn=step.turn,
        tool=tool,
        plan=step.plan,
        arguments=msgspec.json.decode(step.arguments, type=dict[str, Any]),
        bound=tuple((argument, source["step"], source["pointer"]) for argument, source in bound.items()),
        status=execution.status,
        observation=msgspec.json.decode(execution.result if execution.status == "ok" else execution.error),
        execution_kind=execution.execution_kind,
        asked=step.asked,
    )


def _grounded(query: QueryRow, steps: int) -> dict[str, str]:
    """Return where values are stated, for the first steps: later ones of a contrastive trajectory are not the task's."""
    found = msgspec.json.decode(query.checks, type=dict[str, Any]).get("grounded", {})
    return {
        key: origin
        for key, origin in found.items()
        if not origin.startswith("step ") and int(key.partition("/")[0]) < steps
    }


def _order_edges(task: TaskRow) -> tuple[OrderEdge, ...]:
    return tuple(
        OrderEdge(edge["from_step"], edge["step"], edge.get("evidence", ""))
        for edge in msgspec.json.decode(task.bindings, type=list[dict[str, Any]])
        if edge["kind"] == "order"
    )
