"""Per model: requests in flight, requests and tokens per minute, pauses that a server asks for, circuit breaker."""

from __future__ import annotations

import asyncio
import random
import time
from contextlib import suppress

from planarena.llm.errors import CallFailedError, LLMError

__all__ = ["Bucket", "RateLimiter", "backoff"]

# Small enough that 5 % hold over a few seconds, large enough that a late wake-up loses nothing.
_BURST_SECONDS = 0.1


def backoff(attempt: int, jitter: random.Random, base: float = 0.5, most: float = 30.0) -> float:
    """Return seconds to wait before attempt 1, 2, ...: between half of and the whole of base 2^(attempt-1)."""
    whole: float = min(most, base * 2 ** min(attempt - 1, 32))
    return whole * (0.5 + 0.5 * jitter.random())


class Bucket:
    """A token bucket that holds a tenth of a second's worth: at most 1/600 above the limit in any minute.

    A take larger than the bucket waits for a full bucket and leaves a debt, so the rate holds on average.

    Args:
        per_minute: The limit; 0 sets none.
    """

    def __init__(self, per_minute: float) -> None:
        self.rate = per_minute / 60
        self.capacity = max(1.0, self.rate * _BURST_SECONDS)
        self.level = self.capacity
        self._stamp: float | None = None
        self._turn = asyncio.Lock()
        self._returned = asyncio.Event()

    def _refill(self, now: float) -> None:
        if self._stamp is not None:
            self.level = min(self.capacity, self.level + (now - self._stamp) * self.rate)
        self._stamp = now

    async def take(self, amount: float) -> None:
        """Wait until `amount` may be used; first come, first served."""
        if not self.rate:
            return
        loop = asyncio.get_running_loop()
        async with self._turn:
            self._refill(loop.time())
            while (lacking := min(amount, self.capacity) - self.level) > 1e-9:
                self._returned.clear()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._returned.wait(), lacking / self.rate)
                self._refill(loop.time())
            self.level -= amount

    def correct(self, amount: float) -> None:
        """Take back (below 0: give back) what a call used beyond its estimate."""
        if self.rate:
            self.level -= amount
            if amount < 0:
                self._returned.set()


class RateLimiter:
    """What limits one model. Not for several event loops.

    Args:
        model: Its name.
        concurrency: Most requests in flight.
        requests_per_minute: 0 sets no limit.
        tokens_per_minute: Likewise.
        trip_after: Failures in a row that open the circuit.
        cool_down: Seconds it stays open first; doubled each time up to 16 times as long.
        most_trips: Times it opens without a success in between before the model is given up.
    """

    def __init__(
        self,
        model: str,
        *,
        concurrency: int,
        requests_per_minute: float = 0,
        tokens_per_minute: float = 0,
        trip_after: int = 12,
        cool_down: float = 5.0,
        most_trips: int = 4,
    ) -> None:
        self.model = model
        self.dead: LLMError | None = None
        self.succeeded = False
        self.last_success = 0.0
        self.requests = Bucket(requests_per_minute)
        self.tokens = Bucket(tokens_per_minute)
        self._slots = asyncio.Semaphore(concurrency)
        self._paused_until = 0.0
        self._trip_after, self._cool_down, self._most_trips = trip_after, cool_down, most_trips
        self._failures = self._trips = self._refusals = 0
        self._open_until = 0.0
        self._probe = asyncio.Lock()
        self.in_flight = 0

    def is_open(self) -> bool:
        """Whether the circuit is open: the model failed many times in a row."""
        return self._trips > 0

    async def admit(self, tokens: float, wait: bool = True) -> bool:
        """Wait for a slot, for the limits and for pauses; `leave` gives the slot back.

        Args:
            tokens: Expected use.
            wait: Whether to wait while the circuit is open.

        Returns:
            Whether this is the one call that tries a broken circuit.

        Raises:
            LLMError: The model was given up; or the circuit is open and `wait` is False.
        """
        loop = asyncio.get_running_loop()
        self._check(wait)
        await self._slots.acquire()
        probing = False
        try:
            while True:
                self._check(wait)
                now = loop.time()
                if self._paused_until > now:
                    await asyncio.sleep(self._paused_until - now)
                    continue
                if self.is_open() and not probing:
                    await self._probe.acquire()
                    # Whoever waited may find the circuit mended by the probe before it.
                    probing = self.is_open()
                    if not probing:
                        self._probe.release()
                    continue
                if self.is_open() and self._open_until > now:
                    await asyncio.sleep(self._open_until - now)
                    continue
                await self.requests.take(1)
                await self.tokens.take(tokens)
                if self._paused_until <= loop.time() and (probing or not self.is_open()):
                    break
                # Held up while it waited: used later, what it took would come on top of the limit.
                self.requests.correct(-1)
                self.tokens.correct(-tokens)
        except BaseException:
            if probing:
                self._probe.release()
            self._slots.release()
            raise
        self.in_flight += 1
        return probing

    def leave(self, probing: bool) -> None:
        """Give a slot back."""
        self.in_flight -= 1
        if probing:
            self._probe.release()
        self._slots.release()

    def pause(self, seconds: float) -> None:
        """Begin nothing for a while, because the server asked for it."""
        self._paused_until = max(self._paused_until, asyncio.get_running_loop().time() + seconds)

    def succeed(self) -> None:
        """The server answered: close the circuit."""
        self.succeeded = True
        self.last_success = time.monotonic()
        self._failures = self._trips = self._refusals = 0

    def fail(self, probing: bool) -> bool:
        """Count a failure; return whether the model has to be given up."""
        self._failures += 1
        if probing or (self._failures >= self._trip_after and not self.is_open()):
            self._trips += 1
            pause = self._cool_down * 2 ** min(self._trips - 1, 4)
            self._open_until = asyncio.get_running_loop().time() + pause
        return self._trips >= self._most_trips

    def refuse(self) -> bool:
        """Count a refused key or name; return whether so many came in a row that the model has to be given up."""
        self._refusals += 1
        return self._refusals >= self._trip_after // 2

    def _check(self, wait: bool) -> None:
        if self.dead is not None:
            raise self.dead.with_traceback(None)
        if self.is_open() and not wait:
            raise CallFailedError(
                "the model failed many times in a row and is left alone for a while",
                kind="circuit_open",
                model=self.model,
                fix="wait, or name another model",
            )
