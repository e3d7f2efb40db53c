"""Energy at several sites: meters, readings, tariffs, instalments, invoices, and batteries that follow sun and prices."""

from __future__ import annotations

from random import Random
from typing import Annotated, Literal

from planarena.environments.contract import Environment, Seed, ToolError, tool
from planarena.environments.domains.shared import Shared, day_after
from planarena.environments.domains.types import Count, Credit, Date, Money, Payable, Percent, Time, Workday
from planarena.environments.shapes import Fields, Result, ordered
from planarena.environments.state import Record
from planarena.tools.semantics import Semantic

from .world import PROPOSALS, Action, Objection, first_of_next_month, later, make_customer

__all__ = ["Energy"]

MOST_PLAUSIBLE = 2500
CHARGE_HOURS = 2
FEED_IN_SHARE = 0.8

MeterId = Annotated[str, Semantic("energy_meter_id", hidden=True)]
TariffId = Annotated[str, Semantic("energy_tariff_id", hidden=True)]
InvoiceId = Annotated[str, Semantic("energy_invoice_id", hidden=True)]
BatteryId = Annotated[str, Semantic("home_battery_id", hidden=True)]
Site = Annotated[str, Semantic("energy_site", surface="name")]
Number = Annotated[str, Semantic("meter_number", surface="name")]
TariffName = Annotated[str, Semantic("energy_tariff", surface="name")]
Supplier = Annotated[str, Semantic("energy_supplier", surface="name")]
Reading = Annotated[int, Semantic("meter_reading", surface="number", minimum=0, maximum=999999)]
# Kilowatt hours of a year choose a tariff; others are only told.
YearlyUsage = Annotated[int, Semantic("yearly_kwh", surface="number", minimum=100, maximum=100000)]
KilowattHours = Annotated[int, Semantic("kwh", surface="number", minimum=0)]
MonthlyAmount = Annotated[float, Semantic("monthly_amount", surface="money", minimum=1)]
# Power is bought when it is cheap, at any such time, and sold when it is dear.
DearTime = Annotated[str, Semantic("dear_time", surface="time", pattern=r"^\d\d:\d\d$")]
EnergyKind = Annotated[Literal["electricity", "gas", "heat"], Semantic("energy_kind", surface="word")]
DisputeReason = Annotated[Objection, Semantic("dispute_reason", surface="word")]
InvoiceStatus = Annotated[Literal["open", "paid", "disputed"], Semantic("invoice_status", surface="word")]
BatteryAction = Annotated[Action, Semantic("battery_action", surface="word")]
Maker = Annotated[str, Semantic("maker", surface="name")]

record = Fields(
    meter_id=MeterId, tariff_id=TariffId, invoice_id=InvoiceId, battery_id=BatteryId,
    number=Number, site=Site, kind=EnergyKind, tariff=TariffName, name=TariffName, supplier=Supplier,
    reading=Reading, last_reading=Reading, kwh=KilowattHours, capacity_kwh=KilowattHours,
    monthly_cost=MonthlyAmount, amount=Payable, status=InvoiceStatus, green=Percent, charge=Percent,
    maker=Maker, action=BatteryAction, date=Date, read_on=Date, issued=Date, due=Date, month=Date,
    start=Time, until=Time, count=Count,
    # Of one result each.
    yearly_kwh=YearlyUsage, consumed=KilowattHours, solar_kwh=KilowattHours, cost=Money, instalment=Money,
    yearly_total=Money, open_total=Money, earnings=Credit, starts_on=Date, first_due=Date,
    answer_by=Workday, sunniest_at=Time, cheapest_at=Time, dearest_at=DearTime,
)  # fmt: skip
TARIFF = record("tariff_id name supplier monthly_cost green")
MONTH = record("month kwh")
INVOICE = record("invoice_id number meter_id kind amount issued due status")


class Energy(Environment):
    """The customer portal of an energy adviser, used by the owner of a few buildings."""

    domain = "energy"
    summary = "Energy at several sites: meters, readings, tariffs, instalments, invoices and home batteries."
    proposals = PROPOSALS

    @classmethod
    def seed(cls, rng: Random, shared: Shared | None = None) -> Seed:
        """Make the owner of three sites."""
        return make_customer(cls.seeds(), rng, shared)

    @tool("read", gives=record("meter_id number site kind tariff supplier last_reading read_on instalment"))
    def find_energy_meter(self, site: Site, kind: EnergyKind) -> Result:
        """Look up the meter of a site by kind of energy, with its tariff, instalment and last reading.

        Args:
            site: Name of the site.
            kind: Kind of energy.
        """
        for meter in self.rows("meters", site=site, kind=kind):
            tariff = self.require("tariffs", meter["tariff_id"], "tariff")
            return {**tariff, **meter, "tariff": tariff["name"]}
        raise ToolError("meter_not_found", f"There is no {kind} meter at {site}.")

    @tool("update", gives=record("number reading consumed cost read_on"))
    def submit_meter_reading(self, meter_id: MeterId, reading: Reading) -> Result:
        """Hand in today's reading of a meter; one a day, and never less than the last.

        Args:
            meter_id: The meter.
            reading: What the meter shows, in kilowatt hours.
        """
        meter = self.require("meters", meter_id, "meter")
        if meter["read_on"] == self.today:
            raise ToolError("already_read", f"Meter {meter['number']} has been read today.")
        consumed = reading - meter["last_reading"]
        if consumed < 0:
            raise ToolError("reading_too_low", f"The last reading was {meter['last_reading']} already.")
        if consumed > MOST_PLAUSIBLE:
            raise ToolError("implausible_reading", f"{consumed} kWh since the last reading cannot be right.")
        meter = self.state.patch("meters", meter_id, last_reading=reading, read_on=self.today)
        cents = self.require("tariffs", meter["tariff_id"], "tariff")["cents"]
        return {**meter, "reading": reading, "consumed": consumed, "cost": round(consumed * cents / 100, 2)}

    @tool("read", gives=record("number kind yearly_kwh monthly_cost months peak", months=[MONTH], peak=MONTH))
    def get_yearly_consumption(self, meter_id: MeterId) -> Result:
        """Show the consumption of the last twelve months by month, the latest first, and what it costs a month.

        Args:
            meter_id: The meter.
        """
        meter = self.require("meters", meter_id, "meter")
        months = ordered(self.rows("months", meter_id=meter_id), "month", last_first=True)
        peak = max(months, key=lambda row: (row["kwh"], row["month"]))
        total = sum(row["kwh"] for row in months)
        cost = _monthly_cost(self.require("tariffs", meter["tariff_id"], "tariff"), total)
        return {**meter, "yearly_kwh": total, "monthly_cost": cost, "months": months, "peak": peak}

    @tool("read", gives=record("kind count tariffs greenest", tariffs=[TARIFF], greenest=TARIFF))
    def compare_energy_tariffs(self, meter_id: MeterId, yearly_kwh: YearlyUsage) -> Result:
        """List the tariffs on offer for a meter with their monthly cost for a yearly consumption, the cheapest first.

        Args:
            meter_id: The meter; its kind of energy counts.
            yearly_kwh: Consumption of a year in kilowatt hours.
        """
        kind = self.require("meters", meter_id, "meter")["kind"]
        lines = [
            {**tariff, "monthly_cost": _monthly_cost(tariff, yearly_kwh)}
            for tariff in self.rows("tariffs", kind=kind, offered=True)
        ]
        lines = ordered(lines, "monthly_cost", "tariff_id")
        greenest = min(lines, key=lambda line: (-line["green"], line["tariff_id"]))
        return {"kind": kind, "count": len(lines), "tariffs": lines, "greenest": greenest}

    @tool("update", gives=record("number tariff supplier monthly_cost starts_on"))
    def switch_energy_tariff(
        self, meter_id: MeterId, tariff_id: TariffId, from_date: Date | None = None
    ) -> Result:
        """Move a meter to another tariff of its kind of energy.

        Args:
            meter_id: The meter.
            tariff_id: The new tariff.
            from_date: First day of the new tariff; without it, the first of next month.
        """
        meter = self.require("meters", meter_id, "meter")
        tariff = self.require("tariffs", tariff_id, "tariff")
        if tariff["kind"] != meter["kind"]:
            raise ToolError("other_kind", f"{tariff['name']} is a tariff for {tariff['kind']}.")
        if meter["tariff_id"] == tariff_id:
            raise ToolError("already_on_tariff", f"Meter {meter['number']} already is on {tariff['name']}.")
        starts_on = from_date or first_of_next_month(self.now)
        if starts_on <= self.today:
            raise ToolError("in_the_past", f"A tariff cannot begin on {starts_on}.")
        self.state.patch("meters", meter_id, tariff_id=tariff_id, tariff_since=starts_on)
        cost = _monthly_cost(tariff, sum(row["kwh"] for row in self.rows("months", meter_id=meter_id)))
        return {**tariff, **meter, "tariff": tariff["name"], "monthly_cost": cost, "starts_on": starts_on}

    @tool("update", gives=record("number amount yearly_total first_due", amount=MonthlyAmount))
    def set_monthly_instalment(self, meter_id: MeterId, amount: MonthlyAmount) -> Result:
        """Set what is paid each month for a meter, from next month on.

        Args:
            meter_id: The meter.
            amount: Euros a month; at least 20.
        """
        meter = self.require("meters", meter_id, "meter")
        if amount < 20:
            raise ToolError("too_low", "An instalment is at least 20 euros.")
        if meter["instalment"] == amount:
            raise ToolError("already_set", f"The instalment already is {amount:.2f} euros.")
        self.state.patch("meters", meter_id, instalment=amount)
        yearly, first_due = round(12 * amount, 2), first_of_next_month(self.now)
        return {**meter, "amount": amount, "yearly_total": yearly, "first_due": first_due}

    @tool("read", gives=record("count open_total invoices", invoices=[INVOICE]))
    def list_energy_invoices(self, site: Site) -> Result:
        """List the invoices of a site, the latest first.

        Args:
            site: Name of the site.
        """
        found = ordered(self.rows("invoices", site=site), "issued", "invoice_id", last_first=True)
        if not found:
            raise ToolError("nothing_found", f"There are no invoices for {site}.")
        unpaid = round(sum(row["amount"] for row in found if row["status"] == "open"), 2)
        return {"count": len(found), "open_total": unpaid, "invoices": found[:10]}

    @tool("update", gives=record("number amount answer_by", amount=Money))
    def dispute_energy_invoice(self, invoice_id: InvoiceId, reason: DisputeReason) -> Result:
        """Object to an invoice; the supplier answers within two weeks, and until then nothing is due.

        Args:
            invoice_id: The invoice.
            reason: What is wrong with it.
        """
        invoice = self.require("invoices", invoice_id, "invoice")
        if invoice["status"] == "disputed":
            raise ToolError("already_disputed", f"Invoice {invoice['number']} is being looked into.")
        self.state.patch("invoices", invoice_id, status="disputed", reason=reason)
        return {**invoice, "answer_by": day_after(self.now, 14)}

    @tool("read", gives=record("date solar_kwh sunniest_at cheapest_at dearest_at"))
    def get_power_forecast(self, date: Date) -> Result:
        """Show the sun and the power prices expected for one of the next days.

        Args:
            date: The day; forecasts reach six days ahead.
        """
        return self._forecast(date)

    @tool("read", gives=record("battery_id site charge capacity_kwh maker"))
    def find_home_battery(self, site: Site) -> Result:
        """Look up the battery of a site: its charge, capacity and maker.

        Args:
            site: Name of the site.
        """
        for battery in self.rows("batteries", site=site):
            return battery
        raise ToolError("battery_not_found", f"There is no battery at {site}.")

    @tool("read", gives=record("site count plans", plans=[record("date start action")]))
    def list_battery_plans(self, battery_id: BatteryId) -> Result:
        """List what a battery is planned to do, the earliest first.

        Args:
            battery_id: The battery.
        """
        battery = self.require("batteries", battery_id, "battery")
        found = ordered(self.rows("plans", battery_id=battery_id), "date", "start")
        return {**battery, "count": len(found), "plans": found[:10]}

    @tool("create", gives=record("site date start until kwh"))
    def schedule_battery_charging(self, battery_id: BatteryId, date: Date, start: Time) -> Result:
        """Plan two hours in which a battery is charged.

        Args:
            battery_id: The battery.
            date: The day.
            start: When charging begins.
        """
        battery = self._plan(battery_id, date, start, "charge")
        until, kwh = later(start, CHARGE_HOURS), battery["capacity_kwh"] // 2
        return {**battery, "date": date, "start": start, "until": until, "kwh": kwh}

    @tool("create", gives=record("site date start kwh earnings", start=DearTime))
    def sell_battery_power(self, battery_id: BatteryId, date: Date, start: DearTime) -> Result:
        """Plan two hours in which a battery sells power to the grid, at a share of the price of the day.

        Args:
            battery_id: The battery.
            date: The day; there must be a forecast for it.
            start: When the sale begins.
        """
        forecast = self._forecast(date)
        battery = self._plan(battery_id, date, start, "sell power")
        kwh = battery["capacity_kwh"] // 2
        earnings = round(kwh * forecast["dearest_cents"] * FEED_IN_SHARE / 100, 2)
        return {**battery, "date": date, "start": start, "kwh": kwh, "earnings": earnings}

    def _forecast(self, date: str) -> Record:
        forecast = self.state.get("forecasts", date)
        if forecast is None:
            raise ToolError("no_forecast", f"There is no forecast for {date}.")
        return forecast

    def _plan(self, battery_id: str, date: str, start: str, action: str) -> Record:
        battery = self.require("batteries", battery_id, "battery")
        if f"{date}T{start}" <= self.now:
            raise ToolError("in_the_past", f"{start} on {date} has passed.")
        planned = self.rows("plans", battery_id=battery_id, date=date)
        if any(abs(_hours(row["start"]) - _hours(start)) < CHARGE_HOURS for row in planned):
            raise ToolError("battery_busy", "The battery is planned to do something else at that time.")
        plan = {"battery_id": battery_id, "date": date, "start": start, "action": action}
        self.state.put("plans", self.new_id("pln", battery_id, date, start), plan)
        return battery


def _hours(time: str) -> float:
    return int(time[:2]) + int(time[3:]) / 60


def _monthly_cost(tariff: Record, yearly_kwh: int) -> float:
    """Return the basic price and the price of the energy, spread over twelve months."""
    cost: float = round(tariff["base"] + yearly_kwh * tariff["cents"] / 1200, 2)
    return cost
