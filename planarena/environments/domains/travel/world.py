"""Initial worlds of the travel domain, and what its users would ask for."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from math import asin, cos, radians, sin, sqrt
from random import Random
from typing import Any

from planarena.environments.contract import BOUND, Environment, Proposer, Seed
from planarena.environments.domains.shared import Shared, beside, cast_people, keep, load_people, meet
from planarena.environments.state import Record

__all__ = [
    "PROPOSALS", "after", "booking_code", "by_row", "join_offer", "make_stay", "make_ticket", "make_world",
    "split_offer", "to_minutes",
]  # fmt: skip


def to_minutes(moment: datetime) -> str:
    """Write a moment as `2026-03-04T14:30`."""
    return moment.isoformat(timespec="minutes")


def by_row(seats: list[str]) -> list[str]:
    """Sort seats from the front row to the last; empty names (no seat) are left out."""
    return sorted(filter(None, seats), key=lambda seat: (int(seat[:-1]), seat[-1]))


def booking_code(key: str) -> str:
    """Return the six characters that people quote, made from a record's id."""
    return key[-6:].upper()


def make_ticket(flight_id: str, passenger: str, seat: str, bags: int, paid: float, issued_on: str) -> Record:
    """Return a confirmed ticket; one flight and passenger always give the same id."""
    ticket_id = Environment.new_id("tkt", flight_id, passenger)
    return {
        "ticket_id": ticket_id,
        "booking_code": booking_code(ticket_id),
        "flight_id": flight_id,
        "passenger": passenger,
        "seat": seat,
        "bags": bags,
        "paid": paid,
        "issued_on": issued_on,
        "status": "confirmed",
    }


def make_stay(offer_id: str, guest: str, board: str, total_price: float) -> Record:
    """Return a booked stay; one offer and guest always give the same id."""
    hotel_id, check_in, nights = split_offer(offer_id)
    stay_id = Environment.new_id("stay", offer_id, guest)
    return {
        "stay_id": stay_id,
        "booking_code": booking_code(stay_id),
        "hotel_id": hotel_id,
        "guest": guest,
        "check_in": check_in,
        "check_out": after(check_in, nights),
        "board": board,
        "total_price": total_price,
    }


def after(day: str, days: int) -> str:
    """Return the date some days later."""
    return (date.fromisoformat(day) + timedelta(days=days)).isoformat()


def join_offer(hotel_id: str, check_in: str, nights: int) -> str:
    """Return the id of a room offer: it is read from, never stored, so that a search changes nothing."""
    return f"{hotel_id}.{check_in}.{nights}"


def split_offer(offer_id: str) -> tuple[str, str, int]:
    """Return hotel id, check-in day and nights of an offer.

    Raises:
        ValueError: It is no offer id.
    """
    hotel_id, check_in, nights = offer_id.split(".")
    return hotel_id, date.fromisoformat(check_in).isoformat(), int(nights)


Table = dict[str, Record]
_EARTH_KM = 6371.0


def make_world(words: Any, rng: Random, shared: Shared | None = None) -> Seed:
    """Make cities, flights on the routes of both journeys, hotels at both destinations, and some tickets."""
    people = load_people()
    cities = rng.sample(sorted(words["cities"]), 3)
    if (town := keep(shared, "home_city", cities[0])) in words["cities"]:
        cities = list(dict.fromkeys([town, *cities]))
    home, there, other = cities[:3]
    family, given = rng.sample(people["family"], 12), rng.sample(people["given"], 12)
    names = [f"{first} {last}" for first, last in zip(given, family, strict=True)]
    user, companion, third, *_ = names = cast_people(names, shared)
    today = date(2026, 1, 8) + timedelta(days=rng.randrange(300))
    now = f"{today.isoformat()}T{rng.randint(7, 20):02d}:{rng.choice(['00', '15', '30', '45'])}"
    now = keep(shared, "now", now)
    today = date.fromisoformat(now[:10])
    out = after(today.isoformat(), rng.randint(9, 30))
    nights = rng.randint(2, 5)
    other_out = after(today.isoformat(), rng.randint(45, 70))
    other_nights = rng.randint(2, 4)
    back, other_back = after(out, nights), after(other_out, other_nights)

    flights: Table = {}
    for route, number in (
        ((home, there, out), 5), ((there, home, back), 5), ((home, there, after(out, 1)), 3),
        ((home, other, other_out), 4), ((other, home, other_back), 4),
    ):  # fmt: skip
        _add_flights(flights, words, rng, route, number)
    hotels: Table = {}
    for city, number, first, last in ((there, 7, out, back), (other, 6, other_out, other_back)):
        _add_hotels(hotels, words, rng, city, number, (after(first, -2), after(last, 1)))
    airports = {city: _airport(words, rng, city, names[3:]) for city in (home, there, other)}
    purpose = rng.choice(words["purposes"])
    details = {"city": there, "user": user, "companion": companion}
    home_address = _address(words, rng, home)
    if (told := keep(shared, "home_address", home_address)).endswith(f", {home}"):
        home_address = told
    return Seed(
        tables={
            "airports": airports,
            "flights": flights,
            "hotels": hotels,
            "tickets": _tickets(flights, (home, other, other_out, other_back), names, rng),
            "stays": _stays(hotels, names, (other_out, other_nights), rng),
            "travellers": {name: {"name": name} for name in (user, companion, third)},
            "account": {"miles": {"balance": rng.randrange(12_000, 24_000, 500)}},
            "holds": {},
            "transfers": {},
        },
        title=purpose["title"].format(**details),
        description=purpose["description"].format(**details),
        facts={"now": now, "user_name": user, "home_city": home, "home_address": home_address},
        story={
            "home": home,
            "there": there,
            "other": other,
            "out": out,
            "back": back,
            "nights": nights,
            "other_out": other_out,
            "other_back": other_back,
            "other_nights": other_nights,
            "people": [user, companion, third],
            "home_address": home_address,
            "home_airport": airports[home]["airport"],
            "airport": airports[there]["airport"],
            **meet(shared, names[1:3]),
        },
    )


def _distance_km(a: list[float], b: list[float]) -> float:
    """Return the great-circle distance of two [degrees north, degrees east] by the haversine formula."""
    north_a, east_a, north_b, east_b = map(radians, (a[0], a[1], b[0], b[1]))
    half = sin((north_b - north_a) / 2) ** 2 + cos(north_a) * cos(north_b) * sin((east_b - east_a) / 2) ** 2
    return 2 * _EARTH_KM * asin(sqrt(half))


def _airport(words: Any, rng: Random, city: str, drivers: list[str]) -> Record:
    fare, airport = float(rng.randint(24, 58)), words["cities"][city]["airport"]
    return {"city": city, "airport": airport, "fare": fare, "drivers": rng.sample(drivers, 3)}


def _add_flights(flights: Table, words: Any, rng: Random, route: tuple[str, str, str], number: int) -> None:
    origin, destination, day = route
    start, end = words["cities"][origin]["at"], words["cities"][destination]["at"]
    distance = _distance_km(start, end)
    duration = round((45 + distance / 13) / 5) * 5
    airlines = sorted(words["airlines"])
    for place, hour in enumerate(sorted(rng.sample(range(6, 21), number))):
        departure = datetime.fromisoformat(f"{day}T{hour:02d}:{rng.choice((0, 10, 20, 35, 45, 55)):02d}")
        airline = rng.choice(airlines)
        code = f"{words['airlines'][airline]}{rng.randint(110, 989)}"
        flight_id = Environment.new_id("flt", code, day)
        flights[flight_id] = {
            "flight_id": flight_id,
            "number": code,
            "airline": airline,
            "aircraft": rng.choice(words["aircraft"]),
            "origin": origin,
            "destination": destination,
            "departure_at": to_minutes(departure),
            "arrival_at": to_minutes(departure + timedelta(minutes=duration, hours=end[2] - start[2])),
            "duration": duration,
            "price": round(28 + distance * rng.uniform(0.05, 0.13) + 0.01 * rng.randrange(100), 2),
            "bag_fee": float(rng.choice((22, 26, 30, 34, 38))),
            "on_time_rate": rng.randint(62, 96),
            # The first flight of the day is nearly full: a second hold on it fails.
            "seats_left": rng.randint(1, 2) if place == 0 else rng.randint(3, 40),
            "free_seats": by_row(list({f"{rng.randint(3, 30)}{letter}" for letter in "ABCDEF"})),
        }


def _add_hotels(
    hotels: Table, words: Any, rng: Random, city: str, number: int, season: tuple[str, str]
) -> None:
    firsts = rng.sample(words["hotels"]["first"], number)
    for first in firsts:
        name = f"{first} {rng.choice(words['hotels']['second'])}"
        hotel_id = Environment.new_id("htl", name, city)
        stars = rng.choice((2, 3, 3, 4, 4, 5))
        hotels[hotel_id] = {
            "hotel_id": hotel_id,
            "name": name,
            "city": city,
            "area": rng.choice(words["cities"][city]["areas"]),
            "address": _address(words, rng, city),
            "stars": stars,
            "rating": round(rng.uniform(6.4, 9.6), 1),
            "nightly_rate": float(rng.randint(24, 38) * stars + rng.randint(5, 20)),
            "rooms": rng.randint(1, 4),
            # The days for which rooms are on sale, the last one for leaving: a stay at a date that belongs to
            # another journey finds nothing, so that no task joins what does not belong together.
            "open_from": season[0],
            "open_until": season[1],
        }


def _address(words: Any, rng: Random, city: str) -> str:
    return f"{rng.choice(words['cities'][city]['streets'])} {rng.randint(2, 148)}, {city}"


def _tickets(flights: Table, journey: tuple[str, str, str, str], names: list[str], rng: Random) -> Table:
    """Give the companion the second journey there and back, the third traveller one or both ways of it."""
    home, other, out, back = journey
    tickets: Table = {}
    for name in (*names[1:3], *names[6:9]):
        for origin, day in ((home, out), (other, back)):
            routes = [
                row
                for row in flights.values()
                if row["origin"] == origin and row["departure_at"].startswith(day)
            ]
            flight = rng.choice([row for row in routes if row["destination"] in {home, other}])
            seat = f"{rng.randint(31, 36)}{rng.choice('ABCDEF')}"
            paid = round(flight["price"] + rng.choice((0.0, 14.0, 26.0)), 2)
            issued_on = after(day, -rng.randint(80, 120))
            ticket = make_ticket(flight["flight_id"], name, seat, rng.randint(0, 2), paid, issued_on)
            tickets[ticket["ticket_id"]] = ticket
    return tickets


def _stays(hotels: Table, names: list[str], when: tuple[str, int], rng: Random) -> Table:
    stays: Table = {}
    for name in rng.sample(names[3:], 5):
        hotel = rng.choice(list(hotels.values()))
        check_in = after(when[0], rng.randint(-3, 2))
        offer_id = join_offer(hotel["hotel_id"], check_in, when[1])
        stay = make_stay(offer_id, name, "room_only", round(hotel["nightly_rate"] * when[1], 2))
        stays[stay["stay_id"]] = stay
    return stays


def _journeys(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    story = env.story
    yield {"origin": story["home"], "destination": story["there"], "date": story["out"]}
    wish: dict[str, Any] = rng.choice(
        [{"max_price": _price_limit(env)}, {"depart_after": rng.choice(["08:00", "10:00", "12:00"])}]
    )
    yield {"origin": story["there"], "destination": story["home"], "date": story["back"], **wish}
    yield {"origin": story["home"], "destination": BOUND, "date": BOUND}
    yield {"origin": BOUND, "destination": story["home"], "date": story["other_back"]}
    if beside(story, "calendar"):
        yield {"origin": story["home"], "destination": story["there"], "date": BOUND}


def _hotels(env: Any, _rng: Random) -> Iterator[dict[str, Any]]:
    story = env.story
    rates = sorted(hotel["nightly_rate"] for hotel in env.rows("hotels", city=story["there"]))
    limit = 5 * (round(rates[len(rates) // 2]) // 5 + 1)
    yield {"city": story["there"], "check_in": story["out"], "nights": story["nights"], "max_rate": limit}
    yield {"city": story["there"], "check_in": BOUND, "nights": story["nights"], "min_stars": 3}
    yield {"city": BOUND, "check_in": BOUND, "nights": story["other_nights"]}
    yield {"city": story["other"], "check_in": story["other_out"], "nights": 2}


def _transfers(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    story = env.story
    yield {"pickup": BOUND, "dropoff": BOUND, "pickup_at": BOUND, "vehicle": rng.choice(["car", "van"])}
    yield {"pickup": story["airport"], "dropoff": BOUND, "pickup_at": BOUND, "vehicle": "car"}
    home = {"pickup": story["home_airport"], "dropoff": story["home_address"]}
    yield {**home, "pickup_at": BOUND, "vehicle": rng.choice(["car", "minibus"])}
    moment = _after_landing(env, rng, story["there"], story["home"])
    yield {**home, "pickup_at": moment, "vehicle": "car"}


def _after_landing(env: Any, rng: Random, origin: str, destination: str) -> str:
    """Return a quarter of an hour soon after a flight of the route has landed."""
    flights = env.rows("flights", origin=origin, destination=destination)
    landing = datetime.fromisoformat(rng.choice(flights)["arrival_at"])
    return to_minutes(landing + timedelta(minutes=45 - landing.minute % 15))


def _price_limit(env: Any) -> float:
    """Return a round price that leaves some of the flights back, but not all."""
    story = env.story
    flights = env.rows("flights", origin=story["there"])
    prices = sorted(one["price"] for one in flights if one["departure_at"].startswith(story["back"]))
    middle: float = prices[len(prices) // 2]
    return 10 * (middle // 10 + 1)


PROPOSALS: dict[str, Proposer] = {
    "search_flights": _journeys,
    "get_flight_details": lambda _env, _rng: [{}],
    "hold_flight": lambda env, _rng: [{"passenger": person} for person in env.story["people"][:2]],
    "choose_seat": lambda _env, rng: [
        {"position": position}
        # Nobody asks for a seat in the middle.
        for position in rng.sample(["window", "aisle"], 2)
    ],
    "add_bag": lambda _env, rng: [{"kind": kind} for kind in rng.sample(["cabin", "checked", "sports"], 2)],
    "pay_hold": lambda _env, _rng: [{"method": "card"}, {"method": "miles"}],
    "list_tickets": lambda env, _rng: [{"passenger": person} for person in env.story["people"][1:]],
    "get_itinerary": lambda _env, _rng: [{}],
    "cancel_ticket": lambda _env, _rng: [{}],
    "search_hotels": _hotels,
    "book_hotel": lambda env, rng: [
        {"guest": env.story["people"][1], "board": rng.choice(["breakfast", "half_board"])},
        {"guest": env.story["people"][0]},
    ],
    "book_airport_transfer": _transfers,
}
