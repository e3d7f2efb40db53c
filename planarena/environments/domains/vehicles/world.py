"""Making fleets: five vehicles with their trips, stations, workshops and parking in a town."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from random import Random
from typing import Any, cast

from planarena.environments.contract import BOUND, Environment, Seed, proposals
from planarena.environments.domains.shared import (
    Shared,
    beside,
    cast_people,
    keep,
    load_people,
    mail_of,
    meet,
)
from planarena.environments.state import Record

__all__ = ["VehiclesScenario", "day_after"]

# What a percent of a battery or tank holds and how far it goes, least and most.
POWERS = {"electric": (0.5, 0.8, 3, 4), "petrol": (0.4, 0.5, 6, 7), "diesel": (0.5, 0.7, 7, 9)}
_new_id = Environment.new_id


def day_after(start: str, days: int) -> str:
    """Return the date some days after a date or moment."""
    return (date.fromisoformat(start[:10]) + timedelta(days=days)).isoformat()


def _working(day: str) -> str:
    """Return the date, or the Monday after it where it is on a weekend."""
    return day_after(day, max(0, 7 - date.fromisoformat(day).weekday()) % 7 if _weekend(day) else 0)


def _weekend(day: str) -> bool:
    return date.fromisoformat(day).weekday() > 4


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
    tables: dict[str, dict[str, Record]] = {
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
            "works": situation["works"],
            "cities": rng.sample(texts["cities"], 3),
            **meet(
                shared,
                drivers,
                {name: mail_of(name, texts["mail_domain"], shared) for name in drivers},
            ),
        },
    )


def _vehicles(rng: Random, texts: dict[str, Any], districts: list[str], now: str) -> dict[str, Record]:
    """Five vehicles, none of them full; no two need the same thing on the same day."""
    vehicles: dict[str, Record] = {}
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


def _stations(rng: Random, texts: dict[str, Any]) -> dict[str, Record]:
    """Three stations for each kind of power; the nearer one is, the dearer."""
    stations: dict[str, Record] = {}
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


def _trips(
    rng: Random, texts: dict[str, Any], vehicles: dict[str, Record], drivers: list[str], now: str
) -> dict[str, Record]:
    """Six trips a vehicle on different days; the latest ones have not been classified."""
    trips: dict[str, Record] = {}
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


def _offers(rng: Random, texts: dict[str, Any], now: str) -> dict[str, Record]:
    """Three or four workshops for each kind of work; the cheaper one is, the later it has time."""
    offers: dict[str, Record] = {}
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


def _spaces(rng: Random, texts: dict[str, Any], districts: list[str]) -> dict[str, Record]:
    """Three parking spaces a district; the more central one is, the dearer."""
    spaces: dict[str, Record] = {}
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


class VehiclesScenario(Environment):
    """A fleet, and what the one who looks after it would ask for."""

    @classmethod
    def seed(cls, rng: Random, shared: Shared | None = None) -> Seed:
        """Make a fleet."""
        return make_fleet(cls.seeds(), rng, shared)

    @property
    def _drivers(self) -> list[str]:
        return cast(list[str], self.story["drivers"])

    def _workday(self, rng: Random, least: int, most: int) -> str:
        return _working(day_after(self.now, rng.randint(least, most)))

    @proposals("find_vehicle")
    def _propose_vehicle(self, rng: Random) -> Iterator[dict[str, Any]]:
        for name in rng.sample(self.story["vehicles"], 2):
            yield {"name": name}

    @proposals("list_vehicles_due")
    def _propose_due(self, rng: Random) -> Iterator[dict[str, Any]]:
        for check in rng.sample(("service", "inspection", "tyres"), 2):
            yield {"check": check}

    @proposals("find_filling_stations")
    def _propose_stations(self, _rng: Random) -> Iterator[dict[str, Any]]:
        yield {}

    @proposals("fill_vehicle")
    def _propose_filling(self, rng: Random) -> Iterator[dict[str, Any]]:
        yield {"level": rng.choice((80, 85, 90, 95, 100))}

    @proposals("log_vehicle_trip")
    def _propose_trip(self, rng: Random) -> Iterator[dict[str, Any]]:
        first, second, _ = self._drivers
        near, far, _ = self.story["cities"]
        yield {"driver": first, "destination": near, "km": rng.randrange(24, 68, 2)}
        # Hardly any vehicle gets so far before it has been filled.
        yield {"driver": second, "destination": far, "km": rng.randrange(170, 240, 5)}

    @proposals("list_vehicle_trips")
    def _propose_log(self, _rng: Random) -> Iterator[dict[str, Any]]:
        yield {}

    @proposals("classify_vehicle_trip")
    def _propose_purpose(self, rng: Random) -> Iterator[dict[str, Any]]:
        yield {"purpose": rng.choice(("business", "business", "private", "commute"))}

    @proposals("find_service_offers")
    def _propose_offers(self, _rng: Random) -> Iterator[dict[str, Any]]:
        for work in self.story["works"]:
            yield {"work": work}

    @proposals("book_vehicle_service")
    def _propose_service(self, rng: Random) -> Iterator[dict[str, Any]]:
        if beside(self.story, "calendar"):
            yield {"date": BOUND}
        yield {} if rng.random() < 0.5 else {"date": self._workday(rng, 11, 16)}

    @proposals("move_service_booking")
    def _propose_move(self, rng: Random) -> Iterator[dict[str, Any]]:
        yield {"date": self._workday(rng, 18, 26)}

    @proposals("find_parking_spaces")
    def _propose_spaces(self, _rng: Random) -> Iterator[dict[str, Any]]:
        yield {"district": self.story["districts"][0]}
        yield {"district": BOUND}

    @proposals("reserve_parking")
    def _propose_parking(self, rng: Random) -> Iterator[dict[str, Any]]:
        days = {} if rng.random() < 0.5 else {"days": rng.randint(2, 5)}
        yield {"date": day_after(self.now, rng.randint(1, 9)), **days}
        yield {"date": BOUND}
