"""Types of the calendar domain, and the arithmetic of its clock."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Annotated, Literal, TypedDict

from planarena.environments.domains.types import (
    Count,
    Date,
    Datetime,
    EmailAddress,
    FreeTime,
    Minutes,
    Person,
    Time,
    Title,
    Workday,
)
from planarena.tools.semantics import Semantic

__all__ = [
    "Agenda",
    "Colleague",
    "ColleagueId",
    "Duration",
    "Equipment",
    "EventDetails",
    "EventId",
    "Invitation",
    "LeadTime",
    "NewEvent",
    "Place",
    "Project",
    "Reminder",
    "RoomBooking",
    "RoomOfferId",
    "Rooms",
    "Seats",
    "Slots",
    "TaskId",
    "Tasks",
    "free_starts",
    "join_offer",
    "later",
    "split_offer",
]

ColleagueId = Annotated[str, Semantic("colleague_id", hidden=True)]
EventId = Annotated[str, Semantic("calendar_event_id", hidden=True)]
RoomOfferId = Annotated[str, Semantic("meeting_room_offer_id", hidden=True)]
TaskId = Annotated[str, Semantic("calendar_task_id", hidden=True)]
Team = Annotated[str, Semantic("team", surface="name")]
Place = Annotated[str, Semantic("place", surface="name")]
Project = Annotated[str, Semantic("project", surface="name")]
Duration = Annotated[int, Semantic("duration", surface="minutes", minimum=15, maximum=240)]
LeadTime = Annotated[int, Semantic("lead_time", surface="minutes", minimum=5, maximum=1440)]
Seats = Annotated[int, Semantic("seats", surface="number", minimum=2, maximum=40)]
Equipment = Annotated[Literal["screen", "whiteboard", "video"], Semantic("room_equipment", surface="word")]
Reply = Annotated[Literal["accepted", "tentative"], Semantic("invitation_reply", surface="word")]


class Colleague(TypedDict):
    """A colleague's card."""

    colleague_id: ColleagueId
    name: Person
    email: EmailAddress
    team: Team
    manager: Person


class AgendaEntry(TypedDict):
    """A line of an agenda."""

    event_id: EventId
    title: Title
    start: Datetime
    until: Time


class Agenda(TypedDict):
    """A day's events, the earliest first, and how much time they take."""

    events: list[AgendaEntry]
    busy: Minutes


class EventDetails(TypedDict):
    """An event in full."""

    title: Title
    organiser: Person
    date: Date
    start: Datetime
    until: Time
    place: Place
    invited: Count


class Slot(TypedDict):
    """A time that suits both: of another type than the start of an event, which is taken."""

    start: FreeTime
    until: Time


class Slots(TypedDict):
    """Slots, the earliest first."""

    slots: list[Slot]


class NewEvent(TypedDict):
    """An event put into the calendar or moved."""

    event_id: EventId
    title: Title
    start: Datetime
    until: Time


class Invitation(TypedDict):
    """An invitation and the answer to it."""

    title: Title
    invitee: Person
    reply: Reply


class Room(TypedDict):
    """A room that is free for some time."""

    offer_id: RoomOfferId
    room: Place
    floor: Count
    seats: Seats


class Rooms(TypedDict):
    """Rooms, the smallest first."""

    rooms: list[Room]


class RoomBooking(TypedDict):
    """A room taken for an event."""

    title: Title
    room: Place
    floor: Count
    start: Datetime
    until: Time


class Reminder(TypedDict):
    """When it rings, and for what."""

    title: Title
    remind_at: Datetime


class TaskEntry(TypedDict):
    """A line of a task list."""

    task_id: TaskId
    task: Title
    project: Project
    due: Workday
    effort: Duration


class Tasks(TypedDict):
    """Open tasks, the one due first at the head."""

    tasks: list[TaskEntry]


@lru_cache(maxsize=4096)
def later(start: str, minutes: int) -> str:
    """Return the moment some minutes later, as `2026-03-04T14:30`."""
    return (datetime.fromisoformat(start) + timedelta(minutes=minutes)).isoformat(timespec="minutes")


def free_starts(day: str, minutes: int, taken: Iterable[tuple[str, str]], after: str) -> list[str]:
    """Return the half hours of a working day (9 to 18) from which so many minutes are free.

    Args:
        day: The date.
        minutes: The length of the slot.
        taken: (start, end) of what is in the way.
        after: No slot starts at or before this moment.
    """
    blocks = [(a, b) for a, b in taken if a[:10] <= day <= b[:10]]
    starts = []
    for start in _half_hours(day):
        end = later(start, minutes)
        if start > after and end <= f"{day}T18:00" and not any(a < end and b > start for a, b in blocks):
            starts.append(start)
    return starts


@lru_cache(maxsize=512)
def _half_hours(day: str) -> tuple[str, ...]:
    return tuple(later(f"{day}T09:00", 30 * step) for step in range(18))


def join_offer(room_id: str, start: str, minutes: int) -> str:
    """Return the id of a free room: it says for when, and is never stored, so that a search changes nothing."""
    return f"{room_id}.{start}.{minutes}"


def split_offer(offer_id: str) -> tuple[str, str, str]:
    """Return room id, start and end of a free room.

    Raises:
        ValueError: It is no such id.
    """
    room_id, start, minutes = offer_id.split(".")
    return room_id, start, later(start, int(minutes))
