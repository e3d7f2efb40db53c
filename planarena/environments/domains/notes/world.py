"""Making notebooks: two about one situation, four of every day, and tasks inside the notes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta
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
    working_day,
)
from planarena.environments.state import Record

__all__ = ["PROPOSALS", "make_notebooks"]

Table = dict[str, Record]
_new_id = Environment.new_id


def make_notebooks(texts: Any, rng: Random, shared: Shared | None = None) -> Seed:
    """Make somebody's notebooks, a pure function of `rng` and `shared`."""
    people = load_people()
    situation = rng.choice(texts["situations"])
    now = datetime(2026, rng.randint(1, 12), rng.randint(1, 28), rng.randint(8, 18), 20)
    now = datetime.fromisoformat(keep(shared, "now", now.isoformat()))
    days = [working_day(now.isoformat(), ahead) for ahead in range(1, 11)]
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


def _situation(env: Any) -> dict[str, Any]:
    return next(one for one in env.seeds()["situations"] if one["title"] == env.story["topic"])


def _searches(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    situation = _situation(env)
    for keyword in rng.sample(situation["keywords"], 2):
        yield {"keyword": keyword}
    note = rng.choice([item for item in situation["notes"] if item["tags"]])
    word = next((word for word in situation["keywords"] if word in note["text"].casefold()), "")
    if word:
        yield {"keyword": word, "tag": note["tags"][0]}


def _new_notes(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    first, second = rng.sample(_situation(env)["new"], 2)
    yield {"notebook": BOUND, "title": first["title"], "text": first["text"]}
    notebook = rng.choice(env.story["notebooks"])
    yield {"notebook": notebook, "title": second["title"], "text": second["text"]}


def _new_tasks(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    first, second = rng.sample(env.seeds()["any_note"]["tasks"], 2)
    yield {"text": first, "due": rng.choice(env.story["days"][2:])}
    # A day of another calendar or board may be meant; within the notes people name it.
    joint = any(beside(env.story, other) for other in ("calendar", "boards"))
    yield {"text": second, "due": BOUND if joint else rng.choice(env.story["days"][2:])}


def _shares(env: Any, rng: Random) -> Iterator[dict[str, Any]]:
    first, second = rng.sample(env.story["addresses"], 2)
    yield {"address": first}
    yield {"address": BOUND if beside(env.story, "email") or beside(env.story, "calendar") else second}


PROPOSALS: dict[str, Proposer] = {
    "search_notes": _searches,
    "list_notebook_notes": lambda env, rng: [
        {"notebook": rng.choice(env.story["notebooks"])},
        {"notebook": env.story["everyday"][0]},
        {"notebook": BOUND},
    ],
    "open_note": lambda _env, _rng: [{}],
    "create_notebook": lambda env, _rng: [{"name": name} for name in _situation(env)["new_notebooks"]],
    "create_note": _new_notes,
    "append_to_note": lambda env, rng: [
        {"text": text} for text in rng.sample(env.seeds()["any_note"]["lines"], 2)
    ],
    "tag_note": lambda env, rng: [{"tag": tag} for tag in rng.sample(env.seeds()["any_note"]["tags"], 2)],
    "move_note": lambda env, rng: [
        {"notebook": BOUND},
        {"notebook": rng.choice((*env.story["notebooks"], env.story["everyday"][1]))},
    ],
    "add_note_task": _new_tasks,
    "list_note_tasks": lambda env, rng: [
        {"until": rng.choice(env.story["days"][4:])},
        {"until": env.story["days"][9], "notebook": rng.choice(env.story["notebooks"])},
    ],
    "complete_note_task": lambda _env, _rng: [{}],
    "share_note": _shares,
}
