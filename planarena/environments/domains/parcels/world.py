"""Making a dozen parcels: some on their way, some missed, some held at pick-up points, some delivered damaged."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random
from typing import Any

from planarena.environments.contract import BOUND, Environment, Proposer, Seed
from planarena.environments.domains import shared as family
from planarena.environments.domains.shared import day_after
from planarena.environments.state import Record

__all__ = ["DAYS", "PROPOSALS", "make_parcels", "new_claim"]

# Status -> the field with the day that counts.
DAYS = {
    "in_transit": "expected",
    "undelivered": "missed_on",
    "waiting_for_collection": "collect_by",
    "delivered": "delivered_on",
}
_DAMAGES = ("crushed", "wet", "torn_open", "incomplete")
# What bringing a parcel again costs, the earliest time first, which is never the cheapest.
_FEES = ((2.9, 1.9, 4.5), (4.5, 2.9, 1.9), (2.9, 4.5, 1.9), (4.5, 1.9, 2.9))
_STARTS = (("08:00", "12:00"), ("12:00", "16:00"), ("16:00", "19:00"), ("18:00", "20:00"), ("19:00", "21:00"))
_TIMES = ("07:15", "08:40", "11:00", "13:30")
Table = dict[str, Record]
_new_id = Environment.new_id


def make_parcels(texts: Any, rng: Random, shared: family.Shared | None = None) -> Seed:
    """Make parcels, a pure function of `rng` and `shared`; the people known already may collect them."""
    people = family.load_people()
    situation = rng.choice(texts["situations"])
    now = f"2026-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}T{rng.choice(_TIMES)}"
    now = family.keep(shared, "now", now)
    drawn = zip(rng.sample(people["given"], 5), rng.sample(people["family"], 5), strict=True)
    user, *friends = family.cast_people([f"{first} {last}" for first, last in drawn], shared)
    districts = rng.sample(texts["districts"], 3)
    points = _points(rng, texts, districts)
    parcels = _parcels(rng, texts, points, now)
    senders = {one: [row["sender"] for row in parcels.values() if row["status"] == one] for one in DAYS}
    tables: dict[str, Table] = {"parcels": parcels, "points": points, "slots": _slots(rng, parcels, now)}
    claims: Table = {}
    for key in [key for key, row in parcels.items() if row["status"] == "delivered"][:2]:
        amount, answer = float(rng.randrange(40, 180, 5)), day_after(now, rng.randint(3, 12))
        claim = new_claim(key, rng.choice(_DAMAGES), amount, answer)
        offered = amount * rng.choice((40, 60, 80)) // 100
        claims[claim["claim_id"]] = {**claim, "status": "open", "offered": offered}
    tables |= {"collectors": {}, "damage_claims": claims}
    details = {"user": user, "friend": friends[0], "district": districts[0]}
    details["sender"] = senders["undelivered"][0]
    addresses = {name: family.mail_of(name, texts["mail_domain"], shared) for name in friends}
    story = {"senders": senders, "districts": districts, "friends": friends[:3]}
    return Seed(
        tables,
        situation["title"].format(**details),
        situation["description"].format(**details),
        {"now": now, "user_name": user},
        {**story, **family.meet(shared, friends, addresses)},
    )


def new_claim(parcel_id: str, damage: str, amount: float, decision_by: str) -> Record:
    """Return a claim for a parcel, for which nothing has been offered yet."""
    claim_id = _new_id("clm", parcel_id)
    claim = {
        "claim_id": claim_id,
        "parcel_id": parcel_id,
        "damage": damage,
        "claimed": amount,
        "offered": 0.0,
    }
    number = f"DC-{int(claim_id[4:], 16) % 90_000 + 10_000}"
    return {**claim, "number": number, "status": "under_review", "decision_by": decision_by}


def _points(rng: Random, texts: Any, districts: list[str]) -> Table:
    """Three pick-up points a district, at different distances and with different hours."""
    points: Table = {}
    names, streets = iter(rng.sample(texts["points"], 9)), iter(rng.sample(texts["streets"], 9))
    hours = ("17:00", "18:00", "18:30", "19:00", "20:00", "21:00", "22:00", "23:00")
    for district in districts:
        metres = rng.sample(range(80, 1500, 20), 3)
        open_until = rng.sample(hours, 3)
        if metres.index(min(metres)) == open_until.index(max(open_until)):  # the nearest closes early
            open_until = open_until[1:] + open_until[:1]
        for distance, closes in zip(metres, open_until, strict=True):
            point_id = _new_id("pup", name := next(names))
            point = {"point_id": point_id, "point": name, "district": district, "metres": distance}
            address = f"{next(streets)} {rng.randint(1, 120)}"
            points[point_id] = {**point, "address": address, "closes": closes}
    return points


def _parcels(rng: Random, texts: Any, points: Table, now: str) -> Table:
    """Twelve or thirteen parcels; those of one status have different days."""
    counts = (3, rng.randint(3, 4), 3, 3)
    statuses = [status for status, count in zip(DAYS, counts, strict=True) for _ in range(count)]
    spans = (range(1, 7), range(-5, 0), range(1, 8), range(-12, -1))
    days = {status: iter(rng.sample(span, 4)) for status, span in zip(DAYS, spans, strict=True)}
    parcels: Table = {}
    depots = rng.sample(texts["depots"], 4)
    for status, (sender, contents) in zip(statuses, rng.sample(texts["goods"], len(statuses)), strict=True):
        parcel_id = _new_id("pcl", sender)
        number = int(parcel_id[4:], 16)
        point_id = rng.choice(sorted(points)) if status == "waiting_for_collection" else ""
        day = day_after(now, next(days[status]))
        parcel = {"parcel_id": parcel_id, "sender": sender, "contents": contents, "status": status}
        parcel |= {"tracking": f"PX {number % 9000 + 1000} {number // 9000 % 9000 + 1000}"}
        parcel |= {**dict.fromkeys(DAYS.values(), ""), DAYS[status]: day, "point_id": point_id}
        scans = _scans(rng, texts, depots, status, day if day <= now else day_after(now, -1))
        code = f"{number % 900_000 + 100_000}" if point_id else ""
        parcels[parcel_id] = {**parcel, "code": code, "events": scans}
    return parcels


def _scans(rng: Random, texts: Any, depots: list[str], status: str, day: str) -> list[Record]:
    """Return one to three scans, the last of them on a day."""
    moment = datetime.fromisoformat(f"{day}T{rng.randint(8, 17):02d}:{rng.randint(0, 59):02d}")
    found: list[Record] = []
    events = texts["scans"][status][-rng.randint(2, 3) :]
    for event, place in zip(events[::-1], rng.sample(depots, len(events)), strict=True):
        found.append({"event": event, "place": place, "at": moment.isoformat(timespec="minutes")})
        moment -= timedelta(hours=rng.randint(9, 30), minutes=rng.randint(0, 59))
    return found[::-1]


def _slots(rng: Random, parcels: Table, now: str) -> Table:
    """Three times for each missed parcel on different days, each with another fee."""
    slots: Table = {}
    for parcel_id in [key for key, row in parcels.items() if row["status"] == "undelivered"]:
        days, fees = sorted(rng.sample(range(1, 6), 3)), rng.choice(_FEES)
        for ahead, fee, (start, until) in zip(days, fees, rng.sample(_STARTS, 3), strict=True):
            slot_id = _new_id("rds", parcel_id, ahead, start)
            slot = {"slot_id": slot_id, "parcel_id": parcel_id, "until": until, "fee": fee}
            slots[slot_id] = {**slot, "start": f"{day_after(now, ahead)}T{start}"}
    return slots


def _senders(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    waiting = "waiting_for_collection"
    # Where others may fetch parcels, most of those that are asked about can be fetched.
    for status in (waiting, waiting, "undelivered") if "beside" in env.story else DAYS:
        yield {"sender": rng.choice(env.story["senders"][status][:3])}


def _collectors(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    first, second = rng.sample(env.story["friends"], 2)
    yield from ({"person": first}, {"person": BOUND if "beside" in env.story else second})


PROPOSALS: dict[str, Proposer] = {
    "find_parcel": _senders,
    "list_parcels_by_status": lambda _env, rng: [{"status": status} for status in rng.sample(list(DAYS), 3)],
    "find_pickup_points": lambda env, _rng: [{"district": name} for name in env.story["districts"][:2]],
    "extend_parcel_storage": lambda _env, rng: [{"days": days} for days in rng.sample([2, 3, 4, 5, 7], 2)],
    "register_parcel_collector": _collectors,
    "file_damage_claim": lambda _env, rng: [
        {"damage": rng.choice(_DAMAGES), "amount": float(rng.randrange(15, 140, 5))}
    ],
    "find_damage_claim": lambda env, _rng: [{"sender": one} for one in env.story["senders"]["delivered"][:2]],
    # All that these take are ids.
    **dict.fromkeys(
        ("get_parcel_history", "list_redelivery_slots", "book_redelivery", "redirect_parcel",
         "accept_damage_offer", "contest_damage_offer"),
        lambda _env, _rng: [{}],
    ),
}  # fmt: skip
