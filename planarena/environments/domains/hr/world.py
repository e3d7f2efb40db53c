"""Making a leave desk: four teams with balances, requests that wait, and people who are away."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from random import Random
from typing import Any, cast

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

__all__ = ["HrScenario", "is_working_day", "leave_end", "next_working_day"]

Table = dict[str, Record]
_TEAM = 5
_new_id = Environment.new_id


def is_working_day(day: str) -> bool:
    """Say whether a day is from Monday to Friday."""
    return date.fromisoformat(day).weekday() < 5


def next_working_day(day: str) -> str:
    """Return the first working day after a day."""
    found = date.fromisoformat(day) + timedelta(days=1)
    while found.weekday() >= 5:
        found += timedelta(days=1)
    return found.isoformat()


def leave_end(start: str, days: int) -> str:
    """Return the last day of some working days of leave; `start` is a working day."""
    for _ in range(days - 1):
        start = next_working_day(start)
    return start


def _on_or_after(day: date) -> str:
    return next_working_day((day - timedelta(days=1)).isoformat())


def make_leave_desk(texts: Any, rng: Random, shared: Shared | None = None) -> Seed:
    """Make a leave desk, a pure function of `rng` and `shared`."""
    people = load_people()
    now = datetime(2026, rng.randint(1, 11), rng.randint(1, 28), rng.randint(8, 10), 15)
    now = datetime.fromisoformat(keep(shared, "now", now.isoformat()))
    today = now.date()
    teams = rng.sample(sorted(texts["teams"]), 4)
    drawn = 2 + _TEAM * len(teams)
    given, family = rng.sample(people["given"], drawn), rng.sample(people["family"], drawn)
    names = [f"{first} {last}" for first, last in zip(given, family, strict=True)]
    names = cast_people(names, shared)
    user, staff, director = names[0], names[1:-1], names[-1]
    employees: Table = {}
    members: dict[str, list[str]] = {}
    for place, name in enumerate(staff):
        # People whom other domains know come first and are dealt out to all teams.
        team = teams[place % len(teams)]
        position = texts["teams"][team][place // len(teams)]
        lead = staff[place % len(teams) + len(teams) * (_TEAM - 1)]
        employee_id = _new_id("emp", name)
        entitled = {
            "vacation": rng.randint(24, 30),
            "special leave": rng.randint(2, 4),
            "study leave": rng.randint(3, 6),
        }
        employees[employee_id] = {
            "employee_id": employee_id,
            "name": name,
            "team": team,
            "position": position,
            "manager": director if name == lead else lead,
            "email": mail_of(name, "example.com", shared),
            "entitled": entitled,
            "taken": {
                "vacation": rng.randint(4, 12),
                "special leave": rng.randint(0, 1),
                "study leave": rng.randint(0, 2),
            },
        }
        members.setdefault(team, []).append(employee_id)
    requests: Table = {}

    def ask(employee_id: str, start: str, days: int, status: str, substitute: str) -> None:
        request_id = _new_id("req", employee_id, start)
        kind = "vacation"
        if days == 2 and rng.random() < 0.5:
            kind = rng.choice(("special leave", "study leave"))
            employees[employee_id]["entitled"][kind] += days
        requests[request_id] = {
            "request_id": request_id,
            "employee_id": employee_id,
            "kind": kind,
            "start": start,
            "end": leave_end(start, days),
            "days": days,
            "note": rng.choice(texts["notes"]),
            "status": status,
            "substitute_id": substitute,
            "submitted": (today - timedelta(days=rng.randint(2, 30))).isoformat(),
        }

    for team in teams:
        away, soon, first, second, steady = rng.sample(members[team], _TEAM)
        ask(
            away,
            _on_or_after(today - timedelta(days=rng.randint(1, 4))),
            rng.randint(6, 9),
            "approved",
            steady,
        )
        ask(
            soon,
            _on_or_after(today + timedelta(days=rng.randint(20, 40))),
            rng.randint(3, 8),
            "approved",
            steady,
        )
        ask(
            first, _on_or_after(today + timedelta(days=rng.randint(18, 50))), rng.randint(2, 4), "pending", ""
        )
        ask(
            second,
            _on_or_after(today + timedelta(days=rng.randint(60, 75))),
            rng.randint(5, 9),
            "pending",
            "",
        )
        if rng.random() < 0.6:
            start = _on_or_after(today + timedelta(days=rng.randint(85, 100)))
            ask(first, start, rng.randint(2, 6), "pending", "")
    situation = rng.choice(texts["situations"])
    told = {"user": user, "team": teams[0], "person": staff[0]}
    return Seed(
        {"employees": employees, "requests": requests},
        situation["title"].format(**told),
        situation["description"].format(**told),
        {"now": now.isoformat(timespec="minutes"), "user_name": user},
        {
            "people": staff[:4],
            "teams": teams,
            "today": today.isoformat(),
            **meet(shared, staff, {row["name"]: row["email"] for row in employees.values()}),
        },
    )


class HrScenario(Environment):
    """A leave desk, and what whoever runs it would ask for."""

    @classmethod
    def seed(cls, rng: Random, shared: Shared | None = None) -> Seed:
        """Make a leave desk."""
        return make_leave_desk(cls.seeds(), rng, shared)

    def _day(self, ahead: int) -> str:
        return _on_or_after(date.fromisoformat(self.story["today"]) + timedelta(days=ahead))

    @proposals("find_employee")
    def _propose_employee(self, rng: Random) -> Iterator[dict[str, Any]]:
        for name in rng.sample(self.story["people"], 2):
            yield {"name": name}
        yield {"name": BOUND}

    @proposals("get_leave_balance")
    def _propose_balance(self, rng: Random) -> Iterator[dict[str, Any]]:
        yield {"kind": "vacation"}
        yield {"kind": rng.choice(("special leave", "study leave"))}

    @proposals("grant_leave_days")
    def _propose_grant(self, rng: Random) -> Iterator[dict[str, Any]]:
        yield {"kind": rng.choice(("vacation", "special leave", "study leave")), "days": rng.randint(2, 5)}

    @proposals("request_leave")
    def _propose_request(self, rng: Random) -> Iterator[dict[str, Any]]:
        yield {"kind": "vacation", "start": self._day(rng.randint(12, 56)), "days": rng.randint(3, 8)}
        kind = rng.choice(("special leave", "study leave"))
        yield {"kind": kind, "start": self._day(rng.randint(60, 80)), "days": rng.randint(2, 3)}

    @proposals("list_leave_requests")
    def _propose_list(self, rng: Random) -> Iterator[dict[str, Any]]:
        for team in rng.sample(self.story["teams"], 2):
            yield {"team": team}
        yield {"team": BOUND}

    @proposals("open_leave_request")
    def _propose_open(self, _rng: Random) -> Iterator[dict[str, Any]]:
        yield {}

    @proposals("list_team_absences")
    def _propose_absences(self, rng: Random) -> Iterator[dict[str, Any]]:
        first, second = rng.sample(self.story["teams"], 2)
        yield {"team": first, "date": self._upcoming(first)}
        yield {"team": second, "date": rng.choice((self._upcoming(second), self._day(1)))}
        yield {"team": BOUND, "date": self._day(1)}
        if beside(self.story, "calendar"):
            yield {"team": first, "date": BOUND}

    @proposals("find_substitutes")
    def _propose_substitutes(self, _rng: Random) -> Iterator[dict[str, Any]]:
        yield {}

    @proposals("assign_substitute")
    def _propose_assign(self, _rng: Random) -> Iterator[dict[str, Any]]:
        yield {}

    @proposals("approve_leave_request")
    def _propose_approve(self, _rng: Random) -> Iterator[dict[str, Any]]:
        yield {}

    @proposals("decline_leave_request")
    def _propose_decline(self, rng: Random) -> Iterator[dict[str, Any]]:
        yield {"reason": rng.choice(cast(list[str], self.seeds()["reasons"]))}

    @proposals("cancel_leave")
    def _propose_cancel(self, _rng: Random) -> Iterator[dict[str, Any]]:
        yield {}

    def _upcoming(self, team: str) -> str:
        """Return the day on which the next leave of somebody in the team begins."""
        staff = {row["employee_id"] for row in self.state.scan("employees") if row["team"] == team}
        found = [
            cast(str, row["start"])
            for row in self.state.scan("requests")
            if row["employee_id"] in staff
            and row["status"] == "approved"
            and row["start"] > self.story["today"]
        ]
        return min(found, default=self._day(1))
