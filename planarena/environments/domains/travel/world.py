"""Initial worlds of the travel domain, and what its users would ask for."""

from __future__ import annotations

from datetime import date
from math import asin, cos, radians, sin, sqrt
from random import Random
from typing import Any

from planarena.environments.contract import BOUND, Environment, Proposer, Seed, all_bound
from planarena.environments.domains import shared as common
from planarena.environments.domains.offers import join_offer, split_offer
from planarena.environments.domains.shared import Rows, Table, day_after, keyed, later
from planarena.environments.state import Record

__all__ = ["PROPOSALS", "booking_code", "by_row", "make_stay", "make_ticket", "make_world"]

_new_id = Environment.new_id
_EARTH_KM = 6371.0


def by_row(seats: list[str]) -> list[str]:
    """Sort seats from the front row to the last; empty names (no seat) are left out."""
    return sorted(filter(None, seats), key=lambda seat: (int(seat[:-1]), seat[-1]))


def booking_code(key: str) -> str:
    """Return the six characters that people quote, made from a record's id."""
    return key[-6:].upper()


def make_ticket(flight_id: str, passenger: str, seat: str, bags: int, paid: float, issued_on: str) -> Record:
    """Return a confirmed ticket; one flight and passenger always give the same id."""
    ticket_id = _new_id("tkt", flight_id, passenger)
    return {
        "ticket_id": ticket_id, "booking_code": booking_code(ticket_id), "flight_id": flight_id,
        "passenger": passenger, "seat": seat, "bags": bags, "paid": paid, "issued_on": issued_on,
        "status": "confirmed",
    }  # fmt: skip


def make_stay(offer_id: str, guest: str, board: str, total_price: float) -> Record:
    """Return a booked stay; one offer and guest always give the same id."""
    hotel_id, check_in, nights = split_offer(offer_id, date.fromisoformat)
    check_in, stay_id = date.fromisoformat(check_in).isoformat(), _new_id("stay", offer_id, guest)
    return {
        "stay_id": stay_id, "booking_code": booking_code(stay_id), "hotel_id": hotel_id, "guest": guest,
        "check_in": check_in, "check_out": day_after(check_in, nights), "board": board,
        "total_price": total_price,
    }  # fmt: skip


def make_world(words: Any, rng: Random, shared: common.Shared | None = None) -> Seed:
    """Make cities, flights on the routes of both journeys, hotels at both destinations, and some tickets."""
    people = common.load_people()
    cities = rng.sample(sorted(words["cities"]), 3)
    if (town := common.keep(shared, "home_city", cities[0])) in words["cities"]:
        cities = list(dict.fromkeys([town, *cities]))
    home, there, other = cities[:3]
    family, given = rng.sample(people["family"], 12), rng.sample(people["given"], 12)
    names = common.cast_people([f"{a} {b}" for a, b in zip(given, family, strict=True)], shared)
    user, companion = names[:2]
    now = f"{day_after('2026-01-08', rng.randrange(300))}T{rng.randint(7, 20):02d}"
    now = common.keep(shared, "now", f"{now}:{rng.choice(['00', '15', '30', '45'])}")
    out, nights = day_after(now, rng.randint(9, 30)), rng.randint(2, 5)
    other_out, other_nights = day_after(now, rng.randint(45, 70)), rng.randint(2, 4)
    back, other_back = day_after(out, nights), day_after(other_out, other_nights)
    routes = (
        (home, there, out, 5), (there, home, back, 5), (home, there, day_after(out, 1), 3),
        (home, other, other_out, 4), (other, home, other_back, 4),
    )  # fmt: skip
    flights = keyed("flight_id", (row for route in routes for row in _flights(words, rng, *route)))
    places = ((there, 7, out, back), (other, 6, other_out, other_back))
    hotels = keyed("hotel_id", (row for place in places for row in _hotels(words, rng, *place)))
    airports = {
        city: {
            "city": city, "airport": words["cities"][city]["airport"], "fare": float(rng.randint(24, 58)),
            "drivers": rng.sample(names[3:], 3),
        }
        for city in (home, there, other)
    }  # fmt: skip
    legs = ((home, other_out), (other, other_back))
    purpose = rng.choice(words["purposes"])
    details = {"city": there, "user": user, "companion": companion}
    home_address = _address(words, rng, home)
    if (told := common.keep(shared, "home_address", home_address)).endswith(f", {home}"):
        home_address = told
    tables: dict[str, Table] = {
        "airports": airports, "flights": flights, "hotels": hotels,
        "tickets": keyed("ticket_id", _tickets(flights, legs, names, rng)),
        "stays": keyed("stay_id", _stays(hotels, names[3:], other_out, other_nights, rng)),
        "travellers": {name: {"name": name} for name in names[:3]},
        "account": {"miles": {"balance": rng.randrange(12_000, 24_000, 500)}}, "holds": {}, "transfers": {},
    }  # fmt: skip
    facts = {"now": now, "user_name": user, "home_city": home, "home_address": home_address}
    story = {
        "home": home, "there": there, "other": other, "out": out, "back": back, "nights": nights,
        "other_out": other_out, "other_back": other_back, "other_nights": other_nights, "people": names[:3],
        "home_address": home_address, "home_airport": airports[home]["airport"],
        "airport": airports[there]["airport"], **common.meet(shared, names[1:3]),
    }  # fmt: skip
    return Seed(tables, *common.caption(purpose, details), facts, story)


def _distance_km(a: list[float], b: list[float]) -> float:
    """Return the great-circle distance of two [degrees north, degrees east] by the haversine formula."""
    north_a, east_a, north_b, east_b = map(radians, (*a[:2], *b[:2]))
    half = sin((north_b - north_a) / 2) ** 2 + cos(north_a) * cos(north_b) * sin((east_b - east_a) / 2) ** 2
    return 2 * _EARTH_KM * asin(sqrt(half))


def _flights(words: Any, rng: Random, origin: str, destination: str, day: str, number: int) -> Rows:
    start, end = words["cities"][origin]["at"], words["cities"][destination]["at"]
    distance = _distance_km(start, end)
    duration = round((45 + distance / 13) / 5) * 5
    for place, hour in enumerate(sorted(rng.sample(range(6, 21), number))):
        departure = f"{day}T{hour:02d}:{rng.choice((0, 10, 20, 35, 45, 55)):02d}"
        airline = rng.choice(sorted(words["airlines"]))
        code = f"{words['airlines'][airline]}{rng.randint(110, 989)}"
        yield {
            "flight_id": _new_id("flt", code, day), "number": code, "airline": airline,
            "aircraft": rng.choice(words["aircraft"]), "origin": origin, "destination": destination,
            "departure_at": departure, "arrival_at": later(departure, duration + 60 * (end[2] - start[2])),
            "duration": duration,
            "price": round(28 + distance * rng.uniform(0.05, 0.13) + 0.01 * rng.randrange(100), 2),
            "bag_fee": float(rng.choice((22, 26, 30, 34, 38))), "on_time_rate": rng.randint(62, 96),
            # The first flight of the day is nearly full: a second hold on it fails.
            "seats_left": rng.randint(1, 2) if place == 0 else rng.randint(3, 40),
            "free_seats": by_row(list({f"{rng.randint(3, 30)}{letter}" for letter in "ABCDEF"})),
        }  # fmt: skip


def _hotels(words: Any, rng: Random, city: str, number: int, first_day: str, last_day: str) -> Rows:
    for first in rng.sample(words["hotels"]["first"], number):
        name = f"{first} {rng.choice(words['hotels']['second'])}"
        stars = rng.choice((2, 3, 3, 4, 4, 5))
        yield {
            "hotel_id": _new_id("htl", name, city), "name": name, "city": city,
            "area": rng.choice(words["cities"][city]["areas"]), "address": _address(words, rng, city),
            "stars": stars, "rating": round(rng.uniform(6.4, 9.6), 1),
            "nightly_rate": float(rng.randint(24, 38) * stars + rng.randint(5, 20)),
            # The days for which rooms are on sale, the last one for leaving: a stay at a date that belongs to
            # another journey finds nothing, so that no task joins what does not belong together.
            "rooms": rng.randint(1, 4), "open_from": day_after(first_day, -2),
            "open_until": day_after(last_day, 1),
        }  # fmt: skip


def _address(words: Any, rng: Random, city: str) -> str:
    return f"{rng.choice(words['cities'][city]['streets'])} {rng.randint(2, 148)}, {city}"


def _tickets(flights: Table, legs: tuple[tuple[str, str], ...], names: list[str], rng: Random) -> Rows:
    """Give the companion the second journey there and back, the third traveller one or both ways of it."""
    for name in (*names[1:3], *names[6:9]):
        for origin, day in legs:
            leaving = [row for row in flights.values() if row["origin"] == origin]
            flight = rng.choice([row for row in leaving if row["departure_at"].startswith(day)])
            seat = f"{rng.randint(31, 36)}{rng.choice('ABCDEF')}"
            paid = round(flight["price"] + rng.choice((0.0, 14.0, 26.0)), 2)
            issued_on = day_after(day, -rng.randint(80, 120))
            yield make_ticket(flight["flight_id"], name, seat, rng.randint(0, 2), paid, issued_on)


def _stays(hotels: Table, names: list[str], start: str, nights: int, rng: Random) -> Rows:
    for name in rng.sample(names, 5):
        hotel = rng.choice(list(hotels.values()))
        offer_id = join_offer(hotel["hotel_id"], day_after(start, rng.randint(-3, 2)), nights)
        yield make_stay(offer_id, name, "room_only", round(hotel["nightly_rate"] * nights, 2))


def _journeys(env: Any, rng: Random) -> Rows:
    home, there, story = env.story["home"], env.story["there"], env.story
    yield {"origin": home, "destination": there, "date": story["out"]}
    # A round price that leaves some of the flights back, but not all.
    flights = env.rows("flights", origin=there)
    prices = sorted(one["price"] for one in flights if one["departure_at"].startswith(story["back"]))
    limit = 10 * (prices[len(prices) // 2] // 10 + 1)
    wish = rng.choice([{"max_price": limit}, {"depart_after": rng.choice(["08:00", "10:00", "12:00"])}])
    yield {"origin": there, "destination": home, "date": story["back"], **wish}
    yield {"origin": home, "destination": BOUND, "date": BOUND}
    yield {"origin": BOUND, "destination": home, "date": story["other_back"]}
    if common.beside(story, "calendar"):
        yield {"origin": home, "destination": there, "date": BOUND}


def _rooms_wanted(env: Any, _rng: Random) -> Rows:
    story, there, nights = env.story, env.story["there"], env.story["nights"]
    rates = sorted(hotel["nightly_rate"] for hotel in env.rows("hotels", city=there))
    limit = 5 * (round(rates[len(rates) // 2]) // 5 + 1)
    yield {"city": there, "check_in": story["out"], "nights": nights, "max_rate": limit}
    yield {"city": there, "check_in": BOUND, "nights": nights, "min_stars": 3}
    yield {"city": BOUND, "check_in": BOUND, "nights": story["other_nights"]}
    yield {"city": story["other"], "check_in": story["other_out"], "nights": 2}


def _transfers(env: Any, rng: Random) -> Rows:
    story = env.story
    yield {"pickup": BOUND, "dropoff": BOUND, "pickup_at": BOUND, "vehicle": rng.choice(["car", "van"])}
    yield {"pickup": story["airport"], "dropoff": BOUND, "pickup_at": BOUND, "vehicle": "car"}
    home = {"pickup": story["home_airport"], "dropoff": story["home_address"]}
    yield {**home, "pickup_at": BOUND, "vehicle": rng.choice(["car", "minibus"])}
    # A quarter of an hour soon after the flight has landed.
    landing = rng.choice(env.rows("flights", origin=story["there"], destination=story["home"]))["arrival_at"]
    yield {**home, "pickup_at": later(landing, 45 - int(landing[14:]) % 15), "vehicle": "car"}


PROPOSALS: dict[str, Proposer] = {
    "search_flights": _journeys, "search_hotels": _rooms_wanted, "book_airport_transfer": _transfers,
    "hold_flight": lambda env, _rng: [{"passenger": person} for person in env.story["people"][:2]],
    # Nobody asks for a seat in the middle.
    "choose_seat": lambda _env, rng: [{"position": one} for one in rng.sample(["window", "aisle"], 2)],
    "add_bag": lambda _env, rng: [{"kind": kind} for kind in rng.sample(["cabin", "checked", "sports"], 2)],
    "pay_hold": lambda _env, _rng: [{"method": "card"}, {"method": "miles"}],
    "list_tickets": lambda env, _rng: [{"passenger": person} for person in env.story["people"][1:]],
    "book_hotel": lambda env, rng: [
        {"guest": env.story["people"][1], "board": rng.choice(["breakfast", "half_board"])},
        {"guest": env.story["people"][0]},
    ],
    **all_bound("get_flight_details", "get_itinerary", "cancel_ticket"),
}  # fmt: skip
