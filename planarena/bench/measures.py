"""What episodes show: success by kind of task, wasted calls, errors, values from nowhere, how much of the gold was done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from planarena.bench.playing import Played
from planarena.bench.tasks import Task
from planarena.judges.overlap import mentioned
from planarena.proofs import scalars_of
from planarena.records import canonical_bytes

__all__ = ["KINDS", "MEASURES", "EpisodeMeasures", "measure", "shares", "summarise"]

# The tasks that a success is told of: name -> whether a task is one of them.
KINDS: dict[str, Callable[[Task], bool]] = {
    "success": lambda _: True,
    "with calls": lambda task: task.actions > 0,
    "no call": lambda task: task.actions == 0,
    "unseen tools": lambda task: task.row.split == "unseen_tools",
}

# What `summarise` returns: name -> what it is.
MEASURES = {
    "goal": "share of episodes at whose end the goal predicate holds, answered or not",
    "answered": "share of episodes that end with an answer",
    "steps done": "share of the gold's calls that were made with the same tool and arguments, mean over tasks with calls",
    "wasted calls": "calls beyond the gold's, which is minimal, per successful episode with calls",
    "calls": "calls per episode",
    "schema errors": "share of all calls whose tool is unknown or whose arguments break its schema",
    "tool errors": "share of all calls that the tool itself refused",
    "ungrounded values": "share of all argument values that neither the user, the context, an earlier result nor the schema states",
    "unreadable replies": "share of all replies that the format cannot read",
    "plan coverage": "share of the words of the gold's calls that the first stated plan has, in order; over episodes with a plan",
    "plans": "share of episodes that state a plan",
    "calls where none is right": "calls per episode of the tasks that need none",
}


class EpisodeMeasures(msgspec.Struct, frozen=True):
    """Counts of one episode."""

    calls: int
    schema_errors: int
    tool_errors: int
    values: int
    ungrounded: int
    done: int
    wasted: int | None
    coverage: float | None


def measure(played: Played) -> EpisodeMeasures:
    """Count what an episode shows.

    A value is grounded where it stands in the context, in the gold's arguments (each of which the user states in
    some form of words), in the user's words, in an earlier result, or in the tool's schema; truth values always are.
    """
    task = played.task
    status = Counter(call.outcome.status for call in played.calls)
    values, ungrounded = _grounding(played)
    left = Counter(_key(call.name, call.arguments) for call in task.calls)
    done = sum((left & Counter(_key(call.tool, call.arguments) for call in played.calls)).values())
    return EpisodeMeasures(
        calls=len(played.calls),
        schema_errors=status["schema_error"],
        tool_errors=len(played.calls) - status["ok"] - status["schema_error"],
        values=values,
        ungrounded=ungrounded,
        done=done,
        wasted=max(len(played.calls) - task.actions, 0) if played.success and task.actions else None,
        coverage=mentioned(played.plan, task.calls) if played.plan and task.actions else None,
    )


def _key(name: str, arguments: dict[str, Any]) -> bytes:
    return canonical_bytes([name, arguments])


def _grounding(played: Played) -> tuple[int, int]:
    row = played.task.row
    told = [str(message.get("content") or "") for message in row.prompt] + list(row.turns)
    text = "\n".join(told).casefold()
    known = scalars_of([call.arguments for call in played.task.calls])
    schemas = {str(tool["function"]["name"]): tool["function"].get("parameters") for tool in row.tools}
    values = ungrounded = 0
    for call in played.calls:
        stated = known | scalars_of(_stated(schemas.get(call.tool)))
        for one in scalars_of(call.arguments):
            values += 1
            ungrounded += one not in stated and one.decode().strip('"').casefold() not in text
        # Observations count from the next call on; a failed call teaches what its message says.
        shown = call.outcome.result if call.outcome.status == "ok" else None
        known |= scalars_of(shown)
    return values, ungrounded


def _stated(schema: Any) -> list[Any]:
    """Return the values that a schema names: closed lists, constants, defaults, examples."""
    found: list[Any] = []
    stack = [schema]
    while stack:
        item = stack.pop()
        if isinstance(item, Mapping):
            for key, value in item.items():
                if key in ("enum", "examples") and isinstance(value, list):
                    found += value
                elif key in ("const", "default"):
                    found.append(value)
                else:
                    stack.append(value)
        elif isinstance(item, list):
            stack += item
    return found


def shares(episodes: Sequence[Played]) -> dict[str, float]:
    """Return the share of successes by kind (`KINDS`), number of actions (`3 actions`) and shape (`shape: serial`)."""
    groups: dict[str, list[bool]] = {}
    for one in sorted(episodes, key=lambda one: (one.task.actions, one.task.shape)):
        names = [name for name, belongs in KINDS.items() if belongs(one.task)]
        if one.task.actions:
            names += [one.task.kind, f"shape: {one.task.shape}"]
        for name in names:
            groups.setdefault(name, []).append(one.success)
    return {name: sum(found) / len(found) for name, found in groups.items()}


def summarise(episodes: Sequence[Played]) -> dict[str, float]:
    """Return the measures of `MEASURES` that can be told from these episodes."""
    counted = [(one, measure(one)) for one in episodes]
    calls = sum(found.calls for _, found in counted)
    values = sum(found.values for _, found in counted)
    replies = sum(len(one.texts) for one in episodes)
    needing = [(one, found) for one, found in counted if one.task.actions]
    without = [found for one, found in counted if not one.task.actions]
    wasted = [found.wasted for _, found in counted if found.wasted is not None]
    coverage = [found.coverage for _, found in counted if found.coverage is not None]
    parts: dict[str, tuple[float, int]] = {
        "goal": (sum(one.goal for one in episodes), len(episodes)),
        "answered": (sum(one.answered for one in episodes), len(episodes)),
        "steps done": (sum(found.done / one.task.actions for one, found in needing), len(needing)),
        "wasted calls": (sum(wasted), len(wasted)),
        "calls": (calls, len(episodes)),
        "schema errors": (sum(found.schema_errors for _, found in counted), calls),
        "tool errors": (sum(found.tool_errors for _, found in counted), calls),
        "ungrounded values": (sum(found.ungrounded for _, found in counted), values),
        "unreadable replies": (sum(one.broken for one in episodes), replies),
        "plan coverage": (sum(coverage), len(coverage)),
        "plans": (sum(bool(one.plan) for one in episodes), len(episodes)),
        "calls where none is right": (sum(found.calls for found in without), len(without)),
    }
    return {name: total / count for name, (total, count) in parts.items() if count}
