"""Making a letting agency: three buildings with flats, tenants and meters, repairs, firms and viewings."""

from __future__ import annotations

import calendar
from collections.abc import Iterator
from datetime import date
from random import Random
from typing import Any, Literal, get_args

from planarena.environments.contract import BOUND, Environment, Proposer, Seed
from planarena.environments.domains import shared as scenes
from planarena.environments.state import Record

__all__ = ["PROPOSALS", "Kind", "Skill", "end_of_month", "make_agency"]

Kind = Literal["electricity", "gas", "water"]
Skill = Literal["plumbing", "electrics", "heating", "locks", "decorating"]
TRADES: tuple[str, ...] = get_args(Skill)
Table = dict[str, Record]
_new_id = Environment.new_id
# Bedrooms and square metres of the five flats of a building; the last two are empty.
_SIZES = ((1, 41), (2, 63), (3, 84), (2, 58), (3, 79))


def end_of_month(day: str, months: int) -> str:
    """Return the last day of the month that comes some months after that of a date."""
    year, month = divmod(int(day[:4]) * 12 + int(day[5:7]) - 1 + months, 12)
    return date(year, month + 1, calendar.monthrange(year, month + 1)[1]).isoformat()


def make_agency(texts: Any, rng: Random, shared: scenes.Shared | None = None) -> Seed:
    """Make a letting agency, a pure function of `rng` and `shared`."""
    now = f"2026-{rng.randint(1, 12):02d}-{rng.randint(2, 20):02d}T{rng.choice(('08:40', '09:10', '13:30'))}"
    now = scenes.keep(shared, "now", now)
    user, *others = scenes.draw_people(rng, 19, shared, clients=True)
    buildings = rng.sample(texts["buildings"], 3)
    flats, meters = _flats(rng, buildings, now)
    tenants = _tenants(rng, others[:9], flats, now, shared)
    trade = rng.choice(TRADES)
    situation = rng.choice(scenes.in_season(texts["situations"], now))
    told = {"user": user, "building": buildings[0], "other": buildings[1], "tenant": others[0]}
    tables = {
        "flats": flats, "meters": meters, "tenants": tenants,
        "repairs": _repairs(rng, texts["faults"], buildings, flats, now),
        "firms": _firms(rng, texts["firms"], now),
        "slots": _slots(rng, others[12:], flats, now),
    }  # fmt: skip
    story = {
        "buildings": buildings,
        "applicants": others[9:12],
        "faults": [{"trade": trade, "fault": one} for one in rng.sample(texts["faults"][trade], 2)],
        **scenes.meet(shared, (), {row["name"]: row["email"] for row in tenants.values()}, others[:6]),
    }
    title, description = (situation[key].format(**told) for key in ("title", "description"))
    return Seed(tables, title, description, {"now": now, "user_name": user, "buildings": buildings}, story)


def _flats(rng: Random, buildings: list[str], now: str) -> tuple[Table, Table]:
    """Five flats a building, of which two are empty, each with two meters; no two have the same rent or size."""
    flats: Table = {}
    meters: Table = {}
    extra, off = iter(rng.sample(range(0, 90, 5), 15)), iter(rng.sample(range(-8, 9), 15))
    for building in buildings:
        numbers = rng.sample(range(1, 27), 5)
        for place, (number, (bedrooms, metres)) in enumerate(zip(numbers, _SIZES, strict=True)):
            flat_id = _new_id("flt", building, number)
            rent = 9.0 * metres + 5 * (metres // 10) + next(extra)
            flats[flat_id] = {
                "flat_id": flat_id, "flat": f"{number} {building}", "building": building,
                "bedrooms": bedrooms, "square_metres": metres + next(off), "rent": rent, "let": place < 3,
                "key_number": f"{rng.choice('ABCDEFH')}{rng.randint(11, 98)}",
                "free_from": scenes.day_after(now, rng.randint(5, 45)),
            }  # fmt: skip
            second = rng.choice((("gas", 900, 9000), ("water", 90, 900)))
            for kind, least, most in (("electricity", 3000, 3900), second):
                meter_id = _new_id("mtr", flat_id, kind)
                read_on = scenes.day_after(now, -rng.randint(60, 300))
                meters[meter_id] = {
                    "meter_id": meter_id, "flat_id": flat_id, "kind": kind,
                    "reading": rng.randint(least, most), "read_on": read_on,
                }  # fmt: skip
    return flats, meters


def _tenants(rng: Random, names: list[str], flats: Table, now: str, shared: scenes.Shared | None) -> Table:
    """Let three flats of each building; of its three tenants two or all owe rent, each another sum."""
    let = [row for row in flats.values() if row["let"]]
    sums = iter(rng.sample(range(380, 2400, 20), len(let)))
    found: Table = {}
    # People whom other domains know come first and are dealt out to all buildings.
    for place, (name, flat) in enumerate(zip(names, [*let[::3], *let[1::3], *let[2::3]], strict=True)):
        arrears = 0.0 if place > 5 and rng.random() < 0.5 else float(next(sums))
        tenant_id = _new_id("ten", name)
        found[tenant_id] = {
            "tenant_id": tenant_id, "name": name, "email": scenes.mail_of(name, "example.com", shared),
            "flat_id": flat["flat_id"], "building": flat["building"],
            "arrears": arrears, "lease_ends": end_of_month(now, rng.randint(2, 26)),
        }  # fmt: skip
    return found


def _repairs(rng: Random, faults: Any, buildings: list[str], flats: Table, now: str) -> Table:
    """Two to four repairs a building, reported on different days; those of one building are of different trades."""
    found: Table = {}
    for building in buildings:
        let = [row for row in flats.values() if row["building"] == building and row["let"]]
        trades = rng.sample(TRADES, rng.choice((2, 3, 4, 4)))
        for age, trade in zip(rng.sample(range(2, 40), len(trades)), trades, strict=True):
            flat, fault = rng.choice(let), rng.choice(faults[trade])
            repair_id = _new_id("rep", flat["flat_id"], fault)
            found[repair_id] = {
                "repair_id": repair_id, "flat_id": flat["flat_id"], "flat": flat["flat"],
                "building": building, "fault": fault, "trade": trade, "reported": scenes.day_after(now, -age),
            }  # fmt: skip
    return found


def _firms(rng: Random, firms: Any, now: str) -> Table:
    """Three firms a trade; whoever comes soonest is never the cheapest."""
    found: Table = {}
    for trade in TRADES:
        days = sorted(rng.sample(range(1, 13), 3))
        low, middle, high = sorted(rng.sample(range(35, 125, 5), 3))
        fees = rng.choice(((middle, high, low), (high, low, middle)))
        for name, ahead, fee in zip(rng.sample(firms[trade], 3), days, fees, strict=True):
            firm_id = _new_id("trd", name)
            day = scenes.first_working_day(scenes.day_after(now, ahead))
            can_come = f"{day}T{rng.randint(8, 16):02d}:{rng.choice(('00', '30'))}"
            found[firm_id] = {
                "firm_id": firm_id, "firm": name, "trade": trade, "callout": float(fee), "can_come": can_come,
            }  # fmt: skip
    return found


def _slots(rng: Random, visitors: list[str], flats: Table, now: str) -> Table:
    """Three times for each empty flat, one of them taken; no two are at the same hour."""
    found: Table = {}
    hours = iter(rng.sample([(day, hour) for day in range(1, 9) for hour in range(9, 19)], 18))
    for flat_id in [key for key, row in flats.items() if not row["let"]]:
        for place in range(3):
            day, hour = next(hours)
            start = f"{scenes.day_after(now, day)}T{hour:02d}:{rng.choice(('00', '15', '30', '45'))}"
            slot_id = _new_id("vws", flat_id, start)
            found[slot_id] = {"slot_id": slot_id, "flat_id": flat_id, "start": start}
            if not place:
                found[slot_id]["applicant"] = rng.choice(visitors)
    return found


def _tenants_named(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    owing = sorted(row["name"] for row in env.state.scan("tenants") if row["arrears"] > 0)
    yield from ({"name": name} for name in rng.sample(owing, 2))
    if not scenes.beside(env.story, "calendar"):  # no colleague rents a flat
        yield {"name": BOUND}


def _vacancies(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    yield {"bedrooms": rng.choice((1, 2, 3))}
    rents = sorted(row["rent"] for row in env.rows("flats", let=False))
    yield {"bedrooms": 2, "most_rent": float(50 * (rents[rng.choice((2, 3))] // 50 + 1))}


def _viewings(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    first, second = rng.sample(env.story["applicants"], 2)
    yield {"applicant": first}
    yield {"applicant": BOUND if scenes.beside(env.story, "email") else second}


def _buildings(env: Any, rng: Random) -> list[dict[str, Any]]:
    return [{"building": building} for building in rng.sample(env.story["buildings"], 2)]


def _sheets(env: Any, rng: Random) -> list[dict[str, Any]]:
    let = sorted(row["flat"] for row in env.rows("flats", let=True))
    return [{"flat": flat} for flat in [*rng.sample(let, 2), BOUND]]


PROPOSALS: dict[str, Proposer] = {
    "find_tenant": _tenants_named,
    "list_rent_arrears": _buildings,
    "send_rent_reminder": lambda env, rng: [
        {"pay_by": scenes.first_working_day(scenes.day_after(env.now, rng.randint(7, 21)))}
    ],
    "agree_instalments": lambda _env, rng: [{"months": rng.choice((2, 3, 4, 5, 6))}],
    "list_vacant_flats": _vacancies,
    "open_flat_sheet": _sheets,
    # No reading but that of an electricity meter is plausible between these.
    "enter_meter_reading": lambda _env, rng: [{"reading": rng.randint(4050, 4600)}],
    "report_repair": lambda env, _rng: [dict(fault) for fault in env.story["faults"]],
    "list_open_repairs": _buildings,
    "find_tradespeople": lambda _env, rng: [{"trade": rng.choice(TRADES)}, {"trade": BOUND}],
    "commission_repair": lambda _env, _rng: [{}],
    "list_viewing_times": lambda _env, _rng: [{}],
    "arrange_viewing": _viewings,
}
