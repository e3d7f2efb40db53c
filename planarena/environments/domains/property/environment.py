"""A letting agency: tenants and their rents, empty flats and viewings, repairs and meters."""

from __future__ import annotations

from random import Random
from typing import Annotated

from planarena.environments.contract import Environment, Seed, ToolError, tool
from planarena.environments.domains.shared import Shared
from planarena.environments.domains.types import Count, Date, Datetime, EmailAddress, Money, Person, Workday
from planarena.environments.shapes import Fields, Result
from planarena.environments.state import Record
from planarena.tools.semantics import Semantic

from .world import PROPOSALS, Kind, Skill, end_of_month, make_agency

__all__ = ["Property"]

TenantId = Annotated[str, Semantic("tenant_id", hidden=True)]
FlatId = Annotated[str, Semantic("flat_id", hidden=True)]
VacancyId = Annotated[str, Semantic("vacancy_id", hidden=True)]  # a flat that nobody lives in
MeterId = Annotated[str, Semantic("flat_meter_id", hidden=True)]
RepairId = Annotated[str, Semantic("repair_id", hidden=True)]
FirmId = Annotated[str, Semantic("trade_firm_id", hidden=True)]
SlotId = Annotated[str, Semantic("viewing_slot_id", hidden=True)]
Flat = Annotated[str, Semantic("flat", surface="name")]
Building = Annotated[str, Semantic("flats_building", surface="name")]
Bedrooms = Annotated[int, Semantic("bedrooms", surface="number", minimum=1, maximum=4)]
Months = Annotated[int, Semantic("instalment_months", surface="number", minimum=2, maximum=6)]
Fault = Annotated[str, Semantic("flat_fault", surface="name")]
Trade = Annotated[Skill, Semantic("trade", surface="word")]
Firm = Annotated[str, Semantic("trade_firm", surface="name")]
MeterKind = Annotated[Kind, Semantic("flat_meter_kind", surface="word")]
Reading = Annotated[int, Semantic("flat_meter_reading", surface="number", minimum=0)]
KeyNumber = Annotated[str, Semantic("key_number", surface="name")]

record = Fields(
    tenant_id=TenantId, name=Person, tenant=Person, email=EmailAddress, flat_id=FlatId, vacancy_id=VacancyId,
    flat=Flat, building=Building, bedrooms=Bedrooms, square_metres=Count, rent=Money, deposit=Money,
    free_from=Date, key_number=KeyNumber, lease_ends=Date, arrears=Money, amount=Money, total=Money,
    pay_by=Workday, months=Months, monthly=Money, last_due=Date, meter_id=MeterId, kind=MeterKind,
    reading=Reading, read_on=Date, used=Count, repair_id=RepairId, fault=Fault, trade=Trade, reported=Date,
    firm_id=FirmId, firm=Firm, callout=Money, can_come=Datetime, visit=Datetime, visit_day=Workday,
    slot_id=SlotId, start=Datetime, day=Workday, applicant=Person, count=Count,
)  # fmt: skip
OFFER = record("firm_id firm callout can_come")
TENANT = record("tenant_id name flat amount")
SHEET = record(
    "flat_id flat bedrooms square_metres rent deposit key_number meters tenant?",
    meters=[record("meter_id kind reading read_on")],
)
REPAIR = record("repair_id flat tenant? fault trade reported firm?")
SLOT = record("slot_id start day")
VISIT = record("applicant start")
VACANCY = record("flat_id vacancy_id flat bedrooms square_metres rent free_from")


class Property(Environment):
    """The desk of an agency that lets flats in three buildings."""

    domain = "property"
    summary = "A letting agency with tenants, rents and arrears, empty flats, viewings, repairs and meters."
    proposals = PROPOSALS

    @classmethod
    def seed(cls, rng: Random, shared: Shared | None = None) -> Seed:
        """Make an agency with its buildings."""
        return make_agency(cls.seeds(), rng, shared)

    @tool("read", gives=record("tenant_id name email flat_id flat rent arrears lease_ends pay_by? monthly?"))
    def find_tenant(self, name: Person) -> Result:
        """Look up a tenant: flat, rent, what is owed, how long the lease runs, and what was agreed on arrears.

        Args:
            name: Full name of the tenant.
        """
        for tenant in self.rows("tenants", name=name):
            return {**self.require("flats", tenant["flat_id"], "flat"), **tenant}
        raise ToolError("no_such_tenant", f"The agency has no tenant named {name}.")

    @tool("read", gives=record("building count total tenants", tenants=[TENANT]))
    def list_rent_arrears(self, building: Building) -> Result:
        """List the tenants of a building who owe rent, whoever owes most first.

        Args:
            building: Name of the building.
        """
        found = [row for row in self._rows_of("tenants", building) if row["arrears"] > 0]
        if not found:
            raise ToolError("nothing_owed", f"Nobody in {building} owes any rent.")
        found.sort(key=lambda row: (-row["arrears"], row["tenant_id"]))
        lines = [{**row, "flat": self._flat(row["flat_id"]), "amount": row["arrears"]} for row in found]
        total = sum(row["arrears"] for row in found)
        return {"building": building, "count": len(found), "total": total, "tenants": lines}

    @tool("update", gives=record("name flat amount pay_by"))
    def send_rent_reminder(self, tenant_id: TenantId, pay_by: Workday) -> Result:
        """Remind a tenant of the rent that is owed; each tenant is reminded once, and not beside instalments.

        Args:
            tenant_id: The tenant, who must owe something.
            pay_by: The day by which all of it is to be paid; it is still to come.
        """
        tenant = self._owing(tenant_id)
        if pay_by <= self.today:
            raise ToolError("in_the_past", f"{pay_by} is not still to come.")
        if "pay_by" in tenant:
            raise ToolError("already_reminded", f"{tenant['name']} has until {tenant['pay_by']}.")
        self.state.patch("tenants", tenant_id, pay_by=pay_by)
        flat = self._flat(tenant["flat_id"])
        return {"name": tenant["name"], "flat": flat, "amount": tenant["arrears"], "pay_by": pay_by}

    @tool("update", gives=record("name months monthly last_due"))
    def agree_instalments(self, tenant_id: TenantId, months: Months) -> Result:
        """Spread what a tenant owes evenly over some months, the first part being due at the end of this one.

        Args:
            tenant_id: The tenant, who must owe something and pay no instalments yet.
            months: Over how many months.
        """
        tenant = self._owing(tenant_id)
        monthly = round(tenant["arrears"] / months, 2)
        self.state.patch("tenants", tenant_id, monthly=monthly)
        last_due = end_of_month(self.today, months - 1)
        return {"name": tenant["name"], "months": months, "monthly": monthly, "last_due": last_due}

    @tool("read", gives=record("count flats largest", flats=[VACANCY], largest=VACANCY))
    def list_vacant_flats(self, bedrooms: Bedrooms, most_rent: Money | None = None) -> Result:
        """List the flats that nobody has rented, the cheapest first, and the largest of them.

        Args:
            bedrooms: At least so many bedrooms.
            most_rent: Only flats whose rent is no higher.
        """
        found = [{**row, "vacancy_id": row["flat_id"]} for row in self.rows("flats", let=False)]
        found = [row for row in found if row["bedrooms"] >= bedrooms]
        found = [row for row in found if most_rent is None or row["rent"] <= most_rent]
        if not found:
            raise ToolError("nothing_vacant", "No such flat is empty or about to be.")
        found.sort(key=lambda row: (row["rent"], row["flat_id"]))
        largest = max(found, key=lambda row: (row["square_metres"], row["flat_id"]))
        return {"count": len(found), "flats": found, "largest": largest}

    @tool("read", gives=SHEET)
    def open_flat_sheet(self, flat: Flat) -> Result:
        """Show the sheet of a flat: size, rent, deposit, the number of its keys, its tenant and its meters.

        Args:
            flat: Number and building, as in 3 Linden Court.
        """
        for row in self.rows("flats", flat=flat):
            meters = sorted(self.rows("meters", flat_id=row["flat_id"]), key=lambda one: str(one["kind"]))
            return {**row, **self._tenant_of(row["flat_id"]), "deposit": 2 * row["rent"], "meters": meters}
        raise ToolError("no_such_flat", f"The agency does not look after {flat}.")

    @tool("update", gives=record("flat kind reading used"))
    def enter_meter_reading(self, meter_id: MeterId, reading: Reading) -> Result:
        """Enter what a meter shows today, and say how much was used since it was last read.

        Args:
            meter_id: The meter, not read today yet.
            reading: What it shows, no less than the last time.
        """
        meter = self.require("meters", meter_id, "meter")
        if meter["read_on"] == self.today:
            raise ToolError("already_read", "This meter has been read today.")
        if reading < meter["reading"]:
            raise ToolError("reading_too_low", f"The meter stood at {meter['reading']} the last time.")
        self.state.patch("meters", meter_id, reading=reading, read_on=self.today)
        flat = self._flat(meter["flat_id"])
        return {**meter, "flat": flat, "reading": reading, "used": reading - meter["reading"]}

    @tool("create", gives=record("repair_id flat fault trade"))
    def report_repair(self, flat_id: FlatId, fault: Fault, trade: Trade) -> Result:
        """Put a fault in a flat on the list of repairs; nobody is sent yet.

        Args:
            flat_id: The flat.
            fault: What is wrong.
            trade: Whose work it is.
        """
        flat = self.require("flats", flat_id, "flat")
        repair_id = self.new_id("rep", flat_id, fault)
        if self.state.get("repairs", repair_id):
            raise ToolError("already_reported", f"That is on the list of {flat['flat']} already.")
        repair = {"repair_id": repair_id, "flat_id": flat_id, "flat": flat["flat"]}
        repair |= {"building": flat["building"], "fault": fault, "trade": trade, "reported": self.today}
        return self.state.put("repairs", repair_id, repair)

    @tool("read", gives=record("building count repairs", repairs=[REPAIR]))
    def list_open_repairs(self, building: Building) -> Result:
        """List the repairs of a building that are not done yet, the longest waiting first.

        Args:
            building: Name of the building.
        """
        found = self._rows_of("repairs", building)
        if not found:
            raise ToolError("nothing_open", f"Nothing waits to be repaired in {building}.")
        found.sort(key=lambda row: (row["reported"], row["repair_id"]))
        lines = [{**row, **self._tenant_of(row["flat_id"])} for row in found]
        return {"building": building, "count": len(found), "repairs": lines}

    @tool("read", gives=record("count firms cheapest", firms=[OFFER], cheapest=OFFER))
    def find_tradespeople(self, trade: Trade) -> Result:
        """List the firms of a trade that work for the agency, whoever can come soonest first.

        Args:
            trade: Which trade.
        """
        found = self.rows("firms", trade=trade)
        if not found:
            raise ToolError("nobody_found", "No firm of this trade works for the agency.")
        found.sort(key=lambda row: (row["can_come"], row["firm_id"]))
        cheapest = min(found, key=lambda row: (row["callout"], row["firm_id"]))
        return {"count": len(found), "firms": found, "cheapest": cheapest}

    @tool("update", gives=record("flat fault firm visit visit_day callout"))
    def commission_repair(self, repair_id: RepairId, firm_id: FirmId) -> Result:
        """Send a firm to do a repair, at the time when it can come.

        Args:
            repair_id: The repair; nobody may have been sent yet.
            firm_id: The firm, which must be of the right trade.
        """
        repair = self.require("repairs", repair_id, "repair")
        firm = self.require("firms", firm_id, "firm")
        if "firm" in repair:
            raise ToolError("already_commissioned", f"{repair['firm']} is coming for that already.")
        if repair["trade"] != firm["trade"]:
            raise ToolError("wrong_trade", f"{firm['firm']} does not do such work.")
        self.state.patch("repairs", repair_id, firm=firm["firm"])
        return {**repair, **firm, "visit": firm["can_come"], "visit_day": firm["can_come"][:10]}

    @tool("read", gives=record("flat count times booked", times=[SLOT], booked=[VISIT]))
    def list_viewing_times(self, vacancy_id: VacancyId) -> Result:
        """List the times at which an empty flat can still be shown, the earliest first, and who is coming.

        Args:
            vacancy_id: The flat, as listed among the vacant ones.
        """
        flat = self._flat(vacancy_id)
        slots = sorted(self.rows("slots", flat_id=vacancy_id), key=lambda one: str(one["start"]))
        free = [{**one, "day": one["start"][:10]} for one in slots if "applicant" not in one]
        if not free:
            raise ToolError("no_times_left", f"No time is left to show {flat}.")
        booked = [one for one in slots if "applicant" in one]
        return {"flat": flat, "count": len(free), "times": free, "booked": booked}

    @tool("update", gives=record("flat applicant start day"))
    def arrange_viewing(self, slot_id: SlotId, applicant: Person) -> Result:
        """Show an empty flat to somebody at a time that is still free.

        Args:
            slot_id: The time.
            applicant: Full name of whoever would like to rent the flat.
        """
        slot = self.require("slots", slot_id, "time")
        if "applicant" in slot:
            raise ToolError("time_taken", "Somebody else sees the flat at that time.")
        flat = self._flat(slot["flat_id"])
        others = self.rows("slots", flat_id=slot["flat_id"])
        if any(one.get("applicant") == applicant for one in others):
            raise ToolError("already_invited", f"{applicant} is going to see {flat} anyway.")
        self.state.patch("slots", slot_id, applicant=applicant)
        return {**slot, "flat": flat, "applicant": applicant, "day": slot["start"][:10]}

    def _rows_of(self, table: str, building: str) -> list[Record]:
        if not self.rows("flats", building=building):
            raise ToolError("no_such_building", f"The agency does not look after {building}.")
        return self.rows(table, building=building)

    def _flat(self, flat_id: str) -> str:
        return str(self.require("flats", flat_id, "flat")["flat"])

    def _tenant_of(self, flat_id: str) -> Record:
        """Return who lives in a flat, if anybody does."""
        return next(({"tenant": row["name"]} for row in self.rows("tenants", flat_id=flat_id)), {})

    def _owing(self, tenant_id: str) -> Record:
        """Return a tenant who owes rent and pays it in no instalments."""
        tenant = self.require("tenants", tenant_id, "tenant")
        if tenant["arrears"] <= 0:
            raise ToolError("nothing_owed", f"{tenant['name']} owes nothing.")
        if "monthly" in tenant:
            raise ToolError("pays_instalments", f"{tenant['name']} pays the arrears in instalments.")
        return tenant
