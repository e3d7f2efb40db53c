"""Banking scenarios: a customer's first world, and the calls that the customer may ask for in it."""

from __future__ import annotations

from random import Random
from typing import Any, Literal, get_args

from planarena.environments.contract import BOUND, Environment, Proposer, Seed, all_bound
from planarena.environments.domains import shared as common
from planarena.environments.domains.shared import Rows, Table, day_after, keyed, keyed_by_content

__all__ = ["PROPOSALS", "BillCategory", "Loss", "iban_remainder", "make_world"]

BillCategory = Literal["electricity", "gas", "water", "internet", "phone", "insurance", "rent", "gym"]
Loss = Literal["lost", "stolen", "damaged"]
ENTRY = "account_id date description amount"
_new_id = Environment.new_id


def make_world(words: Any, rng: Random, shared: common.Shared | None) -> Seed:
    """Make a customer of the bank: about 100 records, of which every bill, goal and card can be acted on."""
    now = common.keep(shared, "now", f"2026-{rng.randint(2, 11):02d}-{rng.randint(2, 27):02d}T09:00")
    user, *others = common.draw_people(rng, 14, shared)
    new, known = others[:3], others[3:]
    joint = _joint(words, others, rng, shared)
    if joint:
        # Who is paid back is stored already; somebody not yet known takes the place among the new ones.
        new, known = others[-3:], [joint["owed"], *(name for name in others[:-3] if name != joint["owed"])]
    names = {role: rng.choice(kind["names"]) for role, kind in words["accounts"].items()}
    accounts, cards = _accounts(rng, words, names)
    orders = keyed_by_content("so", "account_id payee", _orders(rng, now, accounts, known[3:]))
    goals = Table()
    for goal in dict.fromkeys([*joint.get("goal", ()), *rng.sample(words["goals"], 4)]):
        target = float(rng.randrange(2400, 6000, 100))
        goals[goal] = {"goal": goal, "target": target, "saved": round(target * rng.uniform(0.45, 0.8), 2)}
    focus = rng.sample(list(words["bills"]), 3)
    situation = rng.choice(common.in_season(words["situations"], now))
    details = {**names, "goal": next(iter(goals)), "category": focus[0], "person": new[0]}
    tables = {
        "accounts": accounts, "cards": cards,
        "payees": {name: {"payee": name, "iban": _iban(rng, words)} for name in known},
        "bills": keyed("bill_id", _bills(rng, words, now)), "goals": goals,
        "entries": keyed_by_content("en", ENTRY, _entries(rng, words, now, accounts)),
        "standing_orders": orders,
    }  # fmt: skip
    city = common.keep(shared, "home_city", rng.choice(words["cities"]))
    story = {
        "accounts": list(names.values()), "known": known[:3], "bills": focus, "goals": list(goals)[:2],
        "new_payees": [{"name": name, "iban": _iban(rng, words)} for name in new],
        "next_month": f"{day_after(f'{now[:7]}-01', 32)[:7]}-01", **joint,
    }  # fmt: skip
    facts = {"now": now, "user_name": user, "home_city": city}
    return Seed(tables, *common.caption(situation, details), facts, story)


def _joint(words: Any, others: list[str], rng: Random, shared: common.Shared | None) -> dict[str, Any]:
    """Return what a scenario of several domains adds to the story: who is owed the other domain's amounts."""
    if shared is None:
        return {}
    texts = words["joint"].get(shared.get("lead", ""), {})
    fields = {"city": shared.get("story", {}).get("there", "")}
    return {
        **common.meet(shared, others[:4]),
        "owed": rng.choice(texts["payees"]) if "payees" in texts else others[0],
        "purpose": rng.choice(texts.get("purposes", words["references"])).format(**fields),
        "goal": [rng.choice(texts["goals"]).format(**fields)] if "goals" in texts else [],
    }


def _accounts(rng: Random, words: Any, names: dict[str, str]) -> tuple[Table, Table]:
    """Return the accounts and their cards, of a status that suits the role of the account."""
    accounts, cards = Table(), Table()
    for role, name in names.items():
        account_id, card_id = _new_id("ac", name), _new_id("cd", name)
        cards[card_id] = {
            "card_id": card_id, "account_id": account_id, "last_digits": f"{rng.randrange(10000):04d}",
            "status": words["accounts"][role]["card"],
            "daily_limit": float(rng.choice([500, 600, 800, 1000])),
        }  # fmt: skip
        accounts[account_id] = {
            "account_id": account_id, "name": name, "iban": _iban(rng, words),
            "balance": _within(rng, words["accounts"][role]), "card_id": card_id,
        }  # fmt: skip
    return accounts, cards


def _orders(rng: Random, now: str, accounts: Table, payees: list[str]) -> Rows:
    for account_id, payee in zip(accounts, payees, strict=False):
        yield {
            "account_id": account_id, "payee": payee, "amount": float(rng.randrange(15, 90, 5)),
            "frequency": rng.choice(["weekly", "monthly"]), "first_date": day_after(now, rng.randint(1, 28)),
        }  # fmt: skip


def _bills(rng: Random, words: Any, now: str) -> Rows:
    for category, kind in words["bills"].items():
        biller = rng.choice(kind["billers"])
        yield {
            "bill_id": _new_id("bl", biller, category), "biller": biller, "biller_iban": _iban(rng, words),
            "category": category, "amount": _within(rng, kind),
            "due_date": day_after(now, rng.randint(2, 24)), "status": "unpaid",
        }  # fmt: skip


def _entries(rng: Random, words: Any, now: str, accounts: Table) -> Rows:
    """Thirteen bookings of each account, an income first; the first five are of the last days."""
    for account_id in accounts:
        for number in range(13):
            if number == 0:
                text, amount = rng.choice(words["incomes"]["names"]), _within(rng, words["incomes"])
            else:
                merchant = rng.choice(words["merchants"])
                text, amount = merchant["name"], -_within(rng, merchant)
            day = day_after(now, -rng.randint(1, 12 if number < 5 else 55))
            yield {"account_id": account_id, "date": day, "description": text, "amount": amount}


def _within(rng: Random, limits: dict[str, float]) -> float:
    """Draw an amount of euros between two limits."""
    return round(rng.uniform(limits["low"], limits["high"]), 2)


def _iban(rng: Random, words: Any) -> str:
    country = rng.choice(list(words["countries"]))
    rest = words["countries"][country] - 4
    domestic = rng.choice(list(words["banks"])) + f"{rng.randrange(10**rest):0{rest}d}"
    return f"{country}{98 - iban_remainder(f'{country}00{domestic}'):02d}{domestic}"


def iban_remainder(text: str) -> int:
    """Return a rearranged IBAN's remainder by 97: 1 where the check digits fit (ISO 13616)."""
    return int("".join(str(int(character, 36)) for character in text[4:] + text[:4])) % 97


def _transfers(env: Any, rng: Random) -> Rows:
    first, second = rng.sample(env.seeds()["references"], 2)
    amount, other = (float(euros) for euros in rng.sample(range(20, 240, 5), 2))
    # Not the company whose amounts are to be paid, where there is one: it sends no presents.
    owed, (friend, *others) = env.story.get("owed"), env.story["known"]
    yield {"payee": others[0] if owed else friend, "amount": amount, "reference": first}
    yield {"payee": BOUND, "amount": other}
    purpose = env.story["purpose"] if owed else second
    yield {"payee": owed or others[0], "amount": BOUND, "reference": purpose}
    yield {"payee": owed or BOUND, "amount": BOUND}


def _standing_orders(env: Any, rng: Random) -> Rows:
    start, rhythm = env.story["next_month"], rng.choice(["weekly", "quarterly"])
    amount = float(rng.randrange(15, 120, 5))
    yield {"payee": env.story["known"][2], "amount": amount, "frequency": rhythm, "first_date": start}
    bound = {"payee": BOUND, "amount": BOUND, "frequency": "monthly", "first_date": start}
    yield {**bound, "amount": amount + 10}
    if "owed" not in env.story:  # what a journey or an order costs is not paid every month
        yield from ({**bound, "first_date": BOUND}, bound)


def _savings(env: Any, rng: Random) -> Rows:
    for goal, amount in zip(env.story["goals"], rng.sample(range(25, 325, 25), 2), strict=True):
        yield {"goal": goal, "amount": float(amount)}
    if any(common.beside(env.story, domain) for domain in ("travel", "shopping", "energy")):
        yield {"goal": env.story["goals"][0], "amount": BOUND}


PROPOSALS: dict[str, Proposer] = {
    **all_bound("freeze_card", "pay_bill"), "transfer_money": _transfers,
    "create_standing_order": _standing_orders, "save_to_goal": _savings,
    "get_bank_account": lambda env, rng: [
        {"name": name} for name in (*env.story["accounts"][:2], rng.choice(env.story["accounts"][2:]))
    ],
    "get_account_statement": lambda env, rng: [
        {}, {"since": f"{env.today[:7]}-01"}, {"since": day_after(env.today, -rng.choice([7, 14]))},
    ],
    "replace_card": lambda _env, rng: [
        {"reason": reason, **delivery}
        for reason, delivery in zip(rng.sample(get_args(Loss), 2), ({}, {"delivery": "express"}), strict=True)
    ],
    "set_card_limit": lambda _env, rng: [
        {"daily_limit": float(limit)} for limit in rng.sample([150, 200, 250, 300, 750, 1200, 1500], 3)
    ],
    "add_payee": lambda env, rng: [*rng.sample(env.story["new_payees"], 2), {"name": BOUND, "iban": BOUND}],
    "find_unpaid_bill": lambda env, rng: [{"category": one} for one in rng.sample(env.story["bills"], 3)],
    "withdraw_from_goal": lambda env, rng: [
        {"goal": env.story["goals"][0], "amount": BOUND},
        {"goal": env.story["goals"][0], "amount": float(rng.randrange(250, 600, 50))},
        {"goal": env.story["goals"][1], "amount": float(rng.randrange(100, 300, 20))},
    ],
}  # fmt: skip
