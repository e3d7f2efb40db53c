"""Notebooks: notes with tags, tasks inside notes, and copies for others."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Annotated

from planarena.environments.contract import Environment, Seed, ToolError, tool
from planarena.environments.domains.shared import Shared
from planarena.environments.domains.types import Count, Date, Datetime, EmailAddress, Person, Workday
from planarena.environments.shapes import Fields, Result
from planarena.environments.state import Record
from planarena.tools.semantics import Semantic

from .world import PROPOSALS, make_notebooks

__all__ = ["Notepad"]

NoteId = Annotated[str, Semantic("note_id", hidden=True)]
TaskId = Annotated[str, Semantic("note_task_id", hidden=True)]
Notebook = Annotated[str, Semantic("notebook", surface="name")]
NoteTitle = Annotated[str, Semantic("note_title", surface="name")]
Paragraph = Annotated[str, Semantic("note_text", surface="name")]
Keyword = Annotated[str, Semantic("note_keyword", surface="name")]
Tag = Annotated[str, Semantic("note_tag", surface="name")]
TaskText = Annotated[str, Semantic("note_task", surface="name")]

record = Fields(
    note_id=NoteId,
    task_id=TaskId,
    title=NoteTitle,
    notebook=Notebook,
    author=Person,
    text=Paragraph,
    tags=[Tag],
    created=Date,
    edited=Datetime,
    task=TaskText,
    note=NoteTitle,
    due=Workday,
    address=EmailAddress,
    count=Count,
)
NOTES = record("count notes", notes=[record("note_id title notebook edited")])


class Notepad(Environment):
    """One person's notebooks, into which others write too."""

    domain = "notes"
    summary = "Notebooks with notes, tags, tasks inside notes, search and sharing."
    proposals = PROPOSALS

    @classmethod
    def seed(cls, rng: Random, shared: Shared | None = None) -> Seed:
        """Make notebooks around one situation."""
        return make_notebooks(cls.seeds(), rng, shared)

    @tool("read", gives=NOTES)
    def search_notes(self, keyword: Keyword, tag: Tag | None = None) -> Result:
        """Find notes that hold a word in title or text, the most recently edited first.

        Args:
            keyword: The word.
            tag: Only notes with this tag.
        """
        word = keyword.casefold()
        found = [
            note
            for note in self.state.scan("notes")
            if (word in note["title"].casefold() or word in note["text"].casefold())
            and (tag is None or tag in note["tags"])
        ]
        if not found:
            raise ToolError("nothing_found", f"No such note mentions {keyword}.")
        return {"count": len(found), "notes": _latest(found)}

    @tool("read", gives=NOTES)
    def list_notebook_notes(self, notebook: Notebook) -> Result:
        """List the notes of a notebook, the most recently edited first.

        Args:
            notebook: Name of the notebook.
        """
        self._notebook(notebook)
        found = self.rows("notes", notebook=notebook)
        if not found:
            raise ToolError("notebook_empty", f"There is no note in {notebook} yet.")
        return {"count": len(found), "notes": _latest(found)}

    @tool(
        "read",
        gives=record(
            "title notebook author text tags created edited open_task_count open_tasks shared_with",
            open_task_count=Count,
            open_tasks=[record("task_id text", text=TaskText)],
            shared_with=[record("address")],
        ),
    )
    def open_note(self, note_id: NoteId) -> Result:
        """Open a note: its text, who wrote it, its tags, the tasks in it that are not done, who has a copy.

        Args:
            note_id: The note.
        """
        note = self.require("notes", note_id, "note")
        tasks = _by_due(self.rows("tasks", note_id=note_id, done=False))
        shares = self.rows("shares", note_id=note_id)
        return {**note, "open_task_count": len(tasks), "open_tasks": tasks, "shared_with": shares}

    @tool("create", gives=record("notebook"))
    def create_notebook(self, name: Notebook) -> Result:
        """Start an empty notebook.

        Args:
            name: Its name, which no other notebook may have.
        """
        if self.state.get("notebooks", name):
            raise ToolError("already_exists", f"There already is a notebook named {name}.")
        return self.state.put("notebooks", name, {"notebook": name})

    @tool("create", gives=record("note_id title notebook"))
    def create_note(self, notebook: Notebook, title: NoteTitle, text: Paragraph) -> Result:
        """Write a new note into a notebook.

        Args:
            notebook: Name of the notebook that it goes into.
            title: Its title; no other note of the notebook may have it.
            text: Its text.
        """
        self._notebook(notebook)
        if self.rows("notes", notebook=notebook, title=title):
            raise ToolError("already_exists", f"{notebook} already has a note titled {title}.")
        note = {
            "note_id": self.new_id("nte", notebook, title, text),
            "title": title,
            "notebook": notebook,
            "author": self.facts["user_name"],
            "text": text,
            "tags": [],
            "created": self.today,
            "edited": self.now,
        }
        return self.state.put("notes", note["note_id"], note)

    @tool("update", gives=record("title"))
    def append_to_note(self, note_id: NoteId, text: Paragraph) -> Result:
        """Add a line at the end of a note.

        Args:
            note_id: The note.
            text: The line; one that the note does not hold yet.
        """
        note = self.require("notes", note_id, "note")
        if text in note["text"]:
            raise ToolError("already_there", f"{note['title']} says so already.")
        longer = f"{note['text'].rstrip('.')}. {text}."
        return self.state.patch("notes", note_id, text=longer, edited=self.now)

    @tool("update", gives=record("title tags"))
    def tag_note(self, note_id: NoteId, tag: Tag) -> Result:
        """Put a further tag on a note.

        Args:
            note_id: The note.
            tag: The tag; one that the note does not have yet.
        """
        note = self.require("notes", note_id, "note")
        if tag in note["tags"]:
            raise ToolError("already_tagged", f"{note['title']} has the tag {tag} already.")
        return self.state.patch("notes", note_id, tags=sorted([*note["tags"], tag]))

    @tool("update", gives=record("title notebook"))
    def move_note(self, note_id: NoteId, notebook: Notebook) -> Result:
        """Move a note to another notebook.

        Args:
            note_id: The note.
            notebook: Name of the notebook.
        """
        note = self.require("notes", note_id, "note")
        self._notebook(notebook)
        if note["notebook"] == notebook:
            raise ToolError("already_there", f"{note['title']} is in {notebook} already.")
        return self.state.patch("notes", note_id, notebook=notebook)

    @tool("create", gives=record("task_id task note due"))
    def add_note_task(self, note_id: NoteId, text: TaskText, due: Workday) -> Result:
        """Put a task into a note.

        Args:
            note_id: The note.
            text: What is to be done.
            due: Until which day, not in the past.
        """
        note = self.require("notes", note_id, "note")
        if due < self.today:
            raise ToolError("in_the_past", f"{due} has passed.")
        task_id = self.new_id("ntk", note_id, text)
        if self.state.get("tasks", task_id):
            raise ToolError("already_noted", f"{note['title']} has this task already.")
        task = {"task_id": task_id, "note_id": note_id, "text": text, "due": due, "done": False}
        return {**self.state.put("tasks", task_id, task), "task": text, "note": note["title"]}

    @tool("read", gives=record("count tasks", tasks=[record("task_id note_id task note due")]))
    def list_note_tasks(self, until: Workday, notebook: Notebook | None = None) -> Result:
        """List the tasks in notes that are not done and due until some day, the one that is due first at the head.

        Args:
            until: The last day that counts.
            notebook: Only tasks in notes of this notebook.
        """
        if notebook is not None:
            self._notebook(notebook)
        tasks = [
            {**task, "task": task["text"], "note": note["title"]}
            for task in self.state.scan("tasks")
            if (note := self.require("notes", task["note_id"], "note"))
            and not task["done"]
            and task["due"] <= until
            and notebook in (None, note["notebook"])
        ]
        if not tasks:
            raise ToolError("nothing_due", f"No task is due until {until}.")
        return {"count": len(tasks), "tasks": _by_due(tasks)[:12]}

    @tool("update", gives=record("task note"))
    def complete_note_task(self, task_id: TaskId) -> Result:
        """Mark a task in a note as done.

        Args:
            task_id: The task; it must still be open.
        """
        task = self.require("tasks", task_id, "task")
        if task["done"]:
            raise ToolError("already_done", f"{task['text']} is done already.")
        self.state.patch("tasks", task_id, done=True)
        return {"task": task["text"], "note": self.require("notes", task["note_id"], "note")["title"]}

    @tool("update", gives=record("title address"))
    def share_note(self, note_id: NoteId, address: EmailAddress) -> Result:
        """Send somebody a copy of a note as it is now.

        Args:
            note_id: The note.
            address: Email address of whoever is to have it.
        """
        note = self.require("notes", note_id, "note")
        share_id = self.new_id("nsh", note_id, address)
        if self.state.get("shares", share_id):
            raise ToolError("already_shared", f"{address} has {note['title']} already.")
        self.state.put("shares", share_id, {"note_id": note_id, "address": address, "text": note["text"]})
        return {**note, "address": address}

    def _notebook(self, name: str) -> None:
        if self.state.get("notebooks", name) is None:
            raise ToolError("no_such_notebook", f"There is no notebook named {name}.")


def _latest(notes: Iterable[Record]) -> list[Record]:
    return sorted(notes, key=lambda note: (note["edited"], note["note_id"]), reverse=True)[:12]


def _by_due(tasks: Iterable[Record]) -> list[Record]:
    return sorted(tasks, key=lambda task: (task["due"], task["task_id"]))
