"""A fault of planarena itself: its traceback goes to a log file that is named, and the terminal gets one line."""

from __future__ import annotations

import os
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from planarena.errors import PlanArenaError, RunError

if TYPE_CHECKING:
    from planarena.llm.secrets import Redactor

__all__ = ["explain"]

_MOST_BYTES = 1 << 20


def explain(error: Exception, words: list[str]) -> PlanArenaError:
    """Write the traceback of an error that nobody expected to a file, and return what the terminal is to say.

    Args:
        error: The error, as it was caught.
        words: The command's arguments.
    """
    if isinstance(error, MemoryError):
        return PlanArenaError("there is not enough memory; what was done so far is kept")
    if type(error).__module__.partition(".")[0] in {"polars", "pyarrow"}:
        # What these raise is about the bytes of a table: ours are well-formed when they are written.
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        return RunError(
            f"a table cannot be read: {reason[:300]}",
            fix="it is damaged: build, import or evaluate again, or put a copy back",
        )
    redactor = _redactor(words)
    if isinstance(error, (msgspec.DecodeError, UnicodeDecodeError)):
        # Whoever reads a file of others says where; what comes here was read from a file of our own.
        path = _write(error, words, redactor)
        return RunError(
            f"a file that planarena wrote cannot be read: {redactor.redact(str(error)[:300])}",
            fix=f"it is damaged: write it again, or put a copy back (the details: {path})",
        )
    short = redactor.redact(f"{type(error).__name__}: {error}"[:300])
    path = _write(error, words, redactor)
    if path is None:
        # Nowhere to write: the report must not be lost with the file.
        sys.stderr.write(redactor.redact("".join(traceback.format_exception(error))))
        return PlanArenaError(f"a fault of planarena: {short}")
    return PlanArenaError(f"a fault of planarena: {short} (the details, to report it with: {path})")


def _redactor(words: list[str]) -> Redactor:
    from planarena.llm.secrets import Redactor

    # MODEL@URL#VARIABLE and --key-env VARIABLE name where a key is.
    named = [word.rpartition("#")[2].rpartition("=")[2] for word in words]
    return Redactor(os.environ.get(name, "") for name in named)


def _write(error: Exception, words: list[str], redactor: Redactor) -> Path | None:
    from planarena.managed import cache_directory
    from planarena.version import describe

    head = f"planarena {describe()}, Python {sys.version.split()[0]}\nplanarena {' '.join(words)}\n\n"
    body = "".join(traceback.format_exception(error))
    # A URL or a text of the error may hold a key.
    data = redactor.redact(head + body).encode("utf-8", "replace")[-_MOST_BYTES:]
    name = f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.log"
    for folder in (cache_directory() / "faults", Path(tempfile.gettempdir())):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / (name if folder.name == "faults" else f"planarena-{name}")
            path.write_bytes(data)
        except OSError:
            continue
        return path
    return None
