"""The jobs that workers do: produce a chunk (phases 1 and 2), finish a chunk (the rows of phase 3)."""

from __future__ import annotations

import shutil
import time
from functools import cache, lru_cache
from hashlib import blake2b
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from planarena.config import BuildConfig
from planarena.environments.catalog import is_builtin, operations_of, wording_of
from planarena.environments.sources import SourceOptions, allow, close_descriptions, keep_conversions
from planarena.environments.sources.json.simulated import take_paid_calls
from planarena.pipeline.execute.chunk import execute_chunk
from planarena.pipeline.execute.decontamination import benchmarks_digest
from planarena.pipeline.execute.quotas import Assignment
from planarena.pipeline.execute.scenarios import domains_of
from planarena.pipeline.finish.keys import chunk_keys
from planarena.pipeline.finish.proposals import with_models
from planarena.pipeline.finish.rows import rows_of_chunk
from planarena.pipeline.language.describe import describe_chunk
from planarena.pipeline.products import ExecutedChunk, LanguageChunk, ModelChunk, load_product, save_product
from planarena.pipeline.uncollected import uncollected
from planarena.quality import ItemKeys
from planarena.records.canonical import content_id
from planarena.records.run import Run
from planarena.records.shards import ShardInfo, write_shard
from planarena.report.embedding import prepare_fragment
from planarena.report.families import ToolRecord, read_tools

__all__ = [
    "EmbedReply",
    "FinishReply",
    "Job",
    "PhaseKeys",
    "ProduceReply",
    "allow_for",
    "do_job",
    "forget_work",
    "fragment_path",
    "phase_keys",
    "product_path",
]

# Raise a number when its phase would give another product for the same inputs.
EXECUTE_VERSION, LANGUAGE_VERSION, MODELS_VERSION, QUALITY_VERSION = 1, 1, 1, 1


class PhaseKeys(msgspec.Struct, frozen=True):
    """Content keys of the phases of a build: what each reads, its version, and the key of the phase before.

    `models` is empty where no model takes part.
    """

    execute: str
    language: str
    quality: str
    models: str = ""


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


# What a phase runs and reads besides its configuration: folders and files of the package.
_EXECUTE_SOURCES = (
    *("environments", "tasks", "episodes", "proofs", "tools", "data/seeds"),
    *("pipeline/execute", "pipeline/products.py"),
)
_LANGUAGE_SOURCES = ("generate", "pipeline/language")
_MODELS_SOURCES = ("generate", "judges", "pipeline/models")
_QUALITY_SOURCES = ("quality", "records", "pipeline/finish")


@cache
def _source_digest(*places: str, models: bool = False) -> str:
    """Hash the code and seeds that a phase uses, so that a product never outlives what made it."""
    digest = blake2b(digest_size=16)
    for place in places:
        package, _, path = place.partition("/")
        root = files(f"planarena.{package}").joinpath(path)
        found = (item for item in root.rglob("*") if item.suffix in {".py", ".yaml"})  # type: ignore[attr-defined]
        for file in sorted(found, key=str) if root.is_dir() else [root]:
            if file.name.startswith("model_") and place == "generate" and not models:
                continue  # read by the models' phase alone
            digest.update(file.name.encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()


def allow_for(config: BuildConfig) -> None:
    """Allow in this process what a build allows."""
    allowed = config.allowed
    allow(SourceOptions(allowed.unsafe_no_sandbox, allowed.effects, allowed.simulate))


def phase_keys(config: BuildConfig, sources: str = "") -> PhaseKeys:
    """Return the keys of a build's phases.

    Args:
        config: The build.
        sources: Under quotas: the digest of the descriptions, which are not all opened for it.

    Raises:
        SourceError: The sources name no environment.
    """
    allow_for(config)
    opened = config.sources
    if config.quotas.enabled:
        opened = tuple(source for source in opened if not source.startswith("openapi:"))
    domains = domains_of(opened) if opened else ()
    wording = {domain: wording_of(domain) for domain in domains}
    # Of the wording, execution reads only what is bound and what is reported.
    interface = {
        domain: {name: [words.outputs, list(words.refer)] for name, words in found.items()}
        for domain, found in wording.items()
    }
    # Of a source, what its tools are counts too: our own are covered by the code's digest.
    given = {
        domain: [[op.tool.tool_id, op.tool.source_sha256] for op in operations_of(domain).values()]
        for domain in domains
        if not is_builtin(domain)
    }
    fields = config.identity()
    read = {
        name: fields[name]
        for name in ("sources", "scenarios", "chunk_scenarios", "seed", "composition", "allowed")
    }
    execute = content_id(
        "execute",
        EXECUTE_VERSION,
        read,
        interface,
        _source_digest(*_EXECUTE_SOURCES),
        *([given] if given else []),
        *([sources, fields["quotas"]] if config.quotas.enabled else []),
        *([benchmarks_digest(config)] if config.contamination else []),
    )
    words = msgspec.to_builtins(wording, str_keys=True)
    language = content_id(
        "language", LANGUAGE_VERSION, execute, fields["contrast"], words, _source_digest(*_LANGUAGE_SOURCES)
    )
    models = ""
    if config.models.active:
        from planarena.generate.model_requests import prompt_labels

        models = content_id(
            "models",
            MODELS_VERSION,
            language,
            fields["models"],
            prompt_labels(),
            _source_digest(*_MODELS_SOURCES, models=True),
        )
    quality = content_id(
        "quality", QUALITY_VERSION, models or language, fields["split"], _source_digest(*_QUALITY_SOURCES)
    )
    return PhaseKeys(execute, language, quality, models)


def product_path(root: Path, keys: PhaseKeys, phase: str, chunk: int) -> Path:
    """Return the file of a chunk's product of a phase: `execute`, `language` or `models`."""
    return root / "work" / f"{phase}-{getattr(keys, phase)[:12]}" / f"{chunk:05d}.bin"


def fragment_path(root: Path, chunk: int, key: str) -> Path:
    """Return where the fragment of a chunk for the report stands.

    Args:
        root: The run directory.
        chunk: Number.
        key: Of the finished chunk.
    """
    made_by = _source_digest("report")
    return root / f"work/report-{made_by[:12]}" / f"{chunk:05d}-{key[:16]}.bin"


def do_job(
    root: Path, config: BuildConfig, keys: PhaseKeys, job: Job
) -> ProduceReply | FinishReply | EmbedReply:
    """Do a job.

    Raises:
        OSError: No space, no permission.
    """
    allow_for(config)
    keep_conversions(root / "work" / f"descriptions-{_source_digest('tools')[:12]}")
    with uncollected():
        return _do(root, config, keys, job)


def _do(
    root: Path, config: BuildConfig, keys: PhaseKeys, job: Job
) -> ProduceReply | FinishReply | EmbedReply:
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
        models = load_product(product_path(root, keys, "models", job.chunk), ModelChunk)
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
    execute_path = product_path(root, keys, "execute", job.chunk)
    language_path = product_path(root, keys, "language", job.chunk)
    if job.again:
        execute_path.unlink(missing_ok=True)
        language_path.unlink(missing_ok=True)
    executed_now = 0
    executed = _load(execute_path, ExecutedChunk)
    if executed is None:
        executed = execute_chunk(config, job.chunk, config.scenarios or None, job.assignment)
        save_product(execute_path, executed)
        executed_now = len(executed.scenarios) + len(executed.quarantine)
    language = _load(language_path, LanguageChunk)
    if language is None:
        language = describe_chunk(config, executed)
        save_product(language_path, language)
    while len(_LAST) >= 2:
        _LAST.pop(next(iter(_LAST)))
    _LAST[name] = executed, language
    return executed, language, executed_now


def _load(path: Path, kind: Any) -> Any:
    try:
        return load_product(path, kind)
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        # Damaged: products are only ever renamed into place whole, so the disk did it. Make it again.
        path.unlink(missing_ok=True)
        return None


def forget_work(root: Path) -> None:
    """Remove the stored products of all phases."""
    _LAST.clear()
    shutil.rmtree(root / "work", ignore_errors=True)
