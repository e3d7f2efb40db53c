"""Lines of JSON that are numbered by `step`, as a training appends them while others read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from planarena.errors import UserError
from planarena.records.foreign import Marks

__all__ = ["read_steps"]


def read_steps(path: Path, *, missing_ok: bool = False) -> list[dict[str, Any]]:
    """Return the lines of metrics.jsonl or samples.jsonl in order; a last line cut short by a kill is left out.

    Args:
        path: The file.
        missing_ok: A file that is not there has no lines.

    Raises:
        OSError: The file cannot be read.
        UserError: It holds more values than a file of its size may hold.
    """
    lines: list[dict[str, Any]] = []
    if missing_ok and not path.is_file():
        return lines
    budget = Marks(path.stat().st_size)
    with path.open("rb") as handle:
        for text in handle:
            budget.line(str(path))
            if not budget.take(text):
                raise UserError(
                    "holds more values than a file of its size may hold",
                    where=str(path),
                    fix="name a folder that `planarena train` wrote",
                )
            try:
                line = msgspec.json.decode(text)
            except (msgspec.DecodeError, RecursionError):
                continue
            if isinstance(line, dict) and isinstance(line.get("step"), int):
                lines.append(line)
    return lines
