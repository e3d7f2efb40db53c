"""Making a leave desk: four teams with balances, requests that wait, and people who are away."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from random import Random
from typing import Any

from planarena.environments.contract import BOUND, Environment, Proposer, Seed
from planarena.environments.domains import shared as scenes
from planarena.environments.state import Record

__all__ = ["PROPOSALS", "make_leave_desk"]

Table = dict[str, Record]
_TEAM = 5
_KINDS = ("vacation", "special leave", "study leave")
_new_id = Environment.new_id


def make_leave_desk(texts: Any, rng: Random, shared: scenes.Shared | None = None) -> Seed:
    """Make a leave desk, a pure function of `rng` and `shared`."""
    now = datetime(2026, rng.randint(1, 11), rng.randint(1, 28), rng.randint(8, 10), 15)
    now = datetime.fromisoformat(scenes.keep(shared, "now", now.isoformat()))
    teams = rng.sample(sorted(texts["teams"]), 4)
    user, *staff, director = scenes.draw_people(rng, 2 + _TEAM * len(teams), shared)
    employees: Table = {}
    for place, name in enumerate(staff):
        # People whom other domains know come first and are dealt out to all teams.
        team = teams[place % len(teams)]
        lead = staff[place % len(teams) + len(teams) * (_TEAM - 1)]
        employee_id = _new_id("emp", name)
        employees[employee_id] = {
            "employee_id": employee_id, "name": name, "team": team,
            "position": texts["teams"][team][place // len(teams)],
            "manager": director if name == lead else lead,
            "email": scenes.mail_of(name, "example.com", shared),
            "entitled": _days(rng, (24, 30), (2, 4), (3, 6)), "taken": _days(rng, (4, 12), (0, 1), (0, 2)),
        }  # fmt: skip
    today = now.date().isoformat()
    requests = _requests(employees, teams, texts["notes"], today, rng)
    situation = rng.choice(texts["situations"])
    told = {"user": user, "team": teams[0], "person": staff[0]}
    title, description = (situation[part].format(**told) for part in ("title", "description"))
    facts = {"now": now.isoformat(timespec="minutes"), "user_name": user}
    met = scenes.meet(shared, staff, {row["name"]: row["email"] for row in employees.values()})
    story = {"people": staff[:4], "teams": teams, "today": today, **met}
    return Seed({"employees": employees, "requests": requests}, title, description, facts, story)


def _days(rng: Random, *spans: tuple[int, int]) -> dict[str, int]:
    """Draw the days of every kind of leave."""
    return {kind: rng.randint(*span) for kind, span in zip(_KINDS, spans, strict=True)}


def _requests(employees: Table, teams: list[str], notes: list[str], today: str, rng: Random) -> Table:
    """Let one of each team be away now and one soon, with the same substitute; two others wait for approval."""
    requests: Table = {}

    def ask(employee_id: str, ahead: int, days: int, substitute: str = "") -> None:
        start = scenes.first_working_day(scenes.day_after(today, ahead))
        request_id = _new_id("req", employee_id, start)
        kind = "vacation"
        if days == 2 and rng.random() < 0.5:
            kind = rng.choice(_KINDS[1:])
            employees[employee_id]["entitled"][kind] += days
        requests[request_id] = {
            "request_id": request_id, "employee_id": employee_id, "kind": kind, "start": start,
            "end": scenes.working_day(start, days - 1), "days": days, "note": rng.choice(notes),
            "status": "approved" if substitute else "pending", "substitute_id": substitute,
            "submitted": scenes.day_after(today, -rng.randint(2, 30)),
        }  # fmt: skip

    for team in teams:
        members = [key for key, row in employees.items() if row["team"] == team]
        away, soon, first, second, steady = rng.sample(members, _TEAM)
        ask(away, -rng.randint(1, 4), rng.randint(6, 9), steady)
        ask(soon, rng.randint(20, 40), rng.randint(3, 8), steady)
        ask(first, rng.randint(18, 50), rng.randint(2, 4))
        ask(second, rng.randint(60, 75), rng.randint(5, 9))
        if rng.random() < 0.6:
            ask(first, rng.randint(85, 100), rng.randint(2, 6))
    return requests


def _day(env: Any, ahead: int) -> str:
    return scenes.first_working_day(scenes.day_after(env.story["today"], ahead))


def _request(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    yield {"kind": "vacation", "start": _day(env, rng.randint(12, 56)), "days": rng.randint(3, 8)}
    kind = rng.choice(_KINDS[1:])
    yield {"kind": kind, "start": _day(env, rng.randint(60, 80)), "days": rng.randint(2, 3)}


def _absences(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    first, second = rng.sample(env.story["teams"], 2)
    yield {"team": first, "date": _upcoming(env, first)}
    yield {"team": second, "date": rng.choice((_upcoming(env, second), _day(env, 1)))}
    yield {"team": BOUND, "date": _day(env, 1)}
    if scenes.beside(env.story, "calendar"):
        yield {"team": first, "date": BOUND}


def _upcoming(env: Any, team: str) -> str:
    """Return the day on which the next leave of somebody in the team begins."""
    staff = {row["employee_id"] for row in env.rows("employees", team=team)}
    found = [row["start"] for row in env.rows("requests", status="approved") if row["employee_id"] in staff]
    return min((start for start in found if start > env.story["today"]), default=_day(env, 1))


PROPOSALS: dict[str, Proposer] = {
    "find_employee": lambda env, rng: [
        {"name": name} for name in (*rng.sample(env.story["people"], 2), BOUND)
    ],
    "get_leave_balance": lambda _env, rng: [{"kind": "vacation"}, {"kind": rng.choice(_KINDS[1:])}],
    "grant_leave_days": lambda _env, rng: [{"kind": rng.choice(_KINDS), "days": rng.randint(2, 5)}],
    "request_leave": _request,
    "list_leave_requests": lambda env, rng: [
        {"team": team} for team in (*rng.sample(env.story["teams"], 2), BOUND)
    ],
    "open_leave_request": lambda _env, _rng: [{}], "list_team_absences": _absences,
    "find_substitutes": lambda _env, _rng: [{}], "assign_substitute": lambda _env, _rng: [{}],
    "approve_leave_request": lambda _env, _rng: [{}],
    "decline_leave_request": lambda env, rng: [{"reason": rng.choice(env.seeds()["reasons"])}],
    "cancel_leave": lambda _env, _rng: [{}],
}  # fmt: skip
