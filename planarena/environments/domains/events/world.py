"""Making an agency that plans events: four of them, with venues, suppliers, guests, tables and running orders."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any, Literal, get_args

from planarena.environments.contract import Environment, Proposer, Seed
from planarena.environments.domains import shared as scenes
from planarena.environments.state import Record

__all__ = ["NO_TABLE", "PROPOSALS", "Kind", "end_of", "make_agency"]

Kind = Literal["caterers", "florists", "bands", "photographers", "lighting crews", "coach companies"]
SERVICES: tuple[str, ...] = get_args(Kind)
_PRICES = {"caterers": (28, 60), "florists": (5, 16), "bands": (9, 26), "photographers": (9, 24), "lighting crews": (6, 18), "coach companies": (5, 14)}  # fmt: skip
NO_TABLE = "no table yet"
Table = dict[str, Record]
_new_id = Environment.new_id


def end_of(item: Record) -> str:
    """Return when an item of a running order is over, no later than midnight."""
    minutes = 60 * int(item["starts"][:2]) + int(item["starts"][3:]) + item["minutes"]
    return "23:59" if minutes >= 1440 else f"{minutes // 60:02d}:{minutes % 60:02d}"


def make_agency(texts: Any, rng: Random, shared: scenes.Shared | None = None) -> Seed:
    """Make an agency with two events that have a venue and two that have none, a pure function of its arguments."""
    people = scenes.load_people()
    now = f"2026-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}T{rng.choice(('09:20', '10:05', '14:15'))}"
    now = scenes.keep(shared, "now", now)
    given, family = rng.sample(people["given"], 29), rng.sample(people["family"], 29)
    names = [f"{first} {last}" for first, last in zip(given, family, strict=True)]
    user, *others = scenes.cast_people(names, shared, clients=True)
    clients, guests = others[:4], others[4:]
    districts = rng.sample(texts["districts"], 3)
    venues = _venues(rng, texts["venues"], districts)
    tables: dict[str, Table] = {"venues": venues, "suppliers": _suppliers(rng, texts)}
    tables |= {name: {} for name in ("events", "engagements", "guests", "tables", "items")}
    kinds, companies = rng.sample(sorted(texts["kinds"]), 4), rng.sample(texts["companies"], 4)
    halls = rng.sample(sorted(venues), 2)
    chosen: list[dict[str, Any]] = []
    for place, (kind, client) in enumerate(zip(kinds, clients, strict=True)):
        words = {"client": client, "family": client.rsplit(" ", 1)[-1], "company": companies[place]}
        title = rng.choice(texts["kinds"][kind]["titles"]).format(**words)
        event_id = _new_id("evt", title)
        far = rng.randint(60, 150) if place % 2 else rng.randint(6, 40)
        event = {
            "event_id": event_id, "title": title, "client": client, "date": scenes.day_after(now, far),
            "email": scenes.mail_of(client, "example.com", shared), "expected": 10 * rng.randint(4, 9),
            "budget": float(500 * rng.randint(26, 46)),
        }  # fmt: skip
        if not place % 2:
            hall = venues[halls[place // 2]]
            event |= {"venue": hall["venue"], "hire": hall["hire"]}
            event["expected"] = min(event["expected"], hall["seats"])
        tables["events"][event_id] = event
        chosen.append(event | {"kind": kind})
        _people_of(rng, tables, event, texts, guests[6 * place : 6 * place + 6])
        _items_of(rng, tables, event, texts["kinds"][kind]["items"])
        for service in rng.sample(SERVICES, rng.choice((1, 2, 2)) if place % 2 else rng.choice((2, 3))):
            _engage(rng, tables, event, service)
    # Some guests write mail, and some are the planner's own colleagues.
    writing = guests[:12] if scenes.beside(shared or {}, "email") else []
    situation = rng.choice(scenes.in_season(texts["situations"], now))
    told = {"user": user, "first": chosen[0]["title"], "second": chosen[1]["title"], "client": clients[0]}
    events, addresses = [one["title"] for one in chosen], {one["client"]: one["email"] for one in chosen}
    story = {"events": events, "extras": rng.sample(texts["extras"], 2), "districts": districts}
    story |= scenes.meet(shared, writing, addresses, clients[:2])
    title, description = (situation[key].format(**told) for key in ("title", "description"))
    return Seed(tables, title, description, {"now": now, "user_name": user, "events": events}, story)


def _venues(rng: Random, names: list[str], districts: list[str]) -> Table:
    """Three or four venues a district; the larger the dearer."""
    found: Table = {}
    left = iter(rng.sample(names, 11))
    hires, sizes = rng.sample(range(9, 45), 11), rng.sample(range(17, 41), 11)
    for place, district in enumerate((*districts, *districts, *districts, *districts[:2])):
        venue, own = next(left), slice(place % 3, None, 3)
        venue_id, rank = _new_id("ven", venue), place // 3
        found[venue_id] = {
            "venue_id": venue_id, "venue": venue, "district": district, "seats": 5 * sorted(sizes[own])[rank],
            "hire": 100.0 * sorted(hires[own])[rank],
        }  # fmt: skip
    return found


def _suppliers(rng: Random, texts: Any) -> Table:
    """Three suppliers of each service; the cheapest is never the best rated."""
    found: Table = {}
    for service in SERVICES:
        prices = sorted(rng.sample(range(*_PRICES[service]), 3))
        low, middle, high = sorted(rng.sample(range(31, 50), 3))
        ratings = rng.choice(((low, high, middle), (middle, low, high), (low, middle, high)))
        for supplier, price, rating in zip(
            rng.sample(texts["suppliers"][service], 3), prices, ratings, strict=True
        ):
            supplier_id = _new_id("sup", supplier)
            found[supplier_id] = {
                "supplier_id": supplier_id, "supplier": supplier, "service": service, "price": 50.0 * price,
                "rating": rating / 10,
            }  # fmt: skip
    return found


def _engage(rng: Random, tables: dict[str, Table], event: Record, service: str) -> None:
    supplier = rng.choice([row for row in tables["suppliers"].values() if row["service"] == service])
    engagement_id = _new_id("eng", event["event_id"], supplier["supplier_id"])
    tables["engagements"][engagement_id] = {
        "engagement_id": engagement_id, "event_id": event["event_id"],
        **{key: supplier[key] for key in ("supplier", "service", "price")},
        "arrives": f"{7 + SERVICES.index(service)}:{rng.choice(('00', '15', '30', '45'))}".zfill(5),
    }  # fmt: skip


def _people_of(rng: Random, tables: dict[str, Table], event: Record, texts: Any, names: list[str]) -> None:
    """Six guests an event, two or three of whom have not answered; where there is a venue, four tables."""
    replies = ["waiting", "waiting", rng.choice(("waiting", "accepted")), "accepted", "accepted", "declined"]
    first = ""
    if "venue" in event:
        seats = rng.sample(range(4, 10), 4)
        for table, size in zip(rng.sample(texts["tables"], 4), seats, strict=True):
            table_id = _new_id("tab", event["event_id"], table)
            row = {"table_id": table_id, "event_id": event["event_id"], "table": table, "seats": size}
            tables["tables"][table_id] = row
            first = first or table
    for place, (name, reply) in enumerate(zip(names, replies, strict=True)):
        guest_id = _new_id("gst", event["event_id"], name)
        guest = {"guest_id": guest_id, "event_id": event["event_id"], "name": name, "reply": reply}
        tables["guests"][guest_id] = {**guest, "table": first if first and place == 4 else NO_TABLE}


def _items_of(rng: Random, tables: dict[str, Table], event: Record, items: list[str]) -> None:
    """Four items in their order, one an hour, with at least fifteen minutes after each."""
    hour = rng.randint(15, 16)
    for place in sorted(rng.sample(range(len(items)), 4)):
        row = {"event_id": event["event_id"], "item": items[place], "starts": f"{hour}:00"}
        row["minutes"] = rng.choice((30, 40, 45))
        tables["items"][_new_id("itm", event["event_id"], items[place])] = row
        hour += 1


def _additions(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    for item, hour in zip(env.story["extras"], rng.sample((16, 17, 18), 2), strict=True):
        yield {"item": item, "starts": f"{hour}:45", "minutes": 15}


PROPOSALS: dict[str, Proposer] = {
    "open_event_file": lambda env, rng: [{"title": title} for title in rng.sample(env.story["events"], 3)],
    "find_venues": lambda env, rng: [{"district": one} for one in rng.sample(env.story["districts"], 2)],
    **dict.fromkeys(
        ("reserve_venue", "list_engagements", "cancel_engagement", "seat_guest", "show_running_order"),
        lambda _env, _rng: [{}],
    ),
    "find_suppliers": lambda _env, rng: [{"service": service} for service in rng.sample(SERVICES, 2)],
    "engage_supplier": lambda _env, rng: [
        {"arrives": f"{rng.randint(8, 11):02d}:{rng.choice(('00', '30'))}"}
    ],
    "list_guests": lambda _env, rng: [{}, {"reply": rng.choice(("waiting", "accepted", "declined"))}],
    "record_guest_reply": lambda _env, rng: [{"reply": rng.choice(("accepted", "declined"))}],
    "find_free_seats": lambda env, _rng: [{"title": title} for title in env.story["events"][::2]],
    "add_to_running_order": _additions,
}
