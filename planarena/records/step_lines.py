"""Lines of JSON that are numbered by `step`, as a training appends them while others read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

__all__ = ["read_steps"]


def read_steps(path: Path) -> list[dict[str, Any]]:
    """Return the lines of metrics.jsonl or samples.jsonl in order; a last line cut short by a kill is left out.

    Raises:
        OSError: The file cannot be read.
    """
    lines = []
    for raw in path.read_bytes().splitlines():
        try:
            line = msgspec.json.decode(raw)
        except msgspec.DecodeError:
            continue
        if isinstance(line, dict) and isinstance(line.get("step"), int):
            lines.append(line)
    return lines
