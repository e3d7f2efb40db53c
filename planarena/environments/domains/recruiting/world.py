"""Making a recruiting desk: four openings with candidates, interviewers with free times, interviews and offers."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from random import Random
from typing import Any, Literal

from planarena.environments.contract import BOUND, Environment, Proposer, Seed
from planarena.environments.domains import shared as scenes
from planarena.environments.state import Record

__all__ = ["PROPOSALS", "Form", "first_day", "make_desk"]

Form = Literal["office", "video", "phone"]
FORMS = ("office", "video", "phone")
Table = dict[str, Record]
_new_id = Environment.new_id


def first_day(day: str) -> str:
    """Return a day itself if it is from Monday to Friday, or else the Monday after it."""
    found = date.fromisoformat(day[:10])
    return (found + timedelta(days=(7 - found.weekday()) if found.weekday() > 4 else 0)).isoformat()


def _ahead(now: str, days: int) -> str:
    return first_day(scenes.day_after(now, days))


def make_desk(texts: Any, rng: Random, shared: scenes.Shared | None = None) -> Seed:
    """Make a recruiting desk, a pure function of `rng` and `shared`."""
    people = scenes.load_people()
    now = f"2026-{rng.randint(1, 11):02d}-{rng.randint(1, 28):02d}T{rng.choice(('08:50', '11:20', '15:05'))}"
    now = scenes.keep(shared, "now", now)
    given, family = rng.sample(people["given"], 33), rng.sample(people["family"], 33)
    names = [f"{first} {last}" for first, last in zip(given, family, strict=True)]
    user, *others = scenes.cast_people(names, shared)
    staff, candidates = others[:12], others[12:]
    tables: dict[str, Table] = {name: {} for name in ("openings", "applications", "interviewers", "slots")}
    tables |= {"interviews": {}, "offers": {}}
    departments = rng.sample(sorted(texts["departments"]), 4)
    letters = iter(rng.sample(texts["letters"], 20))
    for place, department in enumerate(departments):
        job = rng.choice(texts["departments"][department])
        opening_id, low = _new_id("opn", job["title"]), 1000 * job["salary"]
        tables["openings"][opening_id] = {
            "opening_id": opening_id, "title": job["title"], "department": department, "manager": staff[place],
            "salary_from": float(low), "salary_to": float(low + 500 * rng.randint(14, 24)),
            "closes": scenes.day_after(now, rng.randint(3, 40)),
        }  # fmt: skip
        _interviewers(rng, tables, department, [staff[place], *staff[4 + 2 * place : 6 + 2 * place]], now)
        for name, points in zip(candidates[5 * place :], rng.sample(range(48, 98), 5), strict=False):
            application_id, expects = _new_id("app", name), float(low + 500 * rng.randint(2, 16))
            tables["applications"][application_id] = {
                "application_id": application_id, "opening_id": opening_id, "name": name, "points": points,
                "email": scenes.mail_of(name, "example.org", shared), "stage": "new", "years": rng.randint(2, 17),
                "expects": expects, "earliest": _ahead(now, rng.choice((21, 30, 45, 60, 90))),
                "letter": next(letters), "applied": scenes.day_after(now, -rng.randint(2, 30)),
            }  # fmt: skip
        _progress(rng, tables, opening_id, department, now)
    situation = rng.choice(scenes.in_season(texts["situations"], now))
    jobs = [row["title"] for row in tables["openings"].values()]
    told = {"user": user, "job": jobs[0], "other": jobs[1], "person": candidates[0], "manager": staff[0]}
    story = {
        "jobs": jobs,
        "candidates": candidates,
        **scenes.meet(
            shared,
            staff,
            {row["name"]: row["email"] for row in tables["applications"].values()},
            candidates[:4],
        ),
    }
    title, description = (situation[key].format(**told) for key in ("title", "description"))
    return Seed(tables, title, description, {"now": now, "user_name": user, "openings": jobs}, story)


def _interviewers(rng: Random, tables: dict[str, Table], department: str, names: list[str], now: str) -> None:
    """Three interviewers, with three times each in the next two weeks."""
    for name in names:
        interviewer_id = _new_id("ivr", name)
        interviewer = {"interviewer_id": interviewer_id, "name": name, "department": department}
        tables["interviewers"][interviewer_id] = interviewer
        for ahead in rng.sample(range(1, 16), 3):
            start = f"{_ahead(now, ahead)}T{rng.randint(9, 16):02d}:{rng.choice(('00', '15', '30', '45'))}"
            slot_id = _new_id("isl", interviewer_id, start)
            tables["slots"][slot_id] = {"slot_id": slot_id, "interviewer_id": interviewer_id, "start": start}


def _progress(rng: Random, tables: dict[str, Table], opening_id: str, department: str, now: str) -> None:
    """Of five candidates two or three are new, one is shortlisted, one has an interview, and some have an offer."""
    all_five = [row for row in tables["applications"].values() if row["opening_id"] == opening_id]
    rng.shuffle(all_five)
    all_five[1]["stage"] = all_five[2]["stage"] = "shortlisted"
    own = {key for key, row in tables["interviewers"].items() if row["department"] == department}
    slot_id = rng.choice([key for key, row in tables["slots"].items() if row["interviewer_id"] in own])
    application_id = all_five[2]["application_id"]
    interview_id = _new_id("int", application_id)
    interview = {"interview_id": interview_id, "application_id": application_id, "slot_id": slot_id}
    tables["interviews"][interview_id] = {**interview, "form": rng.choice(FORMS)}
    if rng.random() < 0.6 or not tables["offers"]:
        row = all_five[3]
        row["stage"] = "offered"
        offer_id = _new_id("off", row["application_id"])
        tables["offers"][offer_id] = {
            "offer_id": offer_id, "name": row["name"], "title": tables["openings"][opening_id]["title"],
            "salary": row["expects"], "starts": row["earliest"], "reply_by": _ahead(now, rng.randint(2, 13)),
        }  # fmt: skip


def _applicants(_env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    yield {}
    yield {"stage": rng.choice(("new", "shortlisted", "shortlisted"))}


def _people(env: Any, rng: Random) -> list[dict[str, Any]]:
    return [{"name": name} for name in [*rng.sample(env.story["candidates"], 2), BOUND]]


def _slots(env: Any, rng: Random) -> list[dict[str, Any]]:
    return [{}, {"from_date": _ahead(env.now, rng.randint(2, 5))}] if rng.random() < 0.6 else [{}]


def _offers(env: Any, rng: Random) -> list[dict[str, Any]]:
    opening = rng.choice(sorted(env.state.scan("openings"), key=lambda row: str(row["title"])))
    return [{"salary": opening["salary_from"] + 500 * rng.randint(3, 12), "starts": BOUND}]


PROPOSALS: dict[str, Proposer] = {
    "find_opening": lambda env, rng: [{"title": title} for title in rng.sample(env.story["jobs"], 2)],
    "list_applicants": _applicants,
    "open_application": _people,
    "shortlist_candidate": lambda _env, _rng: [{}],
    "turn_down_candidate": lambda env, rng: [
        {"message": one} for one in rng.sample(env.seeds()["messages"], 2)
    ],
    "find_interviewers": lambda _env, _rng: [{}],
    "list_interview_slots": _slots,
    "schedule_interview": lambda _env, rng: [{"form": form} for form in rng.sample(FORMS, 2)],
    "move_interview": lambda _env, _rng: [{}],
    "list_interviews": lambda env, rng: [{"until": _ahead(env.now, rng.choice((7, 10, 14, 20)))}],
    "make_offer": _offers,
    "list_open_offers": lambda _env, _rng: [{}],
    "extend_offer": lambda env, rng: [{"reply_by": _ahead(env.now, rng.randint(18, 28))}],
}
