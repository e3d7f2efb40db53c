"""A group practice: doctors, open times, appointments of a family, referrals, prescriptions and pharmacies."""

from __future__ import annotations

from random import Random
from typing import Annotated, get_args

from planarena.environments.contract import Environment, Seed, ToolError, tool
from planarena.environments.domains import types
from planarena.environments.domains.shared import Shared, day_after, later
from planarena.environments.shapes import Fields, Result, ordered
from planarena.environments.state import Record
from planarena.tools.semantics import Semantic

from .world import PROPOSALS, CancelReason, Kind, Referred, make_practice

__all__ = ["Clinic"]

LATE_FEE, SUPPLY_DAYS = 25.0, 60

DoctorId = Annotated[str, Semantic("clinic_doctor_id", hidden=True)]
SlotId = Annotated[str, Semantic("clinic_slot_id", hidden=True)]
AppointmentId = Annotated[str, Semantic("clinic_appointment_id", hidden=True)]
PrescriptionId = Annotated[str, Semantic("prescription_id", hidden=True)]
RenewalId = Annotated[str, Semantic("prescription_renewal_id", hidden=True)]
PharmacyId = Annotated[str, Semantic("pharmacy_id", hidden=True)]
# Patients are people too, but a doctor is never booked for as a patient.
Patient = Annotated[str, Semantic("patient", surface="name")]
VisitReason = Annotated[str, Semantic("visit_reason", surface="name")]
Complaint = Annotated[str, Semantic("complaint", surface="name")]
Medicine = Annotated[str, Semantic("medicine", surface="name")]
Pharmacy = Annotated[str, Semantic("pharmacy", surface="name")]
Preparation = Annotated[str, Semantic("preparation", surface="name")]
ConsultingRoom = Annotated[str, Semantic("consulting_room", surface="name")]
District = Annotated[str, Semantic("district", surface="name")]
Metres = Annotated[int, Semantic("metres", surface="number", minimum=0)]
Specialty = Annotated[Kind, Semantic("medical_specialty", surface="word")]
ReferredTo = Annotated[Referred, Semantic("referral_specialty", surface="word")]
WhyCancelled = Annotated[CancelReason, Semantic("cancellation_reason", surface="word")]

record = Fields(
    doctor_id=DoctorId, slot_id=SlotId, appointment_id=AppointmentId, prescription_id=PrescriptionId,
    renewal_id=RenewalId, pharmacy_id=PharmacyId, doctor=types.Person, name=types.Person, patient=Patient,
    specialty=Specialty, rating=types.Rating, reason=VisitReason, preparation=Preparation,
    room=ConsultingRoom, start=types.FreeTime, date=types.Date, next_free=types.Datetime,
    before=types.Datetime, medicine=Medicine, pharmacy=Pharmacy, address=types.Address, metres=Metres,
    closes=types.Time, runs_out=types.Date, lasts_until=types.Date, valid_until=types.Date,
    ready_at=types.Datetime, ready_on=types.Date, refills_left=types.Count, fee=types.Money,
    price=types.Payable, count=types.Count,
)  # fmt: skip
DOCTOR = record("doctor_id name rating next_free")
PHARMACY = record("pharmacy_id name address metres closes", name=Pharmacy)
COMING = record("appointment_id doctor_id doctor start", start=types.Datetime)
REFERRAL = record("specialty doctor valid_until", specialty=ReferredTo)
REQUESTED = record("patient specialty doctor_id doctor valid_until", specialty=ReferredTo)
DETAILS = record("appointment_id patient doctor_id doctor specialty date start room reason preparation")
PRESCRIPTION = record("prescription_id medicine runs_out refills_left pharmacy?")


class Clinic(Environment):
    """The patients' portal of a group practice, used by somebody who looks after a family."""

    domain = "clinic"
    summary = "A group practice with doctors, appointments, referrals, prescriptions and pharmacies nearby."
    proposals = PROPOSALS

    @classmethod
    def seed(cls, rng: Random, shared: Shared | None = None) -> Seed:
        """Make a practice and a family."""
        return make_practice(cls.seeds(), rng, shared)

    @tool("read", gives=record("count doctors best_rated", doctors=[DOCTOR], best_rated=DOCTOR))
    def find_clinic_doctors(self, specialty: Specialty) -> Result:
        """List the doctors of a specialty who have open appointments, the earliest opening first.

        Args:
            specialty: The specialty.
        """
        free = [
            {**doctor, "next_free": times[0]["start"]}
            for doctor in self.rows("doctors", specialty=specialty)
            if (times := self._open_slots(doctor["doctor_id"]))
        ]
        if not free:
            raise ToolError("nothing_free", "No doctor of this specialty has an open appointment.")
        best = min(free, key=lambda row: (-row["rating"], row["doctor_id"]))
        return {"count": len(free), "doctors": ordered(free, "next_free", "doctor_id"), "best_rated": best}

    @tool("read", gives=record("doctor count slots", slots=[record("slot_id start", start=types.Datetime)]))
    def list_open_appointments(self, doctor_id: DoctorId, from_date: types.Date | None = None) -> Result:
        """List up to eight times at which a doctor can see a patient, the earliest first.

        Args:
            doctor_id: The doctor.
            from_date: Leave out what is before this date.
        """
        doctor = self.require("doctors", doctor_id, "doctor")
        found = [slot for slot in self._open_slots(doctor_id) if slot["start"] >= (from_date or "")]
        if not found:
            raise ToolError("nothing_free", f"{doctor['name']} has no open appointment from then on.")
        return {"doctor": doctor["name"], "count": len(found), "slots": found[:8]}

    @tool("read", gives=record("count appointments referrals", appointments=[COMING], referrals=[REFERRAL]))
    def list_patient_appointments(self, patient: Patient) -> Result:
        """List the coming appointments of a patient, the next one first, and the referrals that are valid.

        Args:
            patient: Full name of the patient.
        """
        self._require_patient(patient)
        found = ordered(self.rows("appointments", patient=patient), "start", "appointment_id")
        lines = [self._with_doctor(row) for row in found[:10]]
        referrals = ordered(self.rows("referrals", patient=patient), "valid_until", "specialty")
        return {"count": len(found), "appointments": lines, "referrals": referrals}

    @tool("read", gives=DETAILS)
    def get_appointment_details(self, appointment_id: AppointmentId) -> Result:
        """Show an appointment in full: doctor, time, room, reason and how to prepare for it.

        Args:
            appointment_id: The appointment.
        """
        shown = self._with_doctor(self.require("appointments", appointment_id, "appointment"))
        return {**shown, "preparation": self.seeds()["preparations"][shown["specialty"]]}

    @tool("create", gives=record("appointment_id patient doctor date start fee"))
    def book_clinic_appointment(self, slot_id: SlotId, patient: Patient, reason: VisitReason) -> Result:
        """Book an open time for a patient; some specialties see only patients who have a referral.

        Args:
            slot_id: The open time of a doctor.
            patient: Full name of the patient.
            reason: What the visit is for.
        """
        self._require_patient(patient)
        slot = self._require_open(slot_id)
        doctor = self.require("doctors", slot["doctor_id"], "doctor")
        kind = doctor["specialty"]
        if kind in get_args(Referred) and not self.state.get("referrals", f"{patient}.{kind}"):
            raise ToolError("referral_needed", f"{doctor['name']} sees patients with a referral only.")
        self._refuse_clash(patient, slot["start"], "")
        appointment_id = self.new_id("apt", slot_id, patient)
        appointment = {"appointment_id": appointment_id, "slot_id": slot_id, "doctor_id": slot["doctor_id"]}
        appointment |= {"patient": patient, "reason": reason, "start": slot["start"]}
        self.state.patch("slots", slot_id, taken=True)
        return self._with_doctor(self.state.put("appointments", appointment_id, appointment))

    @tool("update", gives=record("appointment_id patient doctor before date start"))
    def move_clinic_appointment(self, appointment_id: AppointmentId, slot_id: SlotId) -> Result:
        """Move an appointment to another open time of the same doctor or of a doctor of the same specialty.

        Args:
            appointment_id: The appointment.
            slot_id: The open time that it moves to.
        """
        row = self.require("appointments", appointment_id, "appointment")
        slot = self._require_open(slot_id)
        old, new = (self.require("doctors", one["doctor_id"], "doctor") for one in (row, slot))
        if old["specialty"] != new["specialty"]:
            raise ToolError("other_specialty", f"{new['name']} does not treat what {old['name']} does.")
        self._refuse_clash(row["patient"], slot["start"], appointment_id)
        self.state.patch("slots", row["slot_id"], taken=False)
        self.state.patch("slots", slot_id, taken=True)
        changes = {"slot_id": slot_id, "doctor_id": slot["doctor_id"], "start": slot["start"]}
        moved = self.state.patch("appointments", appointment_id, **changes)
        return {**self._with_doctor(moved), "before": row["start"]}

    @tool("delete", gives=record("patient doctor start fee", start=types.Datetime))
    def cancel_clinic_appointment(self, appointment_id: AppointmentId, reason: WhyCancelled) -> Result:
        """Cancel an appointment; within 24 hours of it that costs 25 euros, earlier nothing.

        Args:
            appointment_id: The appointment.
            reason: Why it is cancelled.
        """
        row = self.require("appointments", appointment_id, "appointment")
        late = row["start"] < later(self.now, 24 * 60)
        self.state.delete("appointments", appointment_id)
        self.state.patch("slots", row["slot_id"], taken=False)
        cancellation = {"patient": row["patient"], "start": row["start"], "reason": reason}
        self.state.put("cancellations", appointment_id, cancellation)
        return {**self._with_doctor(row), "fee": LATE_FEE if late and reason != "illness" else 0.0}

    @tool("create", gives=REQUESTED)
    def request_referral(self, patient: Patient, specialty: ReferredTo, complaint: Complaint) -> Result:
        """Ask the family doctor to refer a patient; the referral names the best rated specialist.

        Args:
            patient: Full name of the patient.
            specialty: The specialty that the patient is referred to.
            complaint: What the patient complains of.
        """
        self._require_patient(patient)
        key = f"{patient}.{specialty}"
        if self.state.get("referrals", key):
            raise ToolError("already_referred", f"{patient} already has a referral of this kind.")
        specialists = self.rows("doctors", specialty=specialty)
        doctor = min(specialists, key=lambda row: (-row["rating"], row["doctor_id"]))
        referral = {"patient": patient, "specialty": specialty, "complaint": complaint}
        referral |= {"doctor": doctor["name"], "valid_until": day_after(self.now, 90)}
        return {**doctor, **self.state.put("referrals", key, referral)}

    @tool("read", gives=record("doctor_id doctor count prescriptions", prescriptions=[PRESCRIPTION]))
    def list_prescriptions(self, patient: Patient) -> Result:
        """List the prescriptions of a patient, the soonest to run out first, and the doctor who wrote them.

        Args:
            patient: Full name of the patient.
        """
        self._require_patient(patient)
        found = ordered(self.rows("prescriptions", patient=patient), "runs_out", "prescription_id")
        if not found:
            raise ToolError("nothing_found", f"{patient} has no prescription.")
        doctor = self.require("doctors", found[0]["doctor_id"], "doctor")
        lines = [{**row, **self._waiting(row)} for row in found]
        return {**doctor, "doctor": doctor["name"], "count": len(found), "prescriptions": lines}

    @tool("create", gives=record("renewal_id medicine patient lasts_until refills_left"))
    def renew_prescription(self, prescription_id: PrescriptionId) -> Result:
        """Renew a prescription for another 60 days; a pharmacy can then be sent the renewal.

        Args:
            prescription_id: The prescription; it must have refills left and not have been renewed today.
        """
        row = self.require("prescriptions", prescription_id, "prescription")
        renewal_id = self.new_id("rnw", prescription_id, self.today)
        if self.state.get("renewals", renewal_id):
            raise ToolError("already_renewed", f"{row['medicine']} has been renewed today.")
        if row["refills_left"] == 0:
            raise ToolError("no_refills_left", f"{row['medicine']} must be prescribed anew by a doctor.")
        lasts_until, left = day_after(row["runs_out"], SUPPLY_DAYS), row["refills_left"] - 1
        self.state.patch("prescriptions", prescription_id, runs_out=lasts_until, refills_left=left)
        renewal = {name: row[name] for name in ("medicine", "patient", "price")}
        self.state.put("renewals", renewal_id, {**renewal, "pharmacy_id": ""})
        return {**renewal, "renewal_id": renewal_id, "lasts_until": lasts_until, "refills_left": left}

    @tool("read", gives=record("count pharmacies open_longest", pharmacies=[PHARMACY], open_longest=PHARMACY))
    def find_pharmacies(self, district: District) -> Result:
        """List the pharmacies of a district, the nearest to its centre first.

        Args:
            district: The part of the city.
        """
        found = ordered(self.rows("pharmacies", district=district), "metres", "pharmacy_id")
        if not found:
            raise ToolError("nothing_found", f"There is no pharmacy in {district}.")
        longest = max(found, key=lambda row: (row["closes"], row["pharmacy_id"]))
        return {"count": len(found), "pharmacies": found, "open_longest": longest}

    @tool("update", gives=record("medicine patient pharmacy ready_at ready_on price"))
    def send_renewal_to_pharmacy(self, renewal_id: RenewalId, pharmacy_id: PharmacyId) -> Result:
        """Send a renewal to a pharmacy, which prepares the medicine; a renewal is sent once.

        Args:
            renewal_id: The renewal.
            pharmacy_id: The pharmacy.
        """
        renewal = self.require("renewals", renewal_id, "renewal")
        pharmacy = self.require("pharmacies", pharmacy_id, "pharmacy")
        if renewal["pharmacy_id"]:
            raise ToolError("already_sent", f"{renewal['medicine']} is being prepared already.")
        self.state.patch("renewals", renewal_id, pharmacy_id=pharmacy_id)
        ready = later(self.now, 60 * pharmacy["hours"])
        return {**renewal, "pharmacy": pharmacy["name"], "ready_at": ready, "ready_on": ready[:10]}

    def _open_slots(self, doctor_id: str) -> list[Record]:
        slots = self.rows("slots", doctor_id=doctor_id, taken=False)
        return ordered((slot for slot in slots if slot["start"] > self.now), "start", "slot_id")

    def _require_open(self, slot_id: str) -> Record:
        slot = self.require("slots", slot_id, "open time")
        if slot["taken"]:
            raise ToolError("slot_taken", f"{slot['start']} is no longer free.")
        return slot

    def _waiting(self, prescription: Record) -> Record:
        """Return where the renewal of a prescription was sent today, if it was."""
        renewal_id = self.new_id("rnw", prescription["prescription_id"], self.today)
        sent_to = (self.state.get("renewals", renewal_id) or {}).get("pharmacy_id")
        return {"pharmacy": self.require("pharmacies", sent_to, "pharmacy")["name"]} if sent_to else {}

    def _require_patient(self, patient: str) -> None:
        if self.state.get("patients", patient) is None:
            raise ToolError("patient_not_found", f"{patient} is no patient of the practice.")

    def _refuse_clash(self, patient: str, start: str, appointment_id: str) -> None:
        others = self.rows("appointments", patient=patient, start=start)
        if any(row["appointment_id"] != appointment_id for row in others):
            raise ToolError("patient_busy", f"{patient} has another appointment at that time.")

    def _with_doctor(self, appointment: Record) -> Record:
        """Return an appointment with what is known of its doctor, and its day."""
        doctor = self.require("doctors", appointment["doctor_id"], "doctor")
        return {**doctor, **appointment, "doctor": doctor["name"], "date": appointment["start"][:10]}
