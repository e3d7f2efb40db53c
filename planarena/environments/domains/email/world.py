"""Making mailboxes: one situation with five threads that matter, and everyday mail around them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
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

__all__ = ["EmailScenario"]

_new_id = Environment.new_id


def fill_slots(text: str, slots: dict[str, list[str]], rng: Random) -> str:
    """Fill in the day, hour and number that a text leaves open."""
    return text.format_map({name: rng.choice(words) for name, words in slots.items()})


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
    labels = texts["existing_labels"]
    messages: dict[str, Record] = {}

    def add(sender: str, at: str, text: dict[str, str], files: list[str], age_hours: int) -> None:
        date = (now - timedelta(hours=age_hours, minutes=rng.randint(0, 59))).isoformat(timespec="minutes")
        message_id = _new_id("msg", sender, text["subject"], date)
        messages[message_id] = {
            "message_id": message_id,
            "thread_id": _new_id("thr", text["subject"].removeprefix("Re: ")),
            "subject": text["subject"],
            "sender": sender,
            "sender_address": at,
            "recipient_address": address[user],
            "date": date,
            "folder": "archive" if age_hours > 400 else "inbox",
            "body": fill_slots(text["body"], texts["slots"], rng),
            "labels": [rng.choice(labels)] if rng.random() < 0.4 else [],
            "attachments": [
                {
                    "attachment_id": _new_id("att", message_id, name),
                    "file_name": name,
                    "size_mb": rng.randint(1, 90) / 10,
                }
                for name in files
            ],
        }

    senders = [*known[:3], strangers[0], strangers[1]]
    rng.shuffle(senders)
    threads = rng.sample(situation["threads"], 5)
    for thread, sender in zip(threads, senders, strict=True):
        age = rng.randint(30, 300)
        add(sender, address[sender], thread, thread["files"], age)
        for _ in range(rng.randint(1, 2)):
            other, age = rng.choice(known[:4]), age - rng.randint(2, 12)
            answer = {"subject": f"Re: {thread['subject']}", "body": rng.choice(situation["replies"])}
            add(other, address[other], answer, thread["files"][:1] if rng.random() < 0.6 else [], age)
    # Less of everyday mail where other domains stand beside: the whole scenario keeps its size.
    companies = rng.sample(texts["companies"], 8 if shared is None else 4)
    for place, company in enumerate(companies):
        at = f"service@{company['domain']}"
        for months in range(1 + place % 2):
            files = [company["file"]] if rng.random() < 0.7 else []
            add(company["name"], at, company, files, rng.randint(20, 300) + 720 * months)
    for name in known[4 : 10 if shared is None else 6]:
        question = {
            "subject": f"Question: {rng.choice(threads)['keyword']}",
            "body": rng.choice(situation["replies"]),
        }
        add(name, address[name], question, [], rng.randint(410, 900))

    contacts = {
        address[name]: {
            "name": name,
            "address": address[name],
            "phone": f"+49 30 {rng.randint(1000000, 9999999)}",
            "group": rng.choice(("work", "work", "family", "personal", "supplier")),
        }
        for name in contacts_of
    }
    used = sorted({label for message in messages.values() for label in message["labels"]})
    tables: dict[str, dict[str, Record]] = {
        "messages": messages,
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


class EmailScenario(Environment):
    """A mailbox around one situation, and what its owner would ask for."""

    @classmethod
    def seed(cls, rng: Random, shared: Shared | None = None) -> Seed:
        """Make a mailbox around one situation."""
        return make_mailbox(cls.seeds(), rng, shared)

    @property
    def _situation(self) -> dict[str, Any]:
        texts = self.seeds()
        situations = [*texts["situations"], *texts["joint"].values()]
        return next(item for item in situations if item["title"] == self.story["topic"])

    @proposals("search_emails")
    def _propose_search(self, rng: Random) -> Iterator[dict[str, Any]]:
        person, other = rng.sample(self.story["people"][:3], 2)
        yield {"sender": person}
        yield {"sender": rng.choice(self.story["strangers"])}
        if "beside" in self.story:
            yield {"sender": BOUND}
        yield {
            "keyword": rng.choice(self.story["keywords"]),
            **({"folder": "inbox"} if rng.random() < 0.5 else {}),
        }
        last = rng.randrange(3)
        if last == 0:
            yield {"folder": "sent"}
        elif last == 1:
            yield {"label": rng.choice(self.story["used_labels"])}
        else:
            yield {"sender": other, "folder": rng.choice(("inbox", "archive"))}

    @proposals("open_email")
    def _propose_open(self, _rng: Random) -> Iterator[dict[str, Any]]:
        yield {}

    @proposals("get_email_thread")
    def _propose_thread(self, _rng: Random) -> Iterator[dict[str, Any]]:
        yield {}

    @proposals("find_email_contact")
    def _propose_contact(self, rng: Random) -> Iterator[dict[str, Any]]:
        for name in rng.sample(self.story["contacts"], 2):
            yield {"name": name}
        yield {"name": BOUND}

    @proposals("save_sender_as_contact")
    def _propose_save(self, rng: Random) -> Iterator[dict[str, Any]]:
        # One only: the same sender is not saved twice.
        yield {"group": rng.choice(("work", "personal", "supplier"))}

    @proposals("draft_new_email")
    def _propose_draft(self, rng: Random) -> Iterator[dict[str, Any]]:
        for to, mail in zip(
            (BOUND, BOUND if "beside" in self.story else rng.choice((BOUND, self.story["outside"]))),
            rng.sample(self._situation["mails"], 2),
            strict=True,
        ):
            body = fill_slots(mail["body"], self.seeds()["slots"], rng)
            yield {"to": to, "subject": mail["subject"], "body": body}

    @proposals("draft_email_reply")
    def _propose_reply(self, rng: Random) -> Iterator[dict[str, Any]]:
        for body in rng.sample(self._situation["replies"], 2):
            yield {"body": fill_slots(body, self.seeds()["slots"], rng)}

    @proposals("attach_file_to_draft")
    def _propose_attach(self, _rng: Random) -> Iterator[dict[str, Any]]:
        yield {}

    @proposals("send_email_draft")
    def _propose_send(self, rng: Random) -> Iterator[dict[str, Any]]:
        yield {}
        day = datetime.fromisoformat(self.now) + timedelta(days=rng.randint(1, 4))
        yield {"send_at": day.replace(hour=rng.randint(7, 10)).isoformat(timespec="minutes")}
        if beside(self.story, "calendar"):
            yield {"send_at": BOUND}

    @proposals("create_email_label")
    def _propose_label(self, rng: Random) -> Iterator[dict[str, Any]]:
        for label in rng.sample(self._situation["labels"], 2):
            yield {"label": label}

    @proposals("label_email")
    def _propose_labelling(self, rng: Random) -> Iterator[dict[str, Any]]:
        yield {"label": BOUND}
        yield {"label": rng.choice(self.story["used_labels"])}

    @proposals("create_email_filter")
    def _propose_filter(self, rng: Random) -> Iterator[dict[str, Any]]:
        yield {"sender_address": BOUND, "label": BOUND}
        yield {"sender_address": BOUND, "label": rng.choice(self.story["used_labels"])}
        yield {"sender_address": self.story["company_address"], "label": BOUND}
