"""Making fleets: five vehicles with their trips, stations, workshops and parking in a town."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from random import Random
from typing import Any

from planarena.environments.contract import BOUND, Environment, Proposer, Seed
from planarena.environments.domains.shared import (
    Shared,
    beside,
    cast_people,
    day_after,
    keep,
    load_people,
    mail_of,
    meet,
)
from planarena.environments.state import Record

__all__ = ["PROPOSALS", "make_fleet"]

# What a percent of a battery or tank holds and how far it goes, least and most.
POWERS = {"electric": (0.5, 0.8, 3, 4), "petrol": (0.4, 0.5, 6, 7), "diesel": (0.5, 0.7, 7, 9)}
Table = dict[str, Record]
_new_id = Environment.new_id


# What a workshop does where something is due.
_CHECKS = {"oil_change": "service", "inspection": "inspection", "tyre_change": "tyres"}


def _working(day: str) -> str:
    """Return the date, or the Monday after it where it is on a weekend."""
    weekday = date.fromisoformat(day).weekday()
    return day_after(day, 7 - weekday if weekday > 4 else 0)


def make_fleet(texts: Any, rng: Random, shared: Shared | None = None) -> Seed:
    """Make a fleet, a pure function of `rng` and `shared`; the people known already are its drivers."""
    people = load_people()
    now = f"2026-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}T{rng.choice(('07:45', '08:30', '16:00'))}"
    now = keep(shared, "now", now)
    given, family = rng.sample(people["given"], 5), rng.sample(people["family"], 5)
    names = cast_people([f"{first} {last}" for first, last in zip(given, family, strict=True)], shared)
    user, drivers = names[0], names[1:]
    districts = rng.sample(texts["districts"], 4)
    vehicles = _vehicles(rng, texts, districts, now)
    tables: dict[str, Table] = {
        "vehicles": vehicles,
        "stations": _stations(rng, texts),
        "trips": _trips(rng, texts, vehicles, drivers, now),
        "offers": _offers(rng, texts, now),
        "bookings": {},
        "spaces": _spaces(rng, texts, districts),
        "reservations": {},
    }
    fleet = [row["name"] for row in vehicles.values()]
    situation = rng.choice(texts["situations"])
    # What is due and what workshops are asked for belong together: nobody books brakes for a vehicle that needs tyres.
    work = rng.choice(situation["works"])
    works = [work] if work in _CHECKS else [one for one in situation["works"] if one not in _CHECKS]
    details = {"user": user, "first": fleet[0], "second": fleet[1], "driver": drivers[0]}
    details["district"] = districts[0]
    return Seed(
        tables,
        situation["title"].format(**details),
        situation["description"].format(**details),
        {"now": now, "user_name": user, "drivers": drivers[:3]},
        {
            "vehicles": fleet[:3],
            "drivers": drivers[:3],
            "districts": districts[:2],
            "works": works,
            "check": _CHECKS.get(work, "service"),
            "cities": rng.sample(texts["cities"], 3),
            **meet(shared, drivers, {name: mail_of(name, texts["mail_domain"], shared) for name in drivers}),
        },
    )


def _vehicles(rng: Random, texts: dict[str, Any], districts: list[str], now: str) -> Table:
    """Five vehicles, none of them full; no two need the same thing on the same day."""
    vehicles: Table = {}
    dues = {kind: rng.sample(range(4, 120), 5) for kind in ("service", "inspection", "tyres")}
    powers = rng.sample(["electric", "electric", "petrol", "diesel", rng.choice(("electric", "diesel"))], 5)
    for place, (name, power) in enumerate(zip(rng.sample(texts["vehicles"], 5), powers, strict=True)):
        low, high, near, far = POWERS[power]
        vehicle_id = _new_id("veh", name)
        vehicles[vehicle_id] = {
            "vehicle_id": vehicle_id,
            "name": name,
            "plate": f"{rng.choice(texts['plates'])} {rng.randint(100, 999)}",
            "power": power,
            "level": rng.randint(14, 58),
            "units_per_percent": round(rng.uniform(low, high), 2),
            "km_per_percent": rng.randint(near, far),
            "odometer": rng.randint(8000, 140000),
            "parked_at": rng.choice(districts),
            "due": {kind: day_after(now, days[place]) for kind, days in dues.items()},
        }
    return vehicles


def _stations(rng: Random, texts: dict[str, Any]) -> Table:
    """Three stations for each kind of power; the nearer one is, the dearer."""
    stations: Table = {}
    names = iter(rng.sample(texts["stations"], 9))
    streets = iter(rng.sample(texts["streets"], 9))
    for power, low, high in (("electric", 35, 79), ("petrol", 158, 196), ("diesel", 149, 189)):
        cents = sorted(rng.sample(range(low, high), 3))
        distances = sorted(rng.sample(range(1, 15), 3), reverse=True)
        for price, distance in zip(cents, distances, strict=True):
            name = next(names)
            station_id = _new_id("sta", name)
            stations[station_id] = {
                "station_id": station_id,
                "name": name,
                "address": f"{next(streets)} {rng.randint(1, 90)}",
                "power": power,
                "unit_price": price / 100,
                "distance_km": distance,
            }
    return stations


def _trips(rng: Random, texts: dict[str, Any], vehicles: Table, drivers: list[str], now: str) -> Table:
    """Six trips a vehicle on different days; the latest ones have not been classified."""
    trips: Table = {}
    for vehicle_id in vehicles:
        for place, age in enumerate(sorted(rng.sample(range(1, 40), 6))):
            driver, destination, day = rng.choice(drivers), rng.choice(texts["cities"]), day_after(now, -age)
            trip_id = _new_id("trp", vehicle_id, driver, destination, day)
            trips[trip_id] = {
                "trip_id": trip_id,
                "vehicle_id": vehicle_id,
                "driver": driver,
                "destination": destination,
                "km": rng.randint(18, 240),
                "date": day,
                "purpose": "unclassified" if place < 2 else rng.choice(("business", "private", "commute")),
            }
    return trips


def _offers(rng: Random, texts: dict[str, Any], now: str) -> Table:
    """Three or four workshops for each kind of work; the cheaper one is, the later it has time."""
    offers: Table = {}
    for work, (low, high) in texts["works"].items():
        shops = rng.sample(texts["workshops"], rng.randint(3, 4))
        prices = sorted(rng.sample(range(low, high, 5), len(shops)))
        days = sorted(rng.sample(range(1, 11), len(shops)), reverse=True)
        for workshop, price, ahead in zip(shops, prices, days, strict=True):
            offer_id = _new_id("off", workshop, work)
            offers[offer_id] = {
                "offer_id": offer_id,
                "workshop": workshop,
                "work": work,
                "price": float(price),
                "first_free": _working(day_after(now, ahead)),
            }
    return offers


def _spaces(rng: Random, texts: dict[str, Any], districts: list[str]) -> Table:
    """Three parking spaces a district; the more central one is, the dearer."""
    spaces: Table = {}
    garages = iter(rng.sample(texts["garages"], 12))
    for district in districts:
        prices = sorted(rng.sample(range(12, 60), 3))
        walks = sorted(rng.sample(range(60, 1200, 20), 3), reverse=True)
        for price, walk in zip(prices, walks, strict=True):
            garage = next(garages)
            space_id = _new_id("spc", garage)
            spaces[space_id] = {
                "space_id": space_id,
                "garage": garage,
                "district": district,
                "address": f"{rng.choice(texts['streets'])} {rng.randint(1, 90)}",
                "day_price": price / 2,
                "walk_metres": walk,
            }
    return spaces


def _trips_made(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    first, second, _ = env.story["drivers"]
    near, far, _ = env.story["cities"]
    yield {"driver": first, "destination": near, "km": rng.randrange(24, 68, 2)}
    # Hardly any vehicle gets so far before it has been filled.
    yield {"driver": second, "destination": far, "km": rng.randrange(170, 240, 5)}


def _workday(env: Any, rng: Random, least: int, most: int) -> str:
    return _working(day_after(env.now, rng.randint(least, most)))


def _services(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    if beside(env.story, "calendar"):
        yield {"date": BOUND}
    yield {} if rng.random() < 0.5 else {"date": _workday(env, rng, 11, 16)}


def _parkings(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    days = {} if rng.random() < 0.5 else {"days": rng.randint(2, 5)}
    yield {"date": day_after(env.now, rng.randint(1, 9)), **days}
    yield {"date": BOUND}


PROPOSALS: dict[str, Proposer] = {
    "find_vehicle": lambda env, rng: [{"name": name} for name in rng.sample(env.story["vehicles"], 2)],
    "list_vehicles_due": lambda env, _rng: [{"check": env.story["check"]}],
    "find_filling_stations": lambda _env, _rng: [{}],
    "fill_vehicle": lambda _env, rng: [{"level": rng.choice((80, 85, 90, 95, 100))}],
    "log_vehicle_trip": _trips_made,
    "list_vehicle_trips": lambda _env, _rng: [{}],
    "classify_vehicle_trip": lambda _env, rng: [
        {"purpose": rng.choice(("business", "business", "private", "commute"))}
    ],
    "find_service_offers": lambda env, _rng: [{"work": work} for work in env.story["works"]],
    "book_vehicle_service": _services,
    "move_service_booking": lambda env, rng: [{"date": _workday(env, rng, 18, 26)}],
    "find_parking_spaces": lambda env, _rng: [{"district": env.story["districts"][0]}, {"district": BOUND}],
    "reserve_parking": _parkings,
}
