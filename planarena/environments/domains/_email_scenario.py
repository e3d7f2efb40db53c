"""Making mailboxes: one situation with five threads that matter, and everyday mail around them."""

from __future__ import annotations

from datetime import datetime, timedelta
from random import Random

from planarena.data import load_yaml
from planarena.environments.environment import Environment, Seed
from planarena.environments.state import Record

__all__ = ["fill_slots", "make_mailbox"]

_new_id = Environment.new_id


def fill_slots(text: str, rng: Random) -> str:
    """Fill in the day, hour and number that a text leaves open."""
    slots = load_yaml("seeds/email.yaml")["slots"]
    return text.format_map({name: rng.choice(words) for name, words in slots.items()})


def make_mailbox(rng: Random) -> Seed:
    """Make a mailbox, a pure function of `rng`."""
    texts, people = load_yaml("seeds/email.yaml"), load_yaml("seeds/people.yaml")
    situation = rng.choice(texts["situations"])
    now = datetime(2026, rng.randint(1, 12), rng.randint(1, 28), 9, 0)
    given, family = rng.sample(people["given"], 16), rng.sample(people["family"], 16)
    names = [f"{first} {last}" for first, last in zip(given, family, strict=True)]
    domain = rng.choice(texts["work_domains"])
    address = {name: f"{name.replace(' ', '.').lower()}@{domain}" for name in names}
    user, known, strangers = names[0], names[1:12], names[12:15]
    # Two of the four people who write most are not in the address book yet.
    contacts_of = [*known[:2], *known[4:]]
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
            "body": fill_slots(text["body"], rng),
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
    companies = rng.sample(texts["companies"], 8)
    for place, company in enumerate(companies):
        at = f"service@{company['domain']}"
        for months in range(1 + place % 2):
            files = [company["file"]] if rng.random() < 0.7 else []
            add(company["name"], at, company, files, rng.randint(20, 300) + 720 * months)
    for name in known[4:10]:
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
        },
    )
