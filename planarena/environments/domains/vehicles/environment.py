"""A small fleet: charging and refuelling, the trip log, workshops and parking."""

from __future__ import annotations

from datetime import date as calendar_date
from typing import cast

from planarena.environments.contract import ToolError, tool
from planarena.environments.domains.types import City, Date, Percent, Person
from planarena.environments.state import Record

from .types import (
    BookingId,
    Check,
    Classified,
    Days,
    District,
    DueLine,
    DueVehicles,
    Filled,
    Kilometres,
    LoggedTrip,
    MovedService,
    OfferLine,
    Offers,
    ParkingReservation,
    Purpose,
    ServiceBooking,
    ServiceOfferId,
    SpaceId,
    SpaceLine,
    Spaces,
    StationId,
    StationLine,
    Stations,
    TripId,
    TripLine,
    Trips,
    Vehicle,
    VehicleId,
    VehicleName,
    Work,
)
from .world import VehiclesScenario, day_after

__all__ = ["Vehicles"]

# Euros a kilometre that a driver gets back.
ALLOWANCES = {"business": 0.3, "commute": 0.15, "private": 0.0}


class Vehicles(VehiclesScenario):
    """The vehicles of a small company, and what somebody does who looks after them."""

    domain = "vehicles"
    summary = "A small fleet: charging and refuelling, a trip log, service at workshops, and parking."

    @tool("read")
    def find_vehicle(self, name: VehicleName) -> Vehicle:
        """Look up a vehicle: plate, battery or tank, range, odometer and the district where it stands.

        Args:
            name: Make and model of the vehicle.
        """
        for vehicle in self.state.scan("vehicles"):
            if vehicle["name"] == name:
                whole = {**vehicle, "range_km": _range(vehicle)}
                return cast(Vehicle, {key: whole[key] for key in Vehicle.__annotations__})
        raise ToolError("vehicle_not_found", f"There is no {name} in the fleet.")

    @tool("read")
    def list_vehicles_due(self, check: Check) -> DueVehicles:
        """List the vehicles by the date on which they need a service, an inspection or tyres, the earliest first.

        Args:
            check: What is due.
        """
        lines: list[DueLine] = [
            {"vehicle_id": row["vehicle_id"], "name": row["name"], "due": row["due"][check]}
            for row in self.state.scan("vehicles")
        ]
        lines.sort(key=lambda line: (line["due"], line["vehicle_id"]))
        return {"count": len(lines), "vehicles": lines}

    @tool("read")
    def find_filling_stations(self, vehicle_id: VehicleId) -> Stations:
        """List the stations at which a vehicle can charge or refuel, the cheapest first.

        Args:
            vehicle_id: The vehicle; what it runs on counts.
        """
        vehicle = self.require("vehicles", vehicle_id, "vehicle")
        keys = StationLine.__annotations__
        lines = [
            cast(StationLine, {key: row[key] for key in keys})
            for row in self.state.scan("stations")
            if row["power"] == vehicle["power"]
        ]
        lines.sort(key=lambda line: (line["unit_price"], line["station_id"]))
        nearest = min(lines, key=lambda line: (line["distance_km"], line["station_id"]))
        return {"count": len(lines), "stations": lines, "nearest": nearest}

    @tool("update")
    def fill_vehicle(self, vehicle_id: VehicleId, station_id: StationId, level: Percent) -> Filled:
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
        filled = self.state.patch("vehicles", vehicle_id, level=level)
        return {
            "name": vehicle["name"],
            "station": station["name"],
            "level": level,
            "range_km": _range(filled),
            "cost": round(units * station["unit_price"], 2),
        }

    @tool("create")
    def log_vehicle_trip(
        self, vehicle_id: VehicleId, driver: Person, destination: City, km: Kilometres
    ) -> LoggedTrip:
        """Enter today's trip of a vehicle in its log; battery or tank must have sufficed for it.

        Args:
            vehicle_id: The vehicle.
            driver: Full name of the driver.
            destination: Where the trip went.
            km: Length there and back, in kilometres.
        """
        vehicle = self.require("vehicles", vehicle_id, "vehicle")
        if km > _range(vehicle):
            raise ToolError("not_enough_range", f"The {vehicle['name']} gets {_range(vehicle)} km far.")
        trip_id = self.new_id("trp", vehicle_id, driver, destination, self.now[:10])
        if self.state.get("trips", trip_id):
            raise ToolError("already_logged", f"The trip to {destination} is in the log already.")
        used = -(-km // vehicle["km_per_percent"])
        odometer = vehicle["odometer"] + km
        left = self.state.patch("vehicles", vehicle_id, level=vehicle["level"] - used, odometer=odometer)
        trip = {
            "trip_id": trip_id,
            "vehicle_id": vehicle_id,
            "driver": driver,
            "destination": destination,
            "km": km,
            "date": self.now[:10],
            "purpose": "unclassified",
        }
        self.state.put("trips", trip_id, trip)
        return {
            "trip_id": trip_id,
            "name": vehicle["name"],
            "driver": driver,
            "destination": destination,
            "odometer": odometer,
            "range_km": _range(left),
        }

    @tool("read")
    def list_vehicle_trips(self, vehicle_id: VehicleId) -> Trips:
        """List the trips of a vehicle, the most recent first.

        Args:
            vehicle_id: The vehicle.
        """
        vehicle = self.require("vehicles", vehicle_id, "vehicle")
        found = [row for row in self.state.scan("trips") if row["vehicle_id"] == vehicle_id]
        found.sort(key=lambda row: (row["date"], row["trip_id"]), reverse=True)
        keys = TripLine.__annotations__
        return {
            "name": vehicle["name"],
            "total_km": sum(row["km"] for row in found),
            "trips": [cast(TripLine, {key: row[key] for key in keys}) for row in found[:10]],
        }

    @tool("update")
    def classify_vehicle_trip(self, trip_id: TripId, purpose: Purpose) -> Classified:
        """Say what a trip was for; the driver gets an allowance for business trips and commuting.

        Args:
            trip_id: The trip.
            purpose: What it was for.
        """
        trip = self.require("trips", trip_id, "trip")
        if trip["purpose"] == purpose:
            raise ToolError("already_classified", f"The trip to {trip['destination']} is {purpose} already.")
        self.state.patch("trips", trip_id, purpose=purpose)
        return {
            "destination": trip["destination"],
            "driver": trip["driver"],
            "purpose": purpose,
            "allowance": round(trip["km"] * ALLOWANCES[purpose], 2),
        }

    @tool("read")
    def find_service_offers(self, work: Work) -> Offers:
        """List the workshops that do some work, the cheapest first.

        Args:
            work: The work.
        """
        keys = OfferLine.__annotations__
        lines = [
            cast(OfferLine, {key: row[key] for key in keys})
            for row in self.state.scan("offers")
            if row["work"] == work
        ]
        lines.sort(key=lambda line: (line["price"], line["offer_id"]))
        soonest = min(lines, key=lambda line: (line["first_free"], line["offer_id"]))
        return {"count": len(lines), "offers": lines, "soonest": soonest}

    @tool("create")
    def book_vehicle_service(
        self, vehicle_id: VehicleId, offer_id: ServiceOfferId, date: Date | None = None
    ) -> ServiceBooking:
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
        return {
            "booking_id": booking_id,
            "name": vehicle["name"],
            "workshop": offer["workshop"],
            "work": offer["work"],
            "date": day,
            "price": offer["price"],
        }

    @tool("update")
    def move_service_booking(self, booking_id: BookingId, date: Date) -> MovedService:
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
        return {
            "booking_id": booking_id,
            "name": self.require("vehicles", booking["vehicle_id"], "vehicle")["name"],
            "workshop": offer["workshop"],
            "before": booking["date"],
            "date": date,
        }

    @tool("read")
    def find_parking_spaces(self, district: District) -> Spaces:
        """List the parking spaces of a district, the cheapest first.

        Args:
            district: The part of the city.
        """
        keys = SpaceLine.__annotations__
        lines = [
            cast(SpaceLine, {key: row[key] for key in keys})
            for row in self.state.scan("spaces")
            if row["district"] == district
        ]
        if not lines:
            raise ToolError("nothing_found", f"There is no parking space in {district}.")
        lines.sort(key=lambda line: (line["day_price"], line["space_id"]))
        central = min(lines, key=lambda line: (line["walk_metres"], line["space_id"]))
        return {"count": len(lines), "spaces": lines, "most_central": central}

    @tool("create")
    def reserve_parking(
        self, vehicle_id: VehicleId, space_id: SpaceId, date: Date, days: Days | None = None
    ) -> ParkingReservation:
        """Reserve a parking space for a vehicle.

        Args:
            vehicle_id: The vehicle.
            space_id: The space.
            date: First day.
            days: Number of days; one without it.
        """
        vehicle = self.require("vehicles", vehicle_id, "vehicle")
        space = self.require("spaces", space_id, "parking space")
        if date < self.now[:10]:
            raise ToolError("in_the_past", f"{date} has passed.")
        until = day_after(date, (days or 1) - 1)
        for row in self.state.scan("reservations"):
            if row["date"] <= until and date <= row["until"]:
                if row["space_id"] == space_id:
                    raise ToolError("space_taken", f"The space at {space['garage']} is taken then.")
                if row["vehicle_id"] == vehicle_id:
                    raise ToolError("already_parked", f"The {vehicle['name']} has another space then.")
        key = self.new_id("prk", vehicle_id, space_id, date)
        code = f"P{int(key[4:], 16) % 100_000:05d}"
        self.state.put(
            "reservations",
            key,
            {"vehicle_id": vehicle_id, "space_id": space_id, "date": date, "until": until, "code": code},
        )
        return {
            "code": code,
            "name": vehicle["name"],
            "garage": space["garage"],
            "date": date,
            "until": until,
            "total": round(space["day_price"] * (days or 1), 2),
        }

    def _refuse_day(self, day: str, offer: Record) -> None:
        if calendar_date.fromisoformat(day).weekday() > 4:
            raise ToolError("closed", f"{offer['workshop']} does not work on weekends.")
        if day < offer["first_free"]:
            raise ToolError("workshop_full", f"{offer['workshop']} has no time before {offer['first_free']}.")


def _range(vehicle: Record) -> int:
    return cast(int, vehicle["level"] * vehicle["km_per_percent"])
