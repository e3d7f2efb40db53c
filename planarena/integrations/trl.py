"""TRL: tasks as a dataset, environments as classes, and the reward, for `GRPOTrainer(environment_factory=...)`.

    from trl import GRPOConfig, GRPOTrainer
    from planarena.integrations.trl import TaskSpec

    spec = TaskSpec("RUN")
    trainer = GRPOTrainer(
        model="Qwen/Qwen3-0.6B",
        args=GRPOConfig(max_steps=100, num_generations=8, mask_truncated_completions=True),
        train_dataset=spec.train_dataset,
        environment_factory=spec.environment_factory,
        reward_funcs=spec.reward_funcs,
    )

TRL lists the tools of an environment on its class, so tasks with the same tools share a generated class, and the
column `environment` says which one a row plays in. TRL itself is not imported here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from planarena.errors import UserError
from planarena.integrations.tool_methods import tool_method
from planarena.records import content_id
from planarena.session import Session, SessionTask, TaskSet, observation_text, read_tasks

__all__ = ["ANSWER_TOOL", "TaskSpec", "ToolEnvironment", "episode_reward"]

ANSWER_TOOL = "send_message"
# Names that TRL takes for itself.
_RESERVED = frozenset({"reset", "get_reward", ANSWER_TOOL})
_MOST_CALLS = 1_000


class ToolEnvironment:
    """An episode; subclasses that `TaskSpec` makes have the tools as methods.

    Attributes:
        session: The session behind it, for rewards of one's own; not a method, so that no model sees it.
    """

    _tasks: TaskSet
    session: Session

    def __init__(self) -> None:
        self.session = Session(self._tasks, most_calls=_MOST_CALLS)

    def reset(self, *, task: str, **_row: Any) -> None:
        """Begin the episode of a row of the dataset; the row holds the whole prompt."""
        self.session.reset(task)

    def _act(self, tool: str, arguments: dict[str, Any]) -> str:
        return observation_text(self.session.call(tool, arguments))


class TaskSpec:
    """The three arguments that TRL's trainers take.

    Args:
        source: A run, or a folder that `planarena export --format trl` wrote.
        splits: Whose tasks are trained on.
        limit: Most tasks.
        messages: What becomes of tasks in which the user says several messages: `tool` adds a tool `send_message`,
            which answers the user and returns the next message; `skip` leaves such tasks out.

    Raises:
        UserError: There is no such task.
    """

    def __init__(
        self,
        source: str | Path,
        *,
        splits: Sequence[str] = ("train",),
        limit: int | None = None,
        messages: str = "tool",
    ) -> None:
        if messages not in ("tool", "skip"):
            raise UserError(
                f"{messages!r} is not one of its values", where="messages", fix="write tool or skip"
            )
        found = read_tasks(source, splits=splits, limit=limit)
        kept = [task for task in found if messages == "tool" or len(task.turns) == 1]
        self.tasks = TaskSet(kept, str(source))

    @cached_property
    def train_dataset(self) -> Any:
        """A `datasets.Dataset` with the columns `prompt`, `environment` and `task`."""
        from datasets import Dataset

        rows = [
            {
                "prompt": [
                    {"role": str(message["role"]), "content": str(message["content"])}
                    for message in task.messages
                ],
                "environment": environment_name(task),
                "task": task.id,
            }
            for task in self.tasks
        ]
        return Dataset.from_list(rows)

    @cached_property
    def environment_factory(self) -> dict[str, type[ToolEnvironment]]:
        """One class per set of tools, by the name in the column `environment`."""
        found: dict[str, type[ToolEnvironment]] = {}
        for task in self.tasks:
            name = environment_name(task)
            if name not in found:
                found[name] = _environment_class(name, task, self.tasks)
        return found

    @property
    def reward_funcs(self) -> Any:
        """`episode_reward`."""
        return episode_reward


def episode_reward(
    completions: Sequence[Any], environments: Sequence[Any], log_metric: Any = None, **_columns: Any
) -> list[float | None]:
    """Return the reward of each episode, the same that our own training gives for the same actions.

    The answer is the text of the last message, where it calls nothing.

    Args:
        completions: Messages of each completion.
        environments: Where each was played; an environment of others has no reward of ours.
        log_metric: TRL's, for the parts of the reward.
    """
    found: list[float | None] = []
    parts: dict[str, list[float]] = {}
    for messages, environment in zip(completions, environments, strict=True):
        if not isinstance(environment, ToolEnvironment):
            found.append(None)
            continue
        session = environment.session
        last = messages[-1] if isinstance(messages, list) and messages else {}
        said = last.get("content") if last.get("role") == "assistant" and not last.get("tool_calls") else None
        if isinstance(said, str) and said.strip() and not session.answered:
            session.answer(said.strip())
        reward = session.reward()
        value = reward.value
        if session.task is not None and not session.task.actions and _called(messages):
            value = 0.0  # also where no method took the call
        found.append(value)
        for name, number in reward.parts.items():
            parts.setdefault(name, []).append(number)
    if log_metric is not None:
        for name, numbers in parts.items():
            log_metric(f"planarena/{name}", sum(numbers) / len(numbers))
    return found


def _called(messages: Any) -> bool:
    return any(
        str(call.get("function", {}).get("name")) != ANSWER_TOOL
        for message in messages
        for call in message.get("tool_calls") or ()
    )


def environment_name(task: SessionTask) -> str:
    """Return the name of the environment that a task plays in: tasks with the same tools share it."""
    several = len(task.turns) > 1
    return f"tools_{content_id('tools', list(task.tools), several)[:12]}"


def _environment_class(name: str, task: SessionTask, tasks: TaskSet) -> type[ToolEnvironment]:
    members: dict[str, Any] = {"_tasks": tasks, "__doc__": f"The tools of {len(task.tools)} functions."}
    for tool in task.tools:
        written = method_name(tool)
        members[written] = tool_method(tool, ToolEnvironment._act, written)
    if len(task.turns) > 1:
        members[ANSWER_TOOL] = tool_method(_MESSAGE, _send_message, ANSWER_TOOL)
    return type(f"Environment_{name}", (ToolEnvironment,), members)


def method_name(tool: Mapping[str, Any]) -> str:
    """Return the name under which a tool is a method; some names are TRL's."""
    name = str(tool["function"]["name"])
    return f"{name.lstrip('_')}_tool" if name in _RESERVED or name.startswith("_") else name


_MESSAGE = {
    "function": {
        "name": ANSWER_TOOL,
        "description": "Answer the user and read what the user says next.",
        "parameters": {
            "type": "object",
            "properties": {"message": {"type": "string", "description": "What you tell the user."}},
            "required": ["message"],
        },
    }
}


def _send_message(environment: ToolEnvironment, _tool: str, arguments: dict[str, Any]) -> str:
    session = environment.session
    said = None if session.answered else session.answer(str(arguments.get("message", "")))
    return said if said is not None else "The user has nothing to add."
