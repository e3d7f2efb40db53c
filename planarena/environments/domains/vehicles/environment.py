"""A small fleet: charging and refuelling, the trip log, workshops and parking."""

from __future__ import annotations

from random import Random
from typing import Annotated, Literal

from planarena.environments.contract import Environment, Seed, ToolError, tool
from planarena.environments.domains import types
from planarena.environments.domains.shared import Shared, day_after, first_working_day
from planarena.environments.shapes import Fields, Result, ordered
from planarena.environments.state import Record
from planarena.tools.semantics import Semantic

from .world import PROPOSALS, make_fleet

__all__ = ["Vehicles"]

# Euros a kilometre that a driver gets back.
ALLOWANCES = {"business": 0.3, "commute": 0.15, "private": 0.0}

VehicleId = Annotated[str, Semantic("vehicle_id", hidden=True)]
StationId = Annotated[str, Semantic("filling_station_id", hidden=True)]
TripId = Annotated[str, Semantic("vehicle_trip_id", hidden=True)]
ServiceOfferId = Annotated[str, Semantic("service_offer_id", hidden=True)]
BookingId = Annotated[str, Semantic("service_booking_id", hidden=True)]
SpaceId = Annotated[str, Semantic("parking_space_id", hidden=True)]
VehicleName = Annotated[str, Semantic("vehicle_name", surface="name")]
Plate = Annotated[str, Semantic("licence_plate", surface="name")]
Station = Annotated[str, Semantic("filling_station", surface="name")]
Workshop = Annotated[str, Semantic("workshop", surface="name")]
Garage = Annotated[str, Semantic("parking_garage", surface="name")]
Code = Annotated[str, Semantic("parking_code", surface="name")]
District = Annotated[str, Semantic("district", surface="name")]
Kilometres = Annotated[int, Semantic("kilometres", surface="number", minimum=1, maximum=2000)]
Range = Annotated[int, Semantic("range_km", surface="number", minimum=0)]
Odometer = Annotated[int, Semantic("odometer", surface="number", minimum=0)]
Days = Annotated[int, Semantic("parking_days", surface="number", minimum=1, maximum=30)]
Power = Annotated[Literal["electric", "petrol", "diesel"], Semantic("vehicle_power", surface="word")]
Check = Annotated[Literal["service", "inspection", "tyres"], Semantic("vehicle_check", surface="word")]
TripFor = Literal["business", "private", "commute"]
Purpose = Annotated[TripFor, Semantic("trip_purpose", surface="word")]
LoggedPurpose = Annotated[Literal[TripFor, "unclassified"], Semantic("logged_purpose", surface="word")]
Work = Annotated[
    Literal["oil_change", "inspection", "tyre_change", "brakes", "air_conditioning"],
    Semantic("workshop_work", surface="word"),
]

record = Fields(
    vehicle_id=VehicleId, station_id=StationId, trip_id=TripId, offer_id=ServiceOfferId,
    booking_id=BookingId, space_id=SpaceId, name=VehicleName, plate=Plate, power=Power,
    level=types.Percent, range_km=Range, distance_km=Range, walk_metres=Range, odometer=Odometer,
    km=Kilometres, parked_at=District, address=types.Address, driver=types.Person, destination=types.City,
    station=Station, workshop=Workshop, work=Work, garage=Garage, code=Code, unit_price=types.Money,
    day_price=types.Money, price=types.Money, cost=types.Payable, total=types.Payable, date=types.Date,
    until=types.Date, due=types.Date, first_free=types.Date, purpose=LoggedPurpose, count=types.Count,
)  # fmt: skip
STATION = record("station_id name address unit_price distance_km", name=Station)
TRIP = record("trip_id driver destination km date purpose")
CLASSIFIED = record("destination driver purpose allowance", purpose=Purpose, allowance=types.Credit)
OFFER = record("offer_id workshop price first_free")
SPACE = record("space_id garage address day_price walk_metres")


class Vehicles(Environment):
    """The vehicles of a small company, and what somebody does who looks after them."""

    domain = "vehicles"
    summary = "A small fleet: charging and refuelling, a trip log, service at workshops, and parking."
    proposals = PROPOSALS

    @classmethod
    def seed(cls, rng: Random, shared: Shared | None = None) -> Seed:
        """Make a fleet."""
        return make_fleet(cls.seeds(), rng, shared)

    @tool(
        "read",
        gives=record(
            "vehicle_id name plate power level range_km odometer parked_at workshop_visits parking",
            workshop_visits=[record("workshop date")],
            parking=[record("garage date until")],
        ),
    )
    def find_vehicle(self, name: VehicleName) -> Result:
        """Look up a vehicle: plate, battery or tank, range, odometer, where it stands, and what is booked for it.

        Args:
            name: Make and model of the vehicle.
        """
        for vehicle in self.rows("vehicles", name=name):
            visits = ordered(self.rows("bookings", vehicle_id=vehicle["vehicle_id"]), "date")
            visits = [{**self.require("offers", row["offer_id"], "offer"), **row} for row in visits]
            parking = ordered(self.rows("reservations", vehicle_id=vehicle["vehicle_id"]), "date")
            parking = [{**self.require("spaces", row["space_id"], "parking space"), **row} for row in parking]
            return {**_with_range(vehicle), "workshop_visits": visits, "parking": parking}
        raise ToolError("vehicle_not_found", f"There is no {name} in the fleet.")

    @tool("read", gives=record("count vehicles", vehicles=[record("vehicle_id name due")]))
    def list_vehicles_due(self, check: Check) -> Result:
        """List the vehicles by the date on which they need a service, an inspection or tyres, the earliest first.

        Args:
            check: What is due.
        """
        lines = [{**row, "due": row["due"][check]} for row in self.state.scan("vehicles")]
        return {"count": len(lines), "vehicles": ordered(lines, "due", "vehicle_id")}

    @tool("read", gives=record("count stations nearest", stations=[STATION], nearest=STATION))
    def find_filling_stations(self, vehicle_id: VehicleId) -> Result:
        """List the stations at which a vehicle can charge or refuel, the cheapest first.

        Args:
            vehicle_id: The vehicle; what it runs on counts.
        """
        vehicle = self.require("vehicles", vehicle_id, "vehicle")
        lines = ordered(self.rows("stations", power=vehicle["power"]), "unit_price", "station_id")
        nearest = min(lines, key=lambda line: (line["distance_km"], line["station_id"]))
        return {"count": len(lines), "stations": lines, "nearest": nearest}

    @tool("update", gives=record("name station level range_km cost"))
    def fill_vehicle(self, vehicle_id: VehicleId, station_id: StationId, level: types.Percent) -> Result:
        """Charge or refuel a vehicle at a station.

        Args:
            vehicle_id: The vehicle.
            station_id: The station; it must offer what the vehicle runs on.
            level: How full the battery or tank is to be, in percent.
        """
        vehicle = self.require("vehicles", vehicle_id, "vehicle")
        station = self.require("stations", station_id, "station")
        if station["power"] != vehicle["power"]:
            raise ToolError("wrong_power", f"{station['name']} has nothing for {vehicle['power']} vehicles.")
        if level <= vehicle["level"]:
            raise ToolError("already_full_enough", f"The {vehicle['name']} is at {vehicle['level']} percent.")
        units = (level - vehicle["level"]) * vehicle["units_per_percent"]
        filled = _with_range(self.state.patch("vehicles", vehicle_id, level=level))
        return {**filled, "station": station["name"], "cost": round(units * station["unit_price"], 2)}

    @tool("create", gives=record("trip_id name driver destination odometer range_km"))
    def log_vehicle_trip(
        self, vehicle_id: VehicleId, driver: types.Person, destination: types.City, km: Kilometres
    ) -> Result:
        """Enter today's trip of a vehicle in its log; battery or tank must have sufficed for it.

        Args:
            vehicle_id: The vehicle.
            driver: Full name of the driver.
            destination: Where the trip went.
            km: Length there and back, in kilometres.
        """
        vehicle = _with_range(self.require("vehicles", vehicle_id, "vehicle"))
        reach = vehicle["range_km"]
        if km > reach:
            raise ToolError("not_enough_range", f"The {vehicle['name']} has a range of only {reach} km.")
        trip_id = self.new_id("trp", vehicle_id, driver, destination, self.today)
        if self.state.get("trips", trip_id):
            raise ToolError("already_logged", f"The trip to {destination} is in the log already.")
        used = -(-km // vehicle["km_per_percent"])
        level, odometer = vehicle["level"] - used, vehicle["odometer"] + km
        driven = self.state.patch("vehicles", vehicle_id, level=level, odometer=odometer)
        trip = {
            "trip_id": trip_id, "vehicle_id": vehicle_id, "driver": driver, "destination": destination,
            "km": km, "date": self.today, "purpose": "unclassified",
        }  # fmt: skip
        return {**_with_range(driven), **self.state.put("trips", trip_id, trip)}

    @tool("read", gives=record("name total_km trips", total_km=Range, trips=[TRIP]))
    def list_vehicle_trips(self, vehicle_id: VehicleId) -> Result:
        """List the trips of a vehicle, the most recent first.

        Args:
            vehicle_id: The vehicle.
        """
        vehicle = self.require("vehicles", vehicle_id, "vehicle")
        found = ordered(self.rows("trips", vehicle_id=vehicle_id), "date", "trip_id", last_first=True)
        return {**vehicle, "total_km": sum(row["km"] for row in found), "trips": found[:10]}

    @tool("update", gives=CLASSIFIED)
    def classify_vehicle_trip(self, trip_id: TripId, purpose: Purpose) -> Result:
        """Say what a trip was for; the driver gets an allowance for business trips and commuting.

        Args:
            trip_id: The trip.
            purpose: What it was for.
        """
        trip = self.require("trips", trip_id, "trip")
        if trip["purpose"] == purpose:
            raise ToolError("already_classified", f"The trip to {trip['destination']} is {purpose} already.")
        allowance = round(trip["km"] * ALLOWANCES[purpose], 2)
        return {**self.state.patch("trips", trip_id, purpose=purpose), "allowance": allowance}

    @tool("read", gives=record("count offers soonest", offers=[OFFER], soonest=OFFER))
    def find_service_offers(self, work: Work) -> Result:
        """List the workshops that do some work, the cheapest first.

        Args:
            work: The work.
        """
        lines = ordered(self.rows("offers", work=work), "price", "offer_id")
        soonest = min(lines, key=lambda line: (line["first_free"], line["offer_id"]))
        return {"count": len(lines), "offers": lines, "soonest": soonest}

    @tool("create", gives=record("booking_id name workshop work date price", price=types.Payable))
    def book_vehicle_service(
        self, vehicle_id: VehicleId, offer_id: ServiceOfferId, date: types.Date | None = None
    ) -> Result:
        """Book a workshop for a vehicle; the same work is booked once.

        Args:
            vehicle_id: The vehicle.
            offer_id: The workshop's offer; it says what is done.
            date: The day, a working day; without it, the first on which the workshop has time.
        """
        vehicle = self.require("vehicles", vehicle_id, "vehicle")
        offer = self.require("offers", offer_id, "offer")
        day = date or offer["first_free"]
        self._refuse_day(day, offer)
        booking_id = self.new_id("svc", vehicle_id, offer["work"])
        if self.state.get("bookings", booking_id):
            raise ToolError("already_booked", f"This work on the {vehicle['name']} is booked already.")
        booking = {"vehicle_id": vehicle_id, "offer_id": offer_id, "date": day}
        self.state.put("bookings", booking_id, booking)
        return {**vehicle, **offer, **booking, "booking_id": booking_id}

    @tool("update", gives=record("booking_id name workshop before date", before=types.Date))
    def move_service_booking(self, booking_id: BookingId, date: types.Date) -> Result:
        """Move a booking at a workshop to another working day.

        Args:
            booking_id: The booking.
            date: The new day.
        """
        booking = self.require("bookings", booking_id, "booking")
        if booking["date"] == date:
            raise ToolError("already_on_that_day", f"The booking is for {date} already.")
        offer = self.require("offers", booking["offer_id"], "offer")
        self._refuse_day(date, offer)
        self.state.patch("bookings", booking_id, date=date)
        vehicle = self.require("vehicles", booking["vehicle_id"], "vehicle")
        return {**vehicle, **offer, "booking_id": booking_id, "before": booking["date"], "date": date}

    @tool("read", gives=record("count spaces most_central", spaces=[SPACE], most_central=SPACE))
    def find_parking_spaces(self, district: District) -> Result:
        """List the parking spaces of a district, the cheapest first.

        Args:
            district: The part of the city.
        """
        lines = ordered(self.rows("spaces", district=district), "day_price", "space_id")
        if not lines:
            raise ToolError("nothing_found", f"There is no parking space in {district}.")
        central = min(lines, key=lambda line: (line["walk_metres"], line["space_id"]))
        return {"count": len(lines), "spaces": lines, "most_central": central}

    @tool("create", gives=record("code name garage date until total"))
    def reserve_parking(
        self, vehicle_id: VehicleId, space_id: SpaceId, date: types.Date, days: Days | None = None
    ) -> Result:
        """Reserve a parking space for a vehicle.

        Args:
            vehicle_id: The vehicle.
            space_id: The space.
            date: First day.
            days: Number of days; one without it.
        """
        vehicle = self.require("vehicles", vehicle_id, "vehicle")
        space = self.require("spaces", space_id, "parking space")
        if date < self.today:
            raise ToolError("in_the_past", f"{date} has passed.")
        until = day_after(date, (days or 1) - 1)
        for row in self.state.scan("reservations"):
            if row["date"] <= until and date <= row["until"]:
                if row["space_id"] == space_id:
                    raise ToolError("space_taken", f"The space at {space['garage']} is taken then.")
                if row["vehicle_id"] == vehicle_id:
                    raise ToolError("already_parked", f"The {vehicle['name']} has another space then.")
        key = self.new_id("prk", vehicle_id, space_id, date)
        reservation = {"vehicle_id": vehicle_id, "space_id": space_id, "date": date, "until": until}
        reservation["code"] = f"P{int(key[4:], 16) % 100_000:05d}"
        total = round(space["day_price"] * (days or 1), 2)
        return {**vehicle, **space, **self.state.put("reservations", key, reservation), "total": total}

    def _refuse_day(self, day: str, offer: Record) -> None:
        if day != first_working_day(day):
            raise ToolError("closed", f"{offer['workshop']} does not work on weekends.")
        if day < offer["first_free"]:
            raise ToolError("workshop_full", f"{offer['workshop']} has no time before {offer['first_free']}.")


def _with_range(vehicle: Record) -> Record:
    return {**vehicle, "range_km": vehicle["level"] * vehicle["km_per_percent"]}
