"""Initial worlds of the calendar domain, and what its users would ask for."""

from __future__ import annotations

from datetime import date, timedelta
from random import Random
from typing import Any

from planarena.environments.contract import BOUND, Environment, Proposer, Seed, all_bound
from planarena.environments.domains import shared as common
from planarena.environments.domains.shared import Rows, Table, beside, keyed, later
from planarena.environments.state import Record

__all__ = ["PROPOSALS", "make_event", "make_world"]

_new_id = Environment.new_id
_EQUIPMENT = ["screen", "whiteboard", "video"]


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
    monday = date(2026, 1, 5) + timedelta(days=7 * rng.randrange(46) + rng.randrange(5))
    now = common.keep(shared, "now", f"{monday}T{rng.choice(['08:00', '08:15', '08:30', '08:45'])}")
    days = [common.working_day(common.day_after(now, -1), number) for number in range(1, 13)]
    colleagues = keyed("colleague_id", _colleagues(words, names[1:9], board, rng, shared))
    busy = {f"{key}.{day}": {"blocks": _blocks(rng)} for key in colleagues for day in days[1:5]}
    events = keyed("event_id", _events(words, colleagues, days[:5], rng))
    if shared is not None:
        journey = shared.get("story", {})
        events |= keyed("event_id", _joint_events(words["joint"], names[1:5], days[5:], journey, rng))
    projects = rng.sample(sorted(words["projects"]), 2)
    rooms = keyed("room_id", _rooms(words, rng))
    bookings = _bookings(list(rooms), days[:5], rng)
    situation = rng.choice(common.in_season(words["situations"], now))
    # A parcel takes a week: time on the day of its delivery is of use for tasks that are due later.
    due = days[5 if shared and "shopping" in shared.get("beside", ()) else 2 :]
    tables = {
        "colleagues": colleagues, "busy": busy, "events": events, "rooms": rooms, "bookings": bookings,
        "tasks": keyed("task_id", _tasks(words, projects, due, rng)),
    }  # fmt: skip
    details = {"user": user, "project": projects[0], "colleague": names[1]}
    weekday = date.fromisoformat(now[:10]).strftime("%A")
    facts = {"now": now, "user_name": user, "weekday": weekday, "projects": projects}
    story = {
        "days": days[1:5], "met": names[1:4], "projects": projects,
        "titles": rng.sample(words["new_meetings"], 3), "place": rng.choice(words["places"]),
        "duration": rng.choice((30, 45, 60)), "seats": rng.choice((3, 4, 5)),
        **common.meet(shared, names[1:], {row["name"]: row["email"] for row in colleagues.values()}),
        **_joint_story(words["joint"]["titles"], days, shared or {}, rng),
    }  # fmt: skip
    return Seed(tables, *common.caption(situation, details), facts, story)


def _joint_events(joint: Any, hosts: list[str], days: list[str], story: Any, rng: Random) -> Rows:
    """Give the second week an event a day, and the days of a journey one at its place."""
    plans = [
        (title, f"{day}T{rng.choice(('10:00', '13:30', '15:00'))}", "to be announced")
        for title, day in zip(rng.sample(joint["meetings"], len(days)), days, strict=True)
    ]
    if "out" in story:
        city, place = story["there"], f"the hotel in {story['there']}"
        plans.append((rng.choice(joint["journey"]["out"]).format(city=city), f"{story['out']}T20:00", place))
        back = rng.choice(joint["journey"]["back"])
        plans.append((back, f"{story['back']}T{rng.choice(('08:00', '08:30'))}", place))
    for title, start, place in plans:
        yield make_event(title, rng.choice(hosts), start, rng.choice((45, 60, 90)), place)


def _joint_story(titles: Any, days: list[str], shared: common.Shared, rng: Random) -> dict[str, Any]:
    """Return what the other domain of a scenario adds to the story."""
    if "out" in (journey := shared.get("story", {})):
        return {"journey": journey["out"], "joint_title": rng.choice(titles["travel"])}
    if beside(shared, "smart_home"):
        return {"joint_title": rng.choice(titles["smart_home"]), "days": days[:4]}
    return {"joint_title": rng.choice(titles["clinic"])} if beside(shared, "clinic") else {}


def _colleagues(words: Any, names: list[str], board: str, rng: Random, shared: common.Shared | None) -> Rows:
    """Make a small hierarchy: the last two lead the others, and report to somebody outside the directory."""
    for name in names:
        yield {
            "colleague_id": _new_id("col", name), "name": name,
            "email": common.mail_of(name, "example.com", shared), "team": rng.choice(words["teams"]),
            "manager": board if name in names[-2:] else rng.choice(names[-2:]),
        }  # fmt: skip


def _blocks(rng: Random) -> list[list[str]]:
    """Return two or three busy times of a day."""
    hours = sorted(rng.sample(range(9, 18), rng.randint(2, 3)))
    return [[f"{hour:02d}:{rng.choice(('00', '30'))}", f"{hour + 1:02d}:00"] for hour in hours]


def _events(words: Any, colleagues: Table, days: list[str], rng: Random) -> Rows:
    """Give every day three or four events, called by colleagues, with up to three more people."""
    titles = iter(rng.sample(words["meetings"], len(words["meetings"])))
    for day in days:
        for hour in sorted(rng.sample((9, 10, 11, 13, 14, 15, 16), rng.randint(3, 4))):
            title, start = next(titles), f"{day}T{hour:02d}:{rng.choice(('00', '00', '30'))}"
            organiser, *others = rng.sample(list(colleagues), rng.randint(1, 3))
            # At most half an hour from a half hour on: two events never overlap.
            minutes = 30 if start.endswith("30") else rng.choice((30, 45, 60))
            place = "to be announced" if rng.random() < 0.6 else rng.choice(words["places"])
            invited = {other: rng.choice(("accepted", "tentative")) for other in others}
            yield make_event(title, colleagues[organiser]["name"], start, minutes, place, invited)


def _rooms(words: Any, rng: Random) -> Rows:
    """Make eight rooms, two of them large."""
    for place, name in enumerate(rng.sample(words["rooms"], 8)):
        yield {
            "room_id": _new_id("room", name), "room": name, "floor": rng.randint(1, 6),
            "seats": rng.randint(12, 20) if place < 2 else rng.randint(4, 10),
            "equipment": rng.sample(_EQUIPMENT, rng.randint(1, 3)),
        }  # fmt: skip


def _bookings(room_ids: list[str], days: list[str], rng: Random) -> Table:
    """Make two or three bookings a day by other people."""
    bookings = Table()
    for day in days:
        for room_id in rng.sample(room_ids, rng.randint(2, 3)):
            start = f"{day}T{rng.randint(9, 16):02d}:00"
            booking = {"room_id": room_id, "event_id": "", "start": start}
            bookings[_new_id("rbk", room_id, start)] = {**booking, "end": later(start, rng.choice((60, 90)))}
    return bookings


def _tasks(words: Any, projects: list[str], days: list[str], rng: Random) -> Rows:
    """Make the tasks of two projects, few enough to be read out, each due on one of the days."""
    for project, most in zip(projects, (3, 2), strict=True):
        for task in rng.sample(words["projects"][project], most):
            yield {
                "task_id": _new_id("task", project, task), "task": task, "project": project,
                "due": rng.choice(days), "effort": rng.choice((30, 45, 60, 90)), "scheduled": "",
            }  # fmt: skip


def _free(env: Any, rng: Random, day: str, minutes: int) -> str:
    """Return a start at which the user is free, or ten o'clock where the day is full."""
    starts = env.free_starts(day, minutes)
    return rng.choice(starts) if starts else f"{day}T10:00"


def _names(env: Any, _rng: Random) -> Rows:
    # Beside a help desk most names are those of customers, beside a practice those of doctors.
    named = beside(env.story, "support") or beside(env.story, "clinic")
    *two, third = env.story["met"]
    yield from ({"name": name} for name in (*two, third if named else BOUND))


def _days(env: Any, _rng: Random) -> Rows:
    days = env.story["days"]
    yield {"date": days[0]}
    if not beside(env.story, "smart_home"):  # at home in the morning only today counts
        yield {"date": env.story.get("journey", days[1])}
    yield {"date": BOUND}


def _new_events(env: Any, rng: Random) -> Rows:
    story, duration = env.story, env.story["duration"]
    # Where another domain yields moments too, the title fits both a meeting and such a moment.
    title = story.get("joint_title") or story["titles"][0]
    yield {"title": title, "start": BOUND, "duration": duration}
    start = _free(env, rng, story["days"][0 if beside(story, "smart_home") else 3], duration)
    yield {"title": story["titles"][1], "start": start, "duration": duration}
    start, place = _free(env, rng, story["days"][0], 60), story["place"]
    if "journey" in story:
        start, place = f"{story['journey']}T{rng.choice(('18:00', '18:30'))}", "the hotel lobby"
    yield {"title": story["titles"][2], "start": start, "duration": 60, "place": place}


def _moves(env: Any, rng: Random) -> Rows:
    if "joint_title" not in env.story:
        yield {"start": BOUND}
    yield {"start": _free(env, rng, env.story["days"][2], 90)}


def _rooms_wanted(env: Any, rng: Random) -> Rows:
    story, seats, equipment = env.story, env.story["seats"], rng.choice(_EQUIPMENT)
    # Nobody meets colleagues while at the doctor's, nor at the hour in which a flight leaves.
    if not beside(story, "clinic") and "journey" not in story:
        yield {"start": BOUND, "duration": story["duration"], "seats": seats}
        yield {"start": BOUND, "duration": 60, "seats": seats, "equipment": equipment}
    start = f"{story['days'][1]}T{rng.choice(['10:00', '11:30', '14:00', '15:30'])}"
    yield {"start": start, "duration": story["duration"], "seats": seats + 3}


PROPOSALS: dict[str, Proposer] = {
    "find_colleague": _names, "list_events": _days, "create_calendar_event": _new_events,
    "find_common_slot": lambda env, _rng: [
        {"date": day, "duration": env.story["duration"]} for day in (*env.story["days"][1:3], BOUND)
    ],
    "reschedule_event": _moves, "find_free_rooms": _rooms_wanted,
    "set_event_reminder": lambda _env, rng: [
        {"lead_time": rng.choice(choices)} for choices in ((10, 15, 20, 30), (45, 60, 90, 120))
    ],
    "list_tasks": lambda env, _rng: [{}, *({"project": project} for project in env.story["projects"])],
    "schedule_task": lambda env, _rng: [{"date": day} for day in env.story["days"][:2]],
    **all_bound("open_event", "invite_to_event", "book_room"),
}  # fmt: skip
