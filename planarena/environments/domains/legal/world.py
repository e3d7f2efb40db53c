"""Making a law office: four matters with their deadlines, documents, parties and fee notes, and five lawyers."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any, Literal, get_args

from planarena.environments.contract import BOUND, Environment, Proposer, Seed
from planarena.environments.domains import shared as scenes
from planarena.environments.state import Record

__all__ = ["PROPOSALS", "Part", "make_office"]

Part = Literal["client", "witness", "expert", "opposing lawyer"]
PARTS: tuple[str, ...] = get_args(Part)
Table = dict[str, Record]
_new_id = Environment.new_id


def _working_day(now: str, days: int) -> str:
    return scenes.first_working_day(scenes.day_after(now, days))


def make_office(texts: Any, rng: Random, shared: scenes.Shared | None = None) -> Seed:
    """Make a law office, a pure function of `rng` and `shared`."""
    people = scenes.load_people()
    now = f"2026-{rng.randint(1, 11):02d}-{rng.randint(1, 28):02d}T{rng.choice(('08:30', '10:40', '14:05'))}"
    now = scenes.keep(shared, "now", now)
    given, family = rng.sample(people["given"], 22), rng.sample(people["family"], 22)
    names = [f"{first} {last}" for first, last in zip(given, family, strict=True)]
    user, *others = scenes.cast_people(names, shared)
    lawyers, parties = others[:5], others[5:]
    tables: dict[str, Table] = {
        name: {} for name in ("matters", "deadlines", "documents", "parties", "notes")
    }
    tables |= {"lawyers": {}, "entries": {}}
    for name in lawyers:
        lawyer_id = _new_id("law", name)
        tables["lawyers"][lawyer_id] = {"lawyer_id": lawyer_id, "name": name}
    # Of five lawyers no two have as many deadlines: one, two, three, four and five.
    load = [name for place, name in enumerate(rng.sample(lawyers, 5)) for _ in range(place + 1)]
    rng.shuffle(load)
    opponents, tasks = rng.sample(texts["opponents"], 4), iter(rng.sample(texts["tasks"], 15))
    days = iter(rng.sample(range(2, 46), 15))
    for place, opponent in enumerate(opponents):
        four = parties[4 * place : 4 * place + 4]
        matter = f"{four[0].rsplit(' ', 1)[-1]} v {opponent}"
        matter_id, hours = _new_id("mat", matter), 0.5 * rng.randint(4, 36)
        tables["matters"][matter_id] = {
            "matter_id": matter_id, "matter": matter, "client": four[0], "court": rng.choice(texts["courts"]),
            "lawyer": lawyers[place], "rate": float(10 * rng.randint(16, 32)), "unbilled_hours": hours,
        }  # fmt: skip
        for nth, (name, role) in enumerate(zip(four, PARTS, strict=True)):
            party_id, email = _new_id("pty", matter_id, name), scenes.mail_of(name, "example.net", shared)
            tables["parties"][party_id] = {
                "party_id": party_id, "matter_id": matter_id, "name": name, "role": role, "email": email,
                "place": nth,
            }  # fmt: skip
        for _ in range(4 if place else 3):
            task, due = next(tasks), _working_day(now, next(days))
            deadline_id = _new_id("ddl", matter_id, task)
            tables["deadlines"][deadline_id] = {
                "deadline_id": deadline_id, "matter_id": matter_id, "task": task, "due": due,
                "lawyer": load.pop(), "met": "",
            }  # fmt: skip
        _papers(rng, tables, matter_id, texts["documents"], now)
        if rng.random() < 0.7:
            number, amount = f"{now[2:4]}-{rng.randint(1000, 9999)}", float(10 * rng.randint(40, 390))
            note = {"number": number, "matter_id": matter_id, "amount": amount}
            pay_by = _working_day(now, rng.randint(-20, 20))
            tables["notes"][_new_id("fee", matter_id, "before")] = {**note, "pay_by": pay_by}
    matters = [row["matter"] for row in tables["matters"].values()]
    situation = rng.choice(scenes.in_season(texts["situations"], now))
    told = {
        "user": user,
        "matter": matters[0],
        "other": matters[1],
        "client": parties[0],
        "lawyer": lawyers[0],
    }
    story = {
        "matters": matters,
        "lawyers": lawyers,
        **scenes.meet(
            shared, lawyers, {row["name"]: row["email"] for row in tables["parties"].values()}, parties[::4]
        ),
    }
    title, description = (situation[key].format(**told) for key in ("title", "description"))
    return Seed(tables, title, description, {"now": now, "user_name": user, "matters": matters}, story)


def _papers(
    rng: Random, tables: dict[str, Table], matter_id: str, papers: list[dict[str, str]], now: str
) -> None:
    """Five documents a matter, changed on different days: two or three are signed, one or two are drafts."""
    states = ["signed", "signed", rng.choice(("signed", "draft")), "draft", rng.choice(("draft", "filed"))]
    rng.shuffle(states)
    ages = rng.sample(range(1, 40), 5)
    for paper, status, age in zip(rng.sample(papers, 5), states, ages, strict=True):
        document_id = _new_id("doc", matter_id, paper["title"])
        tables["documents"][document_id] = {
            "document_id": document_id, "matter_id": matter_id, "document": paper["title"], "status": status,
            "signer": paper["signer"], "changed": scenes.day_after(now, -age),
        }  # fmt: skip


def _deadlines(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    yield {"until": _working_day(env.now, rng.choice((8, 11, 14)))}
    lawyer = rng.choice(sorted({row["lawyer"] for row in env.rows("deadlines", met="")}))
    yield {"until": _working_day(env.now, rng.choice((12, 15, 18))), "lawyer": lawyer}


def _hours(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    for activity in rng.sample(env.seeds()["activities"], 2):
        # Nobody is on the telephone, or writes a letter, for five hours.
        short = any(word in activity for word in ("call", "letter"))
        yield {
            "activity": activity,
            "hours": rng.choice((0.5, 1.0, 1.5) if short else (1.5, 2.0, 2.5, 3.0, 3.5, 4.5, 5.0)),
        }


def _documents(_env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    yield {}
    yield {"status": rng.choice(("draft", "signed", "signed"))}


PROPOSALS: dict[str, Proposer] = {
    "open_matter_file": lambda env, rng: [
        {"matter": one} for one in [*rng.sample(env.story["matters"], 2), BOUND]
    ],
    "list_deadlines_ahead": _deadlines,
    "extend_deadline": lambda env, rng: [{"due": _working_day(env.now, rng.randint(52, 75))}],
    "mark_deadline_met": lambda _env, _rng: [{}],
    "list_lawyer_workload": lambda _env, _rng: [{}],
    "hand_over_deadline": lambda _env, _rng: [{}],
    "record_billable_hours": _hours,
    "get_fee_statement": lambda _env, _rng: [{}],
    "issue_fee_note": lambda env, rng: [{"pay_by": _working_day(env.now, rng.randint(12, 35))}],
    "list_case_documents": _documents,
    "send_for_signature": lambda _env, _rng: [{}],
    "file_with_court": lambda _env, _rng: [{}],
    "list_case_parties": lambda _env, _rng: [{}],
}
