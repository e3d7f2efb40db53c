"""The jobs that workers do: produce a chunk (phases 1 and 2), finish a chunk (the rows of phase 3)."""

from __future__ import annotations

import errno
import shutil
import time
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from planarena.config import BuildConfig
from planarena.environments.sources import close_descriptions, keep_conversions, take_paid_calls
from planarena.pipeline.execute.chunk import execute_chunk
from planarena.pipeline.finish.keys import chunk_keys
from planarena.pipeline.finish.proposals import with_models
from planarena.pipeline.finish.rows import rows_of_chunk
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
from planarena.quality import ItemKeys
from planarena.records.run import Run
from planarena.records.shards import ShardInfo, write_shard
from planarena.report.embedding import prepare_fragment
from planarena.report.families import ToolRecord, read_tools

__all__ = [
    "EmbedReply",
    "FinishReply",
    "Job",
    "ProduceReply",
    "do_job",
    "forget_work",
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


class EmbedReply(msgspec.Struct, frozen=True):
    """The fragment is there."""


def fragment_path(root: Path, chunk: int, key: str) -> Path:
    """Return where the fragment of a chunk for the report stands.

    Args:
        root: The run directory.
        chunk: Number.
        key: Of the finished chunk.
    """
    return root / f"work/report-{source_digest('report')[:12]}" / f"{chunk:05d}-{key[:16]}.bin"


def do_job(
    root: Path, config: BuildConfig, keys: PhaseKeys, job: Job
) -> ProduceReply | FinishReply | EmbedReply:
    """Do a job.

    Raises:
        OSError: No space, no permission.
    """
    allow_for(config)
    keep_conversions(root / "work" / f"descriptions-{source_digest('tools')[:12]}")
    cpu, wall = time.process_time(), time.perf_counter()
    if job.kind == "produce":
        executed, language, n_executed = _produce(root, config, keys, job)
        if job.assignment is not None:
            # The next chunk is of another source, and nothing else of this one needs it open.
            close_descriptions()
        quarantine = tuple(
            (entry.number, entry.phase, entry.error, entry.detail) for entry in executed.quarantine
        )
        return ProduceReply(
            chunk_keys(executed, language, quotas=config.quotas.enabled),
            quarantine,
            n_executed,
            time.process_time() - cpu,
            time.perf_counter() - wall,
            tuple(record.row() for record in take_paid_calls()),
        )
    if job.kind == "embed":
        run = Run(root)
        shard = root / f"tables/trajectories/{job.chunk:05d}.parquet"
        prepare_fragment(run, shard, fragment_path(root, job.chunk, job.key), _tools_of(root))
        return EmbedReply()
    executed, language, _ = _produce(root, config, keys, job)
    if keys.models:
        models = ProductStore(root, keys).load("models", job.chunk, ModelChunk)
        if models is None:
            raise FileNotFoundError(
                errno.ENOENT, f"what models gave for chunk {job.chunk} is gone", str(root)
            )
        language = with_models(config, executed, language, models)
    rows, counts = rows_of_chunk(config, executed, language, job.decisions, job.new_tools)
    shards = tuple(write_shard(root, table, f"{job.chunk:05d}", found) for table, found in rows.items())
    return FinishReply(shards, counts, time.process_time() - cpu, time.perf_counter() - wall)


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


# The products of the chunk done last: `finish` usually follows `produce` in the same worker.
_LAST: dict[str, tuple[ExecutedChunk, LanguageChunk]] = {}


def _produce(
    root: Path, config: BuildConfig, keys: PhaseKeys, job: Job
) -> tuple[ExecutedChunk, LanguageChunk, int]:
    name = f"{root}:{keys.language}:{job.chunk}"
    if name in _LAST and not job.again:
        return *_LAST[name], 0
    store = ProductStore(root, keys)
    if job.again:
        store.path("execute", job.chunk).unlink(missing_ok=True)
        store.path("language", job.chunk).unlink(missing_ok=True)
    executed_now = 0
    executed = store.load("execute", job.chunk, ExecutedChunk)
    language = store.load("language", job.chunk, LanguageChunk)
    if executed is None or executed.assignment != job.assignment:
        executed = execute_chunk(config, job.chunk, config.scenarios or None, job.assignment)
        store.save("execute", job.chunk, executed)
        executed_now, language = len(executed.scenarios) + len(executed.quarantine), None
    if language is None:
        language = describe_chunk(config, executed)
        store.save("language", job.chunk, language)
    while len(_LAST) >= 2:
        _LAST.pop(next(iter(_LAST)))
    _LAST[name] = executed, language
    return executed, language, executed_now


def forget_work(root: Path) -> None:
    """Remove the stored products of all phases."""
    _LAST.clear()
    shutil.rmtree(root / "work", ignore_errors=True)
