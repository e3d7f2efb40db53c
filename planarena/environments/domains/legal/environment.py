"""A law office: its matters with their deadlines, hours and fees, documents and parties."""

from __future__ import annotations

from random import Random
from typing import Annotated, Literal

from planarena.environments.contract import Environment, Seed, ToolError, tool
from planarena.environments.domains.shared import Shared
from planarena.environments.domains.types import Count, Date, EmailAddress, Money, Person, Workday
from planarena.environments.shapes import Fields, Result
from planarena.environments.state import Record
from planarena.tools.semantics import Semantic

from .world import PROPOSALS, Part, make_office

__all__ = ["Legal"]

MatterId = Annotated[str, Semantic("legal_matter_id", hidden=True)]
DeadlineId = Annotated[str, Semantic("legal_deadline_id", hidden=True)]
LawyerId = Annotated[str, Semantic("lawyer_id", hidden=True)]
DocumentId = Annotated[str, Semantic("legal_document_id", hidden=True)]
PartyId = Annotated[str, Semantic("legal_party_id", hidden=True)]
Matter = Annotated[str, Semantic("legal_matter", surface="name")]
Court = Annotated[str, Semantic("court", surface="name")]
Task = Annotated[str, Semantic("legal_task", surface="name")]
Activity = Annotated[str, Semantic("billed_activity", surface="name")]
Hours = Annotated[float, Semantic("billable_hours", surface="number", minimum=0.5, maximum=12)]
OpenHours = Annotated[float, Semantic("unbilled_hours", surface="number", minimum=0)]
Paper = Annotated[str, Semantic("legal_document", surface="name")]
Role = Annotated[Part, Semantic("legal_role", surface="word")]
NoteNumber = Annotated[str, Semantic("fee_note_number", surface="name")]
CourtReference = Annotated[str, Semantic("court_reference", surface="name")]
Status = Annotated[
    Literal["draft", "out for signature", "signed", "filed"],
    Semantic("legal_document_status", surface="word"),
]

record = Fields(
    matter_id=MatterId, matter=Matter, client=Person, court=Court, lawyer=Person, name=Person, rate=Money,
    deadline_id=DeadlineId, task=Task, due=Workday, before=Date, left=Count, lawyer_id=LawyerId,
    open_deadlines=Count, activity=Activity, hours=Hours, amount=Money, unbilled=Money, unbilled_hours=OpenHours,
    number=NoteNumber, pay_by=Workday, document_id=DocumentId, document=Paper, status=Status, signer=Role,
    changed=Date, party_id=PartyId, role=Role, email=EmailAddress, reference=CourtReference, total=Money,
    count=Count,
)  # fmt: skip
LAWYER = record("lawyer_id name open_deadlines")


class Legal(Environment):
    """The office of a few lawyers who go to court for their clients."""

    domain = "legal"
    summary = (
        "A law office with matters, deadlines, hours and fees, documents for signature and court, parties."
    )
    proposals = PROPOSALS

    @classmethod
    def seed(cls, rng: Random, shared: Shared | None = None) -> Seed:
        """Make a law office with four matters."""
        return make_office(cls.seeds(), rng, shared)

    @tool("read", gives=record("matter_id matter client court lawyer rate"))
    def open_matter_file(self, matter: Matter) -> Result:
        """Open the file of a matter: client, court, the lawyer in charge and the rate for an hour.

        Args:
            matter: The two sides, as in Silva v Harbour Estates.
        """
        for row in self.rows("matters", matter=matter):
            return row
        raise ToolError("no_such_matter", f"The office has no matter {matter}.")

    @tool(
        "read",
        gives=record("count deadlines", deadlines=[record("deadline_id matter task due lawyer")]),
    )
    def list_deadlines_ahead(self, until: Workday, lawyer: Person | None = None) -> Result:
        """List the deadlines that have not been met, the next one first.

        Args:
            until: The last day to look at.
            lawyer: Only those of this lawyer.
        """
        found = [
            row
            for row in self.rows("deadlines", met="")
            if row["due"] <= until and lawyer in (None, row["lawyer"])
        ]
        if not found:
            raise ToolError("nothing_due", f"Nothing of that kind is due until {until}.")
        found.sort(key=lambda row: (row["due"], row["deadline_id"]))
        lines = [{**row, "matter": self._matter(row["matter_id"])["matter"]} for row in found]
        return {"count": len(found), "deadlines": lines}

    @tool("update", gives=record("task matter before due"))
    def extend_deadline(self, deadline_id: DeadlineId, due: Workday) -> Result:
        """Enter a later day for a deadline that the court or the other side has agreed to.

        Args:
            deadline_id: The deadline.
            due: The new day, later than before.
        """
        row = self._unmet(deadline_id)
        if due <= row["due"]:
            raise ToolError("not_later", f"It is due on {row['due']} anyway.")
        self.state.patch("deadlines", deadline_id, due=due)
        return {**row, "matter": self._matter(row["matter_id"])["matter"], "before": row["due"], "due": due}

    @tool("update", gives=record("task matter left"))
    def mark_deadline_met(self, deadline_id: DeadlineId) -> Result:
        """Note that a deadline has been met today.

        Args:
            deadline_id: The deadline.
        """
        row = self._unmet(deadline_id)
        self.state.patch("deadlines", deadline_id, met=self.today)
        left = len(self.rows("deadlines", matter_id=row["matter_id"], met=""))
        return {**row, "matter": self._matter(row["matter_id"])["matter"], "left": left}

    @tool("read", gives=record("count lawyers least_busy", lawyers=[LAWYER], least_busy=LAWYER))
    def list_lawyer_workload(self) -> Result:
        """List the lawyers by name with their open deadlines, and whoever has the fewest."""
        lines = [
            {**row, "open_deadlines": len(self.rows("deadlines", lawyer=row["name"], met=""))}
            for row in self.state.scan("lawyers")
        ]
        lines.sort(key=lambda line: (line["name"], line["lawyer_id"]))
        least = min(lines, key=lambda line: (line["open_deadlines"], line["lawyer_id"]))
        return {"count": len(lines), "lawyers": lines, "least_busy": least}

    @tool("update", gives=record("task matter lawyer due"))
    def hand_over_deadline(self, deadline_id: DeadlineId, lawyer_id: LawyerId) -> Result:
        """Make another lawyer responsible for a deadline.

        Args:
            deadline_id: The deadline.
            lawyer_id: The lawyer who takes it on.
        """
        row, name = self._unmet(deadline_id), self.require("lawyers", lawyer_id, "lawyer")["name"]
        if row["lawyer"] == name:
            raise ToolError("responsible_already", f"{name} is responsible for it already.")
        self.state.patch("deadlines", deadline_id, lawyer=name)
        return {**row, "matter": self._matter(row["matter_id"])["matter"], "lawyer": name}

    @tool("create", gives=record("matter activity hours amount unbilled"))
    def record_billable_hours(self, matter_id: MatterId, activity: Activity, hours: Hours) -> Result:
        """Enter hours worked today on a matter; each activity is entered once a day.

        Args:
            matter_id: The matter.
            activity: What was done.
            hours: How many hours it took.
        """
        matter, entry_id = self._matter(matter_id), self.new_id("hrs", matter_id, activity, self.today)
        if self.state.get("entries", entry_id):
            raise ToolError("entered_already", f"That has been entered for {matter['matter']} today.")
        self.state.put("entries", entry_id, {"matter_id": matter_id, "activity": activity, "hours": hours})
        matter = self.state.patch("matters", matter_id, unbilled_hours=matter["unbilled_hours"] + hours)
        amounts = {"amount": hours * matter["rate"], "unbilled": self._unbilled(matter)}
        return {**matter, **amounts, "activity": activity, "hours": hours}

    @tool(
        "read",
        gives=record(
            "matter unbilled_hours unbilled count total notes", notes=[record("number amount pay_by")]
        ),
    )
    def get_fee_statement(self, matter_id: MatterId) -> Result:
        """Show what has not been billed on a matter yet, and the fee notes that are unpaid.

        Args:
            matter_id: The matter.
        """
        matter = self._matter(matter_id)
        notes = sorted(
            self.rows("notes", matter_id=matter_id), key=lambda row: (row["pay_by"], row["number"])
        )
        total = sum(row["amount"] for row in notes)
        own = {"unbilled": self._unbilled(matter), "count": len(notes), "total": total, "notes": notes}
        return {**matter, **own}

    @tool("create", gives=record("number matter client amount pay_by"))
    def issue_fee_note(self, matter_id: MatterId, pay_by: Workday) -> Result:
        """Bill the client all hours of a matter that have not been billed.

        Args:
            matter_id: The matter.
            pay_by: When the client has to pay; it is still to come.
        """
        matter = self._matter(matter_id)
        if pay_by <= self.today:
            raise ToolError("in_the_past", f"{pay_by} is not still to come.")
        if not matter["unbilled_hours"]:
            raise ToolError("nothing_to_bill", f"Everything on {matter['matter']} has been billed.")
        note_id = self.new_id("fee", matter_id, self.today)
        number = f"{self.today[2:4]}-{int(note_id[4:], 16) % 9000 + 1000}"
        note = {"number": number, "matter_id": matter_id, "amount": self._unbilled(matter), "pay_by": pay_by}
        self.state.patch("matters", matter_id, unbilled_hours=0.0)
        return {**matter, **self.state.put("notes", note_id, note)}

    @tool(
        "read",
        gives=record(
            "matter count documents", documents=[record("document_id document status signer changed")]
        ),
    )
    def list_case_documents(self, matter_id: MatterId, status: Status | None = None) -> Result:
        """List the documents of a matter, the last one that was changed first, and who has to sign each of them.

        Args:
            matter_id: The matter.
            status: Only documents in this state.
        """
        matter, found = self._matter(matter_id)["matter"], self.rows("documents", matter_id=matter_id)
        found = [row for row in found if status in (None, row["status"])]
        if not found:
            raise ToolError("nothing_found", f"There is no such document in {matter}.")
        found.sort(key=lambda row: (row["changed"], row["document_id"]), reverse=True)
        return {"matter": matter, "count": len(found), "documents": found}

    @tool("update", gives=record("document matter name status"))
    def send_for_signature(self, document_id: DocumentId, party_id: PartyId) -> Result:
        """Send a draft to whoever has to sign it: the client, the witness or the expert.

        Args:
            document_id: The document, which must be a draft.
            party_id: Whom it is sent to.
        """
        paper, party = (
            self.require("documents", document_id, "document"),
            self.require("parties", party_id, "party"),
        )
        if paper["status"] != "draft":
            raise ToolError("no_draft", f"The {paper['document']} is {paper['status']}.")
        if (paper["matter_id"], paper["signer"]) != (party["matter_id"], party["role"]):
            raise ToolError("wrong_signatory", f"The {paper['document']} is signed by the {paper['signer']}.")
        matter = self._matter(paper["matter_id"])["matter"]
        paper = self.state.patch("documents", document_id, status="out for signature")
        return {**paper, "matter": matter, "name": party["name"]}

    @tool("update", gives=record("document matter court reference"))
    def file_with_court(self, document_id: DocumentId) -> Result:
        """File a signed document with the court of its matter, which gives it a reference.

        Args:
            document_id: The document.
        """
        paper = self.require("documents", document_id, "document")
        if paper["status"] != "signed":
            raise ToolError("not_signed", f"The {paper['document']} is {paper['status']}.")
        matter = self._matter(paper["matter_id"])
        self.state.patch("documents", document_id, status="filed")
        number = int(self.new_id("doc", document_id, self.today)[4:], 16) % 90000 + 10000
        return {**paper, **matter, "reference": f"{matter['court'][:2].upper()}{number}"}

    @tool("read", gives=record("matter count parties", parties=[record("party_id name role email")]))
    def list_case_parties(self, matter_id: MatterId) -> Result:
        """List the people in a matter: client, witness, expert and the lawyer of the other side.

        Args:
            matter_id: The matter.
        """
        found = self.rows("parties", matter_id=matter_id)
        matter = self._matter(matter_id)["matter"]
        return {
            "matter": matter,
            "count": len(found),
            "parties": sorted(found, key=lambda row: int(row["place"])),
        }

    def _matter(self, matter_id: str) -> Record:
        return self.require("matters", matter_id, "matter")

    def _unmet(self, deadline_id: str) -> Record:
        row = self.require("deadlines", deadline_id, "deadline")
        if row["met"]:
            raise ToolError("met_already", f"That was done on {row['met']}.")
        return row

    @staticmethod
    def _unbilled(matter: Record) -> float:
        return round(float(matter["unbilled_hours"] * matter["rate"]), 2)
