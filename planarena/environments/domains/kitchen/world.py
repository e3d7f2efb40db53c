"""Making kitchens: fifteen recipes of three kinds, what is there for them, what is planned and what is to be bought."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from planarena.environments.contract import BOUND, Environment, Proposer, Seed
from planarena.environments.domains.shared import (
    Shared,
    beside,
    best_later,
    cast_people,
    day_after,
    in_season,
    keep,
    load_people,
    meet,
)  # fmt: skip
from planarena.environments.state import Record

__all__ = ["PROPOSALS", "make_kitchen"]

Table = dict[str, Record]
_new_id = Environment.new_id


def make_kitchen(texts: Any, rng: Random, shared: Shared | None = None) -> Seed:
    """Make a kitchen, a pure function of `rng` and `shared`; the user lives with two others and has a friend."""
    people = load_people()
    moment = (
        f"2026-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}T{rng.choice(('07:50', '12:40', '16:20'))}"
    )
    now = keep(shared, "now", moment)
    given, family = rng.sample(people["given"], 6), rng.sample(people["family"], 6)
    names = [f"{first} {last}" for first, last in zip(given, family, strict=True)]
    user, *others = cast_people(names, shared)
    recipes: Table = {}
    kinds = rng.sample(sorted(texts["recipes"]), 3)
    ratings = rng.sample(range(21, 50), 15)
    for kind in kinds:
        by_time = sorted(
            (texts["recipes"][kind][dish][0], dish) for dish in rng.sample(sorted(texts["recipes"][kind]), 5)
        )
        ratings = ratings[5:] + ratings[:5]
        for (duration, dish), rating in zip(by_time, best_later(ratings[:5]), strict=True):
            needs = texts["recipes"][kind][dish][1]
            recipe_id = _new_id("rcp", dish)
            recipes[recipe_id] = {
                "recipe_id": recipe_id, "dish": dish, "kind": kind, "duration": duration, "needs": needs,
                "rating": rating / 10,
            }  # fmt: skip
    used = sorted({item for recipe in recipes.values() for item in recipe["needs"]})
    more = rng.sample(sorted(set(texts["items"]) - set(used)), 5)
    fields = ("unit", "pack", "price", "aisle", "keeps", "place")
    goods = {item: dict(zip(fields, texts["items"][item], strict=True)) for item in (*used, *more)}
    pantry = _pantry(rng, recipes, used, goods, now)
    cooks = others[:3]
    meals = _meals(rng, recipes, cooks, now)
    lines: Table = {}
    for item in rng.sample([*more, *(one for one in used if one not in pantry)], 4):
        line_id = _new_id("grl", item)
        quantity = goods[item]["pack"] * rng.randint(1, 2)
        lines[line_id] = {
            "line_id": line_id,
            "item": item,
            "quantity": quantity,
            "aisle": goods[item]["aisle"],
        }
    situation = rng.choice(in_season(texts["situations"], now))
    details = {"user": user, "first": cooks[0], "second": cooks[1]}
    tables = {"recipes": recipes, "goods": goods, "pantry": pantry, "meals": meals, "lines": lines}
    wanted = [item for item in goods if item not in pantry and _new_id("grl", item) not in lines]
    story = {
        "kinds": kinds, "cooks": cooks, "stored": sorted(pantry), "wanted": wanted,
        "free": [day_after(now, ahead) for ahead in (7, 8, 9)], "soon": sorted(one["best_before"] for one in pantry.values())[rng.randint(1, 4)],
        "longest": -(-sorted(one["duration"] for one in recipes.values() if one["kind"] == kinds[1])[2] // 5) * 5, **meet(shared, cooks),
    }  # fmt: skip
    facts = {"now": now, "user_name": user, "household": cooks}
    title, description = (situation[part].format(**details) for part in ("title", "description"))
    return Seed(tables, title, description, facts, story)


def _pantry(rng: Random, recipes: Table, used: list[str], goods: Table, now: str) -> Table:
    """About half of what the recipes take, of each item some; no two things go off on the same day."""
    pantry: Table = {}
    some = rng.sample(used, len(used) * 13 // 20)
    takers = {item: sum(item in recipe["needs"] for recipe in recipes.values()) for item in used}
    # What keeps least of what several recipes take is there: otherwise what goes off first would leave no choice.
    several = min(
        (one for one in used if takers[one] > 1), key=lambda one: (goods[one]["keeps"], one), default=some[-1]
    )
    some = some if several in some else [*some[:-1], several]
    days = sorted(rng.sample(range(1, 4 * len(some)), len(some)))
    # What keeps for a short time is what goes off first.
    order = sorted(some, key=lambda one: (goods[one]["keeps"], -takers[one], one))
    for item, ahead in zip(order, days, strict=True):
        needs = [recipe["needs"][item] for recipe in recipes.values() if item in recipe["needs"]]
        quantity = max(1, int(rng.choice(needs) * rng.choice((0.5, 1, 1, 2))))
        quantity = -(-quantity // 10) * 10 if quantity > 20 else quantity
        pantry[item] = {
            "item": item, "quantity": quantity, "place": goods[item]["place"], "best_before": day_after(now, ahead),
        }  # fmt: skip
    return pantry


def _meals(rng: Random, recipes: Table, cooks: list[str], now: str) -> Table:
    """Four dinners of the next six days; puddings are none."""
    meals: Table = {}
    dinners = [key for key in sorted(recipes) if recipes[key]["kind"] != "puddings"]
    for recipe_id, ahead in zip(rng.sample(dinners, 4), sorted(rng.sample(range(1, 7), 4)), strict=True):
        date = day_after(now, ahead)
        meal_id = _new_id("mel", recipe_id, date)
        meals[meal_id] = {
            "meal_id": meal_id, "recipe_id": recipe_id, "dish": recipes[recipe_id]["dish"], "date": date,
            "cook": rng.choice(cooks),
        }  # fmt: skip
    return meals


def _searches(env: Any, _rng: Random) -> Iterator[dict[str, Any]]:
    first, second, third = env.story["kinds"]
    yield {"kind": first}
    yield {"kind": second, "longest": env.story["longest"]}
    yield {"kind": third}


def _items(env: Any, rng: Random) -> list[dict[str, Any]]:
    return [*({"item": item} for item in rng.sample(env.story["stored"], 2)), {"item": BOUND}]


def _dinners(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    first, second = rng.sample(env.story["cooks"], 2)
    yield {"date": env.story["free"][0], "cook": first}
    yield {"date": BOUND, "cook": second}
    if beside(env.story, "email") or beside(env.story, "calendar"):
        yield {"date": env.story["free"][1], "cook": BOUND}


def _wishes(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    first, second = rng.sample(env.story["wanted"], 2)
    yield {"item": first}
    yield {"item": second, "packs": rng.randint(2, 4)}
    yield {"item": BOUND}


PROPOSALS: dict[str, Proposer] = {
    "find_recipes": _searches, "find_recipes_with": _items, "open_recipe": lambda _env, _rng: [{}],
    "find_missing_ingredients": lambda _env, _rng: [{}], "put_missing_on_list": lambda _env, _rng: [{}],
    "check_pantry_item": lambda env, rng: [{"item": item} for item in rng.sample(env.story["stored"], 2)],
    "list_pantry_until": lambda env, _rng: [{"date": env.story["soon"]}],
    "view_week_menu": lambda _env, _rng: [{}], "plan_week_meal": _dinners,
    "move_week_meal": lambda env, _rng: [{"date": env.story["free"][2]}, {"date": BOUND}],
    "assign_meal_cook": lambda env, rng: [{"cook": cook} for cook in rng.sample(env.story["cooks"], 2)],
    "view_grocery_list": lambda _env, _rng: [{}], "add_grocery_item": _wishes,
    "mark_grocery_bought": lambda _env, _rng: [{}],
}  # fmt: skip
