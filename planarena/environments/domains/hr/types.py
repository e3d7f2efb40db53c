"""The values and results of the leave desk's tools."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from planarena.environments.domains.types import Count, Date, EmailAddress, Person
from planarena.tools.semantics import Semantic

__all__ = [
    "Absence",
    "Absences",
    "Approved",
    "Balance",
    "Cancelled",
    "Days",
    "Declined",
    "Employee",
    "EmployeeId",
    "Granted",
    "LeaveId",
    "LeaveKind",
    "Reason",
    "Request",
    "RequestId",
    "RequestLine",
    "Requests",
    "StandIn",
    "StandInId",
    "StandIns",
    "Submitted",
    "SubstituteSet",
    "Team",
]

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


class Employee(TypedDict):
    """An employee's card."""

    employee_id: EmployeeId
    name: Person
    team: Team
    position: Position
    manager: Person
    email: EmailAddress


class Balance(TypedDict):
    """What somebody has left of one kind of leave."""

    name: Person
    kind: LeaveKind
    entitled: Count
    taken: Count
    pending: Count
    left: Count


class Granted(TypedDict):
    """Days that somebody was given."""

    name: Person
    kind: LeaveKind
    entitled: Count


class Submitted(TypedDict):
    """A new request."""

    request_id: RequestId
    name: Person
    start: Date
    end: Date
    back_on: Date


class RequestLine(TypedDict):
    """A request in a list."""

    request_id: RequestId
    name: Person
    kind: LeaveKind
    start: Date
    end: Date
    submitted: Date


class Requests(TypedDict):
    """The pending requests of a team."""

    count: Count
    requests: list[RequestLine]


class Request(TypedDict):
    """A request in full."""

    employee_id: EmployeeId
    name: Person
    kind: LeaveKind
    days: Count
    start: Date
    end: Date
    back_on: Date
    note: Note
    status: Status
    substitute: Substitute


class Absence(TypedDict):
    """Somebody who is away."""

    leave_id: LeaveId
    employee_id: EmployeeId
    name: Person
    back_on: Date
    substitute: Substitute


class Absences(TypedDict):
    """Who of a team is away."""

    count: Count
    absences: list[Absence]


class StandIn(TypedDict):
    """Somebody who could step in."""

    stand_in_id: StandInId
    name: Person
    position: Position
    substitutions: Count


class StandIns(TypedDict):
    """Who could step in for somebody."""

    count: Count
    colleagues: list[StandIn]


class SubstituteSet(TypedDict):
    """A request with a substitute."""

    name: Person
    substitute: Person
    start: Date


class Approved(TypedDict):
    """A request that was approved."""

    name: Person
    start: Date
    end: Date


class Declined(TypedDict):
    """A request that was declined."""

    name: Person
    start: Date
    reason: Reason


class Cancelled(TypedDict):
    """Leave that is not taken."""

    name: Person
    start: Date
    days_returned: Count
