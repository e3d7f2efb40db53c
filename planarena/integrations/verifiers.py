"""verifiers v1: what a taskset that `planarena export --format verifiers` wrote is made of.

The tool server of a rollout and the reward run in different processes. What they share is the list of things done
(`EpisodeState`): the server plays it on in a session of its own, the reward plays it once more from the beginning.
So the reward depends on nothing but what the policy did.

Needs the package `verifiers`, whose pins do not go with ours, and nothing else of ours than sessions.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import verifiers.v1 as vf
from mcp.types import CallToolResult, TextContent, Tool
from pydantic import Field

from planarena.environments import Outcome
from planarena.session import Session, SessionTask, TaskSet, observation_text, read_tasks

__all__ = ["ANSWER_TOOL", "EpisodeData", "EpisodeState", "EpisodeTools", "data_of", "play", "validate_gold"]

ANSWER_TOOL = "send_message"
_MOST_CALLS = 1_000
_ANSWER = {
    "type": "object",
    "properties": {"message": {"type": "string", "description": "What you tell the user."}},
    "required": ["message"],
}


class EpisodeData(vf.TaskData):  # type: ignore[misc]
    """A task by its id; prompt and system prompt stand beside it, goal and gold do not."""

    several_messages: bool = False


class EpisodeState(vf.State):  # type: ignore[misc]
    """What was done: `[tool, arguments]` of a call, `[null, text]` of an answer."""

    events: list[list[Any]] = Field(default_factory=list)


@lru_cache(maxsize=8)
def opened(path: str) -> TaskSet:
    """Return the tasks of a file, read once per process."""
    return read_tasks(path)


def data_of(path: Path) -> Iterator[EpisodeData]:
    """Yield what verifiers may know of the tasks of a file."""
    for task in opened(str(path)):
        system = "\n\n".join(str(one["content"]) for one in task.messages if one["role"] == "system")
        user = "\n\n".join(str(one["content"]) for one in task.messages if one["role"] == "user")
        several = len(task.turns) > 1
        yield EpisodeData(
            id=task.id,
            name=task.id,
            prompt=user,
            system_prompt=system or None,
            several_messages=several,
        )


def play(task: SessionTask, events: list[list[Any]], last: str = "") -> Session:
    """Return a session in which all that was done is done again; the last reply answers the user."""
    session = Session(most_calls=_MOST_CALLS)
    session.reset(task)
    for tool, value in events:
        if tool is None:
            session.answer(str(value))
        else:
            session.call(str(tool), value)
    if last.strip() and not session.answered:
        session.answer(last.strip())
    return session


def validate_gold(task: SessionTask, solutions: Path) -> bool:
    """Say whether the stored gold of a task earns everything."""
    for line in solutions.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["task_id"] != task.id:
            continue
        answers = iter(row["answers"])
        events: list[list[Any]] = []
        for decision in row["gold"]:
            events += [[one["name"], one["arguments"]] for one in decision]
            if not decision:
                events.append([None, next(answers)])
        return play(task, events).reward().value == 1.0
    return False


class EpisodeTools(vf.Toolset[vf.ToolsetConfig, EpisodeState]):  # type: ignore[misc]
    """The tools of one rollout; subclasses say where the tasks are."""

    TOOL_PREFIX = None
    TASKS: Path

    async def setup_task(self, task: EpisodeData) -> None:
        """Open the rollout's task."""
        self._task = opened(str(self.TASKS)).get(str(task.id))
        self._session = play(self._task, [])
        self._turn = asyncio.Lock()

    def register(self, mcp: Any) -> None:
        """Offer the task's tools; which they are is known once the task is."""
        mcp.list_tools = self.listed
        synced = self._with_state(self.called)

        async def one_by_one(name: str, arguments: dict[str, Any], context: Any = None) -> CallToolResult:
            # Calls of one turn come at the same time, and the state is written back as a whole.
            async with self._turn:
                result: CallToolResult = await synced(name, arguments, context)
                return result

        mcp.call_tool = one_by_one

    async def listed(self) -> list[Tool]:
        """Return the tools, and `send_message` where the user says more than one message."""
        functions = [tool["function"] for tool in self._task.tools]
        if len(self._task.turns) > 1:
            description = "Answer the user and read what the user says next."
            functions.append({"name": ANSWER_TOOL, "description": description, "parameters": _ANSWER})
        return [
            Tool(
                name=one["name"],
                description=one.get("description") or None,
                input_schema=one.get("parameters") or {"type": "object"},
            )
            for one in functions
        ]

    async def called(self, name: str, arguments: dict[str, Any], _context: Any = None) -> CallToolResult:
        """Make a call, or answer the user."""
        session = self._session
        if len(session.snapshot().events) != len(self.state.events):
            # The framework took the rollout back, or began it again.
            session = self._session = play(self._task, self.state.events)
        if name == ANSWER_TOOL and ANSWER_TOOL not in self._task.offered:
            said = session.answer(str(arguments.get("message", "")))
            self.state.events.append([None, str(arguments.get("message", ""))])
            text, failed = said or "The user has nothing to add.", False
        else:
            outcome: Outcome = session.call(name, arguments)
            self.state.events.append([name, arguments])
            text, failed = observation_text(outcome), outcome.status != "ok"
        return CallToolResult(content=[TextContent(type="text", text=text)], is_error=failed)
