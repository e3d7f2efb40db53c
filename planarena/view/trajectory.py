"""One trajectory as a page shows it: talk, graph, steps with the origin of every value, choices with their outcomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from planarena.errors import RunError
from planarena.export.trajectories import Action, JoinedTrajectory, join_trajectories
from planarena.records import RIGHT_OUTCOMES, Run
from planarena.report.families import Choice, PointRecord
from planarena.view.pages import capped, laid_out, text_of

__all__ = ["Value", "View", "view_of"]

_ORIGINS = {"query": "the user's message", "context": "what was known"}
_CHOICES = msgspec.json.Decoder(list[Choice])


class Value(NamedTuple):
    """A value as it is shown.

    Attributes:
        name: Of its field, for the link to the whole.
        text: The beginning.
        more: Characters left out.
    """

    name: str
    text: str
    more: int


class View:
    """A trajectory for its page.

    Args:
        one: The trajectory.
        points: (step or -1 - turn, candidates) of its decision points.
        executions: What came of the candidates, by id: (status, result or error as JSON).

    Attributes:
        fields: Every text of it by name, whole.
        data: What the template reads.
    """

    def __init__(
        self,
        one: JoinedTrajectory,
        points: list[tuple[int, list[Choice]]],
        executions: Mapping[str, tuple[str, str]],
    ) -> None:
        self.fields: dict[str, str] = {}
        self._executions = executions
        row, task = one.row, one.task
        by_place = dict(points)
        self.data: dict[str, Any] = {
            "id": row.trajectory_id,
            "kind": row.kind,
            "title": one.scenario.title,
            "tags": [
                one.scenario.domain,
                row.kind,
                "" if task.category == "call" else task.category,
                f"{row.n_actions} action{'' if row.n_actions == 1 else 's'}",
                row.mutation,
                "" if task.conversation == "plain" else task.conversation,
                one.scenario.split,
                "over-serialised" if task.over_serialised else "",
            ],
            "diverge": row.diverge_step,
            "mutation": row.mutation,
            "expression": self._keep("expression", task.expression),
            "plan": self._keep("plan", row.plan),
            "said_before": [self._keep(f"before.{n}", said) for n, said in enumerate(one.said_before)],
            "description": self._keep("description", one.scenario.description),
            "context": self._keep("context", text_of(one.context)),
            "goal": self._keep("goal", text_of(one.goal)),
            "tools": [
                {
                    "name": tool.wire_name,
                    "effects": tool.effects,
                    "kind": tool.execution_kind,
                    "about": self._keep(f"tool.{n}", tool.description),
                }
                for n, tool in enumerate(one.tools)
            ],
            "turns": [self._turn(one, place, by_place) for place in range(len(one.turns))],
            "last_choices": self._choices(len(one.actions), by_place),
            "graph": _graph(one),
        }

    def _keep(self, name: str, text: str) -> Value:
        self.fields[name] = text
        return Value(name, *capped(text))

    def _turn(self, one: JoinedTrajectory, place: int, points: Mapping[int, list[Choice]]) -> dict[str, Any]:
        asked = [action for action in one.actions if action.turn == place]
        groups = [
            [self._step(action, one, points) for action in members]
            for _, members in groupby(asked, key=lambda action: action.group)
        ]
        answer = one.responses[place] if place < len(one.responses) else ""
        return {
            "user": self._keep(f"turn.{place}", one.turns[place]),
            "groups": groups,
            "answer": self._keep(f"answer.{place}", answer) if answer else None,
            "choices": self._choices(-1 - place, points),
        }

    def _step(
        self, action: Action, one: JoinedTrajectory, points: Mapping[int, list[Choice]]
    ) -> dict[str, Any]:
        number = action.number
        bound = {argument.removeprefix("/"): (source, pointer) for argument, source, pointer in action.bound}
        arguments = [
            {
                "name": name,
                "value": self._keep(f"step.{number}.argument.{place}", text_of(value)),
                **_origin(name, number, bound, one),
            }
            for place, (name, value) in enumerate(action.arguments.items())
        ]
        nested = [
            {"argument": name, "step": source + 1, "pointer": pointer}
            for name, (source, pointer) in bound.items()
            if name not in action.arguments
        ]
        wrong = one.row.kind == "contrastive" and number == one.row.diverge_step
        past = one.row.kind == "contrastive" and number > one.row.diverge_step
        return {
            "number": number + 1,
            "tool": action.tool.wire_name,
            "exists": bool(action.tool.tool_id),
            "asked": action.asked,
            "plan": self._keep(f"step.{number}.plan", action.plan),
            "arguments": arguments,
            "nested": nested,
            "after": [
                f"{edge.earlier + 1} ({edge.evidence})" for edge in one.order_edges if edge.later == number
            ],
            "status": action.status,
            "result": self._keep(f"step.{number}.result", text_of(action.observation)),
            "wrong": wrong,
            "choices": None if past else self._choices(number, points),
        }

    def _choices(self, place: int, points: Mapping[int, list[Choice]]) -> dict[str, Any] | None:
        if place not in points:
            return None
        listed = [self._choice(place, number, one) for number, one in enumerate(points[place])]
        return {"right": sum(one["right"] for one in listed), "listed": listed}

    def _choice(self, place: int, number: int, one: Choice) -> dict[str, Any]:
        name = f"choice.{place}.{number}"
        asked = one.response or laid_out(bytes(one.arguments).decode("utf-8", "replace"))
        found = self._executions.get(one.execution_id)
        return {
            "right": one.outcome in RIGHT_OUTCOMES or one.outcome == "inefficient",
            "outcome": one.outcome,
            "tool": one.tool or "answer",
            "arguments": self._keep(name, asked) if asked != "{}" else None,
            "mutation": one.mutation,
            "relevance": one.relevance,
            "status": found[0] if found else "",
            "answered": not one.tool,
            "result": self._keep(f"{name}.result", laid_out(found[1])) if found else None,
        }


def _origin(
    name: str, number: int, bound: Mapping[str, tuple[int, str]], one: JoinedTrajectory
) -> dict[str, Any]:
    """Say where an argument's value comes from."""
    if name in bound:
        source, pointer = bound[name]
        return {"from_step": source + 1, "pointer": pointer, "origin": ""}
    stated = one.grounded.get(f"{number}/{name}", "")
    origin = _ORIGINS.get(stated, stated)
    if not origin and any(key.startswith(f"{name}/") for key in bound):
        origin = "parts of it from earlier steps"
    return {"from_step": 0, "pointer": "", "origin": origin or "not recorded"}


def _graph(one: JoinedTrajectory) -> dict[str, Any] | None:
    """Return nodes and edges as the report's drawing takes them."""
    layers = sorted({(action.turn, action.group) for action in one.actions})
    effects = {"read": "reads", "unknown": "unknown"}
    nodes = [
        {
            "number": action.number,
            "layer": layers.index((action.turn, action.group)),
            "name": action.tool.wire_name[:200],
            "effect": effects.get(action.tool.effects, "acts") if action.tool.tool_id else "unknown",
            "wrong": action.number == one.row.diverge_step,
        }
        for action in one.actions[:200]
    ]
    edges: list[dict[str, Any]] = [
        {"source": source, "target": action.number, "label": argument.removeprefix("/")[:60] or "value"}
        for action in one.actions[:200]
        for argument, source, _ in action.bound
    ]
    edges += [{"source": edge.earlier, "target": edge.later, "label": ""} for edge in one.order_edges]
    return {"title": one.task.expression[:300], "nodes": nodes, "edges": edges} if nodes else None


def view_of(run: Run, shard: str, name: str) -> View:
    """Read one trajectory with its decision points.

    Args:
        run: The run.
        shard: The name of the shard that holds it.
        name: Its id.

    Raises:
        RunError: A row refers to one that is not there, or a shard is damaged.
    """
    found = list(join_trajectories(run, {shard}, lambda row: row.trajectory_id == name))
    if not found:
        raise RunError("is not in the run any more", where=name, fix="open the list again")
    one = found[0]
    heads = {one.row.parent_id or name} if one.row.kind == "contrastive" else {name}
    points = _points(run, shard, heads)
    wanted = {choice.execution_id for _, choices in points for choice in choices if choice.execution_id}
    return View(one, points, _executions(run, shard, wanted))


def _points(run: Run, shard: str, heads: set[str]) -> list[tuple[int, list[Choice]]]:
    rows = _filtered(run, "decision_points", shard, "trajectory_id", heads, PointRecord._fields)
    found = [PointRecord(**row) for row in rows]
    try:
        return [
            (point.step if point.turn < 0 else -1 - point.turn, _CHOICES.decode(point.candidates))
            for point in sorted(found, key=lambda one: (one.turn < 0, one.step, one.turn))
        ]
    except msgspec.MsgspecError as error:
        raise RunError(
            f"a decision point is damaged: {error}", where=str(run.path), fix="build the run again"
        ) from error


def _executions(run: Run, shard: str, wanted: set[str]) -> dict[str, tuple[str, str]]:
    names = ("execution_id", "status", "result", "error")
    rows = _filtered(run, "executions", shard, "execution_id", wanted, names)
    return {
        row["execution_id"]: (row["status"], row["result"] if row["status"] == "ok" else row["error"])
        for row in rows
    }


def _filtered(
    run: Run, table: str, shard: str, column: str, wanted: set[str], names: tuple[str, ...]
) -> list[dict[str, Any]]:
    """Read some columns of the rows of a shard whose key is wanted."""
    import polars

    path: Path = run.path / "tables" / table / f"{shard}.parquet"
    if not path.is_file() or not wanted:
        return []
    try:
        frame = polars.scan_parquet(path).filter(polars.col(column).is_in(list(wanted))).select(names)
        collected: Callable[[], Any] = frame.collect
        rows: list[dict[str, Any]] = collected().to_dicts()
    except polars.exceptions.PolarsError as error:
        reason = str(error).splitlines()[0][:300]
        raise RunError(
            f"the shard is damaged: {reason}", where=str(path), fix="build the run again"
        ) from error
    return rows
