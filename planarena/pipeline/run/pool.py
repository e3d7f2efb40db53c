"""Worker processes: one job each at a time; they die with their parent, and a killed one is replaced."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Iterator
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path

from planarena.config import BuildConfig
from planarena.errors import PlanArenaError
from planarena.pipeline.products import PhaseKeys
from planarena.pipeline.run.jobs import Job, Reply, Worker

__all__ = ["Pool"]

_MOST_DEATHS = 3


class Pool:
    """Workers with a queue; jobs put in front go first.

    Args:
        workers: Processes; 1 works in this process and starts none.
        root: The run directory.
        config: The build.
        keys: The phases' keys.
    """

    def __init__(self, workers: int, root: Path, config: BuildConfig, keys: PhaseKeys) -> None:
        self._size = workers
        self._arguments = (root, config, keys)
        self._own: Worker | None = None
        self._queue: deque[Job] = deque()
        self._deaths: dict[tuple[str, int], int] = {}
        self._processes: dict[Connection, subprocess.Popen[bytes]] = {}
        self._busy: dict[Connection, Job] = {}

    def put(self, job: Job, *, first: bool = False) -> None:
        """Add a job."""
        if first:
            self._queue.appendleft(job)
        else:
            self._queue.append(job)

    def __len__(self) -> int:
        """The number of jobs waiting or at work."""
        return len(self._queue) + len(self._busy)

    def drop_waiting_of(self, kind: str) -> None:
        """Forget the jobs of a kind that wait."""
        self._queue = deque(job for job in self._queue if job.kind != kind)

    def replies(self) -> Iterator[tuple[Job, Reply]]:
        """Yield replies as they come; ends when nothing waits or works.

        Raises:
            PlanArenaError: A job killed its worker three times.
        """
        while self._queue or self._busy:
            if self._size == 1:
                job = self._queue.popleft()
                self._own = self._own or Worker(*self._arguments)
                yield job, self._own.answer(job)
                continue
            self._feed()
            for connection in wait(list(self._busy)):
                assert isinstance(connection, Connection)
                job = self._busy.pop(connection)
                try:
                    reply = connection.recv()
                except (EOFError, OSError):
                    self._replace(connection, job)
                    continue
                yield job, reply

    def _feed(self) -> None:
        while self._queue and len(self._busy) < self._size:
            connection = next((item for item in self._processes if item not in self._busy), None)
            if connection is None:
                connection = self._start()
            job = self._queue.popleft()
            self._busy[connection] = job
            try:
                connection.send(job)
            except OSError:
                del self._busy[connection]
                self._replace(connection, job)

    def _start(self) -> Connection:
        # A module of its own, not multiprocessing's spawn: that would run the caller's main module again,
        # which breaks scripts without a guard and notebooks.
        ours, theirs = Pipe()
        # Ctrl-C reaches a worker that is still importing, too: it starts with the signal blocked.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "planarena.pipeline.run.worker",
                    str(theirs.fileno()),
                    str(os.getpid()),
                ],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
            )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()
        ours.send(self._arguments)
        self._processes[ours] = process
        return ours

    def _replace(self, connection: Connection, job: Job) -> None:
        process = self._processes.pop(connection)
        connection.close()
        process.kill()
        code = process.wait()
        self._died(job, f"exit code {code}")

    def _died(self, job: Job, how: str) -> None:
        """Have the job of a worker that died done by another, unless it killed too many."""
        key = (job.kind, job.chunk)
        self._deaths[key] = self._deaths.get(key, 0) + 1
        if self._deaths[key] >= _MOST_DEATHS:
            raise PlanArenaError(
                f"chunk {job.chunk} killed its worker {_MOST_DEATHS} times ({how}): "
                "most likely too little memory; lower --workers or chunk_scenarios and run the same command again"
            )
        self._queue.appendleft(job)

    def close(self) -> None:
        """Stop the workers; jobs at work are abandoned (their files are not yet part of the run)."""
        for connection, process in self._processes.items():
            if connection in self._busy:
                process.kill()
            else:
                try:
                    connection.send(None)
                except OSError:
                    process.kill()
        for connection, process in self._processes.items():
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            connection.close()
        self._processes.clear()
        self._busy.clear()
        if self._own is not None:
            self._own.close()
