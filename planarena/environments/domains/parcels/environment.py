"""A courier's parcels: tracking, redelivery, pick-up points, who may collect them, and claims for damage."""

from __future__ import annotations

from random import Random
from typing import Annotated, Literal

from planarena.environments.contract import Environment, Seed, ToolError, tool
from planarena.environments.domains import types
from planarena.environments.domains.shared import Shared, day_after
from planarena.environments.shapes import Fields, Result
from planarena.environments.state import Record
from planarena.tools.semantics import Semantic

from .world import DAYS, PROPOSALS, make_parcels, new_claim

__all__ = ["Parcels"]

STORAGE_FEE, LONGEST_STORAGE = 1.5, 21  # euros a day, days from today

ParcelId = Annotated[str, Semantic("courier_parcel_id", hidden=True)]
SlotId = Annotated[str, Semantic("redelivery_slot_id", hidden=True)]
PointId = Annotated[str, Semantic("pickup_point_id", hidden=True)]
ClaimId = Annotated[str, Semantic("damage_claim_id", hidden=True)]
Sender = Annotated[str, Semantic("parcel_sender", surface="name")]
Contents = Annotated[str, Semantic("parcel_contents", surface="name")]
Number = Annotated[str, Semantic("parcel_number", surface="name")]
Point = Annotated[str, Semantic("pickup_point", surface="name")]
District = Annotated[str, Semantic("district", surface="name")]
Stage = Annotated[str, Semantic("parcel_stage", surface="name")]
Place = Annotated[str, Semantic("parcel_depot", surface="name")]
Code = Annotated[str, Semantic("collection_code", surface="name")]
Metres = Annotated[int, Semantic("metres", surface="number", minimum=0)]
Days = Annotated[int, Semantic("storage_days", surface="number", minimum=1, maximum=14)]
Claimed = Annotated[float, Semantic("claimed_amount", surface="money", minimum=1, maximum=500)]
Status = Annotated[Literal["in_transit", "undelivered", "waiting_for_collection", "delivered"], Semantic("parcel_status", surface="word")]  # fmt: skip
Damage = Annotated[Literal["crushed", "wet", "torn_open", "incomplete"], Semantic("parcel_damage", surface="word")]  # fmt: skip
ClaimStatus = Annotated[Literal["under_review", "open", "contested", "settled"], Semantic("damage_claim_status", surface="word")]  # fmt: skip

record = Fields(
    parcel_id=ParcelId, slot_id=SlotId, point_id=PointId, claim_id=ClaimId, sender=Sender, contents=Contents,
    tracking=Number, number=Number, status=Status, expected=types.Date, missed_on=types.Date,
    collect_by=types.Date, delivered_on=types.Date, point=Point, address=types.Address, metres=Metres,
    closes=types.Time, event=Stage, place=Place, at=types.Datetime, start=types.FreeTime, date=types.Date,
    until=types.Time, fee=types.Payable, code=Code, person=types.Person, day=types.Date,
    collect_from=types.Date, before=types.Date, damage=Damage, claimed=types.Money, offered=types.Money,
    paid=types.Credit, paid_on=types.Date, decision_by=types.Date, count=types.Count,
)  # fmt: skip
PARCEL = record("parcel_id sender contents day")
SHEET = record(
    "parcel_id sender contents tracking status expected? missed_on? collect_by? delivered_on? point? code? "
    "collectors",
    collectors=[record("person")],
)
SLOT = record("slot_id start until fee", start=types.Datetime)
CLAIM = record(
    "claim_id number sender contents damage claimed offered status decision_by", status=ClaimStatus
)
POINT = record("point_id point address metres closes")


class Parcels(Environment):
    """What a courier shows to somebody for whom parcels are on their way, missed, held or delivered."""

    domain = "parcels"
    summary = "A courier's parcels: tracking, redelivery, pick-up points, collectors and claims for damage."
    proposals = PROPOSALS

    @classmethod
    def seed(cls, rng: Random, shared: Shared | None = None) -> Seed:
        """Make a household or shop with a dozen parcels."""
        return make_parcels(cls.seeds(), rng, shared)

    @tool("read", gives=SHEET)
    def find_parcel(self, sender: Sender) -> Result:
        """Look up a parcel by its sender: number, contents, status and dates, pick-up point, and who may collect it.

        Args:
            sender: Who sent it.
        """
        parcel = self._parcel_of(sender)
        collectors = self.rows("collectors", parcel_id=parcel["parcel_id"])
        shown = {key: value for key, value in parcel.items() if value != ""}
        if parcel["point_id"]:
            shown["point"] = self.require("points", parcel["point_id"], "pick-up point")["point"]
        return {**shown, "collectors": sorted(collectors, key=lambda row: row["person"])}

    @tool("read", gives=record("count parcels earliest", parcels=[PARCEL], earliest=PARCEL))
    def list_parcels_by_status(self, status: Status) -> Result:
        """List the parcels of a status by sender, with the day that counts: of arrival, of the missed attempt, the last for collecting, or of delivery.

        Args:
            status: The status.
        """
        lines = [{**row, "day": row[DAYS[status]]} for row in self.rows("parcels", status=status)]
        if not lines:
            raise ToolError("nothing_found", "No parcel has this status.")
        earliest = min(lines, key=lambda line: (line["day"], line["parcel_id"]))
        lines.sort(key=lambda line: line["sender"])
        return {"count": len(lines), "parcels": lines, "earliest": earliest}

    @tool("read", gives=record("sender tracking events", events=[record("event place at")]))
    def get_parcel_history(self, parcel_id: ParcelId) -> Result:
        """Show where a parcel has been scanned, the latest scan first.

        Args:
            parcel_id: The parcel.
        """
        parcel = self.require("parcels", parcel_id, "parcel")
        return {**parcel, "events": parcel["events"][::-1]}

    @tool("read", gives=record("sender count slots cheapest", slots=[SLOT], cheapest=SLOT))
    def list_redelivery_slots(self, parcel_id: ParcelId) -> Result:
        """List the times at which a parcel that was missed can be brought again, the earliest first.

        Args:
            parcel_id: The parcel; nobody was there to take it.
        """
        parcel = self._missed(parcel_id)
        slots = self.rows("slots", parcel_id=parcel_id)
        slots.sort(key=lambda slot: (slot["start"], slot["slot_id"]))
        cheapest = min(slots, key=lambda slot: (slot["fee"], slot["slot_id"]))
        return {**parcel, "count": len(slots), "slots": slots, "cheapest": cheapest}

    @tool("create", gives=record("number sender date start until fee"))
    def book_redelivery(self, slot_id: SlotId) -> Result:
        """Have a missed parcel brought again at one of the times that are offered for it.

        Args:
            slot_id: The time.
        """
        slot = self.require("slots", slot_id, "redelivery time")
        parcel = self._missed(slot["parcel_id"])
        if parcel["expected"]:
            raise ToolError("already_arranged", f"The parcel from {parcel['sender']} is on its way again.")
        self.state.patch("parcels", slot["parcel_id"], expected=slot["start"][:10])
        number = f"RD-{int(slot_id[4:], 16) % 900_000 + 100_000}"
        return {**parcel, **slot, "date": slot["start"][:10], "number": number}

    @tool("read", gives=record("count points open_longest", points=[POINT], open_longest=POINT))
    def find_pickup_points(self, district: District) -> Result:
        """List the pick-up points of a district, the nearest to its centre first.

        Args:
            district: The part of the city.
        """
        found = self.rows("points", district=district)
        if not found:
            raise ToolError("nothing_found", f"There is no pick-up point in {district}.")
        found.sort(key=lambda row: (row["metres"], row["point_id"]))
        longest = max(found, key=lambda row: (row["closes"], row["point_id"]))
        return {"count": len(found), "points": found, "open_longest": longest}

    @tool("update", gives=record("sender point address collect_from collect_by code"))
    def redirect_parcel(self, parcel_id: ParcelId, point_id: PointId) -> Result:
        """Send a parcel that has not been delivered to a pick-up point, where it is kept for a week.

        Args:
            parcel_id: The parcel; it is on its way or was missed.
            point_id: The pick-up point.
        """
        parcel = self.require("parcels", parcel_id, "parcel")
        point = self.require("points", point_id, "pick-up point")
        if parcel["status"] not in ("in_transit", "undelivered") or parcel["point_id"] == point_id:
            raise ToolError("cannot_be_sent", f"The parcel from {parcel['sender']} cannot be sent there.")
        start = max(parcel["expected"], day_after(self.now, 2))
        code = f"{int(self.new_id('', parcel_id, point_id)[1:], 16) % 900_000 + 100_000}"
        dates = {"expected": start, "collect_by": day_after(start, 7)}
        changed = self.state.patch("parcels", parcel_id, point_id=point_id, code=code, **dates)
        return {**point, **changed, "collect_from": start}

    @tool("update", gives=record("sender point before collect_by fee"))
    def extend_parcel_storage(self, parcel_id: ParcelId, days: Days) -> Result:
        """Have a pick-up point keep a parcel longer, for 1.50 euros a day.

        Args:
            parcel_id: The parcel; it waits at a pick-up point.
            days: By how many days.
        """
        parcel = self.require("parcels", parcel_id, "parcel")
        if parcel["status"] != "waiting_for_collection":
            raise ToolError("not_held", f"The parcel from {parcel['sender']} waits at no pick-up point.")
        collect_by = day_after(parcel["collect_by"], days)
        if collect_by > day_after(self.now, LONGEST_STORAGE):
            raise ToolError("too_long", f"No parcel is kept longer than {LONGEST_STORAGE} days from today.")
        self.state.patch("parcels", parcel_id, collect_by=collect_by)
        own = {"before": parcel["collect_by"], "collect_by": collect_by, "fee": days * STORAGE_FEE}
        return {**parcel, **self.require("points", parcel["point_id"], "pick-up point"), **own}

    @tool("update", gives=record("sender person point code"))
    def register_parcel_collector(self, parcel_id: ParcelId, person: types.Person) -> Result:
        """Let somebody else fetch a parcel from its pick-up point; they need the code and a proof of identity.

        Args:
            parcel_id: The parcel; it waits at a pick-up point or goes to one.
            person: Full name of the person.
        """
        parcel = self.require("parcels", parcel_id, "parcel")
        if not parcel["point_id"]:
            raise ToolError("no_pickup_point", "That parcel does not go to a pick-up point.")
        if person == self.facts["user_name"]:
            raise ToolError("own_parcel", "You may collect your own parcels anyway.")
        key = self.new_id("col", parcel_id, person)
        if self.state.get("collectors", key):
            raise ToolError("already_registered", f"{person} may collect this parcel already.")
        self.state.put("collectors", key, {"parcel_id": parcel_id, "person": person})
        point = self.require("points", parcel["point_id"], "pick-up point")
        return {**parcel, "person": person, "point": point["point"]}

    @tool("create", gives=record("claim_id number sender damage claimed decision_by"))
    def file_damage_claim(self, parcel_id: ParcelId, damage: Damage, amount: Claimed) -> Result:
        """Claim money for a parcel that was delivered damaged; a parcel is claimed for once.

        Args:
            parcel_id: The parcel; it has been delivered.
            damage: What is wrong with it.
            amount: How much is claimed, in euros.
        """
        parcel = self.require("parcels", parcel_id, "parcel")
        if parcel["status"] != "delivered":
            raise ToolError("not_delivered", f"The parcel from {parcel['sender']} has not been delivered.")
        claim_id = self.new_id("clm", parcel_id)
        if self.state.get("damage_claims", claim_id):
            raise ToolError("already_claimed", "For that parcel a claim has been filed already.")
        claim = new_claim(parcel_id, damage, amount, day_after(self.now, 10))
        return {**parcel, **self.state.put("damage_claims", claim_id, claim)}

    @tool("read", gives=CLAIM)
    def find_damage_claim(self, sender: Sender) -> Result:
        """Look up the claim for a damaged parcel: what is claimed and offered, its status, and when it is decided.

        Args:
            sender: Who sent the parcel.
        """
        parcel = self._parcel_of(sender)
        for claim in self.rows("damage_claims", parcel_id=parcel["parcel_id"]):
            return {**parcel, **claim}
        raise ToolError("claim_not_found", f"There is no claim for the parcel from {sender}.")

    @tool("update", gives=record("number sender paid paid_on"))
    def accept_damage_offer(self, claim_id: ClaimId) -> Result:
        """Accept what the courier offers for a damaged parcel, which settles the claim.

        Args:
            claim_id: The claim; an offer has been made.
        """
        claim, parcel = self._offered(claim_id)
        self.state.patch("damage_claims", claim_id, status="settled", decision_by=self.today)
        return {**parcel, **claim, "paid": claim["offered"], "paid_on": day_after(self.now, 5)}

    @tool("update", gives=record("number sender claimed offered decision_by"))
    def contest_damage_offer(self, claim_id: ClaimId) -> Result:
        """Turn down what the courier offers for a damaged parcel and insist on the sum that was claimed.

        Args:
            claim_id: The claim; an offer has been made.
        """
        _, parcel = self._offered(claim_id)
        changes = {"status": "contested", "decision_by": day_after(self.now, 14)}
        return {**parcel, **self.state.patch("damage_claims", claim_id, **changes)}

    def _parcel_of(self, sender: str) -> Record:
        for parcel in self.rows("parcels", sender=sender):
            return parcel
        raise ToolError("parcel_not_found", f"There is no parcel from {sender}.")

    def _missed(self, parcel_id: str) -> Record:
        parcel = self.require("parcels", parcel_id, "parcel")
        if parcel["status"] != "undelivered":
            raise ToolError("not_missed", f"The parcel from {parcel['sender']} was not missed.")
        return parcel

    def _offered(self, claim_id: str) -> tuple[Record, Record]:
        """Return a claim for which an offer has been made, and its parcel."""
        claim = self.require("damage_claims", claim_id, "claim")
        if claim["status"] != "open":
            raise ToolError("no_offer", f"There is no open offer for claim {claim['number']}.")
        return claim, self.require("parcels", claim["parcel_id"], "parcel")
