"""Calendar: colleagues, events and invitations, common free time, meeting rooms, reminders and tasks."""

from __future__ import annotations

from datetime import date as day_of
from datetime import datetime
from random import Random
from typing import Annotated, Literal

from planarena.environments.contract import Environment, Seed, ToolError, tool
from planarena.environments.domains import types
from planarena.environments.domains.offers import join_offer, split_offer
from planarena.environments.domains.shared import Shared, later
from planarena.environments.shapes import Fields, Result
from planarena.environments.state import Record
from planarena.tools.semantics import Semantic

from .world import PROPOSALS, free_starts, make_event, make_world

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

MOVED_EVENT = record("event_id title start until")
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

    def _refuse_past(self, start: str) -> None:
        if start <= self.now:
            raise ToolError("in_the_past", f"{start} has passed.")

    def _refuse_block(self, event: Record) -> None:
        if event["place"] == DESK:
            raise ToolError("no_meeting", f"{event['title']} is time set aside for a task, not a meeting.")

    def _refuse_conflict(self, start: str, end: str, but: str = "") -> None:
        """Fail where the user has another event, `but` left aside, between two moments."""
        for event in self.state.scan("events"):
            if event["event_id"] != but and event["start"] < end and event["end"] > start:
                raise ToolError(
                    "conflict", f"{event['title']} is in the way from {event['start']} to {event['end']}."
                )

    def _room_is_free(self, room_id: str, start: str, end: str, but: str = "") -> bool:
        bookings = self.rows("bookings", room_id=room_id)
        return not any(
            row["event_id"] != but and row["start"] < end and row["end"] > start for row in bookings
        )

    def _add_event(self, title: str, start: str, minutes: int, place: str) -> Record:
        self._refuse_conflict(start, later(start, minutes))
        event = make_event(title, self.facts["user_name"], start, minutes, place)
        self.state.put("events", event["event_id"], event)
        return self._seen(event)

    def _seen(self, event: Record) -> Record:
        """Return an event as its reader sees it, who may have called it."""
        own = event["organiser"] == self.facts["user_name"]
        return {**_placed(event), "organiser": "you" if own else event["organiser"]}

    @tool("read", gives=record("colleague_id name email team manager"))
    def find_colleague(self, name: types.Person) -> Result:
        """Look up a colleague's card: mail address, team and manager.

        Args:
            name: The colleague's full name.
        """
        found = self.rows("colleagues", name=name)
        if not found:
            raise ToolError("not_found", f"There is no colleague named {name}.")
        return found[0]

    @tool("read", gives=record("events busy", events=[record("event_id title start at until")]))
    def list_events(self, date: types.Workday) -> Result:
        """List the events of a day, the earliest first, with the minutes that they take together.

        Args:
            date: The day.
        """
        rows = [event for event in self.state.scan("events") if event["start"].startswith(date)]
        rows.sort(key=lambda event: (event["start"], event["event_id"]))
        return {"events": [_placed(event) for event in rows], "busy": sum(_minutes(event) for event in rows)}

    @tool("read", gives=record("title organiser date start until place invited remind_at?"))
    def open_event(self, event_id: EventId) -> Result:
        """Show an event: who called it, when and where it is, how many are invited, and its reminder if it has one.

        Args:
            event_id: The event.
        """
        event = self.require("events", event_id, "event")
        shown = {**self._seen(event), "date": event["start"][:10], "invited": len(event["invited"])}
        if event["reminder"]:
            shown["remind_at"] = later(event["start"], -event["reminder"])
        return shown

    @tool("read", gives=record("slots", slots=[record("start until", start=types.FreeTime)]))
    def find_common_slot(self, colleague_id: ColleagueId, date: types.Date, duration: Duration) -> Result:
        """Find times within working hours that are free for the user and a colleague, the earliest first.

        Args:
            colleague_id: The colleague.
            date: The day.
            duration: How long the slot must be, in minutes.
        """
        self.require("colleagues", colleague_id, "colleague")
        taken = [(event["start"], event["end"]) for event in self.state.scan("events")]
        busy = self.state.get("busy", f"{colleague_id}.{date}")
        if busy is not None:
            taken += [(f"{date}T{start}", f"{date}T{end}") for start, end in busy["blocks"]]
        starts = free_starts(date, duration, taken, self.now)
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
        self._refuse_past(start)
        return self._add_event(title, start, duration, place or "to be announced")

    @tool("update", gives=MOVED_EVENT)
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
        self._refuse_past(start)
        self._refuse_past(event["start"])
        end = later(start, _minutes(event))
        self._refuse_conflict(start, end, but=event_id)
        if event["room_id"]:
            if not self._room_is_free(event["room_id"], start, end, but=event_id):
                raise ToolError("room_taken", f"{event['place']} is not free at the new time.")
            self.state.patch("bookings", self.new_id("rbk", event_id), start=start, end=end)
        return _placed(self.state.patch("events", event_id, start=start, end=end, moved_on=self.today))

    @tool("update", gives=record("title invitee reply"))
    def invite_to_event(self, event_id: EventId, colleague_id: ColleagueId) -> Result:
        """Invite a colleague, who accepts if the time is free and otherwise answers with maybe.

        Args:
            event_id: The event.
            colleague_id: The colleague.
        """
        event = self.require("events", event_id, "event")
        colleague = self.require("colleagues", colleague_id, "colleague")
        self._refuse_block(event)
        self._refuse_past(event["start"])
        if colleague_id in event["invited"] or event["organiser"] == colleague["name"]:
            raise ToolError("already_invited", f"{colleague['name']} takes part already.")
        start, end = event["start"][11:], event["end"][11:]
        busy = self.state.get("busy", f"{colleague_id}.{event['start'][:10]}")
        clash = busy is not None and any(a < end and b > start for a, b in busy["blocks"])
        reply = "tentative" if clash else "accepted"
        self.state.patch("events", event_id, invited={**event["invited"], colleague_id: reply})
        return {"title": event["title"], "invitee": colleague["name"], "reply": reply}

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
        self._refuse_past(start)
        end = later(start, duration)
        rooms = [
            room
            for room in self.state.scan("rooms")
            if room["seats"] >= seats
            and (equipment is None or equipment in room["equipment"])
            and self._room_is_free(room["room_id"], start, end)
        ]
        rooms.sort(key=lambda room: (room["seats"], room["room_id"]))
        offers = [{**room, "offer_id": join_offer(room["room_id"], start, duration)} for room in rooms[:5]]
        return {"rooms": offers}

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
        self._refuse_block(event)
        self._refuse_past(event["start"])
        if event["start"] < free_from or event["end"] > free_until:
            raise ToolError("other_time", f"{room['room']} was asked for from {free_from} to {free_until}.")
        if event["room_id"]:
            raise ToolError("already_has_room", f"The event is in {event['place']}.")
        if not self._room_is_free(room_id, event["start"], event["end"]):
            raise ToolError("room_taken", f"{room['room']} is not free then.")
        if room["seats"] < len(event["invited"]) + 1:
            raise ToolError("too_small", f"{room['room']} has only {room['seats']} seats.")
        key = self.new_id("rbk", event_id)
        booking = {"room_id": room_id, "event_id": event_id, "start": event["start"], "end": event["end"]}
        self.state.put("bookings", key, booking)
        self.state.patch("events", event_id, room_id=room_id, place=room["room"])
        return {**room, **_placed(event)}

    @tool("update", gives=record("title remind_at"))
    def set_event_reminder(self, event_id: EventId, lead_time: LeadTime) -> Result:
        """Set the reminder of an event that has none yet.

        Args:
            event_id: The event.
            lead_time: How many minutes before the start to be reminded.
        """
        event = self.require("events", event_id, "event")
        if event["reminder"]:
            raise ToolError(
                "already_set", f"The event has a reminder {event['reminder']} minutes before its start."
            )
        remind_at = later(event["start"], -lead_time)
        self._refuse_past(remind_at)
        return {**self.state.patch("events", event_id, reminder=lead_time), "remind_at": remind_at}

    @tool("read", gives=record("tasks", tasks=[record("task_id task project due effort")]))
    def list_tasks(self, project: Project | None = None) -> Result:
        """List open tasks without time set aside for them, the one that is due first at the head.

        Args:
            project: Only tasks of this project.
        """
        rows = [
            task
            for task in self.state.scan("tasks")
            if not task["scheduled"] and (project is None or task["project"] == project)
        ]
        rows.sort(key=lambda task: (task["due"], task["task_id"]))
        return {"tasks": rows[:12]}

    @tool("create", gives=NEW_EVENT)
    def schedule_task(self, task_id: TaskId, date: types.Workday) -> Result:
        """Set time aside for a task: an event in the first gap of a day that is long enough for it.

        Args:
            task_id: The task.
            date: The day; not after the task is due.
        """
        task = self.require("tasks", task_id, "task")
        if task["scheduled"]:
            raise ToolError(
                "already_scheduled", f"Time is set aside for {task['task']} on {task['scheduled']}."
            )
        if date > task["due"]:
            raise ToolError("too_late", f"{task['task']} is due on {task['due']}.")
        if day_of.fromisoformat(date).weekday() >= 5:
            raise ToolError("not_a_working_day", f"{date} is on a weekend.")
        taken = [(event["start"], event["end"]) for event in self.state.scan("events")]
        starts = free_starts(date, task["effort"], taken, self.now)
        if not starts:
            raise ToolError("no_gap", f"No gap of {task['effort']} minutes is left on {date}.")
        self.state.patch("tasks", task_id, scheduled=date)
        return self._add_event(task["task"], starts[0], task["effort"], DESK)


def _minutes(event: Record) -> int:
    """Return an event's length; events end on the day on which they begin."""
    start, end = event["start"], event["end"]
    return 60 * (int(end[11:13]) - int(start[11:13])) + int(end[14:16]) - int(start[14:16])


def _placed(event: Record) -> Record:
    """Return an event with the time of its end."""
    return {**event, "at": event["start"][11:], "until": event["end"][11:]}
