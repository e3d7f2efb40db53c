"""What the seeds of one scenario that spans several domains agree on: the moment, the user, people, places.

The first seed is told only which domains stand beside it; what it made is handed on, seed by seed. All keys
are optional to whoever reads them:

- `beside`: the names of all domains of the scenario;
- `now`, `user_name`, `home_city`, `home_address`, `user_address` (e-mail) and other facts told so far;
- `people`: full names of those around the user, the most important first; `clients`: of customers;
- `addresses`: e-mail addresses by full name;
- `lead`: the name of the leading domain; `story`: its story.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any, cast

from planarena.data import load_yaml
from planarena.environments.contract import Environment, Seed
from planarena.environments.state import Record

__all__ = [
    "Rows", "Shared", "Table", "beside", "best_later", "caption", "cast_people", "day_after", "draw_moment", "draw_people",
    "first_working_day", "hand_on", "in_season", "keep", "keyed", "keyed_by_content", "later", "load_people",
    "mail_of", "meet", "working_day",
]  # fmt: skip

Shared = Mapping[str, Any]
Table = dict[str, Record]
# What makes the records of a table, or proposals, one after the other.
Rows = Iterator[dict[str, Any]]


def load_people() -> dict[str, list[str]]:
    """Return the names that every domain draws its people from: `given` and `family`."""
    return cast(dict[str, list[str]], load_yaml(Path(__file__).with_name("people.yaml")))


def beside(story: Mapping[str, Any], *domains: str) -> bool:
    """Say whether all these domains take part in the story's scenario; False where it has one domain only."""
    return set(domains) <= set(story.get("beside", ()))


def caption(situation: Mapping[str, str], details: Mapping[str, str]) -> tuple[str, str]:
    """Return title and description of a situation, with names and places filled in."""
    return situation["title"].format(**details), situation["description"].format(**details)


def cast_people(drawn: list[str], shared: Shared | None, clients: bool = False) -> list[str]:
    """Give the first of the drawn names to the user and to the people whom the scenario knows already.

    Args:
        drawn: Full names, the user's first.
        shared: See the module; None leaves the names as they are.
        clients: Whether customers are to be among the people; they come first.

    Returns:
        As many names as were drawn, all different.
    """
    if shared is None:
        return drawn
    known = [*(shared.get("clients", ()) if clients else ()), *shared.get("people", ())]
    first = [shared["user_name"]] if "user_name" in shared else drawn[:1]
    names = list(dict.fromkeys([*first, *known, *drawn]))
    return names[: len(drawn)]


def best_later(values: list[int]) -> list[int]:
    """Return values so that the highest is not the first: what is quickest or cheapest is not the best as well."""
    return values if values[0] < max(values) else [*values[1:], values[0]]


def draw_moment(rng: Random, times: Sequence[str], shared: Shared | None) -> str:
    """Draw a day of 2026 and one of the times; the moment that the scenario has settled on goes before."""
    drawn = f"2026-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}T{rng.choice(times)}"
    return keep(shared, "now", drawn)


def draw_people(rng: Random, number: int, shared: Shared | None = None, clients: bool = False) -> list[str]:
    """Draw so many full names, the user's first; see `cast_people` for those whom the scenario knows already."""
    people = load_people()
    given, family = rng.sample(people["given"], number), rng.sample(people["family"], number)
    drawn = [f"{first} {last}" for first, last in zip(given, family, strict=True)]
    return cast_people(drawn, shared, clients)


def day_after(start: str, days: int) -> str:
    """Return the date some days after a date or moment."""
    return (date.fromisoformat(start[:10]) + timedelta(days=days)).isoformat()


def working_day(start: str, days: int) -> str:
    """Return the date some working days (Monday to Friday) after a date or moment."""
    day = date.fromisoformat(start[:10])
    while days > 0:
        day += timedelta(days=1)
        days -= day.weekday() < 5
    return day.isoformat()


def first_working_day(start: str) -> str:
    """Return the day of a date or moment if it is a working day, or else the first one after it."""
    return working_day(day_after(start, -1), 1)


@lru_cache(maxsize=4096)
def later(moment: str, minutes: int) -> str:
    """Return the moment some minutes after another, or before it, as `2026-03-04T14:30`."""
    return (datetime.fromisoformat(moment) + timedelta(minutes=minutes)).isoformat(timespec="minutes")


def in_season(entries: Iterable[Mapping[str, Any]], now: str) -> list[Any]:
    """Return the situations that fit the month of a moment: those without `months`, and those that name it."""
    month = int(now[5:7])
    return [entry for entry in entries if month in entry.get("months", (month,))]


def keep(shared: Shared | None, name: str, own: str) -> str:
    """Return what the scenario has settled on by this name, or else the seed's own choice."""
    return own if shared is None else str(shared.get(name, own))


def keyed(field: str, rows: Iterable[Record]) -> Table:
    """Return a table of records, each under the id that it has in a field."""
    return {row[field]: row for row in rows}


def keyed_by_content(prefix: str, fields: str, rows: Iterable[Record]) -> Table:
    """Return a table of records that hold no id: each under the one that is made of these fields' contents."""
    names = fields.split()
    return {Environment.new_id(prefix, *(row[name] for name in names)): row for row in rows}


def mail_of(name: str, domain: str, shared: Shared | None) -> str:
    """Return a person's e-mail address: the one that the scenario knows, or one at the domain."""
    known: Mapping[str, str] = {} if shared is None else shared.get("addresses", {})
    return known.get(name, f"{name.replace(' ', '.').lower()}@{domain}")


def meet(
    shared: Shared | None,
    people: Iterable[str] = (),
    addresses: Mapping[str, str] | None = None,
    clients: Iterable[str] = (),
) -> dict[str, Any]:
    """Return what a story needs to say in a scenario of several domains; nothing in one of a single domain.

    Args:
        shared: As the seed was given it.
        people: Whom later seeds should know, the most important first.
        addresses: Their e-mail addresses.
        clients: The user's customers.
    """
    if shared is None:
        return {}
    return {
        "beside": list(shared.get("beside", ())),
        "lead": shared.get("lead", ""),
        "cast": {"people": list(people), "clients": list(clients), "addresses": dict(addresses or {})},
    }


def hand_on(shared: Shared, domain: str, seed: Seed) -> dict[str, Any]:
    """Return what the seeds after this one are given; what was settled before stays."""
    cast = seed.story.get("cast", {})
    return {
        "lead": domain,
        "story": seed.story,
        **seed.facts,
        **shared,
        "people": list(dict.fromkeys([*shared.get("people", ()), *cast.get("people", ())])),
        "clients": list(dict.fromkeys([*shared.get("clients", ()), *cast.get("clients", ())])),
        "addresses": {**cast.get("addresses", {}), **shared.get("addresses", {})},
    }
