"""Initial worlds of the calendar domain, and what its users would ask for."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from random import Random
from typing import Any

from planarena.environments.contract import BOUND, Environment, Seed, proposals
from planarena.environments.domains.shared import (
    Shared,
    beside,
    cast_people,
    keep,
    load_people,
    mail_of,
    meet,
)
from planarena.environments.state import Record

from .types import free_starts, later

__all__ = ["CalendarScenario"]

Table = dict[str, Record]
Proposals = Iterator[dict[str, Any]]


class CalendarScenario(Environment):
    """A week at work: the user's events, the colleagues' busy times, rooms, and tasks of two projects."""

    @classmethod
    def seed(cls, rng: Random, shared: Shared | None = None) -> Seed:
        """Make colleagues, the events of five working days, busy times for four, rooms with bookings, tasks."""
        words = cls.seeds()
        people = load_people()
        given, family = rng.sample(people["given"], 10), rng.sample(people["family"], 10)
        names = [f"{first} {last}" for first, last in zip(given, family, strict=True)]
        names = cast_people(names, shared)
        user, board = names[0], names[9]
        today = date(2026, 1, 5) + timedelta(days=7 * rng.randrange(46) + rng.randrange(5))
        now = f"{today.isoformat()}T{rng.choice(['08:00', '08:15', '08:30', '08:45'])}"
        now = keep(shared, "now", now)
        today = date.fromisoformat(now[:10])
        days = _working_days(today, 12)
        colleagues = _colleagues(words, names[1:9], board, rng, shared)
        busy = {
            f"{colleague_id}.{day}": {"blocks": _blocks(rng)}
            for colleague_id in colleagues
            for day in days[1:5]
        }
        events = _events(words, colleagues, days[:5], rng)
        others = () if shared is None else shared.get("beside", ())
        if shared is not None:
            events |= _joint_events(words, colleagues, days, shared, rng)
        projects = rng.sample(sorted(words["projects"]), 2)
        rooms, bookings = _rooms(words, days[:5], rng)
        situation = rng.choice(words["situations"])
        met = names[1:4]
        return Seed(
            tables={
                "colleagues": colleagues,
                "busy": busy,
                "events": events,
                "rooms": rooms,
                "bookings": bookings,
                # A parcel takes a week: time on the day of its delivery is of use for tasks that are due later.
                "tasks": _tasks(words, projects, days[5 if "shopping" in others else 2 :], rng),
            },
            title=situation["title"].format(project=projects[0], colleague=met[0]),
            description=situation["description"].format(user=user, project=projects[0], colleague=met[0]),
            facts={"now": now, "user_name": user, "weekday": today.strftime("%A"), "projects": projects},
            story={
                "days": days[1:5],
                "met": met,
                "projects": projects,
                "titles": rng.sample(words["new_meetings"], 3),
                "place": rng.choice(words["places"]),
                "duration": rng.choice((30, 45, 60)),
                "seats": rng.choice((3, 4, 5)),
                **_joint_story(words, names, colleagues, days, shared, rng),
            },
        )

    def _free(self, rng: Random, day: str, minutes: int) -> str:
        """Return a start at which the user is free, or ten o'clock where the day is full."""
        taken = [(event["start"], event["end"]) for event in self.state.scan("events")]
        starts = free_starts(day, minutes, taken, self.now)
        return rng.choice(starts) if starts else f"{day}T10:00"

    @proposals("find_colleague")
    def propose_colleagues(self, _rng: Random) -> Proposals:
        """People to meet, and somebody whom an earlier result names."""
        first, second, third = self.story["met"]
        yield {"name": first}
        yield {"name": second}
        # Beside a help desk most names are those of customers, beside a practice those of doctors.
        named = beside(self.story, "support") or beside(self.story, "clinic")
        yield {"name": third if named else BOUND}

    @proposals("list_events")
    def propose_days(self, _rng: Random) -> Proposals:
        """The next two days, and a day that an earlier result names."""
        days = self.story["days"]
        yield {"date": days[0]}
        if not beside(self.story, "smart_home"):  # at home in the morning only today counts
            yield {"date": self.story.get("journey", days[1])}
        yield {"date": BOUND}

    @proposals("get_event")
    def propose_looks(self, _rng: Random) -> Proposals:
        """Any event."""
        yield {}

    @proposals("find_common_slot")
    def propose_slots(self, _rng: Random) -> Proposals:
        """On two days of the week, or on a day that an earlier result names."""
        days, duration = self.story["days"], self.story["duration"]
        yield {"date": days[1], "duration": duration}
        yield {"date": days[2], "duration": duration}
        yield {"date": BOUND, "duration": duration}

    @proposals("create_calendar_event")
    def propose_events(self, rng: Random) -> Proposals:
        """At a time found before, or at one that the user names."""
        story, duration = self.story, self.story["duration"]
        # Where another domain yields moments too, the title fits both a meeting and such a moment.
        title = story.get("joint_title") or story["titles"][0]
        yield {"title": title, "start": BOUND, "duration": duration}
        day = story["days"][0 if beside(story, "smart_home") else 3]
        start = self._free(rng, day, duration)
        yield {"title": story["titles"][1], "start": start, "duration": duration}
        start, place = self._free(rng, story["days"][0], 60), story["place"]
        if "journey" in story:
            start, place = f"{story['journey']}T{rng.choice(('18:00', '18:30'))}", "the hotel lobby"
        yield {"title": story["titles"][2], "start": start, "duration": 60, "place": place}

    @proposals("reschedule_event")
    def propose_moves(self, rng: Random) -> Proposals:
        """To a time found before, or to one that the user names."""
        if "joint_title" not in self.story:
            yield {"start": BOUND}
        yield {"start": self._free(rng, self.story["days"][2], 90)}

    @proposals("invite_to_event")
    def propose_invitations(self, _rng: Random) -> Proposals:
        """Anybody to anything."""
        yield {}

    @proposals("find_free_rooms")
    def propose_rooms(self, rng: Random) -> Proposals:
        """For a time found before, or for one that the user names."""
        story, duration = self.story, self.story["duration"]
        equipment = rng.choice(["screen", "whiteboard", "video"])
        if not beside(story, "clinic"):  # nobody meets colleagues while at the doctor's
            yield {"start": BOUND, "duration": duration, "seats": story["seats"]}
            yield {"start": BOUND, "duration": 60, "seats": story["seats"], "equipment": equipment}
        start = f"{story['days'][1]}T{rng.choice(['10:00', '11:30', '14:00', '15:30'])}"
        yield {"start": start, "duration": duration, "seats": story["seats"] + 3}

    @proposals("book_room")
    def propose_bookings(self, _rng: Random) -> Proposals:
        """Any free room for any event."""
        yield {}

    @proposals("set_event_reminder")
    def propose_reminders(self, rng: Random) -> Proposals:
        """Shortly before, and well before."""
        yield {"lead_time": rng.choice((10, 15, 20, 30))}
        yield {"lead_time": rng.choice((45, 60, 90, 120))}

    @proposals("list_tasks")
    def propose_lists(self, _rng: Random) -> Proposals:
        """All, or one project's."""
        yield {}
        for project in self.story["projects"]:
            yield {"project": project}

    @proposals("schedule_task")
    def propose_work(self, _rng: Random) -> Proposals:
        """On the next days, or on a day that an earlier result names."""
        for day in self.story["days"][:2]:
            yield {"date": day}
        if "journey" not in self.story:  # by then most tasks are overdue
            yield {"date": BOUND}


def _working_days(today: date, number: int) -> list[str]:
    days: list[str] = []
    while len(days) < number:
        if today.weekday() < 5:
            days.append(today.isoformat())
        today += timedelta(days=1)
    return days


def _joint_events(words: Any, colleagues: Table, days: list[str], shared: Shared, rng: Random) -> Table:
    """Give the second week an event a day, and the days of a journey one at its place."""
    joint, story = words["joint"], shared.get("story", {})
    plans = [
        (title, f"{day}T{rng.choice(('10:00', '13:30', '15:00'))}", "to be announced")
        for title, day in zip(rng.sample(joint["meetings"], len(days) - 5), days[5:], strict=True)
    ]
    if "out" in story:
        words_out, words_back = joint["journey"]["out"], joint["journey"]["back"]
        place = f"the hotel in {story['there']}"
        plans.append((rng.choice(words_out).format(city=story["there"]), f"{story['out']}T20:00", place))
        plans.append((rng.choice(words_back), f"{story['back']}T{rng.choice(('08:00', '08:30'))}", place))
    events: Table = {}
    for title, start, place in plans:
        event_id = Environment.new_id("evt", title, start)
        events[event_id] = {
            "event_id": event_id,
            "title": title,
            "organiser": rng.choice([row["name"] for row in colleagues.values()][:4]),
            "start": start,
            "end": later(start, rng.choice((45, 60, 90))),
            "place": place,
            "room_id": "",
            "invited": {},
            "reminder": 0,
            "moved_on": "",
        }
    return events


def _joint_story(
    words: Any, names: list[str], colleagues: Table, days: list[str], shared: Shared | None, rng: Random
) -> dict[str, Any]:
    """Return what the story of a scenario of several domains adds; nothing for one of a single domain."""
    if shared is None:
        return {}
    story, others = shared.get("story", {}), shared.get("beside", ())
    added = meet(shared, names[1:], {row["name"]: row["email"] for row in colleagues.values()})
    if "out" in story:
        added["journey"] = story["out"]
        added["joint_title"] = rng.choice(words["joint"]["titles"]["travel"]).format(person=names[1])
    elif "smart_home" in others:
        added["joint_title"] = rng.choice(words["joint"]["titles"]["smart_home"])
        added["days"] = days[:4]
    elif "clinic" in others:
        added["joint_title"] = rng.choice(words["joint"]["titles"]["clinic"])
    return added


def _colleagues(words: Any, names: list[str], board: str, rng: Random, shared: Shared | None) -> Table:
    """Make a small hierarchy: the last two lead the others, and report to somebody outside the directory."""
    leaders, colleagues = names[-2:], {}
    for name in names:
        colleague_id = Environment.new_id("col", name)
        colleagues[colleague_id] = {
            "colleague_id": colleague_id,
            "name": name,
            "email": mail_of(name, "example.com", shared),
            "team": rng.choice(words["teams"]),
            "manager": board if name in leaders else rng.choice(leaders),
        }
    return colleagues


def _blocks(rng: Random) -> list[list[str]]:
    """Return two or three busy times of a day."""
    hours = sorted(rng.sample(range(9, 18), rng.randint(2, 3)))
    return [[f"{hour:02d}:{rng.choice(('00', '30'))}", f"{hour + 1:02d}:00"] for hour in hours]


def _events(words: Any, colleagues: Table, days: list[str], rng: Random) -> Table:
    """Give every day three or four events, called by colleagues, with up to three more people."""
    titles = iter(rng.sample(words["meetings"], len(words["meetings"])))
    events: Table = {}
    for day in days:
        for hour in sorted(rng.sample((9, 10, 11, 13, 14, 15, 16), rng.randint(3, 4))):
            title, start = next(titles), f"{day}T{hour:02d}:{rng.choice(('00', '00', '30'))}"
            organiser, *others = rng.sample(list(colleagues), rng.randint(1, 3))
            event_id = Environment.new_id("evt", title, start)
            # At most half an hour from a half hour on: two events never overlap.
            minutes = 30 if start.endswith("30") else rng.choice((30, 45, 60))
            events[event_id] = {
                "event_id": event_id,
                "title": title,
                "organiser": colleagues[organiser]["name"],
                "start": start,
                "end": later(start, minutes),
                "place": "to be announced" if rng.random() < 0.6 else rng.choice(words["places"]),
                "room_id": "",
                "invited": {other: rng.choice(("accepted", "tentative")) for other in others},
                "reminder": 0,
                "moved_on": "",
            }
    return events


def _rooms(words: Any, days: list[str], rng: Random) -> tuple[Table, Table]:
    """Make eight rooms, two of them large, and two or three bookings a day by other people."""
    rooms: Table = {}
    for place, name in enumerate(rng.sample(words["rooms"], 8)):
        room_id = Environment.new_id("room", name)
        rooms[room_id] = {
            "room_id": room_id,
            "room": name,
            "floor": rng.randint(1, 6),
            "seats": rng.randint(12, 20) if place < 2 else rng.randint(4, 10),
            "equipment": rng.sample(["screen", "whiteboard", "video"], rng.randint(1, 3)),
        }
    bookings: Table = {}
    for day in days:
        for room_id in rng.sample(list(rooms), rng.randint(2, 3)):
            start = f"{day}T{rng.randint(9, 16):02d}:00"
            booking = {
                "room_id": room_id,
                "event_id": "",
                "start": start,
                "end": later(start, rng.choice((60, 90))),
            }
            bookings[Environment.new_id("rbk", room_id, start)] = booking
    return rooms, bookings


def _tasks(words: Any, projects: list[str], days: list[str], rng: Random) -> Table:
    """Make the tasks of two projects, each due on one of the days."""
    tasks: Table = {}
    for project in projects:
        for task in words["projects"][project]:
            task_id = Environment.new_id("task", project, task)
            tasks[task_id] = {
                "task_id": task_id,
                "task": task,
                "project": project,
                "due": rng.choice(days),
                "effort": rng.choice((30, 45, 60, 90)),
                "scheduled": "",
            }
    return tasks
