"""How difficult the tasks of a run are for the models that tried them: counts by pass rate."""

from __future__ import annotations

from collections.abc import Sequence

from planarena.records import Run
from planarena.records.shards import read_columns

__all__ = ["BANDS", "difficulty_of"]

# Name -> the lowest pass rate and the highest; the inner ones hold their upper end.
BANDS: Sequence[tuple[str, float, float]] = (
    ("never", 0.0, 0.0),
    ("up to 0.2", 0.0, 0.2),
    ("up to 0.4", 0.2, 0.4),
    ("up to 0.6", 0.4, 0.6),
    ("up to 0.8", 0.6, 0.8),
    ("below 1", 0.8, 1.0),
    ("always", 1.0, 1.0),
)


def difficulty_of(run: Run) -> list[tuple[str, int, int, float, dict[str, int]]]:
    """Return by model its name, the tasks, the most tries of one, the mean pass rate, and the tasks by band.

    Raises:
        RunError: A shard is damaged.
    """
    found: dict[str, tuple[list[float], list[int]]] = {}
    for path in run.shards("rates"):
        for model, rate, tries in zip(*read_columns(path, "model", "rate", "tries"), strict=True):
            rates, tried = found.setdefault(model, ([], []))
            rates.append(rate)
            tried.append(tries)
    return [
        (model, len(rates), max(tried), sum(rates) / len(rates), _bands(rates))
        for model, (rates, tried) in sorted(found.items())
    ]


def _bands(rates: Sequence[float]) -> dict[str, int]:
    counts = dict.fromkeys((name for name, _, _ in BANDS), 0)
    for rate in rates:
        inner = next((name for name, low, high in BANDS[1:-1] if low < rate <= high), "below 1")
        counts["never" if rate == 0 else "always" if rate == 1 else inner] += 1
    return counts
