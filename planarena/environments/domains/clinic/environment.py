"""A group practice: doctors, open times, appointments of a family, referrals, prescriptions and pharmacies."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import cast

from planarena.environments.contract import ToolError, tool
from planarena.environments.domains.types import Date
from planarena.environments.state import Record

from .types import (
    Appointment,
    AppointmentId,
    AppointmentLine,
    Appointments,
    Booked,
    Cancelled,
    CancelReason,
    Complaint,
    District,
    DoctorId,
    DoctorLine,
    Doctors,
    Moved,
    Openings,
    Patient,
    Pharmacies,
    PharmacyId,
    PharmacyLine,
    PrescriptionId,
    PrescriptionLine,
    Prescriptions,
    Referral,
    ReferralSpecialty,
    RenewalId,
    Renewed,
    SentToPharmacy,
    SlotId,
    SlotLine,
    Specialty,
    VisitReason,
)
from .world import ClinicScenario, day_after

__all__ = ["Clinic"]

NEEDS_REFERRAL = ("dermatology", "cardiology", "physiotherapy")
LATE_FEE = 25.0
SUPPLY_DAYS = 60


class Clinic(ClinicScenario):
    """The patients' portal of a group practice, used by somebody who looks after a family."""

    domain = "clinic"
    summary = "A group practice with doctors, appointments, referrals, prescriptions and pharmacies nearby."

    @tool("read")
    def find_clinic_doctors(self, specialty: Specialty) -> Doctors:
        """List the doctors of a specialty who have open appointments, the earliest opening first.

        Args:
            specialty: The specialty.
        """
        lines = []
        for doctor in self.state.scan("doctors"):
            if doctor["specialty"] != specialty:
                continue
            free = self._open_slots(doctor["doctor_id"])
            if free:
                lines.append(_doctor_line(doctor, free[0]["start"]))
        if not lines:
            raise ToolError("nothing_free", "No doctor of this specialty has an open appointment.")
        lines.sort(key=lambda line: (line["next_free"], line["doctor_id"]))
        best = min(lines, key=lambda line: (-line["rating"], line["doctor_id"]))
        return {"count": len(lines), "doctors": lines, "best_rated": best}

    @tool("read")
    def list_open_appointments(self, doctor_id: DoctorId, from_date: Date | None = None) -> Openings:
        """List up to eight times at which a doctor can see a patient, the earliest first.

        Args:
            doctor_id: The doctor.
            from_date: Leave out what is before this date.
        """
        doctor = self.require("doctors", doctor_id, "doctor")
        found = [slot for slot in self._open_slots(doctor_id) if slot["start"] >= (from_date or "")]
        if not found:
            raise ToolError("nothing_free", f"{doctor['name']} has no open appointment from then on.")
        slots: list[SlotLine] = [{"slot_id": slot["slot_id"], "start": slot["start"]} for slot in found[:8]]
        return {"doctor": doctor["name"], "count": len(found), "slots": slots}

    @tool("read")
    def list_patient_appointments(self, patient: Patient) -> Appointments:
        """List the coming appointments of a patient, the next one first.

        Args:
            patient: Full name of the patient.
        """
        self._require_patient(patient)
        found = [row for row in self.state.scan("appointments") if row["patient"] == patient]
        found.sort(key=lambda row: (row["start"], row["appointment_id"]))
        lines: list[AppointmentLine] = [
            {
                "appointment_id": row["appointment_id"],
                "doctor_id": row["doctor_id"],
                "doctor": self._name_of(row["doctor_id"]),
                "start": row["start"],
            }
            for row in found[:10]
        ]
        return {"count": len(found), "appointments": lines}

    @tool("read")
    def get_appointment_details(self, appointment_id: AppointmentId) -> Appointment:
        """Show an appointment in full: doctor, time, room, reason and how to prepare for it.

        Args:
            appointment_id: The appointment.
        """
        row = self.require("appointments", appointment_id, "appointment")
        doctor = self.require("doctors", row["doctor_id"], "doctor")
        return {
            "appointment_id": appointment_id,
            "patient": row["patient"],
            "doctor_id": row["doctor_id"],
            "doctor": doctor["name"],
            "specialty": doctor["specialty"],
            "date": row["start"][:10],
            "start": row["start"],
            "room": doctor["room"],
            "reason": row["reason"],
            "preparation": self.seeds()["preparations"][doctor["specialty"]],
        }

    @tool("create")
    def book_clinic_appointment(self, slot_id: SlotId, patient: Patient, reason: VisitReason) -> Booked:
        """Book an open time for a patient; some specialties see only patients who have a referral.

        Args:
            slot_id: The open time of a doctor.
            patient: Full name of the patient.
            reason: What the visit is for.
        """
        self._require_patient(patient)
        slot = self._require_open(slot_id)
        doctor = self.require("doctors", slot["doctor_id"], "doctor")
        specialty = doctor["specialty"]
        if specialty in NEEDS_REFERRAL and not self.state.get("referrals", f"{patient}.{specialty}"):
            raise ToolError("referral_needed", f"{doctor['name']} sees patients with a referral only.")
        self._refuse_clash(patient, slot["start"], "")
        appointment_id = self.new_id("apt", slot_id, patient)
        self.state.put(
            "appointments",
            appointment_id,
            {
                "appointment_id": appointment_id,
                "slot_id": slot_id,
                "doctor_id": slot["doctor_id"],
                "patient": patient,
                "reason": reason,
                "start": slot["start"],
            },
        )
        self.state.patch("slots", slot_id, taken=True)
        return {
            "appointment_id": appointment_id,
            "patient": patient,
            "doctor": doctor["name"],
            "date": slot["start"][:10],
            "start": slot["start"],
            "fee": doctor["fee"],
        }

    @tool("update")
    def move_clinic_appointment(self, appointment_id: AppointmentId, slot_id: SlotId) -> Moved:
        """Move an appointment to another open time of the same doctor or of a doctor of the same specialty.

        Args:
            appointment_id: The appointment.
            slot_id: The open time that it moves to.
        """
        row = self.require("appointments", appointment_id, "appointment")
        slot = self._require_open(slot_id)
        old, new = (
            self.require("doctors", doctor_id, "doctor")
            for doctor_id in (row["doctor_id"], slot["doctor_id"])
        )
        if old["specialty"] != new["specialty"]:
            raise ToolError("other_specialty", f"{new['name']} does not treat what {old['name']} does.")
        self._refuse_clash(row["patient"], slot["start"], appointment_id)
        self.state.patch("slots", row["slot_id"], taken=False)
        self.state.patch("slots", slot_id, taken=True)
        self.state.patch(
            "appointments",
            appointment_id,
            slot_id=slot_id,
            doctor_id=slot["doctor_id"],
            start=slot["start"],
        )
        return {
            "appointment_id": appointment_id,
            "patient": row["patient"],
            "doctor": new["name"],
            "before": row["start"],
            "date": slot["start"][:10],
            "start": slot["start"],
        }

    @tool("delete")
    def cancel_clinic_appointment(self, appointment_id: AppointmentId, reason: CancelReason) -> Cancelled:
        """Cancel an appointment; within 24 hours of it that costs 25 euros, earlier nothing.

        Args:
            appointment_id: The appointment.
            reason: Why it is cancelled.
        """
        row = self.require("appointments", appointment_id, "appointment")
        late = datetime.fromisoformat(row["start"]) - datetime.fromisoformat(self.now) < timedelta(hours=24)
        self.state.delete("appointments", appointment_id)
        self.state.patch("slots", row["slot_id"], taken=False)
        cancellation = {"patient": row["patient"], "start": row["start"], "reason": reason}
        self.state.put("cancellations", appointment_id, cancellation)
        return {
            "patient": row["patient"],
            "doctor": self._name_of(row["doctor_id"]),
            "start": row["start"],
            "fee": LATE_FEE if late and reason != "illness" else 0.0,
        }

    @tool("create")
    def request_referral(
        self, patient: Patient, specialty: ReferralSpecialty, complaint: Complaint
    ) -> Referral:
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
        specialists = [row for row in self.state.scan("doctors") if row["specialty"] == specialty]
        doctor = min(specialists, key=lambda row: (-row["rating"], row["doctor_id"]))
        valid_until = day_after(self.now, 90)
        self.state.put("referrals", key, {"complaint": complaint, "valid_until": valid_until})
        return {
            "patient": patient,
            "specialty": specialty,
            "doctor_id": doctor["doctor_id"],
            "doctor": doctor["name"],
            "valid_until": valid_until,
        }

    @tool("read")
    def list_prescriptions(self, patient: Patient) -> Prescriptions:
        """List the prescriptions of a patient, the soonest to run out first, and the doctor who wrote them.

        Args:
            patient: Full name of the patient.
        """
        self._require_patient(patient)
        found = [row for row in self.state.scan("prescriptions") if row["patient"] == patient]
        found.sort(key=lambda row: (row["runs_out"], row["prescription_id"]))
        lines: list[PrescriptionLine] = [
            {
                "prescription_id": row["prescription_id"],
                "medicine": row["medicine"],
                "runs_out": row["runs_out"],
                "refills_left": row["refills_left"],
            }
            for row in found
        ]
        if not found:
            raise ToolError("nothing_found", f"{patient} has no prescription.")
        doctor_id = found[0]["doctor_id"]
        return {
            "doctor_id": doctor_id,
            "doctor": self._name_of(doctor_id),
            "count": len(found),
            "prescriptions": lines,
        }

    @tool("create")
    def renew_prescription(self, prescription_id: PrescriptionId) -> Renewed:
        """Renew a prescription for another 60 days; a pharmacy can then be sent the renewal.

        Args:
            prescription_id: The prescription; it must have refills left and not have been renewed today.
        """
        row = self.require("prescriptions", prescription_id, "prescription")
        renewal_id = self.new_id("rnw", prescription_id, self.now[:10])
        if self.state.get("renewals", renewal_id):
            raise ToolError("already_renewed", f"{row['medicine']} has been renewed today.")
        if row["refills_left"] == 0:
            raise ToolError("no_refills_left", f"{row['medicine']} must be prescribed anew by a doctor.")
        lasts_until = day_after(row["runs_out"], SUPPLY_DAYS)
        refills = row["refills_left"] - 1
        self.state.patch("prescriptions", prescription_id, runs_out=lasts_until, refills_left=refills)
        renewal = {"medicine": row["medicine"], "patient": row["patient"], "price": row["price"]}
        self.state.put("renewals", renewal_id, {**renewal, "pharmacy_id": ""})
        return {
            "renewal_id": renewal_id,
            "medicine": row["medicine"],
            "patient": row["patient"],
            "lasts_until": lasts_until,
            "refills_left": refills,
        }

    @tool("read")
    def find_pharmacies(self, district: District) -> Pharmacies:
        """List the pharmacies of a district, the nearest to its centre first.

        Args:
            district: The part of the city.
        """
        found = [row for row in self.state.scan("pharmacies") if row["district"] == district]
        if not found:
            raise ToolError("nothing_found", f"There is no pharmacy in {district}.")
        found.sort(key=lambda row: (row["metres"], row["pharmacy_id"]))
        keys = PharmacyLine.__annotations__
        lines = [cast(PharmacyLine, {key: row[key] for key in keys}) for row in found]
        longest = max(lines, key=lambda line: (line["closes"], line["pharmacy_id"]))
        return {"count": len(lines), "pharmacies": lines, "open_longest": longest}

    @tool("update")
    def send_renewal_to_pharmacy(self, renewal_id: RenewalId, pharmacy_id: PharmacyId) -> SentToPharmacy:
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
        ready = datetime.fromisoformat(self.now) + timedelta(hours=pharmacy["hours"])
        return {
            "medicine": renewal["medicine"],
            "patient": renewal["patient"],
            "pharmacy": pharmacy["name"],
            "ready_at": ready.isoformat(timespec="minutes"),
            "ready_on": ready.date().isoformat(),
            "price": renewal["price"],
        }

    def _open_slots(self, doctor_id: str) -> list[Record]:
        found = [
            slot
            for slot in self.state.scan("slots")
            if slot["doctor_id"] == doctor_id and not slot["taken"] and slot["start"] > self.now
        ]
        return sorted(found, key=lambda slot: (slot["start"], slot["slot_id"]))

    def _require_open(self, slot_id: str) -> Record:
        slot = self.require("slots", slot_id, "open time")
        if slot["taken"]:
            raise ToolError("slot_taken", f"{slot['start']} is no longer free.")
        return slot

    def _require_patient(self, patient: str) -> None:
        if self.state.get("patients", patient) is None:
            raise ToolError("patient_not_found", f"{patient} is no patient of the practice.")

    def _refuse_clash(self, patient: str, start: str, appointment_id: str) -> None:
        for row in self.state.scan("appointments"):
            if (
                row["patient"] == patient
                and row["start"] == start
                and row["appointment_id"] != appointment_id
            ):
                raise ToolError("patient_busy", f"{patient} has another appointment at that time.")

    def _name_of(self, doctor_id: str) -> str:
        return cast(str, self.require("doctors", doctor_id, "doctor")["name"])


def _doctor_line(doctor: Record, next_free: str) -> DoctorLine:
    return {
        "doctor_id": doctor["doctor_id"],
        "name": doctor["name"],
        "rating": doctor["rating"],
        "next_free": next_free,
    }
