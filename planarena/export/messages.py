"""A trajectory as chat messages and tools, as the API writes them or as chat templates read them.

Calls of one group go in one assistant turn (as benchmarks with parallel calls score them), or one call a turn.
OpenAI's API has arguments as JSON text and no content beside calls. Chat templates of open models encode the
arguments themselves: given text, they encode it a second time, and given no content, some of them fail.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, Literal

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
    trajectory: JoinedTrajectory,
    *,
    system: str = "",
    context: bool = True,
    one_call_per_turn: bool = False,
    style: Literal["api", "template"] = "api",
) -> list[dict[str, Any]]:
    """Return the messages: system (optional), user, assistant turns with calls, tool results, answer.

    Args:
        trajectory: What to write.
        system: Text that opens the system message; empty for none.
        context: State in the system message what the user told before, as the date: some values in the calls
            are known from there alone.
        one_call_per_turn: Write the calls of a group one after the other.
        style: `api`: arguments as JSON text, null as the content beside calls; `template`: arguments as objects,
            empty text as that content, and the tool's name with each result.

    Returns:
        Messages; call ids are call00000, call00001, ... in the order of the steps, nine letters and digits as
        Mistral's templates require.

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
            messages.append(
                {
                    "role": "assistant",
                    "content": None if style == "api" else "",
                    "tool_calls": [_call(action, style) for action in calls],
                }
            )
            messages += [_result(action, style) for action in calls]
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
    return f"call{action.number:05d}"


def _call(action: Action, style: str) -> dict[str, Any]:
    arguments = canonical_json(action.arguments) if style == "api" else action.arguments
    return {
        "id": _call_id(action),
        "type": "function",
        "function": {"name": action.tool.wire_name, "arguments": arguments},
    }


def _result(action: Action, style: str) -> dict[str, Any]:
    named = {} if style == "api" else {"name": action.tool.wire_name}
    content = canonical_json(action.observation)
    return {"role": "tool", "tool_call_id": _call_id(action), **named, "content": content}
