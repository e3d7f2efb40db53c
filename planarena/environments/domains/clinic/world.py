"""Making practices: doctors of seven specialties with open times, a family's appointments and prescriptions."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from random import Random
from typing import Any, Literal, get_args

from planarena.environments.contract import BOUND, Environment, Proposer, Seed
from planarena.environments.domains.shared import (
    Shared,
    beside,
    cast_people,
    day_after,
    in_season,
    keep,
    load_people,
    mail_of,
    meet,
)
from planarena.environments.state import Record

__all__ = ["PROPOSALS", "Kind", "make_practice"]

Kind = Literal[
    "general_practice", "pediatrics", "dentistry", "eye_care", "dermatology", "cardiology", "physiotherapy",
]  # fmt: skip
SPECIALTIES: tuple[str, ...] = get_args(Kind)
Table = dict[str, Record]
_new_id = Environment.new_id


def make_practice(texts: Any, rng: Random, shared: Shared | None = None) -> Seed:
    """Make a practice and a family, a pure function of `rng` and `shared`; the user looks after three relatives."""
    people = load_people()
    now = f"2026-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}T{rng.choice(('07:30', '08:00', '12:10'))}"
    now = keep(shared, "now", now)
    given, family = rng.sample(people["given"], 21), rng.sample(people["family"], 16)
    user = cast_people([f"{given[0]} {family[0]}"], shared)[0]
    # Relatives bear the user's family name, the third perhaps another one.
    name = user.rsplit(" ", 1)[-1]
    relatives = [first for first in given if not user.startswith(f"{first} ")]
    patients = [f"{relatives[0]} {name}", f"{relatives[1]} {name}"]
    patients.append(f"{relatives[2]} {rng.choice((name, family[15]))}")
    staff = [f"{first} {last}" for first, last in zip(given[4:18], family[1:15], strict=True)]
    doctors, slots = _doctors(rng, staff, now)
    appointments = _appointments(rng, texts, patients, doctors, slots)
    districts = rng.sample(texts["districts"], 3)
    situation = rng.choice(in_season(texts["situations"], now))
    details = {"user": user, "first": patients[0], "second": patients[1], "district": districts[0]}
    wanted = list(dict.fromkeys([*situation["specialties"], *SPECIALTIES]))
    tables: dict[str, Table] = {
        "patients": {patient: {"patient": patient} for patient in (user, *patients)},
        "doctors": doctors,
        "slots": slots,
        "appointments": appointments,
        "prescriptions": _prescriptions(rng, texts, patients, doctors, now),
        "pharmacies": _pharmacies(rng, texts, districts),
        "referrals": {},
        "renewals": {},
        "cancellations": {},
    }
    writing = [row["name"] for row in doctors.values() if row["specialty"] in situation["specialties"]]
    addresses = {one: mail_of(one, texts["mail_domain"], shared) for one in writing}
    return Seed(
        tables,
        situation["title"].format(**details),
        situation["description"].format(**details),
        {"now": now, "user_name": user, "home_district": districts[0]},
        {
            "patients": patients,
            "specialties": wanted[:3],
            "districts": districts[:2],
            "reasons": rng.sample(texts["reasons"], 2),
            **meet(shared, (), addresses, writing),
        },
    )


def _doctors(rng: Random, staff: list[str], now: str) -> tuple[Table, Table]:
    """Two doctors a specialty, each with four or five open times on different working days."""
    ratings = rng.sample(range(31, 50), len(staff))
    doctors: Table = {}
    slots: Table = {}
    first: dict[str, str] = {}
    ahead = (day_after(now, days) for days in range(1, 19))
    days = [day for day in ahead if date.fromisoformat(day).weekday() < 5]
    for place, name in enumerate(staff):
        doctor_id = _new_id("doc", name)
        doctors[doctor_id] = {
            "doctor_id": doctor_id,
            "name": name,
            "specialty": SPECIALTIES[place // 2],
            "rating": ratings[place] / 10,
            "fee": float(rng.randrange(30, 90, 5)),
            "room": f"{rng.randint(1, 4)}{rng.randint(1, 19):02d}",
        }
        for day in sorted(rng.sample(days, rng.randint(4, 5))):
            start = f"{day}T{rng.randint(8, 17):02d}:{rng.choice(('00', '20', '40'))}"
            slot_id = _new_id("slt", doctor_id, start)
            slots[slot_id] = {"slot_id": slot_id, "doctor_id": doctor_id, "start": start, "taken": False}
            first.setdefault(doctor_id, start)
    # Of two doctors the busier one is the better: who is free first and who is best rated are two people.
    for specialty in SPECIALTIES:
        pair = [doctor_id for doctor_id, row in doctors.items() if row["specialty"] == specialty]
        pair.sort(key=lambda doctor_id: (first[doctor_id], doctor_id))
        for doctor_id, rating in zip(pair, sorted(doctors[one]["rating"] for one in pair), strict=True):
            doctors[doctor_id]["rating"] = rating
    return doctors, slots


def _appointments(
    rng: Random, texts: dict[str, Any], patients: list[str], doctors: Table, slots: Table
) -> Table:
    """Two appointments for each of the first two patients and one for the third, at times that are then taken."""
    found: Table = {}
    treating = rng.sample(sorted(doctors), 5)
    for patient, doctor_id in zip((*patients[:2], *patients), treating, strict=True):
        own = sorted((row["start"], key) for key, row in slots.items() if row["doctor_id"] == doctor_id)
        start, slot_id = rng.choice(own[1:])
        slots[slot_id] = {**slots[slot_id], "taken": True}
        appointment_id = _new_id("apt", slot_id, patient)
        found[appointment_id] = {
            "appointment_id": appointment_id,
            "slot_id": slot_id,
            "doctor_id": doctor_id,
            "patient": patient,
            "reason": rng.choice(texts["reasons"]),
            "start": start,
        }
    return found


def _prescriptions(
    rng: Random, texts: dict[str, Any], patients: list[str], doctors: Table, now: str
) -> Table:
    """Two or three prescriptions a patient by one doctor; some cannot be renewed without seeing the doctor."""
    found: Table = {}
    writing = [key for key, row in doctors.items() if row["specialty"] in SPECIALTIES[:2]]
    for patient, doctor_id in zip(patients, rng.sample(writing, 3), strict=True):
        for medicine in rng.sample(texts["medicines"], rng.randint(2, 3)):
            prescription_id = _new_id("rx", patient, medicine)
            found[prescription_id] = {
                "prescription_id": prescription_id,
                "patient": patient,
                "medicine": medicine,
                "runs_out": day_after(now, rng.randint(2, 40)),
                "refills_left": rng.choice((0, 1, 2, 3, 2, 1)),
                "price": rng.randint(5, 24) + rng.choice((0.0, 0.5, 0.9)),
                "doctor_id": doctor_id,
            }
    return found


def _pharmacies(rng: Random, texts: dict[str, Any], districts: list[str]) -> Table:
    """Three pharmacies a district, which close at different hours."""
    names, streets = iter(rng.sample(texts["pharmacies"], 9)), iter(rng.sample(texts["streets"], 9))
    found: Table = {}
    for district in districts:
        hours = rng.sample(("17:30", "18:00", "18:30", "19:00", "20:00", "22:00"), 3)
        # The nearest closes first: it is never the one that is open longest.
        for metres, closes in zip(sorted(rng.sample(range(80, 1900, 10), 3)), sorted(hours), strict=True):
            name = next(names)
            pharmacy_id = _new_id("pha", name)
            found[pharmacy_id] = {
                "pharmacy_id": pharmacy_id,
                "name": name,
                "district": district,
                "address": f"{next(streets)} {rng.randint(1, 120)}",
                "metres": metres,
                "closes": closes,
                "hours": rng.choice((2, 4, 24, 26)),
            }
    return found


def _openings(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    yield {}
    if beside(env.story, "calendar") or rng.random() < 0.3:
        yield {"from_date": BOUND}
    elif rng.random() < 0.5:
        yield {"from_date": day_after(env.now, rng.randint(3, 7))}


def _visits(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    first, second, third = env.story["patients"]
    for patient, reason in zip((first, rng.choice((second, third))), env.story["reasons"], strict=True):
        yield {"patient": patient, "reason": reason}


def _referrals(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    known = env.seeds()["complaints"]
    wanted = [kind for kind in env.story["specialties"] if kind in known]
    specialty = wanted[0] if wanted else rng.choice(sorted(known))
    other = rng.choice([kind for kind in sorted(known) if kind != specialty])
    first, second, _ = env.story["patients"]
    yield {"patient": first, "specialty": specialty, "complaint": rng.choice(known[specialty])}
    yield {"patient": second, "specialty": other, "complaint": rng.choice(known[other])}


PROPOSALS: dict[str, Proposer] = {
    "find_clinic_doctors": lambda env, _rng: [{"specialty": kind} for kind in env.story["specialties"]],
    "list_open_appointments": _openings,
    "list_patient_appointments": lambda env, rng: [
        {"patient": patient} for patient in (*rng.sample(env.story["patients"], 2), BOUND)
    ],
    "get_appointment_details": lambda _env, _rng: [{}],
    "book_clinic_appointment": _visits,
    "move_clinic_appointment": lambda _env, _rng: [{}],
    "cancel_clinic_appointment": lambda _env, rng: [
        {"reason": rng.choice(("illness", "work", "travel", "recovered"))}
    ],
    "request_referral": _referrals,
    "list_prescriptions": lambda env, rng: [
        {"patient": patient} for patient in rng.sample(env.story["patients"], 2)
    ],
    "renew_prescription": lambda _env, _rng: [{}],
    "find_pharmacies": lambda env, _rng: [{"district": district} for district in env.story["districts"]],
    "send_renewal_to_pharmacy": lambda _env, _rng: [{}],
}
