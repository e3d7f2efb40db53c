"""A mailbox: folders, threads, contacts, drafts, labels, attachments and filters."""

from __future__ import annotations

from random import Random
from typing import Annotated, Literal

from planarena.environments.contract import Environment, Seed, ToolError, tool
from planarena.environments.domains.shared import Shared
from planarena.environments.domains.types import Count, Datetime, EmailAddress, Person
from planarena.environments.shapes import Fields, Result, ordered
from planarena.environments.state import Record
from planarena.tools.semantics import Semantic

from .world import PROPOSALS, make_mailbox

__all__ = ["EmailBox"]

MAX_DRAFT_MB = 20.0

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
Searched = Literal["inbox", "archive", "sent"]
Folder = Annotated[Searched, Semantic("email_folder", surface="word")]
AnyFolder = Annotated[Literal[Searched, "scheduled"], Semantic("email_any_folder", surface="word")]
Status = Annotated[Literal["sent", "scheduled"], Semantic("email_status", surface="word")]
Groups = Literal["work", "family", "personal", "supplier"]
Group = Annotated[Groups, Semantic("contact_group", surface="word")]

record = Fields(
    message_id=MessageId, subject=Subject, sender=Person, date=Datetime, folder=AnyFolder,
    attachment_count=Count, attachment_id=AttachmentId, file_name=FileName, attached=FileName,
    size_mb=Megabytes, count=Count, thread_id=ThreadId, sender_address=EmailAddress,
    recipient_address=EmailAddress, body=Text, labels=[Label], message_count=Count, participants=[Person],
    name=Person, address=EmailAddress, phone=Phone, group=Group, draft_id=DraftId, to=EmailAddress,
    attachments=[FileName], attachment_mb=Megabytes, status=Status, label=Label, filter_id=FilterId,
    matched=Count,
)  # fmt: skip
MESSAGE_SUMMARY = record("message_id subject sender date folder attachment_count")
MESSAGE = record(
    "message_id thread_id subject sender sender_address recipient_address date folder body labels"
    " attachments",
    attachments=[record("attachment_id file_name size_mb")],
)
SENT = record("message_id thread_id message_count sender to subject date attachment_count status")
CONTACT = record("name address phone group")
DRAFT = record("draft_id to subject attachments attachment_mb")


class EmailBox(Environment):
    """One person's mailbox."""

    domain = "email"
    summary = "A mailbox with folders, threads, contacts, drafts, labels, attachments and filters."
    proposals = PROPOSALS

    @classmethod
    def seed(cls, rng: Random, shared: Shared | None = None) -> Seed:
        """Make a mailbox around one situation."""
        return make_mailbox(cls.seeds(), rng, shared)

    @tool("read", gives=record("count messages", messages=[MESSAGE_SUMMARY]))
    def search_emails(
        self,
        sender: Person | None = None,
        keyword: Keyword | None = None,
        folder: Folder | None = None,
        label: Label | None = None,
    ) -> Result:
        """Search the mailbox by any of the criteria and list up to ten matching emails, most recent first.

        Args:
            sender: Full name of the person or company that sent the email.
            keyword: Words that occur in the subject or the text.
            folder: Folder to look in; without it, inbox and archive are searched.
            label: Label that the emails carry.
        """
        if label is not None:
            self._require_label(label)
        word, folders = (keyword or "").casefold(), (folder,) if folder else ("inbox", "archive")
        found = [row for row in self.rows("messages") if row["folder"] in folders]
        found = [row for row in found if sender is None or row["sender"] == sender]
        found = [row for row in found if label is None or label in row["labels"]]
        found = [row for row in found if any(word in row[part].casefold() for part in ("subject", "body"))]
        return {"count": len(found), "messages": _latest(found)}

    @tool("read", gives=MESSAGE)
    def open_email(self, message_id: MessageId) -> Result:
        """Open one email: its text, sender's address, labels, thread and attachments.

        Args:
            message_id: The email.
        """
        return self.require("messages", message_id, "email")

    @tool("read", gives=record("subject message_count participants messages", messages=[MESSAGE_SUMMARY]))
    def get_email_thread(self, thread_id: ThreadId) -> Result:
        """List the emails of a conversation, sent ones included, most recent first.

        Args:
            thread_id: The conversation.
        """
        found = self.rows("messages", thread_id=thread_id)
        if not found:
            raise ToolError("not_found", f"There is no conversation with id {thread_id}.")
        first = min(found, key=lambda message: (message["date"], message["message_id"]))
        people = sorted({message["sender"] for message in found})
        return {**first, "message_count": len(found), "participants": people, "messages": _latest(found)}

    @tool("read", gives=CONTACT)
    def find_email_contact(self, name: Person) -> Result:
        """Look up a person in the address book by full name.

        Args:
            name: Full name of the person.
        """
        for contact in self.rows("contacts", name=name):
            return contact
        raise ToolError("contact_not_found", f"{name} is not in the address book.")

    @tool("create", gives=CONTACT)
    def save_sender_as_contact(self, message_id: MessageId, group: Group) -> Result:
        """Add the sender of an email to the address book.

        Args:
            message_id: The email whose sender is saved.
            group: Group of contacts that the sender joins.
        """
        message = self.require("messages", message_id, "email")
        address = message["sender_address"]
        self._refuse_own(address)
        if self.state.get("contacts", address):
            raise ToolError("already_a_contact", f"{message['sender']} is already in the address book.")
        contact = {"name": message["sender"], "address": address, "phone": "", "group": group}
        return self.state.put("contacts", address, contact)

    @tool("create", gives=DRAFT)
    def draft_new_email(self, to: EmailAddress, subject: Subject, body: Text) -> Result:
        """Write a new email and keep it as a draft; it starts a conversation of its own.

        Args:
            to: EmailAddress of the recipient.
            subject: Subject line.
            body: Text of the email.
        """
        self._refuse_own(to)
        thread_id = self.new_id("thr", to, subject, body)
        return self._add_draft(self.new_id("drf", thread_id), to, subject, body, thread_id)

    @tool("create", gives=DRAFT)
    def draft_email_reply(self, message_id: MessageId, body: Text) -> Result:
        """Write a reply to the sender of an email and keep it as a draft; an email is answered once.

        Args:
            message_id: The email that is answered.
            body: Text of the reply.
        """
        message = self.require("messages", message_id, "email")
        self._refuse_own(message["sender_address"])
        subject = f"Re: {message['subject'].removeprefix('Re: ')}"
        if self.state.get("answered", message_id):
            raise ToolError("already_answered", "The email has been answered already.")
        self.state.put("answered", message_id, {"message_id": message_id})
        draft_id = self.new_id("drf", message_id)
        return self._add_draft(draft_id, message["sender_address"], subject, body, message["thread_id"])

    @tool("update", gives=record("draft_id to subject attached attachments attachment_mb"))
    def attach_file_to_draft(self, draft_id: DraftId, attachment_id: AttachmentId) -> Result:
        """Attach a file of a received email to a draft; all files of a draft together may have 20 MB.

        Args:
            draft_id: The draft.
            attachment_id: The file, an attachment of another email.
        """
        draft = self.require("drafts", draft_id, "draft")
        files = {one["attachment_id"]: one for row in self.rows("messages") for one in row["attachments"]}
        if attachment_id not in files:
            raise ToolError("not_found", f"There is no attachment with id {attachment_id}.")
        if any(item["attachment_id"] == attachment_id for item in draft["attachments"]):
            raise ToolError("already_attached", "The file is already attached to this draft.")
        attachments = [*draft["attachments"], files[attachment_id]]
        if sum(item["size_mb"] for item in attachments) > MAX_DRAFT_MB:
            raise ToolError("too_large", "The attachments of a draft may not exceed 20 MB.")
        draft = self.state.patch("drafts", draft_id, attachments=attachments)
        return {**_draft(draft), "attached": files[attachment_id]["file_name"]}

    @tool("update", gives=SENT)
    def send_email_draft(self, draft_id: DraftId, send_at: Datetime | None = None) -> Result:
        """Send a draft, at once or at a later time; the draft then is gone.

        Args:
            draft_id: The draft.
            send_at: When to send it; without it, the email is sent at once.
        """
        draft = self.require("drafts", draft_id, "draft")
        if send_at is not None and send_at <= self.now:
            raise ToolError("in_the_past", f"{send_at} has passed.")
        status = "sent" if send_at is None else "scheduled"
        message_id = self.new_id("msg", draft_id, draft["body"])
        message = {
            "message_id": message_id, "thread_id": draft["thread_id"], "subject": draft["subject"],
            "sender": self.facts["user_name"], "sender_address": self.facts["user_address"],
            "recipient_address": draft["to"], "date": send_at or self.now, "folder": status,
            "body": draft["body"], "labels": [], "attachments": draft["attachments"],
        }  # fmt: skip
        self.state.delete("drafts", draft_id)
        self.state.put("messages", message_id, message)
        thread = self.rows("messages", thread_id=draft["thread_id"])
        counts = {"message_count": len(thread), "attachment_count": len(draft["attachments"])}
        return {**message, **counts, "to": draft["to"], "status": status}

    @tool("create", gives=record("label"))
    def create_email_label(self, label: Label) -> Result:
        """Create a label that emails and filters can then use.

        Args:
            label: Name of the label.
        """
        if self.state.get("labels", label):
            raise ToolError("already_exists", f"There already is a label named {label}.")
        return self.state.put("labels", label, {"label": label})

    @tool("update", gives=record("message_id subject sender labels"))
    def label_email(self, message_id: MessageId, label: Label) -> Result:
        """Put an existing label on an email.

        Args:
            message_id: The email.
            label: Name of the label; it must exist.
        """
        message = self.require("messages", message_id, "email")
        self._require_label(label)
        if label in message["labels"]:
            raise ToolError("already_labelled", f"The email already carries the label {label}.")
        return self._put_label(message, label)

    @tool("create", gives=record("filter_id sender_address label matched"))
    def create_email_filter(self, sender_address: EmailAddress, label: Label) -> Result:
        """Create a filter that labels all mail of one sender, and apply it to the mail that is already there.

        Args:
            sender_address: EmailAddress of the sender.
            label: Name of the label; it must exist.
        """
        self._require_label(label)
        self._refuse_own(sender_address)
        filter_id = self.new_id("flt", sender_address, label)
        if self.state.get("filters", filter_id):
            raise ToolError("already_exists", f"Mail from {sender_address} is already filtered to {label}.")
        matched = self.rows("messages", sender_address=sender_address)
        for message in matched:
            if label not in message["labels"]:
                self._put_label(message, label)
        rule = self.state.put("filters", filter_id, {"sender_address": sender_address, "label": label})
        return {**rule, "filter_id": filter_id, "matched": len(matched)}

    def _require_label(self, label: str) -> None:
        if self.state.get("labels", label) is None:
            raise ToolError("no_such_label", f"There is no label named {label}.")

    def _refuse_own(self, address: str) -> None:
        if address == self.facts["user_address"]:
            raise ToolError("own_address", f"{address} is the address of this mailbox itself.")

    def _put_label(self, message: Record, label: str) -> Record:
        return self.state.patch("messages", message["message_id"], labels=sorted([*message["labels"], label]))

    def _add_draft(self, draft_id: str, to: str, subject: str, body: str, thread_id: str) -> Record:
        if self.state.get("drafts", draft_id):
            raise ToolError("already_drafted", "There already is the same draft.")
        draft = {"draft_id": draft_id, "thread_id": thread_id, "to": to, "subject": subject, "body": body}
        return _draft(self.state.put("drafts", draft_id, {**draft, "attachments": []}))


def _latest(messages: list[Record]) -> list[Record]:
    """Return the ten most recent messages with the number of their attachments, the latest first."""
    latest = ordered(messages, "date", "message_id", last_first=True)[:10]
    return [{**message, "attachment_count": len(message["attachments"])} for message in latest]


def _draft(draft: Record) -> Record:
    files = draft["attachments"]
    size = round(sum(item["size_mb"] for item in files), 1)
    return {**draft, "attachments": [item["file_name"] for item in files], "attachment_mb": size}
