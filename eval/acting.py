"""Suites with state: the loop in which a model acts, and how its replies are read when they are scored.

One output is the list of a model's replies in one episode, in order. Whoever scores reads the calls out of them and
carries them out again from the beginning; nothing that was returned while the model was asked is trusted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from planarena.bench import Asked
from planarena.eval.config import EvalConfig
from planarena.eval.conversation import Conversation
from planarena.eval.models.dialogues import Exchange
from planarena.formats import Call, Reading, read_output

__all__ = ["act", "plain_names", "read_replies", "server_tools"]

MOST_REPLIES = 60
_MOST_CALLS = 200


def server_tools(tools: Sequence[dict[str, Any]], form: str) -> list[dict[str, Any]]:
    """Return tools as a policy is shown them: servers take no dots in names."""
    if form != "native":
        return list(tools)
    return [
        {**tool, "function": {**tool["function"], "name": tool["function"]["name"].replace(".", "_")}}
        for tool in tools
    ]


def plain_names(names: Sequence[str]) -> dict[str, str]:
    """Return tools' names by what a model may write: the name itself, or with underscores for dots."""
    return {name.replace(".", "_"): name for name in names} | {name: name for name in names}


def read_replies(value: Any, form: str) -> list[Reading]:
    """Read an output, a list of replies or one reply, reply by reply; what is no reply reads as one that says nothing."""
    parts = value if isinstance(value, list) else [value]
    return [
        read_output(part, form)
        if isinstance(part, (str, dict))
        else Reading("plain", problem="no text and no message")
        for part in parts[: 10 * MOST_REPLIES]
    ]


def act(
    *,
    key: str,
    sample: int,
    form: str,
    tools: Sequence[dict[str, Any]],
    config: EvalConfig,
    known: Mapping[str, Any],
    opening: str,
    execute: Callable[[list[Call]], list[str]],
    answer: Callable[[str], str | None] | None = None,
    heard: list[dict[str, Any]] | None = None,
    most_replies: int = MOST_REPLIES,
) -> Exchange:
    """Let a model act: its calls are carried out until it says something, and who is there to answer answers.

    Args:
        key: The item.
        sample: Which output of it.
        form: The format of the model's replies.
        tools: In the OpenAI shape.
        config: For prompts.
        known: What is stated before: instructions, the rules of a business.
        opening: The user's first words.
        execute: Carries the calls of one reply out, in order, and returns what each returned.
        answer: Told what the model said, returns what the user says then; None ends the episode. Without it the first
            reply without a call does.
        heard: Filled by whoever answers with what the user did and said, as messages; they stand in the output then.
        most_replies: After so many the episode ends.

    Returns:
        The replies, with the user's messages between them where they are kept.
    """
    conversation = Conversation(form, server_tools(tools, form), config, dict(known))
    conversation.user(opening)
    replies: list[Any] = []
    for turn in range(most_replies):
        reply = yield Asked(
            id=key,
            messages=conversation.messages(),
            tools=tuple(conversation.tools) if conversation.native else (),
            sample=sample,
            turn=turn,
        )
        replies.append(reply.text)
        reading = read_output(reply.text)
        conversation.said(reply.text)
        if calls := list(reading.calls)[:_MOST_CALLS]:
            results = execute(calls)
            conversation.returned(list(zip((call.name for call in calls), results, strict=True)))
            continue
        said = answer(reading.content) if answer is not None else None
        if heard:
            replies += heard
            heard.clear()
        if said is None:
            break
        conversation.user(said)
    return replies
