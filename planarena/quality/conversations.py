"""What the scorecard reads of a run: gold conversations with their calls, and the choices at their steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from planarena.records import Run
from planarena.records.shards import read_columns

__all__ = ["Call", "Chunk", "Conversation", "Point", "read_chunks"]


class Call(NamedTuple):
    """One call of a gold conversation.

    Attributes:
        step: Its number, from 0.
        turn: The user's message that it belongs to.
        tool: Wire name.
        effect: What it does to the state.
        arguments: Of the call.
        feeding: The steps whose results its arguments hold.
        asked: Whether the message asks for it.
        status: `ok` or the kind of failure.
        result: JSON; empty where there is none.
        kind: The execution kind.
    """

    step: int
    turn: int
    tool: str
    effect: str
    arguments: dict[str, Any]
    feeding: tuple[int, ...]
    asked: bool
    status: str
    result: str
    kind: str


class Conversation(NamedTuple):
    """A gold trajectory with calls.

    Attributes:
        turns: The user's messages.
        replies: The answers to all messages but the last.
        calls: In order.
        required: How many outputs of each tool the goal wants told.
        now: The date and time of the scenario; a time after all others where it has none.
    """

    turns: tuple[str, ...]
    replies: tuple[str, ...]
    calls: tuple[Call, ...]
    required: Counter[str]
    now: str


class Point(NamedTuple):
    """The choices at one step: the gold call there, or None where only the answer is left, and the candidates."""

    gold: tuple[str, dict[str, Any]] | None
    candidates: list[dict[str, Any]]


class Chunk(NamedTuple):
    """What the shards of one name hold."""

    conversations: list[Conversation]
    points: list[Point]


def read_chunks(run: Run, most: int) -> Iterator[Chunk]:
    """Yield chunks of a run, one in memory at a time.

    Args:
        run: The run, with or without its `run.json`.
        most: Gold trajectories to read, about: where the run has more, whole chunks are taken evenly from all of it.

    Raises:
        RunError: A shard is damaged.
    """
    effects: dict[str, str] = {}
    for path in run.shards("tools"):
        effects.update(zip(*read_columns(path, "wire_name", "effects"), strict=True))
    for path in _evenly(run.shards("trajectories"), most):
        yield _chunk(run, path, effects)


def _evenly(shards: Sequence[Path], most: int) -> list[Path]:
    """Return so many shards, spread over all, that they hold about the gold trajectories wanted."""
    if not shards:
        return []
    gold = [read_columns(path, "kind")[0].count("gold") for path in shards]
    taken = max(1, len(shards) * most // max(sum(gold), 1))
    if taken >= len(shards):
        return list(shards)
    return [shards[place * len(shards) // taken] for place in range(taken)]


def _chunk(run: Run, path: Path, effects: Mapping[str, str]) -> Chunk:
    decode = msgspec.json.decode

    def read(table: str, *names: str) -> Iterator[tuple[Any, ...]]:
        beside = run.path / "tables" / table / path.name
        return zip(*read_columns(beside, *names), strict=True) if beside.is_file() else iter(())

    tasks = {row[0]: row[1:] for row in read("tasks", "task_id", "scenario_id", "goal", "category")}
    queries = dict(read("queries", "query_id", "turns"))
    contexts = dict(read("scenarios", "scenario_id", "context"))
    executions = {
        row[0]: row[1:] for row in read("executions", "execution_id", "status", "result", "execution_kind")
    }
    gold = [
        row
        for row in read("trajectories", "trajectory_id", "kind", "task_id", "query_id", "turn_responses")
        if row[1] == "gold" and tasks[row[2]][2] == "call"
    ]
    wanted = {row[0] for row in gold}
    calls: dict[str, list[Call]] = {}
    columns = ("trajectory_id", "step", "turn", "tool", "arguments", "bound_from", "execution_id", "asked")
    for name, step, turn, tool, arguments, bound, execution, asked in read("steps", *columns):
        if name in wanted:
            status, result, kind = executions.get(execution, ("ok", "", ""))
            feeding = () if bound == "{}" else tuple(one["step"] for one in decode(bound).values())
            call = Call(
                step, turn, tool, effects[tool], decode(arguments), feeding, asked, status, result, kind
            )
            calls.setdefault(name, []).append(call)
    for found in calls.values():
        found.sort(key=lambda call: call.step)
    conversations = [
        Conversation(
            turns=tuple(decode(queries[query])),
            replies=tuple(decode(replies)),
            calls=tuple(calls.get(name, ())),
            required=Counter(output["tool"] for output in decode(tasks[task][1])["required_outputs"]),
            now=decode(contexts[tasks[task][0]]).get("now", "9999"),
        )
        for name, _, task, query, replies in gold
    ]
    points = []
    for point in read("decision_points", "trajectory_id", "step", "candidates", "turn"):
        name, step, candidates, turn = point
        own = calls.get(name)
        if own:
            at = own[step] if step < len(own) and turn < 0 else None
            points.append(Point((at.tool, at.arguments) if at else None, decode(candidates)))
    return Chunk(conversations, points)
