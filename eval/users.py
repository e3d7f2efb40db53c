"""The user of a dialogue, played by another model: told what to want, it writes the user's next message.

The replies of the user are asked as any other: the gateway's cache keeps them, so a dialogue that goes on after a kill
hears the same user and pays for nothing twice.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from planarena.bench import Asked, Policy
from planarena.errors import UserError
from planarena.eval.config import EvalConfig
from planarena.formats import Call, read_output
from planarena.llm import load_prompt

__all__ = ["STOPS", "SimulatedUser", "UserTalk", "open_user"]

STOPS = ("###STOP###", "###TRANSFER###", "###OUT-OF-SCOPE###")
_MOST_CALLS = 20
_MOST_CHARACTERS = 20_000


class UserFailedError(UserError):
    """The user's model did not answer, so that the dialogue cannot go on; the same command asks again."""

    exit_code = 1


class SimulatedUser:
    """Whoever plays users.

    Args:
        policy: The model.
    """

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    def begin(
        self,
        key: str,
        instructions: str,
        tools: Sequence[dict[str, Any]] = (),
        execute: Callable[[list[Call]], list[str]] | None = None,
    ) -> UserTalk:
        """Open a dialogue.

        Args:
            key: Names it: the item and the sample.
            instructions: What the user is told of themselves and of what they want.
            tools: What the user can do, in the OpenAI shape.
            execute: Carries the user's calls out.
        """
        return UserTalk(self._policy, key, instructions, tools, execute)


class UserTalk:
    """One dialogue, from the user's side: what the agent says comes in as the user's messages and the other way round.

    Attributes:
        heard: What the user did and said since it was last emptied, as messages.
    """

    def __init__(
        self,
        policy: Policy,
        key: str,
        instructions: str,
        tools: Sequence[dict[str, Any]] = (),
        execute: Callable[[list[Call]], list[str]] | None = None,
    ) -> None:
        self._policy, self._key, self._turn = policy, key, 0
        self._tools, self._execute = tuple(tools), execute
        system = load_prompt("eval_user").system(instructions=instructions)
        self._messages: list[dict[str, Any]] = [{"role": "system", "content": system}]
        self.heard: list[dict[str, Any]] = []

    def opening(self) -> str:
        """Return the user's first message."""
        return self.reply(load_prompt("eval_user").user()) or ""

    def reply(self, said: str) -> str | None:
        """Return what the user says to the agent's words; None where the user has nothing more to ask.

        Raises:
            UserFailedError: The model did not answer.
        """
        self._messages.append({"role": "user", "content": said[:_MOST_CHARACTERS] or "..."})
        for _ in range(_MOST_CALLS):
            reading = read_output(self._ask())
            calls = list(reading.calls) if self._execute is not None else []
            if not calls or self._execute is None:
                break
            self._act(calls, self._execute(calls))
        text = reading.content
        self._messages.append({"role": "assistant", "content": text})
        self.heard.append({"role": "user", "content": text})
        return None if any(sign in text for sign in STOPS) else text

    def _ask(self) -> str:
        asked = Asked(
            id=f"user/{self._key}", messages=tuple(self._messages), tools=self._tools, turn=self._turn
        )
        (reply,) = self._policy.reply([asked])
        if reply.problem:
            raise UserFailedError(
                f"the model that plays the user did not answer: {reply.problem}",
                where=self._policy.name,
                fix="run the same command again: answers so far are kept",
            )
        self._turn += 1
        return reply.text

    def _act(self, calls: list[Call], results: list[str]) -> None:
        """Keep calls of the user's and what they returned."""
        written = [
            {
                "id": f"call_{self._turn}_{place}",
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
            }
            for place, call in enumerate(calls)
        ]
        self._messages.append({"role": "assistant", "content": None, "tool_calls": written})
        self._messages += [
            {"role": "tool", "tool_call_id": one["id"], "content": text}
            for one, text in zip(written, results, strict=True)
        ]
        self.heard.append({"role": "user", "content": None, "tool_calls": written})


@contextmanager
def open_user(config: EvalConfig) -> Iterator[SimulatedUser | None]:
    """Open whoever plays users; None where `generation.user_model` names nobody."""
    name = config.generation.user_model
    if not name:
        yield None
        return
    from planarena.eval.models.choosing import open_policy

    made = msgspec.structs.replace(config.generation, temperature=0.0, user_model="")
    if "@http" in name:
        made = msgspec.structs.replace(made, base_url="", key_env="")
    with open_policy(msgspec.structs.replace(config, model=name, format="native", generation=made)) as policy:
        yield SimulatedUser(policy)
