"""The jobs that workers do: produce a chunk (phases 1 and 2), finish a chunk (the rows of phase 3)."""

from __future__ import annotations

import errno
import shutil
import tempfile
import time
import traceback
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from planarena.config import BuildConfig
from planarena.environments.sources import close_descriptions, keep_conversions, take_paid_calls, use_probes
from planarena.errors import UserError
from planarena.pipeline.execute.chunk import execute_chunk
from planarena.pipeline.finish.keys import chunk_keys
from planarena.pipeline.finish.proposals import with_models
from planarena.pipeline.finish.rows import rows_of_chunk
from planarena.pipeline.language.chosen import contrast_all, contrast_chosen
from planarena.pipeline.language.describe import describe_chunk
from planarena.pipeline.phases import allow_for, source_digest
from planarena.pipeline.products import (
    Assignment,
    ExecutedChunk,
    LanguageChunk,
    ModelChunk,
    PhaseKeys,
    ProductStore,
)
from planarena.pipeline.run.memory import trim_memory
from planarena.pipeline.run.shared_storage import SharedStorage, storage_of
from planarena.quality import ItemKeys
from planarena.quality.choice import KEEP
from planarena.records.run import Run
from planarena.records.shards import ShardInfo, write_shard
from planarena.records.uncollected import uncollected
from planarena.report.embedding import prepare_fragment
from planarena.report.families import ToolRecord, read_tools

__all__ = [
    "EmbedReply",
    "FinishReply",
    "Job",
    "JobFailed",
    "ProduceReply",
    "Reply",
    "Worker",
    "fragment_path",
]


class Job(msgspec.Struct, frozen=True):
    """Work for one worker.

    Attributes:
        kind: `produce`, `finish`, or `embed` (the fragment of the report, once all tables are written).
        chunk: The chunk's number.
        decisions: For `finish`: see `rows_of_chunk`.
        again: For `produce`: throw the chunk's stored products away first (`--retry-failed`).
        assignment: Where quotas have the chunk draw from.
        new_tools: For `finish` under quotas: fingerprints of the tools that the chunk is the first to offer.
        key: For `embed`: of the finished chunk.
    """

    kind: str
    chunk: int
    decisions: bytes = b""
    again: bool = False
    assignment: Assignment | None = None
    new_tools: tuple[int, ...] = ()
    key: str = ""


class ProduceReply(msgspec.Struct, frozen=True):
    """What `produce` found: fingerprints for the choice, whether anything was executed, and paid calls to models."""

    keys: ItemKeys
    quarantine: tuple[tuple[int, str, str, str], ...]
    executed: int
    cpu_seconds: float
    wall_seconds: float
    paid: tuple[tuple[str, str, int, int, float | None], ...] = ()


class FinishReply(msgspec.Struct, frozen=True):
    """What `finish` wrote."""

    shards: tuple[ShardInfo, ...]
    counts: dict[str, Any]
    cpu_seconds: float
    wall_seconds: float
    paid: tuple[tuple[str, str, int, int, float | None], ...] = ()


class EmbedReply(msgspec.Struct, frozen=True):
    """The fragment is there."""


class JobFailed(msgspec.Struct, frozen=True):
    """A job that raised: the class's name, its errno if any, the trace, and a user's error as what, where and fix."""

    error: str
    errno: int | None
    detail: str
    told: tuple[str, str, str] | None = None


Reply = ProduceReply | FinishReply | EmbedReply | JobFailed


def fragment_path(root: Path, chunk: int, key: str) -> Path:
    """Return where the fragment of a chunk for the report stands.

    Args:
        root: The run directory.
        chunk: Number.
        key: Of the finished chunk.
    """
    return root / f"work/report-{source_digest('report')[:12]}" / f"{chunk:05d}-{key[:16]}.bin"


class Worker:
    """Does the jobs of one build in this process, and keeps the last products open between them.

    Args:
        root: The run directory.
        config: The build.
        keys: The phases' keys.
    """

    def __init__(self, root: Path, config: BuildConfig, keys: PhaseKeys) -> None:
        self._config, self._keys = config, keys
        self._storage = storage_of(config)
        # With shared storage it works in a folder of its own, which nobody else sees.
        self._root = root if self._storage is None else Path(tempfile.mkdtemp(prefix="planarena-"))
        self._store = ProductStore(self._root, keys)
        # `finish` usually follows `produce` in the same worker.
        self._last: dict[int, tuple[ExecutedChunk, LanguageChunk]] = {}
        self._trim_due = 0.0

    def answer(self, job: Job) -> Reply:
        """Do a job; a failure is an answer too."""
        try:
            return self._do(job) if self._storage is None else self._do_shared(job, self._storage)
        except Exception as error:
            told = (error.what, error.where, error.fix) if isinstance(error, UserError) else None
            return JobFailed(
                type(error).__name__, getattr(error, "errno", None), traceback.format_exc(), told
            )
        finally:
            self._trim_due = trim_memory(self._trim_due)

    def close(self) -> None:
        """Remove the folder of its own, if it has one."""
        if self._storage is not None:
            shutil.rmtree(self._root, ignore_errors=True)

    def _do_shared(self, job: Job, storage: SharedStorage) -> Reply:
        """Do a job with the storage in between: fetch what others made, put what it makes."""
        phases = ("execute", "language", *(("models",) if self._keys.models and job.kind == "finish" else ()))
        products = [str(self._store.path(phase, job.chunk).relative_to(self._root)) for phase in phases]
        if not job.again:
            storage.fetch(self._root, products)
        reply = self._do(job)
        if isinstance(reply, ProduceReply):
            storage.put(self._root, products)
        elif isinstance(reply, FinishReply):
            shards = [shard.path for shard in reply.shards]
            storage.put(self._root, shards)
            # What is there need not lie here too.
            for name in (*products, *shards):
                (self._root / name).unlink(missing_ok=True)
        return reply

    def _do(self, job: Job) -> ProduceReply | FinishReply | EmbedReply:
        with uncollected():
            return self._do_uncollected(job)

    def _do_uncollected(self, job: Job) -> ProduceReply | FinishReply | EmbedReply:
        allow_for(self._config)
        use_probes(self._root / "work" / "probes.json")
        keep_conversions(self._root / "work" / f"descriptions-{source_digest('tools')[:12]}")
        if job.kind == "produce":
            return self._produce(job)
        if job.kind == "finish":
            return self._finish(job)
        shard = self._root / f"tables/trajectories/{job.chunk:05d}.parquet"
        fragment = fragment_path(self._root, job.chunk, job.key)
        prepare_fragment(Run(self._root), shard, fragment, _tools_of(self._root))
        return EmbedReply()

    def _produce(self, job: Job) -> ProduceReply:
        cpu, wall = time.process_time(), time.perf_counter()
        executed, language, n_executed = self._products(job)
        if job.assignment is not None:
            # The next chunk is of another source, and nothing else of this one needs it open.
            close_descriptions()
        quarantine = tuple(
            (entry.number, entry.phase, entry.error, entry.detail) for entry in executed.quarantine
        )
        return ProduceReply(
            chunk_keys(executed, language, quotas=self._config.quotas.enabled),
            quarantine,
            n_executed,
            time.process_time() - cpu,
            time.perf_counter() - wall,
            tuple(record.row() for record in take_paid_calls()),
        )

    def _finish(self, job: Job) -> FinishReply:
        cpu, wall = time.process_time(), time.perf_counter()
        executed, language, _ = self._products(job)
        if self._keys.models:
            models = self._store.load("models", job.chunk, ModelChunk)
            if models is None:
                gone = f"what models gave for chunk {job.chunk} is gone"
                raise FileNotFoundError(errno.ENOENT, gone, str(self._root))
            # Models judged the choices of all tasks before one was chosen.
            whole = contrast_all(self._config, executed, language)
            language = with_models(self._config, executed, whole, models)
        else:
            kept = {place for place, decision in enumerate(job.decisions) if decision == KEEP}
            language = contrast_chosen(self._config, executed, language, kept)
        rows, counts = rows_of_chunk(self._config, executed, language, job.decisions, job.new_tools)
        shards = tuple(
            write_shard(self._root, table, f"{job.chunk:05d}", found) for table, found in rows.items()
        )
        return FinishReply(
            shards,
            counts,
            time.process_time() - cpu,
            time.perf_counter() - wall,
            tuple(record.row() for record in take_paid_calls()),
        )

    def _products(self, job: Job) -> tuple[ExecutedChunk, LanguageChunk, int]:
        """Return the products of a chunk, made or read, and how many scenarios were executed for them."""
        chunk, store = job.chunk, self._store
        if chunk in self._last and not job.again:
            return *self._last[chunk], 0
        if job.again:
            store.path("execute", chunk).unlink(missing_ok=True)
            store.path("language", chunk).unlink(missing_ok=True)
        executed_now = 0
        executed = store.load("execute", chunk, ExecutedChunk)
        language = store.load("language", chunk, LanguageChunk)
        if executed is None or executed.assignment != job.assignment:
            executed = execute_chunk(self._config, chunk, self._config.scenarios or None, job.assignment)
            store.save("execute", chunk, executed)
            executed_now, language = len(executed.scenarios) + len(executed.quarantine), None
        if language is None:
            language = describe_chunk(self._config, executed, contrast=False)
            store.save("language", chunk, language)
        while len(self._last) >= 2:
            self._last.pop(next(iter(self._last)))
        self._last[chunk] = executed, language
        return executed, language, executed_now


def _tools_of(root: Path) -> dict[str, ToolRecord]:
    """Read the tools once a worker: fragments are made when all of them are written."""
    # The folder changes with every shard that is put into it. To look at each shard for each fragment is quadratic:
    # fragments of 2,624 shards took 92 s that way and take 24 s.
    folder = (root / "tables/tools").stat()
    return _read_tools_once(root, (folder.st_ino, folder.st_mtime_ns))


@lru_cache(maxsize=1)
def _read_tools_once(root: Path, folder: tuple[int, int]) -> dict[str, ToolRecord]:
    del folder  # only tells one set of files from another
    return read_tools(Run(root))
