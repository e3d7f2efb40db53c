"""Making the claims desk of an insurer: people with policies, the damage that they reported, and loss adjusters."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from planarena.environments.contract import BOUND, Environment, Proposer, Seed
from planarena.environments.domains import shared as family
from planarena.environments.domains.shared import day_after, working_day
from planarena.environments.state import Record

__all__ = ["CAUSES", "PROPOSALS", "make_desk", "new_claim"]

CAUSES = {
    "motor": ("collision", "hail", "broken_glass"),
    "household": ("burst_pipe", "fire", "storm"),
    "travel": ("lost_luggage", "cancelled_trip", "illness"),
}
_DOCUMENTS = ("photographs", "receipts", "claim_form", "bank_details")
# Kind -> least and most of an estimate, of the excess and of the cover, in euros.
_SUMS = {
    "motor": ((400, 4800), (150, 500), (20000, 50000)),
    "household": ((300, 6400), (100, 250), (15000, 45000)),
    "travel": ((180, 1900), (50, 100), (3000, 8000)),
}
Table = dict[str, Record]
_new_id = Environment.new_id


def make_desk(texts: Any, rng: Random, shared: family.Shared | None = None) -> Seed:
    """Make a desk, a pure function of `rng` and `shared`; colleagues known are adjusters, clients are insured."""
    people = family.load_people()
    situation = rng.choice(texts["situations"])
    now = f"2026-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}T{rng.choice(('08:00', '09:15', '10:40', '13:20'))}"
    now = family.keep(shared, "now", now)
    drawn = zip(rng.sample(people["given"], 18), rng.sample(people["family"], 18), strict=True)
    names = family.cast_people([f"{first} {last}" for first, last in drawn], shared)
    user, staff, others = names[0], names[1:7], names[7:]
    known = [name for name in (shared or {}).get("clients", ()) if name not in names[:7]]
    insured = list(dict.fromkeys([*known, *others]))[:10]
    policies = _policies(rng, insured, now)
    claims = _claims(rng, texts, policies, now)
    towns = rng.sample(texts["towns"], 10)
    adjusters, holders = Table(), Table()
    for place, name in enumerate(staff):
        # Of two adjusters for a kind, the first has time sooner and more to do.
        later = place % 2
        adjuster_id, kind = _new_id("adj", name), list(CAUSES)[place // 2]
        adjuster = {"adjuster_id": adjuster_id, "name": name, "town": towns[place], "kind": kind}
        adjuster |= {"open_files": rng.randint(3, 13) + 14 * (1 - later)}
        adjusters[adjuster_id] = {**adjuster, "next_visit": working_day(now, rng.randint(1, 4) + 5 * later)}
    addresses = {name: family.mail_of(name, rng.choice(texts["mail_domains"]), shared) for name in insured}
    for name in insured:
        holder = {"holder_id": _new_id("hld", name), "name": name, "address": addresses[name]}
        holders[holder["holder_id"]] = {**holder, "town": rng.choice(towns)}
    tables = {"holders": holders, "policies": policies, "claims": claims, "adjusters": adjusters}
    waiting = [row for row in claims.values() if row["status"] == "open"]
    details = {"user": user, "holder": waiting[0]["holder"], "adjuster": staff[0], "town": towns[0]}
    story = {"holders": [row["holder"] for row in waiting][:5], "kinds": rng.sample(list(CAUSES), 3)}
    return Seed(
        tables,
        situation["title"].format(**details),
        situation["description"].format(**details),
        {"now": now, "user_name": user},
        {**story, **family.meet(shared, staff, addresses, insured[:5])},
    )


def new_claim(policy: Record, cause: str, incident: str, estimate: float, today: str) -> Record:
    """Return a claim under a policy for which nothing has been done yet."""
    claim_id = _new_id("icl", policy["policy_id"], cause, incident)
    number = f"C-{today[2:4]}-{int(claim_id[4:], 16) % 90_000 + 10_000}"
    claim: Record = {"claim_id": claim_id, "number": number, "account": "Taken down on the telephone."}
    claim |= {key: policy[key] for key in ("policy_id", "holder", "kind")}
    claim |= {"cause": cause, "incident": incident, "reported": today, "estimate": estimate, "reserve": 0.0}
    return {**claim, "status": "open", "reason": "", "adjuster": "", "visit_on": "", "missing": []}


def _policies(rng: Random, insured: list[str], now: str) -> Table:
    """One policy for everybody and a second one for some."""
    policies: Table = {}
    for place, holder in enumerate(insured):
        kinds = [list(CAUSES)[place % 3], list(CAUSES)[(place + 1) % 3]]
        for kind in kinds[: 1 + (place % 3 != 2)]:
            _, (low, high), (least, most) = _SUMS[kind]
            policy_id = _new_id("pol", holder, kind)
            number = f"{kind[0].upper()}-{int(policy_id[4:], 16) % 900_000 + 100_000}"
            policy: Record = {"policy_id": policy_id, "number": number, "holder": holder, "kind": kind}
            policy |= {"cover": float(rng.randrange(least, most + 1, 1000))}
            policy |= {"excess": float(rng.randrange(low, high + 1, 50))}
            policies[policy_id] = {**policy, "valid_until": day_after(now, rng.randint(40, 700))}
    return policies


def _claims(rng: Random, texts: Any, policies: Table, now: str) -> Table:
    """An open claim for everybody under the first policy; some have documents missing, some a visit ahead."""
    claims: Table = {}
    first = {row["holder"]: row for row in reversed(policies.values())}
    days = iter(rng.sample(range(2, 60), len(first)))
    accounts = {kind: rng.sample(texts["accounts"][kind], 6) for kind in CAUSES}
    for place, policy in enumerate(reversed(first.values())):
        low, high = _SUMS[policy["kind"]][0]
        told = accounts[policy["kind"]].pop()
        reported = day_after(now, -next(days))
        incident, estimate = day_after(reported, -rng.randint(1, 9)), float(rng.randrange(low, high, 10))
        claim = new_claim(policy, told["cause"], incident, estimate, reported)
        missing = sorted(rng.sample(_DOCUMENTS, (0, 1, 0, 2, 1)[place % 5]))
        claim |= {
            "account": told["text"],
            "missing": missing,
            "reserve": float(rng.randrange(200, 3000, 100)),
        }
        claims[claim["claim_id"]] = claim
    return claims


def _reports(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    for kind in env.story["kinds"][:2]:
        low, high = _SUMS[kind][0]
        incident = day_after(env.now, -rng.randint(1, 9))
        yield {
            "cause": rng.choice(CAUSES[kind]),
            "incident": incident,
            "estimate": float(rng.randrange(low, high, 10)),
        }


def _holders(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    yield from ({"name": name} for name in rng.sample(env.story["holders"], 2))
    # Those who write are insured; colleagues are not.
    if family.beside(env.story, "email") and not family.beside(env.story, "calendar"):
        yield {"name": BOUND}


def _documents(_env: Any, rng: Random) -> list[dict[str, Any]]:
    return [{"document": document} for document in rng.sample(_DOCUMENTS, 2)]


PROPOSALS: dict[str, Proposer] = {
    "find_policyholder": _holders,
    "get_insurance_policy": lambda _env, _rng: [{}],
    "list_pending_claims": lambda env, _rng: [{"kind": kind} for kind in env.story["kinds"][:2]],
    "open_claim_file": lambda _env, _rng: [{}],
    "register_damage_report": _reports,
    "find_loss_adjusters": lambda env, _rng: [{"kind": kind} for kind in env.story["kinds"][:2]],
    "assign_loss_adjuster": lambda _env, _rng: [{}],
    "move_adjuster_visit": lambda env, rng: [{"date": working_day(env.now, rng.randint(13, 24))}],
    "request_claim_document": _documents,
    "record_claim_document": _documents,
    "set_claim_reserve": lambda _env, rng: [{"amount": float(rng.randrange(500, 6000, 250))}],
    "approve_claim_payout": lambda _env, rng: [{}, {"amount": float(rng.randrange(50, 400, 50))}],
    "decline_insurance_claim": lambda _env, rng: [
        {"reason": rng.choice(("not_covered", "duplicate", "unproven"))}
    ],
}
