"""A testing laboratory: samples, instrument slots, runs, results, reports and reagents."""

from __future__ import annotations

from random import Random
from typing import Annotated, Literal

from planarena.environments.contract import Environment, Seed, ToolError, tool
from planarena.environments.domains.shared import Shared, working_day
from planarena.environments.domains.types import Count, Date, Datetime, Money, Payable, Person, Workday
from planarena.environments.shapes import Fields, Result
from planarena.environments.state import Record
from planarena.tools.semantics import Semantic

from .world import PROPOSALS, make_laboratory, numbered

__all__ = ["Laboratory"]

# Working days until a result that is measured again is there, and euros for each parameter of a report.
REPEAT_DAYS, REPORT_FEE = 2, 48.0

SampleId = Annotated[str, Semantic("lab_sample_id", hidden=True)]
SlotId = Annotated[str, Semantic("lab_slot_id", hidden=True)]
RunId = Annotated[str, Semantic("lab_run_id", hidden=True)]
ResultId = Annotated[str, Semantic("lab_result_id", hidden=True)]
ReagentId = Annotated[str, Semantic("reagent_id", hidden=True)]
SampleLabel = Annotated[str, Semantic("sample_label", surface="name")]
SampleCode = Annotated[str, Semantic("sample_code", surface="name")]
Shelf = Annotated[str, Semantic("lab_shelf", surface="name")]
Instrument = Annotated[str, Semantic("instrument", surface="name")]
Number = Annotated[str, Semantic("lab_number", surface="name")]
Parameter = Annotated[str, Semantic("lab_parameter", surface="name")]
Measured = Annotated[str, Semantic("measured_value", surface="name")]
Share = Annotated[int, Semantic("share_of_limit", surface="percent", minimum=0)]
ReagentName = Annotated[str, Semantic("reagent_name", surface="name")]
Supplier = Annotated[str, Semantic("reagent_supplier", surface="name")]
Bottles = Annotated[int, Semantic("bottles_ordered", surface="number", minimum=1, maximum=60)]
Stock = Annotated[int, Semantic("bottles_in_stock", surface="number", minimum=0)]
Method = Annotated[
    Literal["heavy_metals", "pesticides", "bacteria", "nutrients", "solvents"],
    Semantic("lab_method", surface="word"),
]
State = Annotated[
    Literal["waiting", "booked", "measured", "reported"], Semantic("sample_state", surface="word")
]

record = Fields(
    sample_id=SampleId, slot_id=SlotId, run_id=RunId, result_id=ResultId, reagent_id=ReagentId,
    label=SampleLabel, code=SampleCode, client=Person, operator=Person, method=Method, state=State,
    due=Workday, shelf=Shelf, instrument=Instrument, start=Datetime, before=Datetime, cost=Money,
    number=Number, parameter=Parameter, value=Measured, share=Share, over=Count, repeats=Count, ready=Workday,
    price=Money, total=Payable, reagent=ReagentName, bottles=Stock, on_order=Stock, ordered=Bottles,
    cupboard=Shelf, expires=Date, arrives=Workday, supplier=Supplier, bottle_price=Money, count=Count,
)  # fmt: skip
RUN = record("run_id number instrument start")
RESULT = record("result_id parameter value share")
SLOT = record("slot_id instrument operator start cost")


class Laboratory(Environment):
    """A laboratory that tests water, soil and food for its clients, seen from the desk that runs it."""

    domain = "laboratory"
    summary = "A testing laboratory: samples, instrument slots, runs, results, reports and reagents."
    proposals = PROPOSALS

    @classmethod
    def seed(cls, rng: Random, shared: Shared | None = None) -> Seed:
        """Make a laboratory."""
        return make_laboratory(cls.seeds(), rng, shared)

    @tool("read", gives=record("sample_id label code client method due shelf state runs", runs=[RUN]))
    def find_lab_sample(self, label: SampleLabel) -> Result:
        """Look up a sample: code, client, what it is tested for, due date, shelf, state and the run it is booked for.

        Args:
            label: What the sample is of and where it comes from.
        """
        for row in self.rows("samples", label=label):
            return {**row, "runs": self.rows("runs", sample_id=row["sample_id"])}
        raise ToolError("sample_not_found", f"There is no sample of {label}.")

    @tool("read", gives=record("count samples", samples=[record("sample_id label code client due")]))
    def list_waiting_samples(self, method: Method) -> Result:
        """List the samples that wait to be tested and have no run yet, the one that is due first leading.

        Args:
            method: What they are to be tested for.
        """
        found = self.rows("samples", method=method, state="waiting")
        return {"count": len(found), "samples": _sorted(found, "due", "sample_id")}

    @tool("read", gives=record("client count samples", samples=[record("sample_id label code method due")]))
    def list_measured_samples(self, client: Person) -> Result:
        """List a client's samples that have been measured and not reported, the one that is due first leading.

        Args:
            client: Full name of the client.
        """
        found = self.rows("samples", client=client, state="measured")
        return {"client": client, "count": len(found), "samples": _sorted(found, "due", "sample_id")}

    @tool("create", gives=record("sample_id label code client shelf due"))
    def register_lab_sample(self, label: SampleLabel, client: Person, method: Method, due: Workday) -> Result:
        """Register a sample that has come in; it then waits to be tested.

        Args:
            label: What the sample is of and where it comes from.
            client: Full name of who has sent it in.
            method: What it is to be tested for.
            due: The day by which the client expects the report.
        """
        if self.rows("samples", label=label):
            raise ToolError("already_registered", f"The sample of {label} is registered already.")
        sample_id = self.new_id("smp", label)
        shelves = sorted(row["shelf"] for row in self.state.scan("shelves"))
        shelf = shelves[int(sample_id[4:], 16) % len(shelves)]
        sample = {
            "sample_id": sample_id, "label": label, "code": numbered("S", sample_id), "client": client,
            "method": method, "due": due, "shelf": shelf, "state": "waiting",
        }  # fmt: skip
        return self.state.put("samples", sample_id, sample)

    @tool("read", gives=record("count slots cheapest", slots=[SLOT], cheapest=SLOT))
    def find_instrument_slots(self, method: Method) -> Result:
        """List the free slots on the instruments that do a test, the earliest first.

        Args:
            method: What is to be tested for.
        """
        taken = {row["slot_id"] for row in self.state.scan("runs")}
        slots = [row for row in self.rows("slots", method=method) if row["slot_id"] not in taken]
        if not slots:
            raise ToolError("no_free_slot", "There is no free slot on these instruments.")
        cheapest = min(slots, key=lambda row: (row["cost"], row["slot_id"]))
        return {"count": len(slots), "slots": _sorted(slots, "start", "slot_id"), "cheapest": cheapest}

    @tool("create", gives=record("run_id number label instrument operator start cost"))
    def book_instrument_run(self, sample_id: SampleId, slot_id: SlotId) -> Result:
        """Book a waiting sample into a free slot.

        Args:
            sample_id: The sample.
            slot_id: The slot; its instrument must do the test that the sample waits for.
        """
        sample = self.require("samples", sample_id, "sample")
        slot = self._free_slot(slot_id)
        if sample["state"] != "waiting":
            raise ToolError("not_waiting", f"The sample of {sample['label']} is {sample['state']} already.")
        if slot["method"] != sample["method"]:
            raise ToolError("other_method", f"The {slot['instrument']} does not do this test.")
        run_id = self.new_id("run", sample_id)
        run = {
            "run_id": run_id, "number": numbered("R", run_id), "sample_id": sample_id,
            "label": sample["label"], "slot_id": slot_id, "instrument": slot["instrument"],
            "start": slot["start"],
        }  # fmt: skip
        self.state.patch("samples", sample_id, state="booked")
        return {**slot, **self.state.put("runs", run_id, run)}

    @tool("update", gives=record("run_id number label instrument before start cost"))
    def move_instrument_run(self, run_id: RunId, slot_id: SlotId) -> Result:
        """Move a booked run to another free slot on an instrument that does the same test.

        Args:
            run_id: The run.
            slot_id: The new slot.
        """
        run = self.require("runs", run_id, "run")
        slot = self._free_slot(slot_id)
        if slot["method"] != self.require("samples", run["sample_id"], "sample")["method"]:
            raise ToolError("other_method", f"The {slot['instrument']} does not do this test.")
        changes = {name: slot[name] for name in ("slot_id", "instrument", "start")}
        return {**slot, **self.state.patch("runs", run_id, **changes), "before": run["start"]}

    @tool("read", gives=record("label client count over repeats results", results=[RESULT]))
    def list_sample_results(self, sample_id: SampleId) -> Result:
        """List what was measured in a sample, with its share of the legal limit, the highest share first.

        Args:
            sample_id: The sample; it must have been measured.
        """
        sample = self._measured(sample_id)
        found = [{**row, "value": _value(row)} for row in self.rows("results", sample_id=sample_id)]
        found.sort(key=lambda row: (-row["share"], row["result_id"]))
        return {
            **sample,
            "count": len(found),
            "over": sum(row["share"] > 100 for row in found),
            "repeats": sum(row["repeat"] for row in found),
            "results": found,
        }

    @tool("update", gives=record("label parameter value ready"))
    def repeat_measurement(self, result_id: ResultId) -> Result:
        """Have a parameter of a sample measured again; until then the sample cannot be reported.

        Args:
            result_id: The result that is in doubt.
        """
        result = self.require("results", result_id, "result")
        sample = self._measured(result["sample_id"])
        if result["repeat"]:
            raise ToolError("repeat_pending", f"The {result['parameter']} is being measured again already.")
        self.state.patch("results", result_id, repeat=True)
        ready = working_day(self.now, REPEAT_DAYS)
        return {**sample, **result, "value": _value(result), "ready": ready}

    @tool("update", gives=record("number label client price"))
    def release_lab_report(self, sample_id: SampleId) -> Result:
        """Sign the report on a measured sample and send it to the client.

        Args:
            sample_id: The sample; none of its results may be due to be measured again.
        """
        sample = self._measured(sample_id)
        results = self.rows("results", sample_id=sample_id)
        if any(row["repeat"] for row in results):
            raise ToolError("repeat_pending", f"Part of the sample of {sample['label']} is measured again.")
        self.state.patch("samples", sample_id, state="reported")
        return {**sample, "number": numbered("LR", sample_id), "price": REPORT_FEE * len(results)}

    @tool("read", gives=record("reagent_id reagent bottles on_order cupboard expires supplier bottle_price"))
    def check_reagent(self, reagent: ReagentName) -> Result:
        """Look up a reagent: bottles left and on order, cupboard, expiry date, supplier and price.

        Args:
            reagent: Name of the reagent.
        """
        for row in self.rows("reagents", reagent=reagent):
            return row
        raise ToolError("reagent_not_found", f"There is no reagent named {reagent}.")

    @tool("read", gives=record("count reagents", reagents=[record("reagent_id reagent bottles expires")]))
    def list_expiring_reagents(self, until: Date) -> Result:
        """List the reagents that expire by a date, the soonest first.

        Args:
            until: The last day that counts.
        """
        found = [row for row in self.state.scan("reagents") if row["expires"] <= until]
        return {"count": len(found), "reagents": _sorted(found, "expires", "reagent_id")}

    @tool("create", gives=record("number reagent ordered supplier total arrives"))
    def order_reagent(self, reagent_id: ReagentId, bottles: Bottles) -> Result:
        """Order fresh bottles of a reagent from its supplier.

        Args:
            reagent_id: The reagent.
            bottles: How many bottles.
        """
        row = self.require("reagents", reagent_id, "reagent")
        if row["on_order"]:
            raise ToolError("already_ordered", f"Bottles of {row['reagent']} are on order already.")
        self.state.patch("reagents", reagent_id, on_order=bottles)
        return {
            **row, "number": numbered("B", reagent_id), "ordered": bottles,
            "total": round(bottles * row["bottle_price"], 2),
            "arrives": working_day(self.now, row["days"]),
        }  # fmt: skip

    def _free_slot(self, slot_id: str) -> Record:
        slot = self.require("slots", slot_id, "slot")
        if self.rows("runs", slot_id=slot_id):
            raise ToolError("slot_taken", f"The {slot['instrument']} is taken at {slot['start']}.")
        return slot

    def _measured(self, sample_id: str) -> Record:
        sample = self.require("samples", sample_id, "sample")
        if sample["state"] != "measured":
            raise ToolError("not_measured", f"The sample of {sample['label']} is {sample['state']}.")
        return sample


def _sorted(rows: list[Record], *fields: str) -> list[Record]:
    return sorted(rows, key=lambda row: [row[name] for name in fields])


def _value(result: Record) -> str:
    """Return what was measured as it stands in a report: three digits and the unit."""
    rounded = float(f"{result['limit'] * result['share'] / 100:.3g}")
    return f"{rounded:g} {result['unit']}"
