"""The claims desk of an insurer: policies, damage that is reported, loss adjusters, documents, reserves and payouts."""

from __future__ import annotations

from datetime import date as calendar_date
from random import Random
from typing import Annotated, Literal

from planarena.environments.contract import Environment, Seed, ToolError, tool
from planarena.environments.domains import types
from planarena.environments.domains.shared import Shared, day_after
from planarena.environments.shapes import Fields, Result
from planarena.environments.state import Record
from planarena.tools.semantics import Semantic

from .world import CAUSES, PROPOSALS, make_desk, new_claim

__all__ = ["Claims"]

HolderId = Annotated[str, Semantic("policyholder_id", hidden=True)]
PolicyId = Annotated[str, Semantic("insurance_policy_id", hidden=True)]
ClaimId = Annotated[str, Semantic("insurance_claim_id", hidden=True)]
AdjusterId = Annotated[str, Semantic("loss_adjuster_id", hidden=True)]
Number = Annotated[str, Semantic("insurance_number", surface="name")]
Account = Annotated[str, Semantic("damage_account", surface="name")]
Estimate = Annotated[float, Semantic("damage_estimate", surface="money", minimum=10, maximum=50000)]
Reserve = Annotated[float, Semantic("claim_reserve", surface="money", minimum=0, maximum=50000)]
Payout = Annotated[float, Semantic("claim_payout", surface="money", minimum=1, maximum=50000)]
Kind = Annotated[Literal["motor", "household", "travel"], Semantic("insurance_kind", surface="word")]
Cause = Annotated[
    Literal[
        "collision", "hail", "broken_glass", "burst_pipe", "fire", "storm", "lost_luggage", "cancelled_trip",
        "illness",
    ],
    Semantic("damage_cause", surface="word"),
]  # fmt: skip
Document = Annotated[
    Literal["photographs", "receipts", "claim_form", "bank_details"],
    Semantic("claim_document", surface="word"),
]
Status = Annotated[Literal["open", "paid", "declined"], Semantic("insurance_claim_status", surface="word")]
Reason = Annotated[Literal["not_covered", "duplicate", "unproven"], Semantic("claim_refusal", surface="word")]  # fmt: skip

record = Fields(
    holder_id=HolderId, policy_id=PolicyId, claim_id=ClaimId, adjuster_id=AdjusterId, number=Number,
    policy=Number, name=types.Person, holder=types.Person, adjuster=types.Person, address=types.EmailAddress,
    town=types.City, kind=Kind, cause=Cause, account=Account, reported=types.Date, incident=types.Date,
    estimate=types.Money, reserve=types.Money, before_reserve=types.Money, cover=types.Money,
    excess=types.Money, status=Status, visit_on=types.Date, before=types.Date, next_visit=types.Date,
    open_files=types.Count, document=Document, reason=Reason, reply_by=types.Date, still_missing=types.Count,
    paid=types.Payable, paid_on=types.Date, appeal_until=types.Date, valid_until=types.Date, count=types.Count,
)  # fmt: skip
CLAIM = record("claim_id number kind holder cause estimate reported")
HOLDER = record(
    "holder_id name address town policies claims",
    policies=[record("policy_id number kind")], claims=[record("claim_id number kind cause status")],
)  # fmt: skip
ADJUSTER = record("adjuster_id name town open_files next_visit")


class Claims(Environment):
    """What a claims handler of an insurer works with."""

    domain = "claims"
    summary = (
        "The claims desk of an insurer: policies, reported damage, loss adjusters, documents and payouts."
    )
    proposals = PROPOSALS

    @classmethod
    def seed(cls, rng: Random, shared: Shared | None = None) -> Seed:
        """Make an insurer's desk."""
        return make_desk(cls.seeds(), rng, shared)

    @tool("read", gives=HOLDER)
    def find_policyholder(self, name: types.Person) -> Result:
        """Look up somebody who is insured: mail address, town, policies, and claims with the latest first.

        Args:
            name: Full name of the policyholder.
        """
        for holder in self.rows("holders", name=name):
            own = {"policies": self.rows("policies", holder=name), "claims": self.rows("claims", holder=name)}
            own["policies"].sort(key=lambda row: row["kind"])
            own["claims"].sort(key=lambda row: (row["reported"], row["claim_id"]), reverse=True)
            return {**holder, **own}
        raise ToolError("not_insured", f"{name} has no policy with us.")

    @tool("read", gives=record("number holder kind cover excess valid_until"))
    def get_insurance_policy(self, policy_id: PolicyId) -> Result:
        """Show the terms of a policy: up to how much it covers, the excess, and until when it is valid.

        Args:
            policy_id: The policy.
        """
        return self.require("policies", policy_id, "policy")

    @tool("read", gives=record("count claims largest", claims=[CLAIM], largest=CLAIM))
    def list_pending_claims(self, kind: Kind) -> Result:
        """List the claims of a kind that have been neither paid nor declined, the one reported first at the top.

        Args:
            kind: The kind of insurance.
        """
        found = self.rows("claims", kind=kind, status="open")
        if not found:
            raise ToolError("nothing_pending", f"No {kind} claim is pending.")
        found.sort(key=lambda row: (row["reported"], row["claim_id"]))
        largest = max(found, key=lambda row: (row["estimate"], row["claim_id"]))
        return {"count": len(found), "claims": found, "largest": largest}

    @tool(
        "read",
        gives=record(
            "claim_id number policy_id holder kind cause account incident estimate excess reserve status "
            "adjuster? visit_on? reason? missing",
            missing=[record("document")],
        ),
    )
    def open_claim_file(self, claim_id: ClaimId) -> Result:
        """Open the file of a claim: what happened and when, the estimate, reserve, adjuster, and which documents are missing.

        Args:
            claim_id: The claim.
        """
        claim = self.require("claims", claim_id, "claim")
        policy = self.require("policies", claim["policy_id"], "policy")
        shown = {key: value for key, value in claim.items() if value != ""}
        return {**policy, **shown, "missing": [{"document": document} for document in claim["missing"]]}

    @tool("create", gives=record("claim_id number holder kind cause estimate excess"))
    def register_damage_report(
        self, policy_id: PolicyId, cause: Cause, incident: types.Date, estimate: Estimate
    ) -> Result:
        """Open a claim under a policy for damage that was reported; the policy must cover the cause.

        Args:
            policy_id: The policy.
            cause: What caused the damage.
            incident: The day on which it happened.
            estimate: What the damage is thought to cost, in euros.
        """
        policy = self.require("policies", policy_id, "policy")
        if cause not in CAUSES[policy["kind"]]:
            raise ToolError("not_covered", f"Policy {policy['number']} does not cover that.")
        if incident > self.today:
            raise ToolError("in_the_future", f"{incident} has not come yet.")
        claim = new_claim(policy, cause, incident, estimate, self.today)
        if self.state.get("claims", claim["claim_id"]):
            raise ToolError("already_registered", f"That damage is claim {claim['number']} already.")
        return {**policy, **self.state.put("claims", claim["claim_id"], claim)}

    @tool("read", gives=record("count adjusters least_busy", adjusters=[ADJUSTER], least_busy=ADJUSTER))
    def find_loss_adjusters(self, kind: Kind) -> Result:
        """List the loss adjusters for a kind of insurance, the one who can pay a visit soonest first.

        Args:
            kind: The kind of insurance.
        """
        found = self.rows("adjusters", kind=kind)
        found.sort(key=lambda row: (row["next_visit"], row["adjuster_id"]))
        least_busy = min(found, key=lambda row: (row["open_files"], row["adjuster_id"]))
        return {"count": len(found), "adjusters": found, "least_busy": least_busy}

    @tool("update", gives=record("number holder adjuster visit_on"))
    def assign_loss_adjuster(self, claim_id: ClaimId, adjuster_id: AdjusterId) -> Result:
        """Give a claim to a loss adjuster, who pays a visit on the next day that is free.

        Args:
            claim_id: The claim; it is open.
            adjuster_id: The loss adjuster, for that kind of insurance.
        """
        claim = self._open(claim_id)
        adjuster = self.require("adjusters", adjuster_id, "loss adjuster")
        if adjuster["kind"] != claim["kind"]:
            raise ToolError("other_kind", f"{adjuster['name']} does not assess {claim['kind']} claims.")
        if claim["adjuster"] == adjuster["name"]:
            raise ToolError("already_assigned", f"{adjuster['name']} has claim {claim['number']} already.")
        visit_on = adjuster["next_visit"]
        return self.state.patch("claims", claim_id, adjuster=adjuster["name"], visit_on=visit_on)

    @tool("update", gives=record("number holder adjuster before visit_on"))
    def move_adjuster_visit(self, claim_id: ClaimId, date: types.Date) -> Result:
        """Move the visit of a loss adjuster to another working day.

        Args:
            claim_id: The claim; an adjuster has been assigned.
            date: The new day.
        """
        claim = self._open(claim_id)
        if not claim["adjuster"]:
            raise ToolError("no_visit", f"No visit has been arranged for claim {claim['number']}.")
        if date <= self.today or calendar_date.fromisoformat(date).weekday() > 4:
            raise ToolError("no_working_day", "Visits take place on working days from tomorrow on.")
        if claim["visit_on"] == date:
            raise ToolError("already_that_day", f"The visit is on {date} already.")
        return {**self.state.patch("claims", claim_id, visit_on=date), "before": claim["visit_on"]}

    @tool("update", gives=record("number holder document reply_by"))
    def request_claim_document(self, claim_id: ClaimId, document: Document) -> Result:
        """Ask the policyholder for a document, which is then awaited for two weeks.

        Args:
            claim_id: The claim; it is open.
            document: What to ask for.
        """
        claim = self._open(claim_id)
        if document in claim["missing"]:
            raise ToolError("already_requested", "This document has been asked for already.")
        self.state.patch("claims", claim_id, missing=sorted([*claim["missing"], document]))
        return {**claim, "document": document, "reply_by": day_after(self.now, 14)}

    @tool("update", gives=record("number holder document still_missing"))
    def record_claim_document(self, claim_id: ClaimId, document: Document) -> Result:
        """Note that a document which was awaited has arrived.

        Args:
            claim_id: The claim; it is open.
            document: What has arrived.
        """
        claim = self._open(claim_id)
        if document not in claim["missing"]:
            raise ToolError("not_awaited", f"Claim {claim['number']} awaits no such document.")
        missing = [one for one in claim["missing"] if one != document]
        self.state.patch("claims", claim_id, missing=missing)
        return {**claim, "document": document, "still_missing": len(missing)}

    @tool("update", gives=record("number holder before_reserve reserve"))
    def set_claim_reserve(self, claim_id: ClaimId, amount: Reserve) -> Result:
        """Set the sum that the insurer keeps ready for a claim.

        Args:
            claim_id: The claim; it is open.
            amount: The sum in euros.
        """
        claim = self._open(claim_id)
        if claim["reserve"] == amount:
            raise ToolError("no_change", f"The reserve of claim {claim['number']} is that already.")
        return {**self.state.patch("claims", claim_id, reserve=amount), "before_reserve": claim["reserve"]}

    @tool("update", gives=record("number holder paid paid_on"))
    def approve_claim_payout(self, claim_id: ClaimId, amount: Payout | None = None) -> Result:
        """Pay out a claim, which closes it; no document may be missing.

        Args:
            claim_id: The claim; it is open.
            amount: The sum in euros; without it, the estimate less the excess.
        """
        claim = self._open(claim_id)
        policy = self.require("policies", claim["policy_id"], "policy")
        if claim["missing"]:
            raise ToolError("document_missing", f"Documents for claim {claim['number']} are still missing.")
        most = min(claim["estimate"] - policy["excess"], policy["cover"])
        paid = most if amount is None else amount
        if not 0 < paid <= most:
            raise ToolError("not_payable", f"Claim {claim['number']} comes to {most:.2f} euros at most.")
        self.state.patch("claims", claim_id, status="paid", reserve=0.0)
        return {**claim, "paid": paid, "paid_on": day_after(self.now, 3)}

    @tool("update", gives=record("number holder cause appeal_until"))
    def decline_insurance_claim(self, claim_id: ClaimId, reason: Reason) -> Result:
        """Turn a claim down, which closes it; the policyholder may appeal for a month.

        Args:
            claim_id: The claim; it is open.
            reason: Why nothing is paid.
        """
        claim = self._open(claim_id)
        self.state.patch("claims", claim_id, status="declined", reserve=0.0, reason=reason)
        return {**claim, "appeal_until": day_after(self.now, 30)}

    def _open(self, claim_id: str) -> Record:
        claim = self.require("claims", claim_id, "claim")
        if claim["status"] != "open":
            raise ToolError("claim_closed", f"Claim {claim['number']} has been {claim['status']}.")
        return claim
