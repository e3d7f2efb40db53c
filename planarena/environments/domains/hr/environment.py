"""A leave desk: employees, leave balances, requests, substitutes, approvals and absences."""

from __future__ import annotations

from random import Random
from typing import Annotated, Literal, cast

from planarena.environments.contract import Environment, Seed, ToolError, tool
from planarena.environments.domains.shared import Shared, first_working_day, working_day
from planarena.environments.domains.types import Count, Date, EmailAddress, Person
from planarena.environments.shapes import Fields, Result
from planarena.environments.state import Record
from planarena.tools.semantics import Semantic

from .world import PROPOSALS, make_leave_desk

__all__ = ["Hr"]

LONG_LEAVE = 5  # from so many days on, somebody must step in
MAX_SUBSTITUTIONS = 3
ALIVE = ("pending", "approved")

EmployeeId = Annotated[str, Semantic("employee_id", hidden=True)]
RequestId = Annotated[str, Semantic("leave_request_id", hidden=True)]
# Who was found to be at work during a leave, and leave that was granted: the only ones to bind to where these
# are asked for.
StandInId = Annotated[str, Semantic("stand_in_id", hidden=True)]
LeaveId = Annotated[str, Semantic("granted_leave_id", hidden=True)]
Team = Annotated[str, Semantic("hr_team", surface="name")]
Position = Annotated[str, Semantic("position", surface="name")]
Reason = Annotated[str, Semantic("decline_reason", surface="name")]
Note = Annotated[str, Semantic("leave_note", surface="name")]
Days = Annotated[int, Semantic("leave_days", surface="number", minimum=1, maximum=30)]
LeaveKind = Annotated[
    Literal["vacation", "special leave", "study leave"], Semantic("leave_kind", surface="word")
]
Status = Annotated[
    Literal["pending", "approved", "declined", "cancelled"], Semantic("leave_status", surface="word")
]
# "nobody" is no person.
Substitute = Annotated[str, Semantic("substitute", surface="name")]

record = Fields(
    employee_id=EmployeeId, name=Person, team=Team, position=Position, manager=Person, email=EmailAddress,
    kind=LeaveKind, entitled=Count, taken=Count, pending=Count, left=Count, request_id=RequestId,
    start=Date, end=Date, back_on=Date, submitted=Date, count=Count, days=Count, note=Note, status=Status,
    substitute=Substitute, leave_id=LeaveId, stand_in_id=StandInId, substitutions=Count, reason=Reason,
    days_returned=Count,
)  # fmt: skip
REQUEST = record("request_id name kind start end submitted")
ABSENCE = record("leave_id employee_id name back_on substitute")
COLLEAGUE = record("stand_in_id name position substitutions")


class Hr(Environment):
    """The desk that plans leave for four teams."""

    domain = "hr"
    summary = "A leave desk with employees, leave balances, requests, substitutes, approvals and absences."
    proposals = PROPOSALS

    @classmethod
    def seed(cls, rng: Random, shared: Shared | None = None) -> Seed:
        """Make a leave desk."""
        return make_leave_desk(cls.seeds(), rng, shared)

    @tool("read", gives=record("employee_id name team position manager email"))
    def find_employee(self, name: Person) -> Result:
        """Look up an employee's card: team, position, manager and mail address.

        Args:
            name: Full name of the employee.
        """
        found = self.rows("employees", name=name)
        if not found:
            raise ToolError("not_found", f"There is no employee named {name}.")
        return found[0]

    @tool("read", gives=record("name kind entitled taken pending left"))
    def get_leave_balance(self, employee_id: EmployeeId, kind: LeaveKind) -> Result:
        """Show an employee's days of one kind of leave: entitled, taken or approved, asked for, left.

        Args:
            employee_id: The employee.
            kind: Which kind of leave.
        """
        employee = self.require("employees", employee_id, "employee")
        entitled, taken, pending = self._days(employee, kind)
        left = {"entitled": entitled, "taken": taken, "pending": pending, "left": entitled - taken - pending}
        return {"name": employee["name"], "kind": kind, **left}

    @tool("update", gives=record("name kind entitled"))
    def grant_leave_days(self, employee_id: EmployeeId, kind: LeaveKind, days: Days) -> Result:
        """Give an employee further days of one kind of leave, at most once a kind.

        Args:
            employee_id: The employee.
            kind: Which kind of leave.
            days: How many days more.
        """
        employee = self.require("employees", employee_id, "employee")
        extra = employee.get("extra", [])
        if kind in extra:
            raise ToolError("already_granted", f"{employee['name']} has been given {kind} already.")
        entitled = {**employee["entitled"], kind: employee["entitled"][kind] + days}
        self.state.patch("employees", employee_id, entitled=entitled, extra=sorted([*extra, kind]))
        return {"name": employee["name"], "kind": kind, "entitled": entitled[kind]}

    @tool("create", gives=record("request_id name start end back_on"))
    def request_leave(self, employee_id: EmployeeId, kind: LeaveKind, start: Date, days: Days) -> Result:
        """Enter a request for leave, which then waits for approval.

        Args:
            employee_id: The employee who wants to be away; there must be enough days left.
            kind: Which kind of leave.
            start: First day of the leave, a working day that is still to come.
            days: How many working days.
        """
        employee = self.require("employees", employee_id, "employee")
        if start <= self.today:
            raise ToolError("in_the_past", f"{start} is not still to come.")
        if first_working_day(start) != start:
            raise ToolError("not_a_working_day", f"{start} is on a weekend.")
        entitled, taken, pending = self._days(employee, kind)
        if entitled - taken - pending < days:
            raise ToolError("not_enough_days", f"Only {entitled - taken - pending} days of {kind} are left.")
        end = working_day(start, days - 1)
        for other in self._away({employee_id: employee}, start, end):
            raise ToolError("overlap", f"Other leave begins on {other['start']} and ends on {other['end']}.")
        request_id = self.new_id("req", employee_id, start)
        request = {
            "request_id": request_id, "employee_id": employee_id, "kind": kind, "start": start, "end": end,
            "days": days, "note": "entered at the leave desk", "status": "pending", "substitute_id": "",
            "submitted": self.today,
        }  # fmt: skip
        self.state.put("requests", request_id, request)
        return {**request, "name": employee["name"], "back_on": working_day(end, 1)}

    @tool("read", gives=record("count requests", requests=[REQUEST]))
    def list_leave_requests(self, team: Team) -> Result:
        """List the requests of a team that wait for approval, the longest waiting first.

        Args:
            team: Name of the team.
        """
        staff = self._team(team)
        found = [row for row in self.rows("requests", status="pending") if row["employee_id"] in staff]
        if not found:
            raise ToolError("nothing_pending", f"Nobody in {team} waits for approval.")
        found.sort(key=lambda row: (row["submitted"], row["request_id"]))
        lines = [{**row, "name": staff[row["employee_id"]]["name"]} for row in found]
        return {"count": len(found), "requests": lines}

    @tool("read", gives=record("employee_id name kind days start end back_on note status substitute"))
    def open_leave_request(self, request_id: RequestId) -> Result:
        """Open a request for leave: who asks, for when, why, its state and the substitute.

        Args:
            request_id: The request.
        """
        return self._line(self.require("requests", request_id, "request"))

    @tool("read", gives=record("count absences", absences=[ABSENCE]))
    def list_team_absences(self, team: Team, date: Date) -> Result:
        """List who of a team is away on a day with approval, whoever is back first at the head.

        Args:
            team: Name of the team.
            date: The day.
        """
        staff = self._team(team)
        away = [row for row in self._away(staff, date, date) if row["status"] == "approved"]
        if not away:
            raise ToolError("nobody_away", f"Everybody in {team} is at work on {date}.")
        away.sort(key=lambda row: (row["end"], row["request_id"]))
        return {"count": len(away), "absences": [self._line(row) for row in away]}

    @tool("read", gives=record("count colleagues", colleagues=[COLLEAGUE]))
    def find_substitutes(self, request_id: RequestId) -> Result:
        """List colleagues of the same team who are at work during a leave, those who step in least often first.

        Args:
            request_id: The request for leave.
        """
        row = self.require("requests", request_id, "request")
        staff = self._team(self.require("employees", row["employee_id"], "employee")["team"])
        away = {other["employee_id"] for other in self._away(staff, row["start"], row["end"])}
        found = [
            {**employee, "stand_in_id": key, "substitutions": self._substitutions(key)}
            for key, employee in staff.items()
            if key not in away and key != row["employee_id"]
        ]
        found = [one for one in found if one["substitutions"] < MAX_SUBSTITUTIONS]
        if not found:
            raise ToolError("nobody_free", "Nobody of the team could step in.")
        found.sort(key=lambda one: (one["substitutions"], one["name"]))
        return {"count": len(found), "colleagues": found}

    @tool("update", gives=record("name substitute start", substitute=Person))
    def assign_substitute(self, request_id: RequestId, stand_in_id: StandInId) -> Result:
        """Let a colleague of the same team step in during a leave.

        Args:
            request_id: The request for leave, pending or approved.
            stand_in_id: The colleague, who must be at work then.
        """
        row = self._request(request_id, "not_wanted", ALIVE)
        absent = self.require("employees", row["employee_id"], "employee")
        employee = self.require("employees", stand_in_id, "employee")
        if stand_in_id == row["employee_id"] or employee["team"] != absent["team"]:
            raise ToolError("wrong_team", f"{employee['name']} cannot step in for {absent['name']}.")
        if row["substitute_id"] == stand_in_id:
            raise ToolError("already_assigned", f"{employee['name']} steps in already.")
        if self._away({stand_in_id: employee}, row["start"], row["end"]):
            raise ToolError("away_too", f"{employee['name']} is away at the same time.")
        if self._substitutions(stand_in_id) >= MAX_SUBSTITUTIONS:
            raise ToolError("too_often", f"{employee['name']} steps in for others already.")
        self.state.patch("requests", request_id, substitute_id=stand_in_id)
        return {"name": absent["name"], "substitute": employee["name"], "start": row["start"]}

    @tool("update", gives=record("name start end"))
    def approve_leave_request(self, request_id: RequestId) -> Result:
        """Approve a request for leave; five days and more need a substitute, and half of the team must stay.

        Args:
            request_id: The request; it must be pending.
        """
        row = self._request(request_id, "not_pending", ("pending",))
        employee = self.require("employees", row["employee_id"], "employee")
        if row["days"] >= LONG_LEAVE and not row["substitute_id"]:
            raise ToolError("no_substitute", f"Nobody steps in for {employee['name']} yet.")
        staff = self._team(employee["team"])
        leave = self._away(staff, row["start"], row["end"])
        away = {other["employee_id"] for other in leave if other["status"] == "approved"}
        if 2 * (len(away) + 1) > len(staff):
            raise ToolError("too_many_away", f"Too many of {employee['team']} would be away.")
        self.state.patch("requests", request_id, status="approved")
        return {**row, "name": employee["name"]}

    @tool("update", gives=record("name start reason"))
    def decline_leave_request(self, request_id: RequestId, reason: Reason) -> Result:
        """Decline a request for leave; its days are free again.

        Args:
            request_id: The request; it must be pending, not from today, and nobody put down to step in.
            reason: What the employee is told.
        """
        row = self._request(request_id, "not_pending", ("pending",))
        if row["submitted"] == self.today:
            raise ToolError("entered_today", "The request was entered only today.")
        if row["substitute_id"]:
            raise ToolError("already_covered", f"{self._name(row['substitute_id'])} is going to step in.")
        self.state.patch("requests", request_id, status="declined", reason=reason)
        return {"name": self._name(row["employee_id"]), "start": row["start"], "reason": reason}

    @tool("update", gives=record("name start days_returned"))
    def cancel_leave(self, leave_id: LeaveId) -> Result:
        """Cancel leave that was approved and has not begun; its days are free again.

        Args:
            leave_id: The leave, as listed among the absences.
        """
        row = self.require("requests", leave_id, "leave")
        if row["status"] != "approved":
            raise ToolError("not_approved", f"The request is {row['status']}.")
        if row["start"] <= self.today:
            raise ToolError("already_begun", f"The leave began on {row['start']}.")
        self.state.patch("requests", leave_id, status="cancelled")
        return {"name": self._name(row["employee_id"]), "start": row["start"], "days_returned": row["days"]}

    def _team(self, team: str) -> dict[str, Record]:
        staff = {row["employee_id"]: row for row in self.state.scan("employees") if row["team"] == team}
        if not staff:
            raise ToolError("no_such_team", f"There is no team named {team}.")
        return staff

    def _leave(self, **fields: str) -> list[Record]:
        """Return the requests with these values that were neither declined nor cancelled."""
        return [row for row in self.rows("requests", **fields) if row["status"] in ALIVE]

    def _away(self, staff: dict[str, Record], start: str, end: str) -> list[Record]:
        """Return the leave, approved or asked for, of some people that touches a span of days."""
        found = [row for row in self._leave() if row["employee_id"] in staff]
        return [row for row in found if row["start"] <= end and row["end"] >= start]

    def _days(self, employee: Record, kind: str) -> tuple[int, int, int]:
        """Return the days of a kind that are entitled, taken (or approved), and asked for."""
        used = {"approved": 0, "pending": 0}
        for row in self._leave(employee_id=employee["employee_id"], kind=kind):
            used[row["status"]] += row["days"]
        return employee["entitled"][kind], employee["taken"][kind] + used["approved"], used["pending"]

    def _substitutions(self, employee_id: str) -> int:
        return len(self._leave(substitute_id=employee_id))

    def _request(self, request_id: str, code: str, wanted: tuple[str, ...]) -> Record:
        """Return a request in one of the wanted states, or fail the call with a code."""
        row = self.require("requests", request_id, "request")
        if row["status"] not in wanted:
            raise ToolError(code, f"The request is {row['status']}.")
        return row

    def _line(self, row: Record) -> Record:
        """Return a request as it is read: with names, and the day on which the employee is back."""
        names = {"name": self._name(row["employee_id"]), "substitute": self._name(row["substitute_id"])}
        return {**row, **names, "leave_id": row["request_id"], "back_on": working_day(row["end"], 1)}

    def _name(self, employee_id: str) -> str:
        employee = self.state.get("employees", employee_id)
        return "nobody" if employee is None else cast(str, employee["name"])
