"""Splits: a scenario belongs to one of them as a whole."""

from __future__ import annotations

__all__ = ["SPLITS", "split_of"]

# Share of scenarios by split [ours].
SPLITS: tuple[tuple[str, float], ...] = (("train", 0.9), ("validation", 0.05), ("test", 0.05))


def split_of(scenario_id: str) -> str:
    """Return the split of a scenario: a function of its id alone, so that it never changes as a build grows."""
    place = int(scenario_id[:8], 16) / 0x1_0000_0000
    for name, share in SPLITS:
        if place < share:
            return name
        place -= share
    return SPLITS[-1][0]
