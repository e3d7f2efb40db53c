"""Intervals of a study: tasks and training seeds are both drawn anew, so that both kinds of luck count."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

__all__ = ["Estimate", "difference", "mean"]

_DRAWS = 2000


class Estimate(msgspec.Struct, frozen=True):
    """A value with its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def sign(self) -> int:
        """1 or -1 where the interval lies on one side of 0, else 0: it cannot be told."""
        return 1 if self.low > 0 else -1 if self.high < 0 else 0


def mean(values_SN: Sequence[Sequence[float]], seed: int = 0) -> Estimate:
    """Return the mean over seeds and tasks.

    Args:
        values_SN: Per training seed the values of the same N tasks, in [0, 1].
        seed: Of the draws.
    """
    array = np.asarray(values_SN, dtype=float)
    drawn = _draw(array, np.random.default_rng(seed))
    return _estimate(float(array.mean()), drawn)


def difference(
    left_SN: Sequence[Sequence[float]], right_RN: Sequence[Sequence[float]], seed: int = 0
) -> Estimate:
    """Return the mean of left minus right, paired by task; the interval is the bootstrap's over tasks and seeds.

    The same tasks are drawn for both sides, the seeds of each side on their own.

    Args:
        left_SN: Per seed the values of N tasks.
        right_RN: The same of the other side, for the same N tasks.
        seed: Of the draws.
    """
    left, right = np.asarray(left_SN, dtype=float), np.asarray(right_RN, dtype=float)
    if left.shape[1] != right.shape[1]:
        raise ValueError("both sides need the same tasks")
    rng = np.random.default_rng(seed)
    tasks = left.shape[1]
    drawn = np.empty(_DRAWS)
    for draw in range(_DRAWS):
        chosen = rng.integers(0, tasks, tasks)
        ours = left[rng.integers(0, len(left), len(left))].mean(0)
        theirs = right[rng.integers(0, len(right), len(right))].mean(0)
        drawn[draw] = (ours - theirs)[chosen].mean()
    return _estimate(float(left.mean() - right.mean()), drawn)


def _draw(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    seeds, tasks = array.shape
    drawn = np.empty(_DRAWS)
    for draw in range(_DRAWS):
        picked = array[rng.integers(0, seeds, seeds)].mean(0)
        drawn[draw] = picked[rng.integers(0, tasks, tasks)].mean()
    return drawn


def _estimate(value: float, drawn: np.ndarray) -> Estimate:
    low, high = np.quantile(drawn, (0.025, 0.975))
    return Estimate(value, float(low), float(high))
