"""Making fitness clubs: a timetable of four kinds of classes, coaches and their hours, lockers, a membership."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from planarena.environments.contract import BOUND, Environment, Proposer, Seed
from planarena.environments.domains.shared import (
    Shared,
    beside,
    best_later,
    cast_people,
    day_after,
    in_season,
    keep,
    load_people,
    meet,
)  # fmt: skip
from planarena.environments.state import Record

__all__ = ["PROPOSALS", "make_club", "months_after"]

Table = dict[str, Record]
_new_id = Environment.new_id


def months_after(day: str, months: int) -> str:
    """Return the same day so many months later; the 28th stands for those that some months lack."""
    year, month = divmod(12 * int(day[:4]) + int(day[5:7]) - 1 + months, 12)
    return f"{year}-{month + 1:02d}-{min(int(day[8:10]), 28):02d}"


def make_club(texts: Any, rng: Random, shared: Shared | None = None) -> Seed:
    """Make a club and a membership, a pure function of `rng` and `shared`; those known already are the friends."""
    people = load_people()
    moment = (
        f"2026-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}T{rng.choice(('06:40', '12:15', '19:50'))}"
    )
    now = keep(shared, "now", moment)
    given, family = rng.sample(people["given"], 20), rng.sample(people["family"], 20)
    names = [f"{first} {last}" for first, last in zip(given, family, strict=True)]
    user, *friends = cast_people(names[:4], shared)
    staff = [name for name in names[4:] if name not in friends and name != user]
    classes, bookings = _classes(rng, texts, staff[:6], now)
    coaches, hours = _coaches(rng, texts, staff[6:15], now)
    situation = rng.choice(in_season(texts["situations"], now))
    details = {"user": user, "friend": friends[0], "other": friends[1], "coach": staff[6]}
    plan, fee = rng.choice(list(texts["plans"].items()))
    membership = {
        "membership_id": _new_id("mem", user), "plan": plan, "monthly_fee": fee + rng.choice((0, 0.9, 1.9)),
        "renews_on": day_after(now, rng.randint(20, 200)), "passes_left": rng.randint(2, 5), "paused": "",
    }  # fmt: skip
    areas = rng.sample(texts["areas"], 3)
    tables: dict[str, Table] = {
        "classes": classes, "coaches": coaches, "hours": hours, "lessons": {}, "guests": {}, "queue": {},
        "bookings": bookings, "lockers": _lockers(rng, areas),
        "memberships": {membership["membership_id"]: membership},
    }  # fmt: skip
    kinds = sorted({one["kind"] for one in classes.values()})
    story = {
        "kinds": rng.sample(kinds, 3), "focuses": rng.sample(sorted({one["focus"] for one in coaches.values()}), 2),
        "areas": areas[:2], "friends": friends, "days": [day_after(now, ahead) for ahead in rng.sample(range(2, 12), 3)],
        "pause": day_after(now, rng.randint(9, 30)), **meet(shared, friends),
    }  # fmt: skip
    facts = {"now": now, "user_name": user, "friends": friends}
    title, description = (situation[part].format(**details) for part in ("title", "description"))
    return Seed(tables, title, description, facts, story)


def _classes(rng: Random, texts: Any, coaches: list[str], now: str) -> tuple[Table, Table]:
    """Four classes each of four kinds, at different moments, and bookings of three; the first of a kind is neither
    full nor booked, one of the others is full.
    """
    classes, later = Table(), []
    hours = ("07:00", "09:30", "12:15", "17:30", "18:45", "20:00")
    moments = rng.sample([(ahead, hour) for ahead in range(1, 9) for hour in hours], 16)
    for number, kind in enumerate(rng.sample(sorted(texts["classes"]), 4)):
        full = rng.randint(1, 3)
        titles = rng.sample(texts["classes"][kind], 4)
        for place, (ahead, hour) in enumerate(sorted(moments[4 * number :][:4])):
            date = day_after(now, ahead)
            class_id = _new_id("cls", titles[place], date)
            classes[class_id] = {
                "class_id": class_id, "title": titles[place], "kind": kind, "coach": rng.choice(coaches),
                "date": date, "start": f"{date}T{hour}", "duration": rng.choice((30, 45, 50, 60, 75)),
                "places_left": 0 if place == full else rng.choice((1, 2, 3, 4, 6, 9, 14)),
                "waiting": rng.randint(1, 7) if place == full else 0,
            }  # fmt: skip
            later += [class_id] if place not in (0, full) else []
    bookings: Table = {}
    for class_id in rng.sample(later, 3):
        booking_id = _new_id("gbk", class_id)
        booking = {"booking_id": booking_id, "class_id": class_id, "start": classes[class_id]["start"]}
        bookings[booking_id] = booking
    return classes, bookings


def _coaches(rng: Random, texts: Any, staff: list[str], now: str) -> tuple[Table, Table]:
    """Three coaches each for three things; no two have the same rate or rating, nor an hour at the same moment."""
    coaches, hours = Table(), Table()
    ratings = rng.sample(range(31, 50), 9)
    for place, focus in enumerate(rng.sample(texts["focuses"], 3)):
        rates, marks = sorted(rng.sample(range(32, 78, 3), 3)), best_later(ratings[3 * place :][:3])
        for name, rate, rating in zip(staff[3 * place :][:3], rates, marks, strict=True):
            coach_id = _new_id("gco", name)
            coach = {"coach_id": coach_id, "name": name, "focus": focus, "rate": float(rate)}
            coaches[coach_id] = {**coach, "rating": rating / 10}
            for ahead in rng.sample(range(1, 12), rng.randint(3, 4)):
                date = day_after(now, ahead)
                hour_id = _new_id("ghr", coach_id, date)
                start = f"{date}T{rng.choice(('08:00', '10:00', '16:00', '17:00', '19:00'))}"
                hours[hour_id] = {"hour_id": hour_id, "coach_id": coach_id, "start": start, "date": date}
    return coaches, hours


def _lockers(rng: Random, areas: list[str]) -> Table:
    """Four lockers an area; the dearer one has no more room by rule."""
    lockers: Table = {}
    for letter, area in zip("ABC", areas, strict=True):
        sizes = best_later(rng.sample((30, 45, 60, 75, 90, 120), 4))
        prices, numbers = sorted(rng.sample(range(4, 19), 4)), rng.sample(range(11, 99), 4)
        for number, price, litres in zip(numbers, prices, sizes, strict=True):
            locker_id = _new_id("lck", area, number)
            lockers[locker_id] = {
                "locker_id": locker_id, "number": f"{letter}{number}", "area": area, "litres": litres,
                "monthly_price": price + 0.5, "until": "",
            }  # fmt: skip
    return lockers


def _guests(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    first, second = rng.sample(env.story["friends"], 2)
    yield {"friend": first, "date": rng.choice(env.story["days"])}
    yield {"friend": second, "date": BOUND}
    if beside(env.story, "email") or beside(env.story, "calendar"):
        yield {"friend": BOUND, "date": env.story["days"][0]}


def _pauses(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    yield {"from_date": env.story["pause"], "weeks": rng.randint(2, 6)}
    if beside(env.story, "travel") or beside(env.story, "clinic"):
        yield {"from_date": BOUND, "weeks": rng.randint(1, 3)}


PROPOSALS: dict[str, Proposer] = {
    "find_gym_classes": lambda env, _rng: [{"kind": kind} for kind in env.story["kinds"]],
    "book_gym_class": lambda _env, _rng: [{}], "join_class_waiting_list": lambda _env, _rng: [{}],
    "list_gym_bookings": lambda _env, _rng: [{}], "cancel_gym_booking": lambda _env, _rng: [{}],
    "find_gym_coaches": lambda env, _rng: [{"focus": focus} for focus in env.story["focuses"]],
    "list_coach_hours": lambda _env, _rng: [{}], "book_coach_hour": lambda _env, _rng: [{}],
    "view_gym_membership": lambda _env, _rng: [{}], "pause_gym_membership": _pauses, "invite_gym_guest": _guests,
    "find_free_lockers": lambda env, _rng: [{"area": area} for area in env.story["areas"]],
    "rent_gym_locker": lambda _env, rng: [{"months": rng.choice((1, 3, 6))}],
}  # fmt: skip
