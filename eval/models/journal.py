"""responses.jsonl while it grows: every answer on disk as it comes, failed requests never as answers.

A row has suite, id, sample, `asked` (a digest of the prompt, so that changed questions are asked anew) and either
`response` or `error`. A line that a killed process left unfinished is cut off by the next one.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from planarena.errors import UserError
from planarena.eval.responses import read_rows

__all__ = ["TIMINGS", "Journal", "Key"]

# What a run observed and another would not: seconds, what was paid, who answered. In no score.
TIMINGS = "timings.jsonl"

Key = tuple[str, str, int]
"""Suite, item, sample."""

# A killed process loses nothing; after a power cut the last seconds may be asked again.
_SYNC_SECONDS = 1.0


class Journal:
    """Answers of one evaluation folder. One process at a time writes; any of its threads.

    Args:
        path: The file.

    Attributes:
        rows: The last row of each item and sample that is an answer.
        failed: The last row of the others.
        observed: What each output took, every time that it was got.

    Raises:
        UserError: Another process writes it, or it cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: dict[Key, dict[str, Any]] = {}
        self.failed: dict[Key, dict[str, Any]] = {}
        self._lock = threading.Lock()
        self._synced = time.monotonic()
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise UserError(
                f"cannot be written: {error.strerror}", where=str(path), fix="name another --out"
            ) from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._file)
            raise UserError(
                "another evaluation is writing here",
                where=str(path),
                fix="wait for it, or name another --out",
            ) from error
        self.observed: dict[Key, list[dict[str, Any]]] = {}
        self._observe = os.open(path.with_name(TIMINGS), os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        self._cut_torn_line(self._observe)
        self._cut_torn_line(self._file)
        if os.fstat(self._observe).st_size:
            for row, problem in read_rows(path.with_name(TIMINGS)):
                if row is not None and not problem:
                    self.observed.setdefault(_key(row), []).append(row)
        if os.fstat(self._file).st_size:
            for row, problem in read_rows(path):
                if row is not None and not problem:
                    self._take(row)

    def observe(self, key: Key, seen: Mapping[str, Any]) -> None:
        """Note what getting an output took; see `TIMINGS`."""
        row = {"suite": key[0], "id": key[1], "sample": key[2], **seen}
        with self._lock:
            os.write(self._observe, encode_row(row) + b"\n")
            self.observed.setdefault(key, []).append(row)

    def _cut_torn_line(self, file: int) -> None:
        size = os.fstat(file).st_size
        end = size
        while end:
            start = max(0, end - 65_536)
            found = os.pread(file, end - start, start).rfind(b"\n")
            if found >= 0:
                end = start + found + 1
                break
            end = start
        if end < size:
            os.ftruncate(file, end)

    def _take(self, row: Mapping[str, Any]) -> None:
        key = _key(row)
        if "response" in row:
            self.rows[key] = dict(row)
            self.failed.pop(key, None)
        elif key not in self.rows:
            self.failed[key] = dict(row)

    def answer(self, key: Key, asked: str) -> dict[str, Any] | None:
        """Return the answer to a prompt, or None where it is to be asked."""
        row = self.rows.get(key)
        return row if row is not None and row.get("asked") == asked else None

    def add(self, row: dict[str, Any]) -> None:
        """Append a row; it survives a kill once this returns.

        Raises:
            UserError: The disk is full or refuses.
        """
        line = encode_row(row) + b"\n"
        with self._lock:
            try:
                while line:
                    line = line[os.write(self._file, line) :]
                if time.monotonic() - self._synced > _SYNC_SECONDS:
                    os.fsync(self._file)
                    self._synced = time.monotonic()
            except OSError as error:
                raise UserError(
                    f"cannot be written: {error.strerror}",
                    where=str(self.path),
                    fix="free some space and run the same command again; answers so far are kept",
                ) from error
            self._take(row)

    def compact(self, order: Mapping[Key, int]) -> bytes:
        """Return every answer once, in a given order, what it does not name behind; then what failed.

        A run that was interrupted and one that was not end with the same bytes.
        """
        last = len(order)
        listed = [*self.rows.items(), *(pair for pair in self.failed.items() if pair[0] not in self.rows)]
        listed.sort(key=lambda pair: (order.get(pair[0], last), pair[0]))
        return b"".join(encode_row(row) + b"\n" for _, row in listed)

    def close(self) -> None:
        """Write through to the disk and let others write."""
        with self._lock:  # after Ctrl-C a thread may still be writing
            if self._file >= 0:
                os.fsync(self._file)
                os.close(self._file)
                os.close(self._observe)
                self._file = -1

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _key(row: Mapping[str, Any]) -> Key:
    return (str(row.get("suite", "")), str(row.get("id", "")), int(row.get("sample") or 0))


def encode_row(row: Mapping[str, Any]) -> bytes:
    """Write a row as one line; what UTF-8 or 64 bits cannot hold is written as JSON's escapes."""
    try:
        return orjson.dumps(row)
    except (TypeError, ValueError):
        return json.dumps(row).encode()
