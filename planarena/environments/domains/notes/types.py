"""The values and results of the notebooks' tools."""

from __future__ import annotations

from typing import Annotated, TypedDict

from planarena.environments.domains.types import Count, Date, Datetime, EmailAddress, Person, Workday
from planarena.tools.semantics import Semantic

__all__ = [
    "Appended",
    "Completed",
    "Keyword",
    "Note",
    "NoteCreated",
    "NoteId",
    "NoteLine",
    "NoteShared",
    "NoteTitle",
    "Notebook",
    "NotebookCreated",
    "Notes",
    "Paragraph",
    "Placed",
    "Tag",
    "Tagged",
    "TaskAdded",
    "TaskId",
    "TaskLine",
    "TaskText",
    "Tasks",
]

NoteId = Annotated[str, Semantic("note_id", hidden=True)]
TaskId = Annotated[str, Semantic("note_task_id", hidden=True)]
Notebook = Annotated[str, Semantic("notebook", surface="name")]
NoteTitle = Annotated[str, Semantic("note_title", surface="name")]
Paragraph = Annotated[str, Semantic("note_text", surface="name")]
Keyword = Annotated[str, Semantic("note_keyword", surface="name")]
Tag = Annotated[str, Semantic("note_tag", surface="name")]
TaskText = Annotated[str, Semantic("note_task", surface="name")]


class NoteLine(TypedDict):
    """A note in a list."""

    note_id: NoteId
    title: NoteTitle
    notebook: Notebook
    edited: Datetime


class Notes(TypedDict):
    """Some notes."""

    count: Count
    notes: list[NoteLine]


class OpenTask(TypedDict):
    """A task in a note that is not done."""

    task_id: TaskId
    text: TaskText


class Note(TypedDict):
    """A note in full."""

    title: NoteTitle
    notebook: Notebook
    author: Person
    text: Paragraph
    tags: list[Tag]
    created: Date
    edited: Datetime
    open_task_count: Count
    open_tasks: list[OpenTask]


class NotebookCreated(TypedDict):
    """A new notebook."""

    notebook: Notebook


class NoteCreated(TypedDict):
    """A new note."""

    note_id: NoteId
    title: NoteTitle
    notebook: Notebook


class Appended(TypedDict):
    """A note that has grown."""

    title: NoteTitle


class Tagged(TypedDict):
    """A note that has a further tag."""

    title: NoteTitle
    tags: list[Tag]


class Placed(TypedDict):
    """A note in another notebook."""

    title: NoteTitle
    notebook: Notebook


class TaskAdded(TypedDict):
    """A task that was noted."""

    task_id: TaskId
    task: TaskText
    note: NoteTitle
    due: Workday


class TaskLine(TypedDict):
    """A task in a list."""

    task_id: TaskId
    note_id: NoteId
    task: TaskText
    note: NoteTitle
    due: Workday


class Tasks(TypedDict):
    """Open tasks of many notes."""

    count: Count
    tasks: list[TaskLine]


class Completed(TypedDict):
    """A task that is done."""

    task: TaskText
    note: NoteTitle


class NoteShared(TypedDict):
    """A note of which somebody else has a copy."""

    title: NoteTitle
    address: EmailAddress
