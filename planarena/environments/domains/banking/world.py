"""Banking scenarios: a customer's first world, and the calls that the customer may ask for in it."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from planarena.environments.contract import BOUND, Environment, Proposer, Seed
from planarena.environments.domains import shared as common
from planarena.environments.domains.shared import day_after
from planarena.environments.state import Record

__all__ = ["PROPOSALS", "is_iban", "make_world"]

Table = dict[str, Record]
_new_id = Environment.new_id


def _iban(country: str, domestic: str) -> str:
    """Return the IBAN with its check digits (ISO 13616: the rearranged number is 1 modulo 97)."""
    return f"{country}{98 - _number(f'{domestic}{country}00') % 97:02d}{domestic}"


def _number(text: str) -> int:
    return int("".join(str(int(character, 36)) for character in text))


def is_iban(text: str) -> bool:
    """Say whether the check digits of an IBAN fit."""
    return _number(text[4:] + text[:4]) % 97 == 1


def _random_iban(rng: Random, words: dict[str, Any]) -> str:
    country = rng.choice(list(words["countries"]))
    rest = words["countries"][country] - 4
    return _iban(country, rng.choice(list(words["banks"])) + f"{rng.randrange(10**rest):0{rest}d}")


def _spread(rng: Random, low: float, high: float) -> float:
    return round(rng.uniform(low, high), 2)


def _accounts(rng: Random, words: dict[str, Any]) -> tuple[dict[str, str], Table, Table]:
    """Return the account names by role, the accounts and their cards.

    The low account cannot pay any open bill, so that money has to come from a savings goal first; the
    fourth account's card is frozen, so that it can be replaced without another step.
    """
    names = {role: rng.choice(choices) for role, choices in words["accounts"].items()}
    balances = {"main": (2400, 5600), "low": (18, 44), "third": (900, 1900), "fourth": (1100, 2300)}
    accounts: Table = {}
    cards: Table = {}
    for role, name in names.items():
        account_id, card_id = _new_id("ac", name), _new_id("cd", name)
        cards[card_id] = {
            "card_id": card_id, "account_id": account_id, "last_digits": f"{rng.randrange(10000):04d}",
            "status": "frozen" if role == "fourth" else "active",
            "daily_limit": float(rng.choice([500, 600, 800, 1000])),
        }  # fmt: skip
        accounts[account_id] = {
            "account_id": account_id, "name": name, "iban": _random_iban(rng, words),
            "balance": _spread(rng, *balances[role]), "card_id": card_id,
        }  # fmt: skip
    return names, accounts, cards


def _bills(rng: Random, words: dict[str, Any], now: str) -> Table:
    bills: Table = {}
    for category, kind in words["bills"].items():
        biller = rng.choice(kind["billers"])
        bill_id = _new_id("bl", biller, category)
        bills[bill_id] = {
            "bill_id": bill_id, "biller": biller, "biller_iban": _random_iban(rng, words),
            "category": category, "amount": _spread(rng, kind["low"], kind["high"]),
            "due_date": day_after(now, rng.randint(2, 24)), "status": "unpaid",
        }  # fmt: skip
    return bills


def _entries(rng: Random, words: dict[str, Any], now: str, accounts: Table) -> Table:
    entries: Table = {}
    for account_id in accounts:
        for number in range(13):
            if number == 0:
                text, amount = rng.choice(words["incomes"]), _spread(rng, 120, 900)
            else:
                merchant = rng.choice(words["merchants"])
                text, amount = merchant["name"], -_spread(rng, merchant["low"], merchant["high"])
            day = day_after(now, -rng.randint(1, 12 if number < 5 else 55))
            entry_id = _new_id("en", account_id, day, text, amount)
            entries[entry_id] = {"account_id": account_id, "date": day, "description": text, "amount": amount}
    return entries


def make_world(words: Any, rng: Random, shared: common.Shared | None) -> Seed:
    """Make a customer of the bank: about 100 records, of which every bill, goal and card can be acted on."""
    now = f"2026-{rng.randint(2, 11):02d}-{rng.randint(2, 27):02d}T09:00"
    now = common.keep(shared, "now", now)
    user, *others = common.draw_people(rng, 14, shared)
    new, known = others[:3], others[3:]
    joint = _joint(words, others, rng, shared)
    if joint:
        # Who is paid back is stored already; somebody not yet known takes the place among the new ones.
        new, known = others[-3:], [joint["owed"], *(name for name in others[:-3] if name != joint["owed"])]
    names, accounts, cards = _accounts(rng, words)
    orders: Table = {}
    for account_id, payee in zip(accounts, known[3:], strict=False):
        orders[_new_id("so", account_id, payee)] = {
            "account_id": account_id, "payee": payee, "amount": float(rng.randrange(15, 90, 5)),
            "frequency": rng.choice(["weekly", "monthly"]), "first_date": day_after(now, rng.randint(1, 28)),
        }  # fmt: skip
    goals: Table = {}
    for goal in dict.fromkeys([*joint.get("goal", ()), *rng.sample(words["goals"], 4)]):
        target = float(rng.randrange(2400, 6000, 100))
        goals[goal] = {"goal": goal, "target": target, "saved": round(target * rng.uniform(0.45, 0.8), 2)}
    focus = rng.sample(list(words["bills"]), 3)
    situation = rng.choice(common.in_season(words["situations"], now))
    details = {**names, "goal": next(iter(goals)), "category": focus[0], "person": new[0]}
    title, description = (situation[part].format(**details) for part in ("title", "text"))
    tables = {
        "accounts": accounts, "cards": cards,
        "payees": {name: {"payee": name, "iban": _random_iban(rng, words)} for name in known},
        "bills": _bills(rng, words, now), "goals": goals, "entries": _entries(rng, words, now, accounts),
        "standing_orders": orders,
    }  # fmt: skip
    city = common.keep(shared, "home_city", rng.choice(words["cities"]))
    story = {
        "accounts": list(names.values()),
        "new_payees": [{"name": name, "iban": _random_iban(rng, words)} for name in new],
        "known": known[:3], "bills": focus, "goals": list(goals)[:2],
        "next_month": f"{day_after(f'{now[:7]}-01', 32)[:7]}-01", **joint,
    }  # fmt: skip
    return Seed(tables, title, description, {"now": now, "user_name": user, "home_city": city}, story)


def _joint(
    words: dict[str, Any], others: list[str], rng: Random, shared: common.Shared | None
) -> dict[str, Any]:
    """Return what a scenario of several domains adds to the story: who is owed the other domain's amounts."""
    if shared is None:
        return {}
    lead = shared.get("lead", "")
    texts = words["joint"].get(lead, {})
    fields = {"city": shared.get("story", {}).get("there", "")}
    return {
        **common.meet(shared, others[:4]),
        "owed": rng.choice(texts["payees"]) if "payees" in texts else others[0],
        "purpose": rng.choice(texts.get("purposes", words["references"])).format(**fields),
        "goal": [rng.choice(texts["goals"]).format(**fields)] if "goals" in texts else [],
    }


def _statements(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    yield from ({}, {"since": f"{env.today[:7]}-01"})
    yield {"since": day_after(env.today, -rng.choice([7, 14]))}


def _replacements(_env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    first, second = rng.sample(["lost", "stolen", "damaged"], 2)
    yield {"reason": first}
    yield {"reason": second, "delivery": "express"}


def _transfers(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    references = rng.sample(env.seeds()["references"], 2)
    amounts = [float(amount) for amount in rng.sample(range(20, 240, 5), 2)]
    # Not the company whose amounts are to be paid, where there is one: it sends no presents.
    friend = env.story["known"][1 if "owed" in env.story else 0]
    yield {"payee": friend, "amount": amounts[0], "reference": references[0]}
    yield {"payee": BOUND, "amount": amounts[1]}
    if "owed" in env.story:
        yield {"payee": env.story["owed"], "amount": BOUND, "reference": env.story["purpose"]}
        yield {"payee": env.story["owed"], "amount": BOUND}
    else:
        yield {"payee": env.story["known"][1], "amount": BOUND, "reference": references[1]}
        yield {"payee": BOUND, "amount": BOUND}


def _standing_orders(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    start = env.story["next_month"]
    rhythm = rng.choice(["weekly", "quarterly"])
    amount = float(rng.randrange(15, 120, 5))
    yield {"payee": env.story["known"][2], "amount": amount, "frequency": rhythm, "first_date": start}
    yield {"payee": BOUND, "amount": amount + 10, "frequency": "monthly", "first_date": start}
    if "owed" in env.story:
        return  # what a journey or an order costs is not paid every month
    yield {"payee": BOUND, "amount": BOUND, "frequency": "monthly", "first_date": BOUND}
    yield {"payee": BOUND, "amount": BOUND, "frequency": "monthly", "first_date": start}


def _savings(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    for goal, amount in zip(env.story["goals"], rng.sample(range(25, 325, 25), 2), strict=True):
        yield {"goal": goal, "amount": float(amount)}
    if any(common.beside(env.story, domain) for domain in ("travel", "shopping", "energy")):
        yield {"goal": env.story["goals"][0], "amount": BOUND}


def _withdrawals(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    first, second = env.story["goals"]
    yield {"goal": first, "amount": BOUND}
    yield {"goal": first, "amount": float(rng.randrange(250, 600, 50))}
    yield {"goal": second, "amount": float(rng.randrange(100, 300, 20))}


PROPOSALS: dict[str, Proposer] = {
    "get_bank_account": lambda env, rng: [
        {"name": name} for name in (*env.story["accounts"][:2], rng.choice(env.story["accounts"][2:]))
    ],
    "get_account_statement": _statements, "freeze_card": lambda _env, _rng: [{}],
    "replace_card": _replacements,
    "set_card_limit": lambda _env, rng: [
        {"daily_limit": float(limit)} for limit in rng.sample([150, 200, 250, 300, 750, 1200, 1500], 3)
    ],
    "add_payee": lambda env, rng: [*rng.sample(env.story["new_payees"], 2), {"name": BOUND, "iban": BOUND}],
    "transfer_money": _transfers, "create_standing_order": _standing_orders,
    "find_unpaid_bill": lambda env, rng: [{"category": one} for one in rng.sample(env.story["bills"], 3)],
    "pay_bill": lambda _env, _rng: [{}], "save_to_goal": _savings, "withdraw_from_goal": _withdrawals,
}  # fmt: skip
