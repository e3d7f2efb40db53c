"""A trajectory as OpenAI chat messages and tools.

Calls of one group go in one assistant turn (as benchmarks with parallel calls score them), or one call a turn.
Arguments and observations are canonical JSON text, so that no key of one tool reaches another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import msgspec

from planarena.errors import RunError
from planarena.export.trajectories import Action, JoinedTrajectory
from planarena.records import canonical_json
from planarena.records.tables import ToolRow
from planarena.tools import strip_annotations

__all__ = ["render_messages", "render_tool"]


def render_tool(tool: ToolRow) -> dict[str, Any]:
    """Return a tool in the OpenAI function-calling shape; the schema has every key of the source and no other."""
    schema = strip_annotations(msgspec.json.decode(tool.input_schema))
    return {
        "type": "function",
        "function": {"name": tool.wire_name, "description": tool.description, "parameters": schema},
    }


def render_messages(
    trajectory: JoinedTrajectory, *, system: str = "", context: bool = True, one_call_per_turn: bool = False
) -> list[dict[str, Any]]:
    """Return the messages: system (optional), user, assistant turns with calls, tool results, answer.

    Args:
        trajectory: What to write.
        system: Text that opens the system message; empty for none.
        context: State in the system message what the user told before, as the date: some values in the calls
            are known from there alone.
        one_call_per_turn: Write the calls of a group one after the other.

    Returns:
        Messages with string values only; call ids are call_0, call_1, ... in the order of the steps.

    Raises:
        RunError: There are not as many answers as user turns.
    """
    if len(trajectory.turns) != len(trajectory.responses):
        raise RunError(
            f"the trajectory {trajectory.row.trajectory_id} has {len(trajectory.turns)} user turns and "
            f"{len(trajectory.responses)} answers",
            fix="build the run again",
        )
    opening = "\n\n".join(filter(None, (system, _render_context(trajectory) if context else "")))
    messages: list[dict[str, Any]] = [{"role": "system", "content": opening}] if opening else []
    for place, (said, response) in enumerate(zip(trajectory.turns, trajectory.responses, strict=True)):
        messages.append({"role": "user", "content": said})
        asked = [action for action in trajectory.actions if action.turn == place]
        for calls in _together(asked, one_call_per_turn):
            messages.append({"role": "assistant", "content": None, "tool_calls": list(map(_call, calls))})
            messages += [
                {
                    "role": "tool",
                    "tool_call_id": _call_id(action),
                    "content": canonical_json(action.observation),
                }
                for action in calls
            ]
        if response:
            messages.append({"role": "assistant", "content": response})
    return messages


def _render_context(trajectory: JoinedTrajectory) -> str:
    lines = [
        f"- {name}: {value if isinstance(value, str) else canonical_json(value)}"
        for name, value in sorted(trajectory.context.items())
    ]
    lines += [f"- the user said before: {said}" for said in trajectory.said_before]
    return "\n".join(["Context:", *lines]) if lines else ""


def _together(actions: Sequence[Action], one_call_per_turn: bool) -> Iterator[list[Action]]:
    """Yield the calls of each assistant turn."""
    for _, calls in groupby(
        actions, key=lambda action: (action.group, action.number if one_call_per_turn else 0)
    ):
        yield list(calls)


def _call_id(action: Action) -> str:
    return f"call_{action.number}"


def _call(action: Action) -> dict[str, Any]:
    return {
        "id": _call_id(action),
        "type": "function",
        "function": {"name": action.tool.wire_name, "arguments": canonical_json(action.arguments)},
    }
