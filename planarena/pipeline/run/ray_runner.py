"""The Ray runner: actors hold environment workers, one chunk a call; the same jobs, keys and bytes as the local one.

A call carries a whole chunk, hundreds of rows, for a call of an actor costs what some fifty rows do. Products and
shards go through the run directory, which every node must see; replies are fingerprints and counts. The ledger
stays with the parent, so nothing that Ray loses is lost: a dead actor's chunk goes to another, and after the loss of
the head the same command goes on where it stopped.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from planarena.config import BuildConfig
from planarena.errors import EnvironmentUnavailableError, PlanArenaError
from planarena.pipeline.products import PhaseKeys
from planarena.pipeline.run.jobs import Job, Reply, Worker
from planarena.pipeline.run.pool import Pool
from planarena.pipeline.run.ray_head import RayHead, import_ray

__all__ = ["RayPool"]

# How often it is looked whether the head still lives.
_LOOK_SECONDS = 2.0
# Chunks travel through the run directory; the object store carries jobs and replies of some kilobytes.
_OBJECT_STORE = 100 << 20


class _ChunkWorker(Worker):
    """What an actor is: a process that keeps sources, worlds and the last products open between chunks."""

    def process(self) -> int:
        """Return the number of the process."""
        return os.getpid()


class RayPool(Pool):
    """A `Pool` whose workers are Ray actors.

    Args:
        workers: Actors; each takes one CPU of the cluster.
        root: The run directory, on storage that every node sees.
        config: The build.
        keys: The phases' keys.
        address: Of a running cluster; "" starts a head for this build alone, on this machine.

    Raises:
        EnvironmentUnavailableError: Ray is not installed, or cannot be reached.
    """

    def __init__(
        self, workers: int, root: Path, config: BuildConfig, keys: PhaseKeys, address: str = ""
    ) -> None:
        super().__init__(workers, root, config, keys)
        if find_spec("ray") is None:
            raise EnvironmentUnavailableError(
                "Ray is not installed", where="--engine ray", fix="pip install 'planarena[ray]'"
            )
        self._head = None if address else RayHead(workers, object_store=_OBJECT_STORE)
        self._ray = ray = import_ray(self._head)
        self._actors: dict[Any, Job | None] = {}
        self._calls: dict[Any, Any] = {}
        try:
            ray.init(
                address=address or self._head.address,  # type: ignore[union-attr]
                namespace="planarena",
                log_to_driver=False,
                configure_logging=False,
            )
        except BaseException as error:
            self.close()
            if isinstance(error, ConnectionError | RuntimeError | ValueError):
                raise EnvironmentUnavailableError(
                    f"cannot be reached: {str(error).splitlines()[0][:200]}",
                    where=f"Ray at {address or 'this machine'}",
                    fix="check execution.ray_address; `ray status` says what runs",
                ) from error
            raise
        self._kind = ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0)(_ChunkWorker)

    def __len__(self) -> int:
        """The number of jobs waiting or at work."""
        return len(self._queue) + len(self._calls)

    def replies(self) -> Iterator[tuple[Job, Reply]]:
        """Yield replies as they come; ends when nothing waits or works.

        Raises:
            PlanArenaError: The head is gone, or a job killed its worker three times.
        """
        while self._queue or self._calls:
            self._hand_out()
            done, _ = self._ray.wait(list(self._calls), num_returns=1, timeout=_LOOK_SECONDS)
            self._check_head()
            for call in done:
                actor = self._calls.pop(call)
                job = self._actors[actor]
                assert job is not None
                try:
                    reply: Reply = self._ray.get(call)
                except self._ray.exceptions.RayActorError as error:
                    self._check_head()
                    del self._actors[actor]
                    self._died(job, str(error).splitlines()[0])
                    continue
                self._actors[actor] = None
                yield job, reply

    def _hand_out(self) -> None:
        while self._queue and len(self._calls) < self._size:
            actor = next((one for one, job in self._actors.items() if job is None), None)
            if actor is None:
                actor = self._kind.remote(*self._arguments)
            job = self._queue.popleft()
            self._actors[actor] = job
            self._calls[actor.answer.remote(job)] = actor

    def _check_head(self) -> None:
        if self._head is not None and not self._head.alive:
            raise PlanArenaError(
                "the Ray head is gone; run the same command again to go on: what is done is kept"
            )

    def processes(self) -> list[int]:
        """Return the numbers of the actors' processes that do nothing now."""
        idle = [actor for actor, job in self._actors.items() if job is None]
        return list(self._ray.get([actor.process.remote() for actor in idle]))

    def close(self) -> None:
        """End the actors, and the head if it is ours; jobs at work are abandoned."""
        if self._head is None:
            for actor in self._actors:
                with contextlib.suppress(Exception):
                    self._ray.kill(actor)
            self._ray.shutdown()
        else:
            if self._head.alive:
                self._ray.shutdown()
            self._head.close()
        self._actors.clear()
        self._calls.clear()
