"""Making restaurants: ten tables, a menu, guests who are known, three days of bookings, and bills that are open."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from planarena.environments.contract import BOUND, Environment, Proposer, Seed
from planarena.environments.domains import shared as family
from planarena.environments.domains.shared import day_after
from planarena.environments.state import Record

__all__ = ["PROPOSALS", "make_restaurant", "new_booking"]

_TIMES = ("12:00", "12:30", "13:15", "18:00", "18:30", "19:00", "19:45", "20:15", "21:00")
_AREAS = ("front_room", "back_room", "terrace", "winter_garden")
# Of things that are in none of the dishes.
_ALLERGIES = ("none", "none", "peanuts", "kiwi", "mustard", "lupin")
_PRICES = {"starters": (7, 17), "mains": (14, 29), "desserts": (6, 13)}
Table = dict[str, Record]
_new_id = Environment.new_id


def make_restaurant(texts: Any, rng: Random, shared: family.Shared | None = None) -> Seed:
    """Make a restaurant, a pure function of `rng` and `shared`; customers known already are its guests."""
    people = family.load_people()
    kitchen, situation = rng.choice(texts["kitchens"]), rng.choice(texts["situations"])
    now = f"2026-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}T{rng.choice(('12:40', '13:30', '19:20', '20:10'))}"
    now = family.keep(shared, "now", now)
    drawn = zip(rng.sample(people["given"], 22), rng.sample(people["family"], 22), strict=True)
    user, *others = family.cast_people([f"{first} {last}" for first, last in drawn], shared)
    staff = [name for name in others if name in (shared or {}).get("people", ())]
    known = (shared or {}).get("clients", ())
    guests = list(dict.fromkeys([*known, *(name for name in others if name not in staff)]))[:16]
    booked, free = guests[:12], guests[12:]
    tables = _tables(rng, texts)
    dishes = _dishes(rng, kitchen)
    bookings = _bookings(rng, texts, booked, tables, now)
    addresses = {name: family.mail_of(name, rng.choice(texts["mail_domains"]), shared) for name in guests}
    favourites = sorted(row["dish"] for row in dishes.values())
    profiles: Table = {}
    for name in guests:
        last, allergy = day_after(now, -rng.randint(6, 300)), rng.choice(_ALLERGIES)
        profile = {"name": name, "address": addresses[name], "visits": rng.randint(1, 30), "last_visit": last}
        profiles[name] = {**profile, "favourite": rng.choice(favourites), "allergy": allergy}
    seated = rng.sample(sorted(row["table"] for row in tables.values()), 4)
    bills = _bills(rng, seated, dishes)
    details = {"user": user, "guest": booked[0], "table": seated[0]}
    days = [day_after(now, ahead) for ahead in range(1, 4)]
    story = {"booked": booked[:6], "free": free, "days": days, "seated": seated}
    return Seed(
        {"tables": tables, "dishes": dishes, "guests": profiles, "bookings": bookings, "bills": bills},
        situation["title"].format(**details),
        f"{kitchen['house']} {situation['description'].format(**details)}",
        {"now": now, "user_name": user},
        {**story, **family.meet(shared, staff[:4], addresses, booked[:5])},
    )


def new_booking(table_id: str, guest: str, start: str, party: int) -> Record:
    """Return a booking without wishes or dishes."""
    booking_id = _new_id("tbk", guest, start)
    booking = {"booking_id": booking_id, "table_id": table_id, "guest": guest, "start": start, "party": party}
    return {**booking, "code": f"T{int(booking_id[4:], 16) % 9000 + 1000}", "wishes": [], "ordered": []}


def _tables(rng: Random, texts: Any) -> Table:
    """Ten tables of different sizes, none as loud as another."""
    tables: Table = {}
    names, noises = rng.sample(texts["tables"], 10), rng.sample(range(38, 75), 10)
    for name, seats, noise in zip(names, (2, 3, 4, 5, 6, 7, 8, 9, 10, 12), noises, strict=True):
        table_id = _new_id("tbl", name)
        table = {"table_id": table_id, "table": name, "area": rng.choice(_AREAS), "seats": seats}
        tables[table_id] = {**table, "noise": noise}
    return tables


def _dishes(rng: Random, kitchen: Any) -> Table:
    """Four dishes a course at different prices."""
    dishes: Table = {}
    sold = iter(rng.sample(range(12, 160), 12))
    for course, (low, high) in _PRICES.items():
        prices = rng.sample(range(2 * low, 2 * high), 4)
        for (dish, diet), price in zip(kitchen[course], prices, strict=True):
            dish_id = _new_id("dsh", dish)
            row = {"dish_id": dish_id, "dish": dish, "course": course, "diet": diet, "price": price / 2}
            dishes[dish_id] = {**row, "sold": next(sold)}
    return dishes


def _bookings(rng: Random, texts: Any, guests: list[str], tables: Table, now: str) -> Table:
    """Four bookings on each of the next three days, at different times and tables; half of them have a wish."""
    bookings: Table = {}
    for ahead, some in enumerate((guests[::3], guests[1::3], guests[2::3]), 1):
        times = sorted(rng.sample(_TIMES, len(some)))
        places = rng.sample(list(tables), len(some))
        for guest, time, table_id in zip(rng.sample(some, len(some)), times, places, strict=True):
            party = tables[table_id]["seats"] - rng.choice((0, 0, 1))
            booking = new_booking(table_id, guest, f"{day_after(now, ahead)}T{time}", max(party, 2))
            wishes = rng.sample(texts["wishes"], rng.randint(0, 1))
            bookings[booking["booking_id"]] = {**booking, "wishes": wishes}
    return bookings


def _bills(rng: Random, names: list[str], dishes: Table) -> Table:
    """An open bill for each of some tables."""
    bills: Table = {}
    for name in names:
        lines = [
            {"dish": row["dish"], "portions": (some := rng.randint(1, 4)), "cost": some * row["price"]}
            for row in rng.sample(list(dishes.values()), rng.randint(2, 4))
        ]
        lines.sort(key=lambda line: str(line["dish"]))
        bill_id = _new_id("bil", name)
        bills[bill_id] = {"bill_id": bill_id, "table": name, "lines": lines, "settled": False}
    return bills


def _sitting(env: Any, rng: Random) -> str:
    return f"{rng.choice(env.story['days'])}T{rng.choice(_TIMES)}"


def _guests(env: Any, rng: Random, argument: str) -> Iterator[dict[str, Any]]:
    for name in rng.sample(env.story["booked"], 2):
        yield {argument: name}
    if not family.beside(env.story, "calendar"):  # colleagues are no guests
        yield {argument: BOUND}


def _portions(_env: Any, rng: Random) -> list[dict[str, Any]]:
    return [{"portions": portions} for portions in rng.sample(range(1, 7), 2)]


PROPOSALS: dict[str, Proposer] = {
    "list_table_bookings": lambda env, rng: [{"date": day} for day in rng.sample(env.story["days"], 2)],
    "find_guest_booking": lambda env, rng: _guests(env, rng, "guest"),
    "find_guest_profile": lambda env, rng: _guests(env, rng, "name"),
    "find_free_tables": lambda env, rng: [{"start": _sitting(env, rng), "party": rng.randint(2, 8)}],
    "take_table_booking": lambda env, rng: [
        {"guest": rng.choice(env.story["free"]), "start": _sitting(env, rng), "party": rng.randint(2, 6)}
    ],
    "move_table_booking": lambda env, rng: [{"start": _sitting(env, rng)} for _ in range(2)],
    **dict.fromkeys(("change_booking_table", "cancel_table_booking"), lambda _env, _rng: [{}]),
    "add_booking_wish": lambda env, rng: [{"wish": wish} for wish in rng.sample(env.seeds()["wishes"], 2)],
    "list_menu_dishes": lambda _env, rng: [{"course": course} for course in rng.sample(list(_PRICES), 2)],
    **dict.fromkeys(("preorder_dish", "add_dish_to_bill"), _portions),
    "open_table_bill": lambda env, _rng: [{"table": name} for name in env.story["seated"][:3]],
    "settle_table_bill": lambda _env, rng: [
        {"method": rng.choice(("card", "cash", "voucher"))},
        {"method": rng.choice(("card", "cash")), "tip": float(rng.randint(3, 15))},
    ],
}
