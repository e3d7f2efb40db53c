"""Runs as dialogues: one shard at a time, in the run's order."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec

from planarena.errors import RunError
from planarena.formats import Call
from planarena.records import Run, read_rows
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
from planarena.rows.dialogue import Decision, Dialogue, Observation, Turn

__all__ = ["Marks", "ShardReader", "read_dialogues"]

_FIX = "run the same `planarena build` or `planarena import` command again"


class Marks(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the tables have no column for in an imported dialogue; it stands in `queries.checks` under "dialogue".

    Attributes:
        thoughts: The assistant's rationale for its answer to each user turn.
        said: What it said along with calls, by group.
        unobserved: Steps whose observation the source does not have.
        first_decision: Decisions before this one are history only.
    """

    thoughts: tuple[str, ...] = ()
    said: dict[str, str] = {}
    unobserved: tuple[int, ...] = ()
    first_decision: int = 0


def read_dialogues(
    run: Run, *, kinds: Collection[str] = ("gold",), splits: Collection[str] | None = None
) -> Iterator[Dialogue]:
    """Stream a run's trajectories as dialogues.

    Args:
        run: A finished build or import.
        kinds: `gold`, `contrastive` or both.
        splits: Only these; None for all.

    Raises:
        RunError: A shard is damaged, or rows that belong together are missing.
    """
    reader = ShardReader(run)
    for path in run.shards("trajectories"):
        for row in reader.open(path):
            if row.kind in kinds and (splits is None or reader.split_of(row) in splits):
                yield reader.dialogue(row)


class ShardReader:
    """Joins the rows of one shard; tools and labels are read once for the whole run.

    Args:
        run: A finished build or import.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self._tools: dict[str, ToolRow] = {
            row.tool_id: row for path in run.shards("tools") for row in _read(path, "tools")
        }
        self._labels: dict[str, str] = {
            row.trajectory_id: row.label for path in run.shards("labels") for row in _read(path, "labels")
        }
        self._path = run.path
        self._tasks: dict[str, TaskRow] = {}
        self._queries: dict[str, QueryRow] = {}
        self._scenarios: dict[str, ScenarioRow] = {}
        self._executions: dict[str, ExecutionRow] = {}
        self._steps: dict[str, list[StepRow]] = {}
        self._points: list[DecisionPointRow] = []

    def open(self, path: Path) -> list[TrajectoryRow]:
        """Read a shard of the table `trajectories` and what belongs to it; return its rows."""
        self._path = path
        self._tasks = {row.task_id: row for row in self._beside("tasks")}
        self._queries = {row.query_id: row for row in self._beside("queries")}
        self._scenarios = {row.scenario_id: row for row in self._beside("scenarios")}
        self._executions = {row.execution_id: row for row in self._beside("executions")}
        self._steps = {}
        for step in self._beside("steps"):
            self._steps.setdefault(step.trajectory_id, []).append(step)
        self._points = self._beside("decision_points")
        rows: list[TrajectoryRow] = _read(path, "trajectories")
        return rows

    @property
    def shard(self) -> str:
        """The name of the open shard."""
        return self._path.stem

    def decision_points(self) -> list[DecisionPointRow]:
        """Return the decision points of the open shard."""
        return self._points

    def tool(self, tool_id: str) -> ToolRow:
        """Return a tool of the run.

        Raises:
            RunError: There is none of that id.
        """
        tool = self._tools.get(tool_id)
        if tool is None:
            raise RunError(f"there is no tool {tool_id}", where=str(self._path), fix=_FIX)
        return tool

    def split_of(self, row: TrajectoryRow) -> str:
        """Return the split of a trajectory of the open shard."""
        try:
            return self._scenarios[self._tasks[row.task_id].scenario_id].split
        except KeyError as error:
            raise self._incomplete(row, error) from error

    def dialogue(self, row: TrajectoryRow) -> Dialogue:
        """Return a trajectory of the open shard as a dialogue.

        Raises:
            RunError: Rows that belong to it are missing or damaged.
        """
        try:
            return self._join(row)
        except (KeyError, ValueError, msgspec.MsgspecError) as error:
            raise self._incomplete(row, error) from error

    def _join(self, row: TrajectoryRow) -> Dialogue:
        task = self._tasks[row.task_id]
        scenario = self._scenarios[task.scenario_id]
        query = self._queries[row.query_id]
        users = msgspec.json.decode(query.turns, type=tuple[str, ...])
        stored = msgspec.json.decode(query.checks, type=dict[str, Any]).get("dialogue")
        marks = Marks() if stored is None else msgspec.convert(stored, Marks)
        answers = (*msgspec.json.decode(row.turn_responses, type=tuple[str, ...]), row.response)
        withheld = msgspec.json.decode(task.withheld_tool_ids, type=list[str])
        steps = sorted(self._steps.get(row.trajectory_id, ()), key=lambda step: step.step)
        generator = f"import:{scenario.domain}" if row.source == "import" else row.source
        return Dialogue(
            trajectory_id=row.trajectory_id,
            scenario_id=scenario.scenario_id,
            task_id=task.task_id,
            split=scenario.split,
            domain=scenario.domain,
            generator=generator,
            kind=row.kind,
            parent_id=row.parent_id,
            diverge_step=row.diverge_step,
            diverge_turn=self._diverge_turn(row),
            mutation=row.mutation,
            tools=tuple(
                self._tools[name]
                for name in msgspec.json.decode(scenario.tool_ids, type=list[str])
                if name not in withheld
            ),
            context=msgspec.json.decode(scenario.context, type=dict[str, Any]),
            said_before=msgspec.json.decode(query.context, type=tuple[str, ...]),
            category=task.category,
            turns=tuple(self._turns(users, answers, steps, marks, scenario.seed_state_hash)),
            plan=row.plan,
            goal=task.goal,
            environment=scenario.environment,
            first_decision=marks.first_decision,
            brief=query.brief,
            label=self._labels.get(row.trajectory_id, ""),
        )

    def _turns(
        self,
        users: tuple[str, ...],
        answers: tuple[str, ...],
        steps: list[StepRow],
        marks: Marks,
        state: str,
    ) -> Iterator[Turn]:
        for index, (user, answer) in enumerate(zip(users, answers, strict=True)):
            asked = [step for step in steps if step.turn == index]
            decisions = [
                self._decision(list(group), marks) for _, group in groupby(asked, key=lambda step: step.group)
            ]
            if asked:
                state = self._executions[asked[-1].execution_id].state_after
            if answer:
                thought = marks.thoughts[index] if index < len(marks.thoughts) else ""
                decisions.append(Decision(text=answer, rationale=thought, state=state))
            yield Turn(user, tuple(decisions))

    def _decision(self, steps: list[StepRow], marks: Marks) -> Decision:
        executions = [self._executions[step.execution_id] for step in steps]
        return Decision(
            calls=tuple(Call(step.tool, msgspec.json.decode(step.arguments)) for step in steps),
            observations=tuple(
                None if step.step in marks.unobserved else _observe(execution)
                for step, execution in zip(steps, executions, strict=True)
            ),
            text=marks.said.get(str(steps[0].group)),
            plan="\n".join(filter(None, (step.plan for step in steps))),
            rationale="\n".join(filter(None, (step.rationale for step in steps))),
            steps=tuple(step.step for step in steps),
            state=executions[0].state_before,
        )

    def _diverge_turn(self, row: TrajectoryRow) -> int:
        if row.kind == "gold":
            return -1
        both = [*self._steps.get(row.parent_id, ()), *self._steps.get(row.trajectory_id, ())]
        return next((step.turn for step in both if step.step == row.diverge_step), 0)

    def _beside(self, table: str) -> list[Any]:
        beside = self.run.path / "tables" / table / self._path.name
        return _read(beside, table) if beside.is_file() else []

    def _incomplete(self, row: TrajectoryRow, error: Exception) -> RunError:
        return RunError(
            f"the trajectory {row.trajectory_id} is incomplete: {error}", where=str(self._path), fix=_FIX
        )


def _observe(execution: ExecutionRow) -> Observation:
    ok = execution.status == "ok"
    return Observation(msgspec.json.decode(execution.result if ok else execution.error), ok)


def _read(path: Path, table: str) -> list[Any]:
    import pyarrow

    try:
        return read_rows(path, table)
    except pyarrow.ArrowException as error:
        reason = str(error).splitlines()[0]
        raise RunError(f"the shard is damaged: {reason}", where=str(path), fix=_FIX) from error
