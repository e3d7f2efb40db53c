"""Making a teacher's courses: pupils, tests with their marks, absences, and a parents' evening."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from random import Random
from typing import Any

from planarena.environments.contract import BOUND, Environment, Proposer, Seed
from planarena.environments.domains.shared import (
    Shared,
    cast_people,
    day_after,
    in_season,
    keep,
    load_people,
    mail_of,
    meet,
)  # fmt: skip
from planarena.environments.state import Record

__all__ = ["PROPOSALS", "make_school"]

Table = dict[str, Record]
_new_id = Environment.new_id


def _school_day(now: str, ahead: int) -> str:
    """Return a school day about so many days from now, further away where that is on a weekend."""
    day = day_after(now, ahead)
    over = date.fromisoformat(day).weekday() - 4
    return day if over <= 0 else day_after(day, 3 - over if ahead > 0 else -over)


def make_school(texts: Any, rng: Random, shared: Shared | None = None) -> Seed:
    """Make a teacher's courses, a pure function of `rng` and `shared`; those known already are parents."""
    people = load_people()
    month = rng.choice((2, 3, 4, 5, 6, 10, 11))
    moment = f"2026-{month:02d}-{rng.randint(1, 28):02d}T{rng.choice(('07:30', '13:45', '16:10'))}"
    now = keep(shared, "now", moment)
    given, family = rng.sample(people["given"], 40), rng.sample(people["family"], 20)
    user, *parents = cast_people([f"{a} {b}" for a, b in zip(given[:16], family, strict=False)], shared)
    subjects = rng.sample(sorted(texts["tests"]), 3)
    courses = [f"{one} {form}" for one, form in zip(subjects, rng.sample(texts["forms"], 3), strict=True)]
    pupils, tests, marks, absences = Table(), Table(), Table(), Table()
    grown = {name.split(" ")[0] for name in (user, *parents)}
    firsts = iter(one for one in given[16:] if one not in grown)
    for number, (course, subject) in enumerate(zip(courses, subjects, strict=True)):
        members = []
        for parent in parents[5 * number :][:5]:
            name = f"{next(firsts)} {parent.rsplit(' ', 1)[-1]}"
            pupil_id = _new_id("pup", name)
            email = mail_of(parent, texts["mail_domain"], shared)
            pupil = {"pupil_id": pupil_id, "name": name, "course": course, "parent": parent, "email": email}
            members.append(pupil)
            pupils[pupil_id] = pupil
        _tests(rng, texts["tests"][subject], course, members, tests, marks, now)
        for pupil, age in zip(rng.sample(members, 4), rng.sample(range(1, 25), 4), strict=True):
            day = _school_day(now, -age)
            absence_id = _new_id("abs", pupil["pupil_id"], day)
            absences[absence_id] = {
                "absence_id": absence_id, "pupil_id": pupil["pupil_id"], "pupil": pupil["name"], "date": day,
                "lessons": rng.randint(1, 6), "state": rng.choice(("open", "open", "excused")),
            }  # fmt: skip
    slots, talks = _evening(rng, texts, pupils, now)
    situation = rng.choice(in_season(texts["situations"], now))
    some = list(pupils.values())
    details = {"user": user, "course": courses[0], "other": courses[1], "pupil": some[0]["name"]}
    tables: dict[str, Table] = {
        "courses": {course: {"course": course} for course in courses}, "pupils": pupils, "tests": tests,
        "marks": marks, "absences": absences, "slots": slots, "talks": talks,
    }  # fmt: skip
    story = {
        "courses": courses, "pupils": [one["name"] for one in rng.sample(some, 4)],
        "new": {course: rng.choice(texts["next"][one]) for course, one in zip(courses, subjects, strict=True)},
        "days": [_school_day(now, ahead) for ahead in rng.sample(range(8, 27), 3)],
        "past": [_school_day(now, -age) for age in rng.sample(range(1, 6), 2)],
        **meet(shared, (), {one["parent"]: one["email"] for one in some}, parents[:6]),
    }  # fmt: skip
    facts = {"now": now, "user_name": user, "courses": courses}
    title, description = (situation[part].format(**details) for part in ("title", "description"))
    return Seed(tables, title, description, facts, story)


def _tests(
    rng: Random, titles: list[str], course: str, members: list[Record], tests: Table, marks: Table, now: str
) -> None:
    """Add three tests of a course, in each of which no two have the same points; one or two missed the last one."""
    absent = rng.sample(members, rng.choice((1, 1, 2)))
    for place, title in enumerate(rng.sample(titles, 3)):
        test_id = _new_id("tst", course, title)
        day = _school_day(now, -3 - 9 * place - rng.randint(0, 5))
        tests[test_id] = {"test_id": test_id, "course": course, "title": title, "date": day}
        for pupil, points in zip(members, rng.sample(range(38, 100), len(members)), strict=True):
            if place or pupil not in absent:
                mark_id = _new_id("mrk", test_id, pupil["pupil_id"])
                mark = {"mark_id": mark_id, "test_id": test_id, "pupil_id": pupil["pupil_id"]}
                marks[mark_id] = {**mark, "pupil": pupil["name"], "points": points}


def _evening(rng: Random, texts: Any, pupils: Table, now: str) -> tuple[Table, Table]:
    """Eleven times on one evening, every ten minutes, of which four are taken."""
    slots, talks = Table(), Table()
    day, room = _school_day(now, rng.randint(4, 16)), rng.choice(texts["rooms"])
    for place in range(11):
        start = f"{day}T{17 + place // 6:02d}:{place % 6}0"
        slot_id = _new_id("slt", start)
        slots[slot_id] = {"slot_id": slot_id, "start": start, "room": room}
    for slot_id, pupil_id in zip(rng.sample(sorted(slots), 4), rng.sample(sorted(pupils), 4), strict=True):
        talk_id = _new_id("tlk", pupil_id)
        talks[talk_id] = {"talk_id": talk_id, "slot_id": slot_id, "pupil_id": pupil_id}
    return slots, talks


def _each_course(env: Any, _rng: Random) -> list[dict[str, Any]]:
    return [{"course": course} for course in env.story["courses"]]


def _points(_env: Any, rng: Random) -> list[dict[str, Any]]:
    return [{"points": points} for points in rng.sample(range(45, 98), 2)]


def _announcements(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    for course, day in zip(rng.sample(env.story["courses"], 2), env.story["days"], strict=False):
        yield {"course": course, "title": env.story["new"][course], "date": day}


def _reasons(_env: Any, rng: Random) -> list[dict[str, Any]]:
    return [
        {"reason": reason}
        for reason in rng.sample(("illness", "a doctor's appointment", "family matters", "a late bus"), 2)
    ]


PROPOSALS: dict[str, Proposer] = {
    "list_course_pupils": _each_course, "list_course_tests": _each_course, "list_course_absences": _each_course,
    "find_pupil": lambda env, _rng: [{"name": name} for name in (*env.story["pupils"][:2], BOUND)],
    "show_test_marks": lambda _env, _rng: [{}], "enter_test_mark": _points, "correct_test_mark": _points,
    "set_course_test": _announcements, "excuse_pupil_absence": _reasons,
    "record_pupil_absence": lambda env, rng: [
        {"date": day, "lessons": rng.randint(1, 6)} for day in env.story["past"]
    ],
    "view_parents_evening": lambda _env, _rng: [{}], "book_parent_talk": lambda _env, _rng: [{}],
    "move_parent_talk": lambda _env, _rng: [{}],
}  # fmt: skip
