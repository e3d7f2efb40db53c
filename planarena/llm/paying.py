"""Paying for answers: one request to one model, with retries, limits, budget and accounts.

An answer is in the cache before anything else is done with it.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter

import msgspec

from planarena.errors import ConfigError
from planarena.llm.backend import LiteLLMBackend
from planarena.llm.bodies import ANSWERED
from planarena.llm.budget import BudgetTracker, Spent
from planarena.llm.cache import AnswerCache
from planarena.llm.errors import CallFailedError, LLMError, ModelAccessError, RequestRefusedError
from planarena.llm.failures import Failure, classify, error_of
from planarena.llm.limits import RateLimiter, backoff
from planarena.llm.models import ModelConfig
from planarena.llm.request import CallRecord, Request, Stored, ToolCall
from planarena.llm.secrets import Redactor
from planarena.llm.structured import read_value, with_schema_in_prompt
from planarena.records.canonical import CanonicalError, canonical_bytes, digest_bytes

__all__ = ["ModelClient", "ModelInUse"]

_EMPTY_ASKS = 3
_REFUSALS = 3
_PATIENCE = 900.0
_EXPECTED_ANSWER = 256.0
_TRANSIENT = frozenset({"timeout", "dropped", "server_error"})


class ModelInUse:
    """A model in use: its configuration, its lane, what its answers had so far."""

    def __init__(self, config: ModelConfig, lane: RateLimiter) -> None:
        self.config, self.lane = config, lane
        self.answer_tokens = _EXPECTED_ANSWER
        self._answers = 0

    def learn(self, tokens: int) -> None:
        """Take an answer's length into the expectation: the mean of the first twenty, then a moving one."""
        self._answers += 1
        self.answer_tokens += (tokens - self.answer_tokens) / min(self._answers, 20)

    def expected(self, request: Request) -> tuple[int, int]:
        """Return the tokens expected for prompt (four bytes each) and answer."""
        prompt = len(canonical_bytes([list(request.messages), list(request.tools)])) // 4 + 8
        answer = (
            self.answer_tokens if request.max_tokens is None else min(self.answer_tokens, request.max_tokens)
        )
        return prompt, int(answer)


class _Purchase:
    """A key being paid for: by which task, who waits for it, whether a request is out."""

    def __init__(self) -> None:
        self.task: asyncio.Task[Stored] | None = None
        self.waiting = 0
        self.sent = False


class _Tries:
    """What one request went through: attempts sent, failed and refused, seconds waited for rate limits."""

    def __init__(self) -> None:
        self.sent = self.failed = self.refused = 0
        self.waited = 0.0
        self.begun = time.monotonic()


class ModelClient:
    """Gets answers of one model each, from the cache or by paying.

    Args:
        cache: Where answers are kept.
        purse: The budget.
        jitter: For waits.

    Attributes:
        backend: LiteLLM.
        redactor: Strikes keys out of every text that leaves here.
        failures: (model, class) -> how many attempts or answers failed so.
        records: Answers paid for.
    """

    def __init__(self, cache: AnswerCache, purse: BudgetTracker, jitter: random.Random) -> None:
        self.backend = LiteLLMBackend()
        self.redactor = Redactor()
        self.failures: Counter[tuple[str, str]] = Counter()
        self.records: list[CallRecord] = []
        self._cache, self._purse, self._jitter = cache, purse, jitter
        self._under_way: dict[bytes, _Purchase] = {}

    def _key(self, request: Request, model: ModelInUse, ask: int = 0) -> bytes:
        whole = [model.config.identity, model.config.options, *request.identity()]
        try:
            return digest_bytes(canonical_bytes([*whole, ask] if ask else whole))
        except CanonicalError as error:
            raise RequestRefusedError(
                f"the request is no JSON: {error}",
                kind="bad_request",
                model=request.model,
                fix="a text may hold half a surrogate pair; NaN and integers beyond 64 bits are no JSON",
            ) from None

    def recall(self, request: Request, model: ModelInUse) -> tuple[Stored, str] | None:
        """Return the answer that the cache holds, and its key in hexadecimal digits, or None.

        Raises:
            CallFailedError: Every cached answer is empty.
            RequestRefusedError: The content filter stopped the answer, or the request is no JSON.
        """
        for ask in range(_EMPTY_ASKS):
            key = self._key(request, model, ask)
            stored = self._cache.get(key)
            if stored is None:
                return None
            if self._usable(stored, model):
                return stored, key.hex()
        raise self._empty(model)

    async def obtain(self, request: Request, model: ModelInUse, wait: bool) -> tuple[Stored, str]:
        """Return an answer that is not empty, from the cache or paid for."""
        for ask in range(_EMPTY_ASKS):
            key = self._key(request, model, ask)
            stored = self._cache.get(key)
            if stored is None:
                stored = await self._once(key, request, model, wait)
            if self._usable(stored, model):
                return stored, key.hex()
        raise self._empty(model)

    def _usable(self, stored: Stored, model: ModelInUse) -> bool:
        if stored.finish == "content_filter" and not stored.text.strip():
            raise RequestRefusedError(
                "the provider's content filter stopped the answer",
                kind="refused",
                model=model.config.name,
                fix="look at the request's text, or name another model",
            )
        return not stored.empty

    def _empty(self, model: ModelInUse) -> CallFailedError:
        return CallFailedError(
            f"{_EMPTY_ASKS} answers were empty",
            kind="empty",
            model=model.config.name,
            fix="look at the prompt; a higher `sample` asks anew",
        )

    async def _once(self, key: bytes, request: Request, model: ModelInUse, wait: bool) -> Stored:
        """Pay for a key, or join who is paying for it already.

        Whoever asks may be cancelled; a request that was sent is still heard out and its answer kept.
        """
        while True:
            purchase = self._under_way.get(key)
            if purchase is None:
                purchase = self._under_way[key] = _Purchase()
                purchase.task = asyncio.create_task(self._pay(key, request, model, wait, purchase))
                purchase.task.add_done_callback(lambda task: self._forget(key, task))
            task = purchase.task
            assert task is not None
            purchase.waiting += 1
            try:
                return await asyncio.shield(task)
            except asyncio.CancelledError:
                me = asyncio.current_task()
                if not task.cancelled() or (me is not None and me.cancelling()):
                    raise
            finally:
                purchase.waiting -= 1
                if not purchase.waiting and not purchase.sent:
                    task.cancel()

    def _forget(self, key: bytes, task: asyncio.Task[Stored]) -> None:
        del self._under_way[key]
        if not task.cancelled():
            task.exception()  # nobody need be waiting for it

    async def close(self, grace: float = 5.0) -> None:
        """Hear requests out that were sent, for some seconds; then close connections."""
        tasks = [purchase.task for purchase in self._under_way.values() if purchase.task is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=grace)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        await self.backend.close()

    async def _pay(
        self, key: bytes, request: Request, model: ModelInUse, wait: bool, purchase: _Purchase
    ) -> Stored:
        try:
            model.config.key()
        except ConfigError as error:
            raise ModelAccessError(
                error.what, kind="missing_key", model=model.config.name, fix=error.fix
            ) from None
        await self.backend.ready()
        prompt, answer = model.expected(request)
        price = self.backend.price(model.config) if self._purse.budget.usd is not None else (0.0, 0.0)
        if price is None:
            raise ModelAccessError(
                "its price is not known, so a budget in USD cannot be kept",
                kind="unknown_price",
                model=model.config.name,
                fix="give its `price`, or a budget in tokens or calls",
            )
        cost = Spent(1, prompt + answer, price[0] * prompt + price[1] * answer)
        tries = _Tries()
        while purchase.waiting:
            outcome = await self._try(key, request, model, wait, purchase, cost, tries)
            if isinstance(outcome, Stored):
                return outcome
            await asyncio.sleep(self._wait_after(outcome, request, model, tries))
        raise asyncio.CancelledError

    async def _try(
        self,
        key: bytes,
        request: Request,
        model: ModelInUse,
        wait: bool,
        purchase: _Purchase,
        cost: Spent,
        tries: _Tries,
    ) -> Stored | Failure:
        """Make one attempt within budget and limits."""
        lane = model.lane
        used = Spent()
        await self._purse.reserve(cost)
        try:
            probing = await lane.admit(cost.tokens, wait)
            try:
                tries.sent += 1
                purchase.sent = True
                begun = time.monotonic()
                answered: list[int] = []
                ANSWERED.set(answered)
                outcome = await self._attempt(request, model.config)
                if isinstance(outcome, Stored):
                    self._cache.put(key, outcome)
                    lane.succeed()
                    used = Spent(1, outcome.prompt_tokens + outcome.completion_tokens, outcome.usd or 0.0)
                    self._account(key, request, model, outcome, tries.sent, time.monotonic() - begun)
                else:
                    if any(200 <= status < 300 for status in answered):
                        used = cost  # an answer that cannot be read is billed like any other
                    self.failures[model.config.name, outcome.kind] += 1
                    down = outcome.kind in _TRANSIENT or outcome.kind == "unreachable"
                    if down and lane.fail(probing):
                        lane.dead = self._error(Failure("unreachable", outcome.text), model, tries)
                    elif (outcome.retry_after or 0.0) > _PATIENCE:
                        # Nobody waits for days: all that is asked of this model ends here, and is told why.
                        lane.dead = self._error(outcome, model, tries)
                    elif outcome.kind == "rate_limited" and outcome.retry_after is not None:
                        lane.pause(outcome.retry_after)
                lane.tokens.correct(used.tokens - cost.tokens)
                return outcome
            finally:
                purchase.sent = False
                lane.leave(probing)
        finally:
            self._purse.settle(cost, used)

    def _wait_after(self, failure: Failure, request: Request, model: ModelInUse, tries: _Tries) -> float:
        """Return the seconds to wait before the next attempt.

        Raises:
            LLMError: There is to be none.
        """
        kind = failure.kind
        if (failure.retry_after or 0.0) > _PATIENCE:
            raise self._error(failure, model, tries)
        if kind == "rate_limited":
            wait = failure.retry_after
            if wait is None:
                wait = backoff(min(tries.sent, 6), self._jitter)
            tries.waited += wait
            if tries.waited <= _PATIENCE:
                # Some jitter on top, so that not everybody comes back at the same moment.
                return wait + 0.05 * self._jitter.random()
            if model.lane.last_success < tries.begun:
                # Nobody got through all that time: the next request would wait as long, and so would each after it.
                model.lane.dead = ModelAccessError(
                    f"the server let nothing through for {tries.waited:,.0f} seconds (rate limit)",
                    kind=kind,
                    model=model.config.name,
                    fix="lower the concurrency or the rate, or wait. The same command goes on from here",
                )
                raise model.lane.dead
        elif kind in _TRANSIENT:
            tries.failed += 1
            if tries.failed < model.config.attempts:
                return max(failure.retry_after or 0.0, backoff(tries.failed, self._jitter))
        elif kind == "unreachable" and model.lane.succeeded:
            # It was there before: the circuit breaker decides how long to wait for it, for all requests alike.
            return backoff(min(tries.sent, 3), self._jitter)
        elif kind in {"revoked_key", "unknown_model", "unreachable"}:
            # One server of several may be behind: a model is given up only when it refuses repeatedly.
            # Several refuse at the same time when many calls are under way.
            tries.refused += 1
            if tries.refused < _REFUSALS and not model.lane.refuse():
                return backoff(tries.refused, self._jitter)
        elif kind == "bad_request" and self._turn_to_prompt(request, model.config, failure):
            return 0.0
        error = self._error(failure, model, tries)
        if error.stops:
            model.lane.dead = error
        raise error

    async def _attempt(self, request: Request, config: ModelConfig) -> Stored | Failure:
        how = "json_schema"
        if request.schema is not None:
            how = self.backend.takes_schema(config)
            if how != "json_schema":
                request = with_schema_in_prompt(request)
        try:
            stored = await self.backend.call(request, config, how)
        except Exception as error:  # every exception of a client library means a failed attempt
            return classify(error)
        return self._without_keys(stored)

    def _without_keys(self, stored: Stored) -> Stored:
        """A server may repeat the key anywhere in its answer, and answers are kept; halves of surrogate pairs cannot be."""

        def clean(text: str) -> str:
            whole = text.encode("utf-8", "replace").decode() if not text.isascii() else text
            return self.redactor.redact_known(whole)

        return msgspec.structs.replace(
            stored,
            text=clean(stored.text),
            reasoning=clean(stored.reasoning),
            finish=clean(stored.finish),
            served_by=clean(stored.served_by),
            tool_calls=tuple(
                ToolCall(clean(call.id), clean(call.name), clean(call.arguments))
                for call in stored.tool_calls
            ),
        )

    def _turn_to_prompt(self, request: Request, config: ModelConfig, failure: Failure) -> bool:
        """Whether the server refused `response_format` itself: then the schema goes into the prompt."""
        asked = request.schema is not None and self.backend.takes_schema(config) != "prompt"
        if (
            asked
            and config.structured == "auto"
            and any(
                word in failure.text
                for word in ("response_format", "json_schema", "guided", "structured output")
            )
        ):
            self.backend.refuse_schema(config)
            return True
        return False

    def _account(
        self, key: bytes, request: Request, model: ModelInUse, stored: Stored, sent: int, seconds: float
    ) -> None:
        model.learn(stored.completion_tokens)
        kind = "empty" if stored.empty else "ok"
        if request.schema is not None and kind == "ok":
            kind = read_value(stored, request.schema).kind or "ok"
        elif kind == "empty":
            self.failures[model.config.name, kind] += 1
        self.records.append(
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

    def _error(self, failure: Failure, model: ModelInUse, tries: _Tries) -> LLMError:
        words = self.redactor.redact(failure.text)
        if (failure.retry_after or 0.0) > _PATIENCE:
            return ModelAccessError(
                f"the server asks to wait {failure.retry_after:,.0f} seconds: {words[:400]}",
                kind=failure.kind,
                model=model.config.name,
                fix="wait, or name another model. The same command goes on from here",
            )
        return error_of(failure, model.config.name, words, tries.sent, model.config.key_env)
