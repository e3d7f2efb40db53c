"""Making farms: four crops on sixteen fields, a week's weather, crews, stores, buyers and unpaid sales."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle
from random import Random
from typing import Any

from planarena.environments.contract import BOUND, Environment, Proposer, Seed
from planarena.environments.domains import shared as common
from planarena.environments.state import Record

__all__ = ["PROPOSALS", "make_farm", "sale_number"]

Table = dict[str, Record]
_new_id = Environment.new_id


def sale_number(key: str) -> str:
    """Return the number that stands on the invoice of a sale."""
    return f"F-{int(key.rsplit('_', 1)[1], 16) % 100_000:05d}"


def make_farm(texts: Any, rng: Random, shared: common.Shared | None = None) -> Seed:
    """Make a farm, a pure function of `rng` and `shared`; customers known already are its buyers' contacts."""
    people = common.load_people()
    now = f"2026-{rng.randint(6, 10):02d}-{rng.randint(1, 28):02d}T{rng.choice(('05:45', '12:30', '19:00'))}"
    now = common.keep(shared, "now", now)
    given, family = rng.sample(people["given"], 17), rng.sample(people["family"], 17)
    names = [f"{first} {last}" for first, last in zip(given, family, strict=True)]
    user = common.keep(shared, "user_name", names[0])
    known = (shared or {}).get("clients", ())
    others = [name for name in names[1:] if name not in {user, *known, *(shared or {}).get("people", ())}]
    contacts = [*known[:3], *others]
    crops = rng.sample(common.in_season(texts["crops"], now), 4)
    farm: dict[str, Any] = {"texts": texts, "crops": crops, "now": now}
    tables: dict[str, Table] = {
        "fields": _fields(rng, farm), "weather": _weather(rng, now), "waterings": {}, "crews": {}, "harvests": {},
        "stores": {
            crop["crop"]: {"crop": crop["crop"], "gear": crop["gear"], "stored": rng.randint(34, 160), "barn": barn}
            for crop, barn in zip(crops, rng.sample(texts["barns"], 4), strict=True)
        },
        "offers": _offers(rng, farm, contacts), "sales": {},
    }  # fmt: skip
    _add_crews(rng, tables, farm, contacts[9:12])
    _add_plans(rng, tables, now)
    _add_sales(rng, tables, farm)
    situation = rng.choice(texts["situations"])
    fields = [row["name"] for row in tables["fields"].values()]
    details = {"user": user, "crop": crops[0]["crop"], "second": crops[1]["crop"]}
    details |= {"field": fields[0], "contact": contacts[0]}
    title, description = (situation[part].format(**details) for part in ("title", "description"))
    mails = {name: common.mail_of(name, texts["mail_domain"], shared) for name in contacts[:12]}
    story = {
        "crops": [crop["crop"] for crop in crops], "fields": [fields[0], fields[4], fields[8]],
        **common.meet(shared, contacts[:12], mails, contacts[:3]),
    }  # fmt: skip
    return Seed(tables, title, description, {"now": now, "user_name": user}, story)


def _fields(rng: Random, farm: dict[str, Any]) -> Table:
    """Four fields of each crop; no two of a crop are equally dry or ripe at once."""
    fields: Table = {}
    names = iter(rng.sample(farm["texts"]["fields"], 16))
    for crop in farm["crops"]:
        for ahead, moisture in zip(rng.sample(range(9, 21), 4), rng.sample(range(14, 72), 4), strict=True):
            name = next(names)
            field_id = _new_id("fld", name)
            fields[field_id] = {
                "field_id": field_id, "name": name, "crop": crop["crop"], "hectares": rng.randint(3, 24) / 2,
                "moisture": moisture, "ripe_on": common.day_after(farm["now"], ahead),
            }  # fmt: skip
    return fields


def _weather(rng: Random, now: str) -> Table:
    """Seven days; one of the first three stays dry, and no two are equally wet."""
    rain = rng.sample([0, *rng.sample(range(1, 9), 2)], 3)
    rain += rng.sample([0, 0, *rng.sample(range(9, 27), 2)], 4)
    mild = rng.randint(15, 27)
    weather: Table = {}
    for place, millimetres in enumerate(rain):
        day, high = common.day_after(now, place + 1), mild + rng.randint(-4, 5)
        weather[day] = {"date": day, "rain": millimetres, "high": high, "low": high - rng.randint(6, 13)}
    return weather


def _offers(rng: Random, farm: dict[str, Any], contacts: list[str]) -> Table:
    """Four buyers a crop; the more one pays, the later the goods are collected."""
    offers: Table = {}
    names, people = iter(rng.sample(farm["texts"]["buyers"], 16)), cycle(contacts[:9])
    for crop in farm["crops"]:
        prices = sorted(rng.sample(range(*crop["price"]), 4))
        days = sorted(rng.sample(range(2, 25), 4))
        for price, ahead in zip(prices, days, strict=True):
            buyer = next(names)
            offer_id = _new_id("off", buyer, crop["crop"])
            offers[offer_id] = {
                "offer_id": offer_id, "crop": crop["crop"], "buyer": buyer, "contact": next(people),
                "price": float(price), "most": rng.randrange(30, 125, 5), "collects": common.day_after(farm["now"], ahead),
            }  # fmt: skip
    return offers


def _add_crews(rng: Random, tables: dict[str, Table], farm: dict[str, Any], bosses: list[str]) -> None:
    """Four crews for each kind of gear; the cheaper one is, the later it has time."""
    names = iter(rng.sample(farm["texts"]["crews"], 12))
    for gear in sorted({crop["gear"] for crop in farm["crops"]}):
        prices = sorted(rng.sample(range(60, 175, 5), 4))
        days = sorted(rng.sample(range(6, 26), 4), reverse=True)
        for price, ahead in zip(prices, days, strict=True):
            crew = next(names)
            crew_id = _new_id("crw", crew)
            tables["crews"][crew_id] = {
                "crew_id": crew_id, "crew": crew, "boss": rng.choice(bosses), "gear": gear, "price": float(price),
                "free_from": common.day_after(farm["now"], ahead),
            }  # fmt: skip


def _add_plans(rng: Random, tables: dict[str, Table], now: str) -> None:
    """A watering on two fields and a harvest on another."""
    fields = list(tables["fields"].values())
    for field in (fields[0], fields[8]):
        day = common.day_after(now, rng.randint(1, 3))
        key = _new_id("wat", field["field_id"], day)
        tables["waterings"][key] = {
            "watering_id": key, "field_id": field["field_id"], "date": day, "millimetres": rng.randrange(8, 26, 2),
        }  # fmt: skip
    gear = tables["stores"][fields[4]["crop"]]["gear"]
    crew = next(row for row in tables["crews"].values() if row["gear"] == gear)
    key, day = _new_id("hrv", fields[4]["field_id"]), max(fields[4]["ripe_on"], crew["free_from"])
    tables["harvests"][key] = {
        "harvest_id": key, "field_id": fields[4]["field_id"], "crew_id": crew["crew_id"], "crew": crew["crew"], "date": day,
    }  # fmt: skip


def _add_sales(rng: Random, tables: dict[str, Table], farm: dict[str, Any]) -> None:
    """Seven sales that wait for their money, two to four of them overdue."""
    overdue = rng.randint(2, 4)
    days = [-day for day in rng.sample(range(3, 50), overdue)] + rng.sample(range(2, 28), 11 - overdue)
    for buyer, ahead in zip(rng.sample(farm["texts"]["buyers"], 11), days, strict=True):
        crop = rng.choice(farm["crops"])
        sale_id = _new_id("sal", buyer, ahead)
        tables["sales"][sale_id] = {
            "sale_id": sale_id, "number": sale_number(sale_id), "crop": crop["crop"], "buyer": buyer,
            "amount": float(rng.randint(4, 32) * rng.randint(*crop["price"])),
            "due": common.day_after(farm["now"], ahead), "reminded": False,
        }  # fmt: skip


def _waterings(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    yield {"date": common.day_after(env.now, rng.randint(2, 8)), "millimetres": rng.randrange(8, 32, 2)}
    yield {"date": BOUND, "millimetres": rng.randrange(8, 32, 2)}


def _harvests(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    if common.beside(env.story, "calendar"):
        yield {"date": BOUND}
    yield {} if rng.random() < 0.6 else {"date": common.day_after(env.now, rng.randint(26, 30))}


def _crops(env: Any, _rng: Random) -> Iterator[dict[str, Any]]:
    yield from ({"crop": crop} for crop in (*env.story["crops"], BOUND))


PROPOSALS: dict[str, Proposer] = {
    "find_farm_field": lambda env, _rng: [{"name": name} for name in env.story["fields"]],
    "list_crop_fields": lambda env, _rng: [{"crop": crop} for crop in env.story["crops"]],
    "check_farm_weather": lambda _env, rng: [{"days": rng.randint(3, 7)}],
    "water_farm_field": _waterings, "cancel_field_watering": lambda _env, _rng: [{}],
    "find_harvest_crews": _crops, "book_harvest_crew": _harvests,
    "move_field_harvest": lambda env, rng: [{"date": common.day_after(env.now, rng.randint(31, 36))}],
    "check_farm_store": _crops, "find_crop_buyers": _crops,
    "sell_farm_crop": lambda _env, rng: [{"tonnes": rng.randrange(5, 32, rng.choice((1, 5)))}],
    "list_unpaid_sales": lambda _env, _rng: [{}], "remind_buyer": lambda _env, _rng: [{}],
}  # fmt: skip
