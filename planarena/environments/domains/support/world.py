"""Making help desks: customers with purchases, their tickets in four queues, agents and help articles."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random
from typing import Any

from planarena.environments.contract import BOUND, Environment, Proposer, Seed
from planarena.environments.domains.shared import Shared, beside, day_after, draw_people, keep, mail_of, meet
from planarena.environments.state import Record

__all__ = ["PROPOSALS", "make_help_desk"]

QUEUES = ("billing", "technical", "delivery", "returns")
Table = dict[str, Record]
_new_id = Environment.new_id


def make_help_desk(texts: Any, rng: Random, shared: Shared | None = None) -> Seed:
    """Make a help desk, a pure function of `rng` and `shared`; the people known already are its agents."""
    situation = rng.choice(texts["situations"])
    now = datetime(2026, rng.randint(1, 12), rng.randint(1, 28), 9, 0)
    now = datetime.fromisoformat(keep(shared, "now", now.isoformat()))
    names = draw_people(rng, 21, shared)
    user, staff, customer_names = names[0], names[1:10], names[10:]
    agents: Table = {}
    for place, name in enumerate(staff):
        agent_id = _new_id("agt", name)
        agents[agent_id] = {"agent_id": agent_id, "name": name, "queue": QUEUES[place % 4]}
    customers, purchases = _customers(texts, situation, customer_names, now, shared, rng)
    tickets = _tickets(texts, situation, (customers, purchases, agents), now, rng)
    articles: Table = {}
    votes = iter(rng.sample(range(7, 190), 2 * len(situation["articles"])))
    for place, (topic, title) in enumerate(situation["articles"]):
        # Half of them have a companion, so that there is something to choose.
        for name in (title, f"{title}: common questions")[: 2 - place % 2]:
            article_id = _new_id("art", name)
            article = {"article_id": article_id, "title": name, "topic": topic, "helpful_votes": next(votes)}
            articles[article_id] = article
    tables: dict[str, Table] = {
        "customers": customers, "purchases": purchases, "tickets": tickets, "agents": agents,
        "articles": articles, "escalations": {},
    }  # fmt: skip
    addresses = {row["name"]: row["address"] for row in customers.values()}
    story = {
        "topic": situation["title"], "customers": customer_names[:4],
        "topics": sorted({ticket["topic"] for ticket in tickets.values()}),
        **meet(shared, staff[:4], addresses, customer_names[:5]),
    }  # fmt: skip
    facts = {"now": now.isoformat(timespec="minutes"), "user_name": user}
    return Seed(tables, situation["title"], situation["description"], facts, story)


def _customers(
    texts: Any, situation: Any, names: list[str], now: datetime, shared: Shared | None, rng: Random
) -> tuple[Table, Table]:
    """Make customers, and one or two purchases of each."""
    customers, purchases = Table(), Table()
    for name in names:
        customer_id = _new_id("cus", name)
        customers[customer_id] = {
            "customer_id": customer_id, "name": name,
            "address": mail_of(name, rng.choice(texts["domains"]), shared),
            "plan": rng.choice(("standard", "standard", "premium")),
        }  # fmt: skip
        for offer in rng.sample(situation["products"], rng.randint(1, 2)):
            _buy(purchases, customer_id, offer, now, rng)
    return customers, purchases


def _buy(purchases: Table, customer_id: str, offer: tuple[str, int, int], now: datetime, rng: Random) -> str:
    """Let a customer have bought a product, once; its id."""
    product, low, high = offer
    purchase_id = _new_id("pur", customer_id, product)
    if purchase_id not in purchases:
        purchases[purchase_id] = {
            "purchase_id": purchase_id, "customer_id": customer_id, "product": product,
            "price": rng.randint(low, high - 1) + rng.choice((0.0, 0.5, 0.9)),
            "bought": day_after(now.isoformat(), -rng.randint(8, 90)), "refunded_percent": 0,
        }  # fmt: skip
    return purchase_id


def _tickets(
    texts: Any, situation: Any, world: tuple[Table, Table, Table], now: datetime, rng: Random
) -> Table:
    """Let customers report every issue, some of them twice; a fifth of the tickets have been answered."""
    customers, purchases, agents = world
    tickets: Table = {}
    offers, days = {offer[0]: offer for offer in situation["products"]}, texts["days"]
    issues = [*rng.sample(situation["issues"], len(situation["issues"])), *situation["issues"][:3]]
    owners = [*customers, *rng.sample(sorted(customers), len(issues) - len(customers))]
    for (subject, text, queue, topic, *about), customer_id in zip(issues, owners, strict=True):
        opened = now - timedelta(hours=rng.randint(3, 150), minutes=rng.randint(0, 59))
        ticket_id = _new_id("tkt", customer_id, subject)
        answered = rng.random() < 0.2
        colleagues = [key for key, agent in agents.items() if agent["queue"] == queue]
        bought = [_buy(purchases, customer_id, offers[product], now, rng) for product in about]
        bought = bought or [key for key, one in purchases.items() if one["customer_id"] == customer_id]
        tickets[ticket_id] = {
            "ticket_id": ticket_id, "subject": subject, "text": text, "customer_id": customer_id,
            "topic": topic, "queue": queue, "priority": rng.choice(("low", "normal", "normal", "high")),
            "status": "waiting" if answered else "open", "opened": opened.isoformat(timespec="minutes"),
            "agent_id": rng.choice(colleagues) if answered or rng.random() < 0.4 else "",
            "replies": [rng.choice(texts["replies"]).format(day=rng.choice(days))] if answered else [],
            "answered_on": "", "articles": [], "purchase_id": rng.choice(bought),
        }  # fmt: skip
    return tickets


def _list(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    first, second = rng.sample(QUEUES, 2)
    yield {"queue": first}
    waiting = [ticket for ticket in env.rows("tickets", queue=second) if ticket["status"] != "closed"]
    found = sorted({ticket["priority"] for ticket in waiting})
    yield {"queue": second, "priority": rng.choice(found or ["normal"])}


def _customer(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    for name in rng.sample(env.story["customers"], 2):
        yield {"name": name}
    # Neither colleagues nor the people at a supplier are customers.
    if not beside(env.story, "calendar") and not beside(env.story, "inventory"):
        yield {"name": BOUND}


def _create(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    situation = next(item for item in env.seeds()["situations"] if item["title"] == env.story["topic"])
    # Whoever calls need not own the product that some are about.
    anybody = [issue for issue in situation["issues"] if len(issue) == 4]
    for subject, text, queue, _ in rng.sample(anybody, 2):
        yield {"subject": subject, "text": text, "queue": queue}


PROPOSALS: dict[str, Proposer] = {
    "list_queue_tickets": _list, "find_support_customer": _customer, "create_support_ticket": _create,
    "get_support_ticket": lambda _env, _rng: [{}],
    "search_help_articles": lambda env, rng: [
        {"topic": topic} for topic in (*rng.sample(env.story["topics"], 1), BOUND)
    ],
    "send_help_article": lambda _env, _rng: [{}],
    "find_available_agent": lambda _env, rng: [{"queue": queue} for queue in rng.sample(QUEUES, 2)],
    "assign_ticket_to_agent": lambda _env, _rng: [{}],
    "reply_to_ticket": lambda env, rng: [
        {"text": text.format(day=rng.choice(env.seeds()["days"]))}
        for text in rng.sample(env.seeds()["replies"], 2)
    ],
    "escalate_ticket": lambda _env, rng: [{"team": rng.choice(("supervisors", "engineering", "quality"))}],
    "refund_purchase": lambda _env, rng: [
        {"percent": 100}, {"percent": rng.choice((10, 15, 20, 25, 30, 50))}
    ],
    "close_support_ticket": lambda _env, rng: [
        {"resolution": "solved"}, {"resolution": rng.choice(("refunded", "duplicate"))}
    ],
}  # fmt: skip
