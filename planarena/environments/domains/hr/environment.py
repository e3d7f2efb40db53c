"""A leave desk: employees, leave balances, requests, substitutes, approvals and absences."""

from __future__ import annotations

from typing import cast

from planarena.environments.contract import ToolError, tool
from planarena.environments.domains.types import Date, Person
from planarena.environments.state import Record

from .types import (
    Absence,
    Absences,
    Approved,
    Balance,
    Cancelled,
    Days,
    Declined,
    Employee,
    EmployeeId,
    Granted,
    LeaveId,
    LeaveKind,
    Reason,
    Request,
    RequestId,
    RequestLine,
    Requests,
    StandIn,
    StandInId,
    StandIns,
    Submitted,
    SubstituteSet,
    Team,
)
from .world import (
    HrScenario,
    is_working_day,
    leave_end,
    next_working_day,
)

__all__ = ["Hr"]

LONG_LEAVE = 5  # from so many days on, somebody must step in
MAX_SUBSTITUTIONS = 3


class Hr(HrScenario):
    """The desk that plans leave for four teams."""

    domain = "hr"
    summary = "A leave desk with employees, leave balances, requests, substitutes, approvals and absences."

    @tool("read")
    def find_employee(self, name: Person) -> Employee:
        """Look up an employee's card: team, position, manager and mail address.

        Args:
            name: Full name of the employee.
        """
        for employee in self.state.scan("employees"):
            if employee["name"] == name:
                return cast(Employee, {key: employee[key] for key in Employee.__annotations__})
        raise ToolError("not_found", f"There is no employee named {name}.")

    @tool("read")
    def get_leave_balance(self, employee_id: EmployeeId, kind: LeaveKind) -> Balance:
        """Show an employee's days of one kind of leave: entitled, taken or approved, asked for, left.

        Args:
            employee_id: The employee.
            kind: Which kind of leave.
        """
        employee = self.require("employees", employee_id, "employee")
        entitled, taken, pending = self._days(employee, kind)
        return {
            "name": employee["name"],
            "kind": kind,
            "entitled": entitled,
            "taken": taken,
            "pending": pending,
            "left": entitled - taken - pending,
        }

    @tool("update")
    def grant_leave_days(self, employee_id: EmployeeId, kind: LeaveKind, days: Days) -> Granted:
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

    @tool("create")
    def request_leave(self, employee_id: EmployeeId, kind: LeaveKind, start: Date, days: Days) -> Submitted:
        """Enter a request for leave, which then waits for approval.

        Args:
            employee_id: The employee who wants to be away; there must be enough days left.
            kind: Which kind of leave.
            start: First day of the leave, a working day that is still to come.
            days: How many working days.
        """
        employee = self.require("employees", employee_id, "employee")
        if start <= self.now[:10]:
            raise ToolError("in_the_past", f"{start} is not still to come.")
        if not is_working_day(start):
            raise ToolError("not_a_working_day", f"{start} is on a weekend.")
        entitled, taken, pending = self._days(employee, kind)
        if entitled - taken - pending < days:
            raise ToolError("not_enough_days", f"Only {entitled - taken - pending} days of {kind} are left.")
        end = leave_end(start, days)
        for other in self._requests(employee_id):
            if other["start"] <= end and other["end"] >= start:
                raise ToolError(
                    "overlap", f"Other leave begins on {other['start']} and ends on {other['end']}."
                )
        request_id = self.new_id("req", employee_id, start)
        request = {
            "request_id": request_id,
            "employee_id": employee_id,
            "kind": kind,
            "start": start,
            "end": end,
            "days": days,
            "note": "entered at the leave desk",
            "status": "pending",
            "substitute_id": "",
            "submitted": self.now[:10],
        }
        self.state.put("requests", request_id, request)
        return {
            "request_id": request_id,
            "name": employee["name"],
            "start": start,
            "end": end,
            "back_on": next_working_day(end),
        }

    @tool("read")
    def list_leave_requests(self, team: Team) -> Requests:
        """List the requests of a team that wait for approval, the longest waiting first.

        Args:
            team: Name of the team.
        """
        staff = self._team(team)
        found = [
            row
            for row in self.state.scan("requests")
            if row["employee_id"] in staff and row["status"] == "pending"
        ]
        if not found:
            raise ToolError("nothing_pending", f"Nobody in {team} waits for approval.")
        found.sort(key=lambda row: (row["submitted"], row["request_id"]))
        lines: list[RequestLine] = [
            {
                "request_id": row["request_id"],
                "name": staff[row["employee_id"]]["name"],
                "kind": row["kind"],
                "start": row["start"],
                "end": row["end"],
                "submitted": row["submitted"],
            }
            for row in found
        ]
        return {"count": len(found), "requests": lines}

    @tool("read")
    def open_leave_request(self, request_id: RequestId) -> Request:
        """Open a request for leave: who asks, for when, why, its state and the substitute.

        Args:
            request_id: The request.
        """
        row = self.require("requests", request_id, "request")
        return {
            "employee_id": row["employee_id"],
            "name": self._name(row["employee_id"]),
            "kind": row["kind"],
            "days": row["days"],
            "start": row["start"],
            "end": row["end"],
            "back_on": next_working_day(row["end"]),
            "note": row["note"],
            "status": row["status"],
            "substitute": self._name(row["substitute_id"]),
        }

    @tool("read")
    def list_team_absences(self, team: Team, date: Date) -> Absences:
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
        lines: list[Absence] = [
            {
                "leave_id": row["request_id"],
                "employee_id": row["employee_id"],
                "name": staff[row["employee_id"]]["name"],
                "back_on": next_working_day(row["end"]),
                "substitute": self._name(row["substitute_id"]),
            }
            for row in away
        ]
        return {"count": len(away), "absences": lines}

    @tool("read")
    def find_substitutes(self, request_id: RequestId) -> StandIns:
        """List colleagues of the same team who are at work during a leave, those who step in least often first.

        Args:
            request_id: The request for leave.
        """
        row = self.require("requests", request_id, "request")
        staff = self._team(self.require("employees", row["employee_id"], "employee")["team"])
        away = {other["employee_id"] for other in self._away(staff, row["start"], row["end"])}
        found: list[StandIn] = [
            {
                "stand_in_id": key,
                "name": employee["name"],
                "position": employee["position"],
                "substitutions": self._substitutions(key),
            }
            for key, employee in staff.items()
            if key not in away and key != row["employee_id"]
        ]
        found = [one for one in found if one["substitutions"] < MAX_SUBSTITUTIONS]
        if not found:
            raise ToolError("nobody_free", "Nobody of the team could step in.")
        found.sort(key=lambda one: (one["substitutions"], one["name"]))
        return {"count": len(found), "colleagues": found}

    @tool("update")
    def assign_substitute(self, request_id: RequestId, stand_in_id: StandInId) -> SubstituteSet:
        """Let a colleague of the same team step in during a leave.

        Args:
            request_id: The request for leave, pending or approved.
            stand_in_id: The colleague, who must be at work then.
        """
        row = self._alive(request_id)
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

    @tool("update")
    def approve_leave_request(self, request_id: RequestId) -> Approved:
        """Approve a request for leave; five days and more need a substitute, and half of the team must stay.

        Args:
            request_id: The request; it must be pending.
        """
        row = self._pending(request_id)
        employee = self.require("employees", row["employee_id"], "employee")
        if row["days"] >= LONG_LEAVE and not row["substitute_id"]:
            raise ToolError("no_substitute", f"Nobody steps in for {employee['name']} yet.")
        staff = self._team(employee["team"])
        away = [
            other for other in self._away(staff, row["start"], row["end"]) if other["status"] == "approved"
        ]
        if 2 * (len({other["employee_id"] for other in away}) + 1) > len(staff):
            raise ToolError("too_many_away", f"Too many of {employee['team']} would be away.")
        self.state.patch("requests", request_id, status="approved")
        return {"name": employee["name"], "start": row["start"], "end": row["end"]}

    @tool("update")
    def decline_leave_request(self, request_id: RequestId, reason: Reason) -> Declined:
        """Decline a request for leave; its days are free again.

        Args:
            request_id: The request; it must be pending, not from today, and nobody put down to step in.
            reason: What the employee is told.
        """
        row = self._pending(request_id)
        if row["submitted"] == self.now[:10]:
            raise ToolError("entered_today", "The request was entered only today.")
        if row["substitute_id"]:
            raise ToolError("already_covered", f"{self._name(row['substitute_id'])} is going to step in.")
        self.state.patch("requests", request_id, status="declined", reason=reason)
        return {"name": self._name(row["employee_id"]), "start": row["start"], "reason": reason}

    @tool("update")
    def cancel_leave(self, leave_id: LeaveId) -> Cancelled:
        """Cancel leave that was approved and has not begun; its days are free again.

        Args:
            leave_id: The leave, as listed among the absences.
        """
        row = self.require("requests", leave_id, "leave")
        if row["status"] != "approved":
            raise ToolError("not_approved", f"The request is {row['status']}.")
        if row["start"] <= self.now[:10]:
            raise ToolError("already_begun", f"The leave began on {row['start']}.")
        self.state.patch("requests", leave_id, status="cancelled")
        return {
            "name": self._name(row["employee_id"]),
            "start": row["start"],
            "days_returned": row["days"],
        }

    def _team(self, team: str) -> dict[str, Record]:
        staff = {row["employee_id"]: row for row in self.state.scan("employees") if row["team"] == team}
        if not staff:
            raise ToolError("no_such_team", f"There is no team named {team}.")
        return staff

    def _requests(self, employee_id: str) -> list[Record]:
        """Return the requests of an employee that were neither declined nor cancelled."""
        return [
            row
            for row in self.state.scan("requests")
            if row["employee_id"] == employee_id and row["status"] in ("pending", "approved")
        ]

    def _away(self, staff: dict[str, Record], start: str, end: str) -> list[Record]:
        """Return the leave, approved or asked for, of some people that touches a span of days."""
        return [
            row
            for row in self.state.scan("requests")
            if row["employee_id"] in staff
            and row["status"] in ("pending", "approved")
            and row["start"] <= end
            and row["end"] >= start
        ]

    def _days(self, employee: Record, kind: str) -> tuple[int, int, int]:
        """Return the days of a kind that are entitled, taken (or approved), and asked for."""
        used = {"approved": 0, "pending": 0}
        for row in self._requests(employee["employee_id"]):
            if row["kind"] == kind:
                used[row["status"]] += row["days"]
        return employee["entitled"][kind], employee["taken"][kind] + used["approved"], used["pending"]

    def _substitutions(self, employee_id: str) -> int:
        return sum(
            row["substitute_id"] == employee_id and row["status"] in ("pending", "approved")
            for row in self.state.scan("requests")
        )

    def _pending(self, request_id: str) -> Record:
        row = self.require("requests", request_id, "request")
        if row["status"] != "pending":
            raise ToolError("not_pending", f"The request is {row['status']}.")
        return row

    def _alive(self, request_id: str) -> Record:
        row = self.require("requests", request_id, "request")
        if row["status"] not in ("pending", "approved"):
            raise ToolError("not_wanted", f"The request is {row['status']}.")
        return row

    def _name(self, employee_id: str) -> str:
        employee = self.state.get("employees", employee_id)
        return "nobody" if employee is None else cast(str, employee["name"])
