"""Making shops: six categories of four products, a customer with addresses, past orders and a wish list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from random import Random
from typing import Any

from planarena.environments.contract import BOUND, Environment, Proposer, Seed
from planarena.environments.domains.shared import Shared, beside, cast_people, keep, load_people, meet
from planarena.environments.state import Record

__all__ = ["PROPOSALS", "make_shop", "order_number"]

_new_id = Environment.new_id


def make_shop(texts: Any, rng: Random, shared: Shared | None = None) -> Seed:
    """Make a shop and a customer, a pure function of `rng` and `shared`."""
    people = load_people()
    situation = rng.choice(texts["situations"])
    now = keep(shared, "now", f"2026-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}T09:00")
    today = date.fromisoformat(now[:10])
    user = cast_people([f"{rng.choice(people['given'])} {rng.choice(people['family'])}"], shared)[0]
    products, coupons = _catalogue(rng, texts, situation)
    reviews = _reviews(rng, texts, people, products, today)
    cities, streets = rng.sample(texts["cities"], 3), rng.sample(texts["streets"], 3)
    home = keep(shared, "home_city", cities[0])
    streets[0] = keep(shared, "home_address", streets[0]).removesuffix(f", {home}")
    addresses: dict[str, Record] = {}
    for label, street, city in zip(
        ("home", "office", "parents"), streets, (home, home, cities[1]), strict=True
    ):
        key = _new_id("adr", label)
        addresses[key] = {"address_id": key, "label": label, "street": street, "city": city}
    orders = _orders(rng, today, user, [*products.values()], home)
    bought = {item["product_id"] for order in orders.values() for item in order["items"]}
    fresh = [key for key, product in products.items() if key not in bought and product["stock"]]
    in_cart, *wished = rng.sample(fresh, 3)
    tables: dict[str, dict[str, Record]] = {
        "products": products,
        "coupons": coupons,
        "reviews": reviews,
        "addresses": addresses,
        "orders": orders,
        "cart": {in_cart: {"product_id": in_cart, "quantity": 1}},
        "applied": {},
        "wishes": {key: {"product_id": key} for key in wished},
    }
    return Seed(
        tables,
        situation["title"],
        situation["description"],
        {"now": now, "user_name": user, "home_city": home},
        {
            "topic": situation["title"],
            "prices": {
                category: sorted(p["price"] for p in products.values() if p["category"] == category)
                for category, *_ in situation["categories"]
            },
            "code": next(code for code, coupon in coupons.items() if coupon["category"] == ""),
            **meet(shared),
        },
    )


def _reviews(
    rng: Random, texts: Any, people: dict[str, list[str]], products: Iterable[str], today: date
) -> dict[str, Record]:
    reviews: dict[str, Record] = {}
    for product_id in products:
        author = f"{rng.choice(people['given'])} {rng.choice(people['family'])[0]}"
        stars = rng.randint(1, 5)
        review_id = _new_id("rev", product_id, author)
        reviews[review_id] = {
            "review_id": review_id,
            "product_id": product_id,
            "author": author,
            "stars": stars,
            "text": rng.choice(texts["praise"] if stars > 2 else texts["blame"]),
            "date": (today - timedelta(days=rng.randint(3, 200))).isoformat(),
        }
    return reviews


def _catalogue(
    rng: Random, texts: dict[str, Any], situation: dict[str, Any]
) -> tuple[dict[str, Record], dict[str, Record]]:
    products: dict[str, Record] = {}
    coupons: dict[str, Record] = {}
    for plural, singular, low, high in situation["categories"]:
        percent = rng.choice((5, 10, 15, 20))
        code = f"{plural.split()[0].upper()}{percent}"
        coupons[code] = {"code": code, "percent": percent, "category": plural, "minimum": 0}
        models = rng.sample(texts["models"], 4)
        for brand, model in zip(rng.sample(texts["brands"], 4), models, strict=True):
            name = f"{brand} {model} {singular}"
            product_id = _new_id("prd", name)
            products[product_id] = {
                "product_id": product_id,
                "name": name,
                "category": plural,
                "price": rng.randint(low, high - 1) + rng.choice((0.0, 0.5, 0.9, 0.95)),
                "stock": rng.choice((0, 2, 3, 5, 8, 12, 20)),
                "delivery_days": rng.randint(2, 9),
                "rating": rng.randint(28, 49) / 10,
                "review_count": rng.randint(4, 180),
                "coupon_code": code,
            }
    # The recommended accessory is the cheapest of the next category.
    names = [category[0] for category in situation["categories"]]
    cheapest = {
        name: min(
            (p for p in products.values() if p["category"] == name), key=lambda p: (p["price"], p["name"])
        )
        for name in names
    }
    for product in products.values():
        following = names[(names.index(product["category"]) + 1) % len(names)]
        product["accessory_id"] = cheapest[following]["product_id"]
    percent = rng.choice((5, 10, 15))
    code = f"{rng.choice(('WELCOME', 'THANKS', 'FRIENDS'))}{percent}"
    coupons[code] = {"code": code, "percent": percent, "category": "", "minimum": 20}
    return products, coupons


def _orders(rng: Random, today: date, user: str, products: list[Record], city: str) -> dict[str, Record]:
    """Four orders: the two latest can still be returned, unless the latest is on its way."""
    orders: dict[str, Record] = {}
    under_way = rng.random() < 0.35
    for place, age in enumerate(
        (rng.randint(4, 9), rng.randint(11, 18), rng.randint(21, 26), rng.randint(60, 200))
    ):
        placed = today - timedelta(days=age)
        delivered = not (place == 0 and under_way)
        order_id = _new_id("ord", user, placed.isoformat())
        items = [
            {
                "order_item_id": _new_id("itm", order_id, product["product_id"]),
                "product_id": product["product_id"],
                "name": product["name"],
                "quantity": rng.choice((1, 1, 2)),
                "price": product["price"],
                "returned": False,
            }
            for product in rng.sample(products, 2)
        ]
        days = 3 if delivered else age + 2
        orders[order_id] = {
            "order_id": order_id,
            "order_number": order_number(order_id),
            "placed": placed.isoformat(),
            "status": "delivered" if delivered else "shipped",
            "delivery_date": (placed + timedelta(days=days)).isoformat(),
            "city": city,
            "total": round(sum(item["price"] * item["quantity"] for item in items), 2),
            "items": items,
        }
    return orders


def order_number(order_id: str) -> str:
    """Return the number that customers see: six digits made from the id."""
    return f"{int(order_id.rsplit('_', 1)[1], 16) % 1_000_000:06d}"


def _situation(env: Any) -> dict[str, Any]:
    return next(item for item in env.seeds()["situations"] if item["title"] == env.story["topic"])


def _search(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    first, second, third = rng.sample(sorted(env.story["prices"]), 3)
    yield {"category": first}
    # A limit between the second and the dearest price leaves a choice.
    low, high = env.story["prices"][second][1], env.story["prices"][second][3]
    yield {"category": second, "max_price": float(rng.randint(int(low) + 1, max(int(low) + 1, int(high))))}
    # Beside a bank the limit would be a balance: nobody spends all that an account holds on a lamp.
    if rng.random() < 0.4 and not beside(env.story, "banking"):
        yield {"category": third, "max_price": BOUND}


def _opinions(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    # Both of one mind: a user who takes one text back for the other leaves the stars as they are.
    pleased = rng.random() < 0.6
    for text in rng.sample(env.seeds()["praise" if pleased else "blame"], 2):
        yield {"stars": rng.randint(4, 5) if pleased else 2, "text": text}


PROPOSALS: dict[str, Proposer] = {
    "search_products": _search,
    "open_product": lambda _env, _rng: [{}],
    "add_product_to_cart": lambda _env, rng: [{}, {"quantity": rng.randint(2, 3)}],
    "view_shopping_cart": lambda _env, _rng: [{}],
    "apply_shopping_coupon": lambda env, _rng: [{"code": env.story["code"]}, {"code": BOUND}],
    "find_delivery_address": lambda _env, rng: [{"label": rng.choice(("home", "office", "parents"))}],
    "place_shop_order": lambda env, rng: [
        {} if rng.random() < 0.5 else {"note": rng.choice(_situation(env)["notes"])}
    ],
    "list_shop_orders": lambda _env, _rng: [{}],
    "get_shop_order": lambda _env, _rng: [{}],
    "return_purchased_item": lambda _env, rng: [
        {"reason": rng.choice(("damaged", "wrong_size", "not_as_described", "not_needed"))}
    ],
    "write_product_review": _opinions,
    "add_to_wish_list": lambda _env, _rng: [{}],
}
