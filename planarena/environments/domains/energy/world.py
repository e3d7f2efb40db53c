"""Making energy customers: three sites with meters, a year of consumption, tariffs, invoices, batteries, forecasts."""

from __future__ import annotations

from datetime import date, timedelta
from random import Random
from typing import Any, Literal, get_args

from planarena.environments.contract import BOUND, Environment, Proposer, Seed, all_bound
from planarena.environments.domains import shared as common
from planarena.environments.domains.shared import Rows, Table, day_after, keyed

__all__ = ["PROPOSALS", "Action", "Objection", "first_of_next_month", "later", "make_customer"]

Action = Literal["charge", "sell power"]
Objection = Literal["estimated_reading", "wrong_tariff", "paid_twice", "moved_out"]
# Kind -> least and most kilowatt hours of a month, least and most cents each.
KINDS = {"electricity": (140, 420, 24, 39), "gas": (250, 1500, 8, 14), "heat": (220, 1300, 9, 16)}
_new_id = Environment.new_id


def first_of_next_month(now: str) -> str:
    """Return the date on which the next month begins."""
    return (date.fromisoformat(now[:10]).replace(day=1) + timedelta(days=32)).replace(day=1).isoformat()


def later(time: str, hours: int) -> str:
    """Return the time of day some hours later."""
    return f"{(int(time[:2]) + hours) % 24:02d}{time[2:]}"


def make_customer(texts: Any, rng: Random, shared: common.Shared | None = None) -> Seed:
    """Make the owner of three sites, a pure function of `rng` and `shared`."""
    now = common.draw_moment(rng, ("07:15", "08:00", "09:30"), shared)
    user = common.draw_people(rng, 1, shared)[0]
    sites = rng.sample(texts["sites"], 3)
    suppliers = rng.sample(texts["suppliers"], 5)
    tariffs = keyed("tariff_id", _tariffs(rng, texts, suppliers))
    meters, months, invoices = _meters(rng, sites, tariffs, now)
    batteries = [
        {
            "battery_id": _new_id("bat", site), "site": site, "charge": rng.randrange(10, 75, 5),
            "capacity_kwh": rng.randrange(8, 22, 2), "maker": rng.choice(texts["makers"]),
        } for site in sites[:2]
    ]  # fmt: skip
    kinds = {row["site"]: row["kind"] for row in meters.values() if row["kind"] != "electricity"}
    details = {"user": user, "first": sites[0], "second": sites[1], "kind": kinds[sites[0]]}
    situation = rng.choice(common.in_season(texts["situations"], now))
    tables: dict[str, Table] = {
        "meters": meters, "months": months, "tariffs": tariffs, "invoices": invoices,
        "batteries": keyed("battery_id", batteries), "forecasts": keyed("date", _forecasts(rng, now)),
        "plans": {},
    }  # fmt: skip
    # One plan each, at an hour at which nobody else would plan anything.
    day, start = day_after(now, 5), "07:00"
    for battery_id in tables["batteries"]:
        plan = {"battery_id": battery_id, "date": day, "start": start, "action": rng.choice(get_args(Action))}
        tables["plans"][_new_id("pln", battery_id, day, start)] = plan
    facts = {"now": now, "user_name": user, "sites": sites}
    story = {"sites": sites, "kinds": kinds, **common.meet(shared)}
    return Seed(tables, *common.caption(situation, details), facts, story)


def _tariffs(rng: Random, texts: Any, suppliers: list[str]) -> Rows:
    """Five tariffs a kind: the greener a tariff, the dearer; the last two are old ones, no longer offered."""
    for kind, (_, _, low, high) in KINDS.items():
        names = rng.sample(texts["tariffs"], 5)
        cents = sorted(rng.sample(range(10 * low, 10 * high), 5))
        greens = sorted(rng.sample(range(10, 101, 5), 3))
        for place, (name, supplier) in enumerate(zip(names, rng.sample(suppliers, 5), strict=True)):
            yield {
                "tariff_id": _new_id("trf", kind, name), "kind": kind, "name": name, "supplier": supplier,
                "cents": cents[place] / 10, "base": float(rng.randint(5, 9)),
                "green": greens[place] if place < 3 else 5, "offered": place < 3,
            }  # fmt: skip


def _meters(rng: Random, sites: list[str], tariffs: Table, now: str) -> tuple[Table, Table, Table]:
    """Two meters a site on old tariffs, twelve months of each, and two invoices a meter."""
    meters, months, invoices = Table(), Table(), Table()
    begin = date.fromisoformat(now[:10]).replace(day=1)
    for site in sites:
        for kind in ("electricity", rng.choice(("gas", "heat"))):
            low, high, *_ = KINDS[kind]
            meter_id = _new_id("mtr", site, kind)
            old = [row for row in tariffs.values() if row["kind"] == kind and not row["offered"]]
            tariff = rng.choice(old)
            meters[meter_id] = {
                "meter_id": meter_id, "number": f"{kind[0].upper()}{rng.randint(10000, 99999)}", "site": site,
                "kind": kind, "tariff_id": tariff["tariff_id"], "tariff_since": f"{begin.year - 2}-01-01",
                # All meters show about as much, so that a reading that the user names fits whichever is meant.
                "last_reading": rng.randint(18000, 18900), "read_on": day_after(now, -rng.randint(20, 90)),
                "instalment": float(rng.randrange(45, 160, 5)),
            }  # fmt: skip
            share, day = rng.uniform(0.7, 1.2), begin
            for _ in range(12):
                day = (day - timedelta(days=1)).replace(day=1)
                # Cold months need more, above all for gas and heat.
                cold = abs(day.month - 7) / 6
                kwh = int(share * (low + (high - low) * (0.15 + 0.75 * cold) * rng.uniform(0.85, 1.0)))
                month = {"meter_id": meter_id, "month": day.isoformat(), "kwh": kwh}
                months[_new_id("mon", meter_id, month["month"])] = month
            for age in rng.sample(range(3, 30), 1) + rng.sample(range(33, 60), 1):
                issued = day_after(now, -age)
                invoice_id = _new_id("inv", meter_id, issued)
                invoices[invoice_id] = {
                    "invoice_id": invoice_id,
                    "number": f"{issued[2:4]}{issued[5:7]}-{int(invoice_id[4:], 16) % 10000:04d}",
                    "meter_id": meter_id, "site": site, "kind": kind,
                    "amount": round(tariff["base"] + rng.randint(low, high) * tariff["cents"] / 100, 2),
                    "issued": issued, "due": day_after(issued, 30),
                    "status": "open" if age < 30 else rng.choice(("paid", "paid", "open")),
                }  # fmt: skip
    return meters, months, invoices


def _forecasts(rng: Random, now: str) -> Rows:
    """Sun at noon, cheap power at night, dear power in the evening, for six days."""
    for ahead in range(1, 7):
        yield {
            "date": day_after(now, ahead), "solar_kwh": rng.randint(4, 38),
            "sunniest_at": f"{rng.randint(11, 14)}:{rng.choice(('00', '30'))}",
            "cheapest_at": f"{rng.randint(1, 4):02d}:{rng.choice(('00', '30'))}",
            "dearest_at": f"{rng.randint(17, 20)}:{rng.choice(('00', '30'))}",
            "dearest_cents": rng.randint(31, 55),
        }  # fmt: skip


def _meters_meant(env: Any, _rng: Random) -> Rows:
    first, second, _ = env.story["sites"]
    yield {"site": first, "kind": "electricity"}
    # The kind of energy that the scenario is about beside electricity.
    yield {"site": first, "kind": env.story["kinds"][first]}
    yield {"site": second, "kind": "electricity"}


def _yearly_uses(_env: Any, rng: Random) -> Rows:
    yield {"yearly_kwh": BOUND}
    if rng.random() < 0.4:
        yield {"yearly_kwh": rng.randrange(3000, 8000, 250)}


def _switches(env: Any, rng: Random) -> Rows:
    if rng.random() < 0.5:
        yield {}
        return
    day = date.fromisoformat(first_of_next_month(env.now)) + timedelta(days=rng.choice((14, 32)))
    yield {"from_date": (day.replace(day=1) if rng.random() < 0.5 else day).isoformat()}


def _charges(env: Any, rng: Random) -> Rows:
    yield {"date": BOUND, "start": BOUND}
    start = f"{rng.randint(10, 15)}:{rng.choice(('00', '15', '45'))}"
    yield {"date": day_after(env.now, rng.randint(1, 3)), "start": start}


PROPOSALS: dict[str, Proposer] = {
    "find_energy_meter": _meters_meant, "compare_energy_tariffs": _yearly_uses,
    "switch_energy_tariff": _switches, "schedule_battery_charging": _charges,
    # One only: a meter is not read twice on a day.
    "submit_meter_reading": lambda _env, rng: [{"reading": rng.randint(19000, 19800)}],
    # One only: what is set twice was set once for nothing.
    "set_monthly_instalment": lambda _env, rng: [
        {"amount": rng.choice((BOUND, BOUND, float(rng.randrange(62, 180, 6))))}
    ],
    "list_energy_invoices": lambda env, _rng: [{"site": site} for site in env.story["sites"][:2]],
    "dispute_energy_invoice": lambda _env, rng: [{"reason": rng.choice(get_args(Objection))}],
    "get_power_forecast": lambda env, rng: [
        {"date": day_after(env.now, ahead)} for ahead in rng.sample((1, 2, 3, 4), 2)
    ],
    "find_home_battery": lambda env, _rng: [{"site": site} for site in env.story["sites"][:2]],
    "sell_battery_power": lambda _env, _rng: [{"date": BOUND, "start": BOUND}],
    **all_bound("get_yearly_consumption", "list_battery_plans"),
}  # fmt: skip
