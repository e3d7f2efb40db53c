"""Choosing tasks by how often a model does them: `0.2:0.8`, or `0.2:0.8@MODEL` where several were rated."""

from __future__ import annotations

import math
from difflib import get_close_matches

import msgspec

from planarena.errors import UserError
from planarena.records import Run, read_rows

__all__ = ["Difficulty", "read_difficulty", "tasks_within"]

_FIX = "write LOW:HIGH, two shares from 0 to 1, as 0.2:0.8; with several rated models LOW:HIGH@MODEL"


class Difficulty(msgspec.Struct, frozen=True):
    """A range of pass rates.

    Attributes:
        low: The lowest that is taken.
        high: The highest.
        model: Whose; empty where the run has the rates of one model alone.
    """

    low: float
    high: float
    model: str = ""


def read_difficulty(text: str) -> Difficulty:
    """Read a range.

    >>> read_difficulty("0.2:0.8")
    Difficulty(low=0.2, high=0.8, model='')

    Raises:
        UserError: It is none.
    """
    span, _, model = text.partition("@")
    low, colon, high = span.partition(":")
    try:
        found = Difficulty(float(low or 0), float(high or 1), model.strip())
    except ValueError:
        raise UserError(f"{text!r} is no range of pass rates", where="difficulty", fix=_FIX) from None
    if not colon or not (math.isfinite(found.low) and 0 <= found.low <= found.high <= 1):
        raise UserError(f"{text!r} is no range of pass rates", where="difficulty", fix=_FIX)
    return found


def tasks_within(run: Run, text: str) -> frozenset[str]:
    """Return the tasks of a run whose pass rate lies in a range, its ends included; those without a rate are not among them.

    Args:
        run: The run.
        text: See `read_difficulty`.

    Raises:
        UserError: It is no range; the run has no rates, or none of that model, or several models and none is named.
    """
    wanted = read_difficulty(text)
    rates: dict[str, dict[str, float]] = {}
    for path in run.shards("rates"):
        for row in read_rows(path, "rates"):
            rates.setdefault(row.model, {})[row.task_id] = row.rate
    if not rates:
        raise UserError(
            "has no pass rates, so nothing says how difficult its tasks are",
            where=str(run.path),
            fix=f"measure them first: planarena rate {run.path} --model ID_OR_CHECKPOINT",
        )
    known = ", ".join(sorted(rates))
    if not wanted.model and len(rates) > 1:
        raise UserError(
            f"has the pass rates of {len(rates)} models: {known}",
            where=str(run.path),
            fix=f"say whose: {text}@{sorted(rates)[0]}",
        )
    model = wanted.model or next(iter(rates))
    if model not in rates:
        near = get_close_matches(model, rates, n=1)
        fix = f"did you mean {near[0]}?" if near else f"rated are: {known}"
        raise UserError(f"has no pass rates of {model!r}", where=str(run.path), fix=fix)
    return frozenset(task for task, rate in rates[model].items() if wanted.low <= rate <= wanted.high)
