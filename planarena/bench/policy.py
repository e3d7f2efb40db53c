"""What every suite asks of whatever it evaluates: given dialogues, the assistant's next messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

__all__ = ["Asked", "Policy", "Reply"]


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A dialogue whose next message is the policy's.

    Attributes:
        id: The item; together with `sample` and `turn` it names the request in every run of the suite.
        messages: Chat messages, each with `role` and `content`; in the format `native` also `tool_calls` and
            `tool_call_id`. In every other format the text states the tools and what to write.
        tools: The tools on offer in the OpenAI shape. Only a policy of the format `native` hands them on as such.
        sample: Which of the item's K outputs; two samples of one policy differ in their draws alone.
        turn: Messages of the policy before this one.
        max_tokens: Most tokens of the reply; None for the policy's own limit.
    """

    id: str
    messages: tuple[dict[str, Any], ...]
    tools: tuple[dict[str, Any], ...] = ()
    sample: int = 0
    turn: int = 0
    max_tokens: int | None = None


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """The next message of a policy.

    Attributes:
        text: As the policy's format reads it; of the format `native` the JSON text of the assistant message.
        tokens: Its length; None where nobody counted.
        truncated: The limit cut it.
        problem: Why there is no answer. Such a reply is a failed request: it is counted, it is asked again by
            the next run, and it is never kept or scored as what the policy said.
        thought: Reasoning that came beside the text.
        prompt_tokens: Length of what was asked; None where nobody counted.
        usd: What it cost; None where no price is known.
        seconds: How long it took; of a batch its share.
        cached: It was paid for before and nothing was paid now.
        served_by: The model's name as the server gives it; empty where there is no server.
    """

    text: str = ""
    tokens: int | None = None
    truncated: bool = False
    problem: str = ""
    thought: str = ""
    prompt_tokens: int | None = None
    usd: float | None = None
    seconds: float = 0.0
    cached: bool = False
    served_by: str = ""


class Policy(Protocol):
    """A model, a script or a baseline."""

    @property
    def name(self) -> str:
        """What reports call it."""

    @property
    def format(self) -> str:
        """The name in `planarena.formats` that reads its replies and that prompts are written for."""

    def reply(self, asked: Sequence[Asked]) -> list[Reply]:
        """Return one reply per dialogue, in order; the dialogues are independent, so they may go as one batch.

        Raises:
            UserError: Nothing can be answered at all: a wrong key, an unreachable server, no such model.
        """
