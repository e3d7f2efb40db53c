"""A mailbox: folders, threads, contacts, drafts, labels, attachments and filters."""

from __future__ import annotations

from typing import Literal, cast

from planarena.environments.contract import ToolError, tool
from planarena.environments.domains.types import Datetime, EmailAddress, Person
from planarena.environments.state import Record

from .types import (
    AttachmentId,
    Contact,
    Draft,
    DraftId,
    Filter,
    Folder,
    Found,
    Group,
    Keyword,
    Label,
    LabelCreated,
    Labelled,
    MessageId,
    MessageSummary,
    Opened,
    Sent,
    Subject,
    Text,
    Thread,
    ThreadId,
)
from .world import EmailScenario

__all__ = ["EmailBox"]

MAX_DRAFT_MB = 20.0


class EmailBox(EmailScenario):
    """One person's mailbox."""

    domain = "email"
    summary = "A mailbox with folders, threads, contacts, drafts, labels, attachments and filters."

    @tool("read")
    def search_emails(
        self,
        sender: Person | None = None,
        keyword: Keyword | None = None,
        folder: Folder | None = None,
        label: Label | None = None,
    ) -> Found:
        """Search the mailbox by any of the criteria and list up to ten matching emails, most recent first.

        Args:
            sender: Full name of the person or company that sent the email.
            keyword: Words that occur in the subject or the text.
            folder: Folder to look in; without it, inbox and archive are searched.
            label: Label that the emails carry.
        """
        if label is not None:
            self._require_label(label)
        word = None if keyword is None else keyword.casefold()
        found = [
            message
            for message in self.state.scan("messages")
            if (message["folder"] == folder if folder else message["folder"] in ("inbox", "archive"))
            and (sender is None or message["sender"] == sender)
            and (label is None or label in message["labels"])
            and (word is None or word in message["subject"].casefold() or word in message["body"].casefold())
        ]
        return {"count": len(found), "messages": [_summary(message) for message in _latest(found)[:10]]}

    @tool("read")
    def open_email(self, message_id: MessageId) -> Opened:
        """Open one email: its text, sender's address, labels, thread and attachments.

        Args:
            message_id: The email.
        """
        return cast(Opened, self.require("messages", message_id, "email"))

    @tool("read")
    def get_email_thread(self, thread_id: ThreadId) -> Thread:
        """List the emails of a conversation, sent ones included, most recent first.

        Args:
            thread_id: The conversation.
        """
        found = _latest(
            [message for message in self.state.scan("messages") if message["thread_id"] == thread_id]
        )
        if not found:
            raise ToolError("not_found", f"There is no conversation with id {thread_id}.")
        return {
            "subject": found[-1]["subject"],
            "message_count": len(found),
            "participants": sorted({message["sender"] for message in found}),
            "messages": [_summary(message) for message in found[:10]],
        }

    @tool("read")
    def find_email_contact(self, name: Person) -> Contact:
        """Look up a person in the address book by full name.

        Args:
            name: Full name of the person.
        """
        for contact in self.state.scan("contacts"):
            if contact["name"] == name:
                return cast(Contact, contact)
        raise ToolError("contact_not_found", f"{name} is not in the address book.")

    @tool("create")
    def save_sender_as_contact(self, message_id: MessageId, group: Group) -> Contact:
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
        return cast(Contact, self.state.put("contacts", address, contact))

    @tool("create")
    def draft_new_email(self, to: EmailAddress, subject: Subject, body: Text) -> Draft:
        """Write a new email and keep it as a draft; it starts a conversation of its own.

        Args:
            to: EmailAddress of the recipient.
            subject: Subject line.
            body: Text of the email.
        """
        self._refuse_own(to)
        thread_id = self.new_id("thr", to, subject, body)
        return self._add_draft(self.new_id("drf", thread_id), to, subject, body, thread_id)

    @tool("create")
    def draft_email_reply(self, message_id: MessageId, body: Text) -> Draft:
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

    @tool("update")
    def attach_file_to_draft(self, draft_id: DraftId, attachment_id: AttachmentId) -> Draft:
        """Attach a file of a received email to a draft; all files of a draft together may have 20 MB.

        Args:
            draft_id: The draft.
            attachment_id: The file, an attachment of another email.
        """
        draft = self.require("drafts", draft_id, "draft")
        files = {
            item["attachment_id"]: item for m in self.state.scan("messages") for item in m["attachments"]
        }
        if attachment_id not in files:
            raise ToolError("not_found", f"There is no attachment with id {attachment_id}.")
        if any(item["attachment_id"] == attachment_id for item in draft["attachments"]):
            raise ToolError("already_attached", "The file is already attached to this draft.")
        attachments = [*draft["attachments"], files[attachment_id]]
        if sum(item["size_mb"] for item in attachments) > MAX_DRAFT_MB:
            raise ToolError("too_large", "The attachments of a draft may not exceed 20 MB.")
        return _draft(self.state.patch("drafts", draft_id, attachments=attachments))

    @tool("update")
    def send_email_draft(self, draft_id: DraftId, send_at: Datetime | None = None) -> Sent:
        """Send a draft, at once or at a later time; the draft then is gone.

        Args:
            draft_id: The draft.
            send_at: When to send it; without it, the email is sent at once.
        """
        draft = self.require("drafts", draft_id, "draft")
        if send_at is not None and send_at <= self.now:
            raise ToolError("in_the_past", f"{send_at} has passed.")
        status: Literal["sent", "scheduled"] = "sent" if send_at is None else "scheduled"
        message_id = self.new_id("msg", draft_id, draft["body"])
        message = {
            "message_id": message_id,
            "thread_id": draft["thread_id"],
            "subject": draft["subject"],
            "sender": self.facts["user_name"],
            "sender_address": self.facts["user_address"],
            "recipient_address": draft["to"],
            "date": send_at or self.now,
            "folder": status,
            "body": draft["body"],
            "labels": [],
            "attachments": draft["attachments"],
        }
        self.state.delete("drafts", draft_id)
        self.state.put("messages", message_id, message)
        return {
            "message_id": message_id,
            "thread_id": draft["thread_id"],
            "to": draft["to"],
            "subject": draft["subject"],
            "date": message["date"],
            "attachment_count": len(draft["attachments"]),
            "status": status,
        }

    @tool("create")
    def create_email_label(self, label: Label) -> LabelCreated:
        """Create a label that emails and filters can then use.

        Args:
            label: Name of the label.
        """
        if self.state.get("labels", label):
            raise ToolError("already_exists", f"There already is a label named {label}.")
        self.state.put("labels", label, {"label": label})
        return {"label": label}

    @tool("update")
    def label_email(self, message_id: MessageId, label: Label) -> Labelled:
        """Put an existing label on an email.

        Args:
            message_id: The email.
            label: Name of the label; it must exist.
        """
        message = self.require("messages", message_id, "email")
        self._require_label(label)
        if label in message["labels"]:
            raise ToolError("already_labelled", f"The email already carries the label {label}.")
        message = self.state.patch("messages", message_id, labels=sorted([*message["labels"], label]))
        return cast(Labelled, {key: message[key] for key in Labelled.__annotations__})

    @tool("create")
    def create_email_filter(self, sender_address: EmailAddress, label: Label) -> Filter:
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
        matched = [
            message for message in self.state.scan("messages") if message["sender_address"] == sender_address
        ]
        for message in matched:
            if label not in message["labels"]:
                labels = sorted([*message["labels"], label])
                self.state.patch("messages", message["message_id"], labels=labels)
        self.state.put("filters", filter_id, {"sender_address": sender_address, "label": label})
        return {
            "filter_id": filter_id,
            "sender_address": sender_address,
            "label": label,
            "matched": len(matched),
        }

    def _require_label(self, label: str) -> None:
        if self.state.get("labels", label) is None:
            raise ToolError("no_such_label", f"There is no label named {label}.")

    def _refuse_own(self, address: str) -> None:
        if address == self.facts["user_address"]:
            raise ToolError("own_address", f"{address} is the address of this mailbox itself.")

    def _add_draft(self, draft_id: str, to: str, subject: str, body: str, thread_id: str) -> Draft:
        if self.state.get("drafts", draft_id):
            raise ToolError("already_drafted", "There already is the same draft.")
        draft = {
            "draft_id": draft_id,
            "thread_id": thread_id,
            "to": to,
            "subject": subject,
            "body": body,
            "attachments": [],
        }
        return _draft(self.state.put("drafts", draft_id, draft))


def _latest(messages: list[Record]) -> list[Record]:
    return sorted(messages, key=lambda message: (message["date"], message["message_id"]), reverse=True)


def _summary(message: Record) -> MessageSummary:
    return {
        "message_id": message["message_id"],
        "subject": message["subject"],
        "sender": message["sender"],
        "date": message["date"],
        "folder": message["folder"],
        "attachment_count": len(message["attachments"]),
    }


def _draft(draft: Record) -> Draft:
    return {
        "draft_id": draft["draft_id"],
        "to": draft["to"],
        "subject": draft["subject"],
        "attachments": [item["file_name"] for item in draft["attachments"]],
        "attachment_mb": round(sum(item["size_mb"] for item in draft["attachments"]), 1),
    }
