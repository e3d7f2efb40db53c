"""Answers by content, in one SQLite file in the user's cache directory, shared by processes and runs."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from planarena.llm.errors import CacheError
from planarena.llm.request import Stored
from planarena.managed import cache_directory

__all__ = ["AnswerCache", "default_cache"]

_FORMAT = 1
_SCHEMA = "CREATE TABLE IF NOT EXISTS answers (key BLOB PRIMARY KEY, answer BLOB NOT NULL) WITHOUT ROWID"


def default_cache() -> Path:
    """The cache's file: in PLANARENA_CACHE, else in the user's cache directory."""
    return cache_directory() / "llm" / f"answers-{_FORMAT}.sqlite"


class AnswerCache:
    """Access to the file, from any thread. An answer is on disk when `put` returns: kill -9 does not lose it.

    Only a digest of the request is kept, never its text; the file is readable by its owner alone.

    Args:
        path: The file; None takes `default_cache()`. Folders are made.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = default_cache() if path is None else path
        self._local = threading.local()
        self._open: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        self._decode = msgspec.msgpack.Decoder(Stored).decode
        self._encode = msgspec.msgpack.Encoder().encode
        with self._explained():
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            if not self.path.exists():
                os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
            self._connection()

    def _connection(self) -> sqlite3.Connection:
        found: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if found is None:
            # Closing happens in another thread than use; each connection is used by its own thread alone.
            found = sqlite3.connect(self.path, isolation_level=None, timeout=60, check_same_thread=False)
            # WAL with NORMAL keeps every commit through a killed process; only a power cut may lose the last ones.
            found.execute("PRAGMA journal_mode=WAL")
            found.execute("PRAGMA synchronous=NORMAL")
            found.execute("PRAGMA mmap_size=268435456")
            found.execute(_SCHEMA)
            self._local.connection = found
            with self._lock:
                self._open.append(found)
        return found

    def get(self, key: bytes) -> Stored | None:
        """Return the answer of a key, or None.

        Raises:
            CacheError: The file cannot be read.
        """
        try:
            row = self._connection().execute("SELECT answer FROM answers WHERE key = ?", (key,)).fetchone()
            return None if row is None else self._decode(row[0])
        except (sqlite3.Error, msgspec.DecodeError) as error:
            raise self._explain(error) from error

    def put(self, key: bytes, answer: Stored) -> None:
        """Keep an answer; the first one of a key stays, so that all runs see the same.

        Raises:
            CacheError: The file cannot be written.
        """
        with self._explained():
            self._connection().execute(
                "INSERT OR IGNORE INTO answers VALUES (?, ?)", (key, self._encode(answer))
            )

    def __len__(self) -> int:
        with self._explained():
            return int(self._connection().execute("SELECT count(*) FROM answers").fetchone()[0])

    def close(self) -> None:
        """Close every thread's connection."""
        with self._lock:
            for connection in self._open:
                connection.close()
            self._open.clear()
        self._local = threading.local()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise self._explain(error) from error

    def _explain(self, error: Exception) -> CacheError:
        return CacheError(
            f"the file of cached answers {self.path} cannot be used: {error}",
            kind="cache",
            fix="make room or correct its rights; if it is damaged, move it away; or set PLANARENA_CACHE to "
            "another folder",
        )
