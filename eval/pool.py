"""Sandboxed workers that run a benchmark's own code: scoring by chunks, and single calls from any thread."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from planarena.environments import Limits, ReplyError, Worker, WorkerDiedError, WorkerTimeoutError
from planarena.eval.config import EvalConfig

__all__ = ["Pool"]

_LIMITS = Limits(memory_bytes=2 << 30, scratch_bytes=32 << 20, file_bytes=8 << 20, processes=8)


class Pool:
    """Sandboxed workers, as many as the evaluation says. `map` and `call` are not used at the same time.

    Args:
        config: For their number, an item's time and whether they may run unconfined.
        service: The file with their `METHODS`; `score` of a request's `items` gives a verdict for each.
        python: The interpreter; by default ours.
        readable: Files and folders that they may read beside it.
    """

    def __init__(
        self, config: EvalConfig, service: Path, *, python: Path | None = None, readable: Sequence[Path] = ()
    ) -> None:
        self._service, self._python, self._readable = service, python, list(readable)
        self._unsafe = config.unsafe_no_sandbox
        self._seconds = config.seconds
        self.workers: list[Worker] = []
        self._failures: list[BaseException] = []
        self._closed = False
        threads = [threading.Thread(target=self._start, daemon=True) for _ in range(config.workers)]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                thread.join()
            if self._failures:
                raise self._failures[0]
        except BaseException:
            self.close()
            raise
        self._idle: queue.SimpleQueue[Worker] = queue.SimpleQueue()
        for worker in self.workers:
            self._idle.put(worker)

    def _start(self) -> None:
        try:
            self.workers.append(
                Worker(
                    self._service,
                    python=self._python,
                    readable=self._readable,
                    limits=_LIMITS,
                    unsafe_no_sandbox=self._unsafe,
                )
            )
        except BaseException as error:
            self._failures.append(error)

    @property
    def kind(self) -> str:
        """How the workers are confined."""
        return self.workers[0].kind

    def close(self) -> None:
        """End every worker."""
        self._closed = True
        for worker in self.workers:
            worker.close()

    def call(self, method: str, value: Any, *, seconds: float | None = None) -> Any:
        """Call a worker that is idle, from any thread; see `Worker.call`."""
        worker = self._idle.get()
        try:
            if self._closed:  # a worker would start again
                raise WorkerDiedError("the workers were ended")
            return worker.call(method, value, seconds=seconds)
        finally:
            self._idle.put(worker)

    def map(self, requests: list[tuple[str, Any]], done: Callable[[int], None]) -> list[Any]:
        """Answer every request; (method, value) each, the longest first. `done` hears how many items ended."""
        waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
        for number in range(len(requests)):
            waiting.put(number)
        answers: list[Any] = [None] * len(requests)

        def work(worker: Worker) -> None:
            try:
                while not self._failures:
                    number = waiting.get_nowait()
                    method, value = requests[number]
                    answers[number] = (
                        self._score(worker, value, done) if method == "score" else worker.call(method, value)
                    )
            except queue.Empty:
                return
            except BaseException as error:
                self._failures.append(error)

        threads = [threading.Thread(target=work, args=(worker,), daemon=True) for worker in self.workers]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                thread.join()
        except BaseException as error:  # Ctrl-C: no thread may start a worker again
            self._failures.append(error)
            raise
        if self._failures:
            raise self._failures[0]
        return answers

    def _score(self, worker: Worker, request: dict[str, Any], done: Callable[[int], None]) -> list[list[Any]]:
        """Score a chunk; go item by item where it kills the worker, so that a hostile item costs itself alone."""
        verdicts: list[list[Any]] = []
        chunks = deque([request["items"]])
        while chunks and not self._failures:
            items = chunks.popleft()
            try:
                seconds = 2 * self._seconds + 2 if len(items) == 1 else 3 * self._seconds + 10
                verdicts += worker.call("score", request | {"items": items}, seconds=seconds)
                done(len(items))
            except (WorkerDiedError, WorkerTimeoutError, ReplyError) as error:
                if len(items) == 1:
                    kind = "limit:time" if isinstance(error, WorkerTimeoutError) else "limit:worker"
                    verdicts.append([items[0][0], False, kind, str(error)[:400]])
                    done(1)
                else:
                    chunks.extendleft([item] for item in reversed(items))
        return verdicts
