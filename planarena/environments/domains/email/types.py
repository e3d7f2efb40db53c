"""The values and results of the mailbox's tools."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from planarena.environments.domains.types import Count, Datetime, EmailAddress, Person
from planarena.tools.semantics import Semantic

__all__ = [
    "AnyFolder",
    "Attachment",
    "AttachmentId",
    "Contact",
    "Draft",
    "DraftId",
    "FileName",
    "Filter",
    "FilterId",
    "Folder",
    "Found",
    "Group",
    "Keyword",
    "Label",
    "LabelCreated",
    "Labelled",
    "Megabytes",
    "MessageId",
    "MessageSummary",
    "Opened",
    "Phone",
    "Sent",
    "Subject",
    "Text",
    "Thread",
    "ThreadId",
]

MessageId = Annotated[str, Semantic("email_message_id", hidden=True)]
ThreadId = Annotated[str, Semantic("email_thread_id", hidden=True)]
DraftId = Annotated[str, Semantic("email_draft_id", hidden=True)]
AttachmentId = Annotated[str, Semantic("email_attachment_id", hidden=True)]
FilterId = Annotated[str, Semantic("email_filter_id", hidden=True)]
Subject = Annotated[str, Semantic("email_subject", surface="name")]
Text = Annotated[str, Semantic("email_text", surface="name")]
Keyword = Annotated[str, Semantic("email_keyword", surface="name")]
Label = Annotated[str, Semantic("email_label", surface="name")]
FileName = Annotated[str, Semantic("file_name", surface="name")]
Megabytes = Annotated[float, Semantic("megabytes", surface="number")]
Phone = Annotated[str, Semantic("phone_number")]
Folder = Annotated[Literal["inbox", "archive", "sent"], Semantic("email_folder", surface="word")]
AnyFolder = Annotated[
    Literal["inbox", "archive", "sent", "scheduled"], Semantic("email_any_folder", surface="word")
]
Group = Annotated[
    Literal["work", "family", "personal", "supplier"], Semantic("contact_group", surface="word")
]


class MessageSummary(TypedDict):
    """A line of a list of messages."""

    message_id: MessageId
    subject: Subject
    sender: Person
    date: Datetime
    folder: AnyFolder
    attachment_count: Count


class Attachment(TypedDict):
    """A file of a message."""

    attachment_id: AttachmentId
    file_name: FileName
    size_mb: Megabytes


class Found(TypedDict):
    """Messages that match a search."""

    count: Count
    messages: list[MessageSummary]


class Opened(TypedDict):
    """One message in full."""

    message_id: MessageId
    thread_id: ThreadId
    subject: Subject
    sender: Person
    sender_address: EmailAddress
    recipient_address: EmailAddress
    date: Datetime
    folder: AnyFolder
    body: Text
    labels: list[Label]
    attachments: list[Attachment]


class Thread(TypedDict):
    """A conversation."""

    subject: Subject
    message_count: Count
    participants: list[Person]
    messages: list[MessageSummary]


class Contact(TypedDict):
    """An entry of the address book."""

    name: Person
    address: EmailAddress
    phone: Phone
    group: Group


class Draft(TypedDict):
    """An unsent message."""

    draft_id: DraftId
    to: EmailAddress
    subject: Subject
    attachments: list[FileName]
    attachment_mb: Megabytes


class Sent(TypedDict):
    """A message that left or will leave the mailbox."""

    message_id: MessageId
    thread_id: ThreadId
    to: EmailAddress
    subject: Subject
    date: Datetime
    attachment_count: Count
    status: Annotated[Literal["sent", "scheduled"], Semantic("email_status", surface="word")]


class LabelCreated(TypedDict):
    """A label of the mailbox."""

    label: Label


class Labelled(TypedDict):
    """A message after labelling."""

    message_id: MessageId
    subject: Subject
    sender: Person
    labels: list[Label]


class Filter(TypedDict):
    """A rule for mail of one sender."""

    filter_id: FilterId
    sender_address: EmailAddress
    label: Label
    matched: Count
