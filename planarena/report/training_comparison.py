"""Training runs side by side: where their metrics stand at the end."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from planarena.errors import UserError
from planarena.records.step_lines import read_steps
from planarena.report.comparison import Comparison, ComparisonLine, ComparisonTable, name_folders

__all__ = ["compare_trainings", "read_metric_lines"]


def compare_trainings(folders: Sequence[Path]) -> Comparison:
    """Compare the last tenth of the steps of training runs, at least one step.

    Args:
        folders: With a metrics.jsonl: a JSON object a line, with `step` and numbers by name.

    Raises:
        UserError: A metrics.jsonl is not there, or holds no step.
    """
    names = name_folders(folders)
    read = [read_metric_lines(folder) for folder in folders]
    metrics = dict.fromkeys(name for lines in read for line in lines for name in line if name != "step")
    steps = ComparisonLine("steps", tuple(lines[-1]["step"] for lines in read))
    lines = tuple(ComparisonLine(name, tuple(_end(lines, name) for lines in read)) for name in metrics)
    kept = tuple(line for line in lines if any(value is not None for value in line.values))
    note = "the mean over the last tenth of the steps"
    tables = (ComparisonTable("Length", (steps,)), ComparisonTable("Metrics at the end", kept, notes=(note,)))
    return Comparison(f"Training runs: {', '.join(names)}", names, tables)


def read_metric_lines(folder: Path) -> list[dict[str, Any]]:
    """Return the lines of a training run's metrics.jsonl, in order.

    Raises:
        UserError: It is not there, holds no step, or more values than a file of its size may hold.
    """
    try:
        lines = read_steps(folder / "metrics.jsonl")
    except OSError as error:
        raise UserError(
            "there is no metrics.jsonl", where=str(folder), fix="name a folder that `planarena train` wrote"
        ) from error
    if not lines:
        raise UserError("metrics.jsonl holds no step", where=str(folder), fix="train for at least one step")
    return lines


def _end(lines: Sequence[dict[str, Any]], name: str) -> float | None:
    last = lines[-max(1, len(lines) // 10) :]
    found = [float(line[name]) for line in last if isinstance(line.get(name), int | float)]
    return sum(found) / len(found) if found else None
