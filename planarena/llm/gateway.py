"""The gateway: every request to a model goes through here, and an answer is never paid for twice.

Order of work for one request: the cache; a call by the same key under way; budget; slot and rates of the
model; the call with retries; the cache again, before anything else is done with the answer.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

import msgspec

from planarena.errors import ConfigError
from planarena.llm.backend import LiteLLMBackend
from planarena.llm.budget import Budget, Purse, Spent
from planarena.llm.cache import AnswerCache
from planarena.llm.errors import CallFailedError, LLMError, MalformedAnswerError, ModelAccessError
from planarena.llm.failures import Failure, classify, error_of
from planarena.llm.limits import Lane, backoff
from planarena.llm.models import ModelConfig, read_model
from planarena.llm.request import Answer, CallRecord, Estimate, Request, Stored
from planarena.llm.secrets import Redactor, guard_logs
from planarena.llm.structured import read_value, repair_request, with_schema_in_prompt
from planarena.records.canonical import canonical_bytes, digest_bytes

__all__ = ["Gateway"]

_EMPTY_ASKS = 3
_REFUSALS = 3
_PATIENCE = 900.0
_EXPECTED_ANSWER = 256.0
_TRANSIENT = frozenset({"timeout", "dropped", "server_error"})


class _Model:
    """A model in use: its configuration, its lane, what its answers had so far."""

    def __init__(self, config: ModelConfig, lane: Lane) -> None:
        self.config, self.lane = config, lane
        self.answer_tokens = _EXPECTED_ANSWER

    def expected(self, request: Request) -> tuple[int, int]:
        """Return the tokens expected for prompt (four bytes each) and answer."""
        prompt = len(canonical_bytes([list(request.messages), list(request.tools)])) // 4 + 8
        answer = (
            self.answer_tokens if request.max_tokens is None else min(self.answer_tokens, request.max_tokens)
        )
        return prompt, int(answer)


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
        failures: (model, class) -> how many attempts or answers failed so.
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
        self._models: dict[str, _Model] = {}
        self._fallbacks = {name: tuple(names) for name, names in (fallbacks or {}).items()}
        self._purse = Purse(budget or Budget(), spent)
        self._cache = AnswerCache(cache)
        self._backend = LiteLLMBackend()
        self._jitter = random.Random(seed)
        self._under_way: dict[bytes, asyncio.Future[Stored]] = {}
        self._records: list[CallRecord] = []
        self._redactor = Redactor()
        self.failures: Counter[tuple[str, str]] = Counter()
        self.hits = 0
        for model in models:
            self._add(read_model(model) if isinstance(model, str) else model)

    def _add(self, config: ModelConfig) -> _Model:
        found = _Model(
            config,
            Lane(
                config.name,
                concurrency=config.concurrency,
                requests_per_minute=config.requests_per_minute,
                tokens_per_minute=config.tokens_per_minute,
            ),
        )
        self._models[config.name] = found
        keys = [model.config.key() for model in self._models.values() if model.config.key_env]
        self._redactor = Redactor([key for key in keys if key])
        guard_logs(self._redactor)
        return found

    def _model(self, name: str) -> _Model:
        return self._models.get(name) or self._add(read_model(name))

    @property
    def spent(self) -> Spent:
        """What was paid for, with what earlier runs spent."""
        return self._purse.spent

    @property
    def calls(self) -> Sequence[CallRecord]:
        """The answers paid for that `drain_calls` has not taken yet."""
        return self._records

    def drain_calls(self) -> list[CallRecord]:
        """Take the records of the answers paid for since the last time, for the ledger."""
        taken, self._records = self._records, []
        return taken

    # -- keys and the cache ------------------------------------------------------------------------------

    def _key(self, request: Request, model: _Model, ask: int = 0) -> bytes:
        whole = [model.config.identity, model.config.options, *request.identity()]
        return digest_bytes(canonical_bytes([*whole, ask] if ask else whole))

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
            found = self._recall_one(request, model)
            if found is None:
                continue
            if request.schema is not None:
                reading = read_value(found[0], request.schema)
                if reading.kind is not None:
                    repair = repair_request(request, found[0], reading.fault)
                    second = self._recall_one(repair, model)
                    if second is None:
                        continue
                    self.hits += 1
                    return self._repaired(second, repair, model, cached=True)
                self.hits += 1
                return _answer(found, model, reading.value, cached=True)
            self.hits += 1
            return _answer(found, model, None, cached=True)
        return None

    def _recall_one(self, request: Request, model: _Model) -> tuple[Stored, str] | None:
        for ask in range(_EMPTY_ASKS):
            key = self._key(request, model, ask)
            stored = self._cache.get(key)
            if stored is None:
                return None
            if not stored.empty:
                return stored, key.hex()
        raise self._empty(model)

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
            tokens, price = model.expected(request), self._backend.price(model.config)
            calls, asked, answered = calls + 1, asked + tokens[0], answered + tokens[1]
            usd = None if usd is None or price is None else usd + price[0] * tokens[0] + price[1] * tokens[1]
        return Estimate(calls, cached, asked, answered, usd)

    # -- asking ------------------------------------------------------------------------------------------

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

    async def _pursue(self, request: Request, model: _Model, wait: bool) -> Answer:
        first = await self._obtain(request, model, wait)
        if request.schema is None:
            return _answer(first, model, None, cached=False)
        reading = read_value(first[0], request.schema)
        if reading.kind is None:
            return _answer(first, model, reading.value, cached=False)
        self.failures[model.config.name, reading.kind] += 1
        repair = repair_request(request, first[0], reading.fault)
        second = await self._obtain(repair, model, wait)
        return self._repaired(second, repair, model, cached=False)

    def _repaired(
        self, second: tuple[Stored, str], repair: Request, model: _Model, *, cached: bool
    ) -> Answer:
        assert repair.schema is not None
        reading = read_value(second[0], repair.schema)
        if reading.kind is None:
            return _answer(second, model, reading.value, cached=cached, repaired=True)
        if not cached:
            self.failures[model.config.name, reading.kind] += 1
        raise MalformedAnswerError(
            f"the answer cannot be used, nor the repaired one: {self._redactor.redact(reading.fault)}",
            kind=reading.kind,
            model=model.config.name,
            fix="name a stronger model, or give it more tokens; a higher `sample` asks anew",
            text=second[0].text,
        )

    async def _obtain(self, request: Request, model: _Model, wait: bool) -> tuple[Stored, str]:
        """Return an answer that is not empty, from the cache or paid for."""
        for ask in range(_EMPTY_ASKS):
            key = self._key(request, model, ask)
            stored = self._cache.get(key)
            if stored is None:
                stored = await self._once(key, request, model, wait)
            if not stored.empty:
                return stored, key.hex()
        raise self._empty(model)

    def _empty(self, model: _Model) -> CallFailedError:
        return CallFailedError(
            f"{_EMPTY_ASKS} answers were empty",
            kind="empty",
            model=model.config.name,
            fix="look at the prompt; a higher `sample` asks anew",
        )

    async def _once(self, key: bytes, request: Request, model: _Model, wait: bool) -> Stored:
        """Pay for a key, or wait for who is paying for it already."""
        while (other := self._under_way.get(key)) is not None:
            try:
                return await asyncio.shield(other)
            except asyncio.CancelledError:
                # Either we are cancelled, or the one who paid was: then it is our turn.
                task = asyncio.current_task()
                if not other.cancelled() or (task is not None and task.cancelling()):
                    raise
        mine: asyncio.Future[Stored] = asyncio.get_running_loop().create_future()
        self._under_way[key] = mine
        try:
            stored = await self._pay(key, request, model, wait)
        except BaseException as error:
            if isinstance(error, LLMError):
                mine.set_exception(error)
                mine.exception()  # nobody need be waiting for it
            else:
                mine.cancel()
            raise
        else:
            mine.set_result(stored)
            return stored
        finally:
            del self._under_way[key]

    # -- paying ------------------------------------------------------------------------------------------

    async def _pay(self, key: bytes, request: Request, model: _Model, wait: bool) -> Stored:
        config, lane = model.config, model.lane
        await self._backend.ready()
        prompt, answer = model.expected(request)
        tokens = prompt + answer
        price = self._backend.price(config) if self._purse.budget.usd is not None else (0.0, 0.0)
        if price is None:
            raise ModelAccessError(
                "its price is not known, so a budget in USD cannot be kept",
                kind="unknown_price",
                model=config.name,
                fix="give its `price`, or a budget in tokens or calls",
            )
        cost = Spent(1, tokens, price[0] * prompt + price[1] * answer)
        tried = sent = refusals = 0
        waited = 0.0
        while True:
            await self._purse.reserve(cost)
            settled = Spent()
            try:
                probing = await lane.admit(tokens, wait)
                try:
                    sent += 1
                    begun = time.monotonic()
                    outcome = await self._attempt(request, config)
                    if isinstance(outcome, Stored):
                        self._cache.put(key, outcome)
                        lane.succeed()
                        used = outcome.prompt_tokens + outcome.completion_tokens
                        settled = Spent(1, used, outcome.usd or 0.0)
                        self._account(key, request, model, outcome, sent, time.monotonic() - begun)
                        lane.tokens.correct(used - tokens)
                        return outcome
                    lane.tokens.correct(-tokens)
                    if outcome.kind in _TRANSIENT or (outcome.kind == "unreachable" and lane.succeeded):
                        if lane.fail(probing):
                            lane.dead = self._error(Failure("unreachable", outcome.text), config, sent)
                            raise lane.dead
                    elif outcome.kind == "rate_limited":
                        pause = outcome.retry_after
                        if pause is not None:
                            lane.pause(pause)
                finally:
                    lane.leave(probing)
            finally:
                self._purse.settle(cost, settled)
            self.failures[config.name, outcome.kind] += 1
            pause = outcome.retry_after
            if outcome.kind == "rate_limited":
                # Some jitter on top, so that not everybody comes back at the same moment.
                pause = (
                    backoff(min(sent, 6), self._jitter)
                    if pause is None
                    else pause + 0.05 * self._jitter.random()
                )
                waited += pause
                if waited > _PATIENCE:
                    raise self._error(outcome, config, sent)
            elif outcome.kind in _TRANSIENT:
                tried += 1
                if tried >= config.attempts:
                    raise self._error(outcome, config, sent)
                pause = max(pause or 0.0, backoff(tried, self._jitter))
            elif outcome.kind in {"revoked_key", "unknown_model", "unreachable"}:
                # One server of several may be behind: a model is given up only when it refuses repeatedly.
                refusals += 1
                if refusals >= _REFUSALS:
                    lane.dead = self._error(outcome, config, sent)
                    raise lane.dead
                pause = backoff(refusals, self._jitter)
            elif outcome.kind == "bad_request" and self._turn_to_prompt(request, config, outcome):
                continue
            else:
                error = self._error(outcome, config, sent)
                if error.stops:
                    lane.dead = error
                raise error
            await asyncio.sleep(pause)

    async def _attempt(self, request: Request, config: ModelConfig) -> Stored | Failure:
        how = "json_schema"
        if request.schema is not None:
            how = self._backend.takes_schema(config)
            if how != "json_schema":
                request = with_schema_in_prompt(request)
        try:
            stored = await self._backend.call(request, config, how)
        except ConfigError:
            raise
        except Exception as error:  # every exception of a client library means a failed attempt
            return classify(error)
        text = self._redactor.redact_known(stored.text)
        return stored if text == stored.text else msgspec.structs.replace(stored, text=text)

    def _turn_to_prompt(self, request: Request, config: ModelConfig, failure: Failure) -> bool:
        """Whether the server refused `response_format` itself: then the schema goes into the prompt."""
        asked = request.schema is not None and self._backend.takes_schema(config) != "prompt"
        if (
            asked
            and config.structured == "auto"
            and any(
                word in failure.text
                for word in ("response_format", "json_schema", "guided", "structured output")
            )
        ):
            self._backend.refuse_schema(config)
            return True
        return False

    def _account(
        self, key: bytes, request: Request, model: _Model, stored: Stored, sent: int, seconds: float
    ) -> None:
        model.answer_tokens += 0.1 * (stored.completion_tokens - model.answer_tokens)
        kind = "empty" if stored.empty else "ok"
        if request.schema is not None and kind == "ok":
            kind = read_value(stored, request.schema).kind or "ok"
        elif kind == "empty":
            self.failures[model.config.name, kind] += 1
        self._records.append(
            CallRecord(
                key.hex(),
                model.config.name,
                stored.prompt_tokens,
                stored.completion_tokens,
                stored.usd,
                request.purpose,
                kind,
                sent,
                seconds,
            )
        )

    def _error(self, failure: Failure, config: ModelConfig, sent: int) -> LLMError:
        return error_of(failure, config.name, self._redactor.redact(failure.text), sent, config.key_env)

    async def close(self) -> None:
        """Close connections and the cache."""
        await self._backend.close()
        self._cache.close()

    async def __aenter__(self) -> Gateway:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def _answer(
    found: tuple[Stored, str], model: _Model, value: object, *, cached: bool, repaired: bool = False
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
