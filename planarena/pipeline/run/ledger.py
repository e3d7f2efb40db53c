"""The run's ledger (SQLite): chunks done, quarantine, timings, attempts; all that differs from run to run lives here.

Only the parent writes it, one transaction per finished chunk; a shard counts once its chunk is in here.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from planarena.quality import ItemKeys
from planarena.records.shards import ShardInfo

__all__ = ["FinishedChunk", "Ledger"]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS chunks (
    chunk INTEGER PRIMARY KEY, key TEXT NOT NULL, shards BLOB NOT NULL, counts BLOB NOT NULL,
    items BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS quarantine (
    scenario INTEGER NOT NULL, chunk INTEGER NOT NULL, phase TEXT NOT NULL, error TEXT NOT NULL, detail TEXT NOT NULL,
    PRIMARY KEY (scenario, phase));
CREATE TABLE IF NOT EXISTS attempts (
    chunk INTEGER NOT NULL, job TEXT NOT NULL, executed INTEGER NOT NULL, cpu_seconds REAL NOT NULL,
    wall_seconds REAL NOT NULL);
CREATE TABLE IF NOT EXISTS llm_calls (
    call_id TEXT PRIMARY KEY, model TEXT NOT NULL, prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL,
    usd REAL);
CREATE TABLE IF NOT EXISTS llm_failures (
    chunk INTEGER NOT NULL, scenario INTEGER NOT NULL, item INTEGER NOT NULL, part TEXT NOT NULL, model TEXT NOT NULL,
    error TEXT NOT NULL, detail TEXT NOT NULL);
"""


class FinishedChunk(msgspec.Struct, frozen=True):
    """A chunk whose shards are on disk.

    Attributes:
        chunk: Number.
        key: Of the phase `quality`: its inputs and the decision.
        shards: What was written.
        counts: Counts that add up over chunks.
        items: What the choice was made from, to make it again on resume.
    """

    chunk: int
    key: str
    shards: tuple[ShardInfo, ...]
    counts: dict[str, Any]
    items: ItemKeys


class Ledger:
    """Access to `RUN/ledger.sqlite`.

    Args:
        path: The file; made when absent.
    """

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, isolation_level=None, timeout=10)
        self._db.executescript(_SCHEMA)

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def get(self, key: str) -> Any:
        """Return a note, or None."""
        row = self._db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return None if row is None else msgspec.json.decode(row[0])

    def put(self, key: str, value: Any) -> None:
        """Keep a note."""
        text = msgspec.json.encode(value).decode()
        self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, text))

    def finish(self, done: FinishedChunk, quarantine: list[tuple[int, str, str, str]]) -> None:
        """Record a finished chunk and its quarantined scenarios `(scenario, phase, error, detail)` at once."""
        self._db.execute("BEGIN IMMEDIATE")
        self._db.execute(
            "INSERT OR REPLACE INTO chunks VALUES (?, ?, ?, ?, ?)",
            (
                done.chunk,
                done.key,
                msgspec.msgpack.encode(done.shards),
                msgspec.msgpack.encode(done.counts),
                msgspec.msgpack.encode(done.items),
            ),
        )
        self._db.execute("DELETE FROM quarantine WHERE chunk = ?", (done.chunk,))
        self._db.executemany(
            "INSERT OR REPLACE INTO quarantine VALUES (?, ?, ?, ?, ?)",
            [(scenario, done.chunk, phase, error, detail) for scenario, phase, error, detail in quarantine],
        )
        self._db.execute("COMMIT")

    def finished(self, chunk: int) -> FinishedChunk | None:
        """Return a finished chunk, or None."""
        row = self._db.execute("SELECT * FROM chunks WHERE chunk = ?", (chunk,)).fetchone()
        if row is None:
            return None
        number, key, shards, counts, items = row
        return FinishedChunk(
            number,
            key,
            msgspec.msgpack.decode(shards, type=tuple[ShardInfo, ...]),
            msgspec.msgpack.decode(counts),
            msgspec.msgpack.decode(items, type=ItemKeys),
        )

    def drop_from(self, chunk: int) -> list[str]:
        """Forget every chunk from this number on; return the paths of their shards."""
        rows = self._db.execute("SELECT shards FROM chunks WHERE chunk >= ?", (chunk,)).fetchall()
        self._db.execute("DELETE FROM chunks WHERE chunk >= ?", (chunk,))
        self._db.execute("DELETE FROM quarantine WHERE chunk >= ?", (chunk,))
        self._db.execute("DELETE FROM llm_failures WHERE chunk >= ?", (chunk,))
        return [
            shard.path
            for (blob,) in rows
            for shard in msgspec.msgpack.decode(blob, type=tuple[ShardInfo, ...])
        ]

    def counts(self) -> Iterator[dict[str, Any]]:
        """Yield the counts of every finished chunk, in order."""
        for (blob,) in self._db.execute("SELECT counts FROM chunks ORDER BY chunk"):
            yield msgspec.msgpack.decode(blob)

    def note_attempt(
        self, chunk: int, job: str, executed: int, cpu_seconds: float, wall_seconds: float
    ) -> None:
        """Record a job: how many scenarios it executed, and its time."""
        self._db.execute(
            "INSERT INTO attempts VALUES (?, ?, ?, ?, ?)", (chunk, job, executed, cpu_seconds, wall_seconds)
        )

    def executed(self) -> int:
        """Return how many scenarios were executed over all attempts."""
        return int(self._db.execute("SELECT COALESCE(SUM(executed), 0) FROM attempts").fetchone()[0])

    def quarantined(self) -> list[tuple[int, int, str, str, str]]:
        """Return `(scenario, chunk, phase, error, detail)` of every quarantined scenario, in order."""
        return list(
            self._db.execute("SELECT scenario, chunk, phase, error, detail FROM quarantine ORDER BY scenario")
        )

    def add_calls(self, rows: Iterable[tuple[str, str, int, int, float | None]]) -> None:
        """Record answers paid for, `(call_id, model, prompt_tokens, completion_tokens, usd)`."""
        self._db.execute("BEGIN IMMEDIATE")
        self._db.executemany("INSERT OR IGNORE INTO llm_calls VALUES (?, ?, ?, ?, ?)", rows)
        self._db.execute("COMMIT")

    def paid(self) -> tuple[int, int, float]:
        """Return the calls, tokens and USD that all commands on this run paid for."""
        row = self._db.execute(
            "SELECT COUNT(*), COALESCE(SUM(prompt_tokens + completion_tokens), 0), COALESCE(SUM(usd), 0.0) FROM llm_calls"
        ).fetchone()
        return int(row[0]), int(row[1]), float(row[2])

    def set_failures(self, chunk: int, rows: Iterable[tuple[int, int, str, str, str, str]]) -> None:
        """Record a chunk's requests to models that gave nothing of use: `(scenario, item, part, model, error, detail)`."""
        self._db.execute("BEGIN IMMEDIATE")
        self._db.execute("DELETE FROM llm_failures WHERE chunk = ?", (chunk,))
        self._db.executemany(
            "INSERT INTO llm_failures VALUES (?, ?, ?, ?, ?, ?, ?)", [(chunk, *row) for row in rows]
        )
        self._db.execute("COMMIT")

    def failures(self) -> list[tuple[int, int, int, str, str, str, str]]:
        """Return `(chunk, scenario, item, part, model, error, detail)` of every request that gave nothing, in order."""
        return list(
            self._db.execute("SELECT * FROM llm_failures ORDER BY chunk, scenario, item, part, model")
        )
