"""Splits: a scenario belongs to one of them as a whole; tools can be held out by namespace."""

from __future__ import annotations

from collections.abc import Iterable

from planarena.config import SplitConfig

__all__ = ["SPLITS", "split_of"]

# `unseen_tools` holds every scenario that offers a tool of a held-out namespace, and no other split does.
SPLITS = ("train", "validation", "test", "unseen_tools")


def split_of(config: SplitConfig, scenario_id: str, namespaces: Iterable[str]) -> str:
    """Return the split of a scenario: a function of itself alone, so that it never changes as a build grows.

    Args:
        config: Shares and held-out namespaces.
        scenario_id: Its content id, as evenly spread as a random number.
        namespaces: Of all tools that it offers.
    """
    if any(name in config.held_out or name.partition("#")[0] in config.held_out for name in namespaces):
        return "unseen_tools"
    place = int(scenario_id[:8], 16) / 0x1_0000_0000
    if place < config.validation:
        return "validation"
    return "test" if place < config.validation + config.test else "train"
