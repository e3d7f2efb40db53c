"""The values and results of the fleet's tools."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from planarena.environments.domains.types import (
    Address,
    City,
    Count,
    Credit,
    Date,
    Money,
    Payable,
    Percent,
    Person,
)
from planarena.tools.semantics import Semantic

__all__ = [
    "BookingId",
    "Check",
    "Classified",
    "Days",
    "District",
    "DueLine",
    "DueVehicles",
    "Filled",
    "Kilometres",
    "LoggedTrip",
    "MovedService",
    "OfferLine",
    "Offers",
    "ParkingReservation",
    "Purpose",
    "ServiceBooking",
    "ServiceOfferId",
    "SpaceId",
    "SpaceLine",
    "Spaces",
    "StationId",
    "StationLine",
    "Stations",
    "TripId",
    "TripLine",
    "Trips",
    "Vehicle",
    "VehicleId",
    "VehicleName",
    "Work",
]

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
Purpose = Annotated[Literal["business", "private", "commute"], Semantic("trip_purpose", surface="word")]
Work = Annotated[
    Literal["oil_change", "inspection", "tyre_change", "brakes", "air_conditioning"],
    Semantic("workshop_work", surface="word"),
]


class Vehicle(TypedDict):
    """A vehicle as it stands."""

    vehicle_id: VehicleId
    name: VehicleName
    plate: Plate
    power: Power
    level: Percent
    range_km: Range
    odometer: Odometer
    parked_at: District


class DueLine(TypedDict):
    """A vehicle that needs something by a date."""

    vehicle_id: VehicleId
    name: VehicleName
    due: Date


class DueVehicles(TypedDict):
    """The vehicles by the date on which they need something."""

    count: Count
    vehicles: list[DueLine]


class StationLine(TypedDict):
    """A station in a list."""

    station_id: StationId
    name: Station
    address: Address
    unit_price: Money
    distance_km: Range


class Stations(TypedDict):
    """The stations that suit a vehicle."""

    count: Count
    stations: list[StationLine]
    nearest: StationLine


class Filled(TypedDict):
    """A vehicle after charging or refuelling."""

    name: VehicleName
    station: Station
    level: Percent
    range_km: Range
    cost: Payable


class LoggedTrip(TypedDict):
    """A trip that was entered in the log."""

    trip_id: TripId
    name: VehicleName
    driver: Person
    destination: City
    odometer: Odometer
    range_km: Range


class TripLine(TypedDict):
    """A trip in the log."""

    trip_id: TripId
    driver: Person
    destination: City
    km: Kilometres
    date: Date
    purpose: Annotated[
        Literal["business", "private", "commute", "unclassified"],
        Semantic("logged_purpose", surface="word"),
    ]


class Trips(TypedDict):
    """The log of a vehicle."""

    name: VehicleName
    total_km: Range
    trips: list[TripLine]


class Classified(TypedDict):
    """A trip with its purpose."""

    destination: City
    driver: Person
    purpose: Purpose
    allowance: Credit


class OfferLine(TypedDict):
    """What a workshop asks for some work."""

    offer_id: ServiceOfferId
    workshop: Workshop
    price: Money
    first_free: Date


class Offers(TypedDict):
    """The workshops that do some work."""

    count: Count
    offers: list[OfferLine]
    soonest: OfferLine


class ServiceBooking(TypedDict):
    """A vehicle's appointment at a workshop."""

    booking_id: BookingId
    name: VehicleName
    workshop: Workshop
    work: Work
    date: Date
    price: Payable


class MovedService(TypedDict):
    """An appointment at a workshop on its new day."""

    booking_id: BookingId
    name: VehicleName
    workshop: Workshop
    before: Date
    date: Date


class SpaceLine(TypedDict):
    """A parking space in a list."""

    space_id: SpaceId
    garage: Garage
    address: Address
    day_price: Money
    walk_metres: Range


class Spaces(TypedDict):
    """The parking spaces of a district."""

    count: Count
    spaces: list[SpaceLine]
    most_central: SpaceLine


class ParkingReservation(TypedDict):
    """A reserved parking space."""

    code: Code
    name: VehicleName
    garage: Garage
    date: Date
    until: Date
    total: Payable
