"""Models behind a server: LiteLLM ids and OpenAI-compatible addresses, through the gateway."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any

import msgspec

from planarena import formats
from planarena.bench import Asked, Reply
from planarena.eval.config import EvalConfig
from planarena.llm import (
    Answer,
    Budget,
    CallFailedError,
    LLMError,
    ModelConfig,
    Request,
    RequestRefusedError,
    Spent,
    SyncGateway,
    read_model,
)

__all__ = ["HostedPolicy", "model_of"]


def model_of(config: EvalConfig) -> ModelConfig:
    """Return the gateway's configuration of the model that an evaluation names.

    Raises:
        ConfigError: Neither a LiteLLM id nor MODEL@URL.
    """
    made = config.generation
    text = str(config.model)
    if made.base_url and "@http" not in text:
        text = f"{text}@{made.base_url}"
    if made.key_env and "#" not in text:
        text = f"{text}#{made.key_env}" if "@http" in text else text
    found = read_model(text)
    changed: dict[str, Any] = {
        "concurrency": made.concurrency,
        "attempts": made.attempts,
        "timeout": made.timeout,
        "requests_per_minute": made.requests_per_minute,
        "tokens_per_minute": made.tokens_per_minute,
        "price": made.price,
        "options": made.options,
    }
    if made.key_env and not found.key_env:
        changed["key_env"] = made.key_env
    return msgspec.structs.replace(found, **changed)


class HostedPolicy:
    """A model behind the gateway. Answers are kept by content, so what was paid for is never paid for again.

    Args:
        config: The evaluation.

    Attributes:
        format: Of its replies.
        at_once: Dialogues of one call to `reply`.
        parallel: Calls to `reply` at a time.
    """

    at_once = 1

    def __init__(self, config: EvalConfig) -> None:
        made = config.generation
        self.format = config.format or "native"
        formats.get(self.format)
        self._model = model_of(config)
        self.parallel = made.concurrency
        self._made = made
        self._temperature = made.warmth(config.samples)
        budget = Budget(usd=made.budget_usd, tokens=made.budget_tokens, calls=made.budget_calls)
        self._gateway = SyncGateway([self._model], budget=budget)

    @property
    def name(self) -> str:
        """The model as it was named."""
        return self._model.name

    @property
    def identity(self) -> dict[str, Any]:
        """What shapes its outputs, besides the prompts."""
        return {
            "model": self._model.identity,
            "temperature": self._temperature,
            "top_p": self._made.top_p,
            "max_tokens": self._made.max_tokens,
            "options": self._made.options,
        }

    @property
    def spent(self) -> Spent:
        """What was paid for in this process."""
        return self._gateway.spent

    def reply(self, asked: Sequence[Asked]) -> list[Reply]:
        """Answer dialogues, all at the same time; see `Policy.reply`."""
        requests = [self._request(one) for one in asked]
        if len(requests) == 1:
            begun = time.monotonic()
            try:
                answer = self._gateway.complete(requests[0])
                return [self._read(answer, time.monotonic() - begun)]
            except LLMError as error:
                return [self._failed(error)]
        found = [Reply(problem="not asked")] * len(requests)
        for number, outcome in self._gateway.map(requests):
            found[number] = self._failed(outcome) if isinstance(outcome, LLMError) else self._read(outcome)
        return found

    def close(self) -> None:
        """Close connections; requests under way are heard out for some seconds."""
        self._gateway.close()

    def __enter__(self) -> HostedPolicy:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _request(self, asked: Asked) -> Request:
        native = self.format == "native"
        return Request(
            model=self._model.name,
            messages=[_sendable(message) for message in asked.messages],
            tools=asked.tools if native else (),
            temperature=self._temperature,
            top_p=self._made.top_p,
            max_tokens=asked.max_tokens or self._made.max_tokens,
            sample=asked.sample,
            purpose="eval",
        )

    def _read(self, answer: Answer, seconds: float = 0.0) -> Reply:
        text = answer.text
        if self.format == "native":
            text = json.dumps(answer.message(), ensure_ascii=False)
        return Reply(
            text=text,
            tokens=answer.completion_tokens,
            truncated=answer.truncated,
            thought=answer.reasoning,
            prompt_tokens=answer.prompt_tokens,
            usd=answer.usd,
            seconds=0.0 if answer.cached else seconds,
            cached=answer.cached,
            served_by=answer.served_by,
        )

    def _failed(self, error: LLMError) -> Reply:
        """Tell what says something about the model from what says something about the request.

        Raises:
            LLMError: Every further request would fail alike.
        """
        if error.stops:
            raise error
        silence = json.dumps({"role": "assistant", "content": ""}) if self.format == "native" else ""
        if isinstance(error, RequestRefusedError) and error.kind == "too_long":
            return Reply(text=silence, tokens=0, truncated=True)  # the model has no room for the dialogue
        if isinstance(error, CallFailedError) and error.kind == "empty":
            return Reply(text=silence, tokens=0)  # it was asked three times and says nothing
        return Reply(problem=f"{error.kind}: {error.what}")


def _sendable(message: dict[str, Any]) -> dict[str, Any]:
    """Servers refuse reasoning that is sent back, and take text where a message has none."""
    return {key: value for key, value in message.items() if key not in ("reasoning_content", "reasoning")}
