"""Which records and values an aim means: picks, tests and drawn values."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from random import Random
from typing import Any

from planarena.environments.goals import Pick, Value

__all__ = ["Misfit", "choose", "draw_plain", "fits", "near"]

_FEWEST, _MOST = 2, 5
_PLACES = {"first": 0, "second": 1, "third": 2, "last": -1}


class Misfit(Exception):  # noqa: N818  no error: the aim does not suit the world as it is
    """An aim makes no sense in this world, or cannot be carried out there."""


def fits(value: Any, test: Any) -> bool:
    """Say whether a value passes tests by their names, or equals what is no mapping of tests."""
    if not isinstance(test, Mapping):
        return bool(value == test)
    return all(_passes(value, name, other) for name, other in test.items())


def _passes(value: Any, name: str, other: Any) -> bool:
    if name == "is":
        return bool(value == other)
    if name == "not":
        return bool(value != other)
    if name == "in":
        return value in other
    if name == "contains":
        return isinstance(value, str | list) and other in value
    if name == "starts":
        return isinstance(value, str) and value.startswith(other)
    if value is None or isinstance(value, str) != isinstance(other, str):
        return False
    found: bool = _ORDERED[name](value, other)
    return found


_ORDERED: dict[str, Callable[[Any, Any], bool]] = {
    "below": lambda value, other: value < other,
    "above": lambda value, other: value > other,
    "at_most": lambda value, other: value <= other,
    "at_least": lambda value, other: value >= other,
}


def choose(
    pick: Pick,
    rows: Any,
    where: Mapping[str, Any],
    tied: Callable[[int], bool],
    rng: Random,
    topic: Collection[Any] = (),
    me: Collection[Any] = (),
) -> list[int]:
    """Return the places of the records that a pick means.

    Args:
        pick: The pick.
        rows: The list.
        where: Its tests, with their values filled in.
        tied: Says whether what orders the list leaves a record's place open.
        rng: Draws the one that the user names.
        topic: What the conversation is about so far: such a one comes first.
        me: The user's name and address, by which they name nothing.

    Raises:
        Misfit: It means none, or not exactly one.
    """
    if not isinstance(rows, list):
        raise Misfit("there is no list")
    good = [
        place
        for place, row in enumerate(rows)
        if isinstance(row, dict) and all(fits(row.get(field), test) for field, test in where.items())
    ]
    if pick.way == "all":
        if not _FEWEST <= len(good) <= _MOST:
            raise Misfit(f"{len(good)} records fit; {_FEWEST} to {_MOST} would make sense")
        return good
    if not good:
        raise Misfit("no record fits")
    if pick.way == "only":
        if len(good) > 1:
            raise Misfit(f"{len(good)} records fit, and one is meant")
        return good
    if pick.way == "named":
        names = [row.get(pick.named) for row in rows]
        own = [at for at in good if names[at] not in (None, "", *me) and names.count(names[at]) == 1]
        if not own:
            raise Misfit(f"no record has a {pick.named} of its own")
        own = [at for at in own if names[at] in topic] or own
        return [own[rng.randrange(len(own))]]
    if pick.way == "place":
        place = _PLACES[pick.place]
        if place >= len(good):
            raise Misfit("the list is too short")
        if tied(good[place]):
            raise Misfit("its place in the list is not clear")
        return [good[place]]
    field = pick.least or pick.most
    values = [(rows[at].get(field), at) for at in good if rows[at].get(field) is not None]
    if not values:
        raise Misfit(f"no record has a {field}")
    best = (min if pick.least else max)(value for value, _ in values)
    found = [at for value, at in values if value == best]
    if len(found) > 1 or len(values) < 2:
        raise Misfit(f"{len(found)} of {len(values)} records share the {field}")
    return found


def draw_plain(value: Value | Sequence[Any] | str | float, now: str, rng: Random) -> Any:
    """Draw a value that depends on nothing but the moment; None for one that depends on more."""
    if not isinstance(value, Value):
        return value[rng.randrange(len(value))] if isinstance(value, list) else value
    if value.number:
        lowest, highest, step = (*value.number, 1)[:3]
        found = lowest + step * rng.randint(0, int((highest - lowest) / step))
        return (
            int(found)
            if float(found).is_integer() and all(float(one).is_integer() for one in value.number)
            else found
        )
    if value.days:
        day = datetime.fromisoformat(now[:10]) + timedelta(days=rng.randint(value.days[0], value.days[-1]))
        text = day.date().isoformat()
        return f"{text}T{value.at[rng.randrange(len(value.at))]}" if value.at else text
    return None


def near(value: Value, given: Any, rng: Random) -> Any:
    """Return a value near another one.

    Raises:
        Misfit: There is no number to be near to.
    """
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise Misfit("there is no number to be near to")
    share = value.by[rng.randrange(len(value.by))]
    found = round(given * share / value.round) * value.round
    if found == given or found <= 0:
        found = found + value.round if share >= 1 else max(value.round, found - value.round)
    return int(found) if float(found).is_integer() else round(found, 2)
