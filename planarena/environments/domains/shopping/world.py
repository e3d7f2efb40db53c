"""Making shops: six categories of four products, a customer with addresses, past orders and a wish list."""

from __future__ import annotations

from random import Random
from typing import Any, Literal, get_args

from planarena.environments.contract import BOUND, Environment, Proposer, Seed, all_bound
from planarena.environments.domains import shared as common
from planarena.environments.domains.shared import Rows, Table, day_after, keyed
from planarena.environments.state import Record

__all__ = ["PROPOSALS", "AddressName", "Reason", "make_shop", "new_item", "new_review", "order_number"]

AddressName = Literal["home", "office", "parents"]
Reason = Literal["damaged", "wrong_size", "not_as_described", "not_needed"]
_new_id = Environment.new_id


def make_shop(texts: Any, rng: Random, shared: common.Shared | None = None) -> Seed:
    """Make a shop and a customer, a pure function of `rng` and `shared`."""
    situation = rng.choice(texts["situations"])
    now = common.keep(shared, "now", f"2026-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}T09:00")
    user = common.draw_people(rng, 1, shared)[0]
    products, coupons, prices = _catalogue(rng, texts, situation["categories"])
    reviews = keyed("review_id", _reviews(rng, texts, products, now))
    cities, streets = rng.sample(texts["cities"], 3), rng.sample(texts["streets"], 3)
    home = common.keep(shared, "home_city", cities[0])
    streets[0] = common.keep(shared, "home_address", streets[0]).removesuffix(f", {home}")
    addresses = [
        {"address_id": _new_id("adr", label), "label": label, "street": street, "city": city}
        for label, street, city in zip(get_args(AddressName), streets, (home, home, cities[1]), strict=True)
    ]
    orders = keyed("order_id", _orders(rng, now, user, [*products.values()], home))
    bought = {item["product_id"] for order in orders.values() for item in order["items"]}
    fresh = [key for key, product in products.items() if key not in bought and product["stock"]]
    in_cart, *wished = rng.sample(fresh, 3)
    tables: dict[str, Table] = {
        "products": products, "coupons": coupons, "reviews": reviews,
        "addresses": keyed("address_id", addresses), "orders": orders,
        "cart": {in_cart: {"product_id": in_cart, "quantity": 1}}, "applied": {},
        "wishes": {key: {"product_id": key} for key in wished},
    }  # fmt: skip
    code = next(code for code, coupon in coupons.items() if coupon["category"] == "")
    story = {"topic": situation["title"], "prices": prices, "code": code, **common.meet(shared)}
    facts = {"now": now, "user_name": user, "home_city": home}
    return Seed(tables, situation["title"], situation["description"], facts, story)


def new_review(product_id: str, author: str, stars: int, text: str, day: str) -> Record:
    """Return a review; nobody writes two of one product."""
    return {
        "review_id": _new_id("rev", product_id, author), "product_id": product_id, "author": author,
        "stars": stars, "text": text, "date": day,
    }  # fmt: skip


def _reviews(rng: Random, texts: Any, products: Table, now: str) -> Rows:
    people = common.load_people()
    for product_id in products:
        author = f"{rng.choice(people['given'])} {rng.choice(people['family'])[0]}"
        stars = rng.randint(1, 5)
        text = rng.choice(texts["praise"] if stars > 2 else texts["blame"])
        yield new_review(product_id, author, stars, text, day_after(now, -rng.randint(3, 200)))


def _catalogue(rng: Random, texts: Any, categories: Any) -> tuple[Table, Table, dict[str, list[float]]]:
    """Four products a category, a coupon for each category and one for all, and the prices by category."""
    products, coupons = Table(), Table()
    shelves: dict[str, list[Record]] = {}
    for plural, singular, low, high in categories:
        percent = rng.choice((5, 10, 15, 20))
        code = f"{plural.split()[0].upper()}{percent}"
        coupons[code] = {"code": code, "percent": percent, "category": plural, "minimum": 0}
        models, brands = rng.sample(texts["models"], 4), rng.sample(texts["brands"], 4)
        names = [f"{brand} {model} {singular}" for brand, model in zip(brands, models, strict=True)]
        shelves[plural] = [
            {
                "product_id": _new_id("prd", name), "name": name, "category": plural,
                "price": rng.randint(low, high - 1) + rng.choice((0.0, 0.5, 0.9, 0.95)),
                "stock": rng.choice((0, 2, 3, 5, 8, 12, 20)), "delivery_days": rng.randint(2, 9),
                "rating": rng.randint(28, 49) / 10, "review_count": rng.randint(4, 180), "coupon_code": code,
            } for name in names
        ]  # fmt: skip
        products |= keyed("product_id", shelves[plural])
    # The recommended accessory is the cheapest of the next category.
    for shelf, following in zip(shelves.values(), [*shelves][1:] + [*shelves][:1], strict=True):
        cheapest = min(shelves[following], key=lambda row: (row["price"], row["name"]))
        for product in shelf:
            product["accessory_id"] = cheapest["product_id"]
    percent = rng.choice((5, 10, 15))
    code = f"{rng.choice(('WELCOME', 'THANKS', 'FRIENDS'))}{percent}"
    coupons[code] = {"code": code, "percent": percent, "category": "", "minimum": 20}
    return products, coupons, {name: sorted(row["price"] for row in shelf) for name, shelf in shelves.items()}


def new_item(order_id: str, product: Record, quantity: int) -> Record:
    """Return an item of an order, which nobody has sent back yet."""
    return {
        "order_item_id": _new_id("itm", order_id, product["product_id"]), "product_id": product["product_id"],
        "name": product["name"], "quantity": quantity, "price": product["price"], "returned": False,
    }  # fmt: skip


def _orders(rng: Random, now: str, user: str, products: list[Record], city: str) -> Rows:
    """Four orders: the two latest can still be returned, unless the latest is on its way."""
    under_way = rng.random() < 0.35
    ages = [rng.randint(least, most) for least, most in ((4, 9), (11, 18), (21, 26), (60, 200))]
    for place, age in enumerate(ages):
        placed = day_after(now, -age)
        delivered = not (place == 0 and under_way)
        order_id = _new_id("ord", user, placed)
        items = [new_item(order_id, one, rng.choice((1, 1, 2))) for one in rng.sample(products, 2)]
        yield {
            "order_id": order_id, "order_number": order_number(order_id), "placed": placed,
            "status": "delivered" if delivered else "shipped",
            "delivery_date": day_after(placed, 3 if delivered else age + 2), "city": city,
            "total": round(sum(item["price"] * item["quantity"] for item in items), 2), "items": items,
        }  # fmt: skip


def order_number(order_id: str) -> str:
    """Return the number that customers see: six digits made from the id."""
    return f"{int(order_id.rsplit('_', 1)[1], 16) % 1_000_000:06d}"


def _search(env: Any, rng: Random) -> Rows:
    first, second, third = rng.sample(sorted(env.story["prices"]), 3)
    yield {"category": first}
    # A limit between the second and the dearest price leaves a choice.
    low, high = env.story["prices"][second][1], env.story["prices"][second][3]
    yield {"category": second, "max_price": float(rng.randint(int(low) + 1, max(int(low) + 1, int(high))))}
    # Beside a bank the limit would be a balance: nobody spends all that an account holds on a lamp.
    if rng.random() < 0.4 and not common.beside(env.story, "banking"):
        yield {"category": third, "max_price": BOUND}


def _with_note(env: Any, rng: Random) -> Rows:
    situation = next(one for one in env.seeds()["situations"] if one["title"] == env.story["topic"])
    yield {} if rng.random() < 0.5 else {"note": rng.choice(situation["notes"])}


def _opinions(env: Any, rng: Random) -> Rows:
    # Both of one mind: a user who takes one text back for the other leaves the stars as they are.
    pleased = rng.random() < 0.6
    for text in rng.sample(env.seeds()["praise" if pleased else "blame"], 2):
        yield {"stars": rng.randint(4, 5) if pleased else 2, "text": text}


PROPOSALS: dict[str, Proposer] = {
    "search_products": _search, "place_shop_order": _with_note, "write_product_review": _opinions,
    "add_product_to_cart": lambda _env, rng: [{}, {"quantity": rng.randint(2, 3)}],
    "apply_shopping_coupon": lambda env, _rng: [{"code": env.story["code"]}, {"code": BOUND}],
    "find_delivery_address": lambda _env, rng: [{"label": rng.choice(get_args(AddressName))}],
    "return_purchased_item": lambda _env, rng: [{"reason": rng.choice(get_args(Reason))}],
    **all_bound("open_product", "add_to_wish_list", "view_shopping_cart"),
    **all_bound("list_shop_orders", "get_shop_order"),
}  # fmt: skip
