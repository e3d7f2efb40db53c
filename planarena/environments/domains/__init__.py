"""Environments of our own, one folder each, found by name; beside them, what joins them in one scenario."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from planarena.environments.contract import Environment, Seed
from planarena.environments.domains.bridges import Bridge, find_bridges
from planarena.environments.domains.combinations import COMBINATIONS, Combination
from planarena.environments.domains.shared import hand_on
from planarena.environments.folders import open_folder
from planarena.environments.world import World
from planarena.errors import SourceError

__all__ = [
    "COMBINATIONS",
    "DOMAINS",
    "STUDY",
    "Bridge",
    "Combination",
    "bridges_of",
    "draw_seeds",
    "load_domain",
]

# Every folder here but that of `STUDY`, in the order in which builds take them.
DOMAINS: tuple[str, ...] = (
    *("travel", "calendar", "banking", "smart_home", "email", "files", "shopping", "support"),
    *("music", "clinic", "boards", "inventory", "hr", "notes", "energy", "vehicles"),
    *("library", "gym", "kitchen", "school", "parcels", "claims", "subscriptions", "restaurant"),
    *("property", "events", "recruiting", "legal", "laboratory", "code_hosting", "cloud", "farm"),
)
# Beside the domains: no build draws it.
STUDY = "errands"


@cache
def load_domain(name: str) -> type[Environment]:
    """Return the environment class of a domain, or of the house that small studies use.

    Raises:
        SourceError: There is no such domain.
    """
    if name not in DOMAINS and name != STUDY:
        raise SourceError(f"there is no builtin domain {name!r}", fix=f"one of: {', '.join(DOMAINS)}")
    return open_folder(Path(__file__).with_name(name), f"{__name__}.{name}")


def draw_seeds(names: Sequence[str], rng: Random) -> list[Seed]:
    """Make seeds that fit each other: one moment, one user, the same people and places.

    A single name gives the seed that the domain makes alone. For a group of `COMBINATIONS` the first seed
    bears the title and the description of the whole scenario.

    Args:
        names: The domains, the leading one first.
        rng: Chooses everything.

    Returns:
        One seed a domain, in the same order, for `World`.

    Raises:
        SourceError: There is no such domain.
    """
    if len(names) == 1:
        return [load_domain(names[0]).seed(rng)]
    shared: dict[str, Any] = {"beside": tuple(names)}
    seeds = []
    for name in names:
        seed = load_domain(name).seed(rng, shared)
        shared = hand_on(shared, name, seed)
        seeds.append(seed)
    for combination in COMBINATIONS:
        if combination.domains == tuple(names):
            title, description = combination.describe(seeds, rng)
            seeds[0] = msgspec.structs.replace(seeds[0], title=title, description=description)
    return seeds


@cache
def bridges_of(names: tuple[str, ...]) -> tuple[Bridge, ...]:
    """Return the data edges between the domains of a scenario, so that tools can be drawn that need each other.

    Args:
        names: As for `draw_seeds`.

    Returns:
        Pairs of tools with the value that goes from one to the other; none for a single domain.

    Raises:
        SourceError: There is no such domain.
    """
    environments = [load_domain(name) for name in names]
    return find_bridges(environments, World(environments, draw_seeds(names, Random(0))))
