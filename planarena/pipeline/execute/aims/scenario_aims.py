"""Which aims a scenario draws, and how many."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any

from planarena.environments.catalog import ACROSS, goals_of, seeds_of
from planarena.environments.goals import Aim
from planarena.pipeline.execute.aims.drawing import AimDraw, Misfit
from planarena.pipeline.execute.aims.following import why_not_after
from planarena.pipeline.execute.aims.proving import prove_aims
from planarena.pipeline.execute.aims.redrawing import draw_again
from planarena.pipeline.execute.aims.twins import draw_twin
from planarena.pipeline.execute.drafting import Settled, owned
from planarena.pipeline.execute.workshop import Made, Workshop
from planarena.pipeline.products import Discard, Executed
from planarena.records.canonical import canonical_json

__all__ = ["aims_for", "calls_of", "draw_aims", "draw_every", "go_on", "lengthened", "tools_for_aims"]

# Draws of one aim in one scenario, and how often it may be drawn there.
_TRIES, _MOST_OF_ONE = 3, 2
# So often more those that take from one domain to another [ours].
_ACROSS_AGAIN = 6
# Share of the tasks in which other aims follow, and how many messages there are to be, with their weights [ours].
_SEVERAL, _MESSAGES = 0.48, ((2, 0.15), (3, 0.35), (4, 0.5))
# How strongly aims of more calls come first, and how much more readily those that are done for each that fits [ours].
_LONG_FIRST, _FAN_OUT = 1.5, 2.0
# Other aims that are tried for each message.
_MOST_OTHERS = 8


def aims_for(domains: Sequence[str], tools: Sequence[str]) -> list[tuple[str, str, Aim]]:
    """Return the aims that domains have and tools can fulfil, as (domain, name, aim)."""
    offered = set(tools)
    return [
        (domain, name, aim)
        for domain in (*domains, *([ACROSS] if len(domains) > 1 else []))
        for name, aim in goals_of(domain).items()
        if aim.tools <= offered and set(aim.domains) <= set(domains)
    ]


def _aims_of(shop: Workshop) -> list[tuple[str, str, Aim]]:
    """Return the aims of a scenario: found once, for they are asked for behind every message."""
    key = shop.domains, shop.tools
    if shop.aims is None or shop.aims[0] != key:
        shop.aims = key, aims_for(*key)
    return shop.aims[1]


def tools_for_aims(domains: Sequence[str], available: Sequence[str], most: int, rng: Random) -> list[str]:
    """Draw aims as long as their tools are no more than `most`, and return those tools."""
    aims = aims_for(domains, available)
    rng.shuffle(aims)
    aims.sort(key=lambda one: one[0] != ACROSS)  # they need the most tools, and suit few scenarios
    found: dict[str, None] = {}
    for _, _, aim in aims:
        more = dict.fromkeys([*found, *sorted(aim.tools)])
        if len(more) <= most:
            found = more
    return list(found)


def calls_of(task: Executed | Discard) -> tuple[tuple[str, str], ...] | None:
    """Return what a task's calls are, in no order; None of what was discarded."""
    if isinstance(task, Discard):
        return None
    return tuple(sorted((step.tool, canonical_json(step.arguments)) for step in task.steps))


def draw_aims(
    shop: Workshop, wanted: int, rng: Random, most: int
) -> tuple[list[Executed | Discard], list[Made]]:
    """Draw aims in a scenario.

    Args:
        shop: The scenario.
        wanted: How many tasks are to come of them.
        rng: Draws.
        most: Most calls of a task.

    Returns:
        The tasks, and why draws were discarded; and the twins of tasks, which have a scenario of their own.
    """
    items: list[Executed | Discard] = []
    twins: list[Made] = []
    met: set[Any] = set()
    made = 0
    for domain, name, aim in _turns(aims_for(shop.domains, shop.tools), rng):
        if made + len(twins) >= wanted:
            break
        way = rng.randrange(len(aim.ways)) if aim.twin else -1
        for _ in range(_TRIES):
            draw = AimDraw(shop, domain, name, aim, seeds_of(domain), rng, way=way)
            try:
                settled = prove_aims([draw.carry_out()])
            except Misfit as misfit:
                items.append(_discard(name, aim, misfit))
                continue
            calls = calls_of(settled.task)
            if calls in met or len(settled.task.steps) > most:
                continue
            own = draw_twin(shop, draw)
            chosen = settled if own else _followed(shop, draw, settled, rng, most)
            # Two aims may come to the same calls, alone or with another behind them.
            if (whole := calls_of(chosen.task)) in met:
                continue
            met |= {calls, whole}
            made += 1
            twins += own
            items.append(owned(shop, chosen))
            break
    return items, twins


def _followed(shop: Workshop, draw: AimDraw, settled: Settled, rng: Random, most: int) -> Settled:
    """Return an aim, or a conversation in which others about the same thing follow it."""
    return _longer(shop, [draw], rng, most) or settled if rng.random() < _SEVERAL else settled


def _longer(shop: Workshop, draws: list[AimDraw], rng: Random, most: int) -> Settled | None:
    settled = None
    [messages] = rng.choices([number for number, _ in _MESSAGES], [share for _, share in _MESSAGES])
    while len(draws) < messages and (longer := go_on(shop, draws, rng, most)) is not None:
        settled = longer
    return settled


def lengthened(shop: Workshop, task: Executed, most: int) -> Executed:
    """Return a task with other aims about the same thing behind its own; as it is where none fits.

    Args:
        shop: The scenario.
        task: Follows aims.
        most: Most calls of the whole.
    """
    draws: list[AimDraw] = []
    try:
        for one in task.aims:
            draws.append(draw_again(shop, one, draws))
    except Misfit:
        return task
    settled = _longer(shop, draws, shop.rng, most)
    return task if settled is None else owned(shop, settled)


def go_on(
    shop: Workshop, draws: list[AimDraw], rng: Random, most: int, *, anything: bool = False
) -> Settled | None:
    """Have another aim follow those of a conversation; None where none of those that are tried fits.

    Args:
        shop: The scenario.
        draws: The aims so far, which the new one is added to.
        rng: Draws.
        most: Most calls of the whole.
        anything: Whether it may be about something else.
    """
    names = {draw.name for draw in draws}
    others = [one for one in _aims_of(shop) if one[1] not in names]
    rng.shuffle(others)
    topic = {value for draw in draws for value in _things(draw)}
    said = {text for draw in draws for text in _texts(draw)}
    tools = {call.tool for draw in draws for call in draw.aim.calls.values()}
    # What begins with the same look-up is about the same kind of thing; what leads on to another domain is rare.
    others.sort(key=lambda one: (one[0] != ACROSS, not one[2].tools & tools))
    for domain, name, aim in others[: _MOST_OTHERS * (1 + anything)]:
        try:
            other = AimDraw(shop, domain, name, aim, seeds_of(domain), rng, topic=topic).carry_out(draws)
            if (not anything and not topic & _things(other)) or said & _texts(other):
                continue
            if why := why_not_after(draws, other):
                shop.dropped.append(_discard(name, aim, Misfit(f"after {draws[-1].name}"), why))
                continue
            longer = prove_aims([*draws, other], most=most)
        except Misfit:
            continue
        draws.append(other)
        return longer
    return None


def _things(draw: AimDraw) -> set[str]:
    """Return what an aim is about: the names and ids that its look-ups take, or its only calls."""
    found: set[str] = set()
    looks = [one for one in draw.made if draw.shop.reads(one.atom.tool)]
    for one in looks or draw.made:
        schemas = draw.world.operations[one.atom.tool].tool.parameters
        found |= {
            value
            for name, value in one.arguments.items()
            if isinstance(value, str)
            and "enum" not in schemas[name]
            and (schemas[name].get("x-hidden") or schemas[name].get("x-semantic"))
            and len(value) <= _LONGEST_NAME
        }
    return found


def _texts(draw: AimDraw) -> set[str]:
    """Return the texts that somebody dictates: nobody says the same twice."""
    return {
        value
        for one in draw.made
        if not draw.shop.reads(one.atom.tool)
        for value in one.atom.arguments.values()
        if isinstance(value, str) and value.count(" ") >= _WORDS
    }


# What has so many spaces is a sentence; what is longer is no name.
_WORDS = 3
_LONGEST_NAME = 60


def draw_every(shop: Workshop, names: Sequence[str], rng: Random) -> list[tuple[str, Executed | Discard]]:
    """Draw each of a scenario's aims once, by name."""
    found: list[tuple[str, Executed | Discard]] = []
    for domain, name, aim in aims_for(shop.domains, shop.tools):
        if name in names:
            item = _drawn(shop, domain, name, aim, seeds_of(domain), rng)
            for _ in range(_TRIES - 1):
                item = (
                    _drawn(shop, domain, name, aim, seeds_of(domain), rng)
                    if isinstance(item, Discard)
                    else item
                )
            found.append((name, item))
    return found


def _turns(aims: list[tuple[str, str, Aim]], rng: Random) -> Iterator[tuple[str, str, Aim]]:
    """Yield the aims of a scenario in drawn orders: all of them before any of them again."""
    for turn in range(_MOST_OF_ONE):
        # A drawn order in which what takes more calls tends to come first (Efraimidis and Spirakis 2006).
        drawn = {place: rng.random() ** (1 / _weight(one[2])) for place, one in enumerate(aims)}
        order = sorted(drawn, key=lambda place: (aims[place][0] != ACROSS, -drawn[place]))
        across = [aims[place] for place in order if aims[place][0] == ACROSS]
        # Several domains are there for what takes from one of them to another.
        yield from across * (0 if turn else _ACROSS_AGAIN)
        yield from [aims[place] for place in order]


def _weight(aim: Aim) -> float:
    """Return how readily an aim is drawn: single look-ups are the easiest to have, and teach the least."""
    several = any(pick.all for _, pick in aim.picks.values())
    long: float = float(len(aim.calls)) ** _LONG_FIRST
    return long * _FAN_OUT if several else long


def _drawn(
    shop: Workshop, domain: str, name: str, aim: Aim, seeds: Mapping[str, Any], rng: Random
) -> Executed | Discard:
    try:
        return owned(shop, prove_aims([AimDraw(shop, domain, name, aim, seeds, rng).carry_out()]))
    except Misfit as misfit:
        return _discard(name, aim, misfit)


def _discard(name: str, aim: Aim, misfit: Misfit, why: str = "") -> Discard:
    stage, reason = ("conversation", why) if why else ("aim", name)
    detail = f"{name} {misfit}" if why else str(misfit)
    return Discard(", ".join(call.tool for call in aim.calls.values()), stage, reason, detail)
