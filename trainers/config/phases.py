"""The lengths of an algorithm's first phase in a run shorter than the paper's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planarena.trainers.recipes import Recipe

__all__ = ["first_phases"]

# Options that count the steps of an algorithm's first phase.
_PHASES = ("sft_steps", "hint_steps", "warmup_steps")


def first_phases(recipe: Recipe, given: Mapping[str, Any], steps: int | None) -> dict[str, int]:
    """Return the lengths of first phases that would fill the whole run, cut to their share of the paper's run.

    A paper's 3,000 supervised steps of 3,600 are 83 of 100; where the recipe does not say how long the run is, a half.

    Args:
        recipe: Of the algorithm.
        given: Options that the caller chose; they stay.
        steps: Of this run; None where epochs are given.
    """
    found: dict[str, int] = {}
    whole = recipe.training.steps or 0
    for name in _PHASES:
        phase = recipe.algorithm.get(name)
        if steps is None or name in given or not isinstance(phase, int) or phase < steps:
            continue
        share = phase / whole if phase < whole else 0.5
        found[name] = max(round(share * steps), 1)
    return found
