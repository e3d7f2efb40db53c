"""A teacher's desk at a school: courses, pupils, marks, absences and the parents' evening."""

from __future__ import annotations

from datetime import date as calendar_date
from random import Random
from typing import Annotated, Any, Literal

from planarena.environments.contract import Environment, Seed, ToolError, tool
from planarena.environments.domains.shared import Shared, day_after
from planarena.environments.domains.types import Count, Date, Datetime, EmailAddress, Person, Time, Workday
from planarena.environments.shapes import Fields, Result
from planarena.environments.state import Record
from planarena.tools.semantics import Semantic

from .world import PROPOSALS, make_school

__all__ = ["School"]

PupilId = Annotated[str, Semantic("pupil_id", hidden=True)]
TestId = Annotated[str, Semantic("school_test_id", hidden=True)]
MarkId = Annotated[str, Semantic("test_mark_id", hidden=True)]
AbsenceId = Annotated[str, Semantic("pupil_absence_id", hidden=True)]
SlotId = Annotated[str, Semantic("parent_slot_id", hidden=True)]
TalkId = Annotated[str, Semantic("parent_talk_id", hidden=True)]
Course = Annotated[str, Semantic("school_course", surface="name")]
Pupil = Annotated[str, Semantic("pupil", surface="name")]
TestTitle = Annotated[str, Semantic("school_test_title", surface="name")]
Room = Annotated[str, Semantic("school_room", surface="name")]
State = Annotated[str, Semantic("school_state", surface="word")]
Points = Annotated[int, Semantic("test_points", surface="number", minimum=0, maximum=100)]
Average = Annotated[float, Semantic("average_points", surface="number", minimum=0, maximum=100)]
Lessons = Annotated[int, Semantic("missed_lessons", surface="number", minimum=1, maximum=8)]
Reason = Annotated[
    Literal["illness", "a doctor's appointment", "family matters", "a late bus", "an excursion"],
    Semantic("absence_reason", surface="word"),
]

record = Fields(
    pupil_id=PupilId, test_id=TestId, mark_id=MarkId, absence_id=AbsenceId, slot_id=SlotId, talk_id=TalkId,
    course=Course, name=Pupil, pupil=Pupil, title=TestTitle, room=Room, state=State, points=Points,
    before=Points, average=Average, lessons=Lessons, missed=Count, open_count=Count, count=Count, date=Workday,
    evening=Date, start=Datetime, moved_from=Datetime, parent=Person, at=Time, email=EmailAddress, reason=Reason,
)  # fmt: skip
PUPIL = record("pupil_id name average")
TEST = record("test_id title date average")
MARK = record("mark_id pupil points")
ABSENCE = record("absence_id pupil date lessons state")
TALK = record("talk_id parent pupil at")
TIME = record("slot_id at")
MARKS = record("title course average count marks unmarked", marks=[MARK], unmarked=[record("pupil_id name")])
EVENING = record(
    "evening room count first_free last_free times talks", first_free=TIME, last_free=TIME, talks=[TALK],
    times=[record("slot_id at state")],
)  # fmt: skip


class School(Environment):
    """What a teacher looks after in three courses."""

    domain = "school"
    summary = "A teacher's desk: courses, pupils, tests and marks, absences and the parents' evening."
    proposals = PROPOSALS

    @classmethod
    def seed(cls, rng: Random, shared: Shared | None = None) -> Seed:
        """Make a teacher's courses."""
        return make_school(cls.seeds(), rng, shared)

    @tool("read", gives=record("course count pupils best", pupils=[PUPIL], best=PUPIL))
    def list_course_pupils(self, course: Course) -> Result:
        """List the pupils of a course by their average in its tests, the lowest first, and the best of them.

        Args:
            course: Name of the course.
        """
        pupils = [
            {**one, "average": self._average(pupil_id=one["pupil_id"])} for one in self._of("pupils", course)
        ]
        pupils.sort(key=lambda one: (one["average"], one["name"]))
        return {"course": course, "count": len(pupils), "pupils": pupils, "best": pupils[-1]}

    @tool("read", gives=record("pupil_id name course average missed open_count parent email"))
    def find_pupil(self, name: Pupil) -> Result:
        """Look up a pupil: course, average, lessons missed, absences not yet excused, and whom to reach at home.

        Args:
            name: Full name of the pupil.
        """
        for pupil in self.rows("pupils", name=name):
            absences = self.rows("absences", pupil_id=pupil["pupil_id"])
            missed = sum(one["lessons"] for one in absences)
            still = len([one for one in absences if one["state"] == "open"])
            average = self._average(pupil_id=pupil["pupil_id"])
            return {**pupil, "average": average, "missed": missed, "open_count": still}
        raise ToolError("no_such_pupil", f"There is no pupil named {name} in these courses.")

    @tool("read", gives=record("course count tests planned", tests=[TEST], planned=[record("title date")]))
    def list_course_tests(self, course: Course) -> Result:
        """List the tests that a course has sat, the latest first, with their averages, and those still planned.

        Args:
            course: Name of the course.
        """
        tests = sorted(self._of("tests", course), key=lambda one: (one["date"], one["test_id"]))
        sat = [one for one in reversed(tests) if one["date"] <= self.today]
        planned = [one for one in tests if one["date"] > self.today]
        shown = [{**one, "average": self._average(test_id=one["test_id"])} for one in sat]
        return {"course": course, "count": len(sat), "tests": shown, "planned": planned}

    @tool("read", gives=MARKS)
    def show_test_marks(self, test_id: TestId) -> Result:
        """Show the points of a test, the highest first, and the pupils who have none because they were away.

        Args:
            test_id: The test, which was sat already.
        """
        test = self._sat(test_id)
        marks = sorted(self.rows("marks", test_id=test_id), key=lambda one: (-one["points"], one["pupil"]))
        marked = {one["pupil_id"] for one in marks}
        away = [one for one in self._of("pupils", test["course"]) if one["pupil_id"] not in marked]
        average = self._average(test_id=test_id)
        return {**test, "average": average, "count": len(marks), "marks": marks, "unmarked": away}

    @tool("create", gives=record("mark_id pupil title points average"))
    def enter_test_mark(self, test_id: TestId, pupil_id: PupilId, points: Points) -> Result:
        """Enter the points of a pupil who has none in a test of the course; the average is the pupil's new one.

        Args:
            test_id: The test.
            pupil_id: The pupil.
            points: Out of 100.
        """
        test, pupil = self._sat(test_id), self.require("pupils", pupil_id, "pupil")
        if pupil["course"] != test["course"]:
            raise ToolError("other_course", f"{pupil['name']} is not in {test['course']}.")
        mark_id = self.new_id("mrk", test_id, pupil_id)
        if self.state.get("marks", mark_id):
            raise ToolError("already_marked", f'{pupil["name"]} has points in "{test["title"]}" already.')
        mark = {"mark_id": mark_id, "test_id": test_id, "pupil_id": pupil_id, "pupil": pupil["name"]}
        mark = self.state.put("marks", mark_id, {**mark, "points": points})
        return {**mark, "title": test["title"], "average": self._average(pupil_id=pupil_id)}

    @tool("update", gives=record("pupil title before points average"))
    def correct_test_mark(self, mark_id: MarkId, points: Points) -> Result:
        """Change the points that a pupil has in a test; the average is the pupil's new one.

        Args:
            mark_id: The mark.
            points: Out of 100.
        """
        mark = self.require("marks", mark_id, "mark")
        if mark["points"] == points:
            raise ToolError("same_points", f"{mark['pupil']} has {points} points already.")
        after = self.state.patch("marks", mark_id, points=points)
        test = self.require("tests", mark["test_id"], "test")
        average = self._average(pupil_id=mark["pupil_id"])
        return {**after, "title": test["title"], "before": mark["points"], "average": average}

    @tool("create", gives=record("title course date"))
    def set_course_test(self, course: Course, title: TestTitle, date: Workday) -> Result:
        """Announce a test, at least three days away from every other test of the course.

        Args:
            course: Name of the course.
            title: What it is about.
            date: The day, a school day to come.
        """
        if date <= self.today:
            raise ToolError("in_the_past", f"{date} is too early to announce a test.")
        if calendar_date.fromisoformat(date).weekday() > 4:
            raise ToolError("no_school", f"There is no school on {date}.")
        for test in self._of("tests", course):
            if day_after(test["date"], -3) < date < day_after(test["date"], 3):
                raise ToolError("too_close", f'{course} sits "{test["title"]}" on {test["date"]}.')
        test_id = self.new_id("tst", course, title)
        if self.state.get("tests", test_id):
            raise ToolError("already_set", f'{course} has a test "{title}" already.')
        test = {"test_id": test_id, "course": course, "title": title, "date": date}
        return self.state.put("tests", test_id, test)

    @tool("read", gives=record("course count open_count absences", absences=[ABSENCE]))
    def list_course_absences(self, course: Course) -> Result:
        """List the absences in a course, the oldest first, and say which of them are still open.

        Args:
            course: Name of the course.
        """
        ids = {one["pupil_id"] for one in self._of("pupils", course)}
        found = [one for one in self.state.scan("absences") if one["pupil_id"] in ids]
        found.sort(key=lambda one: (one["date"], one["absence_id"]))
        still = len([one for one in found if one["state"] == "open"])
        return {"course": course, "count": len(found), "open_count": still, "absences": found}

    @tool("create", gives=record("absence_id pupil date lessons missed"))
    def record_pupil_absence(self, pupil_id: PupilId, date: Workday, lessons: Lessons) -> Result:
        """Enter that a pupil was away on a day, once a day; the result says how many lessons that makes in all.

        Args:
            pupil_id: The pupil.
            date: The day, today or before.
            lessons: How many lessons were missed.
        """
        pupil = self.require("pupils", pupil_id, "pupil")
        if date > self.today:
            raise ToolError("not_yet", f"{date} is still to come.")
        absence_id = self.new_id("abs", pupil_id, date)
        if self.state.get("absences", absence_id):
            raise ToolError("already_recorded", f"{pupil['name']} is down as away on {date} already.")
        absence = {"absence_id": absence_id, "pupil_id": pupil_id, "pupil": pupil["name"], "date": date}
        self.state.put("absences", absence_id, {**absence, "lessons": lessons, "state": "open"})
        missed = sum(one["lessons"] for one in self.rows("absences", pupil_id=pupil_id))
        return {**absence, "lessons": lessons, "missed": missed}

    @tool("update", gives=record("pupil date lessons reason"))
    def excuse_pupil_absence(self, absence_id: AbsenceId, reason: Reason) -> Result:
        """Excuse an absence that is still open.

        Args:
            absence_id: The absence.
            reason: Why the pupil was away.
        """
        absence = self.require("absences", absence_id, "absence")
        if absence["state"] != "open":
            raise ToolError("already_excused", f"That absence of {absence['pupil']} is excused already.")
        return {**self.state.patch("absences", absence_id, state="excused"), "reason": reason}

    @tool("read", gives=EVENING)
    def view_parents_evening(self) -> Result:
        """Show the parents' evening: day and room, its times and which of them are free, and the talks arranged."""
        taken = {one["slot_id"] for one in self.state.scan("talks")}
        times = [
            {**one, "at": one["start"][11:], "state": "taken" if one["slot_id"] in taken else "free"}
            for one in sorted(self.state.scan("slots"), key=lambda one: one["start"])
        ]
        free = [one for one in times if one["state"] == "free"]
        if not free:
            raise ToolError("fully_booked", "Every time of the parents' evening is taken.")
        talks = sorted((self._talk(one) for one in self.state.scan("talks")), key=lambda one: one["start"])
        plan = {
            "evening": times[0]["start"][:10],
            "room": times[0]["room"],
            "count": len(free),
            "times": times,
        }
        return {**plan, "first_free": free[0], "last_free": free[-1], "talks": talks}

    @tool("create", gives=record("talk_id parent pupil start room"))
    def book_parent_talk(self, slot_id: SlotId, pupil_id: PupilId) -> Result:
        """Arrange a talk with a pupil's parent at the parents' evening, one for each pupil.

        Args:
            slot_id: A time that is free.
            pupil_id: The pupil.
        """
        slot, pupil = self._free(slot_id), self.require("pupils", pupil_id, "pupil")
        talk_id = self.new_id("tlk", pupil_id)
        if self.state.get("talks", talk_id):
            raise ToolError("already_arranged", f"A talk about {pupil['name']} is arranged already.")
        talk = {"talk_id": talk_id, "slot_id": slot_id, "pupil_id": pupil_id}
        return {**self._talk(self.state.put("talks", talk_id, talk)), "room": slot["room"]}

    @tool("update", gives=record("parent pupil moved_from start"))
    def move_parent_talk(self, talk_id: TalkId, slot_id: SlotId) -> Result:
        """Move a talk at the parents' evening to another time.

        Args:
            talk_id: The talk.
            slot_id: A time that is free.
        """
        before = self._talk(self.require("talks", talk_id, "talk"))
        self._free(slot_id)
        after = self._talk(self.state.patch("talks", talk_id, slot_id=slot_id))
        return {**after, "moved_from": before["start"]}

    def _of(self, table: str, course: str) -> list[Record]:
        """Return the records of a course, which must be one of the teacher's."""
        self.require("courses", course, "course")
        return self.rows(table, course=course)

    def _average(self, **fields: Any) -> float:
        points = [one["points"] for one in self.rows("marks", **fields)]
        return round(sum(points) / len(points), 1) if points else 0.0

    def _sat(self, test_id: str) -> Record:
        test = self.require("tests", test_id, "test")
        if test["date"] > self.today:
            raise ToolError("not_sat_yet", f'"{test["title"]}" is sat on {test["date"]} only.')
        return test

    def _free(self, slot_id: str) -> Record:
        slot = self.require("slots", slot_id, "time")
        if self.rows("talks", slot_id=slot_id):
            raise ToolError("time_taken", f"There is a talk at {slot['start']} already.")
        return slot

    def _talk(self, talk: Record) -> dict[str, Any]:
        """Return a talk with the names and the time that belong to it."""
        pupil = self.require("pupils", talk["pupil_id"], "pupil")
        start = self.require("slots", talk["slot_id"], "time")["start"]
        return {**talk, "parent": pupil["parent"], "pupil": pupil["name"], "start": start, "at": start[11:]}
