"""Making trading companies: four warehouses with uneven stock, suppliers' offers, orders given and received."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from planarena.environments.contract import BOUND, Environment, Proposer, Seed
from planarena.environments.domains import shared as scenes
from planarena.environments.state import Record

__all__ = ["PROPOSALS", "document_number", "make_company"]

Table = dict[str, Record]
_new_id = Environment.new_id


def document_number(prefix: str, key: str) -> str:
    """Return the number that people see on a document: a prefix and six digits made from the id."""
    return f"{prefix}-{int(key.rsplit('_', 1)[1], 16) % 1_000_000:06d}"


def make_company(texts: Any, rng: Random, shared: scenes.Shared | None = None) -> Seed:
    """Make a trading company, a pure function of `rng` and `shared`; customers known already are its own."""
    situation = rng.choice(texts["situations"])
    now = f"2026-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}T{rng.choice(('07:00', '08:30', '13:15'))}"
    now = scenes.keep(shared, "now", now)
    names = scenes.draw_people(rng, 14)
    user = scenes.keep(shared, "user_name", names[0])
    known, met = ((shared or {}).get(kind, ()) for kind in ("clients", "people"))
    # Colleagues of the user are no suppliers, customers of another domain are customers here too.
    others = [name for name in names[1:] if name not in {user, *known, *met}]
    contacts, customers = others[:5], [*known[:4], *others[5:]][:6]
    warehouses = rng.sample(texts["warehouses"], 4)
    items = _items(rng, situation)
    stock = _stock(rng, items, warehouses)
    pairs = zip(rng.sample(texts["suppliers"], 5), contacts, strict=True)
    suppliers = {name: {"supplier": name, "contact": contact} for name, contact in pairs}
    offers = _offers(rng, items, sorted(suppliers))
    orders: Table = {}
    for customer, item_id in zip(customers, rng.sample(sorted(items), len(customers)), strict=True):
        order_id = _new_id("co", customer, item_id)
        orders[order_id] = {
            "order_id": order_id, "number": document_number("SO", order_id), "customer": customer,
            "item_id": item_id, "quantity": rng.randint(2, 14), "status": "open",
            "due": scenes.working_day(now, rng.randint(3, 9)),
        }  # fmt: skip
    details = {"user": user, "first": warehouses[0], "second": warehouses[1], "customer": customers[0]}
    here = {row["item_id"]: row["on_hand"] for row in stock.values() if row["warehouse"] == warehouses[0]}
    lacking = max(here, key=lambda one: (2 * items[one]["reorder_point"] - here[one], one))
    details["item"] = items[lacking]["item"]
    title, description = rng.choice(texts["openings"])
    tables: dict[str, Table] = {
        "warehouses": {name: {"warehouse": name} for name in warehouses}, "items": items, "stock": stock,
        "suppliers": suppliers, "offers": offers, "purchases": {}, "orders": orders, "shipments": {},
        "deliveries": _deliveries(rng, items, offers, warehouses),
    }  # fmt: skip
    mails = {name: scenes.mail_of(name, texts["mail_domain"], shared) for name in (*contacts, *customers[:4])}
    story = {
        "warehouses": warehouses, "customers": customers[:4],
        "items": [row["item"] for row in items.values()][:4],
        **scenes.meet(shared, contacts, mails, customers[:4]),
    }  # fmt: skip
    description = f"{situation['company'].format(**details)} {description.format(**details)}"
    facts = {"now": now, "user_name": user, "warehouses": warehouses}
    return Seed(tables, title.format(**details), description, facts, story)


def _items(rng: Random, situation: dict[str, Any]) -> Table:
    items: Table = {}
    for name, low, high in rng.sample(situation["items"], 12):
        item_id = _new_id("itm", name)
        point, price = rng.randrange(10, 25), rng.randint(low, high)
        items[item_id] = {"item_id": item_id, "item": name, "reorder_point": point, "price": price}
    return items


def _stock(rng: Random, items: Table, warehouses: list[str]) -> Table:
    """Every item abounds at one warehouse and is short at another; the first two are short of three or more."""
    stock: Table = {}
    for place, (item_id, item) in enumerate(items.items()):
        short = warehouses[place % 3] if place < 9 else rng.choice(warehouses)
        full = rng.choice([name for name in warehouses if name != short])
        point = item["reorder_point"]
        spans = {short: (0, point - 1), full: (4 * point, 7 * point)}
        for name in warehouses:
            stock_id = _new_id("stk", item_id, name)
            units = rng.randint(*spans.get(name, (point, 2 * point)))
            stock[stock_id] = {"stock_id": stock_id, "item_id": item_id, "warehouse": name, "on_hand": units}
    return stock


def _offers(rng: Random, items: Table, suppliers: list[str]) -> Table:
    """Two or three offers an item; the cheaper one is, the longer it takes."""
    offers: Table = {}
    for item_id, item in items.items():
        some = rng.sample(suppliers, rng.randint(2, 3))
        prices = sorted(rng.sample(range(85, 125), len(some)))
        days = sorted(rng.sample(range(2, 16), len(some)), reverse=True)
        for supplier, share, delivery_days in zip(some, prices, days, strict=True):
            offer_id = _new_id("off", supplier, item_id)
            offers[offer_id] = {
                "offer_id": offer_id, "supplier": supplier, "item_id": item_id,
                "unit_price": round(item["price"] * share / 100, 2),
                "minimum": rng.choice((5, 8, 10, 10, 12)), "delivery_days": delivery_days,
            }  # fmt: skip
    return offers


def _deliveries(rng: Random, items: Table, offers: Table, warehouses: list[str]) -> Table:
    """Five deliveries that have arrived, two of them at the first warehouse."""
    deliveries: Table = {}
    places = [warehouses[0], warehouses[0], *warehouses[1:]]
    for warehouse, offer_id in zip(places, rng.sample(sorted(offers), len(places)), strict=True):
        offer = offers[offer_id]
        delivery_id = _new_id("dlv", offer_id, warehouse)
        deliveries[delivery_id] = {
            "delivery_id": delivery_id, "number": document_number("PO", delivery_id),
            "supplier": offer["supplier"], "item_id": offer["item_id"],
            "item": items[offer["item_id"]]["item"], "warehouse": warehouse, "received": False,
            "quantity": offer["minimum"] + rng.randrange(0, 26, 2),
        }  # fmt: skip
    return deliveries


def _customers(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    for customer in rng.sample(env.story["customers"], 2):
        yield {"customer": customer}
    if scenes.beside(env.story, "email"):  # customers write
        yield {"customer": BOUND}


PROPOSALS: dict[str, Proposer] = {
    "check_stock": lambda env, rng: [{"item": item} for item in (*rng.sample(env.story["items"], 2), BOUND)],
    "list_low_stock": lambda env, _rng: [{"warehouse": name} for name in env.story["warehouses"][:2]],
    "find_item_suppliers": lambda _env, _rng: [{}],
    "create_purchase_order": lambda env, rng: [
        {"quantity": BOUND, "deliver_to": BOUND},
        {"quantity": rng.randrange(20, 65, 5), "deliver_to": env.story["warehouses"][2]},
    ],
    "approve_purchase_order": lambda _env, _rng: [{}],
    "list_arrived_deliveries": lambda env, rng: [
        {} if rng.random() < 0.6 else {"warehouse": env.story["warehouses"][0]}
    ],
    "receive_delivery": lambda _env, _rng: [{}],
    "transfer_stock": lambda env, rng: [
        {"to_warehouse": env.story["warehouses"][3], "quantity": rng.randrange(5, 25)},
        {"to_warehouse": BOUND, "quantity": rng.choice((BOUND, rng.randrange(5, 15)))},
    ],
    "find_customer_order": _customers, "reserve_stock": lambda _env, _rng: [{}],
    "ship_customer_order": lambda _env, rng: [{"carrier": rng.choice(("standard", "express", "freight"))}],
    "track_shipment": lambda _env, _rng: [{}],
}  # fmt: skip
