"""Making subscription businesses: four plans, a dozen subscribers, their invoices, and some that are overdue."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from random import Random
from typing import Any

from planarena.environments.contract import BOUND, Environment, Proposer, Seed
from planarena.environments.domains import shared as family
from planarena.environments.domains.shared import day_after
from planarena.environments.state import Record

__all__ = ["PROPOSALS", "make_business", "month_after"]

_FAILURES = ("card_expired", "insufficient_funds", "insufficient_funds", "refused_by_the_bank")
_TIMES = ("08:10", "09:30", "11:20", "14:45")
Table = dict[str, Record]
_new_id = Environment.new_id


def make_business(texts: Any, rng: Random, shared: family.Shared | None = None) -> Seed:
    """Make a business, a pure function of `rng` and `shared`; customers known already are its subscribers."""
    people = family.load_people()
    business, situation = rng.choice(texts["businesses"]), rng.choice(texts["situations"])
    now = f"2026-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}T{rng.choice(_TIMES)}"
    now = family.keep(shared, "now", now)
    drawn = zip(rng.sample(people["given"], 19), rng.sample(people["family"], 19), strict=True)
    user, *others = family.cast_people([f"{first} {last}" for first, last in drawn], shared)
    known = (shared or {}).get("clients", ())
    staff = [name for name in others if name in (shared or {}).get("people", ()) and name not in known]
    names = list(dict.fromkeys([*known, *(name for name in others if name not in staff)]))
    subscribed, new = names[:12], names[-2:]
    addresses = {name: family.mail_of(name, rng.choice(texts["mail_domains"]), shared) for name in names}
    plans: Table = {}
    low, high = business["prices"]
    prices = sorted(rng.sample(range(low, high, 4), 4))
    for (plan, content), price in zip(business["plans"], prices, strict=True):
        plan_id = _new_id("pln", plan)
        plans[plan_id] = {"plan_id": plan_id, "plan": plan, "content": content, "price": price - 0.1}
    subscribers = _subscribers(rng, subscribed, addresses, list(plans), now)
    invoices = _invoices(rng, subscribers, plans, now)
    late = [row["subscriber_id"] for row in invoices.values() if row["payment"] == "overdue"]
    owing = [row["name"] for key, row in subscribers.items() if key in late]
    details = {"user": user, "subscriber": owing[0], "plan": business["plans"][1][0]}
    quiet = [row["name"] for row in subscribers.values() if row["name"] not in owing]
    story = {"quiet": [name for name in quiet if name not in subscribed[-2:]][:4], "paused": subscribed[-2:]}
    story |= {"owing": owing[:3], "new": [(name, addresses[name]) for name in new]}
    return Seed(
        {"plans": plans, "subscribers": subscribers, "invoices": invoices},
        situation["title"].format(**details),
        f"{business['company']} {situation['description'].format(**details)}",
        {"now": now, "user_name": user},
        {
            **story,
            **family.meet(shared, staff[:4], {name: addresses[name] for name in subscribed}, subscribed[:5]),
        },
    )


def month_after(day: str) -> str:
    """Return the same day of the next month, or its last day where it is shorter."""
    start = date.fromisoformat(day)
    year, month = start.year + start.month // 12, start.month % 12 + 1
    last = (date(year + month // 12, month % 12 + 1, 1) - date(year, month, 1)).days
    return date(year, month, min(start.day, last)).isoformat()


def _subscribers(
    rng: Random, names: list[str], addresses: dict[str, str], plans: list[str], now: str
) -> Table:
    """Five of the twelve have the second plan, the last two have paused."""
    subscribers: Table = {}
    shares = [0, 0, 1, 1, 1, 2, 2, 3]
    rng.shuffle(shares)
    days = iter(rng.sample(range(2, 28), 12))
    for place, (name, share) in enumerate(zip(names, [*shares, 1, 0, 1, 2], strict=True)):
        key, paused = _new_id("sub", name), place >= 10
        billing = day_after(now, next(days) + 28 * paused)
        row = {"subscriber_id": key, "name": name, "address": addresses[name], "plan_id": plans[share]}
        row |= {"status": "paused" if paused else "active", "since": day_after(now, -rng.randint(120, 900))}
        row |= {"next_billing": billing, "paused_until": billing if paused else "", "ends_on": ""}
        subscribers[key] = {**row, "credit": float(rng.choice((0, 0, 5, 10)))}
    return subscribers


def _invoices(rng: Random, subscribers: Table, plans: Table, now: str) -> Table:
    """Two invoices each; of four among the first five subscribers the latest is overdue, each for another number of days."""
    invoices: Table = {}
    late = rng.sample(list(subscribers)[:5], 4)
    ages = dict(zip(late, rng.sample(range(3, 40), 4), strict=True))
    for key, row in subscribers.items():
        due = day_after(now, -ages[key] if key in ages else -rng.randint(1, 20))
        for back in range(2):
            invoice_id = _new_id("inv", key, back)
            overdue = back == 0 and key in ages
            invoice = {
                "invoice_id": invoice_id,
                "subscriber_id": key,
                "amount": plans[row["plan_id"]]["price"],
            }
            invoice |= {
                "number": f"R-{int(invoice_id[4:], 16) % 90_000 + 10_000}",
                "due": day_after(due, -30 * back),
            }
            invoice |= {"issued": day_after(invoice["due"], -14), "payment": "overdue" if overdue else "paid"}
            invoice |= {"attempts": rng.randint(2, 4) if overdue else 1, "reminders": 0, "pay_by": ""}
            invoice |= {
                "failure": rng.choice(_FAILURES) if overdue else "",
                "paid_on": "" if overdue else invoice["due"],
            }
            invoices[invoice_id] = invoice
    return invoices


def _people(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    for group in ("quiet", "owing", "paused"):
        yield {"name": rng.choice(env.story[group])}
    if any(family.beside(env.story, domain) for domain in ("email", "support")):
        yield {"name": BOUND}


def _new_ones(env: Any, _rng: Random) -> list[dict[str, Any]]:
    return [{"name": name, "address": address} for name, address in env.story["new"]]


PROPOSALS: dict[str, Proposer] = {
    "find_subscriber": _people,
    "list_subscription_plans": lambda _env, _rng: [{}],
    "list_plan_subscribers": lambda _env, _rng: [{}],
    "enrol_subscriber": _new_ones,
    "switch_subscriber_plan": lambda _env, _rng: [{}],
    "pause_subscription": lambda env, rng: [{"until": day_after(env.now, rng.randint(35, 120))}],
    "resume_subscription": lambda _env, _rng: [{}],
    "end_subscription": lambda _env, rng: [
        {"reason": rng.choice(("cost", "relocation", "lack_of_use", "poor_service"))}
    ],
    "list_subscriber_invoices": lambda _env, _rng: [{}],
    "list_overdue_invoices": lambda _env, rng: [{}, {"days_late": rng.choice((5, 7, 10))}],
    "open_subscription_invoice": lambda _env, _rng: [{}],
    "send_payment_reminder": lambda _env, _rng: [{}],
    "retry_invoice_charge": lambda _env, _rng: [{}],
    "grant_subscriber_credit": lambda _env, rng: [{"amount": float(rng.choice((3, 5, 7.5, 10, 15)))}],
}
