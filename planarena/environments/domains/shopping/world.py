"""Making shops: six categories of four products, a customer with addresses, past orders and a wish list."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from random import Random
from typing import Any

from planarena.environments.contract import BOUND, Environment, Seed, proposals
from planarena.environments.domains.shared import Shared, beside, cast_people, keep, load_people, meet
from planarena.environments.state import Record

__all__ = ["ShoppingScenario", "order_number"]

_new_id = Environment.new_id


def make_shop(texts: Any, rng: Random, shared: Shared | None = None) -> Seed:
    """Make a shop and a customer, a pure function of `rng` and `shared`."""
    people = load_people()
    situation = rng.choice(texts["situations"])
    now = keep(shared, "now", f"2026-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}T09:00")
    today = date.fromisoformat(now[:10])
    user = cast_people([f"{rng.choice(people['given'])} {rng.choice(people['family'])}"], shared)[0]
    products, coupons = _catalogue(rng, texts, situation)
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
    cities, streets = rng.sample(texts["cities"], 3), rng.sample(texts["streets"], 3)
    cities[0] = keep(shared, "home_city", cities[0])
    streets[0] = keep(shared, "home_address", streets[0]).removesuffix(f", {cities[0]}")
    addresses = {
        _new_id("adr", label): {
            "address_id": _new_id("adr", label),
            "label": label,
            "street": street,
            "city": city,
        }
        for label, street, city in zip(
            ("home", "office", "parents"), streets, [cities[0], *cities[:2]], strict=True
        )
    }
    orders = _orders(rng, today, user, [*products.values()], cities[0])
    bought = {item["product_id"] for order in orders.values() for item in order["items"]}
    fresh = [
        product for product in products.values() if product["product_id"] not in bought and product["stock"]
    ]
    in_cart, *wished = rng.sample(fresh, 3)
    tables: dict[str, dict[str, Record]] = {
        "products": products,
        "coupons": coupons,
        "reviews": reviews,
        "addresses": addresses,
        "orders": orders,
        "cart": {in_cart["product_id"]: {"product_id": in_cart["product_id"], "quantity": 1}},
        "applied": {},
        "wishes": {product["product_id"]: {"product_id": product["product_id"]} for product in wished},
    }
    return Seed(
        tables,
        situation["title"],
        situation["description"],
        {"now": now, "user_name": user, "home_city": cities[0]},
        {
            "topic": situation["title"],
            "prices": {
                category[0]: sorted(p["price"] for p in products.values() if p["category"] == category[0])
                for category in situation["categories"]
            },
            "code": next(code for code, coupon in coupons.items() if coupon["category"] == ""),
            **meet(shared),
        },
    )


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


class ShoppingScenario(Environment):
    """A shop and a customer, and what the customer would ask for."""

    @classmethod
    def seed(cls, rng: Random, shared: Shared | None = None) -> Seed:
        """Make a shop and a customer."""
        return make_shop(cls.seeds(), rng, shared)

    @property
    def _situation(self) -> dict[str, Any]:
        return next(item for item in self.seeds()["situations"] if item["title"] == self.story["topic"])

    @proposals("search_products")
    def _propose_search(self, rng: Random) -> Iterator[dict[str, Any]]:
        first, second, third = rng.sample(sorted(self.story["prices"]), 3)
        yield {"category": first}
        # A limit between the second and the dearest price leaves a choice.
        low, high = self.story["prices"][second][1], self.story["prices"][second][3]
        yield {
            "category": second,
            "max_price": float(rng.randint(int(low) + 1, max(int(low) + 1, int(high)))),
        }
        if rng.random() < 0.4 or beside(self.story, "banking"):
            yield {"category": third, "max_price": BOUND}

    @proposals("get_product_details")
    def _propose_details(self, _rng: Random) -> Iterator[dict[str, Any]]:
        yield {}

    @proposals("add_product_to_cart")
    def _propose_add(self, rng: Random) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"quantity": rng.randint(2, 3)}

    @proposals("view_shopping_cart")
    def _propose_view(self, _rng: Random) -> Iterator[dict[str, Any]]:
        yield {}

    @proposals("apply_shopping_coupon")
    def _propose_coupon(self, _rng: Random) -> Iterator[dict[str, Any]]:
        yield {"code": self.story["code"]}
        yield {"code": BOUND}

    @proposals("find_delivery_address")
    def _propose_address(self, rng: Random) -> Iterator[dict[str, Any]]:
        yield {"label": rng.choice(("home", "office", "parents"))}

    @proposals("place_shop_order")
    def _propose_order(self, rng: Random) -> Iterator[dict[str, Any]]:
        yield {} if rng.random() < 0.5 else {"note": rng.choice(self._situation["notes"])}

    @proposals("list_shop_orders")
    def _propose_orders(self, _rng: Random) -> Iterator[dict[str, Any]]:
        yield {}

    @proposals("get_shop_order")
    def _propose_get_order(self, _rng: Random) -> Iterator[dict[str, Any]]:
        yield {}

    @proposals("return_purchased_item")
    def _propose_return(self, rng: Random) -> Iterator[dict[str, Any]]:
        yield {"reason": rng.choice(("damaged", "wrong_size", "not_as_described", "not_needed"))}

    @proposals("write_product_review")
    def _propose_review(self, rng: Random) -> Iterator[dict[str, Any]]:
        yield {"stars": rng.randint(4, 5), "text": rng.choice(self.seeds()["praise"])}
        yield {"stars": 2, "text": rng.choice(self.seeds()["blame"])}

    @proposals("add_to_wish_list")
    def _propose_wish(self, _rng: Random) -> Iterator[dict[str, Any]]:
        yield {}
