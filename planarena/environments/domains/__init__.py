"""Environments of our own, one file each, found by name."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from random import Random
from typing import Any

import msgspec

from planarena.environments.domains._bridges import Bridge, find_bridges
from planarena.environments.domains._combinations import COMBINATIONS, Combination
from planarena.environments.domains._shared import hand_on
from planarena.environments.environment import Environment, Seed
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

# Name -> class, in the order in which builds take them.
DOMAINS: dict[str, str] = {
    "travel": "Travel",
    "calendar": "Calendar",
    "banking": "Banking",
    "smart_home": "SmartHome",
    "email": "EmailBox",
    "files": "Files",
    "shopping": "Shopping",
    "support": "Support",
    "music": "Music",
    "clinic": "Clinic",
    "boards": "Boards",
    "inventory": "Inventory",
    "hr": "Hr",
    "notes": "Notepad",
    "energy": "Energy",
    "vehicles": "Vehicles",
}


# Beside the domains: no build draws it.
STUDY = "errands"


def load_domain(name: str) -> type[Environment]:
    """Return the environment class of a domain, or of the house that small studies use.

    Raises:
        SourceError: There is no such domain.
    """
    if name == STUDY:
        from planarena.environments.errands import Errands

        return Errands
    if name not in DOMAINS:
        raise SourceError(f"there is no builtin domain {name!r}", fix=f"one of: {', '.join(DOMAINS)}")
    found: type[Environment] = getattr(import_module(f"{__name__}.{name}"), DOMAINS[name])
    return found


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
