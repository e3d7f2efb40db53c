"""Types and records of the travel domain."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Annotated, Literal, TypedDict

from planarena.environments.contract import Environment
from planarena.environments.domains.types import (
    Address,
    Airport,
    City,
    Count,
    Credit,
    Date,
    Datetime,
    FreeTime,
    Landing,
    Minutes,
    Money,
    Payable,
    Percent,
    Person,
    Rating,
    Time,
    Title,
    Workday,
)  # fmt: skip
from planarena.environments.state import Record
from planarena.tools.semantics import Semantic

__all__ = [
    "AddedBag",
    "Bag",
    "Board",
    "Code",
    "FlightDetails",
    "FlightId",
    "FlightOffer",
    "Flights",
    "Hold",
    "HoldId",
    "Itinerary",
    "Nights",
    "OfferId",
    "Paid",
    "Payment",
    "Position",
    "Refund",
    "RoomOffer",
    "RoomOffers",
    "Seat",
    "SeatChoice",
    "Stars",
    "Stay",
    "TicketEntry",
    "TicketId",
    "TicketStatus",
    "Tickets",
    "Transfer",
    "Vehicle",
    "after",
    "booking_code",
    "by_row",
    "join_offer",
    "split_offer",
    "stay_record",
    "ticket_record",
    "to_minutes",
]

FlightId = Annotated[str, Semantic("flight_id", hidden=True)]
HoldId = Annotated[str, Semantic("flight_hold_id", hidden=True)]
TicketId = Annotated[str, Semantic("ticket_id", hidden=True)]
OfferId = Annotated[str, Semantic("room_offer_id", hidden=True)]
Nights = Annotated[int, Semantic("nights", surface="number", minimum=1, maximum=21)]
Stars = Annotated[int, Semantic("stars", surface="number", minimum=1, maximum=5)]
Route = Annotated[str, Semantic("route", surface="name")]
Code = Annotated[str, Semantic("booking_code")]
Seat = Annotated[str, Semantic("seat")]
Position = Annotated[Literal["window", "aisle", "middle"], Semantic("seat_position", surface="word")]
Bag = Annotated[Literal["cabin", "checked", "sports"], Semantic("bag_kind", surface="word")]
Payment = Annotated[Literal["card", "miles"], Semantic("travel_payment", surface="word")]
Board = Annotated[Literal["breakfast", "half_board"], Semantic("board", surface="word")]
Vehicle = Annotated[Literal["car", "van", "minibus"], Semantic("transfer_vehicle", surface="word")]
TicketStatus = Annotated[Literal["confirmed", "cancelled"], Semantic("ticket_status", surface="word")]


class FlightOffer(TypedDict):
    """A line of a flight search."""

    flight_id: FlightId
    airline: Title
    departure_time: Time
    arrival_time: Time
    price: Payable


class Flights(TypedDict):
    """Flights, the cheapest first; the route is written as "Rome to Porto"."""

    route: Route
    flights: list[FlightOffer]


class FlightDetails(TypedDict):
    """A flight in full; times are local."""

    airline: Title
    aircraft: Title
    departure_at: FreeTime
    arrival_at: Landing
    arrival_date: Date
    arrival_airport: Airport
    duration: Minutes
    checked_bag_fee: Money
    on_time_rate: Percent


class Hold(TypedDict):
    """A reserved place; `expires_at` is in the time of the user."""

    hold_id: HoldId
    price: Payable
    expires_at: Datetime


class SeatChoice(TypedDict):
    """The seat and what it costs."""

    passenger: Person
    seat: Seat
    fee: Money


class AddedBag(TypedDict):
    """What the piece costs and may weigh."""

    passenger: Person
    fee: Money
    weight_limit_kg: Count


class Paid(TypedDict):
    """A ticket."""

    ticket_id: TicketId
    passenger: Person
    booking_code: Code
    amount_paid: Payable


class TicketEntry(TypedDict):
    """A line of a ticket list."""

    ticket_id: TicketId
    booking_code: Code
    origin: City
    destination: City
    departure_date: Date


class Tickets(TypedDict):
    """Tickets, the next departure first."""

    tickets: list[TicketEntry]


class Itinerary(TypedDict):
    """A ticket with its flight; times are local."""

    passenger: Person
    status: TicketStatus
    airline: Title
    destination: City
    departure_at: FreeTime
    arrival_at: Landing
    arrival_date: Date
    arrival_airport: Airport
    seat: Seat
    bags: Count


class Refund(TypedDict):
    """What comes back, and the share of the price that it is."""

    passenger: Person
    refund: Credit
    refund_rate: Percent


class RoomOffer(TypedDict):
    """A room in a hotel for certain nights."""

    offer_id: OfferId
    hotel: Title
    area: Title
    address: Address
    stars: Stars
    rating: Rating
    nightly_rate: Money


class RoomOffers(TypedDict):
    """Offers, the cheapest first."""

    hotels: list[RoomOffer]


class Stay(TypedDict):
    """A booked room."""

    booking_code: Code
    hotel: Title
    address: Address
    check_out: Workday
    total_price: Payable


class Transfer(TypedDict):
    """An ordered ride."""

    booking_code: Code
    driver: Person
    fare: Payable


def to_minutes(moment: datetime) -> str:
    """Write a moment as `2026-03-04T14:30`."""
    return moment.isoformat(timespec="minutes")


def by_row(seats: list[str]) -> list[str]:
    """Sort seats from the front row to the last; empty names (no seat) are left out."""
    return sorted(filter(None, seats), key=lambda seat: (int(seat[:-1]), seat[-1]))


def booking_code(key: str) -> str:
    """Return the six characters that people quote, made from a record's id."""
    return key[-6:].upper()


def ticket_record(
    flight_id: str, passenger: str, seat: str, bags: int, paid: float, issued_on: str
) -> Record:
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


def stay_record(offer_id: str, guest: str, board: str, total_price: float) -> Record:
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
