"""Rates, pauses and the circuit breaker, on a clock that moves only when everybody sleeps."""

from __future__ import annotations

import asyncio
import random
from bisect import bisect_left
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from planarena.llm import Gateway
from planarena.llm.errors import CallFailedError, ModelAccessError
from planarena.llm.limits import Bucket, RateLimiter, backoff


class JumpingLoop(asyncio.SelectorEventLoop):
    """Time jumps to the next timer, so minutes take milliseconds and nothing depends on the machine."""

    now = 0.0

    def time(self) -> float:
        return self.now

    def _run_once(self) -> None:
        if not self._ready and self._scheduled:
            self.now = max(self.now, self._scheduled[0]._when)
        super()._run_once()


def run(work: Coroutine[Any, Any, Any]) -> Any:
    loop = JumpingLoop()
    try:
        return loop.run_until_complete(asyncio.wait_for(work, 1e9))
    finally:
        loop.close()


def busiest(times: list[float], window: float) -> int:
    """The most of these sorted times in any half-open window."""
    return max(bisect_left(times, start + window) - place for place, start in enumerate(times))


async def begin_all(lane: RateLimiter, count: int, seconds: float = 0.3, tokens: float = 0) -> list[float]:
    times: list[float] = []

    async def one() -> None:
        probing = await lane.admit(tokens)
        times.append(asyncio.get_running_loop().time())
        await asyncio.sleep(seconds)
        lane.leave(probing)

    await asyncio.gather(*(one() for _ in range(count)))
    return times


@pytest.mark.parametrize("per_minute", [6, 60, 600, 6000])
def test_requests_per_minute_hold_in_every_minute_and_are_used(per_minute: int) -> None:
    count = 3 * per_minute
    times = run(begin_all(RateLimiter("m", concurrency=1000, requests_per_minute=per_minute), count))
    # A tenth of a second's worth may come at once: 1/600 above the limit, nothing where that is under one request.
    assert busiest(times, 60) <= max(per_minute, per_minute * (1 + 1 / 600))
    assert (count - 1) / (times[-1] - times[0]) * 60 >= 0.99 * per_minute


@pytest.mark.parametrize("tokens", [10, 700])
def test_tokens_per_minute_hold_also_for_calls_larger_than_the_bucket(tokens: int) -> None:
    times = run(begin_all(RateLimiter("m", concurrency=100, tokens_per_minute=6000), 300, tokens=tokens))
    # Every call is admitted with its debt: one call's tokens come on top of a tenth of a second's worth.
    assert busiest(times, 60) * tokens <= 6000 * (1 + 1 / 600) + tokens
    assert 299 * tokens / (times[-1] - times[0]) * 60 >= 0.99 * 6000 - tokens


def test_what_a_call_used_beyond_its_estimate_is_taken_back() -> None:
    async def work() -> float:
        bucket = Bucket(600)
        for _ in range(100):
            await bucket.take(1)
            bucket.correct(4)
        return asyncio.get_running_loop().time()

    # 100 calls of 5 tokens at 10 a second; the full bucket at the start and the last debt are free.
    assert run(work()) == pytest.approx(50, abs=1.5)


def test_concurrency_is_never_exceeded() -> None:
    async def work() -> int:
        lane = RateLimiter("m", concurrency=7)
        most = 0

        async def one() -> None:
            nonlocal most
            probing = await lane.admit(0)
            most = max(most, lane.in_flight)
            await asyncio.sleep(1)
            lane.leave(probing)

        await asyncio.gather(*(one() for _ in range(50)))
        assert lane.in_flight == 0
        return most

    assert run(work()) == 7


def test_nothing_begins_during_a_pause_and_the_rate_holds_after_it() -> None:
    async def work() -> list[float]:
        lane = RateLimiter("m", concurrency=100, requests_per_minute=600)
        lane.pause(30)
        return await begin_all(lane, 100)

    times = run(work())
    assert times[0] >= 30
    assert busiest(times, 1) <= 11  # the second itself, and the bucket's one


def test_a_pause_that_begins_while_calls_wait_for_their_turn_holds_them_too() -> None:
    async def work() -> list[float]:
        lane = RateLimiter("m", concurrency=100, requests_per_minute=60)
        waiting = asyncio.create_task(begin_all(lane, 10))
        await asyncio.sleep(2.5)
        lane.pause(20)
        return await waiting

    times = run(work())
    assert not [time for time in times if 2.5 < time < 22.5]
    assert busiest(times, 10) <= 11


def test_the_circuit_opens_after_failures_in_a_row_and_one_call_tries_it() -> None:
    async def work() -> None:
        loop = asyncio.get_running_loop()
        lane = RateLimiter("m", concurrency=10, trip_after=3, cool_down=5)
        for _ in range(3):
            assert not lane.fail(False)
        with pytest.raises(CallFailedError) as caught:
            await lane.admit(0, wait=False)
        assert caught.value.kind == "circuit_open"
        begun: list[tuple[float, bool]] = []

        async def one() -> None:
            probing = await lane.admit(0)
            begun.append((loop.time(), probing))
            await asyncio.sleep(1)
            if len(begun) == 1:
                lane.fail(probing)
            else:
                lane.succeed()
            lane.leave(probing)

        await asyncio.gather(*(one() for _ in range(6)))
        # One tries after 5 s and fails at 6; the next after 10 more and succeeds at 17; then all go.
        assert begun[:2] == [(5, True), (16, True)]
        assert [probing for _, probing in begun[2:]] == [False] * 4
        assert all(at == 17 for at, _ in begun[2:])

    run(work())


def test_successes_in_between_keep_the_circuit_closed() -> None:
    async def work() -> bool:
        lane = RateLimiter("m", concurrency=1, trip_after=3)
        for number in range(30):
            if number % 3 == 2:
                lane.succeed()
            else:
                lane.fail(False)
        return lane.is_open()

    assert run(work()) is False


def test_a_model_that_never_comes_back_is_given_up() -> None:
    async def work() -> int:
        lane = RateLimiter("m", concurrency=1, trip_after=1, most_trips=3)
        tries = 0
        probing = False
        while True:
            tries += 1
            if lane.fail(probing):
                return tries
            probing = await lane.admit(0)
            lane.leave(probing)

    assert run(work()) == 3


def test_a_dead_model_is_refused_at_once() -> None:
    async def work() -> None:
        lane = RateLimiter("m", concurrency=1)
        lane.dead = ModelAccessError("gone", kind="revoked_key", model="m")
        with pytest.raises(ModelAccessError, match="gone"):
            await lane.admit(0)

    run(work())


def test_a_cancelled_wait_gives_its_slot_back() -> None:
    async def work() -> None:
        lane = RateLimiter("m", concurrency=1)
        lane.pause(100)
        waiting = asyncio.create_task(lane.admit(0))
        await asyncio.sleep(1)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        assert await lane.admit(0) is False
        assert asyncio.get_running_loop().time() >= 100

    run(work())


def test_backoff_grows_and_is_bounded() -> None:
    jitter = random.Random(0)
    for attempt, whole in ((1, 0.5), (2, 1.0), (4, 4.0), (12, 30.0), (2000, 30.0)):
        waits = [backoff(attempt, jitter) for _ in range(200)]
        assert min(waits) >= whole / 2
        assert max(waits) <= whole
        assert max(waits) - min(waits) > whole / 4


def test_a_model_with_a_key_has_one_limiter(tmp_path: Path) -> None:
    """By its long name, with the variable of its key, a request meets the limits that all its requests share."""
    gateway = Gateway(["m@http://127.0.0.1:1/v1#A_KEY"], cache=tmp_path / "c.sqlite")
    named = [
        gateway._model(name) for name in ("m@http://127.0.0.1:1/v1", *(["m@http://127.0.0.1:1/v1#A_KEY"] * 2))
    ]
    assert named[0] is named[1] is named[2]
