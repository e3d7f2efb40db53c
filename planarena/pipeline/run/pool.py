"""Worker processes: one job each at a time; they die with their parent, and a killed one is replaced."""

from __future__ import annotations

import os
import subprocess
import sys
import traceback
from collections import deque
from collections.abc import Iterator
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path

import msgspec

from planarena.config import BuildConfig
from planarena.errors import PlanArenaError, UserError
from planarena.pipeline.products import PhaseKeys
from planarena.pipeline.run.free_memory import give_back
from planarena.pipeline.run.jobs import EmbedReply, FinishReply, Job, ProduceReply, do_job
from planarena.pipeline.run.shared_storage import do_shared_job, forget_scratch, storage_of

__all__ = ["MOST_DEATHS", "JobFailed", "Pool", "Reply", "answer"]

MOST_DEATHS = 3


class JobFailed(msgspec.Struct, frozen=True):
    """A job that raised: the class's name, its errno if any, the trace, and a user's error as what, where and fix."""

    error: str
    errno: int | None
    detail: str
    told: tuple[str, str, str] | None = None


Reply = ProduceReply | FinishReply | EmbedReply | JobFailed


def answer(root: Path, config: BuildConfig, keys: PhaseKeys, job: Job) -> Reply:
    """Do a job; a failure is an answer too."""
    try:
        storage = storage_of(config)
        if storage is not None:
            return do_shared_job(storage, config, keys, job)
        return do_job(root, config, keys, job)
    except Exception as error:
        told = (error.what, error.where, error.fix) if isinstance(error, UserError) else None
        return JobFailed(type(error).__name__, getattr(error, "errno", None), traceback.format_exc(), told)
    finally:
        give_back()


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
                yield job, answer(*self._arguments, job)
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
        process = subprocess.Popen(
            [sys.executable, "-m", "planarena.pipeline.run.worker", str(theirs.fileno()), str(os.getpid())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
        )
        theirs.close()
        ours.send(self._arguments)
        self._processes[ours] = process
        return ours

    def _replace(self, connection: Connection, job: Job) -> None:
        process = self._processes.pop(connection)
        connection.close()
        process.kill()
        code = process.wait()
        key = (job.kind, job.chunk)
        self._deaths[key] = self._deaths.get(key, 0) + 1
        if self._deaths[key] >= MOST_DEATHS:
            raise PlanArenaError(
                f"chunk {job.chunk} killed its worker {MOST_DEATHS} times (exit code {code}): "
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
        forget_scratch()
