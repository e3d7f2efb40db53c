"""Initial worlds of the calendar domain, and what its users would ask for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from random import Random
from typing import Any

from planarena.environments.contract import BOUND, Environment, Proposer, Seed
from planarena.environments.domains import shared as common
from planarena.environments.domains.shared import beside, later
from planarena.environments.state import Record

__all__ = ["PROPOSALS", "free_starts", "make_event", "make_world"]

Table = dict[str, Record]
_new_id = Environment.new_id
_EQUIPMENT = ["screen", "whiteboard", "video"]


def free_starts(day: str, minutes: int, taken: Iterable[tuple[str, str]], after: str) -> list[str]:
    """Return the half hours of a working day (9 to 18) from which so many minutes are free.

    Args:
        day: The date.
        minutes: The length of the slot.
        taken: (start, end) of what is in the way.
        after: No slot starts at or before this moment.
    """
    starts = []
    for step in range(18):
        start = later(f"{day}T09:00", 30 * step)
        end = later(start, minutes)
        if start > after and end <= f"{day}T18:00" and not any(a < end and b > start for a, b in taken):
            starts.append(start)
    return starts


def make_event(
    title: str, organiser: str, start: str, minutes: int, place: str, invited: dict[str, str] | None = None
) -> Record:
    """Return an event that nobody is reminded of and that has no room yet."""
    return {
        "event_id": _new_id("evt", title, start), "title": title, "organiser": organiser, "start": start,
        "end": later(start, minutes), "place": place, "room_id": "", "invited": invited or {}, "reminder": 0,
        "moved_on": "",
    }  # fmt: skip


def make_world(words: Any, rng: Random, shared: common.Shared | None = None) -> Seed:
    """Make colleagues, the events of five working days, busy times for four, rooms with bookings, tasks."""
    user, *_, board = names = common.draw_people(rng, 10, shared)
    today = date(2026, 1, 5) + timedelta(days=7 * rng.randrange(46) + rng.randrange(5))
    now = common.keep(shared, "now", f"{today}T{rng.choice(['08:00', '08:15', '08:30', '08:45'])}")
    today = date.fromisoformat(now[:10])
    days = [common.working_day(common.day_after(now, -1), number) for number in range(1, 13)]
    colleagues = _colleagues(words, names[1:9], board, rng, shared)
    busy = {f"{key}.{day}": {"blocks": _blocks(rng)} for key in colleagues for day in days[1:5]}
    events = _events(words, colleagues, days[:5], rng)
    others = () if shared is None else shared.get("beside", ())
    if shared is not None:
        events |= _joint_events(words["joint"], names[1:5], days, shared.get("story", {}), rng)
    projects = rng.sample(sorted(words["projects"]), 2)
    rooms, bookings = _rooms(words, days[:5], rng)
    situation = rng.choice(common.in_season(words["situations"], now))
    # A parcel takes a week: time on the day of its delivery is of use for tasks that are due later.
    tasks = _tasks(words, projects, days[5 if "shopping" in others else 2 :], rng)
    tables = {
        "colleagues": colleagues, "busy": busy, "events": events, "rooms": rooms, "bookings": bookings,
        "tasks": tasks,
    }  # fmt: skip
    details = {"user": user, "project": projects[0], "colleague": names[1]}
    title, description = (situation[part].format(**details) for part in ("title", "description"))
    facts = {"now": now, "user_name": user, "weekday": today.strftime("%A"), "projects": projects}
    story = {
        "days": days[1:5], "met": names[1:4], "projects": projects,
        "titles": rng.sample(words["new_meetings"], 3), "place": rng.choice(words["places"]),
        "duration": rng.choice((30, 45, 60)), "seats": rng.choice((3, 4, 5)),
        **common.meet(shared, names[1:], {row["name"]: row["email"] for row in colleagues.values()}),
    }  # fmt: skip
    if shared is not None:
        story |= _joint_story(words, days, shared, rng)
    return Seed(tables, title, description, facts, story)


def _joint_events(joint: Any, hosts: list[str], days: list[str], story: Any, rng: Random) -> Table:
    """Give the second week an event a day, and the days of a journey one at its place."""
    plans = [
        (title, f"{day}T{rng.choice(('10:00', '13:30', '15:00'))}", "to be announced")
        for title, day in zip(rng.sample(joint["meetings"], len(days) - 5), days[5:], strict=True)
    ]
    if "out" in story:
        words_out, words_back = joint["journey"]["out"], joint["journey"]["back"]
        place = f"the hotel in {story['there']}"
        plans.append((rng.choice(words_out).format(city=story["there"]), f"{story['out']}T20:00", place))
        plans.append((rng.choice(words_back), f"{story['back']}T{rng.choice(('08:00', '08:30'))}", place))
    events = [
        make_event(title, rng.choice(hosts), start, rng.choice((45, 60, 90)), place)
        for title, start, place in plans
    ]
    return {event["event_id"]: event for event in events}


def _joint_story(words: Any, days: list[str], shared: common.Shared, rng: Random) -> dict[str, Any]:
    """Return what the other domain of a scenario adds to the story."""
    titles = words["joint"]["titles"]
    if "out" in shared.get("story", {}):
        return {"journey": shared["story"]["out"], "joint_title": rng.choice(titles["travel"])}
    if "smart_home" in shared.get("beside", ()):
        return {"joint_title": rng.choice(titles["smart_home"]), "days": days[:4]}
    return {"joint_title": rng.choice(titles["clinic"])} if "clinic" in shared.get("beside", ()) else {}


def _colleagues(words: Any, names: list[str], board: str, rng: Random, shared: common.Shared | None) -> Table:
    """Make a small hierarchy: the last two lead the others, and report to somebody outside the directory."""
    leaders, colleagues = names[-2:], {}
    for name in names:
        colleague_id = _new_id("col", name)
        colleagues[colleague_id] = {
            "colleague_id": colleague_id, "name": name, "email": common.mail_of(name, "example.com", shared),
            "team": rng.choice(words["teams"]), "manager": board if name in leaders else rng.choice(leaders),
        }  # fmt: skip
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
            # At most half an hour from a half hour on: two events never overlap.
            minutes = 30 if start.endswith("30") else rng.choice((30, 45, 60))
            place = "to be announced" if rng.random() < 0.6 else rng.choice(words["places"])
            invited = {other: rng.choice(("accepted", "tentative")) for other in others}
            event = make_event(title, colleagues[organiser]["name"], start, minutes, place, invited)
            events[event["event_id"]] = event
    return events


def _rooms(words: Any, days: list[str], rng: Random) -> tuple[Table, Table]:
    """Make eight rooms, two of them large, and two or three bookings a day by other people."""
    rooms: Table = {}
    for place, name in enumerate(rng.sample(words["rooms"], 8)):
        room_id = _new_id("room", name)
        rooms[room_id] = {
            "room_id": room_id, "room": name, "floor": rng.randint(1, 6),
            "seats": rng.randint(12, 20) if place < 2 else rng.randint(4, 10),
            "equipment": rng.sample(_EQUIPMENT, rng.randint(1, 3)),
        }  # fmt: skip
    bookings: Table = {}
    for day in days:
        for room_id in rng.sample(list(rooms), rng.randint(2, 3)):
            start = f"{day}T{rng.randint(9, 16):02d}:00"
            end = later(start, rng.choice((60, 90)))
            booking = {"room_id": room_id, "event_id": "", "start": start, "end": end}
            bookings[_new_id("rbk", room_id, start)] = booking
    return rooms, bookings


def _tasks(words: Any, projects: list[str], days: list[str], rng: Random) -> Table:
    """Make the tasks of two projects, each due on one of the days."""
    tasks: Table = {}
    # Few enough to be read out.
    for project, most in zip(projects, (3, 2), strict=True):
        for task in rng.sample(words["projects"][project], most):
            task_id = _new_id("task", project, task)
            tasks[task_id] = {
                "task_id": task_id, "task": task, "project": project, "due": rng.choice(days),
                "effort": rng.choice((30, 45, 60, 90)), "scheduled": "",
            }  # fmt: skip
    return tasks


def _free(env: Any, rng: Random, day: str, minutes: int) -> str:
    """Return a start at which the user is free, or ten o'clock where the day is full."""
    taken = [(event["start"], event["end"]) for event in env.state.scan("events")]
    starts = free_starts(day, minutes, taken, env.now)
    return rng.choice(starts) if starts else f"{day}T10:00"


def _names(env: Any, _rng: Random) -> Iterator[dict[str, Any]]:
    *two, third = env.story["met"]
    yield from ({"name": name} for name in two)
    # Beside a help desk most names are those of customers, beside a practice those of doctors.
    named = beside(env.story, "support") or beside(env.story, "clinic")
    yield {"name": third if named else BOUND}


def _days(env: Any, _rng: Random) -> Iterator[dict[str, Any]]:
    days = env.story["days"]
    yield {"date": days[0]}
    if not beside(env.story, "smart_home"):  # at home in the morning only today counts
        yield {"date": env.story.get("journey", days[1])}
    yield {"date": BOUND}


def _new_events(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    story, duration = env.story, env.story["duration"]
    # Where another domain yields moments too, the title fits both a meeting and such a moment.
    title = story.get("joint_title") or story["titles"][0]
    yield {"title": title, "start": BOUND, "duration": duration}
    day = story["days"][0 if beside(story, "smart_home") else 3]
    start = _free(env, rng, day, duration)
    yield {"title": story["titles"][1], "start": start, "duration": duration}
    start, place = _free(env, rng, story["days"][0], 60), story["place"]
    if "journey" in story:
        start, place = f"{story['journey']}T{rng.choice(('18:00', '18:30'))}", "the hotel lobby"
    yield {"title": story["titles"][2], "start": start, "duration": 60, "place": place}


def _moves(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    if "joint_title" not in env.story:
        yield {"start": BOUND}
    yield {"start": _free(env, rng, env.story["days"][2], 90)}


def _rooms_wanted(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    story, duration = env.story, env.story["duration"]
    equipment = rng.choice(_EQUIPMENT)
    # Nobody meets colleagues while at the doctor's, nor at the hour in which a flight leaves.
    if not beside(story, "clinic") and "journey" not in story:
        yield {"start": BOUND, "duration": duration, "seats": story["seats"]}
        yield {"start": BOUND, "duration": 60, "seats": story["seats"], "equipment": equipment}
    start = f"{story['days'][1]}T{rng.choice(['10:00', '11:30', '14:00', '15:30'])}"
    yield {"start": start, "duration": duration, "seats": story["seats"] + 3}


PROPOSALS: dict[str, Proposer] = {
    "find_colleague": _names, "list_events": _days, "open_event": lambda _env, _rng: [{}],
    "find_common_slot": lambda env, _rng: [
        {"date": day, "duration": env.story["duration"]} for day in (*env.story["days"][1:3], BOUND)
    ],
    "create_calendar_event": _new_events, "reschedule_event": _moves,
    "invite_to_event": lambda _env, _rng: [{}], "find_free_rooms": _rooms_wanted,
    "book_room": lambda _env, _rng: [{}],
    "set_event_reminder": lambda _env, rng: [
        {"lead_time": rng.choice(choices)} for choices in ((10, 15, 20, 30), (45, 60, 90, 120))
    ],
    "list_tasks": lambda env, _rng: [{}, *({"project": project} for project in env.story["projects"])],
    "schedule_task": lambda env, _rng: [{"date": day} for day in env.story["days"][:2]],
}  # fmt: skip
