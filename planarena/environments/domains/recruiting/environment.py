"""A recruiting desk: openings, those who apply for them, interviews and offers."""

from __future__ import annotations

from random import Random
from typing import Annotated, Literal

from planarena.environments.contract import Environment, Seed, ToolError, tool
from planarena.environments.domains.shared import Shared, day_after
from planarena.environments.domains.types import Count, Date, Datetime, EmailAddress, Money, Person, Workday
from planarena.environments.shapes import Fields, Result
from planarena.environments.state import Record
from planarena.tools.semantics import Semantic

from .world import PROPOSALS, Form, first_day, make_desk

__all__ = ["Recruiting"]

REPLY_DAYS = 14

OpeningId = Annotated[str, Semantic("opening_id", hidden=True)]
ApplicationId = Annotated[str, Semantic("application_id", hidden=True)]
InterviewerId = Annotated[str, Semantic("interviewer_id", hidden=True)]
SlotId = Annotated[str, Semantic("interview_slot_id", hidden=True)]
InterviewId = Annotated[str, Semantic("interview_id", hidden=True)]
OfferId = Annotated[str, Semantic("job_offer_id", hidden=True)]
# Candidates are people too, but nobody looks them up among colleagues.
Candidate = Annotated[str, Semantic("candidate", surface="name")]
JobTitle = Annotated[str, Semantic("job_title", surface="name")]
Department = Annotated[str, Semantic("hiring_department", surface="name")]
Letter = Annotated[str, Semantic("application_letter", surface="name")]
Message = Annotated[str, Semantic("rejection_message", surface="name")]
Salary = Annotated[float, Semantic("yearly_salary", surface="money", minimum=20000)]
Points = Annotated[int, Semantic("test_points", surface="number", minimum=0, maximum=100)]
StartDay = Annotated[str, Semantic("start_of_work", surface="date", pattern=r"^\d{4}-\d\d-\d\d$")]
Format = Annotated[Form, Semantic("interview_format", surface="word")]
Stage = Annotated[
    Literal["new", "shortlisted", "offered", "turned down"], Semantic("candidate_stage", surface="word")
]

record = Fields(
    opening_id=OpeningId, title=JobTitle, department=Department, manager=Person, salary_from=Money,
    salary_to=Money, closes=Date, application_id=ApplicationId, name=Candidate, email=EmailAddress, stage=Stage,
    points=Points, years=Count, letter=Letter, expects=Salary, earliest=StartDay, applied=Date,
    interviewer_id=InterviewerId, interviewer=Person, next_free=Datetime, slot_id=SlotId, start=Datetime,
    day=Workday, interview_id=InterviewId, form=Format, offer_id=OfferId, salary=Salary, starts=StartDay,
    reply_by=Workday, message=Message, count=Count,
)  # fmt: skip
INTERVIEW = record("interview_id name interviewer start day form")


class Recruiting(Environment):
    """The desk that fills openings in four departments."""

    domain = "recruiting"
    summary = "A recruiting desk with openings, candidates, interviewers, interviews and offers."
    proposals = PROPOSALS

    @classmethod
    def seed(cls, rng: Random, shared: Shared | None = None) -> Seed:
        """Make a recruiting desk."""
        return make_desk(cls.seeds(), rng, shared)

    @tool("read", gives=record("opening_id title department manager salary_from salary_to closes"))
    def find_opening(self, title: JobTitle) -> Result:
        """Look up an opening: department, hiring manager, salary range, and until when people may apply.

        Args:
            title: The job.
        """
        for opening in self.rows("openings", title=title):
            return opening
        raise ToolError("no_such_opening", f"There is no opening for a {title}.")

    @tool(
        "read",
        gives=record(
            "title count applicants", applicants=[record("application_id name points stage applied")]
        ),
    )
    def list_applicants(self, opening_id: OpeningId, stage: Stage | None = None) -> Result:
        """List who has applied for an opening, the best test result first.

        Args:
            opening_id: The opening.
            stage: Only those at this stage.
        """
        title = self.require("openings", opening_id, "opening")["title"]
        found = [
            row
            for row in self.rows("applications", opening_id=opening_id)
            if stage is None or row["stage"] == stage
        ]
        if not found:
            raise ToolError("nobody_found", f"Nobody at that stage has applied for the {title} opening.")
        found.sort(key=lambda row: (-row["points"], row["application_id"]))
        return {"title": title, "count": len(found), "applicants": found}

    @tool(
        "read",
        gives=record(
            "application_id name email opening_id title stage points years expects earliest letter message?"
        ),
    )
    def open_application(self, name: Candidate) -> Result:
        """Open somebody's application: job, stage, test result, experience, salary wanted, earliest start, letter.

        Args:
            name: Full name of the candidate.
        """
        for row in self.rows("applications", name=name):
            return {**self.require("openings", row["opening_id"], "opening"), **row}
        raise ToolError("no_such_candidate", f"{name} has applied for nothing.")

    @tool("update", gives=record("name title stage"))
    def shortlist_candidate(self, application_id: ApplicationId) -> Result:
        """Put a candidate on the short list, from which people are interviewed.

        Args:
            application_id: The application; it must be new.
        """
        row = self._application(application_id)
        if row["stage"] != "new":
            raise ToolError("not_new", f"The application of {row['name']} is {row['stage']} already.")
        self.state.patch("applications", application_id, stage="shortlisted")
        return {**row, "stage": "shortlisted"}

    @tool("update", gives=record("name title stage message"))
    def turn_down_candidate(self, application_id: ApplicationId, message: Message) -> Result:
        """Turn a candidate down; who has an interview ahead or an offer cannot be turned down.

        Args:
            application_id: The application.
            message: What the candidate is written.
        """
        row = self._application(application_id)
        if row["stage"] in ("offered", "turned down"):
            raise ToolError("decided_already", f"{row['name']} is {row['stage']} already.")
        if self.rows("interviews", application_id=application_id):
            raise ToolError("interview_ahead", f"{row['name']} is expected to an interview.")
        self.state.patch("applications", application_id, stage="turned down", message=message)
        return {**row, "stage": "turned down", "message": message}

    @tool(
        "read",
        gives=record(
            "count interviewers", interviewers=[record("interviewer_id name next_free", name=Person)]
        ),
    )
    def find_interviewers(self, opening_id: OpeningId) -> Result:
        """List who can interview for an opening, whoever has time soonest first.

        Args:
            opening_id: The opening.
        """
        department = self.require("openings", opening_id, "opening")["department"]
        lines = [
            {**row, "next_free": free[0]["start"]}
            for row in self.rows("interviewers", department=department)
            if (free := self._free(row["interviewer_id"]))
        ]
        if not lines:
            raise ToolError("nobody_free", f"Nobody in {department} has time for interviews.")
        lines.sort(key=lambda row: (row["next_free"], row["interviewer_id"]))
        return {"count": len(lines), "interviewers": lines}

    @tool("read", gives=record("interviewer count slots", slots=[record("slot_id start")]))
    def list_interview_slots(self, interviewer_id: InterviewerId, from_date: Date | None = None) -> Result:
        """List the times at which somebody can interview, the earliest first.

        Args:
            interviewer_id: The interviewer.
            from_date: Leave out what is before this date.
        """
        name = self.require("interviewers", interviewer_id, "interviewer")["name"]
        found = [slot for slot in self._free(interviewer_id) if slot["start"] >= (from_date or "")]
        if not found:
            raise ToolError("nothing_free", f"{name} has no time from then on.")
        return {"interviewer": name, "count": len(found), "slots": found}

    @tool("create", gives=INTERVIEW)
    def schedule_interview(self, application_id: ApplicationId, slot_id: SlotId, form: Format) -> Result:
        """Invite a candidate to an interview; one has to be on the short list, and has one interview at a time.

        Args:
            application_id: The application.
            slot_id: A free time of an interviewer of the department.
            form: In the office, by video or by telephone.
        """
        row, slot = self._application(application_id), self._slot(slot_id)
        if row["stage"] != "shortlisted":
            raise ToolError("not_shortlisted", f"{row['name']} is not on the short list.")
        if self.rows("interviews", application_id=application_id):
            raise ToolError("interview_ahead", f"{row['name']} has an interview ahead.")
        self._same_department(row, slot)
        interview_id = self.new_id("int", application_id)
        interview = {"interview_id": interview_id, "application_id": application_id, "form": form}
        return self._seen(self.state.put("interviews", interview_id, {**interview, "slot_id": slot_id}))

    @tool("update", gives=INTERVIEW)
    def move_interview(self, interview_id: InterviewId, slot_id: SlotId) -> Result:
        """Move an interview to another free time of the same interviewer or of a colleague in the department.

        Args:
            interview_id: The interview.
            slot_id: The time that it moves to.
        """
        interview, slot = self.require("interviews", interview_id, "interview"), self._slot(slot_id)
        self._same_department(self._application(interview["application_id"]), slot)
        return self._seen(self.state.patch("interviews", interview_id, slot_id=slot_id))

    @tool("read", gives=record("count interviews", interviews=[INTERVIEW]))
    def list_interviews(self, until: Workday) -> Result:
        """List the interviews that are coming up, the next one first.

        Args:
            until: The last day to look at.
        """
        found = [self._seen(row) for row in self.rows("interviews")]
        found = [row for row in found if row["day"] <= until]
        if not found:
            raise ToolError("nothing_planned", f"There is no interview until {until}.")
        found.sort(key=lambda row: (row["start"], row["interview_id"]))
        return {"count": len(found), "interviews": found}

    @tool("create", gives=record("offer_id name title salary starts reply_by"))
    def make_offer(self, application_id: ApplicationId, salary: Salary, starts: StartDay) -> Result:
        """Offer somebody on the short list the job, within its range of pay; the answer is due in two weeks.

        Args:
            application_id: The application.
            salary: A year.
            starts: The first day of work, no earlier than the candidate can come.
        """
        row = self._application(application_id)
        opening = self.require("openings", row["opening_id"], "opening")
        if row["stage"] != "shortlisted":
            raise ToolError("not_shortlisted", f"{row['name']} is not on the short list.")
        if salary > opening["salary_to"]:
            raise ToolError(
                "above_the_range", f"The job pays {opening['salary_to']:.0f} euros a year at most."
            )
        if starts < row["earliest"]:
            raise ToolError("too_early", f"{row['name']} can start on {row['earliest']} at the earliest.")
        offer_id, reply_by = self.new_id("off", application_id), first_day(day_after(self.now, REPLY_DAYS))
        offer = {"offer_id": offer_id, "name": row["name"], "title": row["title"], "salary": salary}
        self.state.patch("applications", application_id, stage="offered")
        return self.state.put("offers", offer_id, {**offer, "starts": starts, "reply_by": reply_by})

    @tool("read", gives=record("count offers", offers=[record("offer_id name title salary starts reply_by")]))
    def list_open_offers(self) -> Result:
        """List the offers that have not been answered, the first answer that is due at the head."""
        found = sorted(self.rows("offers"), key=lambda row: (row["reply_by"], row["offer_id"]))
        if not found:
            raise ToolError("no_open_offers", "No offer is waiting for an answer.")
        return {"count": len(found), "offers": found}

    @tool("update", gives=record("name title reply_by"))
    def extend_offer(self, offer_id: OfferId, reply_by: Workday) -> Result:
        """Give somebody more time to answer an offer.

        Args:
            offer_id: The offer.
            reply_by: The new last day, later than before.
        """
        offer = self.require("offers", offer_id, "offer")
        if reply_by <= offer["reply_by"]:
            raise ToolError("not_later", f"{offer['name']} has until {offer['reply_by']} anyway.")
        return self.state.patch("offers", offer_id, reply_by=reply_by)

    def _application(self, application_id: str) -> Record:
        row = self.require("applications", application_id, "application")
        return {**row, "title": self.require("openings", row["opening_id"], "opening")["title"]}

    def _free(self, interviewer_id: str) -> list[Record]:
        taken = {row["slot_id"] for row in self.rows("interviews")}
        slots = self.rows("slots", interviewer_id=interviewer_id)
        return sorted(
            (slot for slot in slots if slot["slot_id"] not in taken), key=lambda slot: str(slot["start"])
        )

    def _slot(self, slot_id: str) -> Record:
        """Return a time that is free."""
        if self.rows("interviews", slot_id=slot_id):
            raise ToolError("time_taken", "Another interview is at that time.")
        return self.require("slots", slot_id, "time")

    def _same_department(self, application: Record, slot: Record) -> None:
        interviewer = self.require("interviewers", slot["interviewer_id"], "interviewer")
        opening = self.require("openings", application["opening_id"], "opening")
        if interviewer["department"] != opening["department"]:
            raise ToolError("other_department", f"{interviewer['name']} is not in {opening['department']}.")

    def _seen(self, interview: Record) -> Record:
        """Return an interview as it is shown."""
        slot = self.require("slots", interview["slot_id"], "time")
        interviewer = self.require("interviewers", slot["interviewer_id"], "interviewer")["name"]
        name = self._application(interview["application_id"])["name"]
        return {
            **interview,
            "name": name,
            "interviewer": interviewer,
            "start": slot["start"],
            "day": slot["start"][:10],
        }
