"""Making practices: doctors of seven specialties with open times, a family's appointments and prescriptions."""

from __future__ import annotations

from random import Random
from typing import Any, Literal, get_args

from planarena.environments.contract import BOUND, Environment, Proposer, Seed, all_bound
from planarena.environments.domains import shared as common
from planarena.environments.domains.shared import Rows, Table, day_after, first_working_day, keyed

__all__ = ["PROPOSALS", "CancelReason", "Kind", "Referred", "make_practice"]

Referred = Literal["dermatology", "cardiology", "physiotherapy"]
Kind = Literal["general_practice", "pediatrics", "dentistry", "eye_care", Referred]
CancelReason = Literal["illness", "work", "travel", "recovered"]
SPECIALTIES: tuple[str, ...] = get_args(Kind)
_new_id = Environment.new_id


def make_practice(texts: Any, rng: Random, shared: common.Shared | None = None) -> Seed:
    """Make a practice and a family, a pure function of `rng` and `shared`; the user looks after three relatives."""
    people = common.load_people()
    now = common.draw_moment(rng, ("07:30", "08:00", "12:10"), shared)
    given, family = rng.sample(people["given"], 21), rng.sample(people["family"], 16)
    user = common.cast_people([f"{given[0]} {family[0]}"], shared)[0]
    # Relatives bear the user's family name, the third perhaps another one.
    name = user.rsplit(" ", 1)[-1]
    relatives = [first for first in given if not user.startswith(f"{first} ")]
    patients = [f"{relatives[0]} {name}", f"{relatives[1]} {name}"]
    patients.append(f"{relatives[2]} {rng.choice((name, family[15]))}")
    staff = [f"{first} {last}" for first, last in zip(given[4:18], family[1:15], strict=True)]
    doctors, slots = _doctors(rng, staff, now)
    appointments = keyed("appointment_id", _appointments(rng, texts, patients, doctors, slots))
    districts = rng.sample(texts["districts"], 3)
    situation = rng.choice(common.in_season(texts["situations"], now))
    details = {"user": user, "first": patients[0], "second": patients[1], "district": districts[0]}
    tables: dict[str, Table] = {
        "patients": {patient: {"patient": patient} for patient in (user, *patients)},
        "doctors": doctors, "slots": slots, "appointments": appointments,
        "prescriptions": keyed("prescription_id", _prescriptions(rng, texts, patients, doctors, now)),
        "pharmacies": keyed("pharmacy_id", _pharmacies(rng, texts, districts)),
        "referrals": {}, "renewals": {}, "cancellations": {},
    }  # fmt: skip
    writing = [row["name"] for row in doctors.values() if row["specialty"] in situation["specialties"]]
    addresses = {one: common.mail_of(one, texts["mail_domain"], shared) for one in writing}
    story = {
        "patients": patients, "districts": districts[:2], "reasons": rng.sample(texts["reasons"], 2),
        "specialties": list(dict.fromkeys([*situation["specialties"], *SPECIALTIES]))[:3],
        **common.meet(shared, (), addresses, writing),
    }  # fmt: skip
    facts = {"now": now, "user_name": user, "home_district": districts[0]}
    return Seed(tables, *common.caption(situation, details), facts, story)


def _doctors(rng: Random, staff: list[str], now: str) -> tuple[Table, Table]:
    """Two doctors a specialty, each with four or five open times on different working days."""
    ratings = rng.sample(range(31, 50), len(staff))
    doctors, slots = Table(), Table()
    days = [day for ahead in range(1, 19) if (day := day_after(now, ahead)) == first_working_day(day)]
    for place, name in enumerate(staff):
        doctor_id = _new_id("doc", name)
        doctors[doctor_id] = {
            "doctor_id": doctor_id, "name": name, "specialty": SPECIALTIES[place // 2],
            "rating": ratings[place] / 10, "fee": float(rng.randrange(30, 90, 5)),
            "room": f"{rng.randint(1, 4)}{rng.randint(1, 19):02d}",
        }  # fmt: skip
        for day in sorted(rng.sample(days, rng.randint(4, 5))):
            start = f"{day}T{rng.randint(8, 17):02d}:{rng.choice(('00', '20', '40'))}"
            slot_id = _new_id("slt", doctor_id, start)
            slots[slot_id] = {"slot_id": slot_id, "doctor_id": doctor_id, "start": start, "taken": False}
    # Of two doctors the busier one is the better: who is free first and who is best rated are two people.
    first = {slot["doctor_id"]: slot["start"] for slot in reversed(slots.values())}
    for specialty in SPECIALTIES:
        pair = [row for row in doctors.values() if row["specialty"] == specialty]
        pair.sort(key=lambda row: (first[row["doctor_id"]], row["doctor_id"]))
        for row, rating in zip(pair, sorted(row["rating"] for row in pair), strict=True):
            row["rating"] = rating
    return doctors, slots


def _appointments(rng: Random, texts: Any, patients: list[str], doctors: Table, slots: Table) -> Rows:
    """Two appointments for each of the first two patients and one for the third, at times that are then taken."""
    treating = rng.sample(sorted(doctors), 5)
    for patient, doctor_id in zip((*patients[:2], *patients), treating, strict=True):
        own = sorted((row["start"], key) for key, row in slots.items() if row["doctor_id"] == doctor_id)
        start, slot_id = rng.choice(own[1:])
        slots[slot_id] = {**slots[slot_id], "taken": True}
        yield {
            "appointment_id": _new_id("apt", slot_id, patient), "slot_id": slot_id, "doctor_id": doctor_id,
            "patient": patient, "reason": rng.choice(texts["reasons"]), "start": start,
        }  # fmt: skip


def _prescriptions(rng: Random, texts: Any, patients: list[str], doctors: Table, now: str) -> Rows:
    """Two or three prescriptions a patient by one doctor; some cannot be renewed without seeing the doctor."""
    writing = [key for key, row in doctors.items() if row["specialty"] in SPECIALTIES[:2]]
    for patient, doctor_id in zip(patients, rng.sample(writing, 3), strict=True):
        for medicine in rng.sample(texts["medicines"], rng.randint(2, 3)):
            yield {
                "prescription_id": _new_id("rx", patient, medicine), "patient": patient, "medicine": medicine,
                "runs_out": day_after(now, rng.randint(2, 40)),
                "refills_left": rng.choice((0, 1, 2, 3, 2, 1)),
                "price": rng.randint(5, 24) + rng.choice((0.0, 0.5, 0.9)), "doctor_id": doctor_id,
            }  # fmt: skip


def _pharmacies(rng: Random, texts: Any, districts: list[str]) -> Rows:
    """Three pharmacies a district; the nearest closes first: it is never the one that is open longest."""
    names, streets = iter(rng.sample(texts["pharmacies"], 9)), iter(rng.sample(texts["streets"], 9))
    for district in districts:
        hours = sorted(rng.sample(("17:30", "18:00", "18:30", "19:00", "20:00", "22:00"), 3))
        for metres, closes in zip(sorted(rng.sample(range(80, 1900, 10), 3)), hours, strict=True):
            name = next(names)
            yield {
                "pharmacy_id": _new_id("pha", name), "name": name, "district": district,
                "address": f"{next(streets)} {rng.randint(1, 120)}", "metres": metres, "closes": closes,
                "hours": rng.choice((2, 4, 24, 26)),
            }  # fmt: skip


def _openings(env: Any, rng: Random) -> Rows:
    yield {}
    if common.beside(env.story, "calendar") or rng.random() < 0.3:
        yield {"from_date": BOUND}
    elif rng.random() < 0.5:
        yield {"from_date": day_after(env.now, rng.randint(3, 7))}


def _visits(env: Any, rng: Random) -> Rows:
    first, *others = env.story["patients"]
    for patient, reason in zip((first, rng.choice(others)), env.story["reasons"], strict=True):
        yield {"patient": patient, "reason": reason}


def _referrals(env: Any, rng: Random) -> Rows:
    known = env.seeds()["complaints"]
    wanted = [kind for kind in env.story["specialties"] if kind in known]
    specialty = wanted[0] if wanted else rng.choice(sorted(known))
    other = rng.choice([kind for kind in sorted(known) if kind != specialty])
    for patient, kind in zip(env.story["patients"], (specialty, other), strict=False):
        yield {"patient": patient, "specialty": kind, "complaint": rng.choice(known[kind])}


PROPOSALS: dict[str, Proposer] = {
    "find_clinic_doctors": lambda env, _rng: [{"specialty": kind} for kind in env.story["specialties"]],
    "list_open_appointments": _openings, "book_clinic_appointment": _visits, "request_referral": _referrals,
    "list_patient_appointments": lambda env, rng: [
        {"patient": patient} for patient in (*rng.sample(env.story["patients"], 2), BOUND)
    ],
    "cancel_clinic_appointment": lambda _env, rng: [{"reason": rng.choice(get_args(CancelReason))}],
    "list_prescriptions": lambda env, rng: [{"patient": one} for one in rng.sample(env.story["patients"], 2)],
    "find_pharmacies": lambda env, _rng: [{"district": district} for district in env.story["districts"]],
    **all_bound("get_appointment_details", "move_clinic_appointment"),
    **all_bound("renew_prescription", "send_renewal_to_pharmacy"),
}  # fmt: skip
