"""`augment`: shard by shard, in parallel, resumable, with the same bytes however it is run."""

from __future__ import annotations

import multiprocessing
import os
import platform
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from hashlib import blake2b
from pathlib import Path
from random import Random

import msgspec

from planarena.augment.cases import read_cases, read_tools
from planarena.augment.counting import count
from planarena.augment.making import make_variant
from planarena.augment.settings import AugmentConfig
from planarena.errors import Interrupted, RunError, UserError
from planarena.export.card import render_card
from planarena.export.trajectories import find_rejected
from planarena.pipeline.run.folder import clear, locked
from planarena.pipeline.run.outputs import grouped_counts, write_if_new
from planarena.quality import measure_run
from planarena.records import Run
from planarena.records.canonical import content_id
from planarena.records.shards import ShardInfo, is_vacant, read_columns, write_durably, write_shard
from planarena.records.tables import FORMAT_VERSION, TABLES, TableRow, ToolRow
from planarena.report.build_report import write_report
from planarena.version import __version__

__all__ = ["augment"]

# A new version makes other variants of the same run: what an earlier one left is not taken over.
_VERSION = 1
_TABLES = (
    "scenarios", "atomic_tasks", "tasks", "queries", "trajectories", "steps", "executions", "augmentations", "discards",
)  # fmt: skip


class _Part(msgspec.Struct, frozen=True):
    """What was made of one shard, beside its rows."""

    counts: dict[str, int]
    tools: tuple[ToolRow, ...]
    shapes: tuple[str, ...]
    shards: tuple[ShardInfo, ...] = ()

    def is_whole(self, root: Path) -> bool:
        """Whether the shards that were written have their bytes: what is not so is made again."""
        for shard in self.shards:
            try:
                data = (root / shard.path).read_bytes()
            except OSError:
                return False
            if blake2b(data, digest_size=16).hexdigest() != shard.digest:
                return False
        return True


def augment(config: AugmentConfig, progress: Callable[[int, int], None] = lambda _done, _all: None) -> Run:
    """Make a run of variants of another run's gold trajectories.

    Each variant is a scenario, a task and a trajectory of its own, in the split of the one that it is made from. Where
    the environment is here it is executed and proven in full, from its own rows; what fails a proof is discarded. A
    finished run with the same settings is left as it is; an interrupted one goes on.

    Args:
        config: The settings.
        progress: Called with the shards that are done and their number.

    Returns:
        The run.

    Raises:
        UserError: Bad settings, nothing to vary, a folder that does not fit.
        RunError: The run is damaged.
        Interrupted: Ctrl-C; the same call goes on.
    """
    config.check()
    source = Run.open(config.run)
    if source.info.get("kind") == "augment":
        raise UserError(
            "is an augmented run already", where=config.run, fix="augment the run that it was made from"
        )
    key = content_id("augment", _VERSION, __version__, config.stated(), _identity(source))
    root = _open_folder(config, key)
    shards = [path.name for path in source.shards("trajectories")]
    try:
        with locked(root):
            if config.fresh:
                clear(root)
                write_durably(root / "work" / "augment.json", msgspec.json.encode({"key": key}))
            parts = []
            jobs = [(config, name) for name in shards]
            for part in _all_parts(jobs, root, config.workers or os.cpu_count() or 1):
                parts.append(part)
                progress(len(parts), len(shards))
            _finish(config, source, root, parts, key)
    except KeyboardInterrupt:
        raise Interrupted(f"stopped; run the same command again to go on ({root})") from None
    return Run.open(root)


def _identity(source: Run) -> str:
    """Return the digest of all that is read of a run."""
    digest = blake2b(digest_size=16)
    for table in ("tools", "labels", *_TABLES):
        for path in source.shards(table) if table in TABLES and table != "discards" else ():
            digest.update(f"{table}/{path.name}".encode())
            digest.update(blake2b(path.read_bytes(), digest_size=16).digest())
    return digest.hexdigest()


def _open_folder(config: AugmentConfig, key: str) -> Path:
    root = Path(config.out)
    if root.resolve() == Path(config.run).resolve():
        raise UserError("is the run itself", where="--out", fix="give a new folder")
    if root.exists() and not root.is_dir():
        raise RunError("is a file", where=str(root), fix="give a folder as --out")
    mark = root / "work" / "augment.json"
    if root.is_dir() and not is_vacant(root, besides=".lock"):
        if not mark.is_file():
            raise RunError(
                "holds files, but no augmented run", where=str(root), fix="give a new or empty folder"
            )
        try:
            held = msgspec.json.decode(mark.read_bytes(), type=dict[str, str]).get("key")
        except msgspec.DecodeError:
            held = None
        if held != key and not config.fresh:
            raise RunError(
                "holds an augmentation of another run or with other settings",
                where=str(root),
                fix="give another --out, or --fresh to throw it away",
            )
    root.mkdir(parents=True, exist_ok=True)
    if not mark.is_file():
        write_durably(mark, msgspec.json.encode({"key": key}))
    return root


def _all_parts(jobs: list[tuple[AugmentConfig, str]], root: Path, workers: int) -> Iterator[_Part]:
    if workers == 1 or len(jobs) == 1:
        for config, name in jobs:
            yield _part(config, name, root)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(workers, len(jobs)), mp_context=context) as pool:
        # In the order of the shards, whoever is done first.
        yield from pool.map(_part_of, [(config, name, root) for config, name in jobs])


def _part_of(job: tuple[AugmentConfig, str, Path]) -> _Part:
    return _part(*job)


def _part(config: AugmentConfig, name: str, root: Path) -> _Part:
    """Make a shard, or read what was made of it before."""
    done = root / "work" / f"{name}.done"
    if done.is_file():
        try:
            known = msgspec.msgpack.decode(done.read_bytes(), type=_Part)
        except (msgspec.DecodeError, msgspec.ValidationError):
            known = None
        if known is not None and known.is_whole(root):
            return known
        done.unlink()
    source = Run.open(config.run)
    shard = source.path / "tables" / "trajectories" / name
    rows: dict[str, list[TableRow]] = {table: [] for table in _TABLES}
    counts: Counter[str] = Counter()
    tools: dict[str, ToolRow] = {}
    executions: set[str] = set()
    shapes: set[str] = set()
    chosen = _chosen(config, source)
    for case in read_cases(source, shard, read_tools(source), config.splits, set(find_rejected(source))):
        for number in range(config.per):
            if chosen is not None and (case.trajectory.trajectory_id, number) not in chosen:
                continue
            outcome = make_variant(case, number, config)
            count(counts, case, outcome)
            rows["discards"] += outcome.discards
            if outcome.rows is None:
                continue
            tools |= {row.tool_id: row for row in outcome.rows.tools}
            shapes.add(outcome.rows.task.shape)
            for table, found in outcome.rows.by_table().items():
                for row in found:
                    if table == "executions":
                        key = getattr(row, "execution_id")  # noqa: B009  the table decides the type
                        if key in executions:
                            continue
                        executions.add(key)
                    rows[table].append(row)
    written = []
    for table, found in rows.items():
        unique = {tuple(getattr(row, name) for name in TABLES[table][1]): row for row in found}
        written.append(write_shard(root, table, Path(name).stem, list(unique.values())))
    part = _Part(dict(sorted(counts.items())), tuple(tools.values()), tuple(sorted(shapes)), tuple(written))
    write_durably(done, msgspec.msgpack.encode(part))
    return part


def _chosen(config: AugmentConfig, source: Run) -> set[tuple[str, int]] | None:
    """Return the variants that are tried where their number is limited."""
    if not config.limit:
        return None
    found = []
    for path in source.shards("trajectories"):
        ids, kinds, actions = read_columns(path, "trajectory_id", "kind", "n_actions")
        gold = (one for one, kind, n in zip(ids, kinds, actions, strict=True) if kind == "gold" and n)
        found += [(one, number) for one in gold for number in range(config.per)]
    drawn = Random(f"augment/{config.seed}").sample(range(len(found)), min(config.limit, len(found)))
    return {found[place] for place in drawn}


def _finish(config: AugmentConfig, source: Run, root: Path, parts: list[_Part], key: str) -> None:
    import pyarrow

    counts: Counter[str] = Counter()
    tools: dict[str, ToolRow] = {}
    shapes: set[str] = set()
    for part in parts:
        counts.update(part.counts)
        tools |= {row.tool_id: row for row in part.tools}
        shapes |= set(part.shapes)
    if not counts["gold"] and not counts["no_call"]:
        raise UserError(
            f"gives no variant ({counts['augment_tried']} were tried)",
            where=config.run,
            fix="give other --kinds or --splits; runs without environments can be renamed, reworded and reordered",
        )
    path = root / "tables" / "tools" / "00000.parquet"
    ordered = sorted(tools.values(), key=lambda row: (row.wire_name, row.tool_id))
    if not path.is_file() or not (root / "run.json").is_file():
        write_shard(root, "tools", "00000", ordered)
    before = source.info
    stated = before.get("config", {})
    info = {
        "format_version": FORMAT_VERSION,
        "kind": "augment",
        "versions": {
            "planarena": __version__,
            "python": ".".join(platform.python_version_tuple()[:2]),
            "pyarrow": pyarrow.__version__,
        },
        "config": {"sources": list(stated.get("sources", ())), "augment": config.stated()},
        "augmented_from": {"config": stated, "versions": before.get("versions"), "key": key},
        "seed": config.seed,
        "stop_reason": "all_variants",
        "counts": grouped_counts(dict(sorted(counts.items())))
        | {"distinct_masked_shapes": len(shapes - {""})},
        "scorecard": measure_run(Run(root)),
        "quarantined": [],
        "cost": {"usd": 0.0, "llm_calls": 0, "tokens": 0},
    }
    text = msgspec.json.format(msgspec.json.encode(info, order="deterministic"), indent=2) + b"\n"
    write_if_new(root / "run.json", text)
    run = Run(root)
    write_if_new(root / "README.md", render_card(run).encode())
    write_report(run, root / "report.html")
