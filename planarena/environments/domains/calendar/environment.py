"""Calendar: colleagues, events and invitations, common free time, meeting rooms, reminders and tasks."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date as day_of
from datetime import datetime
from random import Random
from typing import Annotated, Literal

from planarena.environments.contract import Environment, Seed, ToolError, tool
from planarena.environments.domains import types
from planarena.environments.domains.offers import join_offer, split_offer
from planarena.environments.domains.shared import Shared, later
from planarena.environments.shapes import Fields, Result, between, ordered
from planarena.environments.state import Record
from planarena.tools.semantics import Semantic

from .world import PROPOSALS, make_event, make_world

__all__ = ["Calendar"]

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

record = Fields(
    colleague_id=ColleagueId, name=types.Person, email=types.EmailAddress, team=Team, manager=types.Person,
    event_id=EventId, title=types.Title, start=types.Datetime, until=types.Time, busy=types.Minutes,
    organiser=types.Person, date=types.Date, place=Place, invited=types.Count, invitee=types.Person,
    reply=Reply, offer_id=RoomOfferId, room=Place, floor=types.Count, seats=Seats, at=types.Time,
    remind_at=types.Datetime, task_id=TaskId, task=types.Title, project=Project, due=types.Workday,
    effort=Duration,
)  # fmt: skip
# Where people are who set time aside for a task.
DESK = "the desk"

NEW_EVENT = record("event_id title organiser start until place")


class Calendar(Environment):
    """The calendar of one person in a company: nobody can be in two events at once, nor a room in two meetings."""

    domain = "calendar"
    summary = "A work calendar: colleagues, events, common free time, meeting rooms, reminders and tasks."
    proposals = PROPOSALS

    @classmethod
    def seed(cls, rng: Random, shared: Shared | None = None) -> Seed:
        """Make colleagues, the events of five working days, busy times for four, rooms with bookings, tasks."""
        return make_world(cls.seeds(), rng, shared)

    def free_starts(self, day: str, minutes: int, busy: Iterable[tuple[str, str]] = ()) -> list[str]:
        """Return the half hours of a working day (9 to 18) from which the user is free for so many minutes.

        Args:
            day: The date.
            minutes: The length of the slot.
            busy: (start, end) of what else is in the way.
        """
        taken = [*busy, *((event["start"], event["end"]) for event in self.state.scan("events"))]
        starts = [later(f"{day}T09:00", 30 * step) for step in range(18)]
        slots = [(start, later(start, minutes)) for start in starts if start > self.now]
        free = [slot for slot in slots if not any(a < slot[1] and b > slot[0] for a, b in taken)]
        return [start for start, end in free if end <= f"{day}T18:00"]

    def _busy(self, colleague_id: str, day: str) -> list[tuple[str, str]]:
        """Return from when till when a colleague is busy on a day."""
        busy = self.state.get("busy", f"{colleague_id}.{day}")
        return [] if busy is None else [(start, end) for start, end in busy["blocks"]]

    def _refuse_conflict(self, start: str, end: str, but: str | None = None) -> None:
        """Fail where the user has another event, `but` left aside, between two moments."""
        for event in _in_the_way(self.state.scan("events"), start, end, but):
            when = f"from {event['start']} to {event['end']}"
            raise ToolError("conflict", f"{event['title']} is in the way {when}.")

    def _require_meeting(self, event: Record) -> None:
        """Fail where an event is no meeting or has begun."""
        if event["place"] == DESK:
            raise ToolError("no_meeting", f"{event['title']} is time set aside for a task, not a meeting.")
        self.refuse_past(event["start"])

    def _add_event(self, title: str, start: str, minutes: int, place: str) -> Record:
        self._refuse_conflict(start, later(start, minutes))
        event = make_event(title, self.facts["user_name"], start, minutes, place)
        return self._seen(self.state.put("events", event["event_id"], event))

    def _seen(self, event: Record) -> Record:
        """Return an event as its reader sees it, who may have called it."""
        start, end, organiser = event["start"], event["end"], event["organiser"]
        # Events end on the day on which they begin.
        minutes = 60 * (int(end[11:13]) - int(start[11:13])) + int(end[14:16]) - int(start[14:16])
        shown = {**event, "at": start[11:], "until": end[11:], "date": start[:10], "minutes": minutes}
        if event["reminder"]:
            shown["remind_at"] = later(start, -event["reminder"])
        own = organiser == self.facts["user_name"]
        return {**shown, "organiser": "you" if own else organiser, "invited": len(event["invited"])}

    @tool("read", gives=record("colleague_id name email team manager"))
    def find_colleague(self, name: types.Person) -> Result:
        """Look up a colleague's card: mail address, team and manager.

        Args:
            name: The colleague's full name.
        """
        return self.named("colleagues", "colleague", name=name)

    @tool("read", gives=record("events busy", events=[record("event_id title start at until")]))
    def list_events(self, date: types.Workday) -> Result:
        """List the events of a day, the earliest first, with the minutes that they take together.

        Args:
            date: The day.
        """
        events = [self._seen(event) for event in self.state.scan("events") if event["start"][:10] == date]
        busy = sum(event["minutes"] for event in events)
        return {"events": ordered(events, "start", "event_id"), "busy": busy}

    @tool("read", gives=record("title organiser date start until place invited remind_at?"))
    def open_event(self, event_id: EventId) -> Result:
        """Show an event: who called it, when and where it is, how many are invited, and its reminder if it has one.

        Args:
            event_id: The event.
        """
        return self._seen(self.require("events", event_id, "event"))

    @tool("read", gives=record("slots", slots=[record("start until", start=types.FreeTime)]))
    def find_common_slot(self, colleague_id: ColleagueId, date: types.Date, duration: Duration) -> Result:
        """Find times within working hours that are free for the user and a colleague, the earliest first.

        Args:
            colleague_id: The colleague.
            date: The day.
            duration: How long the slot must be, in minutes.
        """
        self.require("colleagues", colleague_id, "colleague")
        busy = [(f"{date}T{start}", f"{date}T{end}") for start, end in self._busy(colleague_id, date)]
        starts = self.free_starts(date, duration, busy)
        return {"slots": [{"start": start, "until": later(start, duration)[11:]} for start in starts[:8]]}

    @tool("create", gives=NEW_EVENT)
    def create_calendar_event(
        self, title: types.Title, start: types.FreeTime, duration: Duration, place: Place | None = None
    ) -> Result:
        """Put an event into the user's calendar; it must not overlap another one.

        Args:
            title: What it is called.
            start: When it begins.
            duration: How long it takes, in minutes.
            place: Where it is, unless a meeting room is booked later.
        """
        self.refuse_past(start)
        return self._add_event(title, start, duration, place or "to be announced")

    @tool("update", gives=record("event_id title start until"))
    def reschedule_event(self, event_id: EventId, start: types.FreeTime) -> Result:
        """Move an event to another start, once a day at most; its length stays, a free room moves along.

        Args:
            event_id: The event.
            start: The new start.
        """
        event = self.require("events", event_id, "event")
        if start == event["start"]:
            raise ToolError("same_time", "The event starts then already.")
        if event["moved_on"] == self.today:
            raise ToolError(
                "moved_today", "The guests were told another time today and cannot be told again."
            )
        self.refuse_past(start)
        self.refuse_past(event["start"])
        end = later(start, self._seen(event)["minutes"])
        self._refuse_conflict(start, end, but=event_id)
        if event["room_id"]:
            if _in_the_way(self.rows("bookings", room_id=event["room_id"]), start, end, event_id):
                raise ToolError("room_taken", f"{event['place']} is not free at the new time.")
            self.state.patch("bookings", self.new_id("rbk", event_id), start=start, end=end)
        return self._seen(self.state.patch("events", event_id, start=start, end=end, moved_on=self.today))

    @tool("update", gives=record("title invitee reply"))
    def invite_to_event(self, event_id: EventId, colleague_id: ColleagueId) -> Result:
        """Invite a colleague, who accepts if the time is free and otherwise answers with maybe.

        Args:
            event_id: The event.
            colleague_id: The colleague.
        """
        event = self.require("events", event_id, "event")
        name = self.require("colleagues", colleague_id, "colleague")["name"]
        self._require_meeting(event)
        if colleague_id in event["invited"] or event["organiser"] == name:
            raise ToolError("already_invited", f"{name} takes part already.")
        start, end = event["start"][11:], event["end"][11:]
        clash = any(a < end and b > start for a, b in self._busy(colleague_id, event["start"][:10]))
        reply = "tentative" if clash else "accepted"
        self.state.patch("events", event_id, invited={**event["invited"], colleague_id: reply})
        return {**event, "invitee": name, "reply": reply}

    @tool("read", gives=record("rooms", rooms=[record("offer_id room floor seats")]))
    def find_free_rooms(
        self, start: types.Datetime, duration: Duration, seats: Seats, equipment: Equipment | None = None
    ) -> Result:
        """Find up to five meeting rooms that are free for some time, the smallest first.

        Args:
            start: When the room is needed.
            duration: For how many minutes.
            seats: How many seats at least.
            equipment: What the room must offer.
        """
        self.refuse_past(start)
        end = later(start, duration)
        rooms = between(self.state.scan("rooms"), "seats", least=seats)
        rooms = [room for room in rooms if equipment in (None, *room["equipment"])]
        offers = [
            {**room, "offer_id": join_offer(room["room_id"], start, duration)}
            for room in ordered(rooms, "seats", "room_id")
            if not _in_the_way(self.rows("bookings", room_id=room["room_id"]), start, end)
        ]
        return {"rooms": offers[:5]}

    @tool("update", gives=record("title room floor start until"))
    def book_room(self, event_id: EventId, offer_id: RoomOfferId) -> Result:
        """Book a meeting room for the time of an event, which then takes place there.

        Args:
            event_id: The event.
            offer_id: The room as found free; it must have been found free for all of the event's time.
        """
        room_id, free_from, minutes = split_offer(offer_id, datetime.fromisoformat)
        free_until = later(free_from, minutes)
        event = self.require("events", event_id, "event")
        room = self.require("rooms", room_id, "room")
        self._require_meeting(event)
        if event["start"] < free_from or event["end"] > free_until:
            raise ToolError("other_time", f"{room['room']} was asked for from {free_from} to {free_until}.")
        if event["room_id"]:
            raise ToolError("already_has_room", f"The event is in {event['place']}.")
        if _in_the_way(self.rows("bookings", room_id=room_id), event["start"], event["end"]):
            raise ToolError("room_taken", f"{room['room']} is not free then.")
        if room["seats"] < len(event["invited"]) + 1:
            raise ToolError("too_small", f"{room['room']} has only {room['seats']} seats.")
        booking = {"room_id": room_id, **{name: event[name] for name in ("event_id", "start", "end")}}
        self.state.put("bookings", self.new_id("rbk", event_id), booking)
        self.state.patch("events", event_id, room_id=room_id, place=room["room"])
        return {**room, **self._seen(event)}

    @tool("update", gives=record("title remind_at"))
    def set_event_reminder(self, event_id: EventId, lead_time: LeadTime) -> Result:
        """Set the reminder of an event that has none yet.

        Args:
            event_id: The event.
            lead_time: How many minutes before the start to be reminded.
        """
        event = self.require("events", event_id, "event")
        if set_to := event["reminder"]:
            raise ToolError("already_set", f"The event has a reminder {set_to} minutes before its start.")
        self.refuse_past(later(event["start"], -lead_time))
        return self._seen(self.state.patch("events", event_id, reminder=lead_time))

    @tool("read", gives=record("tasks", tasks=[record("task_id task project due effort")]))
    def list_tasks(self, project: Project | None = None) -> Result:
        """List open tasks without time set aside for them, the one that is due first at the head.

        Args:
            project: Only tasks of this project.
        """
        tasks = [task for task in self.rows("tasks", scheduled="") if project in (None, task["project"])]
        return {"tasks": ordered(tasks, "due", "task_id")[:12]}

    @tool("create", gives=NEW_EVENT)
    def schedule_task(self, task_id: TaskId, date: types.Workday) -> Result:
        """Set time aside for a task: an event in the first gap of a day that is long enough for it.

        Args:
            task_id: The task.
            date: The day; not after the task is due.
        """
        task = self.require("tasks", task_id, "task")
        if day := task["scheduled"]:
            raise ToolError("already_scheduled", f"Time is set aside for {task['task']} on {day}.")
        if date > task["due"]:
            raise ToolError("too_late", f"{task['task']} is due on {task['due']}.")
        if day_of.fromisoformat(date).weekday() >= 5:
            raise ToolError("not_a_working_day", f"{date} is on a weekend.")
        starts = self.free_starts(date, task["effort"])
        if not starts:
            raise ToolError("no_gap", f"No gap of {task['effort']} minutes is left on {date}.")
        self.state.patch("tasks", task_id, scheduled=date)
        return self._add_event(task["task"], starts[0], task["effort"], DESK)


def _in_the_way(rows: Iterable[Record], start: str, end: str, but: str | None = None) -> list[Record]:
    """Return what takes place between two moments, one event left aside."""
    return [row for row in rows if row["event_id"] != but and row["start"] < end and row["end"] > start]
