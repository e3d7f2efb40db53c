"""Making drives: one situation's documents with their history, and everyday ones around them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random
from typing import Any

from planarena.environments.contract import BOUND, Environment, Seed, proposals
from planarena.environments.domains.shared import Shared, cast_people, keep, load_people, mail_of, meet
from planarena.environments.state import Record

__all__ = ["FilesScenario"]

_new_id = Environment.new_id
_SIZES_MB = {
    "text": (1, 30),
    "spreadsheet": (1, 60),
    "presentation": (30, 240),
    "pdf": (5, 120),
    "image": (20, 180),
}


def make_drive(texts: Any, rng: Random, shared: Shared | None = None) -> Seed:
    """Make a drive; in a scenario of several domains its people are on it, and customers are guests."""
    people = load_people()
    situation, everyday = rng.choice(texts["situations"]), texts["everyday"]
    now = datetime(2026, rng.randint(1, 12), rng.randint(1, 28), 9, 0)
    if shared is not None:
        situation = texts["joint"].get(shared.get("lead"), situation)
        now = datetime.fromisoformat(keep(shared, "now", now.isoformat()))
    names = [
        f"{first} {last}"
        for first, last in zip(rng.sample(people["given"], 7), rng.sample(people["family"], 7), strict=True)
    ]
    names = cast_people(names, shared)
    domain = rng.choice(texts["domains"])
    address = {name: mail_of(name, domain, shared) for name in names}
    address[names[0]] = keep(shared, "user_address", address[names[0]])
    user, team, outsiders = names[0], names[1:5], names[5:]
    folder_names = [*situation["folders"], *everyday["folders"]]
    folder_ids = {name: _new_id("fld", name) for name in folder_names}
    documents: dict[str, Record] = {}
    versions: dict[str, Record] = {}
    shares: dict[str, Record] = {}

    def before(hours: int) -> str:
        return (now - timedelta(hours=hours, minutes=rng.randint(0, 59))).isoformat(timespec="minutes")

    def add(title: str, kind: str, folder: str, owner: str, history: list[tuple[str, str]]) -> Record:
        """`history`: the authors and notes of the versions, the oldest first."""
        document_id = _new_id("doc", title, folder)
        low, high = _SIZES_MB[kind]
        age = rng.randint(2, 60) + 30 * len(history)
        for number, (author, note) in enumerate(history, 1):
            version_id = _new_id("ver", document_id, number)
            age -= rng.randint(5, 25)
            versions[version_id] = {
                "version_id": version_id,
                "document_id": document_id,
                "number": number,
                "saved": before(max(age, 1) + 24),
                "author": author,
                "note": note,
                "size_mb": rng.randint(low, high) / 10,
            }
        last = versions[version_id]
        record = documents[document_id] = {
            "document_id": document_id,
            "title": title,
            "kind": kind,
            "folder_id": folder_ids[folder],
            "owner": owner,
            "modified": last["saved"],
            "size_mb": last["size_mb"],
            "tags": sorted(
                rng.sample(
                    situation["tags"] if folder in situation["folders"] else everyday["tags"],
                    rng.randint(1, 2),
                )
            ),
        }
        return record

    for title, kind, place in situation["documents"]:
        folder = situation["folders"][place]
        owner = rng.choice([user, *team[:3]])
        notes = [everyday["notes"][1], *rng.sample(situation["notes"], rng.randint(1, 3))]
        document = add(title, kind, folder, owner, [(rng.choice([user, *team]), note) for note in notes])
        for person in rng.sample([name for name in [user, *team] if name != owner], rng.randint(1, 2)):
            share_id = _new_id("shr", document["document_id"], address[person])
            shares[share_id] = {
                "share_id": share_id,
                "document_id": document["document_id"],
                "address": address[person],
                "role": rng.choice(("viewer", "commenter", "editor")),
                "granted": before(rng.randint(200, 900)),
            }
    for title, kind in rng.sample(everyday["documents"], 7):
        add(title, kind, rng.choice(everyday["folders"]), user, [(user, rng.choice(everyday["notes"]))])
    trash: dict[str, Record] = {}
    for title, kind in rng.sample(everyday["trashed"], 3):
        notes = [everyday["notes"][1], rng.choice(situation["notes"])]
        document = add(
            title, kind, rng.choice(folder_names), user, [(rng.choice([user, *team]), note) for note in notes]
        )
        del documents[document["document_id"]]
        trash_id = _new_id("tra", document["document_id"])
        trash[trash_id] = {
            "trash_id": trash_id,
            "deleted": before(rng.randint(30, 500)),
            "document": document,
        }

    kept = [*documents.values(), *(entry["document"] for entry in trash.values())]
    sizes = [record["size_mb"] for record in kept]
    # Room for several copies of most documents, yet not for one more of everything.
    quota = round(sum(sizes) + max(sizes) * rng.uniform(1.2, 2.5))
    tables: dict[str, dict[str, Record]] = {
        "folders": {key: {"folder_id": key, "folder": name} for name, key in folder_ids.items()},
        "documents": documents,
        "versions": versions,
        "shares": shares,
        "trash": trash,
        "people": {name: {"name": name, "address": address[name]} for name in names},
        "account": {"quota": {"quota_mb": float(quota)}},
    }
    return Seed(
        tables,
        situation["title"],
        situation["description"],
        {"now": now.isoformat(timespec="minutes"), "user_name": user, "user_address": address[user]},
        {
            "topic": situation["title"],
            "team": [name.split()[0] for name in team],
            "owners": sorted({record["owner"] for record in documents.values()} - {user}) or [user],
            "guests": [*(address[name] for name in outsiders), address[team[3]]],
            **meet(shared, names[1:], address),
        },
    )


class FilesScenario(Environment):
    """A drive around one situation, and what its user would ask for."""

    @classmethod
    def seed(cls, rng: Random, shared: Shared | None = None) -> Seed:
        """Make a drive around one situation."""
        return make_drive(cls.seeds(), rng, shared)

    @property
    def _situation(self) -> dict[str, Any]:
        texts = self.seeds()
        situations = [*texts["situations"], *texts["joint"].values()]
        return next(item for item in situations if item["title"] == self.story["topic"])

    def _two_new(self, kind: str, rng: Random) -> list[str]:
        """Return two names for what does not exist yet, one of the situation and one of everyday life."""
        everyday = self.seeds()["everyday"]
        person, day = rng.choice(self.story["team"]), rng.choice(everyday["days"])
        return [rng.choice(self._situation[kind]), rng.choice(everyday[kind]).format(person=person, day=day)]

    @proposals("find_documents")
    def _propose_find(self, rng: Random) -> Iterator[dict[str, Any]]:
        topic = self._situation
        yield {"folder": rng.choice(topic["folders"])}
        # One telling word of a title, or what only copies made later are called.
        title = rng.choice([*topic["documents"], ["copy"]])[0]
        yield {"keyword": max(title.lower().split(), key=len)}
        if rng.random() < 0.5:
            yield {"kind": rng.choice(("text", "spreadsheet", "pdf")), "tag": rng.choice(topic["tags"])}
        else:
            yield {"owner": rng.choice(self.story["owners"])}
        yield {"folder": BOUND}
        if "beside" in self.story:
            yield {"owner": BOUND}

    @proposals("get_document_details")
    def _propose_details(self, _rng: Random) -> Iterator[dict[str, Any]]:
        yield {}

    @proposals("list_document_versions")
    def _propose_versions(self, _rng: Random) -> Iterator[dict[str, Any]]:
        yield {}

    @proposals("restore_document_version")
    def _propose_restore(self, _rng: Random) -> Iterator[dict[str, Any]]:
        yield {}

    @proposals("create_document_folder")
    def _propose_folder(self, rng: Random) -> Iterator[dict[str, Any]]:
        for name in self._two_new("new_folders", rng):
            yield {"name": name}

    @proposals("move_document")
    def _propose_move(self, _rng: Random) -> Iterator[dict[str, Any]]:
        yield {}

    @proposals("copy_document")
    def _propose_copy(self, rng: Random) -> Iterator[dict[str, Any]]:
        for title in self._two_new("copies", rng):
            yield {"title": title}

    @proposals("share_document")
    def _propose_share(self, rng: Random) -> Iterator[dict[str, Any]]:
        first, second = rng.sample(self.story["guests"], 2)
        yield {"address": first, "role": rng.choice(("viewer", "commenter"))}
        yield {"address": BOUND if "beside" in self.story else second, "role": "editor"}
        yield {"address": BOUND, "role": rng.choice(("viewer", "commenter", "editor"))}

    @proposals("change_document_access")
    def _propose_access(self, rng: Random) -> Iterator[dict[str, Any]]:
        # One only: a share changed twice in a request would be a change undone.
        yield {"role": rng.choice(("viewer", "commenter", "editor"))}

    @proposals("tag_document")
    def _propose_tag(self, rng: Random) -> Iterator[dict[str, Any]]:
        for tag in self._two_new("new_tags", rng):
            yield {"tag": tag}

    @proposals("check_drive_storage")
    def _propose_storage(self, _rng: Random) -> Iterator[dict[str, Any]]:
        yield {}

    @proposals("restore_trashed_document")
    def _propose_untrash(self, _rng: Random) -> Iterator[dict[str, Any]]:
        yield {}
