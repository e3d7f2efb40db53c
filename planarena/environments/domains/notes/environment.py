"""Notebooks: notes with tags, tasks inside notes, and copies for others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from planarena.environments.contract import ToolError, tool
from planarena.environments.domains.types import EmailAddress, Workday
from planarena.environments.state import Record

from .types import (
    Appended,
    Completed,
    Keyword,
    Note,
    Notebook,
    NotebookCreated,
    NoteCreated,
    NoteId,
    NoteLine,
    Notes,
    NoteShared,
    NoteTitle,
    Paragraph,
    Placed,
    Tag,
    Tagged,
    TaskAdded,
    TaskId,
    TaskLine,
    Tasks,
    TaskText,
)
from .world import NotesScenario

__all__ = ["Notepad"]


class Notepad(NotesScenario):
    """One person's notebooks, into which others write too."""

    domain = "notes"
    summary = "Notebooks with notes, tags, tasks inside notes, search and sharing."

    @tool("read")
    def search_notes(self, keyword: Keyword, tag: Tag | None = None) -> Notes:
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
        return {"count": len(found), "notes": _lines(found)}

    @tool("read")
    def list_notebook_notes(self, notebook: Notebook) -> Notes:
        """List the notes of a notebook, the most recently edited first.

        Args:
            notebook: Name of the notebook.
        """
        self._notebook(notebook)
        found = [note for note in self.state.scan("notes") if note["notebook"] == notebook]
        if not found:
            raise ToolError("notebook_empty", f"There is no note in {notebook} yet.")
        return {"count": len(found), "notes": _lines(found)}

    @tool("read")
    def open_note(self, note_id: NoteId) -> Note:
        """Open a note: its text, who wrote it, its tags and the tasks in it that are not done.

        Args:
            note_id: The note.
        """
        note = self.require("notes", note_id, "note")
        tasks = [task for task in self.state.scan("tasks") if task["note_id"] == note_id and not task["done"]]
        tasks.sort(key=lambda task: (task["due"], task["task_id"]))
        return {
            "title": note["title"],
            "notebook": note["notebook"],
            "author": note["author"],
            "text": note["text"],
            "tags": note["tags"],
            "created": note["created"],
            "edited": note["edited"],
            "open_task_count": len(tasks),
            "open_tasks": [{"task_id": task["task_id"], "text": task["text"]} for task in tasks],
        }

    @tool("create")
    def create_notebook(self, name: Notebook) -> NotebookCreated:
        """Start an empty notebook.

        Args:
            name: Its name, which no other notebook may have.
        """
        if self.state.get("notebooks", name):
            raise ToolError("already_exists", f"There already is a notebook named {name}.")
        self.state.put("notebooks", name, {"notebook": name})
        return {"notebook": name}

    @tool("create")
    def create_note(self, notebook: Notebook, title: NoteTitle, text: Paragraph) -> NoteCreated:
        """Write a new note into a notebook.

        Args:
            notebook: Name of the notebook that it goes into.
            title: Its title; no other note of the notebook may have it.
            text: Its text.
        """
        self._notebook(notebook)
        if any(note["notebook"] == notebook and note["title"] == title for note in self.state.scan("notes")):
            raise ToolError("already_exists", f"{notebook} already has a note titled {title}.")
        note_id = self.new_id("nte", notebook, title, text)
        note = {
            "note_id": note_id,
            "title": title,
            "notebook": notebook,
            "author": self.facts["user_name"],
            "text": text,
            "tags": [],
            "created": self.now[:10],
            "edited": self.now,
        }
        self.state.put("notes", note_id, note)
        return {"note_id": note_id, "title": title, "notebook": notebook}

    @tool("update")
    def append_to_note(self, note_id: NoteId, text: Paragraph) -> Appended:
        """Add a line at the end of a note.

        Args:
            note_id: The note.
            text: The line; one that the note does not hold yet.
        """
        note = self.require("notes", note_id, "note")
        if text in note["text"]:
            raise ToolError("already_there", f"{note['title']} says so already.")
        self.state.patch("notes", note_id, text=f"{note['text'].rstrip('.')}. {text}.", edited=self.now)
        return {"title": note["title"]}

    @tool("update")
    def tag_note(self, note_id: NoteId, tag: Tag) -> Tagged:
        """Put a further tag on a note.

        Args:
            note_id: The note.
            tag: The tag; one that the note does not have yet.
        """
        note = self.require("notes", note_id, "note")
        if tag in note["tags"]:
            raise ToolError("already_tagged", f"{note['title']} has the tag {tag} already.")
        tags = sorted([*note["tags"], tag])
        self.state.patch("notes", note_id, tags=tags)
        return {"title": note["title"], "tags": tags}

    @tool("update")
    def move_note(self, note_id: NoteId, notebook: Notebook) -> Placed:
        """Move a note to another notebook.

        Args:
            note_id: The note.
            notebook: Name of the notebook.
        """
        note = self.require("notes", note_id, "note")
        self._notebook(notebook)
        if note["notebook"] == notebook:
            raise ToolError("already_there", f"{note['title']} is in {notebook} already.")
        self.state.patch("notes", note_id, notebook=notebook)
        return {"title": note["title"], "notebook": notebook}

    @tool("create")
    def add_note_task(self, note_id: NoteId, text: TaskText, due: Workday) -> TaskAdded:
        """Put a task into a note.

        Args:
            note_id: The note.
            text: What is to be done.
            due: Until which day, not in the past.
        """
        note = self.require("notes", note_id, "note")
        if due < self.now[:10]:
            raise ToolError("in_the_past", f"{due} has passed.")
        task_id = self.new_id("ntk", note_id, text)
        if self.state.get("tasks", task_id):
            raise ToolError("already_noted", f"{note['title']} has this task already.")
        task = {"task_id": task_id, "note_id": note_id, "text": text, "due": due, "done": False}
        self.state.put("tasks", task_id, task)
        return {"task_id": task_id, "task": text, "note": note["title"], "due": due}

    @tool("read")
    def list_note_tasks(self, until: Workday, notebook: Notebook | None = None) -> Tasks:
        """List the tasks in notes that are not done and due until some day, the one that is due first at the head.

        Args:
            until: The last day that counts.
            notebook: Only tasks in notes of this notebook.
        """
        if notebook is not None:
            self._notebook(notebook)
        lines: list[TaskLine] = []
        for task in self.state.scan("tasks"):
            note = self.require("notes", task["note_id"], "note")
            if not task["done"] and task["due"] <= until and notebook in (None, note["notebook"]):
                lines.append(
                    {
                        "task_id": task["task_id"],
                        "note_id": task["note_id"],
                        "task": task["text"],
                        "note": note["title"],
                        "due": task["due"],
                    }
                )
        if not lines:
            raise ToolError("nothing_due", f"No task is due until {until}.")
        lines.sort(key=lambda line: (line["due"], line["task_id"]))
        return {"count": len(lines), "tasks": lines[:12]}

    @tool("update")
    def complete_note_task(self, task_id: TaskId) -> Completed:
        """Mark a task in a note as done.

        Args:
            task_id: The task; it must still be open.
        """
        task = self.require("tasks", task_id, "task")
        if task["done"]:
            raise ToolError("already_done", f"{task['text']} is done already.")
        self.state.patch("tasks", task_id, done=True)
        return {"task": task["text"], "note": self.require("notes", task["note_id"], "note")["title"]}

    @tool("update")
    def share_note(self, note_id: NoteId, address: EmailAddress) -> NoteShared:
        """Send somebody a copy of a note as it is now.

        Args:
            note_id: The note.
            address: Email address of whoever is to have it.
        """
        note = self.require("notes", note_id, "note")
        share_id = self.new_id("nsh", note_id, address)
        if self.state.get("shares", share_id):
            raise ToolError("already_shared", f"{address} has {note['title']} already.")
        share = {"note_id": note_id, "address": address, "text": note["text"]}
        self.state.put("shares", share_id, share)
        return {"title": note["title"], "address": address}

    def _notebook(self, name: str) -> None:
        if self.state.get("notebooks", name) is None:
            raise ToolError("no_such_notebook", f"There is no notebook named {name}.")


def _lines(notes: Iterable[Record]) -> list[NoteLine]:
    latest = sorted(notes, key=lambda note: (note["edited"], note["note_id"]), reverse=True)
    keys = NoteLine.__annotations__
    return [cast(NoteLine, {key: note[key] for key in keys}) for note in latest[:12]]
