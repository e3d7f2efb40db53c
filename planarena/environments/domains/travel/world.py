"""Initial worlds of the travel domain, and what its users would ask for."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from math import asin, cos, radians, sin, sqrt
from random import Random
from typing import Any

from planarena.environments.contract import BOUND, Environment, Seed, proposals
from planarena.environments.domains.shared import Shared, beside, cast_people, keep, load_people, meet
from planarena.environments.state import Record

from .types import (
    after,
    by_row,
    join_offer,
    stay_record,
    ticket_record,
    to_minutes,
)

__all__ = ["TravelScenario"]

Table = dict[str, Record]
Proposals = Iterator[dict[str, Any]]
_EARTH_KM = 6371.0


class TravelScenario(Environment):
    """A user at home, a journey for two to plan, and a second journey that the companion has booked already."""

    @classmethod
    def seed(cls, rng: Random, shared: Shared | None = None) -> Seed:
        """Make cities, flights on the routes of both journeys, hotels at both destinations, and some tickets."""
        words = cls.seeds()
        people = load_people()
        cities = rng.sample(sorted(words["cities"]), 3)
        if (town := keep(shared, "home_city", cities[0])) in words["cities"]:
            cities = list(dict.fromkeys([town, *cities]))
        home, there, other = cities[:3]
        family = rng.sample(people["family"], 12)
        given = rng.sample(people["given"], 12)
        names = [f"{first} {last}" for first, last in zip(given, family, strict=True)]
        names = cast_people(names, shared)
        user, companion, third = names[:3]
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
        for origin, destination, day, number in (
            (home, there, out, 5), (there, home, back, 5), (home, there, after(out, 1), 3), (home, other, other_out, 4),
            (other, home, other_back, 4),
        ):  # fmt: skip
            _add_flights(flights, words, rng, (origin, destination, day), number)
        hotels: Table = {}
        for city, number, first, last in ((there, 7, out, back), (other, 6, other_out, other_back)):
            _add_hotels(hotels, words, rng, city, number, (after(first, -2), after(last, 1)))

        airports = {
            city: {
                "city": city,
                "airport": words["cities"][city]["airport"],
                "fare": float(rng.randint(24, 58)),
                "drivers": rng.sample(names[3:], 3),
            }
            for city in (home, there, other)
        }
        purpose = rng.choice(words["purposes"])
        home_address = _address(words, rng, home)
        if keep(shared, "home_address", home_address).endswith(f", {home}"):
            home_address = keep(shared, "home_address", home_address)
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
            title=purpose["title"].format(city=there),
            description=purpose["description"].format(city=there, user=user, companion=companion),
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

    @proposals("search_flights")
    def propose_flights(self, rng: Random) -> Proposals:
        """There, back, with a wish, or joining somebody's journey."""
        story = self.story
        yield {"origin": story["home"], "destination": story["there"], "date": story["out"]}
        wish: dict[str, Any] = rng.choice(
            [{"max_price": self._price_limit()}, {"depart_after": rng.choice(["08:00", "10:00", "12:00"])}]
        )
        yield {"origin": story["there"], "destination": story["home"], "date": story["back"], **wish}
        yield {"origin": story["home"], "destination": BOUND, "date": BOUND}
        yield {"origin": BOUND, "destination": story["home"], "date": story["other_back"]}
        if beside(story, "calendar"):
            yield {"origin": story["home"], "destination": story["there"], "date": BOUND}
        if beside(story, "banking"):
            there = {"origin": story["home"], "destination": story["there"], "date": story["out"]}
            yield {**there, "max_price": BOUND}

    @proposals("get_flight_details")
    def propose_details(self, _rng: Random) -> Proposals:
        """Any flight."""
        yield {}

    @proposals("hold_flight")
    def propose_holds(self, _rng: Random) -> Proposals:
        """For the user and the companion."""
        for person in self.story["people"][:2]:
            yield {"passenger": person}

    @proposals("choose_seat")
    def propose_seats(self, rng: Random) -> Proposals:
        """A window or an aisle, seldom the middle."""
        for position in rng.sample(["window", "aisle", "window", "aisle", "middle"], 5)[:2]:
            yield {"position": position}

    @proposals("add_bag")
    def propose_bags(self, rng: Random) -> Proposals:
        """Two kinds of luggage."""
        for kind in rng.sample(["cabin", "checked", "sports"], 2):
            yield {"kind": kind}

    @proposals("pay_hold")
    def propose_payments(self, _rng: Random) -> Proposals:
        """By card or with miles."""
        yield {"method": "card"}
        yield {"method": "miles"}

    @proposals("list_tickets")
    def propose_lists(self, _rng: Random) -> Proposals:
        """Of the companion and of the third traveller; both have tickets from the start."""
        for person in self.story["people"][1:]:
            yield {"passenger": person}

    @proposals("get_itinerary")
    def propose_itineraries(self, _rng: Random) -> Proposals:
        """Any ticket."""
        yield {}

    @proposals("cancel_ticket")
    def propose_cancellations(self, _rng: Random) -> Proposals:
        """Any ticket."""
        yield {}

    @proposals("search_hotels")
    def propose_hotels(self, _rng: Random) -> Proposals:
        """At the destination, from the day of arrival, or where somebody else is going."""
        story = self.story
        rates = sorted(
            hotel["nightly_rate"] for hotel in self.state.scan("hotels") if hotel["city"] == story["there"]
        )
        limit = 5 * (round(rates[len(rates) // 2]) // 5 + 1)
        yield {"city": story["there"], "check_in": story["out"], "nights": story["nights"], "max_rate": limit}
        yield {"city": story["there"], "check_in": BOUND, "nights": story["nights"], "min_stars": 3}
        yield {"city": BOUND, "check_in": BOUND, "nights": story["other_nights"]}
        yield {"city": story["other"], "check_in": story["other_out"], "nights": 2}

    @proposals("book_hotel")
    def propose_stays(self, rng: Random) -> Proposals:
        """For the user with breakfast or half board, for the companion without."""
        user, companion, _ = self.story["people"]
        yield {"guest": user, "board": rng.choice(["breakfast", "half_board"])}
        yield {"guest": companion}

    @proposals("book_airport_transfer")
    def propose_transfers(self, rng: Random) -> Proposals:
        """To the hotel on arrival, or home on the day of return."""
        story = self.story
        yield {"pickup": BOUND, "dropoff": BOUND, "pickup_at": BOUND, "vehicle": rng.choice(["car", "van"])}
        moment = self._after_landing(rng, story["home"], story["there"])
        yield {"pickup": story["airport"], "dropoff": BOUND, "pickup_at": moment, "vehicle": "car"}
        home = {"pickup": story["home_airport"], "dropoff": story["home_address"]}
        yield {**home, "pickup_at": BOUND, "vehicle": rng.choice(["car", "minibus"])}
        moment = self._after_landing(rng, story["there"], story["home"])
        yield {**home, "pickup_at": moment, "vehicle": "car"}

    def _after_landing(self, rng: Random, origin: str, destination: str) -> str:
        """Return a quarter of an hour soon after a flight of the route has landed."""
        flights = [
            row
            for row in self.state.scan("flights")
            if (row["origin"], row["destination"]) == (origin, destination)
        ]
        landing = datetime.fromisoformat(rng.choice(flights)["arrival_at"])
        return to_minutes(landing + timedelta(minutes=45 - landing.minute % 15))

    def _price_limit(self) -> float:
        """Return a round price that leaves some of the flights back, but not all."""
        story = self.story
        prices = sorted(
            flight["price"]
            for flight in self.state.scan("flights")
            if flight["origin"] == story["there"] and flight["departure_at"].startswith(story["back"])
        )
        middle: float = prices[len(prices) // 2]
        return 10 * (middle // 10 + 1)


def _distance_km(a: list[float], b: list[float]) -> float:
    """Return the great-circle distance of two [degrees north, degrees east] by the haversine formula."""
    north_a, east_a, north_b, east_b = map(radians, (a[0], a[1], b[0], b[1]))
    half = sin((north_b - north_a) / 2) ** 2 + cos(north_a) * cos(north_b) * sin((east_b - east_a) / 2) ** 2
    return 2 * _EARTH_KM * asin(sqrt(half))


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
            ticket = ticket_record(flight["flight_id"], name, seat, rng.randint(0, 2), paid, issued_on)
            tickets[ticket["ticket_id"]] = ticket
    return tickets


def _stays(hotels: Table, names: list[str], when: tuple[str, int], rng: Random) -> Table:
    stays: Table = {}
    for name in rng.sample(names[3:], 5):
        hotel = rng.choice(list(hotels.values()))
        check_in = after(when[0], rng.randint(-3, 2))
        offer_id = join_offer(hotel["hotel_id"], check_in, when[1])
        stay = stay_record(offer_id, name, "room_only", round(hotel["nightly_rate"] * when[1], 2))
        stays[stay["stay_id"]] = stay
    return stays
