"""Making fleets: five vehicles with their trips, stations, workshops and parking in a town."""

from __future__ import annotations

from random import Random
from typing import Any

from planarena.environments.contract import BOUND, Environment, Proposer, Seed, all_bound
from planarena.environments.domains import shared as common
from planarena.environments.domains.shared import Rows, Table, day_after, first_working_day, keyed

__all__ = ["PROPOSALS", "make_fleet"]

# What a percent of a battery or tank holds and how far it goes, least and most.
POWERS = {"electric": (0.5, 0.8, 3, 4), "petrol": (0.4, 0.5, 6, 7), "diesel": (0.5, 0.7, 7, 9)}
# What a workshop does where something is due.
CHECKS = {"oil_change": "service", "inspection": "inspection", "tyre_change": "tyres"}
# Business is what trips are for as often as not.
PURPOSES = ("business", "business", "private", "commute")
_new_id = Environment.new_id


def make_fleet(texts: Any, rng: Random, shared: common.Shared | None = None) -> Seed:
    """Make a fleet, a pure function of `rng` and `shared`; the people known already are its drivers."""
    now = common.draw_moment(rng, ("07:45", "08:30", "16:00"), shared)
    user, *drivers = common.draw_people(rng, 5, shared)
    districts = rng.sample(texts["districts"], 4)
    vehicles = keyed("vehicle_id", _vehicles(rng, texts, districts, now))
    tables: dict[str, Table] = {
        "vehicles": vehicles, "stations": keyed("station_id", _stations(rng, texts)),
        "trips": keyed("trip_id", _trips(rng, texts, vehicles, drivers, now)),
        "offers": keyed("offer_id", _offers(rng, texts, now)), "bookings": {},
        "spaces": keyed("space_id", _spaces(rng, texts, districts)), "reservations": {},
    }  # fmt: skip
    fleet = [row["name"] for row in vehicles.values()]
    situation = rng.choice(texts["situations"])
    # What is due and what workshops are asked for belong together: nobody books brakes for a vehicle that needs tyres.
    work = rng.choice(situation["works"])
    works = [work] if work in CHECKS else [one for one in situation["works"] if one not in CHECKS]
    details = {"user": user, "first": fleet[0], "second": fleet[1], "driver": drivers[0]}
    details["district"] = districts[0]
    addresses = {name: common.mail_of(name, texts["mail_domain"], shared) for name in drivers}
    story = {
        "vehicles": fleet[:3], "drivers": drivers[:3], "districts": districts[:2], "works": works,
        "check": CHECKS.get(work, "service"), "cities": rng.sample(texts["cities"], 3),
        **common.meet(shared, drivers, addresses),
    }  # fmt: skip
    facts = {"now": now, "user_name": user, "drivers": drivers[:3]}
    return Seed(tables, *common.caption(situation, details), facts, story)


def _vehicles(rng: Random, texts: Any, districts: list[str], now: str) -> Rows:
    """Five vehicles, none of them full; no two need the same thing on the same day."""
    dues = {kind: rng.sample(range(4, 120), 5) for kind in ("service", "inspection", "tyres")}
    powers = rng.sample(["electric", "electric", "petrol", "diesel", rng.choice(("electric", "diesel"))], 5)
    for place, (name, power) in enumerate(zip(rng.sample(texts["vehicles"], 5), powers, strict=True)):
        low, high, near, far = POWERS[power]
        yield {
            "vehicle_id": _new_id("veh", name), "name": name,
            "plate": f"{rng.choice(texts['plates'])} {rng.randint(100, 999)}", "power": power,
            "level": rng.randint(14, 58), "units_per_percent": round(rng.uniform(low, high), 2),
            "km_per_percent": rng.randint(near, far), "odometer": rng.randint(8000, 140000),
            "parked_at": rng.choice(districts),
            "due": {kind: day_after(now, days[place]) for kind, days in dues.items()},
        }  # fmt: skip


def _stations(rng: Random, texts: Any) -> Rows:
    """Three stations for each kind of power; the nearer one is, the dearer."""
    names, streets = iter(rng.sample(texts["stations"], 9)), iter(rng.sample(texts["streets"], 9))
    for power, low, high in (("electric", 35, 79), ("petrol", 158, 196), ("diesel", 149, 189)):
        cents = sorted(rng.sample(range(low, high), 3))
        distances = sorted(rng.sample(range(1, 15), 3), reverse=True)
        for price, distance in zip(cents, distances, strict=True):
            name = next(names)
            yield {
                "station_id": _new_id("sta", name), "name": name,
                "address": f"{next(streets)} {rng.randint(1, 90)}", "power": power, "unit_price": price / 100,
                "distance_km": distance,
            }  # fmt: skip


def _trips(rng: Random, texts: Any, vehicles: Table, drivers: list[str], now: str) -> Rows:
    """Six trips a vehicle on different days; the latest ones have not been classified."""
    for vehicle_id in vehicles:
        for place, age in enumerate(sorted(rng.sample(range(1, 40), 6))):
            driver, destination, day = rng.choice(drivers), rng.choice(texts["cities"]), day_after(now, -age)
            yield {
                "trip_id": _new_id("trp", vehicle_id, driver, destination, day), "vehicle_id": vehicle_id,
                "driver": driver, "destination": destination, "km": rng.randint(18, 240), "date": day,
                "purpose": "unclassified" if place < 2 else rng.choice(("business", "private", "commute")),
            }  # fmt: skip


def _offers(rng: Random, texts: Any, now: str) -> Rows:
    """Three or four workshops for each kind of work; the cheaper one is, the later it has time."""
    for work, (low, high) in texts["works"].items():
        shops = rng.sample(texts["workshops"], rng.randint(3, 4))
        prices = sorted(rng.sample(range(low, high, 5), len(shops)))
        days = sorted(rng.sample(range(1, 11), len(shops)), reverse=True)
        for workshop, price, ahead in zip(shops, prices, days, strict=True):
            yield {
                "offer_id": _new_id("off", workshop, work), "workshop": workshop, "work": work,
                "price": float(price), "first_free": first_working_day(day_after(now, ahead)),
            }  # fmt: skip


def _spaces(rng: Random, texts: Any, districts: list[str]) -> Rows:
    """Three parking spaces a district; the more central one is, the dearer."""
    garages = iter(rng.sample(texts["garages"], 12))
    for district in districts:
        prices = sorted(rng.sample(range(12, 60), 3))
        walks = sorted(rng.sample(range(60, 1200, 20), 3), reverse=True)
        for price, walk in zip(prices, walks, strict=True):
            garage = next(garages)
            yield {
                "space_id": _new_id("spc", garage), "garage": garage, "district": district,
                "address": f"{rng.choice(texts['streets'])} {rng.randint(1, 90)}", "day_price": price / 2,
                "walk_metres": walk,
            }  # fmt: skip


def _trips_made(env: Any, rng: Random) -> Rows:
    first, second, _ = env.story["drivers"]
    near, far, _ = env.story["cities"]
    yield {"driver": first, "destination": near, "km": rng.randrange(24, 68, 2)}
    # Hardly any vehicle gets so far before it has been filled.
    yield {"driver": second, "destination": far, "km": rng.randrange(170, 240, 5)}


def _workday(env: Any, rng: Random, least: int, most: int) -> str:
    return first_working_day(day_after(env.now, rng.randint(least, most)))


def _services(env: Any, rng: Random) -> Rows:
    if common.beside(env.story, "calendar"):
        yield {"date": BOUND}
    yield {} if rng.random() < 0.5 else {"date": _workday(env, rng, 11, 16)}


def _parkings(env: Any, rng: Random) -> Rows:
    days = {} if rng.random() < 0.5 else {"days": rng.randint(2, 5)}
    yield {"date": day_after(env.now, rng.randint(1, 9)), **days}
    yield {"date": BOUND}


PROPOSALS: dict[str, Proposer] = {
    "find_vehicle": lambda env, rng: [{"name": name} for name in rng.sample(env.story["vehicles"], 2)],
    "list_vehicles_due": lambda env, _rng: [{"check": env.story["check"]}],
    "fill_vehicle": lambda _env, rng: [{"level": rng.choice((80, 85, 90, 95, 100))}],
    "log_vehicle_trip": _trips_made, "book_vehicle_service": _services, "reserve_parking": _parkings,
    "classify_vehicle_trip": lambda _env, rng: [{"purpose": rng.choice(PURPOSES)}],
    "find_service_offers": lambda env, _rng: [{"work": work} for work in env.story["works"]],
    "move_service_booking": lambda env, rng: [{"date": _workday(env, rng, 18, 26)}],
    "find_parking_spaces": lambda env, _rng: [{"district": env.story["districts"][0]}, {"district": BOUND}],
    **all_bound("find_filling_stations", "list_vehicle_trips"),
}  # fmt: skip
