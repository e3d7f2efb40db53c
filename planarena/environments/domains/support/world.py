"""Making help desks: customers with purchases, their tickets in four queues, agents and help articles."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from random import Random
from typing import Any

from planarena.environments.contract import BOUND, Environment, Seed, proposals
from planarena.environments.domains.shared import (
    Shared,
    beside,
    cast_people,
    keep,
    load_people,
    mail_of,
    meet,
)
from planarena.environments.state import Record

__all__ = ["SupportScenario"]

QUEUES = ("billing", "technical", "delivery", "returns")
_new_id = Environment.new_id


def make_help_desk(texts: Any, rng: Random, shared: Shared | None = None) -> Seed:
    """Make a help desk, a pure function of `rng` and `shared`; the people known already are its agents."""
    people = load_people()
    situation = rng.choice(texts["situations"])
    now = datetime(2026, rng.randint(1, 12), rng.randint(1, 28), 9, 0)
    now = datetime.fromisoformat(keep(shared, "now", now.isoformat()))
    given, family = rng.sample(people["given"], 21), rng.sample(people["family"], 21)
    names = [f"{first} {last}" for first, last in zip(given, family, strict=True)]
    names = cast_people(names, shared)
    user, staff, customer_names = names[0], names[1:10], names[10:]
    agents: dict[str, Record] = {}
    for place, name in enumerate(staff):
        agent_id = _new_id("agt", name)
        agents[agent_id] = {"agent_id": agent_id, "name": name, "queue": QUEUES[place % 4]}
    customers: dict[str, Record] = {}
    purchases: dict[str, Record] = {}
    for name in customer_names:
        customer_id = _new_id("cus", name)
        address = mail_of(name, rng.choice(texts["domains"]), shared)
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
        answered = rng.random() < 0.2
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
            **meet(
                shared,
                staff[:4],
                {row["name"]: row["address"] for row in customers.values()},
                customer_names[:5],
            ),
        },
    )


class SupportScenario(Environment):
    """A help desk, and what its leader would ask for."""

    @classmethod
    def seed(cls, rng: Random, shared: Shared | None = None) -> Seed:
        """Make a help desk."""
        return make_help_desk(cls.seeds(), rng, shared)

    @proposals("list_queue_tickets")
    def _propose_list(self, rng: Random) -> Iterator[dict[str, Any]]:
        first, second = rng.sample(QUEUES, 2)
        yield {"queue": first}
        waiting = [ticket for ticket in self.state.scan("tickets") if ticket["status"] != "closed"]
        found = sorted({ticket["priority"] for ticket in waiting if ticket["queue"] == second})
        yield {"queue": second, "priority": rng.choice(found or ["normal"])}

    @proposals("find_support_customer")
    def _propose_customer(self, rng: Random) -> Iterator[dict[str, Any]]:
        for name in rng.sample(self.story["customers"], 2):
            yield {"name": name}
        if not beside(self.story, "calendar"):  # colleagues are no customers
            yield {"name": BOUND}

    @proposals("create_support_ticket")
    def _propose_create(self, rng: Random) -> Iterator[dict[str, Any]]:
        situation = next(item for item in self.seeds()["situations"] if item["title"] == self.story["topic"])
        for issue in rng.sample(situation["issues"], 2):
            yield {"subject": issue["subject"], "text": issue["text"], "queue": issue["queue"]}

    @proposals("get_support_ticket")
    def _propose_get(self, _rng: Random) -> Iterator[dict[str, Any]]:
        yield {}

    @proposals("search_help_articles")
    def _propose_articles(self, rng: Random) -> Iterator[dict[str, Any]]:
        for topic in rng.sample(self.story["topics"], 2):
            yield {"topic": topic}

    @proposals("send_help_article")
    def _propose_send(self, _rng: Random) -> Iterator[dict[str, Any]]:
        yield {}

    @proposals("find_available_agent")
    def _propose_agent(self, rng: Random) -> Iterator[dict[str, Any]]:
        for queue in rng.sample(QUEUES, 2):
            yield {"queue": queue}

    @proposals("assign_ticket_to_agent")
    def _propose_assign(self, _rng: Random) -> Iterator[dict[str, Any]]:
        yield {}

    @proposals("reply_to_ticket")
    def _propose_reply(self, rng: Random) -> Iterator[dict[str, Any]]:
        for text in rng.sample(self.seeds()["replies"], 2):
            yield {"text": text.format(day=rng.choice(self.seeds()["days"]))}

    @proposals("escalate_ticket")
    def _propose_escalate(self, rng: Random) -> Iterator[dict[str, Any]]:
        yield {"team": rng.choice(("supervisors", "engineering", "quality"))}

    @proposals("refund_purchase")
    def _propose_refund(self, rng: Random) -> Iterator[dict[str, Any]]:
        yield {"percent": 100}
        yield {"percent": rng.choice((10, 15, 20, 25, 30, 50))}

    @proposals("close_support_ticket")
    def _propose_close(self, rng: Random) -> Iterator[dict[str, Any]]:
        yield {"resolution": "solved"}
        yield {"resolution": rng.choice(("refunded", "duplicate"))}
