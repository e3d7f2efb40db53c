"""Making drives: one situation's documents with their history, and everyday ones around them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random
from typing import Any

from planarena.environments.contract import BOUND, Environment, Proposer, Seed
from planarena.environments.domains.shared import Shared, draw_people, keep, mail_of, meet
from planarena.environments.state import Record

__all__ = ["PROPOSALS", "make_drive"]

Table = dict[str, Record]
_ROLES = ("viewer", "commenter", "editor")
_new_id = Environment.new_id


class _Drive:
    """A drive that fills up: documents with their versions, and who else may see them."""

    def __init__(self, texts: Any, situation: Any, now: datetime, rng: Random) -> None:
        self.everyday, self.sizes = texts["everyday"], texts["sizes"]
        self.situation, self.now, self.rng = situation, now, rng
        folders = (*situation["folders"], *self.everyday["folders"])
        self.folders = {name: _new_id("fld", name) for name in folders}
        self.documents: Table = {}
        self.versions: Table = {}
        self.shares: Table = {}

    def before(self, hours: int) -> str:
        """Return a moment so many hours ago."""
        moment = self.now - timedelta(hours=hours, minutes=self.rng.randint(0, 59))
        return moment.isoformat(timespec="minutes")

    def add(self, title: str, kind: str, folder: str, owner: str, history: list[tuple[str, str]]) -> Record:
        """Add a document; `history` is the authors and notes of its versions, the oldest first."""
        rng, document_id = self.rng, _new_id("doc", title, folder)
        low, high = self.sizes[kind]
        age = rng.randint(2, 60) + 30 * len(history)
        for number, (author, note) in enumerate(history, 1):
            version_id = _new_id("ver", document_id, number)
            age -= rng.randint(5, 25)
            last = self.versions[version_id] = {
                "version_id": version_id, "document_id": document_id, "number": number,
                "saved": self.before(max(age, 1) + 24), "author": author, "note": note,
                "size_mb": rng.randint(low, high) / 10,
            }  # fmt: skip
        tags = (self.situation if folder in self.situation["folders"] else self.everyday)["tags"]
        record = self.documents[document_id] = {
            "document_id": document_id, "title": title, "kind": kind, "folder_id": self.folders[folder],
            "owner": owner, "modified": last["saved"], "size_mb": last["size_mb"],
            "tags": sorted(rng.sample(tags, rng.randint(1, 2))),
        }  # fmt: skip
        return record

    def share(self, document_id: str, address: str) -> None:
        """Let somebody see a document."""
        share_id = _new_id("shr", document_id, address)
        self.shares[share_id] = {
            "share_id": share_id, "document_id": document_id, "address": address,
            "role": self.rng.choice(_ROLES), "granted": self.before(self.rng.randint(200, 900)),
        }  # fmt: skip


def make_drive(texts: Any, rng: Random, shared: Shared | None = None) -> Seed:
    """Make a drive; in a scenario of several domains its people are on it, and customers are guests."""
    situation = rng.choice(texts["situations"])
    now = datetime(2026, rng.randint(1, 12), rng.randint(1, 28), 9, 0)
    now = datetime.fromisoformat(keep(shared, "now", now.isoformat()))
    situation = texts["joint"].get((shared or {}).get("lead"), situation)
    names = draw_people(rng, 7, shared)
    domain = rng.choice(texts["domains"])
    address = {name: mail_of(name, domain, shared) for name in names}
    address[names[0]] = keep(shared, "user_address", address[names[0]])
    user, team, outsiders = names[0], names[1:5], names[5:]
    drive = _Drive(texts, situation, now, rng)
    trash = _fill(drive, user, team, address)
    kept = [*drive.documents.values(), *(entry["document"] for entry in trash.values())]
    sizes = [record["size_mb"] for record in kept]
    # Room for several copies of most documents, yet not for one more of everything.
    quota = round(sum(sizes) + max(sizes) * rng.uniform(1.2, 2.5))
    tables: dict[str, Table] = {
        "folders": {key: {"folder_id": key, "folder": name} for name, key in drive.folders.items()},
        "documents": drive.documents, "versions": drive.versions, "shares": drive.shares, "trash": trash,
        "people": {name: {"name": name, "address": address[name]} for name in names},
        "account": {"quota": {"quota_mb": float(quota)}},
    }  # fmt: skip
    facts = {"now": now.isoformat(timespec="minutes"), "user_name": user, "user_address": address[user]}
    story = {
        "topic": situation["title"], "team": [name.split()[0] for name in team],
        "owners": sorted({record["owner"] for record in drive.documents.values()} - {user}) or [user],
        "guests": [address[name] for name in (*outsiders, team[3])], **meet(shared, names[1:], address),
    }  # fmt: skip
    return Seed(tables, situation["title"], situation["description"], facts, story)


def _fill(drive: _Drive, user: str, team: list[str], address: dict[str, str]) -> Table:
    """Add the situation's documents, which others see, and everyday ones; return what lies in the trash."""
    rng, situation, everyday = drive.rng, drive.situation, drive.everyday
    for title, kind, place in situation["documents"]:
        owner = rng.choice([user, *team[:3]])
        notes = [everyday["notes"][1], *rng.sample(situation["notes"], rng.randint(1, 3))]
        history = [(rng.choice([user, *team]), note) for note in notes]
        document = drive.add(title, kind, situation["folders"][place], owner, history)
        for person in rng.sample([name for name in [user, *team] if name != owner], rng.randint(1, 2)):
            drive.share(document["document_id"], address[person])
    for title, kind in rng.sample(everyday["documents"], 7):
        drive.add(title, kind, rng.choice(everyday["folders"]), user, [(user, rng.choice(everyday["notes"]))])
    trash: Table = {}
    for title, kind in rng.sample(everyday["trashed"], 3):
        notes = [everyday["notes"][1], rng.choice(situation["notes"])]
        folder = rng.choice(list(drive.folders))
        document = drive.add(title, kind, folder, user, [(rng.choice([user, *team]), note) for note in notes])
        del drive.documents[document["document_id"]]
        trash_id = _new_id("tra", document["document_id"])
        deleted = drive.before(rng.randint(30, 500))
        trash[trash_id] = {"trash_id": trash_id, "deleted": deleted, "document": document}
    return trash


def _situation(env: Any) -> dict[str, Any]:
    texts = env.seeds()
    situations = [*texts["situations"], *texts["joint"].values()]
    return next(item for item in situations if item["title"] == env.story["topic"])


def _two_new(env: Any, kind: str, rng: Random) -> list[str]:
    """Return two names for what does not exist yet, the first at times of the situation, else of everyday life."""
    everyday = env.seeds()["everyday"]
    person, day = rng.choice(env.story["team"]), rng.choice(everyday["days"])
    texts = [text.format(person=person, day=day) for text in rng.sample(everyday[kind], 2)]
    return [rng.choice(_situation(env)[kind]) if rng.random() < 0.4 else texts[0], texts[1]]


def _find(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    topic = _situation(env)
    yield {"folder": rng.choice(topic["folders"])}
    # One telling word of a title, or what only copies made later are called.
    title = rng.choice([*topic["documents"], ["copy"]])[0]
    yield {"keyword": max(title.lower().split(), key=len)}
    if rng.random() < 0.5:
        yield {"kind": rng.choice(("text", "spreadsheet", "pdf")), "tag": rng.choice(topic["tags"])}
    else:
        yield {"owner": rng.choice(env.story["owners"])}
    yield {"folder": BOUND}
    if "beside" in env.story:
        yield {"owner": BOUND}


def _share(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    first, second = rng.sample(env.story["guests"], 2)
    yield {"address": first, "role": rng.choice(("viewer", "commenter"))}
    yield {"address": BOUND if "beside" in env.story else second, "role": "editor"}
    yield {"address": BOUND, "role": rng.choice(_ROLES)}


PROPOSALS: dict[str, Proposer] = {
    "find_documents": _find, "get_document_details": lambda _env, _rng: [{}],
    "list_document_versions": lambda _env, _rng: [{}], "restore_document_version": lambda _env, _rng: [{}],
    "create_document_folder": lambda env, rng: [{"name": name} for name in _two_new(env, "new_folders", rng)],
    "move_document": lambda _env, _rng: [{}],
    "copy_document": lambda env, rng: [{"title": title} for title in _two_new(env, "copies", rng)],
    "share_document": _share,
    # One only: a share changed twice in a request would be a change undone.
    "change_document_access": lambda _env, rng: [{"role": rng.choice(_ROLES)}],
    "tag_document": lambda env, rng: [{"tag": tag} for tag in _two_new(env, "new_tags", rng)],
    "check_drive_storage": lambda _env, _rng: [{}], "restore_trashed_document": lambda _env, _rng: [{}],
}  # fmt: skip
