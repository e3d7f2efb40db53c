"""Energy at several sites: meters, readings, tariffs, instalments, invoices, and batteries that follow sun and prices."""

from __future__ import annotations

from typing import Any, cast

from planarena.environments.contract import ToolError, tool
from planarena.environments.domains.types import Date, Time
from planarena.environments.state import Record

from .types import (
    Battery,
    BatteryId,
    Charging,
    DearTime,
    Dispute,
    DisputeReason,
    EnergyKind,
    Forecast,
    Instalment,
    InvoiceId,
    InvoiceLine,
    Invoices,
    Meter,
    MeterId,
    MonthLine,
    MonthlyAmount,
    Plan,
    Plans,
    Reading,
    Sale,
    Site,
    Submitted,
    Switched,
    TariffId,
    TariffLine,
    Tariffs,
    Usage,
    YearlyUsage,
)
from .world import (
    EnergyScenario,
    day_after,
    first_of_next_month,
    later,
)

__all__ = ["Energy"]

MOST_PLAUSIBLE = 2500
CHARGE_HOURS = 2
FEED_IN_SHARE = 0.8


class Energy(EnergyScenario):
    """The customer portal of an energy adviser, used by the owner of a few buildings."""

    domain = "energy"
    summary = "Energy at several sites: meters, readings, tariffs, instalments, invoices and home batteries."

    @tool("read")
    def find_energy_meter(self, site: Site, kind: EnergyKind) -> Meter:
        """Look up the meter of a site by kind of energy, with its tariff and last reading.

        Args:
            site: Name of the site.
            kind: Kind of energy.
        """
        for meter in self.state.scan("meters"):
            if meter["site"] == site and meter["kind"] == kind:
                tariff = self.require("tariffs", meter["tariff_id"], "tariff")
                whole = {**meter, "tariff": tariff["name"], "supplier": tariff["supplier"]}
                return cast(Meter, {key: whole[key] for key in Meter.__annotations__})
        raise ToolError("meter_not_found", f"There is no {kind} meter at {site}.")

    @tool("update")
    def submit_meter_reading(self, meter_id: MeterId, reading: Reading) -> Submitted:
        """Hand in today's reading of a meter; one a day, and never less than the last.

        Args:
            meter_id: The meter.
            reading: What the meter shows, in kilowatt hours.
        """
        meter = self.require("meters", meter_id, "meter")
        today = self.now[:10]
        if meter["read_on"] == today:
            raise ToolError("already_read", f"Meter {meter['number']} has been read today.")
        consumed = reading - meter["last_reading"]
        if consumed < 0:
            raise ToolError("reading_too_low", f"The last reading was {meter['last_reading']} already.")
        if consumed > MOST_PLAUSIBLE:
            raise ToolError("implausible_reading", f"{consumed} kWh since the last reading cannot be right.")
        self.state.patch("meters", meter_id, last_reading=reading, read_on=today)
        tariff = self.require("tariffs", meter["tariff_id"], "tariff")
        return {
            "number": meter["number"],
            "reading": reading,
            "consumed": consumed,
            "cost": round(consumed * tariff["cents"] / 100, 2),
            "read_on": today,
        }

    @tool("read")
    def get_yearly_consumption(self, meter_id: MeterId) -> Usage:
        """Show the consumption of the last twelve months by month, the latest first, and what it costs a month.

        Args:
            meter_id: The meter.
        """
        meter = self.require("meters", meter_id, "meter")
        found = [row for row in self.state.scan("months") if row["meter_id"] == meter_id]
        found.sort(key=lambda row: row["month"], reverse=True)
        months: list[MonthLine] = [{"month": row["month"], "kwh": row["kwh"]} for row in found]
        total = sum(line["kwh"] for line in months)
        tariff = self.require("tariffs", meter["tariff_id"], "tariff")
        return {
            "number": meter["number"],
            "kind": meter["kind"],
            "yearly_kwh": total,
            "monthly_cost": _monthly_cost(tariff, total),
            "months": months,
            "peak": max(months, key=lambda line: (line["kwh"], line["month"])),
        }

    @tool("read")
    def compare_energy_tariffs(self, meter_id: MeterId, yearly_kwh: YearlyUsage) -> Tariffs:
        """List the tariffs on offer for a meter with their monthly cost for a yearly consumption, the cheapest first.

        Args:
            meter_id: The meter; its kind of energy counts.
            yearly_kwh: Consumption of a year in kilowatt hours.
        """
        kind = self.require("meters", meter_id, "meter")["kind"]
        lines: list[TariffLine] = [
            {
                "tariff_id": tariff["tariff_id"],
                "name": tariff["name"],
                "supplier": tariff["supplier"],
                "monthly_cost": _monthly_cost(tariff, yearly_kwh),
                "green": tariff["green"],
            }
            for tariff in self.state.scan("tariffs")
            if tariff["kind"] == kind and tariff["offered"]
        ]
        lines.sort(key=lambda line: (line["monthly_cost"], line["tariff_id"]))
        greenest = min(lines, key=lambda line: (-line["green"], line["tariff_id"]))
        return {"kind": kind, "count": len(lines), "tariffs": lines, "greenest": greenest}

    @tool("update")
    def switch_energy_tariff(
        self, meter_id: MeterId, tariff_id: TariffId, from_date: Date | None = None
    ) -> Switched:
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
        if starts_on <= self.now[:10]:
            raise ToolError("in_the_past", f"A tariff cannot begin on {starts_on}.")
        self.state.patch("meters", meter_id, tariff_id=tariff_id, tariff_since=starts_on)
        used = sum(row["kwh"] for row in self.state.scan("months") if row["meter_id"] == meter_id)
        return {
            "number": meter["number"],
            "tariff": tariff["name"],
            "supplier": tariff["supplier"],
            "monthly_cost": _monthly_cost(tariff, used),
            "starts_on": starts_on,
        }

    @tool("update")
    def set_monthly_instalment(self, meter_id: MeterId, amount: MonthlyAmount) -> Instalment:
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
        return {
            "number": meter["number"],
            "amount": amount,
            "yearly_total": round(12 * amount, 2),
            "first_due": first_of_next_month(self.now),
        }

    @tool("read")
    def list_energy_invoices(self, site: Site) -> Invoices:
        """List the invoices of a site, the latest first.

        Args:
            site: Name of the site.
        """
        found = [row for row in self.state.scan("invoices") if row["site"] == site]
        if not found:
            raise ToolError("nothing_found", f"There are no invoices for {site}.")
        found.sort(key=lambda row: (row["issued"], row["invoice_id"]), reverse=True)
        keys = InvoiceLine.__annotations__
        return {
            "count": len(found),
            "open_total": round(sum(row["amount"] for row in found if row["status"] == "open"), 2),
            "invoices": [cast(InvoiceLine, {key: row[key] for key in keys}) for row in found[:10]],
        }

    @tool("update")
    def dispute_energy_invoice(self, invoice_id: InvoiceId, reason: DisputeReason) -> Dispute:
        """Object to an invoice; the supplier answers within two weeks, and until then nothing is due.

        Args:
            invoice_id: The invoice.
            reason: What is wrong with it.
        """
        invoice = self.require("invoices", invoice_id, "invoice")
        if invoice["status"] == "disputed":
            raise ToolError("already_disputed", f"Invoice {invoice['number']} is being looked into.")
        answer_by = day_after(self.now, 14)
        self.state.patch("invoices", invoice_id, status="disputed", reason=reason)
        return {"number": invoice["number"], "amount": invoice["amount"], "answer_by": answer_by}

    @tool("read")
    def get_power_forecast(self, date: Date) -> Forecast:
        """Show the sun and the power prices expected for one of the next days.

        Args:
            date: The day; forecasts reach six days ahead.
        """
        forecast = self.state.get("forecasts", date)
        if forecast is None:
            raise ToolError("no_forecast", f"There is no forecast for {date}.")
        return cast(Forecast, {key: forecast[key] for key in Forecast.__annotations__})

    @tool("read")
    def find_home_battery(self, site: Site) -> Battery:
        """Look up the battery of a site: its charge, capacity and maker.

        Args:
            site: Name of the site.
        """
        for battery in self.state.scan("batteries"):
            if battery["site"] == site:
                break
        else:
            raise ToolError("battery_not_found", f"There is no battery at {site}.")
        return cast(Battery, {key: battery[key] for key in Battery.__annotations__})

    @tool("read")
    def list_battery_plans(self, battery_id: BatteryId) -> Plans:
        """List what a battery is planned to do, the earliest first.

        Args:
            battery_id: The battery.
        """
        battery = self.require("batteries", battery_id, "battery")
        found = [row for row in self.state.scan("plans") if row["battery_id"] == battery_id]
        found.sort(key=lambda row: (row["date"], row["start"]))
        keys = Plan.__annotations__
        lines = [cast(Plan, {key: row[key] for key in keys}) for row in found[:10]]
        return {"site": battery["site"], "count": len(found), "plans": lines}

    @tool("create")
    def schedule_battery_charging(self, battery_id: BatteryId, date: Date, start: Time) -> Charging:
        """Plan two hours in which a battery is charged.

        Args:
            battery_id: The battery.
            date: The day.
            start: When charging begins.
        """
        battery = self._plan(battery_id, date, start, "charge")
        return {
            "site": battery["site"],
            "date": date,
            "start": start,
            "until": later(start, CHARGE_HOURS),
            "kwh": battery["capacity_kwh"] // 2,
        }

    @tool("create")
    def sell_battery_power(self, battery_id: BatteryId, date: Date, start: DearTime) -> Sale:
        """Plan two hours in which a battery sells power to the grid, at a share of the price of the day.

        Args:
            battery_id: The battery.
            date: The day; there must be a forecast for it.
            start: When the sale begins.
        """
        forecast = self.state.get("forecasts", date)
        if forecast is None:
            raise ToolError("no_forecast", f"There is no forecast for {date}.")
        battery = self._plan(battery_id, date, start, "sell")
        kwh = battery["capacity_kwh"] // 2
        return {
            "site": battery["site"],
            "date": date,
            "start": start,
            "kwh": kwh,
            "earnings": round(kwh * forecast["dearest_cents"] * FEED_IN_SHARE / 100, 2),
        }

    def _plan(self, battery_id: str, date: str, start: str, action: str) -> Record:
        battery = self.require("batteries", battery_id, "battery")
        if f"{date}T{start}" <= self.now:
            raise ToolError("in_the_past", f"{start} on {date} has passed.")
        for row in self.state.scan("plans"):
            if (
                row["battery_id"] == battery_id
                and row["date"] == date
                and abs(_hours(row["start"]) - _hours(start)) < CHARGE_HOURS
            ):
                raise ToolError("battery_busy", "The battery is planned to do something else at that time.")
        plan: dict[str, Any] = {"battery_id": battery_id, "date": date, "start": start, "action": action}
        self.state.put("plans", self.new_id("pln", battery_id, date, start), plan)
        return battery


def _hours(time: str) -> float:
    return int(time[:2]) + int(time[3:]) / 60


def _monthly_cost(tariff: Record, yearly_kwh: int) -> float:
    """Return the basic price and the price of the energy, spread over twelve months."""
    return cast(float, round(tariff["base"] + yearly_kwh * tariff["cents"] / 1200, 2))
