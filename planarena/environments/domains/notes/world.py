"""Making notebooks: two about one situation, four of every day, and tasks inside the notes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from random import Random
from typing import Any

from planarena.environments.contract import BOUND, Environment, Seed, proposals
from planarena.environments.domains.boards.world import working_days
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

__all__ = ["NotesScenario"]

Table = dict[str, Record]
_new_id = Environment.new_id


def make_notebooks(texts: Any, rng: Random, shared: Shared | None = None) -> Seed:
    """Make somebody's notebooks, a pure function of `rng` and `shared`."""
    people = load_people()
    situation = rng.choice(texts["situations"])
    now = datetime(2026, rng.randint(1, 12), rng.randint(1, 28), rng.randint(8, 18), 20)
    now = datetime.fromisoformat(keep(shared, "now", now.isoformat()))
    days = working_days(now.date(), 10)
    given, family = rng.sample(people["given"], 6), rng.sample(people["family"], 6)
    names = [f"{first} {last}" for first, last in zip(given, family, strict=True)]
    user, *friends = cast_people(names, shared)
    # Beside a calendar the friends are colleagues.
    home = "example.com" if shared and "calendar" in shared.get("beside", ()) else "postbox.example"
    address = {name: mail_of(name, home, shared) for name in friends}
    notes: Table = {}
    tasks: Table = {}

    def add(notebook: str, note: dict[str, Any], author: str, hours: int) -> None:
        edited = (now - timedelta(hours=hours, minutes=rng.randint(0, 59))).isoformat(timespec="minutes")
        note_id = _new_id("nte", notebook, note["title"])
        notes[note_id] = {
            "note_id": note_id,
            "title": note["title"],
            "notebook": notebook,
            "author": author,
            "text": note["text"],
            "tags": sorted(note.get("tags", [])),
            "created": (date.fromisoformat(edited[:10]) - timedelta(days=rng.randint(0, 90))).isoformat(),
            "edited": edited,
        }
        for text in note.get("tasks", []):
            task_id = _new_id("ntk", note_id, text)
            due = rng.choice(days[:8])
            tasks[task_id] = {"task_id": task_id, "note_id": note_id, "text": text, "due": due, "done": False}

    for note in situation["notes"]:
        add(rng.choice(situation["notebooks"]), note, rng.choice(friends[:3]), rng.randint(2, 200))
    everyday = texts["everyday"]
    for notebook in everyday:
        for note in rng.sample(everyday[notebook], 6 if shared is None else 4):
            add(notebook, note, rng.choice([user, user, *friends]), rng.randint(30, 4000))
    notebooks = [*situation["notebooks"], *everyday]
    return Seed(
        {
            "notebooks": {name: {"notebook": name} for name in notebooks},
            "notes": notes,
            "tasks": tasks,
            "shares": {},
        },
        situation["title"],
        situation["description"].format(user=user, person=friends[0]),
        {"now": now.isoformat(timespec="minutes"), "user_name": user},
        {
            "topic": situation["title"],
            "notebooks": situation["notebooks"],
            "everyday": rng.sample(sorted(everyday), 2),
            "addresses": [address[name] for name in friends[:3]],
            "days": days,
            **meet(shared, friends[:4], address),
        },
    )


class NotesScenario(Environment):
    """Notebooks around one situation, and what their owner would ask for."""

    @classmethod
    def seed(cls, rng: Random, shared: Shared | None = None) -> Seed:
        """Make notebooks around one situation."""
        return make_notebooks(cls.seeds(), rng, shared)

    @property
    def _situation(self) -> dict[str, Any]:
        situations: list[dict[str, Any]] = self.seeds()["situations"]
        return next(item for item in situations if item["title"] == self.story["topic"])

    @proposals("search_notes")
    def _propose_search(self, rng: Random) -> Iterator[dict[str, Any]]:
        for keyword in rng.sample(self._situation["keywords"], 2):
            yield {"keyword": keyword}
        note = rng.choice([item for item in self._situation["notes"] if item["tags"]])
        word = next((word for word in self._situation["keywords"] if word in note["text"].casefold()), "")
        if word:
            yield {"keyword": word, "tag": note["tags"][0]}

    @proposals("list_notebook_notes")
    def _propose_list(self, rng: Random) -> Iterator[dict[str, Any]]:
        yield {"notebook": rng.choice(self.story["notebooks"])}
        yield {"notebook": self.story["everyday"][0]}
        yield {"notebook": BOUND}

    @proposals("open_note")
    def _propose_open(self, _rng: Random) -> Iterator[dict[str, Any]]:
        yield {}

    @proposals("create_notebook")
    def _propose_notebook(self, _rng: Random) -> Iterator[dict[str, Any]]:
        for name in self._situation["new_notebooks"]:
            yield {"name": name}

    @proposals("create_note")
    def _propose_create(self, rng: Random) -> Iterator[dict[str, Any]]:
        first, second = rng.sample(self._situation["new"], 2)
        yield {"notebook": BOUND, "title": first["title"], "text": first["text"]}
        notebook = rng.choice(self.story["notebooks"])
        yield {"notebook": notebook, "title": second["title"], "text": second["text"]}

    @proposals("append_to_note")
    def _propose_append(self, rng: Random) -> Iterator[dict[str, Any]]:
        for text in rng.sample(self._situation["lines"], 2):
            yield {"text": text}

    @proposals("tag_note")
    def _propose_tag(self, rng: Random) -> Iterator[dict[str, Any]]:
        for tag in rng.sample(self._situation["new_tags"], 2):
            yield {"tag": tag}

    @proposals("move_note")
    def _propose_move(self, rng: Random) -> Iterator[dict[str, Any]]:
        yield {"notebook": BOUND}
        yield {"notebook": rng.choice((*self.story["notebooks"], self.story["everyday"][1]))}

    @proposals("add_note_task")
    def _propose_task(self, rng: Random) -> Iterator[dict[str, Any]]:
        first, second = rng.sample(self._situation["tasks"], 2)
        yield {"text": first, "due": rng.choice(self.story["days"][2:])}
        yield {"text": second, "due": BOUND}

    @proposals("list_note_tasks")
    def _propose_tasks(self, rng: Random) -> Iterator[dict[str, Any]]:
        yield {"until": rng.choice(self.story["days"][4:])}
        yield {"until": self.story["days"][9], "notebook": rng.choice(self.story["notebooks"])}

    @proposals("complete_note_task")
    def _propose_complete(self, _rng: Random) -> Iterator[dict[str, Any]]:
        yield {}

    @proposals("share_note")
    def _propose_share(self, rng: Random) -> Iterator[dict[str, Any]]:
        first, second = rng.sample(self.story["addresses"], 2)
        yield {"address": first}
        yield {"address": BOUND if beside(self.story, "email") or beside(self.story, "calendar") else second}
