"""The gateway for code without an event loop: a loop in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from queue import SimpleQueue
from types import TracebackType
from typing import Any, TypeVar

from planarena.llm.budget import Budget, Spent
from planarena.llm.errors import LLMError
from planarena.llm.gateway import Gateway
from planarena.llm.models import ModelConfig
from planarena.llm.request import Answer, CallRecord, Request

__all__ = ["SyncGateway"]

_T = TypeVar("_T")
# Answers that the caller has not taken yet; more are not asked for.
_MOST_UNREAD = 1024


class SyncGateway:
    """The same as `Gateway`, blocking; usable from several threads. Close it, or use it in `with`.

    Args:
        models: As `Gateway`, like all arguments.
        fallbacks: Likewise.
        budget: Likewise.
        spent: Likewise.
        cache: Likewise.

    Attributes:
        gateway: The gateway itself, for coroutines given to `run`.
    """

    def __init__(
        self,
        models: Iterable[ModelConfig | str] = (),
        *,
        fallbacks: Mapping[str, Sequence[str]] | None = None,
        budget: Budget | None = None,
        spent: Spent | None = None,
        cache: Path | None = None,
    ) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="llm gateway", daemon=True)
        self.gateway = Gateway(models, fallbacks=fallbacks, budget=budget, spent=spent, cache=cache)
        self._thread.start()

    def submit(self, work: Coroutine[Any, Any, _T]) -> Future[_T]:
        """Start a coroutine in the gateway's loop; its result is the future's."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Run a coroutine in the gateway's loop and wait for it; Ctrl-C cancels it first."""
        future = self.submit(work)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def complete(self, request: Request) -> Answer:
        """Answer one request; see `Gateway.complete`."""
        # The cache is asked here: a hop to the other thread costs more than a hit.
        return self.gateway.recall(request) or self.run(self.gateway.complete(request))

    def map(self, requests: Iterable[Request], *, ahead: int = 0) -> Iterator[tuple[int, Answer | LLMError]]:
        """Answer many requests, each as it is done; see `Gateway.map`. `requests` is read in the other thread."""
        done: SimpleQueue[tuple[int, Answer | LLMError] | None] = SimpleQueue()

        async def work() -> None:
            try:
                async for pair in self.gateway.map(requests, ahead=ahead):
                    done.put(pair)
                    while done.qsize() > _MOST_UNREAD:
                        await asyncio.sleep(0.005)
            finally:
                done.put(None)

        future = asyncio.run_coroutine_threadsafe(work(), self._loop)
        try:
            while (pair := done.get()) is not None:
                yield pair
            future.result()
        finally:
            future.cancel()

    @property
    def spent(self) -> Spent:
        """What was paid for; see `Gateway.spent`."""
        return self.gateway.spent

    def drain_calls(self) -> list[CallRecord]:
        """Take the records of the answers paid for; see `Gateway.drain_calls`."""
        return self.gateway.drain_calls()

    def close(self) -> None:
        """Close connections, cache and thread."""
        if self._loop.is_closed():
            return
        self.run(self._wind_down())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _wind_down(self) -> None:
        await self.gateway.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self._loop.shutdown_asyncgens()
        await self._loop.shutdown_default_executor()

    def __enter__(self) -> SyncGateway:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
