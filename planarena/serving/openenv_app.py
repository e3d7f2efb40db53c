"""OpenEnv: a task's tools as actions, tasks as a `TaskProvider`, the reward at the end of an episode.

An episode begins with `reset(seed, episode_id, task_id)`. Actions are OpenEnv's own `call_tool` and `list_tools`; the
tool `send_message` answers the user. An observation with `done` ends the episode and alone has a reward.

Needs the package `openenv`, whose pins do not go with ours: this module runs in an environment of its own, as
`planarena export --format openenv` writes one, and needs nothing else of ours than sessions.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from fastapi import HTTPException
from openenv.core.env_server.http_server import create_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.mcp_types import (
    RESERVED_TOOL_NAMES,
    CallToolAction,
    ListToolsAction,
    ListToolsObservation,
    Tool,
)
from openenv.core.env_server.types import (
    Action,
    ConcurrencyConfig,
    EnvironmentMetadata,
    Observation,
    State,
)
from pydantic import Field

from planarena.environments.sources import SourceOptions, allow
from planarena.errors import UserError
from planarena.serving.http import Guard
from planarena.serving.limits import Limits
from planarena.session import Session, SessionTask, TaskSet, observation_text, read_tasks
from planarena.version import __version__

__all__ = ["ANSWER_TOOL", "TaskEnvironment", "TaskObservation", "make_app"]

ANSWER_TOOL = "send_message"
_MOST_CALLS = 1_000
_LONGEST_SESSION = 7_200.0
_ANSWER = {
    "type": "object",
    "properties": {"message": {"type": "string", "description": "What you tell the user."}},
    "required": ["message"],
}


class TaskObservation(Observation):  # type: ignore[misc]
    """What a policy sees: messages and tools at the beginning, a result or the user's next message later."""

    messages: list[dict[str, Any]] = Field(default_factory=list)
    tools: list[dict[str, Any]] = Field(default_factory=list)
    tool_name: str = ""
    result: str = ""
    error: bool = False
    task_id: str = ""


class TaskEnvironment(Environment):  # type: ignore[misc]
    """One session; see the module."""

    SUPPORTS_CONCURRENT_SESSIONS = True
    # Steps take microseconds: a thread for each session would only cost memory.
    REQUIRES_SINGLE_THREAD_EXECUTOR = True

    def __init__(self, tasks: TaskSet, name: str) -> None:
        super().__init__()
        self._tasks, self._name = tasks, name
        self._session = Session(tasks, most_calls=_MOST_CALLS)
        self._state = State(episode_id=None, step_count=0)

    # -- episodes --------------------------------------------------------------------------------------------

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        task_id: str | None = None,
        **_options: Any,
    ) -> TaskObservation:
        """Begin an episode of a task, or of one that the seed draws."""
        try:
            task = self._tasks.get(str(task_id)) if task_id else self._tasks.draw(seed or 0)
        except UserError as error:
            raise HTTPException(404, f"{error.what}: {error.fix}") from error
        opening = self._session.reset(task)
        name = episode_id or f"{task.id}-{seed or 0}"
        self._state = State(episode_id=name, step_count=0, task_id=task.id)
        listed = [*opening.tools, {"type": "function", "function": _answer_tool()}]
        return TaskObservation(
            messages=[dict(one) for one in opening.messages],
            tools=[{**one, "function": {**one["function"], "name": _written(one)}} for one in listed],
            task_id=task.id,
        )

    async def reset_async(self, **options: Any) -> TaskObservation:
        """Begin an episode without a thread."""
        return self.reset(**options)

    def step(self, action: Action, timeout_s: float | None = None, **_options: Any) -> Observation:
        """Make a call, or answer."""
        del timeout_s
        if isinstance(action, ListToolsAction):
            return ListToolsObservation(tools=self._listed())
        assert isinstance(action, CallToolAction)
        session = self._session
        if not session.is_open:
            return TaskObservation(tool_name=action.tool_name, error=True, result="call reset first")
        self._state.step_count += 1
        name, arguments = action.tool_name, action.arguments
        if name != ANSWER_TOOL or ANSWER_TOOL in (session.task.offered if session.task else ()):
            outcome = session.call(_wire_name(name, session.task), arguments)
            over = session.answered or len(session.observed) >= _MOST_CALLS
            return TaskObservation(
                tool_name=name,
                result=observation_text(outcome),
                error=outcome.status != "ok",
                done=over,
                reward=session.reward().value if over else None,
            )
        text = arguments.get("message")
        if not isinstance(text, str) or not text.strip():
            return TaskObservation(tool_name=name, error=True, result="write a message")
        said = session.answer(text)
        if said is not None:
            return TaskObservation(tool_name=name, messages=[{"role": "user", "content": said}], result=said)
        reward = session.reward()
        return TaskObservation(tool_name=name, done=True, reward=reward.value, metadata=dict(reward.parts))

    async def step_async(self, action: Action, timeout_s: float | None = None, **options: Any) -> Observation:
        """Make a call, or answer, without a thread."""
        return self.step(action, timeout_s, **options)

    @property
    def state(self) -> State:
        """Who plays what, and how many steps were made; nothing of the world."""
        return self._state

    def get_metadata(self) -> EnvironmentMetadata:
        """Return name, description and version."""
        return EnvironmentMetadata(
            name=self._name,
            description=f"{len(self._tasks)} tool-use tasks with proven goals",
            version=__version__,
        )

    def close(self) -> None:
        """End the episode."""
        self._session.close()

    def _listed(self) -> list[Tool]:
        """Return the tools of the task under way; before the first `reset`, the answer alone."""
        task = self._session.task
        found = [*(task.tools if task else ()), {"function": _answer_tool()}]
        return [
            Tool(
                name=_written(one),
                description=str(one["function"].get("description", "")),
                input_schema=one["function"].get("parameters") or {},
            )
            for one in found
        ]

    # -- tasks -----------------------------------------------------------------------------------------------

    def list_splits(self) -> list[str]:
        """Return the names of the splits."""
        return list(self._tasks.splits())

    def list_tasks(self, split: str) -> list[dict[str, Any]]:
        """Return what may be known of the tasks of a split."""
        return list(map(_described, self._split(split)))

    def num_tasks(self, split: str) -> int:
        """Return how many tasks a split has."""
        return len(self._split(split))

    def get_task(self, split: str, index: int) -> dict[str, Any]:
        """Return what may be known of a task.

        Raises:
            IndexError: The split has no task of that number.
        """
        if index < 0:
            raise IndexError(index)
        return _described(self._split(split)[index])

    def get_task_range(
        self, split: str, start: int | None = None, stop: int | None = None
    ) -> list[dict[str, Any]]:
        """Return what may be known of tasks from `start` to before `stop`."""
        return list(map(_described, self._split(split)[start:stop]))

    def _split(self, name: str) -> Sequence[SessionTask]:
        found = self._tasks.splits().get(name)
        if found is None:
            raise IndexError(name)
        return found


def _answer_tool() -> dict[str, Any]:
    return {
        "name": ANSWER_TOOL,
        "description": "Answer the user's last message; without a further message the episode ends.",
        "parameters": _ANSWER,
    }


def _written(tool: dict[str, Any]) -> str:
    """Return the name of a tool for OpenEnv, which keeps some names for itself."""
    name = str(tool["function"]["name"])
    return f"{name}_tool" if name in RESERVED_TOOL_NAMES else name


def _wire_name(name: str, task: SessionTask | None) -> str:
    bare = name.removesuffix("_tool")
    known = task is not None and bare in task.offered and bare in RESERVED_TOOL_NAMES
    return bare if known else name


def _described(task: SessionTask) -> dict[str, Any]:
    return {
        "task_id": task.id,
        "split": task.split,
        "domain": task.domain,
        "user_messages": len(task.turns),
        "tools": sorted(task.offered),
    }


class _JsonGuard(Guard):
    """Refuses what OpenEnv's own reader ends in a fault for: bytes that are no JSON, and a kind that is no text."""

    def _unreadable(self, body: bytes) -> tuple[int, str] | None:
        if not body:
            return None
        try:
            value = msgspec.json.decode(body)
            msgspec.json.encode(value)  # half of a pair of surrogates can be read, and not be written again
        except (msgspec.DecodeError, RecursionError, UnicodeError, ValueError):
            return 400, "the body is JSON"
        action = value.get("action") if isinstance(value, dict) else None
        if isinstance(action, dict) and not isinstance(action.get("type", ""), str):
            return 422, "the type of an action is a text"
        return None


def make_app(tasks: str | Path, name: str = "planarena") -> Any:
    """Return the application that serves a file of tasks.

    `PLANARENA_SERVE_TOKEN` is asked of clients where it is set; `PLANARENA_SERVE_SESSIONS` is the most sessions;
    `PLANARENA_SERVE_TRUSTED=1` and `PLANARENA_SERVE_UNSAFE=1` are the options of `planarena serve` of these names.

    Args:
        tasks: As `write_tasks` wrote it.
        name: Of the environment.
    """
    set_on = {
        name: os.environ.get(f"PLANARENA_SERVE_{name}") == "1" for name in ("TRUSTED", "UNSAFE", "LOOPBACK")
    }
    allow(SourceOptions(trusted=set_on["TRUSTED"], unsafe_no_sandbox=set_on["UNSAFE"]))
    found = read_tasks(tasks)
    limits = Limits(sessions=int(os.environ.get("PLANARENA_SERVE_SESSIONS", "2000")))
    app = create_app(
        lambda: TaskEnvironment(found, name),
        CallToolAction,
        TaskObservation,
        env_name=name,
        concurrency_config=ConcurrencyConfig(
            max_concurrent_envs=limits.sessions, session_timeout=_LONGEST_SESSION
        ),
    )
    token = os.environ.get("PLANARENA_SERVE_TOKEN", "")
    # In a container the address of the outside is the container's business.
    return _JsonGuard(app, limits, token, loopback=set_on["LOOPBACK"])
