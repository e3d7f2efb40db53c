"""The gateway: every request to a model goes through here, and an answer is never paid for twice.

Order of work for one request: the cache; a call by the same key under way; budget; slot and rates of the
model; the call with retries; the cache again, before anything else is done with the answer.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

from planarena.llm.budget import Budget, BudgetTracker, Spent
from planarena.llm.cache import AnswerCache
from planarena.llm.errors import CallFailedError, LLMError, MalformedAnswerError, ModelAccessError
from planarena.llm.limits import RateLimiter
from planarena.llm.models import ModelConfig, read_model
from planarena.llm.paying import ModelClient, ModelInUse
from planarena.llm.request import Answer, CallRecord, Estimate, Request, Stored
from planarena.llm.secrets import Redactor, guard_logs
from planarena.llm.structured import read_value, repair_request

__all__ = ["Gateway"]


class Gateway:
    """Access to models. Use it in one event loop; `SyncGateway` is for code without one.

    Args:
        models: Configurations, or names as `read_model` reads them; others are read when a request names them.
        fallbacks: Name of a model -> names tried in order when it cannot answer.
        budget: Most to spend.
        spent: What earlier runs spent of the budget.
        cache: The file of cached answers; None takes the user's.
        seed: Of the jitter of waits; it changes no answer.

    Attributes:
        hits: Answers from the cache.
    """

    def __init__(
        self,
        models: Iterable[ModelConfig | str] = (),
        *,
        fallbacks: Mapping[str, Sequence[str]] | None = None,
        budget: Budget | None = None,
        spent: Spent | None = None,
        cache: Path | None = None,
        seed: int | None = None,
    ) -> None:
        self._models: dict[str, ModelInUse] = {}
        self._fallbacks = {name: tuple(names) for name, names in (fallbacks or {}).items()}
        self._purse = BudgetTracker(budget or Budget(), spent)
        self._cache = AnswerCache(cache)
        self._payer = ModelClient(self._cache, self._purse, random.Random(seed))
        self.hits = 0
        for model in models:
            self._add(read_model(model) if isinstance(model, str) else model)

    def _add(self, config: ModelConfig) -> ModelInUse:
        found = ModelInUse(
            config,
            RateLimiter(
                config.name,
                concurrency=config.concurrency,
                requests_per_minute=config.requests_per_minute,
                tokens_per_minute=config.tokens_per_minute,
            ),
        )
        self._models[config.name] = found
        names = [model.config.key_env for model in self._models.values() if model.config.key_env]
        self._payer.redactor = Redactor([os.environ.get(name, "").strip() for name in names])
        guard_logs(self._payer.redactor)
        return found

    def _model(self, name: str) -> ModelInUse:
        found = self._models.get(name)
        if found is None:
            # `MODEL@URL#VARIABLE` is called `MODEL@URL`: each request by the long name would get limits of its own.
            config = read_model(name)
            found = self._models.get(config.name) or self._add(config)
        return found

    @property
    def spent(self) -> Spent:
        """What was paid for, with what earlier runs spent."""
        return self._purse.spent

    @property
    def failures(self) -> Counter[tuple[str, str]]:
        """(model, class) -> how many attempts or answers failed so."""
        return self._payer.failures

    @property
    def calls(self) -> Sequence[CallRecord]:
        """The answers paid for that `drain_calls` has not taken yet."""
        return self._payer.records

    def drain_calls(self) -> list[CallRecord]:
        """Take the records of the answers paid for since the last time, for the ledger."""
        taken, self._payer.records = self._payer.records, []
        return taken

    def _names(self, request: Request) -> tuple[str, ...]:
        return (request.model, *(self._fallbacks.get(request.model, ()) if request.fallback else ()))

    def recall(self, request: Request) -> Answer | None:
        """Return the answer if it was paid for before, by any of the models that may give it; else None.

        Raises:
            MalformedAnswerError: The cached answer and its repair both broke the schema.
            CallFailedError: Every cached answer is empty.
        """
        for name in self._names(request):
            model = self._model(name)
            found = self._payer.recall(request, model)
            if found is None:
                continue
            if request.schema is not None:
                reading = read_value(found[0], request.schema)
                if reading.kind is not None:
                    repair = repair_request(request, found[0], reading.fault)
                    second = self._payer.recall(repair, model)
                    if second is None:
                        continue
                    self.hits += 1
                    return self._repaired(second, repair, model, cached=True)
                self.hits += 1
                return _answer(found, model, reading.value, cached=True)
            self.hits += 1
            return _answer(found, model, None, cached=True)
        return None

    def estimate(self, requests: Iterable[Request]) -> Estimate:
        """Say what requests would cost now, without making any."""
        calls = cached = asked = answered = 0
        usd: float | None = 0.0
        for request in requests:
            try:
                known = self.recall(request) is not None
            except LLMError:
                known = True
            if known:
                cached += 1
                continue
            model = self._model(request.model)
            tokens, price = model.expected(request), self._payer.backend.price(model.config)
            calls, asked, answered = calls + 1, asked + tokens[0], answered + tokens[1]
            usd = None if usd is None or price is None else usd + price[0] * tokens[0] + price[1] * tokens[1]
        return Estimate(calls, cached, asked, answered, usd)

    async def complete(self, request: Request) -> Answer:
        """Answer one request.

        Raises:
            CallFailedError: Every attempt failed.
            MalformedAnswerError: The answer broke the schema, and so did the repaired one.
            RequestRefusedError: The provider refuses this request.
            ModelAccessError: Key, name, server or credit; every further call would fail alike.
            BudgetSpent: The next call might exceed the budget.
        """
        found = self.recall(request)
        if found is not None:
            return found
        names = self._names(request)
        for place, name in enumerate(names):
            last = place == len(names) - 1
            try:
                return await self._pursue(request, self._model(name), wait=last)
            except (CallFailedError, ModelAccessError):
                if last:
                    raise
        raise AssertionError("a request names at least one model")

    async def map(
        self, requests: Iterable[Request], *, ahead: int = 0
    ) -> AsyncIterator[tuple[int, Answer | LLMError]]:
        """Answer many requests, each as it is done; a failed one is data, not an end.

        Args:
            requests: Read lazily.
            ahead: Most requests under way; 0 takes twice the models' concurrency.

        Yields:
            The number of the request, and its answer or its error. Every number comes exactly once,
            unless an error stops all.

        Raises:
            LLMError: One whose `stops` is true (budget, key, server): no new call begins, calls under way
                are finished, kept and yielded first.
        """
        waiting: dict[asyncio.Task[Answer], int] = {}
        stop: LLMError | None = None
        numbered = enumerate(requests)
        more = True
        try:
            while more or waiting:
                while more and stop is None and len(waiting) < (ahead or self._breadth()):
                    number, request = next(numbered, (-1, None))
                    if request is None:
                        more = False
                        break
                    try:
                        found: Answer | LLMError | None = self.recall(request)
                    except LLMError as error:
                        if error.stops:
                            raise
                        found = error
                    if found is not None:
                        yield number, found
                        continue
                    waiting[asyncio.create_task(self.complete(request))] = number
                if stop is not None and not waiting:
                    break
                if not waiting:
                    continue
                done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    number = waiting.pop(task)
                    try:
                        outcome: Answer | LLMError = task.result()
                    except LLMError as error:
                        if error.stops:
                            stop = stop or error
                            continue
                        outcome = error
                    yield number, outcome
        finally:
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
        if stop is not None:
            raise stop

    def _breadth(self) -> int:
        return 2 * sum(model.config.concurrency for model in self._models.values()) or 64

    async def _pursue(self, request: Request, model: ModelInUse, wait: bool) -> Answer:
        first = await self._payer.obtain(request, model, wait)
        if request.schema is None:
            return _answer(first, model, None, cached=False)
        reading = read_value(first[0], request.schema)
        if reading.kind is None:
            return _answer(first, model, reading.value, cached=False)
        self._payer.failures[model.config.name, reading.kind] += 1
        repair = repair_request(request, first[0], reading.fault)
        second = await self._payer.obtain(repair, model, wait)
        return self._repaired(second, repair, model, cached=False)

    def _repaired(
        self, second: tuple[Stored, str], repair: Request, model: ModelInUse, *, cached: bool
    ) -> Answer:
        assert repair.schema is not None
        reading = read_value(second[0], repair.schema)
        if reading.kind is None:
            return _answer(second, model, reading.value, cached=cached, repaired=True)
        if not cached:
            self._payer.failures[model.config.name, reading.kind] += 1
        raise MalformedAnswerError(
            f"the answer cannot be used, nor the repaired one: {self._payer.redactor.redact(reading.fault)}",
            kind=reading.kind,
            model=model.config.name,
            fix="name a stronger model, or give it more tokens; a higher `sample` asks anew",
            text=second[0].text,
        )

    async def close(self) -> None:
        """Hear requests out that were sent, for five seconds; close connections and the cache."""
        await self._payer.close()
        self._cache.close()

    async def __aenter__(self) -> Gateway:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def _answer(
    found: tuple[Stored, str], model: ModelInUse, value: object, *, cached: bool, repaired: bool = False
) -> Answer:
    stored, call_id = found
    return Answer(
        text=stored.text,
        tool_calls=stored.tool_calls,
        reasoning=stored.reasoning,
        finish=stored.finish,
        value=value,
        model=model.config.name,
        served_by=stored.served_by,
        call_id=call_id,
        prompt_tokens=stored.prompt_tokens,
        completion_tokens=stored.completion_tokens,
        usd=stored.usd,
        cached=cached,
        repaired=repaired,
    )
