"""Making mailboxes: one situation with five threads that matter, and everyday mail around them."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from planarena.environments.contract import BOUND, Environment, Proposer, Seed, all_bound
from planarena.environments.domains import shared as common
from planarena.environments.domains.shared import Rows, Table, day_after, keyed, later

__all__ = ["PROPOSALS", "make_mailbox"]

_new_id = Environment.new_id
# Those of the labels of every mailbox that suit any message.
_FOR_ANYTHING = ("Important", "Pending", "Reading")


def fill_slots(text: str, slots: dict[str, list[str]], rng: Random) -> str:
    """Fill in the day, hour and number that a text leaves open."""
    return text.format_map({name: rng.choice(words) for name, words in slots.items()})


def make_mailbox(texts: Any, rng: Random, shared: common.Shared | None = None) -> Seed:
    """Make a mailbox; in a scenario of several domains, everybody known there is in the address book."""
    situation = rng.choice(texts["situations"])
    if shared is not None:
        situation = texts["joint"].get(shared.get("lead"), situation)
    now = common.keep(shared, "now", f"2026-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}T09:00")
    names = common.draw_people(rng, 16 if shared is None else 22, shared, clients=True)
    domain = rng.choice(texts["work_domains"])
    address = {name: common.mail_of(name, domain, shared) for name in names}
    address[names[0]] = common.keep(shared, "user_address", address[names[0]])
    user, known, strangers = names[0], names[1:-4], names[-4:-1]
    # Two of the four people who write most are not in the address book yet.
    contacts_of = [*known[:2], *known[4:]] if shared is None else known
    messages: Table = {}

    def add(sender: str, text: Mapping[str, str], files: list[str], hours: int) -> None:
        date = later(now, -60 * hours - rng.randint(0, 59))
        message_id = _new_id("msg", sender, text["subject"], date)
        messages[message_id] = {
            "message_id": message_id, "thread_id": _new_id("thr", text["subject"].removeprefix("Re: ")),
            "subject": text["subject"], "sender": sender, "sender_address": address[sender],
            "recipient_address": address[user], "date": date, "folder": "archive" if hours > 400 else "inbox",
            "body": fill_slots(text["body"], texts["slots"], rng),
            "labels": [rng.choice(_FOR_ANYTHING)] if rng.random() < 0.4 else [],
            "attachments": [
                {"attachment_id": _new_id("att", message_id, one), "file_name": one,
                 "size_mb": rng.randint(1, 90) / 10} for one in files
            ],
        }  # fmt: skip

    # Five threads of the situation with one or two answers each.
    senders = [*known[:3], *strangers[:2]]
    rng.shuffle(senders)
    threads = rng.sample(situation["threads"], 5)
    for thread, sender in zip(threads, senders, strict=True):
        age = rng.randint(30, 300)
        add(sender, thread, thread["files"], age)
        for _ in range(rng.randint(1, 2)):
            other, age = rng.choice(known[:4]), age - rng.randint(2, 12)
            body = rng.choice(texts["everyday"]["replies"])
            files = thread["files"][:1] if rng.random() < 0.6 else []
            add(other, {"subject": f"Re: {thread['subject']}", "body": body}, files, age)
    # Companies write, every other one a month before, too; fewer where other domains stand beside.
    companies = rng.sample(texts["companies"], 8 if shared is None else 4)
    address |= {company["name"]: f"service@{company['domain']}" for company in companies}
    for place, company in enumerate(companies):
        for months in range(1 + place % 2):
            files = [company["file"]] if rng.random() < 0.7 else []
            add(company["name"], company, files, rng.randint(20, 300) + 720 * months)
    for name in known[4 : 10 if shared is None else 6]:
        subject = f"Question: {rng.choice(threads)['keyword']}"
        question = {"subject": subject, "body": rng.choice(texts["everyday"]["questions"])}
        add(name, question, [], rng.randint(410, 900))
    contacts = keyed("address", [
        {"name": name, "address": address[name], "phone": f"+49 30 {rng.randint(1000000, 9999999)}",
         "group": rng.choice(("work", "work", "work", "family", "personal"))} for name in contacts_of
    ])  # fmt: skip
    labels = texts["existing_labels"]
    used = sorted({label for message in messages.values() for label in message["labels"]})
    tables: dict[str, Table] = {
        "messages": messages, "contacts": contacts,
        "labels": {label: {"label": label} for label in labels}, "drafts": {}, "answered": {}, "filters": {},
    }  # fmt: skip
    met = [name for name in known if shared and name not in shared.get("clients", ())]
    story = {
        "topic": situation["title"], "outside": common.mail_of(strangers[2], "postbox.example", None),
        "keywords": [thread["keyword"] for thread in threads], "contacts": [*known[:2], known[4]],
        "people": known[:4], "company_address": address[companies[1]["name"]],
        "strangers": [*strangers[:2], companies[0]["name"]], "used_labels": used or [labels[0]],
        **common.meet(shared, met, {name: address[name] for name in (user, *known)}),
    }  # fmt: skip
    facts = {"now": now, "user_name": user, "user_address": address[user]}
    return Seed(tables, situation["title"], situation["description"], facts, story)


def _texts(env: Any, kind: str, rng: Random) -> list[Any]:
    """Return two texts to write that suit any message and anybody: to whom they go is open."""
    return rng.sample(env.seeds()["everyday"][kind], 2)


def _search(env: Any, rng: Random) -> Rows:
    person, other = rng.sample(env.story["people"][:3], 2)
    yield {"sender": person}
    yield {"sender": rng.choice(env.story["strangers"])}
    if "beside" in env.story:
        yield {"sender": BOUND}
    keyword = rng.choice(env.story["keywords"])
    yield {"keyword": keyword, "folder": "inbox"} if rng.random() < 0.5 else {"keyword": keyword}
    last = rng.randrange(3)
    if last == 0:
        yield {"folder": "sent"}
    elif last == 1:
        yield {"label": rng.choice(env.story["used_labels"])}
    else:
        yield {"sender": other, "folder": rng.choice(("inbox", "archive"))}


def _draft(env: Any, rng: Random) -> Rows:
    other = BOUND if "beside" in env.story else rng.choice((BOUND, env.story["outside"]))
    for to, mail in zip((BOUND, other), _texts(env, "mails", rng), strict=True):
        # A day in the subject is the day in the text.
        slots = {name: [rng.choice(words)] for name, words in env.seeds()["slots"].items()}
        yield {"to": to, **{part: fill_slots(mail[part], slots, rng) for part in ("subject", "body")}}


def _send(env: Any, rng: Random) -> Rows:
    yield {}
    yield {"send_at": f"{day_after(env.now, rng.randint(1, 4))}T{rng.randint(7, 10):02d}{env.now[13:]}"}
    if common.beside(env.story, "calendar"):
        yield {"send_at": BOUND}


PROPOSALS: dict[str, Proposer] = {
    "search_emails": _search, "draft_new_email": _draft, "send_email_draft": _send,
    "find_email_contact": lambda env, rng: [
        *({"name": name} for name in rng.sample(env.story["contacts"], 2)), {"name": BOUND},
    ],
    # One only: the same sender is not saved twice. Whoever it is, they write to an address at work.
    "save_sender_as_contact": lambda _env, _rng: [{"group": "work"}],
    "draft_email_reply": lambda env, rng: [
        {"body": fill_slots(body, env.seeds()["slots"], rng)} for body in _texts(env, "replies", rng)
    ],
    "create_email_label": lambda env, rng: [{"label": label} for label in _texts(env, "labels", rng)],
    "label_email": lambda _env, rng: [{"label": BOUND}, {"label": rng.choice(_FOR_ANYTHING)}],
    "create_email_filter": lambda env, rng: [
        *({"sender_address": BOUND, "label": one} for one in (BOUND, rng.choice(_FOR_ANYTHING))),
        {"sender_address": env.story["company_address"], "label": BOUND},
    ],
    **all_bound("open_email", "get_email_thread", "attach_file_to_draft"),
}  # fmt: skip
