"""One thread that asks a policy: what came in while it was busy is its next batch."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from queue import Empty, SimpleQueue
from typing import Any, Protocol

from planarena.bench import Asked, Reply
from planarena.errors import UserError

__all__ = ["Batcher", "BusyError", "CannotReadError"]


class BusyError(Exception):
    """Too many dialogues wait."""


class CannotReadError(Exception):
    """The policy's chat template cannot write the dialogue."""


class Answering(Protocol):
    """A policy of `planarena.eval.models.open_policy`."""

    temperature: float

    def reply(self, asked: Sequence[Asked]) -> list[Reply]:
        """Answer dialogues as one batch."""


class _Waiting:
    __slots__ = ("asked", "future", "loop", "temperature")

    def __init__(self, asked: Asked, temperature: float, loop: asyncio.AbstractEventLoop) -> None:
        self.asked, self.temperature, self.loop = asked, temperature, loop
        self.future: asyncio.Future[Reply] = loop.create_future()

    def settle(self, found: Reply | BaseException) -> None:
        def put() -> None:
            if self.future.done():
                return
            if isinstance(found, BaseException):
                self.future.set_exception(found)
            else:
                self.future.set_result(found)

        self.loop.call_soon_threadsafe(put)


class Batcher:
    """Answers dialogues in batches of one temperature.

    Args:
        policy: The policy; only the one thread uses it.
        rows: Most dialogues of a batch.
        waiting: Most dialogues that wait.

    Attributes:
        batches: Sizes of the last thousand batches.
    """

    def __init__(self, policy: Any, rows: int, waiting: int = 1_024) -> None:
        self._policy, self._rows, self._most = policy, rows, waiting
        self._default = float(getattr(policy, "temperature", 0.0) or 0.0)
        self._queue: SimpleQueue[_Waiting | None] = SimpleQueue()
        self._waiting = 0
        self.batches: list[int] = []
        self._thread = threading.Thread(target=self._work, daemon=True, name="policy")
        self._thread.start()

    async def answer(self, asked: Asked, temperature: float | None) -> Reply:
        """Return the reply to a dialogue.

        Raises:
            BusyError: Too many wait.
            CannotReadError: It cannot be written for the policy.
        """
        if self._waiting >= self._most:
            raise BusyError
        one = _Waiting(
            asked, self._default if temperature is None else temperature, asyncio.get_running_loop()
        )
        self._waiting += 1
        self._queue.put(one)
        try:
            return await one.future
        finally:
            self._waiting -= 1

    def close(self) -> None:
        """End the thread after the batch under way."""
        self._queue.put(None)
        self._thread.join(timeout=30)

    def _work(self) -> None:
        held: list[_Waiting] = []
        while True:
            if not held:
                first = self._queue.get()
                if first is None:
                    return
                held.append(first)
            ended = False
            while True:
                try:
                    more = self._queue.get_nowait()
                except Empty:
                    break
                if more is None:
                    ended = True
                    break
                held.append(more)
            # A client that has gone needs no answer.
            held = [one for one in held if not one.future.cancelled()]
            if held:
                warmth = held[0].temperature
                batch = [one for one in held if one.temperature == warmth][: self._rows]
                chosen = set(map(id, batch))
                held = [one for one in held if id(one) not in chosen]
                self._answer(batch, warmth)
            if ended:
                for one in held:
                    one.settle(BusyError())
                return

    def _answer(self, batch: list[_Waiting], temperature: float) -> None:
        ready = []
        for one in batch:
            try:
                if hasattr(self._policy, "encode"):
                    self._policy.encode(one.asked)
                ready.append(one)
            except Exception as error:
                what = error.what if isinstance(error, UserError) else str(error)
                one.settle(CannotReadError(what.splitlines()[0][:300] if what else "it cannot be written"))
        if not ready:
            return
        self.batches = [*self.batches[-999:], len(ready)]
        self._policy.temperature = temperature
        try:
            replies = self._policy.reply([one.asked for one in ready])
        except Exception as error:
            for one in ready:
                one.settle(error)
            return
        for one, reply in zip(ready, replies, strict=True):
            one.settle(reply)
