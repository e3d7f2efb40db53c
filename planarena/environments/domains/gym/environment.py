"""A fitness club seen by one of its members: classes, coaches, the membership and lockers."""

from __future__ import annotations

from random import Random
from typing import Annotated, Any, Literal

from planarena.environments.contract import Environment, Seed, ToolError, tool
from planarena.environments.domains.shared import Shared, day_after
from planarena.environments.domains.types import (
    Count,
    Credit,
    Date,
    Datetime,
    Minutes,
    Money,
    Payable,
    Person,
    Rating,
)  # fmt: skip
from planarena.environments.shapes import Fields, Result
from planarena.tools.semantics import Semantic

from .world import PROPOSALS, make_club, months_after

__all__ = ["Gym"]

LATE_FEE = 6.0  # for giving up a class on its day or the day before

ClassId = Annotated[str, Semantic("gym_class_id", hidden=True)]
BookingId = Annotated[str, Semantic("gym_booking_id", hidden=True)]
CoachId = Annotated[str, Semantic("gym_coach_id", hidden=True)]
HourId = Annotated[str, Semantic("coach_hour_id", hidden=True)]
MembershipId = Annotated[str, Semantic("gym_membership_id", hidden=True)]
LockerId = Annotated[str, Semantic("gym_locker_id", hidden=True)]
Kind = Annotated[str, Semantic("gym_class_kind", surface="name")]
ClassTitle = Annotated[str, Semantic("gym_class_title", surface="name")]
Plan = Annotated[str, Semantic("membership_plan", surface="name")]
Area = Annotated[str, Semantic("locker_area", surface="name")]
Number = Annotated[str, Semantic("locker_number", surface="name")]
ContractDay = Annotated[str, Semantic("contract_day", surface="date")]
Code = Annotated[str, Semantic("gym_code", surface="name")]
Weeks = Annotated[int, Semantic("pause_weeks", surface="number", minimum=1, maximum=12)]
Months = Annotated[int, Semantic("locker_months", surface="number", minimum=1, maximum=12)]
Focus = Annotated[
    Literal["strength", "endurance", "back_care", "weight_loss", "mobility", "running"],
    Semantic("training_focus", surface="word"),
]

record = Fields(
    class_id=ClassId, booking_id=BookingId, coach_id=CoachId, hour_id=HourId, membership_id=MembershipId,
    locker_id=LockerId, title=ClassTitle, coach=Person, name=Person, friend=Person, start=Datetime, date=Date,
    duration=Minutes, places_left=Count, spot=Count, position=Count, count=Count, passes_left=Count,
    litres=Count, rate=Money, monthly_fee=Money, monthly_price=Money, price=Payable, total=Payable,
    fee=Payable, saved=Credit, rating=Rating, plan=Plan, number=Number, area=Area, code=Code, renews_on=ContractDay,
    until=ContractDay, from_date=Date,
)  # fmt: skip
CLASS = record("class_id title coach start date duration places_left")
BOOKED = record("booking_id title coach start date duration")
COACH = record("coach_id name rate rating")
LOCKER = record("locker_id number monthly_price litres")


class Gym(Environment):
    """One member's dealings with a fitness club."""

    domain = "gym"
    summary = "A fitness club for one of its members: classes, coaches, the membership and lockers."
    proposals = PROPOSALS

    @classmethod
    def seed(cls, rng: Random, shared: Shared | None = None) -> Seed:
        """Make a club and a membership."""
        return make_club(cls.seeds(), rng, shared)

    @tool("read", gives=record("count classes", classes=[CLASS]))
    def find_gym_classes(self, kind: Kind) -> Result:
        """List the coming classes of a kind, the next one first, with the places that are left.

        Args:
            kind: The kind of classes, as the timetable names it.
        """
        classes = self.rows("classes", kind=kind)
        if not classes:
            raise ToolError("nothing_found", f"There are no {kind} on the timetable.")
        classes.sort(key=lambda one: (one["start"], one["class_id"]))
        return {"count": len(classes), "classes": classes}

    @tool("create", gives=record("booking_id title coach start date spot"))
    def book_gym_class(self, class_id: ClassId) -> Result:
        """Book a place in a class that has some left and does not collide with another booking.

        Args:
            class_id: The class.
        """
        course = self.require("classes", class_id, "class")
        booking_id = self.new_id("gbk", class_id)
        if self.state.get("bookings", booking_id):
            raise ToolError("already_booked", f'A place in "{course["title"]}" is booked already.')
        if any(one["start"] == course["start"] for one in self.state.scan("bookings")):
            raise ToolError("time_taken", f"Another class is booked for {course['start']}.")
        if not course["places_left"]:
            raise ToolError("class_full", f'"{course["title"]}" has no places left.')
        left = self.state.patch("classes", class_id, places_left=course["places_left"] - 1)
        booking = {"booking_id": booking_id, "class_id": class_id, "start": course["start"]}
        self.state.put("bookings", booking_id, booking)
        return {**left, "booking_id": booking_id, "spot": left["places_left"] + 1}

    @tool("create", gives=record("title coach start position"))
    def join_class_waiting_list(self, class_id: ClassId) -> Result:
        """Get in line for a class that is full.

        Args:
            class_id: The class; it has no places left.
        """
        course = self.require("classes", class_id, "class")
        if course["places_left"]:
            raise ToolError("places_left", f'"{course["title"]}" still has places; book one.')
        if self.state.get("queue", class_id):
            raise ToolError("already_in_line", f'The member is in line for "{course["title"]}" already.')
        place = {"class_id": class_id, "position": course["waiting"] + 1}
        return {**course, **self.state.put("queue", class_id, place)}

    @tool(
        "read",
        gives=record("count bookings in_line", bookings=[BOOKED], in_line=[record("title start position")]),
    )
    def list_gym_bookings(self) -> Result:
        """List the classes that the member has booked, the next one first, and those that the member is in line for."""
        found: dict[str, list[dict[str, Any]]] = {}
        for table in ("bookings", "queue"):
            rows = [
                {**self.require("classes", one["class_id"], "class"), **one} for one in self.state.scan(table)
            ]
            found[table] = sorted(rows, key=lambda one: (one["start"], one["class_id"]))
        return {"count": len(found["bookings"]), "bookings": found["bookings"], "in_line": found["queue"]}

    @tool("delete", gives=record("title start fee count"))
    def cancel_gym_booking(self, booking_id: BookingId) -> Result:
        """Give up a booked place; on the day of the class and the day before that costs a fee.

        Args:
            booking_id: The booking.
        """
        booking = self.require("bookings", booking_id, "booking")
        course = self.require("classes", booking["class_id"], "class")
        self.state.delete("bookings", booking_id)
        self.state.patch("classes", booking["class_id"], places_left=course["places_left"] + 1)
        late = booking["start"][:10] <= day_after(self.now, 1)
        left = len(list(self.state.scan("bookings")))
        return {**course, "fee": LATE_FEE if late else 0.0, "count": left}

    @tool("read", gives=record("count coaches best_rated", coaches=[COACH], best_rated=COACH))
    def find_gym_coaches(self, focus: Focus) -> Result:
        """List the coaches who give lessons in something, the cheapest first, and the one who is rated best.

        Args:
            focus: What the lessons are about.
        """
        coaches = self.rows("coaches", focus=focus)
        if not coaches:
            raise ToolError("nothing_found", "No coach of the club does that.")
        coaches.sort(key=lambda one: (one["rate"], one["coach_id"]))
        best = max(coaches, key=lambda one: (one["rating"], one["coach_id"]))
        return {"count": len(coaches), "coaches": coaches, "best_rated": best}

    @tool("read", gives=record("coach rate count hours", hours=[record("hour_id start date")]))
    def list_coach_hours(self, coach_id: CoachId) -> Result:
        """List the hours for which a coach can still be booked, the earliest first.

        Args:
            coach_id: The coach.
        """
        coach = self.require("coaches", coach_id, "coach")
        hours = sorted(self.rows("hours", coach_id=coach_id), key=lambda one: (one["start"], one["hour_id"]))
        if not hours:
            raise ToolError("fully_booked", f"{coach['name']} has no hour left.")
        return {"coach": coach["name"], "rate": coach["rate"], "count": len(hours), "hours": hours}

    @tool("create", gives=record("coach start date price"))
    def book_coach_hour(self, hour_id: HourId) -> Result:
        """Book an hour of personal training; it is paid on the spot.

        Args:
            hour_id: The hour; nobody else must have booked it.
        """
        hour = self.require("hours", hour_id, "free hour")
        coach = self.require("coaches", hour["coach_id"], "coach")
        self.state.delete("hours", hour_id)
        self.state.put("lessons", hour_id, {"coach": coach["name"], "start": hour["start"]})
        return {**hour, "coach": coach["name"], "price": coach["rate"]}

    @tool("read", gives=record("membership_id plan monthly_fee renews_on passes_left"))
    def view_gym_membership(self) -> Result:
        """Show the member's plan, its monthly fee, the day on which it renews, and how many guest passes are left."""
        (membership,) = self.state.scan("memberships")
        return membership

    @tool("update", gives=record("plan from_date until renews_on saved"))
    def pause_gym_membership(self, membership_id: MembershipId, from_date: Date, weeks: Weeks) -> Result:
        """Pause a membership once a year; no fees are due meanwhile, and it renews that much later.

        Args:
            membership_id: The membership.
            from_date: First day of the pause.
            weeks: How many weeks it lasts.
        """
        membership = self.require("memberships", membership_id, "membership")
        if from_date < self.today:
            raise ToolError("in_the_past", f"{from_date} has passed.")
        if membership["paused"]:
            raise ToolError("already_paused", "The membership was paused once this year.")
        renews_on = day_after(membership["renews_on"], 7 * weeks)
        pause = self.state.patch("memberships", membership_id, paused=from_date, renews_on=renews_on)
        saved = round(membership["monthly_fee"] * 12 / 52 * weeks, 2)
        return {**pause, "from_date": from_date, "until": day_after(from_date, 7 * weeks - 1), "saved": saved}

    @tool("create", gives=record("friend date code passes_left"))
    def invite_gym_guest(self, membership_id: MembershipId, friend: Person, date: Date) -> Result:
        """Use one of a membership's guest passes to bring somebody along for a day.

        Args:
            membership_id: The membership.
            friend: Full name of the guest.
            date: The day.
        """
        membership = self.require("memberships", membership_id, "membership")
        if date < self.today:
            raise ToolError("in_the_past", f"{date} has passed.")
        if not membership["passes_left"]:
            raise ToolError("no_passes_left", "No guest pass is left.")
        key = self.new_id("gst", friend, date)
        if self.state.get("guests", key):
            raise ToolError("already_invited", f"{friend} has a pass for {date} already.")
        code = f"G{int(key[4:], 16) % 9_000 + 1_000}"
        self.state.put("guests", key, {"friend": friend, "date": date, "code": code})
        left = self.state.patch("memberships", membership_id, passes_left=membership["passes_left"] - 1)
        return {**left, "friend": friend, "date": date, "code": code}

    @tool("read", gives=record("count lockers roomiest", lockers=[LOCKER], roomiest=LOCKER))
    def find_free_lockers(self, area: Area) -> Result:
        """List the lockers that can be rented in a part of the club, the cheapest first, and the one with most room.

        Args:
            area: The part of the club.
        """
        lockers = [one for one in self.rows("lockers", area=area) if not one["until"]]
        if not lockers:
            raise ToolError("nothing_found", f"No locker is free in {area}.")
        lockers.sort(key=lambda one: (one["monthly_price"], one["locker_id"]))
        roomiest = max(lockers, key=lambda one: (one["litres"], one["locker_id"]))
        return {"count": len(lockers), "lockers": lockers, "roomiest": roomiest}

    @tool("update", gives=record("number area until total code"))
    def rent_gym_locker(self, locker_id: LockerId, months: Months) -> Result:
        """Rent a free locker; the result holds the code of its lock.

        Args:
            locker_id: The locker.
            months: For how many months.
        """
        locker = self.require("lockers", locker_id, "locker")
        if locker["until"]:
            raise ToolError("already_rented", f"Locker {locker['number']} is rented already.")
        code = f"{int(locker_id[4:], 16) % 9_000 + 1_000}"
        rented = self.state.patch("lockers", locker_id, until=months_after(self.today, months))
        return {**rented, "code": code, "total": round(locker["monthly_price"] * months, 2)}
