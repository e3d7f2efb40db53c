"""Travel: flights, seats and bags, tickets, hotels and airport transfers."""

from __future__ import annotations

from collections import Counter
from datetime import date as day_of
from random import Random
from typing import Annotated, Literal

from planarena.environments.contract import Environment, Seed, ToolError, tool
from planarena.environments.domains import types
from planarena.environments.domains.offers import join_offer, split_offer
from planarena.environments.domains.shared import Shared, day_after, later
from planarena.environments.shapes import Fields, Result, between, ordered
from planarena.environments.state import Record
from planarena.tools.semantics import Semantic

from .world import PROPOSALS, booking_code, by_row, make_stay, make_ticket, make_world

__all__ = ["Travel"]

_MAX_BAGS = 4
_MILES_PER_EURO = 40
# How long after a landing somebody is met.
_PICKUP_MINUTES = 3 * 60

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

record = Fields(
    flight_id=FlightId, airline=types.Title, departure_time=types.Time, arrival_time=types.Time,
    price=types.Payable, route=Route, aircraft=types.Title, departure_at=types.FreeTime,
    arrival_at=types.Landing, arrival_date=types.Date, arrival_airport=types.Airport,
    duration=types.Minutes, checked_bag_fee=types.Money, on_time_rate=types.Percent, hold_id=HoldId,
    expires_at=types.Datetime, passenger=types.Person, seat=Seat, fee=types.Money,
    weight_limit_kg=types.Count, ticket_id=TicketId, booking_code=Code, amount_paid=types.Payable,
    origin=types.City, destination=types.City, departure_date=types.Date, status=TicketStatus,
    bags=types.Count, refund=types.Credit, refund_rate=types.Percent, offer_id=OfferId, hotel=types.Title,
    area=types.Title, address=types.Address, stars=Stars, rating=types.Rating, nightly_rate=types.Money,
    check_in=types.Date, check_out=types.Workday, total_price=types.Payable, driver=types.Person,
    pickup_at=types.Landing, fare=types.Payable,
)  # fmt: skip
FOUND_FLIGHT = record("flight_id airline departure_time arrival_time price")
DETAILS = record(
    "airline aircraft departure_at arrival_at arrival_date arrival_airport duration checked_bag_fee on_time_rate"
)
TICKET = record("ticket_id booking_code origin destination departure_date")
ITINERARY = record(
    "passenger status airline destination departure_at arrival_at arrival_date arrival_airport seat bags transfers",
    transfers=[record("driver pickup_at booking_code")],
)
HOTEL = record("offer_id hotel area address stars rating nightly_rate")


class Travel(Environment):
    """Flights are held, then paid; hotels are booked from offers; transfers run from an airport to an address."""

    domain = "travel"
    summary = "Book flights with seats and bags, hotels and airport transfers, and manage tickets."
    proposals = PROPOSALS

    @classmethod
    def seed(cls, rng: Random, shared: Shared | None = None) -> Seed:
        """Make cities, flights on the routes of both journeys, hotels at both destinations, and some tickets."""
        return make_world(cls.seeds(), rng, shared)

    def _airport(self, city: str) -> Record:
        return self.require("airports", city, "airport in a city")

    def _flight(self, flight_id: str) -> Record:
        return self.require("flights", flight_id, "flight")

    def _arrival(self, flight_id: str) -> Record:
        """Return a flight with its times and where it lands."""
        flight = self._flight(flight_id)
        return {**_timed(flight), "arrival_airport": self._airport(flight["destination"])["airport"]}

    def _bag_fee(self, hold: Record, kind: str) -> float:
        full: float = self._flight(hold["flight_id"])["bag_fee"]
        part: float = self.seeds()["bags"][kind]["part"]
        return round(full * part, 2)

    def _taken(self, check_in: str, check_out: str) -> Counter[str]:
        """Count the rooms per hotel that are booked for at least one of the nights."""
        stays = [row for row in self.state.scan("stays") if row["check_in"] < check_out]
        return Counter(row["hotel_id"] for row in stays if row["check_out"] > check_in)

    @tool("read", gives=record("route flights", flights=[FOUND_FLIGHT]))
    def search_flights(
        self,
        origin: types.City,
        destination: types.City,
        date: types.Date,
        max_price: types.Money | None = None,
        depart_after: types.Time | None = None,
    ) -> Result:
        """Find direct flights with free seats on a date, the cheapest first.

        Args:
            origin: City of departure.
            destination: City of arrival.
            date: Day of departure.
            max_price: Leave out flights that cost more, in euros.
            depart_after: Leave out flights that leave earlier than this local time.
        """
        self._airport(origin)
        self._airport(destination)
        self.refuse_past(date)
        flights = map(_timed, self.rows("flights", origin=origin, destination=destination))
        found = [one for one in flights if one["departure_date"] == date and one["seats_left"] > 0]
        found = between(between(found, "price", most=max_price), "departure_time", least=depart_after)
        return {"route": f"{origin} to {destination}", "flights": ordered(found, "price", "flight_id")[:10]}

    @tool("read", gives=DETAILS)
    def get_flight_details(self, flight_id: FlightId) -> Result:
        """Show a flight's aircraft, times, punctuality and fee for a checked bag.

        Args:
            flight_id: The flight, from a search.
        """
        flight = self._arrival(flight_id)
        return {**flight, "checked_bag_fee": flight["bag_fee"]}

    @tool("create", gives=record("hold_id airline departure_at price expires_at"))
    def hold_flight(self, flight_id: FlightId, passenger: types.Person) -> Result:
        """Reserve a seat on a flight for a saved traveller at today's price, for one day, without paying.

        Args:
            flight_id: The flight, from a search.
            passenger: Full name of a saved traveller.
        """
        flight = self._flight(flight_id)
        if self.state.get("travellers", passenger) is None:
            raise ToolError("unknown_traveller", f"{passenger} is not among the saved travellers.")
        hold_id = self.new_id("hold", flight_id, passenger)
        ticket = self.state.get("tickets", self.new_id("tkt", flight_id, passenger))
        if self.state.get("holds", hold_id) is not None or (ticket and ticket["status"] == "confirmed"):
            raise ToolError("already_booked", f"{passenger} already has a place on this flight.")
        if flight["seats_left"] < 1:
            raise ToolError("sold_out", "The flight is sold out.")
        self.state.patch("flights", flight_id, seats_left=flight["seats_left"] - 1)
        hold = {
            "hold_id": hold_id, "flight_id": flight_id, "passenger": passenger, "price": flight["price"],
            "expires_at": later(self.now, 24 * 60), "seat": "", "seat_fee": 0.0, "bags": {},
        }  # fmt: skip
        return {**flight, **self.state.put("holds", hold_id, hold)}

    @tool("update", gives=record("passenger seat fee"))
    def choose_seat(self, hold_id: HoldId, position: Position) -> Result:
        """Give a held flight the foremost free seat of a kind; the choice is made once.

        Args:
            hold_id: The hold.
            position: Where in the row to sit.
        """
        hold = self.require("holds", hold_id, "open hold")
        if hold["seat"]:
            raise ToolError("already_chosen", f"Seat {hold['seat']} was chosen before.")
        wanted, free = self.seeds()["seats"][position], self._flight(hold["flight_id"])["free_seats"]
        seat = next((seat for seat in free if seat[-1] in wanted["letters"]), None)
        if seat is None:
            raise ToolError("no_such_seat", f"No {position} seat is left on this flight.")
        self.state.patch("flights", hold["flight_id"], free_seats=[one for one in free if one != seat])
        return {**self.state.patch("holds", hold_id, seat=seat, seat_fee=wanted["fee"]), "fee": wanted["fee"]}

    @tool("update", gives=record("passenger fee weight_limit_kg"))
    def add_bag(self, hold_id: HoldId, kind: Bag) -> Result:
        """Add one piece of luggage to a held flight; at most four pieces each.

        Args:
            hold_id: The hold.
            kind: What kind of luggage.
        """
        hold = self.require("holds", hold_id, "open hold")
        if sum(hold["bags"].values()) >= _MAX_BAGS:
            raise ToolError("limit_exceeded", f"At most {_MAX_BAGS} pieces of luggage per passenger.")
        self.state.patch("holds", hold_id, bags={**hold["bags"], kind: hold["bags"].get(kind, 0) + 1})
        fee, kilos = self._bag_fee(hold, kind), self.seeds()["bags"][kind]["kilos"]
        return {**hold, "fee": fee, "weight_limit_kg": kilos}

    @tool("create", gives=record("ticket_id passenger booking_code amount_paid"))
    def pay_hold(self, hold_id: HoldId, method: Payment) -> Result:
        """Pay for a held flight with its seat and bags; the hold becomes a ticket and can no longer be changed.

        Args:
            hold_id: The hold.
            method: The saved card or air miles.
        """
        hold = self.require("holds", hold_id, "open hold")
        bags = sum(count * self._bag_fee(hold, kind) for kind, count in hold["bags"].items())
        amount = round(hold["price"] + hold["seat_fee"] + bags, 2)
        if method == "miles":
            needed = round(amount * _MILES_PER_EURO)
            miles = self.require("account", "miles", "miles account")["balance"]
            if miles < needed:
                raise ToolError("insufficient_miles", f"{needed} miles are needed, {miles} are there.")
            self.state.patch("account", "miles", balance=miles - needed)
        pieces = sum(hold["bags"].values())
        ticket = make_ticket(hold["flight_id"], hold["passenger"], hold["seat"], pieces, amount, self.today)
        self.state.delete("holds", hold_id)
        return {**self.state.put("tickets", ticket["ticket_id"], ticket), "amount_paid": amount}

    @tool("read", gives=record("tickets", tickets=[TICKET]))
    def list_tickets(self, passenger: types.Person) -> Result:
        """List a traveller's confirmed tickets for flights yet to leave, the next departure first.

        Args:
            passenger: Full name of the traveller.
        """
        tickets = self.rows("tickets", passenger=passenger, status="confirmed")
        rows = [{**_timed(self._flight(ticket["flight_id"])), **ticket} for ticket in tickets]
        coming = [row for row in rows if row["departure_at"] > self.now]
        return {"tickets": ordered(coming, "departure_at", "ticket_id")[:10]}

    @tool("read", gives=ITINERARY)
    def get_itinerary(self, ticket_id: TicketId) -> Result:
        """Show a ticket's flight with times, arrival airport, seat and bags, and the transfers that meet it.

        Args:
            ticket_id: The ticket.
        """
        ticket = self.require("tickets", ticket_id, "ticket")
        flight = self._arrival(ticket["flight_id"])
        rides, landed = self.rows("transfers", pickup=flight["arrival_airport"]), flight["arrival_at"]
        rides = ordered(between(rides, "pickup_at", landed, later(landed, _PICKUP_MINUTES)), "pickup_at")
        return {**flight, **ticket, "seat": ticket["seat"] or "not assigned yet", "transfers": rides}

    @tool("update", gives=record("passenger refund refund_rate"))
    def cancel_ticket(self, ticket_id: TicketId) -> Result:
        """Cancel a ticket from the day after its issue: 90 % back up to a week before departure, then half.

        Args:
            ticket_id: The ticket.
        """
        ticket = self.require("tickets", ticket_id, "ticket")
        if ticket["status"] == "cancelled":
            raise ToolError("already_cancelled", "The ticket was cancelled before.")
        if ticket["issued_on"] == self.today:
            raise ToolError("issued_today", "A ticket can be cancelled from the day after it was issued.")
        flight = self._flight(ticket["flight_id"])
        if flight["departure_at"] <= self.now:
            raise ToolError("departed", "The flight has left.")
        rate = 90 if flight["departure_at"] >= later(self.now, 7 * 24 * 60) else 50
        free = by_row([*flight["free_seats"], ticket["seat"]])
        self.state.patch("flights", flight["flight_id"], seats_left=flight["seats_left"] + 1, free_seats=free)
        self.state.patch("tickets", ticket_id, status="cancelled")
        return {**ticket, "refund": round(ticket["paid"] * rate / 100, 2), "refund_rate": rate}

    @tool("read", gives=record("hotels", hotels=[HOTEL]))
    def search_hotels(
        self,
        city: types.City,
        check_in: types.Date,
        nights: Nights,
        max_rate: types.Money | None = None,
        min_stars: Stars | None = None,
    ) -> Result:
        """Find hotels with a room on sale and free for a whole stay, the cheapest first.

        Args:
            city: Where to stay.
            check_in: Day of arrival.
            nights: How many nights.
            max_rate: Leave out hotels that cost more per night, in euros.
            min_stars: Leave out hotels with fewer stars.
        """
        self._airport(city)
        self.refuse_past(check_in)
        check_out = day_after(check_in, nights)
        taken = self._taken(check_in, check_out)
        found = [
            {**hotel, "offer_id": join_offer(hotel["hotel_id"], check_in, nights), "hotel": hotel["name"]}
            for hotel in self.rows("hotels", city=city)
            if hotel["open_from"] <= check_in
            and check_out <= hotel["open_until"]
            and hotel["rooms"] > taken[hotel["hotel_id"]]
        ]
        found = between(between(found, "nightly_rate", most=max_rate), "stars", least=min_stars)
        return {"hotels": ordered(found, "nightly_rate", "hotel_id")[:10]}

    @tool("create", gives=record("booking_code hotel address check_in check_out total_price"))
    def book_hotel(self, offer_id: OfferId, guest: types.Person, board: Board | None = None) -> Result:
        """Book the room of a hotel offer; without a board, meals are not included.

        Args:
            offer_id: The offer, from a search: it fixes hotel, dates and nights.
            guest: Full name of the guest.
            board: Which meals to add.
        """
        hotel_id, _, nights = split_offer(offer_id, day_of.fromisoformat)
        hotel = self.require("hotels", hotel_id, "hotel")
        rate = hotel["nightly_rate"] + (self.seeds()["boards"][board] if board else 0.0)
        stay = make_stay(offer_id, guest, board or "room_only", round(rate * nights, 2))
        if self.state.get("stays", stay["stay_id"]) is not None:
            raise ToolError("already_booked", f"{guest} has this stay already.")
        if hotel["rooms"] <= self._taken(stay["check_in"], stay["check_out"])[hotel_id]:
            raise ToolError("fully_booked", f"{hotel['name']} has no room left.")
        return {**hotel, **self.state.put("stays", stay["stay_id"], stay), "hotel": hotel["name"]}

    @tool("create", gives=record("booking_code driver fare"))
    def book_airport_transfer(
        self, pickup: types.Airport, dropoff: types.Address, pickup_at: types.Landing, vehicle: Vehicle
    ) -> Result:
        """Order a driver who meets a flight at an airport, to an address in the same city.

        Args:
            pickup: Name of the airport.
            dropoff: Where to go, with the city at the end.
            pickup_at: When to be picked up, local time: up to three hours after a landing.
            vehicle: How large a vehicle.
        """
        airport = self.named("airports", "airport", airport=pickup)
        if not dropoff.endswith(f", {airport['city']}"):
            raise ToolError("out_of_area", f"{dropoff} is not in {airport['city']}.")
        self.refuse_past(pickup_at)
        flights = self.rows("flights", destination=airport["city"])
        if not between(flights, "arrival_at", later(pickup_at, -_PICKUP_MINUTES), pickup_at):
            when = f"in the three hours before {pickup_at}"
            raise ToolError("no_landing", f"No flight lands at {pickup} {when}.")
        key = self.new_id("ride", pickup, dropoff, pickup_at)
        if self.state.get("transfers", key) is not None:
            raise ToolError("already_booked", "This transfer is ordered already.")
        drivers, fare = airport["drivers"], airport["fare"] * self.seeds()["vehicles"][vehicle]
        ride = {
            "transfer_id": key, "pickup": pickup, "dropoff": dropoff, "pickup_at": pickup_at,
            "vehicle": vehicle, "booking_code": booking_code(key),
            "driver": drivers[int(key[-2:], 16) % len(drivers)],
            "fare": round(fare * (1.0 if "06:00" <= pickup_at[11:] < "22:00" else 1.25), 2),
        }  # fmt: skip
        return self.state.put("transfers", key, ride)


def _timed(flight: Record) -> Record:
    """Return a flight with the days and the times of day of its departure and arrival."""
    leaves, lands = flight["departure_at"], flight["arrival_at"]
    times = {"departure_date": leaves[:10], "departure_time": leaves[11:]}
    return {**flight, **times, "arrival_date": lands[:10], "arrival_time": lands[11:]}
