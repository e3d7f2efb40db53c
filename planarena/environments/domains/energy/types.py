"""The values and results of the energy portal's tools."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from planarena.environments.domains.types import Count, Credit, Date, Money, Payable, Percent, Time, Workday
from planarena.tools.semantics import Semantic

__all__ = [
    "Battery",
    "BatteryId",
    "Charging",
    "DearTime",
    "Dispute",
    "DisputeReason",
    "EnergyKind",
    "Forecast",
    "Instalment",
    "InvoiceId",
    "InvoiceLine",
    "Invoices",
    "Meter",
    "MeterId",
    "MonthLine",
    "MonthlyAmount",
    "Plan",
    "Plans",
    "Reading",
    "Sale",
    "Site",
    "Submitted",
    "Switched",
    "TariffId",
    "TariffLine",
    "Tariffs",
    "Usage",
    "YearlyUsage",
]

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
DisputeReason = Annotated[
    Literal["estimated_reading", "wrong_tariff", "paid_twice", "moved_out"],
    Semantic("dispute_reason", surface="word"),
]
InvoiceStatus = Annotated[Literal["open", "paid", "disputed"], Semantic("invoice_status", surface="word")]


class Meter(TypedDict):
    """A meter and its contract."""

    meter_id: MeterId
    number: Number
    site: Site
    kind: EnergyKind
    tariff: TariffName
    supplier: Supplier
    last_reading: Reading
    read_on: Date


class Submitted(TypedDict):
    """A reading that was handed in."""

    number: Number
    reading: Reading
    consumed: KilowattHours
    cost: Money
    read_on: Date


class MonthLine(TypedDict):
    """The consumption of a month."""

    month: Date
    kwh: KilowattHours


class Usage(TypedDict):
    """The consumption of a year."""

    number: Number
    kind: EnergyKind
    yearly_kwh: YearlyUsage
    monthly_cost: MonthlyAmount
    months: list[MonthLine]
    peak: MonthLine


class TariffLine(TypedDict):
    """A tariff in a comparison."""

    tariff_id: TariffId
    name: TariffName
    supplier: Supplier
    monthly_cost: MonthlyAmount
    green: Percent


class Tariffs(TypedDict):
    """Tariffs for some consumption."""

    kind: EnergyKind
    count: Count
    tariffs: list[TariffLine]
    greenest: TariffLine


class Switched(TypedDict):
    """A meter's new contract."""

    number: Number
    tariff: TariffName
    supplier: Supplier
    monthly_cost: MonthlyAmount
    starts_on: Date


class Instalment(TypedDict):
    """What is paid each month."""

    number: Number
    amount: MonthlyAmount
    yearly_total: Money
    first_due: Date


class InvoiceLine(TypedDict):
    """An invoice in a list."""

    invoice_id: InvoiceId
    number: Number
    meter_id: MeterId
    kind: EnergyKind
    amount: Payable
    issued: Date
    due: Date
    status: InvoiceStatus


class Invoices(TypedDict):
    """The invoices of a site."""

    count: Count
    open_total: Money
    invoices: list[InvoiceLine]


class Dispute(TypedDict):
    """An invoice that is looked into."""

    number: Number
    amount: Money
    answer_by: Workday


class Forecast(TypedDict):
    """Sun and prices of a day."""

    date: Date
    solar_kwh: KilowattHours
    sunniest_at: Time
    cheapest_at: Time
    dearest_at: DearTime


class Plan(TypedDict):
    """Something that a battery is going to do."""

    date: Date
    start: Time
    action: Annotated[Literal["charge", "sell"], Semantic("battery_action", surface="word")]


class Battery(TypedDict):
    """A battery as it stands."""

    battery_id: BatteryId
    site: Site
    charge: Percent
    capacity_kwh: KilowattHours
    maker: Annotated[str, Semantic("maker", surface="name")]


class Plans(TypedDict):
    """What a battery is going to do."""

    site: Site
    count: Count
    plans: list[Plan]


class Charging(TypedDict):
    """A planned charge."""

    site: Site
    date: Date
    start: Time
    until: Time
    kwh: KilowattHours


class Sale(TypedDict):
    """A planned sale."""

    site: Site
    date: Date
    start: DearTime
    kwh: KilowattHours
    earnings: Credit
