"""Files of JSON lines that grow while one looks: read from where the last look ended."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Any

import msgspec

from planarena.records.foreign import fits

__all__ = ["Growing"]

_MOST_FILES = 24
_MOST_LINES = 200_000


class _File:
    def __init__(self) -> None:
        self.inode, self.offset = 0, 0
        self.lines: list[dict[str, Any]] = []


class Growing:
    """The lines of files, kept between looks.

    Args:
        take: Makes of a line what is kept of it.
    """

    def __init__(self, take: Callable[[dict[str, Any], int, int], dict[str, Any] | None]) -> None:
        self._take = take
        self._files: OrderedDict[Path, _File] = OrderedDict()
        self._lock = Lock()

    def lines(self, path: Path) -> list[dict[str, Any]]:
        """Return what is kept of the whole lines of a file; nothing where it is not there.

        A file that was written again, as a run that goes on does with its metrics, is read from its beginning.
        """
        with self._lock:
            known = self._files.setdefault(path, _File())
            self._files.move_to_end(path)
            while len(self._files) > _MOST_FILES:
                self._files.popitem(last=False)
            try:
                self._read(path, known)
            except OSError:
                known = self._files[path] = _File()
            return list(known.lines)

    def _read(self, path: Path, known: _File) -> None:
        with path.open("rb") as source:
            found = os.fstat(source.fileno())
            if found.st_ino != known.inode or found.st_size < known.offset:
                known.inode, known.offset, known.lines = found.st_ino, 0, []
            source.seek(known.offset)
            for line in source:
                if not line.endswith(b"\n"):
                    break  # still being written
                kept = self._kept(line, known.offset)
                known.offset += len(line)
                if kept is not None and len(known.lines) < _MOST_LINES:
                    known.lines.append(kept)

    def _kept(self, line: bytes, offset: int) -> dict[str, Any] | None:
        if not fits(line):
            return None
        try:
            value = msgspec.json.decode(line)
        except (msgspec.MsgspecError, RecursionError):
            return None
        if not isinstance(value, dict) or not isinstance(value.get("step"), int):
            return None
        return self._take(value, offset, len(line))
