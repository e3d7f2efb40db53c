"""`build`: chunks through the phases, in parallel, resumable, with the same bytes however it is run."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from planarena.config import BuildConfig
from planarena.environments.catalog import operations_of
from planarena.environments.sources import save_probes, take_paid_calls
from planarena.errors import Interrupted, PlanArenaError, UserError
from planarena.pipeline.execute.decontamination import marked, permitted
from planarena.pipeline.execute.origins import tool_row
from planarena.pipeline.execute.scenarios import domains_of
from planarena.pipeline.finish.balance import new_chooser
from planarena.pipeline.phases import phase_keys
from planarena.pipeline.products import PhaseKeys, ProductStore
from planarena.pipeline.run.dry_run import check_domains
from planarena.pipeline.run.folder import LEDGER, clear, faults_explained, locked, open_folder, storage_fault
from planarena.pipeline.run.identity import check_identity
from planarena.pipeline.run.jobs import (
    FinishReply,
    Job,
    JobFailed,
    ProduceReply,
    Reply,
    fragment_path,
)
from planarena.pipeline.run.ledger import FinishedChunk, Ledger
from planarena.pipeline.run.outputs import check_failures, write_outputs
from planarena.pipeline.run.pool import Pool
from planarena.pipeline.run.quotas import Quotas, find_lots
from planarena.pipeline.run.shared_storage import storage_of, without_storage
from planarena.quality import ItemKeys
from planarena.quality.choice import KEEP
from planarena.records.canonical import content_id
from planarena.records.run import Run
from planarena.records.shards import write_shard

if TYPE_CHECKING:
    from planarena.pipeline.models.phase import ModelPhase

__all__ = ["Progress", "build"]

# Chunks without a single accepted trajectory after which a build ends: the sources are spent.
_MOST_EMPTY = 20
# The same before there is any: tools that cannot compose are not tried for minutes.
_MOST_EMPTY_AT_FIRST = 5


class Progress(NamedTuple):
    """How far a build is: accepted and wanted gold trajectories, finished chunks, and those of late that gave nothing."""

    accepted: int
    wanted: int
    chunks: int
    empty: int = 0


def build(config: BuildConfig, progress: Callable[[Progress], None] | None = None) -> Run:
    """Build a dataset: tools -> composed, executed, proven trajectories -> tables, card and report.

    A finished run with the same configuration is left as it is, byte for byte, and nothing is executed; an
    interrupted one goes on.

    Args:
        config: What to build, and where (`config.out`).
        progress: Called after every finished chunk.

    Returns:
        The run.

    Raises:
        UserError: A bad source, an output folder that does not fit, no space.
        Interrupted: Ctrl-C; the same call goes on.
        PlanArenaError: More scenarios failed than `execution.max_error_rate` allows.
    """
    storage_of(config)  # a URL that cannot be read is reported before anything is done
    quotas = None
    if config.quotas.enabled:
        lots, digest = find_lots(config)
        quotas, keys = Quotas(config, lots), phase_keys(config, digest)
    else:
        check_domains(config)
        keys = phase_keys(config)
    root = open_folder(config)
    try:
        with faults_explained(root), locked(root):
            if config.execution.fresh:
                clear(root)
            save_probes(root / "work" / "probes.json")
            ledger = Ledger(root / LEDGER)
            try:
                return _Build(config, keys, root, ledger, progress, quotas).run()
            finally:
                ledger.close()
    except KeyboardInterrupt:
        raise Interrupted(f"stopped; run the same command again to go on ({root})") from None


class _Build:
    """One call of `build`."""

    def __init__(
        self,
        config: BuildConfig,
        keys: PhaseKeys,
        root: Path,
        ledger: Ledger,
        progress: Callable[[Progress], None] | None,
        quotas: Quotas | None = None,
    ) -> None:
        self.config, self.keys, self.root, self.ledger = config, keys, root, ledger
        self.quotas = quotas
        self.progress = progress or (lambda _: None)
        self.chooser = new_chooser(config)
        # What is irreversible is executed by one process, so that no two do it at once.
        self.workers = 1 if config.allowed.effects else config.execution.workers or os.cpu_count() or 1
        self.produced: dict[int, ProduceReply] = {}
        self.next_chunk = 0  # the next to be decided on
        self.submitted = 0  # the next to be produced
        self.finished = 0
        self.empty = 0
        self.pending: dict[int, tuple[str, Job, ProduceReply]] = {}
        self.again: set[int] = set()
        self.ask_again: set[int] = set()
        self.models: ModelPhase | None = None
        self.storage = storage_of(config)

    def run(self) -> Run:
        """Do it."""
        check_identity(self.ledger, self.config, self.root)
        self.ledger.add_calls(record.row() for record in take_paid_calls())
        self._write_tools()
        self._resume()
        if self.keys.models:
            # Imported here: a build without models need not load what asks them.
            from planarena.pipeline.models.phase import ModelPhase

            self.models = ModelPhase(self.config, self.keys, self.root, self.ledger)
        pool = self._open_pool()
        try:
            self._submit(pool)
            for job, reply in self._replies(pool):
                if isinstance(reply, JobFailed):
                    self._fail(job, reply)
                elif isinstance(reply, ProduceReply):
                    self.produced[job.chunk] = reply
                    if self.models is not None:
                        self._fetch_products(job.chunk)
                    self.ledger.note_attempt(
                        job.chunk, job.kind, reply.executed, reply.cpu_seconds, reply.wall_seconds
                    )
                    self.ledger.add_calls(reply.paid)
                    self._decide(pool)
                elif isinstance(reply, FinishReply):
                    self.ledger.add_calls(reply.paid)
                    self._record(job, reply)
                self._submit(pool)
            if self.storage is None:
                self._embed(pool)
        finally:
            pool.close()
            if self.models is not None:
                self.models.close()
        if self.storage is not None:
            # Every table has come here: reading them once more elsewhere would cost more than it saves.
            near = min(self.workers, os.cpu_count() or 1)
            pool = Pool(near, self.root, without_storage(self.config), self.keys)
            try:
                self._embed(pool)
            finally:
                pool.close()
        self._drop_rest()
        counts: Counter[str] = Counter()
        for part in self.ledger.counts():
            counts.update(part)
        quarantined = self.ledger.quarantined()
        write_outputs(
            self.root,
            self.config,
            counts=dict(sorted(counts.items())),
            shapes=len(self.chooser.shapes),
            stop_reason=self._stop_reason(),
            quarantined=[(scenario, error) for scenario, _, _, error, _ in quarantined],
            prepared=self._fragment_of,
        )
        if self.storage is not None:
            tools = () if self.quotas is not None else ("tables/tools/00000.parquet",)
            self.storage.put(self.root, (*tools, "README.md", "report.html", "run.json"))
        self.ledger.put("complete", True)
        check_failures(self.root, counts, len(quarantined), self.config.execution.max_error_rate)
        return Run.open(self.root)

    def _open_pool(self) -> Pool:
        arguments = (self.workers, self.root, self.config, self.keys)
        if self.config.execution.engine == "local" or self.chooser.full or self._spent():
            return Pool(*arguments)
        from planarena.pipeline.run.ray_runner import RayPool

        return RayPool(*arguments, address=self.config.execution.ray_address)

    # -- tools ---------------------------------------------------------------------------------

    def _write_tools(self) -> None:
        if self.quotas is not None:
            return  # each chunk writes those that it is the first to offer
        rows = [
            tool_row(marked(self.config, operation.tool))
            for domain in domains_of(self.config.sources)
            for operation in permitted(self.config, operations_of(domain)).values()
        ]
        key = content_id("tools", [row.tool_id for row in rows], self.keys.quality)
        path = self.root / "tables/tools/00000.parquet"
        if self.ledger.get("tools") != key or not path.is_file():
            write_shard(self.root, "tools", "00000", rows)
            self.ledger.put("tools", key)

    # -- resume --------------------------------------------------------------------------------

    def _resume(self) -> None:
        """Take over the finished chunks whose inputs, decision and files are as they would be now."""
        if self.config.execution.retry_failed:
            self.again = {chunk for _, chunk, _, _, _ in self.ledger.quarantined()}
            self.ask_again = {chunk for chunk, *_ in self.ledger.failures()}
        again = self.again | self.ask_again
        while not self.chooser.full and not self._spent():
            done = self.ledger.finished(self.next_chunk)
            if done is None or done.chunk in again:
                break
            if self.quotas is not None and self.quotas.assign(done.chunk) is None:
                break
            trial, new_tools = self._choose(done.chunk, done.items)
            if done.key != self._quality_key(done.chunk, trial, new_tools) or not self._intact(done):
                # The choice has moved on already; it is made again from the start, up to this chunk.
                self._rewind(done.chunk)
                break
            self._after_choice(done.counts.get("gold", 0))
            self.next_chunk += 1
            self.finished += 1
        self.submitted = self.next_chunk

    def _rewind(self, chunk: int) -> None:
        self.chooser = new_chooser(self.config)
        if self.quotas is not None:
            self.quotas = self.quotas.afresh()
        self.empty = 0
        for earlier in range(chunk):
            done = self.ledger.finished(earlier)
            assert done is not None
            if self.quotas is not None:
                self.quotas.assign(earlier)
            self._choose(earlier, done.items)
            self._after_choice(done.counts.get("gold", 0))

    def _intact(self, done: FinishedChunk) -> bool:
        for shard in done.shards:
            try:
                if (self.root / shard.path).stat().st_size != shard.size:
                    return False
            except FileNotFoundError:
                return False
        return True

    def _quality_key(self, chunk: int, decisions: bytes, new_tools: tuple[int, ...]) -> str:
        # Half of the fingerprints are beyond the integers of canonical JSON.
        marks = [f"{tool:x}" for tool in new_tools]
        return content_id("chunk", self.keys.quality, chunk, decisions.hex(), *([marks] if marks else []))

    def _choose(self, chunk: int, keys: ItemKeys) -> tuple[bytes, tuple[int, ...]]:
        """Decide on a chunk; return the decisions and, under quotas, the tools that are new with it."""
        if self.quotas is None:
            return self.chooser.choose(keys), ()
        decisions = self.chooser.choose(self.quotas.admit(keys))
        return decisions, self.quotas.settle(chunk, keys, decisions)

    # -- work ----------------------------------------------------------------------------------

    def _last_chunk(self) -> int | None:
        if not self.config.scenarios:
            return None
        return -(-self.config.scenarios // self.config.chunk_scenarios)

    def _spent(self) -> bool:
        if self.quotas is not None:
            return self.quotas.spent
        last = self._last_chunk()
        return self._is_barren() or (last is not None and self.next_chunk >= last)

    def _is_barren(self) -> bool:
        return self.empty >= (_MOST_EMPTY if self.chooser.accepted else _MOST_EMPTY_AT_FIRST)

    def _submit(self, pool: Pool) -> None:
        """Keep workers busy, but produce no more chunks than are likely to be needed."""
        last = self._last_chunk() if self.quotas is None else None
        while not self.chooser.full and not self._spent() and len(pool) < 2 * self.workers:
            if last is not None and self.submitted >= last:
                return
            ahead = self.submitted - self.next_chunk
            if ahead > 0 and self.next_chunk > 0:
                average = self.chooser.accepted / self.next_chunk
                if self.chooser.accepted + ahead * average >= self.config.trajectories:
                    return
            assignment = None
            if self.quotas is not None and (assignment := self.quotas.assign(self.submitted)) is None:
                return
            again = self.submitted in self.again
            pool.put(Job("produce", self.submitted, again=again, assignment=assignment))
            self.submitted += 1

    def _after_choice(self, gold: int) -> None:
        self.empty = 0 if gold else self.empty + 1

    def _decide(self, pool: Pool) -> None:
        """Decide on every chunk whose turn it is, and have its rows written."""
        while self.next_chunk in self.produced and not self.chooser.full and not self._spent():
            reply = self.produced.pop(self.next_chunk)
            before = self.chooser.accepted
            assignment = self.quotas.assign(self.next_chunk) if self.quotas is not None else None
            decisions, new_tools = self._choose(self.next_chunk, reply.keys)
            self._after_choice(self.chooser.accepted - before)
            if self.empty:
                self.progress(
                    Progress(self.chooser.accepted, self.config.trajectories, self.finished, self.empty)
                )
            job = Job("finish", self.next_chunk, decisions, assignment=assignment, new_tools=new_tools)
            key = self._quality_key(self.next_chunk, decisions, new_tools)
            self.pending[self.next_chunk] = key, job, reply
            if self.models is None:
                pool.put(job, first=True)
            else:
                ask = self.next_chunk in self.again | self.ask_again
                kept = [place for place, decision in enumerate(decisions) if decision == KEEP]
                self.models.put(self.next_chunk, kept, assignment, again=ask)
            self.next_chunk += 1
        if self.chooser.full or self._spent():
            pool.drop_waiting_of("produce")

    def _replies(self, pool: Pool) -> Iterator[tuple[Job, Reply]]:
        """Yield the workers' replies; have the rows of every chunk written whose words models have given."""
        while True:
            for pair in pool.replies():
                yield pair
                self._finish_written(pool, wait=False)
            if self.models is None or not self.models.under_way:
                return
            self._finish_written(pool, wait=True)

    def _finish_written(self, pool: Pool, *, wait: bool) -> None:
        if self.models is not None:
            for chunk in self.models.ready(wait=wait):
                if self.storage is not None:
                    self.storage.put(self.root, [self._product("models", chunk)])
                pool.put(self.pending[chunk][1], first=True)

    def _product(self, phase: str, chunk: int) -> str:
        return str(ProductStore(self.root, self.keys).path(phase, chunk).relative_to(self.root))

    def _fetch_products(self, chunk: int) -> None:
        """Have what models are asked about here."""
        if self.storage is not None:
            names = [self._product(phase, chunk) for phase in ("execute", "language")]
            for name in names if chunk in self.again else ():
                (self.root / name).unlink(missing_ok=True)
            self.storage.fetch(self.root, names)

    def _record(self, job: Job, reply: FinishReply) -> None:
        key, _, produced = self.pending.pop(job.chunk)
        if self.storage is not None:
            for shard in reply.shards:
                (self.root / shard.path).unlink(missing_ok=True)  # of another decision
            self.storage.fetch(self.root, [shard.path for shard in reply.shards])
        # The rows may be others under the same key: what was asked of models again may have been answered.
        fragment_path(self.root, job.chunk, key).unlink(missing_ok=True)
        done = FinishedChunk(job.chunk, key, reply.shards, reply.counts, produced.keys)
        self.ledger.finish(done, list(produced.quarantine))
        self.ledger.note_attempt(job.chunk, job.kind, 0, reply.cpu_seconds, reply.wall_seconds)
        self.finished += 1
        self.progress(Progress(self.chooser.accepted, self.config.trajectories, self.finished))

    def _embed(self, pool: Pool) -> None:
        """Have the fragments of the report made: by the workers, for they are a tenth of the work."""
        outdated = set((self.root / "work").glob("report-*/*.bin"))
        for chunk in range(self.next_chunk):
            done = self.ledger.finished(chunk)
            assert done is not None
            path = fragment_path(self.root, chunk, done.key)
            if path in outdated:
                outdated.remove(path)
            else:
                pool.put(Job("embed", chunk, key=done.key))
        for path in outdated:
            path.unlink()
        for job, reply in pool.replies():
            # A damaged shard is found again, and told of, when the report is put together.
            if isinstance(reply, JobFailed) and reply.errno is not None:
                self._fail(job, reply)

    def _fragment_of(self, shard: Path) -> Path | None:
        done = self.ledger.finished(int(shard.stem))
        path = fragment_path(self.root, int(shard.stem), done.key) if done is not None else None
        return path if path is not None and path.is_file() else None

    def _fail(self, job: Job, reply: JobFailed) -> None:
        if reply.errno is not None:
            raise storage_fault(reply.errno, reply.detail.strip().splitlines()[-1], self.root)
        if reply.told is not None:
            raise UserError(reply.told[0], where=reply.told[1], fix=reply.told[2])
        raise PlanArenaError(f"chunk {job.chunk} failed in {job.kind} with {reply.error}:\n{reply.detail}")

    # -- the end -------------------------------------------------------------------------------

    def _drop_rest(self) -> None:
        """Remove chunks beyond the last one that counts: left by another choice before."""
        dropped = self.ledger.drop_from(self.next_chunk)
        for path in dropped:
            (self.root / path).unlink(missing_ok=True)
        if self.storage is not None:
            self.storage.drop(dropped)

    def _stop_reason(self) -> str:
        if self.chooser.full:
            return "trajectories"
        if self.quotas is not None:
            reached = self.config.scenarios and self.quotas.scenarios >= self.config.scenarios
            return "scenarios" if reached else "quotas"
        return "no_new_trajectories" if self._is_barren() else "scenarios"
