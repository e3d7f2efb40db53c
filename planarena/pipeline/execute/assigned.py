"""Drawing the scenarios that a chunk was assigned by quotas: each with a tool set of its own and few tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import log
from random import Random
from typing import NamedTuple

import msgspec

from planarena.config import BuildConfig
from planarena.environments.sources import Unit, draw_tools, open_source
from planarena.pipeline.execute.decontamination import permitted
from planarena.pipeline.execute.scenarios import Scenario, draw_scenario, rng_for, scenario_of
from planarena.pipeline.products import Assignment

__all__ = ["MOST_NUMBERS", "Draw", "draws_of", "has_more"]

# Numbers of scenarios that a chunk has at its disposal.
MOST_NUMBERS = 1000


class Draw(NamedTuple):
    """A scenario to be drawn: its number, its settings, and how."""

    number: int
    config: BuildConfig
    draw: Callable[[], Scenario]


def draws_of(config: BuildConfig, chunk: int, assignment: Assignment) -> Iterator[Draw]:
    """Yield the scenarios of a chunk.

    Raises:
        UserError: The source cannot be read.
    """
    number = chunk * MOST_NUMBERS
    if assignment.source.startswith("openapi:"):
        units = open_source(assignment.source).units
        for unit in units[assignment.first : assignment.first + assignment.count]:
            try:
                sets = _tool_sets(config, unit)
            except (OSError, MemoryError):
                raise
            except Exception as error:
                # A description that nobody foresaw costs its group one scenario in quarantine, not the build.
                yield Draw(number, config, partial(_fail, error))
                number += 1
                continue
            for tools in sets:
                yield _settled(
                    config, number, partial(_draw_with_tools, config, assignment.source, unit, tools, number)
                )
                number += 1
        return
    own = tuple(source for source in config.sources if source.partition(":")[0] == "builtin")
    narrowed = msgspec.structs.replace(
        config, sources=own if assignment.source == "builtin" else (assignment.source,)
    )
    for place in range(assignment.first, assignment.first + assignment.count):
        yield _settled(config, number, partial(_draw_in_place, narrowed, place, number))
        number += 1


def has_more(assignment: Assignment) -> bool:
    """Say whether a source has more after this assignment."""
    if not assignment.source.startswith("openapi:"):
        return True
    return assignment.first + assignment.count < len(open_source(assignment.source).units)


def _settled(config: BuildConfig, number: int, draw: Callable[[], Scenario]) -> Draw:
    """Give a scenario its number of tasks, and lengths that follow the mix over all scenarios.

    A few tasks cannot follow a mix of seven lengths. Weights divided by independent exponential variates put
    each length first with a chance equal to its weight. Long tasks are weighted up, for many scenarios have none.
    """
    rng = rng_for(config.seed, "tasks", number)
    tasks = config.quotas.tasks[number % len(config.quotas.tasks)]
    mix = tuple(
        weight * length / -log(1 - rng.random()) if weight else 0.0
        for length, weight in enumerate(config.composition.length_mix, start=1)
    )
    composition = msgspec.structs.replace(config.composition, per_scenario=tasks, length_mix=mix)
    return Draw(number, msgspec.structs.replace(config, composition=composition), draw)


def _fail(error: Exception) -> Scenario:
    raise error


def _draw_in_place(config: BuildConfig, place: int, number: int) -> Scenario:
    """Draw from built-in domains, or from a source that has no end."""
    return draw_scenario(config, place)._replace(number=number)


def _draw_with_tools(
    config: BuildConfig, source: str, unit: Unit, tools: tuple[str, ...], number: int
) -> Scenario:
    """Draw from a group of operations, with given tools."""
    salt = f"{rng_for(config.seed, 'salt', unit.name, tools).getrandbits(64):016x}"
    opened = unit.open(salt)
    offered = {name: unit.offers[name] for name in unit.operations}
    return scenario_of(number, (f"{source}#{unit.name}",), tools, opened, offered)


def _tool_sets(config: BuildConfig, unit: Unit) -> Sequence[tuple[str, ...]]:
    """Return distinct tool sets of a unit that together cover most of its tools, each with the producers it needs."""
    names = list(permitted(config, unit.operations))
    if len(names) < 2:
        return ()
    fewest, most = config.composition.tools
    draws = min(config.quotas.per_unit, max(1, len(names) * 2 // (fewest + most)))
    rng = rng_for(config.seed, "tool sets", unit.name)
    rng.shuffle(names)
    found: dict[tuple[str, ...], None] = {}
    for draw in range(draws):
        start = draw * len(names) // draws
        turned = {name: unit.operations[name] for name in names[start:] + names[:start]}
        size = rng.randint(fewest, most)
        drawn = draw_tools(turned, turned, unit.offers, size, Random(0))
        found[tuple(name for name in unit.operations if name in drawn)] = None
    return tuple(found)
