"""Hotel front desk."""
from datetime import date

ROOMS = {101: {"room_number": 101, "kind": "single", "price": 80.0, "guest": None},
         102: {"room_number": 102, "kind": "double", "price": 120.0, "guest": None},
         201: {"room_number": 201, "kind": "suite", "price": 260.0, "guest": "Ines Falk"}}
BOOKINGS = {}


def list_free_rooms(kind: str | None = None) -> list[dict]:
    """Rooms that nobody has booked.

    Args:
        kind: single, double or suite; all kinds by default.
    """
    return [r for r in ROOMS.values() if r["guest"] is None and kind in (None, r["kind"])]


def check_in(room_number: int, guest_name: str, nights: int) -> dict:
    """Check a guest into a room."""
    room = ROOMS[room_number]
    if room["guest"]:
        raise ValueError("room is taken")
    room["guest"] = guest_name
    return {"room_number": room_number, "guest_name": guest_name, "total": room["price"] * nights}


def check_out(room_number: int) -> dict:
    """Check a guest out and return the room."""
    room = ROOMS[room_number]
    if not room["guest"]:
        raise ValueError("room is empty")
    name, room["guest"] = room["guest"], None
    return {"room_number": room_number, "guest_name": name}


def get_room(room_number: int) -> dict:
    """Details of a room."""
    if room_number not in ROOMS:
        raise KeyError(f"no room {room_number}")
    return ROOMS[room_number]
