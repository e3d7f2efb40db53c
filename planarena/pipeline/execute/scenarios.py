"""Drawing scenarios: which domain, which tools, which initial state; a pure function of the seed and a number."""

from __future__ import annotations

from collections import Counter
from hashlib import blake2b
from math import prod
from random import Random
from typing import Any, NamedTuple, cast

from planarena.config import BuildConfig
from planarena.environments import Seed, World, operations
from planarena.environments.catalog import (
    ACROSS,
    draw_unit,
    goals_of,
    group_of,
    is_builtin,
    operations_of,
    unit_names,
)
from planarena.environments.domains import COMBINATIONS, DOMAINS, draw_seeds, load_domain
from planarena.environments.sources import Drawn, Opened, draw_tools, may_simulate, split_source, startable
from planarena.environments.wording import Offer, offers
from planarena.errors import SourceError
from planarena.pipeline.execute.aims import tools_for_aims
from planarena.pipeline.execute.decontamination import permitted
from planarena.records.canonical import content_id
from planarena.tools import read_tool_list

__all__ = ["Scenario", "domains_of", "draw_scenario", "rng_for", "scenario_of"]


# How much more often domains stand together that an aim leads through [ours].
_LED = 3.0


class Scenario(NamedTuple):
    """A drawn scenario with its world, ready to execute."""

    number: int
    scenario_id: str
    domains: tuple[str, ...]
    tools: tuple[str, ...]
    seed: Seed
    world: World
    offers: dict[str, tuple[Offer, ...]]


def rng_for(seed: int, *key: Any) -> Random:
    """Return a generator that depends on the seed and the key alone, not on any order of work."""
    digest = blake2b(repr((seed, *key)).encode(), digest_size=8).digest()
    return Random(int.from_bytes(digest, "big"))


def domains_of(sources: tuple[str, ...]) -> tuple[str, ...]:
    """Return the domains that sources name: built-in ones in a fixed order, then units of other sources as `SOURCE#UNIT`.

    Raises:
        SourceError: An unknown source or domain.
    """
    wanted: set[str] = set()
    units: dict[str, None] = {}
    for source in sources:
        kind, name = split_source(source)
        if kind in {"openapi", "mcp", "python", "http", "env"} or (kind == "json" and may_simulate()):
            units.update(dict.fromkeys(unit_names(source)))
            continue
        if kind != "builtin":
            if source.endswith(".json"):
                read_tool_list(source)  # the file's own faults come first
            raise SourceError(
                f"nothing here can execute the tools of {source!r}",
                where="SOURCE",
                fix="use builtin[:DOMAIN], openapi:PATH, mcp:FILE, python:MODULE or env:FOLDER; or --simulate MODEL, which makes the results up",
            )
        if not name:
            wanted.update(DOMAINS)
        else:
            load_domain(name)
            wanted.add(name)
    return (*(name for name in DOMAINS if name in wanted), *units)


def _draw_domains(config: BuildConfig, number: int) -> tuple[str, ...]:
    """Draw the domains of a scenario: one, or two or three that go together."""
    domains = domains_of(config.sources)
    rng = rng_for(config.seed, "domains", number)
    fitting = [group.domains for group in COMBINATIONS if set(group.domains) <= set(domains)]
    if fitting and rng.random() < config.composition.mixed_share:
        # What goes with many others is not to be in every second one.
        goes_with = Counter(name for group in fitting for name in group)
        weights = [prod(goes_with[name] for name in group) ** -0.5 * _bond(group) for group in fitting]
        return rng.choices(fitting, weights)[0]
    groups: dict[str, list[str]] = {}
    for name in domains:
        groups.setdefault(group_of(name), []).append(name)
    group = list(groups.values())[number % len(groups)]
    return (group[number // len(groups) % len(group)],)


def _bond(group: tuple[str, ...]) -> float:
    """Return how much more readily domains are drawn together: more so where something leads from one to another."""
    return _LED if any(set(aim.domains) <= set(group) for aim in goals_of(ACROSS).values()) else 1.0


def draw_scenario(config: BuildConfig, number: int) -> Scenario:
    """Draw scenario `number` of a build.

    Raises:
        SourceError: The sources name no environment.
    """
    domains = _draw_domains(config, number)
    if not is_builtin(domains[0]):
        return _draw_from_source(config, domains, number)
    rng = rng_for(config.seed, "scenario", domains, number)
    seeds = draw_seeds(domains, rng)
    environments = [load_domain(name) for name in domains]
    fewest, most = config.composition.tools
    drawn: set[str] = set()
    for environment in environments:
        available = permitted(config, operations(environment))
        # A scenario of several domains offers fewer tools of each, but more in all.
        size = -(
            -rng.randint(min(fewest, len(available)), min(most, len(available))) * 3 // (len(domains) + 2)
        )
        usable = startable(available, offers(environment))
        names = [name for name in available if name in usable]
        rng.shuffle(names)
        drawn.update(draw_tools(names, available, offers(environment), size, rng))
    if config.composition.aims:
        drawn = _with_aims(config, domains, drawn, number)
    tools = tuple(name for environment in environments for name in operations(environment) if name in drawn)
    world = World(environments, seeds)
    lead = seeds[0]
    scenario_id = content_id(
        "scenario", domains, tools, world.digest(), lead.title, lead.description, world.facts
    )
    offered = {name: found for environment in environments for name, found in offers(environment).items()}
    return Scenario(number, scenario_id, domains, tools, lead, world, offered)


def _with_aims(config: BuildConfig, domains: tuple[str, ...], drawn: set[str], number: int) -> set[str]:
    """Add the tools of a few aims to those that a scenario offers; others go where they are too many."""
    available = [name for domain in domains for name in permitted(config, operations(load_domain(domain)))]
    rng = rng_for(config.seed, "tools for aims", domains, number)
    needed = tools_for_aims(domains, available, len(drawn), rng)
    rest = [name for name in available if name in drawn and name not in needed]
    rng.shuffle(rest)
    return {*needed, *rest[: max(0, len(drawn) + 2 - len(needed))]} if needed else drawn


def _draw_from_source(config: BuildConfig, domains: tuple[str, ...], number: int) -> Scenario:
    only = permitted(config, operations_of(domains[0])).keys() if config.contamination else None
    drawn = draw_unit(domains[0], config.seed, number, config.composition.tools, only)
    return scenario_of(number, domains, drawn.tools, drawn, drawn.offers)


def scenario_of(
    number: int,
    domains: tuple[str, ...],
    tools: tuple[str, ...],
    opened: Opened | Drawn,
    offered: dict[str, tuple[Offer, ...]],
) -> Scenario:
    """Return the scenario of a world that a source opened."""
    world = cast(World, opened.world)  # it has all that this package uses of a `World`
    title, description, facts = opened.title, opened.description, world.facts
    scenario_id = content_id("scenario", domains, tools, world.digest(), title, description, facts)
    return Scenario(number, scenario_id, domains, tools, Seed({}, title, description, facts), world, offered)
