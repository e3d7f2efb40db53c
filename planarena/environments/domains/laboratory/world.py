"""Making laboratories: samples of some clients, slots on instruments, results and a cupboard of reagents."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from planarena.environments.contract import BOUND, Environment, Proposer, Seed
from planarena.environments.domains import shared as common
from planarena.environments.state import Record

__all__ = ["PROPOSALS", "make_laboratory", "numbered"]

Table = dict[str, Record]
_new_id = Environment.new_id


def numbered(prefix: str, key: str) -> str:
    """Return the number that people see: a prefix and five digits made from the id."""
    return f"{prefix}-{int(key.rsplit('_', 1)[1], 16) % 100_000:05d}"


def make_laboratory(texts: Any, rng: Random, shared: common.Shared | None = None) -> Seed:
    """Make a laboratory, a pure function of `rng` and `shared`; customers known already are its clients."""
    people = common.load_people()
    now = f"2026-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}T{rng.choice(('07:30', '09:15', '14:00'))}"
    now = common.keep(shared, "now", now)
    given, family = rng.sample(people["given"], 12), rng.sample(people["family"], 12)
    names = [f"{first} {last}" for first, last in zip(given, family, strict=True)]
    user = common.keep(shared, "user_name", names[0])
    known, met = ((shared or {}).get(kind, ()) for kind in ("clients", "people"))
    others = [name for name in names[1:] if name not in {user, *known, *met}]
    # Colleagues of the user run the instruments; customers of another domain are clients here too.
    clients, operators = [*known[:3], *others][:5], [*met[:3], *others[5:]][:3]
    situation = rng.choice(texts["situations"])
    kind, methods = situation["kind"], rng.sample(situation["methods"], 2)
    labels = rng.sample(texts["labels"][kind], 18)
    shelves = rng.sample(texts["shelves"], 5)
    tables: dict[str, Table] = {
        "samples": _samples(rng, labels[:14], clients, methods, shelves, now),
        "shelves": {name: {"shelf": name} for name in shelves},
        "slots": _slots(rng, texts, methods, operators, now), "runs": {}, "results": {},
        "reagents": _reagents(rng, texts, methods, now),
    }  # fmt: skip
    _runs(rng, tables, texts, now)
    _results(rng, tables, texts["parameters"][kind])
    waiting, booked, measured = (
        [row["label"] for row in tables["samples"].values() if row["state"] == state]
        for state in ("waiting", "booked", "measured")
    )
    reagents = sorted(tables["reagents"].values(), key=lambda row: str(row["expires"]))
    details = {"user": user, "client": clients[0], "operator": operators[0], "label": waiting[0]}
    mails = {name: common.mail_of(name, texts["mail_domain"], shared) for name in (*clients[:3], *operators)}
    story = {
        "labels": [booked[0], waiting[1], measured[0]], "new": labels[14:], "clients": clients,
        "methods": methods, "reagents": [row["reagent"] for row in rng.sample(reagents, 3)],
        "until": [reagents[place]["expires"] for place in (2, 3)],
        **common.meet(shared, operators, mails, clients[:3]),
    }  # fmt: skip
    title, description = (situation[part].format(**details) for part in ("title", "description"))
    facts = {"now": now, "user_name": user, "clients": clients[:3]}
    return Seed(tables, title, description, facts, story)


def _samples(
    rng: Random, labels: list[str], clients: list[str], methods: list[str], shelves: list[str], now: str
) -> Table:
    """Seven samples wait, two are booked, five are measured: three of the first client and two of the second."""
    samples: Table = {}
    dues = [common.working_day(now, days) for days in rng.sample(range(9, 30), len(labels))]
    for place, label in enumerate(labels):
        sample_id = _new_id("smp", label)
        state = "waiting" if place < 7 else "booked" if place < 9 else "measured"
        client = rng.choice(clients) if place < 9 else clients[0] if place < 12 else clients[1]
        samples[sample_id] = {
            "sample_id": sample_id, "label": label, "code": numbered("S", sample_id), "client": client,
            "method": methods[place % 2], "due": dues[place], "shelf": rng.choice(shelves), "state": state,
        }  # fmt: skip
    return samples


def _slots(rng: Random, texts: dict[str, Any], methods: list[str], operators: list[str], now: str) -> Table:
    """Five free slots for each kind of test on different days; the later one is, the cheaper."""
    slots: Table = {}
    for method in methods:
        instruments = rng.sample(texts["methods"][method]["instruments"], 3)
        days = sorted(rng.sample(range(1, 8), 5))
        costs = sorted(rng.sample(range(90, 420, 5), 5), reverse=True)
        for place, (ahead, cost) in enumerate(zip(days, costs, strict=True)):
            hour = rng.choice(("08:00", "09:30", "11:00", "13:00", "14:30", "16:00"))
            start, instrument = f"{common.working_day(now, ahead)}T{hour}", instruments[place % 3]
            slot_id = _new_id("slt", instrument, start)
            slots[slot_id] = {
                "slot_id": slot_id, "method": method, "instrument": instrument,
                "operator": rng.choice(operators), "start": start, "cost": float(cost),
            }  # fmt: skip
    return slots


def _runs(rng: Random, tables: dict[str, Table], texts: dict[str, Any], now: str) -> None:
    """The booked samples stand late on the list, so that they may be moved forward."""
    days = iter(rng.sample(range(8, 12), 2))
    for sample in tables["samples"].values():
        if sample["state"] == "booked":
            run_id = _new_id("run", sample["sample_id"])
            tables["runs"][run_id] = {
                "run_id": run_id, "number": numbered("R", run_id), "sample_id": sample["sample_id"],
                "label": sample["label"], "slot_id": "",
                "instrument": rng.choice(texts["methods"][sample["method"]]["instruments"]),
                "start": f"{common.working_day(now, next(days))}T{rng.choice(('08:00', '10:30', '15:00'))}",
            }  # fmt: skip


def _results(rng: Random, tables: dict[str, Table], known: dict[str, Any]) -> None:
    """Three or four results a measured sample; one of them is above the limit in some samples."""
    for sample in tables["samples"].values():
        if sample["state"] != "measured":
            continue
        parameters = rng.sample(known[sample["method"]], rng.randint(3, 4))
        shares = rng.sample(range(6, 96), len(parameters))
        if rng.random() < 0.5:
            shares[0] = rng.randint(104, 165)
        for (parameter, unit, limit), share in zip(parameters, shares, strict=True):
            result_id = _new_id("res", sample["sample_id"], parameter)
            tables["results"][result_id] = {
                "result_id": result_id, "sample_id": sample["sample_id"], "parameter": parameter,
                "unit": unit, "limit": float(limit), "share": share, "repeat": False,
            }  # fmt: skip


def _reagents(rng: Random, texts: dict[str, Any], methods: list[str], now: str) -> Table:
    """Eight reagents that expire on different days."""
    reagents: Table = {}
    days = rng.sample(range(6, 160), 8)
    suppliers = rng.sample(texts["suppliers"], 3)
    usual = [one for method in methods for one in texts["methods"][method]["reagents"]]
    names = rng.sample(usual, min(5, len(usual)))
    names += rng.sample([one for one in texts["reagents"] if one not in names], 8 - len(names))
    for name, ahead in zip(names, days, strict=True):
        reagent_id = _new_id("rea", name)
        reagents[reagent_id] = {
            "reagent_id": reagent_id, "reagent": name, "bottles": rng.randint(1, 9), "on_order": 0,
            "cupboard": rng.choice(texts["cupboards"]), "expires": common.day_after(now, ahead),
            "supplier": rng.choice(suppliers), "bottle_price": rng.randrange(1800, 14500, 50) / 100,
            "days": rng.randint(2, 8),
        }  # fmt: skip
    return reagents


def _registrations(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    first, second = rng.sample(env.story["new"], 2)
    due = common.working_day(env.now, rng.randint(10, 20))
    method = rng.choice(env.story["methods"])
    client = BOUND if common.beside(env.story, "email") else env.story["clients"][2]
    yield {"label": first, "client": rng.choice(env.story["clients"][:3]), "method": method, "due": due}
    yield {"label": second, "client": client, "method": env.story["methods"][0], "due": due}


def _measured(env: Any, _rng: Random) -> Iterator[dict[str, Any]]:
    yield from ({"client": client} for client in env.story["clients"][:2])
    yield {"client": BOUND}


PROPOSALS: dict[str, Proposer] = {
    "find_lab_sample": lambda env, _rng: [{"label": label} for label in env.story["labels"]],
    "list_waiting_samples": lambda env, _rng: [{"method": one} for one in env.story["methods"]],
    "list_measured_samples": _measured, "register_lab_sample": _registrations,
    "find_instrument_slots": lambda env, _rng: [{"method": one} for one in (*env.story["methods"], BOUND)],
    "book_instrument_run": lambda _env, _rng: [{}], "move_instrument_run": lambda _env, _rng: [{}],
    "list_sample_results": lambda _env, _rng: [{}], "repeat_measurement": lambda _env, _rng: [{}],
    "release_lab_report": lambda _env, _rng: [{}],
    "check_reagent": lambda env, _rng: [{"reagent": one} for one in (*env.story["reagents"], BOUND)],
    "list_expiring_reagents": lambda env, _rng: [{"until": day} for day in env.story["until"]],
    "order_reagent": lambda _env, rng: [{"bottles": rng.randint(2, 12)}],
}  # fmt: skip
