"""The values and results of the clinic's tools."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from planarena.environments.domains.types import (
    Address,
    Count,
    Date,
    Datetime,
    FreeTime,
    Money,
    Payable,
    Person,
    Rating,
    Time,
)
from planarena.tools.semantics import Semantic

__all__ = [
    "Appointment",
    "AppointmentId",
    "AppointmentLine",
    "Appointments",
    "Booked",
    "CancelReason",
    "Cancelled",
    "Complaint",
    "District",
    "DoctorId",
    "DoctorLine",
    "Doctors",
    "Moved",
    "Openings",
    "Patient",
    "Pharmacies",
    "PharmacyId",
    "PharmacyLine",
    "PrescriptionId",
    "PrescriptionLine",
    "Prescriptions",
    "Referral",
    "ReferralSpecialty",
    "RenewalId",
    "Renewed",
    "SentToPharmacy",
    "SlotId",
    "SlotLine",
    "Specialty",
    "VisitReason",
]

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
Specialty = Annotated[
    Literal[
        "general_practice",
        "pediatrics",
        "dentistry",
        "eye_care",
        "dermatology",
        "cardiology",
        "physiotherapy",
    ],
    Semantic("medical_specialty", surface="word"),
]
ReferralSpecialty = Annotated[
    Literal["dermatology", "cardiology", "physiotherapy"], Semantic("referral_specialty", surface="word")
]
CancelReason = Annotated[
    Literal["illness", "work", "travel", "recovered"], Semantic("cancellation_reason", surface="word")
]


class DoctorLine(TypedDict):
    """A doctor in a list."""

    doctor_id: DoctorId
    name: Person
    rating: Rating
    next_free: Datetime


class Doctors(TypedDict):
    """Doctors of a specialty who have time."""

    count: Count
    doctors: list[DoctorLine]
    best_rated: DoctorLine


class SlotLine(TypedDict):
    """A time at which a doctor can see somebody."""

    slot_id: SlotId
    start: Datetime


class Openings(TypedDict):
    """The open times of a doctor."""

    doctor: Person
    count: Count
    slots: list[SlotLine]


class AppointmentLine(TypedDict):
    """An appointment in a list."""

    appointment_id: AppointmentId
    doctor_id: DoctorId
    doctor: Person
    start: Datetime


class Appointments(TypedDict):
    """The coming appointments of a patient."""

    count: Count
    appointments: list[AppointmentLine]


class Appointment(TypedDict):
    """One appointment in full."""

    appointment_id: AppointmentId
    patient: Patient
    doctor_id: DoctorId
    doctor: Person
    specialty: Specialty
    date: Date
    start: FreeTime
    room: ConsultingRoom
    reason: VisitReason
    preparation: Preparation


class Booked(TypedDict):
    """A new appointment."""

    appointment_id: AppointmentId
    patient: Patient
    doctor: Person
    date: Date
    start: FreeTime
    fee: Money


class Moved(TypedDict):
    """An appointment at its new time."""

    appointment_id: AppointmentId
    patient: Patient
    doctor: Person
    before: Datetime
    date: Date
    start: FreeTime


class Cancelled(TypedDict):
    """An appointment that does not take place."""

    patient: Patient
    doctor: Person
    start: Datetime
    fee: Money


class Referral(TypedDict):
    """A referral to a specialist."""

    patient: Patient
    specialty: ReferralSpecialty
    doctor_id: DoctorId
    doctor: Person
    valid_until: Date


class PrescriptionLine(TypedDict):
    """A prescription in a list."""

    prescription_id: PrescriptionId
    medicine: Medicine
    runs_out: Date
    refills_left: Count


class Prescriptions(TypedDict):
    """The prescriptions of a patient and the doctor who wrote them."""

    doctor_id: DoctorId
    doctor: Person
    count: Count
    prescriptions: list[PrescriptionLine]


class Renewed(TypedDict):
    """A renewal that a pharmacy can hand out."""

    renewal_id: RenewalId
    medicine: Medicine
    patient: Patient
    lasts_until: Date
    refills_left: Count


class PharmacyLine(TypedDict):
    """A pharmacy in a list."""

    pharmacy_id: PharmacyId
    name: Pharmacy
    address: Address
    metres: Metres
    closes: Time


class Pharmacies(TypedDict):
    """The pharmacies of a district."""

    count: Count
    pharmacies: list[PharmacyLine]
    open_longest: PharmacyLine


class SentToPharmacy(TypedDict):
    """A renewal at a pharmacy."""

    medicine: Medicine
    patient: Patient
    pharmacy: Pharmacy
    ready_at: Datetime
    ready_on: Date
    price: Payable
