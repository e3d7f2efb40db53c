"""The gold trajectories of a shard of a run with all that belongs to them, and what can be executed of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from planarena.environments import World
from planarena.environments.wording import parse_pointer
from planarena.errors import RunError, UserError
from planarena.proofs import open_scenario
from planarena.records import Run, read_rows
from planarena.records.tables import (
    ExecutionRow,
    QueryRow,
    ScenarioRow,
    StepRow,
    TaskRow,
    ToolRow,
    TrajectoryRow,
)
from planarena.tasks.algebra import generations, parse
from planarena.tasks.atoms import Binding, Call
from planarena.tools import Tool

__all__ = ["Case", "Scene", "read_cases", "read_tools"]

_decode = msgspec.json.decode


class Scene:
    """A scenario of the run, and its world.

    Args:
        row: Its row.
        tools: The tools of the run by id.
        atoms: (tool id, arguments) of its single calls.
    """

    def __init__(self, row: ScenarioRow, tools: Mapping[str, ToolRow], atoms: list[tuple[str, Any]]) -> None:
        self.row = row
        self.environment: dict[str, Any] = _decode(row.environment)
        self.tools = {tools[one].wire_name: tools[one] for one in _decode(row.tool_ids)}
        self.known = {one.wire_name for one in tools.values()}
        self.atoms = [(tools[one].wire_name, arguments) for one, arguments in atoms]

    @cached_property
    def is_executable(self) -> bool:
        """Its calls can be made again: its environment is here and nothing in it is irreversible."""
        if self.environment.get("kind") == "none" or self.environment.get("safety") == "live":
            return False
        try:
            return self.world().digest() == self.row.seed_state_hash
        except UserError:
            return False

    def world(self, tables: Mapping[str, Any] | None = None) -> World:
        """Return its world in the initial state, or in another one."""
        row = {name: getattr(self.row, name) for name in ("environment", "seed_state", "context")}
        if tables is not None:
            row["seed_state"] = msgspec.json.encode(tables).decode()
        return open_scenario(row)

    @cached_property
    def records(self) -> dict[str, Tool]:
        """The tools that can be on offer by name: those of the world, or those that the run has of it."""
        if self.is_executable:
            operations = self.world().operations
            return {name: operations[name].tool for name in operations if name in self.known}
        return {name: _tool_of(row) for name, row in self.tools.items()}


class Case(msgspec.Struct, frozen=True, dict=True):
    """A gold trajectory.

    Attributes:
        scene: Its scenario.
        trajectory: Its row, and the others that belong to it.
        executions: Of its steps, in order.
    """

    scene: Scene
    trajectory: TrajectoryRow
    task: TaskRow
    query: QueryRow
    steps: tuple[StepRow, ...]
    executions: tuple[ExecutionRow, ...]

    @cached_property
    def arguments(self) -> list[dict[str, Any]]:
        """The arguments of each step."""
        return [_decode(step.arguments) for step in self.steps]

    @cached_property
    def program(self) -> list[Call]:
        """Its calls, with what each takes from earlier ones."""
        found = []
        for step, arguments in zip(self.steps, self.arguments, strict=True):
            bound = {pointer[1:]: source for pointer, source in _decode(step.bound_from).items()}
            literals = {name: value for name, value in arguments.items() if name not in bound}
            taken = tuple(
                Binding(name, source["step"], parse_pointer(source["pointer"]))
                for name, source in bound.items()
            )
            found.append(Call(step.tool, literals, taken))
        return found

    @cached_property
    def results(self) -> list[Any]:
        """What each step gave, or None."""
        return [_decode(one.result) for one in self.executions]

    @cached_property
    def atoms(self) -> list[str]:
        """The ids of the single calls that its steps are."""
        return [atom for row in generations(parse(self.task.canonical)) for atom in row]

    @cached_property
    def texts(self) -> str:
        """All that is said in it."""
        parts = (self.query.turns, self.query.context, self.query.checks, self.trajectory.plan)
        answers = (self.trajectory.turn_responses, self.trajectory.response)
        return "\n".join((*parts, *answers, *(step.plan for step in self.steps)))

    @cached_property
    def turns(self) -> list[str]:
        """The user's messages."""
        found: list[str] = _decode(self.query.turns)
        return found

    @cached_property
    def withheld(self) -> list[str]:
        """The tools that it does not offer, by name."""
        ids = set(_decode(self.task.withheld_tool_ids))
        return [name for name, row in self.scene.tools.items() if row.tool_id in ids]

    @cached_property
    def required(self) -> list[tuple[str, Any]]:
        """(tool, value) of what must have been observed."""
        outputs = _decode(self.task.goal)["required_outputs"]
        return [(one["tool"], value["value"]) for one in outputs for value in one["values"]]

    @property
    def is_proven(self) -> bool:
        """It was executed and proven, and can be again."""
        unproven = _decode(self.task.goal).get("unproven", False)
        return bool(self.scene.is_executable and self.trajectory.minimal and not unproven)


def read_tools(run: Run) -> dict[str, ToolRow]:
    """Return the tools of a run by id."""
    return {row.tool_id: row for path in run.shards("tools") for row in read_rows(path, "tools")}


def read_cases(
    run: Run, shard: Path, tools: Mapping[str, ToolRow], splits: tuple[str, ...], rejected: set[str]
) -> Iterator[Case]:
    """Yield the gold trajectories of a shard that make calls.

    Args:
        run: The run.
        shard: Of the table `trajectories`.
        tools: See `read_tools`.
        splits: Only these; empty for all.
        rejected: Trajectories that people found to be wrong.

    Raises:
        RunError: Rows that belong together are missing.
    """

    def beside(table: str) -> list[Any]:
        path = run.path / "tables" / table / shard.name
        return read_rows(path, table) if path.is_file() else []

    tasks = {row.task_id: row for row in beside("tasks")}
    queries = {row.query_id: row for row in beside("queries")}
    executions = {row.execution_id: row for row in beside("executions")}
    atoms: dict[str, list[tuple[str, Any]]] = {}
    for row in beside("atomic_tasks"):
        atoms.setdefault(row.scenario_id, []).append((row.tool_id, _decode(row.arguments)))
    steps: dict[str, list[StepRow]] = {}
    for row in beside("steps"):
        steps.setdefault(row.trajectory_id, []).append(row)
    try:
        scenes = {
            row.scenario_id: Scene(row, tools, atoms.get(row.scenario_id, []))
            for row in beside("scenarios")
            if not splits or row.split in splits
        }
        for row in read_rows(shard, "trajectories"):
            task = tasks[row.task_id]
            scene = scenes.get(task.scenario_id)
            if row.kind != "gold" or row.trajectory_id in rejected or scene is None or not row.n_actions:
                continue
            own = sorted(steps[row.trajectory_id], key=lambda step: step.step)
            made = tuple(executions[step.execution_id] for step in own)
            yield Case(scene, row, task, queries[row.query_id], tuple(own), made)
    except KeyError as error:
        raise RunError(f"holds no {error}", where=str(shard), fix="build the run again") from error


def _tool_of(row: ToolRow) -> Tool:
    fields = {field: getattr(row, field) for field in row.__struct_fields__ if field != "tool_id"}
    for name in ("input_schema", "output_schema", "schema_repairs", "contamination"):
        fields[name] = _decode(fields[name])
    fields["schema_repairs"], fields["contamination"] = (
        tuple(fields["schema_repairs"]),
        tuple(fields["contamination"]),
    )
    if not isinstance(fields["input_schema"], dict):
        fields["input_schema"] = {}
    return Tool(**fields)
