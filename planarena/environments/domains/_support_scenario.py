"""Making help desks: customers with purchases, their tickets in four queues, agents and help articles."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from random import Random

from planarena.data import load_yaml
from planarena.environments.environment import Environment, Seed
from planarena.environments.state import Record

__all__ = ["QUEUES", "make_help_desk"]

QUEUES = ("billing", "technical", "delivery", "returns")
_new_id = Environment.new_id


def make_help_desk(rng: Random) -> Seed:
    """Make a help desk, a pure function of `rng`."""
    texts, people = load_yaml("seeds/support.yaml"), load_yaml("seeds/people.yaml")
    situation = rng.choice(texts["situations"])
    now = datetime(2026, rng.randint(1, 12), rng.randint(1, 28), 9, 0)
    given, family = rng.sample(people["given"], 21), rng.sample(people["family"], 21)
    names = [f"{first} {last}" for first, last in zip(given, family, strict=True)]
    user, staff, customer_names = names[0], names[1:10], names[10:]
    agents: dict[str, Record] = {}
    for place, name in enumerate(staff):
        agent_id = _new_id("agt", name)
        agents[agent_id] = {"agent_id": agent_id, "name": name, "queue": QUEUES[place % 4]}
    customers: dict[str, Record] = {}
    purchases: dict[str, Record] = {}
    for name in customer_names:
        customer_id = _new_id("cus", name)
        address = f"{name.replace(' ', '.').lower()}@{rng.choice(texts['domains'])}"
        customers[customer_id] = {
            "customer_id": customer_id,
            "name": name,
            "address": address,
            "plan": rng.choice(("standard", "standard", "premium")),
        }
        for product, low, high in rng.sample(situation["products"], rng.randint(1, 2)):
            purchase_id = _new_id("pur", customer_id, product)
            purchases[purchase_id] = {
                "purchase_id": purchase_id,
                "customer_id": customer_id,
                "product": product,
                "price": rng.randint(low, high - 1) + rng.choice((0.0, 0.5, 0.9)),
                "bought": (
                    date(now.year, now.month, now.day) - timedelta(days=rng.randint(4, 90))
                ).isoformat(),
                "refunded_percent": 0,
            }
    tickets: dict[str, Record] = {}
    bought_by: dict[str, list[str]] = {}
    for purchase in purchases.values():
        bought_by.setdefault(purchase["customer_id"], []).append(purchase["purchase_id"])
    issues = [*situation["issues"], *situation["issues"]]
    owners = [*customers, *rng.sample(sorted(customers), len(issues) - len(customers))]
    for issue, customer_id in zip(issues, owners, strict=True):
        opened = (now - timedelta(hours=rng.randint(3, 150), minutes=rng.randint(0, 59))).isoformat(
            timespec="minutes"
        )
        ticket_id = _new_id("tkt", customer_id, issue["subject"])
        answered = rng.random() < 0.3
        colleagues = [agent_id for agent_id, agent in agents.items() if agent["queue"] == issue["queue"]]
        tickets[ticket_id] = {
            "ticket_id": ticket_id,
            "subject": issue["subject"],
            "text": issue["text"],
            "customer_id": customer_id,
            "queue": issue["queue"],
            "priority": rng.choice(("low", "normal", "normal", "high")),
            "status": "waiting" if answered else "open",
            "opened": opened,
            "agent_id": rng.choice(colleagues) if answered or rng.random() < 0.4 else "",
            "replies": [rng.choice(texts["replies"]).format(day=rng.choice(texts["days"]))]
            if answered
            else [],
            "answered_on": "",
            "articles": [],
            "purchase_id": rng.choice(bought_by[customer_id]),
        }
    articles: dict[str, Record] = {}
    votes = rng.sample(texts["votes"], 2 * len(situation["articles"]))
    for place, (topic, title) in enumerate(situation["articles"]):
        for version, name in enumerate((title, f"{title}: common questions")):
            article_id = _new_id("art", name)
            articles[article_id] = {
                "article_id": article_id,
                "title": name,
                "topic": topic,
                "helpful_votes": votes[2 * place + version],
            }
    tables: dict[str, dict[str, Record]] = {
        "customers": customers,
        "purchases": purchases,
        "tickets": tickets,
        "agents": agents,
        "articles": articles,
        "escalations": {},
    }
    return Seed(
        tables,
        situation["title"],
        situation["description"],
        {"now": now.isoformat(timespec="minutes"), "user_name": user},
        {
            "topic": situation["title"],
            "customers": customer_names[:4],
            "topics": [topic for topic, _ in situation["articles"]],
        },
    )
