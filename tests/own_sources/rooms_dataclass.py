"""Meeting rooms with dataclasses and an enumeration."""
from dataclasses import dataclass, field
from datetime import date
from enum import Enum


class Size(Enum):
    SMALL = "small"
    LARGE = "large"


@dataclass
class Room:
    room_id: str
    name: str
    size: Size
    bookings: list[date] = field(default_factory=list)


@dataclass
class Booking:
    booking_id: str
    room: str
    day: date


ROOMS = {"r1": Room("r1", "Maple", Size.SMALL), "r2": Room("r2", "Cedar", Size.LARGE)}
BOOKED: dict[str, Booking] = {}


def find_rooms(size: Size) -> list[Room]:
    """Find rooms of a size."""
    return [room for room in ROOMS.values() if room.size == size]


def book_room(room_id: str, day: date) -> Booking:
    """Book a room for a day."""
    room = ROOMS[room_id]
    if day in room.bookings:
        raise ValueError("taken")
    room.bookings.append(day)
    booking = Booking(f"{room_id}-{day.isoformat()}", room.name, day)
    BOOKED[booking.booking_id] = booking
    return booking


def cancel_booking(booking_id: str) -> Booking:
    """Cancel a booking."""
    booking = BOOKED.pop(booking_id)
    next(room for room in ROOMS.values() if room.name == booking.room).bookings.remove(booking.day)
    return booking
