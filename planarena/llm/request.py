"""What is asked and what comes back: requests, answers, and the records of calls paid for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from planarena.llm.errors import Kind

__all__ = ["Answer", "CallRecord", "Estimate", "Request", "Stored", "ToolCall"]

_CALL_IN_TEXT = re.compile(
    r"<tool_call>|<function=|<function_call>|\[TOOL_CALLS\]|<\|python_tag\|>|\"tool_calls\"\s*:"
)


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One chat completion. Equal requests have equal keys; only what changes an answer is in the key.

    Attributes:
        model: Name of a configured model, or anything `read_model` reads.
        messages: OpenAI chat messages.
        tools: OpenAI function tools, for native function calling.
        tool_choice: As OpenAI's; None leaves it out.
        schema: JSON Schema that the answer must meet; `Answer.value` is then the decoded value.
        temperature: None leaves it to the model; likewise the following.
        top_p: Nucleus.
        max_tokens: Most tokens of the answer.
        stop: Stop sequences.
        seed: Sent as `seed + sample`.
        sample: Number of the sample: several answers to one request are told apart by it, and a higher
            number asks anew what was answered badly.
        options: Further parameters, passed on as they are.
        prompt: Name, version and digest of the prompt file, part of the key.
        purpose: For the accounts (a phase, a suite); not in the key.
        fallback: Whether another model may answer. A judge says no: one group, one scorer.
    """

    model: str
    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[Mapping[str, Any]] = ()
    tool_choice: str | dict[str, Any] | None = None
    schema: dict[str, Any] | None = None
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None
    sample: int = 0
    options: dict[str, Any] = {}
    prompt: str = ""
    purpose: str = ""
    fallback: bool = True

    def identity(self) -> list[Any]:
        """Return what the cache's key is made of, beside the model."""
        return [
            list(self.messages),
            list(self.tools),
            self.tool_choice,
            self.schema,
            [self.temperature, self.top_p, self.max_tokens, list(self.stop), self.seed],
            self.sample,
            self.options,
            self.prompt,
        ]


class ToolCall(msgspec.Struct, frozen=True, array_like=True):
    """A native call; `arguments` is the JSON text as the model wrote it, valid or not."""

    id: str
    name: str
    arguments: str


class Stored(msgspec.Struct, frozen=True, array_like=True):
    """An answer as the cache keeps it: no prompt, no key, no time.

    Attributes:
        text: Content; empty when there is none.
        tool_calls: Native calls.
        reasoning: Reasoning content, where the server gives it.
        finish: Why it ended: stop, length, tool_calls, content_filter.
        served_by: The model's name as the server gives it.
        prompt_tokens: As the server counts them.
        completion_tokens: Likewise.
        usd: What it cost; None when no price is known.
    """

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""
    finish: str = "stop"
    served_by: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float | None = None

    @property
    def empty(self) -> bool:
        """Whether it says nothing and calls nothing, though nothing stopped it."""
        return (
            not self.tool_calls and not self.text.strip() and self.finish not in {"length", "content_filter"}
        )


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """An answer.

    Attributes:
        text: Content; empty when there is none.
        tool_calls: Native calls.
        reasoning: Reasoning content, where the server gives it.
        finish: Why it ended: stop, length, tool_calls, content_filter.
        value: The decoded JSON, when the request has a schema.
        model: Name of the model that answered: the one asked, or its fallback.
        served_by: The model's name as the server gives it.
        call_id: Of the paid call, as in the records.
        prompt_tokens: Of this call alone; a repair round is a call of its own.
        completion_tokens: Likewise.
        usd: Likewise; None when no price is known.
        cached: Nothing was paid for it now.
        repaired: The first answer broke the schema; this one is the second.
    """

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""
    finish: str = "stop"
    value: Any = None
    model: str = ""
    served_by: str = ""
    call_id: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float | None = None
    cached: bool = False
    repaired: bool = False

    @property
    def truncated(self) -> bool:
        """Whether the token limit cut it."""
        return self.finish == "length"

    @property
    def calls_in_text(self) -> bool:
        """Whether it writes a call into its text instead of calling."""
        return not self.tool_calls and has_call_in_text(self.text)

    def message(self) -> dict[str, Any]:
        """Return the assistant message of the OpenAI chat format, for the next request or `formats.get("native")`."""
        message: dict[str, Any] = {"role": "assistant", "content": self.text or None}
        if self.reasoning:
            message["reasoning_content"] = self.reasoning
        if self.tool_calls:
            message["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments},
                }
                for call in self.tool_calls
            ]
        return message


class CallRecord(msgspec.Struct, frozen=True):
    """One answer paid for; the first five fields are a row of the ledger's `llm_calls`.

    Attributes:
        call_id: 32 hexadecimal digits: the answer's key in the cache.
        model: Name of the model.
        prompt_tokens: As the server counts them.
        completion_tokens: Likewise.
        usd: None when no price is known.
        purpose: The request's.
        kind: `ok`, or what was wrong with the answer: it is paid for all the same.
        attempts: Requests sent for it.
        seconds: Of the last attempt.
    """

    call_id: str
    model: str
    prompt_tokens: int
    completion_tokens: int
    usd: float | None
    purpose: str = ""
    kind: Kind | str = "ok"
    attempts: int = 1
    seconds: float = 0.0

    def row(self) -> tuple[str, str, int, int, float | None]:
        """Return the row of `llm_calls(call_id, model, prompt_tokens, completion_tokens, usd)`."""
        return self.call_id, self.model, self.prompt_tokens, self.completion_tokens, self.usd


class Estimate(msgspec.Struct, frozen=True):
    """What requests would cost now.

    Attributes:
        calls: Requests that the cache does not answer; repairs and retries come on top.
        cached: Requests that it answers.
        prompt_tokens: Expected, at four bytes a token.
        completion_tokens: Expected: `max_tokens`, or what the model's answers had so far.
        usd: None when a model's price is not known.
    """

    calls: int = 0
    cached: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float | None = 0.0


def has_call_in_text(text: str) -> bool:
    """Whether a text holds the marks of a tool call."""
    return _CALL_IN_TEXT.search(text) is not None
