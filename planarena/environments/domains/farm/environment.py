"""A farm: fields and their crops, the weather, irrigation, harvest crews, stores, buyers and unpaid sales."""

from __future__ import annotations

from random import Random
from typing import Annotated

from planarena.environments.contract import Environment, Seed, ToolError, tool
from planarena.environments.domains.shared import Shared, day_after
from planarena.environments.domains.types import Count, Credit, Date, Money, Payable, Percent, Person
from planarena.environments.shapes import Fields, Result
from planarena.environments.state import Record
from planarena.tools.semantics import Semantic

from .world import PROPOSALS, make_farm, sale_number

__all__ = ["Farm"]

# Euros for a cubic metre of water, cubic metres for a millimetre on a hectare, and days that a reminder gives.
WATER_PRICE, CUBIC_METRES, GRACE = 0.09, 10, 14

FieldId = Annotated[str, Semantic("farm_field_id", hidden=True)]
WateringId = Annotated[str, Semantic("watering_id", hidden=True)]
CrewId = Annotated[str, Semantic("harvest_crew_id", hidden=True)]
HarvestId = Annotated[str, Semantic("harvest_id", hidden=True)]
OfferId = Annotated[str, Semantic("crop_offer_id", hidden=True)]
SaleId = Annotated[str, Semantic("crop_sale_id", hidden=True)]
FieldName = Annotated[str, Semantic("field_name", surface="name")]
Crop = Annotated[str, Semantic("crop", surface="name")]
Crew = Annotated[str, Semantic("harvest_crew", surface="name")]
Buyer = Annotated[str, Semantic("crop_buyer", surface="name")]
Barn = Annotated[str, Semantic("barn", surface="name")]
Number = Annotated[str, Semantic("sale_number", surface="name")]
Hectares = Annotated[float, Semantic("hectares", surface="number", minimum=0)]
Millimetres = Annotated[int, Semantic("millimetres_watered", surface="number", minimum=1, maximum=60)]
Rain = Annotated[int, Semantic("millimetres_of_rain", surface="number", minimum=0)]
Degrees = Annotated[int, Semantic("outdoor_temperature", surface="temperature")]
Water = Annotated[int, Semantic("cubic_metres", surface="number", minimum=0)]
Tonnes = Annotated[int, Semantic("tonnes_sold", surface="number", minimum=1, maximum=500)]
Stock = Annotated[int, Semantic("tonnes_in_store", surface="number", minimum=0)]
Days = Annotated[int, Semantic("forecast_days", surface="number", minimum=3, maximum=7)]

record = Fields(
    field_id=FieldId, watering_id=WateringId, crew_id=CrewId, harvest_id=HarvestId, offer_id=OfferId,
    sale_id=SaleId, name=FieldName, crop=Crop, hectares=Hectares, moisture=Percent, ripe_on=Date, date=Date,
    before=Date, millimetres=Millimetres, rain=Rain, total_rain=Rain, high=Degrees, low=Degrees,
    cubic_metres=Water, crew=Crew, boss=Person, contact=Person, price=Money, free_from=Date, cost=Payable,
    barn=Barn, stored=Stock, buyer=Buyer, most=Stock, collects=Date, number=Number, tonnes=Stock, total=Credit,
    amount=Money, due=Date, pay_by=Date, reminded=bool, count=Count,
)  # fmt: skip
FIELD = record("field_id name hectares moisture ripe_on")
SHEET = record(
    "field_id name crop hectares moisture ripe_on waterings harvests",
    waterings=[record("watering_id date millimetres")], harvests=[record("harvest_id crew date")],
)  # fmt: skip
DAY = record("date rain high low")
CREW = record("crew_id crew boss price free_from")
OFFER = record("offer_id buyer contact price most collects")
SALE = record("sale_id number crop buyer amount due reminded")


class Farm(Environment):
    """A farm of some fifteen fields, and what the person does who runs it."""

    domain = "farm"
    summary = "A farm: fields, weather, irrigation, harvest crews, stores, buyers and unpaid sales."
    proposals = PROPOSALS

    @classmethod
    def seed(cls, rng: Random, shared: Shared | None = None) -> Seed:
        """Make a farm."""
        return make_farm(cls.seeds(), rng, shared)

    @tool("read", gives=SHEET)
    def find_farm_field(self, name: FieldName) -> Result:
        """Look up a field: crop, size, moisture of the soil, when it is ripe, and what is planned there.

        Args:
            name: Name of the field.
        """
        for row in self.rows("fields", name=name):
            return {**row, **{table: self._planned(table, row) for table in ("waterings", "harvests")}}
        raise ToolError("field_not_found", f"There is no field named {name}.")

    @tool("read", gives=record("crop count fields first_ripe", fields=[FIELD], first_ripe=FIELD))
    def list_crop_fields(self, crop: Crop) -> Result:
        """List the fields on which a crop grows, the driest first.

        Args:
            crop: What grows there.
        """
        found = self.rows("fields", crop=crop)
        if not found:
            raise ToolError("crop_not_found", f"There is no field with {crop}.")
        found.sort(key=lambda row: (row["moisture"], row["field_id"]))
        first_ripe = min(found, key=lambda row: (row["ripe_on"], row["field_id"]))
        return {"crop": crop, "count": len(found), "fields": found, "first_ripe": first_ripe}

    @tool("read", gives=record("total_rain days wettest first_dry", days=[DAY], wettest=DAY, first_dry=DAY))
    def check_farm_weather(self, days: Days) -> Result:
        """Show the forecast for the coming days, beginning with tomorrow: rain in millimetres, highs and lows.

        Args:
            days: For how many days.
        """
        found = sorted(self.state.scan("weather"), key=lambda row: str(row["date"]))[:days]
        wettest = max(found, key=lambda row: (row["rain"], row["date"]))
        first_dry = min(found, key=lambda row: (row["rain"] > 0, row["date"]))
        total = sum(row["rain"] for row in found)
        return {"total_rain": total, "days": found, "wettest": wettest, "first_dry": first_dry}

    @tool("create", gives=record("watering_id name date millimetres cubic_metres cost"))
    def water_farm_field(self, field_id: FieldId, date: Date, millimetres: Millimetres) -> Result:
        """Plan to water a field; a field is watered once a day at most.

        Args:
            field_id: The field.
            date: The day, not before today.
            millimetres: How much water, in millimetres.
        """
        field = self.require("fields", field_id, "field")
        if date < self.today:
            raise ToolError("in_the_past", f"{date} has passed.")
        watering_id = self.new_id("wat", field_id, date)
        if self.state.get("waterings", watering_id):
            raise ToolError("already_planned", f"{field['name']} is watered on {date} already.")
        row = {"watering_id": watering_id, "field_id": field_id, "date": date, "millimetres": millimetres}
        water = round(field["hectares"] * millimetres * CUBIC_METRES)
        self.state.put("waterings", watering_id, row)
        return {**field, **row, "cubic_metres": water, "cost": round(water * WATER_PRICE, 2)}

    @tool("delete", gives=record("field_id name date millimetres"))
    def cancel_field_watering(self, watering_id: WateringId) -> Result:
        """Take a planned watering back.

        Args:
            watering_id: The watering.
        """
        row = self.require("waterings", watering_id, "watering")
        self.state.delete("waterings", watering_id)
        return {**self.require("fields", row["field_id"], "field"), **row}

    @tool("read", gives=record("crop count crews soonest", crews=[CREW], soonest=CREW))
    def find_harvest_crews(self, crop: Crop) -> Result:
        """List the crews that harvest a crop for hire, the cheapest first.

        Args:
            crop: What is to be harvested.
        """
        found = self.rows("crews", gear=self._store(crop)["gear"])
        found.sort(key=lambda row: (row["price"], row["crew_id"]))
        soonest = min(found, key=lambda row: (row["free_from"], row["crew_id"]))
        return {"crop": crop, "count": len(found), "crews": found, "soonest": soonest}

    @tool("create", gives=record("harvest_id name crop crew boss date cost"))
    def book_harvest_crew(self, field_id: FieldId, crew_id: CrewId, date: Date | None = None) -> Result:
        """Book a crew to harvest a field.

        Args:
            field_id: The field.
            crew_id: The crew; it must have the gear for the crop.
            date: The day; without it, the first on which the field is ripe and the crew is free.
        """
        field, crew = self.require("fields", field_id, "field"), self.require("crews", crew_id, "crew")
        if self._store(field["crop"])["gear"] != crew["gear"]:
            raise ToolError("wrong_gear", f"{crew['crew']} cannot harvest {field['crop']}.")
        if self.rows("harvests", field_id=field_id):
            raise ToolError("already_booked", f"The harvest of {field['name']} is booked already.")
        day = date or max(field["ripe_on"], crew["free_from"])
        self._refuse_day(day, field, crew)
        harvest_id = self.new_id("hrv", field_id)
        row = {"harvest_id": harvest_id, "field_id": field_id, "crew_id": crew_id}
        row |= {"crew": crew["crew"], "date": day}
        self.state.put("harvests", harvest_id, row)
        return {**field, **crew, **row, "cost": round(crew["price"] * field["hectares"], 2)}

    @tool("update", gives=record("name crew before date"))
    def move_field_harvest(self, harvest_id: HarvestId, date: Date) -> Result:
        """Move a harvest that is booked to another day.

        Args:
            harvest_id: The harvest.
            date: The new day, on which the field is ripe and the crew is free.
        """
        row = self.require("harvests", harvest_id, "harvest")
        if row["date"] == date:
            raise ToolError("already_on_that_day", f"The harvest is on {date} already.")
        field = self.require("fields", row["field_id"], "field")
        self._refuse_day(date, field, self.require("crews", row["crew_id"], "crew"))
        return {**field, **self.state.patch("harvests", harvest_id, date=date), "before": row["date"]}

    @tool("read", gives=record("crop stored barn"))
    def check_farm_store(self, crop: Crop) -> Result:
        """Show how many tonnes of a crop are in store and not sold, and where.

        Args:
            crop: The crop.
        """
        return self._store(crop)

    @tool("read", gives=record("crop count offers soonest", offers=[OFFER], soonest=OFFER))
    def find_crop_buyers(self, crop: Crop) -> Result:
        """List who would buy a crop, the highest price a tonne first.

        Args:
            crop: The crop.
        """
        self._store(crop)
        found = self.rows("offers", crop=crop)
        found.sort(key=lambda row: (-row["price"], row["offer_id"]))
        soonest = min(found, key=lambda row: (row["collects"], row["offer_id"]))
        return {"crop": crop, "count": len(found), "offers": found, "soonest": soonest}

    @tool("create", gives=record("sale_id number crop buyer tonnes total collects stored"))
    def sell_farm_crop(self, offer_id: OfferId, tonnes: Tonnes) -> Result:
        """Sell some of a crop in store to a buyer.

        Args:
            offer_id: The buyer's offer; it says how much is taken at most.
            tonnes: How many tonnes.
        """
        offer = self.require("offers", offer_id, "offer")
        store = self._store(offer["crop"])
        if tonnes > offer["most"]:
            raise ToolError("above_offer", f"{offer['buyer']} takes {offer['most']} tonnes at most.")
        if tonnes > store["stored"]:
            raise ToolError("not_enough", f"There are {store['stored']} tonnes of {offer['crop']} in store.")
        sale_id = self.new_id("sal", offer_id, self.today)
        if self.state.get("sales", sale_id):
            raise ToolError("already_sold", f"{offer['buyer']} has bought {offer['crop']} today already.")
        total = round(tonnes * offer["price"], 2)
        sale = {
            "sale_id": sale_id, "number": sale_number(sale_id), "crop": offer["crop"], "buyer": offer["buyer"],
            "amount": total, "due": day_after(offer["collects"], 30), "reminded": False,
        }  # fmt: skip
        self.state.put("sales", sale_id, sale)
        stored = self.state.patch("stores", offer["crop"], stored=store["stored"] - tonnes)["stored"]
        return {**offer, **sale, "tonnes": tonnes, "total": total, "stored": stored}

    @tool("read", gives=record("count sales largest", sales=[SALE], largest=SALE))
    def list_unpaid_sales(self) -> Result:
        """List the sales that have not been paid, the one that was due first leading, and the largest of them."""
        found = sorted(self.state.scan("sales"), key=lambda row: (row["due"], row["sale_id"]))
        largest = max(found, key=lambda row: (row["amount"], row["sale_id"]))
        return {"count": len(found), "sales": found, "largest": largest}

    @tool("update", gives=record("number buyer amount pay_by"))
    def remind_buyer(self, sale_id: SaleId) -> Result:
        """Remind a buyer of a sale that has not been paid; it is to be paid within two weeks.

        Args:
            sale_id: The sale.
        """
        sale = self.require("sales", sale_id, "sale")
        if sale["reminded"]:
            raise ToolError("just_reminded", f"{sale['buyer']} has been reminded already.")
        return {**self.state.patch("sales", sale_id, reminded=True), "pay_by": day_after(self.today, GRACE)}

    def _store(self, crop: str) -> Record:
        store = self.state.get("stores", crop)
        if store is None:
            raise ToolError("crop_not_found", f"This farm has no {crop}.")
        return store

    def _planned(self, table: str, field: Record) -> list[Record]:
        return sorted(self.rows(table, field_id=field["field_id"]), key=lambda row: str(row["date"]))

    def _refuse_day(self, day: str, field: Record, crew: Record) -> None:
        if day < field["ripe_on"]:
            raise ToolError("not_ripe", f"{field['name']} is not ripe before {field['ripe_on']}.")
        if day < crew["free_from"]:
            raise ToolError("crew_busy", f"{crew['crew']} has no time before {crew['free_from']}.")
