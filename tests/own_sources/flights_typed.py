from typing import TypedDict, Literal
from datetime import date, timedelta
import itertools

class Flight(TypedDict):
    flight_no: str
    origin: str
    destination: str
    day: str
    price: float

_FLIGHTS: list[Flight] = [
    {"flight_no": "XA101", "origin": "Berlin", "destination": "Lisbon", "day": "2026-05-04", "price": 129.0},
    {"flight_no": "XA102", "origin": "Berlin", "destination": "Lisbon", "day": "2026-05-05", "price": 99.0},
    {"flight_no": "XA210", "origin": "Oslo", "destination": "Rome", "day": "2026-05-04", "price": 188.5},
]
_counter = itertools.count(1)
_bookings = {}


def search_flights(origin: str, destination: str) -> list[Flight]:
    """Find flights between two cities."""
    hits = [f for f in _FLIGHTS if f["origin"] == origin and f["destination"] == destination]
    if not hits:
        raise ValueError(f"no flights from {origin} to {destination}; origins are: Berlin, Oslo")
    return hits


def book_flight(flight_no: str, passengers: list[str], cabin: Literal["economy", "business"] = "economy") -> dict:
    """Book a flight for one or more passengers."""
    flight = next(f for f in _FLIGHTS if f["flight_no"] == flight_no)
    ref = f"BK{next(_counter):04d}"
    _bookings[ref] = {"booking_reference": ref, "flight_no": flight_no, "passengers": passengers, "cabin": cabin,
                      "total": flight["price"] * len(passengers) * (3 if cabin == "business" else 1)}
    return _bookings[ref]


def get_booking(booking_reference: str) -> dict:
    """Look up a booking."""
    return _bookings[booking_reference]


def cancel_booking(booking_reference: str) -> str:
    """Cancel a booking."""
    del _bookings[booking_reference]
    return "cancelled"
