"""Travel: flights, seats and bags, tickets, hotels and airport transfers."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta

from planarena.environments.contract import ToolError, tool
from planarena.environments.domains.types import Address, Airport, City, Date, Landing, Money, Person, Time
from planarena.environments.state import Record

from .types import (
    AddedBag,
    Bag,
    Board,
    FlightDetails,
    FlightId,
    Flights,
    Hold,
    HoldId,
    Itinerary,
    Nights,
    OfferId,
    Paid,
    Payment,
    Position,
    Refund,
    RoomOffers,
    SeatChoice,
    Stars,
    Stay,
    TicketId,
    Tickets,
    Transfer,
    Vehicle,
    after,
    booking_code,
    by_row,
    join_offer,
    split_offer,
    stay_record,
    ticket_record,
    to_minutes,
)
from .world import TravelScenario

__all__ = ["Travel"]

_LETTERS = {"window": "AF", "aisle": "CD", "middle": "BE"}
_SEAT_FEES = {"window": 14.0, "aisle": 11.0, "middle": 6.0}
_BAG_FACTORS = {"cabin": 0.5, "checked": 1.0, "sports": 1.75}
_BAG_KILOS = {"cabin": 10, "checked": 23, "sports": 32}
_MAX_BAGS = 4
_MILES_PER_EURO = 40
_BOARD_FEES = {"breakfast": 14.0, "half_board": 36.0}
_VEHICLE_FARES = {"car": 1.0, "van": 1.5, "minibus": 2.2}


class Travel(TravelScenario):
    """Flights are held, then paid; hotels are booked from offers; transfers run from an airport to an address."""

    domain = "travel"
    summary = "Book flights with seats and bags, hotels and airport transfers, and manage tickets."

    def _airport(self, city: str) -> Record:
        return self.require("airports", city, "airport in a city")

    def _bag_fee(self, hold: Record, kind: str) -> float:
        flight = self.require("flights", hold["flight_id"], "flight")
        fee: float = flight["bag_fee"]
        return round(fee * _BAG_FACTORS[kind], 2)

    def _taken(self, check_in: str, nights: int) -> Counter[str]:
        """Count the rooms per hotel that are booked for at least one of the nights."""
        check_out = after(check_in, nights)
        return Counter(
            stay["hotel_id"]
            for stay in self.state.scan("stays")
            if stay["check_in"] < check_out and stay["check_out"] > check_in
        )

    @tool("read")
    def search_flights(
        self,
        origin: City,
        destination: City,
        date: Date,
        max_price: Money | None = None,
        depart_after: Time | None = None,
    ) -> Flights:
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
        if date < self.now[:10]:
            raise ToolError("in_the_past", f"{date} has passed.")
        found = [
            flight
            for flight in self.state.scan("flights")
            if flight["origin"] == origin
            and flight["destination"] == destination
            and flight["departure_at"][:10] == date
            and flight["seats_left"] > 0
            and (max_price is None or flight["price"] <= max_price)
            and (depart_after is None or flight["departure_at"][11:] >= depart_after)
        ]
        found.sort(key=lambda flight: (flight["price"], flight["flight_id"]))
        return {
            "route": f"{origin} to {destination}",
            "flights": [
                {
                    "flight_id": flight["flight_id"],
                    "airline": flight["airline"],
                    "departure_time": flight["departure_at"][11:],
                    "arrival_time": flight["arrival_at"][11:],
                    "price": flight["price"],
                }
                for flight in found[:10]
            ],
        }

    @tool("read")
    def get_flight_details(self, flight_id: FlightId) -> FlightDetails:
        """Show a flight's aircraft, times, punctuality and fee for a checked bag.

        Args:
            flight_id: The flight, from a search.
        """
        flight = self.require("flights", flight_id, "flight")
        return {
            "airline": flight["airline"],
            "aircraft": flight["aircraft"],
            "departure_at": flight["departure_at"],
            "arrival_at": flight["arrival_at"],
            "arrival_date": flight["arrival_at"][:10],
            "arrival_airport": self._airport(flight["destination"])["airport"],
            "duration": flight["duration"],
            "checked_bag_fee": flight["bag_fee"],
            "on_time_rate": flight["on_time_rate"],
        }

    @tool("create")
    def hold_flight(self, flight_id: FlightId, passenger: Person) -> Hold:
        """Reserve a seat on a flight for a saved traveller at today's price, for one day, without paying.

        Args:
            flight_id: The flight, from a search.
            passenger: Full name of a saved traveller.
        """
        flight = self.require("flights", flight_id, "flight")
        if self.state.get("travellers", passenger) is None:
            raise ToolError("unknown_traveller", f"{passenger} is not among the saved travellers.")
        hold_id = self.new_id("hold", flight_id, passenger)
        ticket = self.state.get("tickets", self.new_id("tkt", flight_id, passenger))
        if self.state.get("holds", hold_id) is not None or (ticket and ticket["status"] == "confirmed"):
            raise ToolError("already_booked", f"{passenger} already has a place on this flight.")
        if flight["seats_left"] < 1:
            raise ToolError("sold_out", "The flight is sold out.")
        self.state.patch("flights", flight_id, seats_left=flight["seats_left"] - 1)
        expires_at = to_minutes(datetime.fromisoformat(self.now) + timedelta(days=1))
        hold = {
            "hold_id": hold_id,
            "flight_id": flight_id,
            "passenger": passenger,
            "price": flight["price"],
            "expires_at": expires_at,
            "seat": "",
            "seat_fee": 0.0,
            "bags": {},
        }
        self.state.put("holds", hold_id, hold)
        return {"hold_id": hold_id, "price": flight["price"], "expires_at": expires_at}

    @tool("update")
    def choose_seat(self, hold_id: HoldId, position: Position) -> SeatChoice:
        """Give a held flight the foremost free seat of a kind; the choice is made once.

        Args:
            hold_id: The hold.
            position: Where in the row to sit.
        """
        hold = self.require("holds", hold_id, "open hold")
        if hold["seat"]:
            raise ToolError("already_chosen", f"Seat {hold['seat']} was chosen before.")
        flight = self.require("flights", hold["flight_id"], "flight")
        seat = next((seat for seat in flight["free_seats"] if seat[-1] in _LETTERS[position]), None)
        if seat is None:
            raise ToolError("no_such_seat", f"No {position} seat is left on this flight.")
        free = [other for other in flight["free_seats"] if other != seat]
        self.state.patch("flights", flight["flight_id"], free_seats=free)
        fee = _SEAT_FEES[position]
        self.state.patch("holds", hold_id, seat=seat, seat_fee=fee)
        return {"passenger": hold["passenger"], "seat": seat, "fee": fee}

    @tool("update")
    def add_bag(self, hold_id: HoldId, kind: Bag) -> AddedBag:
        """Add one piece of luggage to a held flight; at most four pieces each.

        Args:
            hold_id: The hold.
            kind: What kind of luggage.
        """
        hold = self.require("holds", hold_id, "open hold")
        if sum(hold["bags"].values()) >= _MAX_BAGS:
            raise ToolError("limit_exceeded", f"At most {_MAX_BAGS} pieces of luggage per passenger.")
        self.state.patch("holds", hold_id, bags={**hold["bags"], kind: hold["bags"].get(kind, 0) + 1})
        return {
            "passenger": hold["passenger"],
            "fee": self._bag_fee(hold, kind),
            "weight_limit_kg": _BAG_KILOS[kind],
        }

    @tool("create")
    def pay_hold(self, hold_id: HoldId, method: Payment) -> Paid:
        """Pay for a held flight with its seat and bags; the hold becomes a ticket and can no longer be changed.

        Args:
            hold_id: The hold.
            method: The saved card or air miles.
        """
        hold = self.require("holds", hold_id, "open hold")
        bags = sum(count * self._bag_fee(hold, kind) for kind, count in hold["bags"].items())
        amount = round(hold["price"] + hold["seat_fee"] + bags, 2)
        if method == "miles":
            needed, miles = (
                round(amount * _MILES_PER_EURO),
                self.require("account", "miles", "miles account")["balance"],
            )
            if miles < needed:
                raise ToolError("insufficient_miles", f"{needed} miles are needed, {miles} are there.")
            self.state.patch("account", "miles", balance=miles - needed)
        bags_in_all = sum(hold["bags"].values())
        ticket = ticket_record(
            hold["flight_id"], hold["passenger"], hold["seat"], bags_in_all, amount, self.now[:10]
        )
        self.state.delete("holds", hold_id)
        self.state.put("tickets", ticket["ticket_id"], ticket)
        return {
            "ticket_id": ticket["ticket_id"],
            "passenger": hold["passenger"],
            "booking_code": ticket["booking_code"],
            "amount_paid": amount,
        }

    @tool("read")
    def list_tickets(self, passenger: Person) -> Tickets:
        """List a traveller's confirmed tickets for flights yet to leave, the next departure first.

        Args:
            passenger: Full name of the traveller.
        """
        rows: list[tuple[str, str, Record, Record]] = []
        for ticket in self.state.scan("tickets"):
            if ticket["passenger"] == passenger and ticket["status"] == "confirmed":
                flight = self.require("flights", ticket["flight_id"], "flight")
                if flight["departure_at"] > self.now:
                    rows.append((flight["departure_at"], ticket["ticket_id"], ticket, flight))
        rows.sort(key=lambda row: row[:2])
        return {
            "tickets": [
                {
                    "ticket_id": ticket_id,
                    "booking_code": ticket["booking_code"],
                    "origin": flight["origin"],
                    "destination": flight["destination"],
                    "departure_date": departure_at[:10],
                }
                for departure_at, ticket_id, ticket, flight in rows[:10]
            ]
        }

    @tool("read")
    def get_itinerary(self, ticket_id: TicketId) -> Itinerary:
        """Show a ticket's flight with times, arrival airport, seat and bags.

        Args:
            ticket_id: The ticket.
        """
        ticket = self.require("tickets", ticket_id, "ticket")
        flight = self.require("flights", ticket["flight_id"], "flight")
        return {
            "passenger": ticket["passenger"],
            "status": ticket["status"],
            "airline": flight["airline"],
            "destination": flight["destination"],
            "departure_at": flight["departure_at"],
            "arrival_at": flight["arrival_at"],
            "arrival_date": flight["arrival_at"][:10],
            "arrival_airport": self._airport(flight["destination"])["airport"],
            "seat": ticket["seat"] or "not assigned yet",
            "bags": ticket["bags"],
        }

    @tool("update")
    def cancel_ticket(self, ticket_id: TicketId) -> Refund:
        """Cancel a ticket from the day after its issue: 90 % back up to a week before departure, then half.

        Args:
            ticket_id: The ticket.
        """
        ticket = self.require("tickets", ticket_id, "ticket")
        if ticket["status"] == "cancelled":
            raise ToolError("already_cancelled", "The ticket was cancelled before.")
        if ticket["issued_on"] == self.now[:10]:
            raise ToolError("issued_today", "A ticket can be cancelled from the day after it was issued.")
        flight = self.require("flights", ticket["flight_id"], "flight")
        if flight["departure_at"] <= self.now:
            raise ToolError("departed", "The flight has left.")
        ahead = datetime.fromisoformat(flight["departure_at"]) - datetime.fromisoformat(self.now)
        rate = 90 if ahead >= timedelta(days=7) else 50
        self.state.patch(
            "flights",
            flight["flight_id"],
            seats_left=flight["seats_left"] + 1,
            free_seats=by_row([*flight["free_seats"], ticket["seat"]]),
        )
        self.state.patch("tickets", ticket_id, status="cancelled")
        return {
            "passenger": ticket["passenger"],
            "refund": round(ticket["paid"] * rate / 100, 2),
            "refund_rate": rate,
        }

    @tool("read")
    def search_hotels(
        self,
        city: City,
        check_in: Date,
        nights: Nights,
        max_rate: Money | None = None,
        min_stars: Stars | None = None,
    ) -> RoomOffers:
        """Find hotels with a room on sale and free for a whole stay, the cheapest first.

        Args:
            city: Where to stay.
            check_in: Day of arrival.
            nights: How many nights.
            max_rate: Leave out hotels that cost more per night, in euros.
            min_stars: Leave out hotels with fewer stars.
        """
        self._airport(city)
        if check_in < self.now[:10]:
            raise ToolError("in_the_past", f"{check_in} has passed.")
        taken, check_out = self._taken(check_in, nights), after(check_in, nights)
        found = [
            hotel
            for hotel in self.state.scan("hotels")
            if hotel["city"] == city
            and hotel["open_from"] <= check_in
            and check_out <= hotel["open_until"]
            and hotel["rooms"] > taken.get(hotel["hotel_id"], 0)
            and (max_rate is None or hotel["nightly_rate"] <= max_rate)
            and (min_stars is None or hotel["stars"] >= min_stars)
        ]
        found.sort(key=lambda hotel: (hotel["nightly_rate"], hotel["hotel_id"]))
        return {
            "hotels": [
                {
                    "offer_id": join_offer(hotel["hotel_id"], check_in, nights),
                    "hotel": hotel["name"],
                    "area": hotel["area"],
                    "address": hotel["address"],
                    "stars": hotel["stars"],
                    "rating": hotel["rating"],
                    "nightly_rate": hotel["nightly_rate"],
                }
                for hotel in found[:10]
            ]
        }

    @tool("create")
    def book_hotel(self, offer_id: OfferId, guest: Person, board: Board | None = None) -> Stay:
        """Book the room of a hotel offer; without a board, meals are not included.

        Args:
            offer_id: The offer, from a search: it fixes hotel, dates and nights.
            guest: Full name of the guest.
            board: Which meals to add.
        """
        try:
            hotel_id, check_in, nights = split_offer(offer_id)
        except ValueError:
            raise ToolError("not_found", f"There is no room offer with id {offer_id}.") from None
        hotel = self.require("hotels", hotel_id, "hotel")
        key = self.new_id("stay", offer_id, guest)
        if self.state.get("stays", key) is not None:
            raise ToolError("already_booked", f"{guest} has this stay already.")
        if hotel["rooms"] <= self._taken(check_in, nights).get(hotel_id, 0):
            raise ToolError("fully_booked", f"{hotel['name']} has no room left.")
        rate = hotel["nightly_rate"] + (_BOARD_FEES[board] if board else 0.0)
        stay = stay_record(offer_id, guest, board or "room_only", round(rate * nights, 2))
        self.state.put("stays", key, stay)
        return {
            "booking_code": stay["booking_code"],
            "hotel": hotel["name"],
            "address": hotel["address"],
            "check_out": stay["check_out"],
            "total_price": stay["total_price"],
        }

    @tool("create")
    def book_airport_transfer(
        self, pickup: Airport, dropoff: Address, pickup_at: Landing, vehicle: Vehicle
    ) -> Transfer:
        """Order a driver who meets a flight at an airport, to an address in the same city.

        Args:
            pickup: Name of the airport.
            dropoff: Where to go, with the city at the end.
            pickup_at: When to be picked up, local time: up to three hours after a landing.
            vehicle: How large a vehicle.
        """
        airport = next((row for row in self.state.scan("airports") if row["airport"] == pickup), None)
        if airport is None:
            raise ToolError("not_found", f"There is no airport named {pickup}.")
        if not dropoff.endswith(f", {airport['city']}"):
            raise ToolError("out_of_area", f"{dropoff} is not in {airport['city']}.")
        if pickup_at <= self.now:
            raise ToolError("in_the_past", f"{pickup_at} has passed.")
        earliest = to_minutes(datetime.fromisoformat(pickup_at) - timedelta(hours=3))
        if not any(
            flight["destination"] == airport["city"] and earliest <= flight["arrival_at"] <= pickup_at
            for flight in self.state.scan("flights")
        ):
            raise ToolError(
                "no_landing", f"No flight lands at {pickup} in the three hours before {pickup_at}."
            )
        key = self.new_id("ride", pickup, dropoff, pickup_at)
        if self.state.get("transfers", key) is not None:
            raise ToolError("already_booked", "This transfer is ordered already.")
        night = not "06:00" <= pickup_at[11:] < "22:00"
        fare = round(airport["fare"] * _VEHICLE_FARES[vehicle] * (1.25 if night else 1.0), 2)
        drivers = airport["drivers"]
        driver = drivers[int(key[-2:], 16) % len(drivers)]
        ride = {
            "transfer_id": key,
            "pickup": pickup,
            "dropoff": dropoff,
            "pickup_at": pickup_at,
            "vehicle": vehicle,
            "driver": driver,
            "fare": fare,
        }
        self.state.put("transfers", key, ride)
        return {"booking_code": booking_code(key), "driver": driver, "fare": fare}
