"""Making mailboxes: one situation with five threads that matter, and everyday mail around them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random
from typing import Any

from planarena.environments.contract import BOUND, Environment, Proposer, Seed
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

__all__ = ["PROPOSALS", "make_mailbox"]

_new_id = Environment.new_id
# Those of the labels of every mailbox that suit any message.
_FOR_ANYTHING = ("Important", "Pending", "Reading")


def fill_slots(text: str, slots: dict[str, list[str]], rng: Random) -> str:
    """Fill in the day, hour and number that a text leaves open."""
    return text.format_map({name: rng.choice(words) for name, words in slots.items()})


class _Mailbox:
    """A mailbox that fills up."""

    def __init__(self, texts: Any, address: str, now: datetime, rng: Random) -> None:
        self.texts, self.address, self.now, self.rng = texts, address, now, rng
        self.messages: dict[str, Record] = {}

    def add(self, sender: str, at: str, text: dict[str, str], files: list[str], age_hours: int) -> None:
        """Add a message that came so many hours ago."""
        rng = self.rng
        date = self.now - timedelta(hours=age_hours, minutes=rng.randint(0, 59))
        message_id = _new_id("msg", sender, text["subject"], date.isoformat(timespec="minutes"))
        self.messages[message_id] = {
            "message_id": message_id,
            "thread_id": _new_id("thr", text["subject"].removeprefix("Re: ")),
            "subject": text["subject"],
            "sender": sender,
            "sender_address": at,
            "recipient_address": self.address,
            "date": date.isoformat(timespec="minutes"),
            "folder": "archive" if age_hours > 400 else "inbox",
            "body": fill_slots(text["body"], self.texts["slots"], rng),
            "labels": [rng.choice(_FOR_ANYTHING)] if rng.random() < 0.4 else [],
            "attachments": [
                {
                    "attachment_id": _new_id("att", message_id, name),
                    "file_name": name,
                    "size_mb": rng.randint(1, 90) / 10,
                }
                for name in files
            ],
        }


def make_mailbox(texts: Any, rng: Random, shared: Shared | None = None) -> Seed:
    """Make a mailbox; in a scenario of several domains, everybody known there is in the address book."""
    people = load_people()
    situation = rng.choice(texts["situations"])
    now = datetime(2026, rng.randint(1, 12), rng.randint(1, 28), 9, 0)
    if shared is not None:
        situation = texts["joint"].get(shared.get("lead"), situation)
        now = datetime.fromisoformat(keep(shared, "now", now.isoformat()))
    drawn = 16 if shared is None else 22
    given, family = rng.sample(people["given"], drawn), rng.sample(people["family"], drawn)
    names = [f"{first} {last}" for first, last in zip(given, family, strict=True)]
    names = cast_people(names, shared, clients=True)
    domain = rng.choice(texts["work_domains"])
    address = {name: mail_of(name, domain, shared) for name in names}
    address[names[0]] = keep(shared, "user_address", address[names[0]])
    user, known, strangers = names[0], names[1 : drawn - 4], names[drawn - 4 : drawn - 1]
    # Two of the four people who write most are not in the address book yet.
    contacts_of = [*known[:2], *known[4:]] if shared is None else known
    box = _Mailbox(texts, address[user], now, rng)
    threads = _fill_threads(box, situation, known, strangers, address)
    # Less of everyday mail where other domains stand beside: the whole scenario keeps its size.
    companies = rng.sample(texts["companies"], 8 if shared is None else 4)
    _fill_everyday(box, companies)
    for name in known[4 : 10 if shared is None else 6]:
        subject = f"Question: {rng.choice(threads)['keyword']}"
        question = {"subject": subject, "body": rng.choice(texts["everyday"]["questions"])}
        box.add(name, address[name], question, [], rng.randint(410, 900))
    contacts = {
        address[name]: {
            "name": name,
            "address": address[name],
            "phone": f"+49 30 {rng.randint(1000000, 9999999)}",
            "group": rng.choice(("work", "work", "work", "family", "personal")),
        }
        for name in contacts_of
    }
    labels = texts["existing_labels"]
    used = sorted({label for message in box.messages.values() for label in message["labels"]})
    tables: dict[str, dict[str, Record]] = {
        "messages": box.messages,
        "contacts": contacts,
        "labels": {label: {"label": label} for label in labels},
        "drafts": {},
        "answered": {},
        "filters": {},
    }
    return Seed(
        tables,
        situation["title"],
        situation["description"],
        {"now": now.isoformat(timespec="minutes"), "user_name": user, "user_address": address[user]},
        {
            "topic": situation["title"],
            "keywords": [thread["keyword"] for thread in threads],
            "people": known[:4],
            "contacts": [*known[:2], known[4]],
            "strangers": [*strangers[:2], companies[0]["name"]],
            "outside": f"{strangers[2].replace(' ', '.').lower()}@postbox.example",
            "company_address": f"service@{companies[1]['domain']}",
            "used_labels": used or [labels[0]],
            **meet(
                shared,
                [name for name in known if shared and name not in shared.get("clients", ())],
                {name: address[name] for name in (user, *known)},
            ),
        },
    )


def _fill_threads(
    box: _Mailbox, situation: Any, known: list[str], strangers: list[str], address: dict[str, str]
) -> list[dict[str, Any]]:
    """Add five of the situation's threads with one or two answers each, and return them."""
    rng = box.rng
    senders = [*known[:3], *strangers[:2]]
    rng.shuffle(senders)
    threads: list[dict[str, Any]] = rng.sample(situation["threads"], 5)
    for thread, sender in zip(threads, senders, strict=True):
        age = rng.randint(30, 300)
        box.add(sender, address[sender], thread, thread["files"], age)
        for _ in range(rng.randint(1, 2)):
            other, age = rng.choice(known[:4]), age - rng.randint(2, 12)
            answer = {
                "subject": f"Re: {thread['subject']}",
                "body": rng.choice(box.texts["everyday"]["replies"]),
            }
            box.add(other, address[other], answer, thread["files"][:1] if rng.random() < 0.6 else [], age)
    return threads


def _fill_everyday(box: _Mailbox, companies: list[dict[str, str]]) -> None:
    """Let companies write; every other one wrote a month before, too."""
    rng = box.rng
    for place, company in enumerate(companies):
        for months in range(1 + place % 2):
            files = [company["file"]] if rng.random() < 0.7 else []
            age = rng.randint(20, 300) + 720 * months
            box.add(company["name"], f"service@{company['domain']}", company, files, age)


def _texts(env: Any, kind: str, rng: Random) -> list[Any]:
    """Return two texts to write that suit any message and anybody: to whom they go is open."""
    return rng.sample(env.seeds()["everyday"][kind], 2)


def _search(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    person, other = rng.sample(env.story["people"][:3], 2)
    yield {"sender": person}
    yield {"sender": rng.choice(env.story["strangers"])}
    if "beside" in env.story:
        yield {"sender": BOUND}
    yield {
        "keyword": rng.choice(env.story["keywords"]),
        **({"folder": "inbox"} if rng.random() < 0.5 else {}),
    }
    last = rng.randrange(3)
    if last == 0:
        yield {"folder": "sent"}
    elif last == 1:
        yield {"label": rng.choice(env.story["used_labels"])}
    else:
        yield {"sender": other, "folder": rng.choice(("inbox", "archive"))}


def _draft(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    for to, mail in zip(
        (BOUND, BOUND if "beside" in env.story else rng.choice((BOUND, env.story["outside"]))),
        _texts(env, "mails", rng),
        strict=True,
    ):
        # A day in the subject is the day in the text.
        slots = {name: [rng.choice(words)] for name, words in env.seeds()["slots"].items()}
        subject, body = (fill_slots(mail[part], slots, rng) for part in ("subject", "body"))
        yield {"to": to, "subject": subject, "body": body}


def _send(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    yield {}
    day = datetime.fromisoformat(env.now) + timedelta(days=rng.randint(1, 4))
    yield {"send_at": day.replace(hour=rng.randint(7, 10)).isoformat(timespec="minutes")}
    if beside(env.story, "calendar"):
        yield {"send_at": BOUND}


PROPOSALS: dict[str, Proposer] = {
    "search_emails": _search,
    "open_email": lambda _env, _rng: [{}],
    "get_email_thread": lambda _env, _rng: [{}],
    "find_email_contact": lambda env, rng: [
        *({"name": name} for name in rng.sample(env.story["contacts"], 2)),
        {"name": BOUND},
    ],
    # One only: the same sender is not saved twice. Whoever it is, they write to an address at work.
    "save_sender_as_contact": lambda _env, _rng: [{"group": "work"}],
    "draft_new_email": _draft,
    "draft_email_reply": lambda env, rng: [
        {"body": fill_slots(body, env.seeds()["slots"], rng)} for body in _texts(env, "replies", rng)
    ],
    "attach_file_to_draft": lambda _env, _rng: [{}],
    "send_email_draft": _send,
    "create_email_label": lambda env, rng: [{"label": label} for label in _texts(env, "labels", rng)],
    "label_email": lambda _env, rng: [{"label": BOUND}, {"label": rng.choice(_FOR_ANYTHING)}],
    "create_email_filter": lambda env, rng: [
        {"sender_address": BOUND, "label": BOUND},
        {"sender_address": BOUND, "label": rng.choice(_FOR_ANYTHING)},
        {"sender_address": env.story["company_address"], "label": BOUND},
    ],
}
