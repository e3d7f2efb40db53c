"""What a user knows and says when: the messages of a conversation, and what each of them waits for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

__all__ = ["Brief", "Message", "read_brief"]


class Message(msgspec.Struct, frozen=True, omit_defaults=True):
    """A message of the user.

    Attributes:
        when: `answered`: once the message before was answered; `asked`: it is held back until the assistant asks a
            question, as a value that was left out, or a yes.
        label: Of what is held back: what a question asks for; empty for a yes or no.
        calls: Whether the gold makes calls for it.
        text: What the user says; empty in tables, where the table has it.
        values: The values that it tells, as it says them; whoever words it otherwise says them all the same.
    """

    when: Literal["answered", "asked"] = "answered"
    label: str = ""
    calls: bool = False
    text: str = ""
    values: tuple[str, ...] = ()


class Brief(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a user wants, tells and holds back.

    Attributes:
        kind: Of the conversation.
        aim: What the user is after, one line a thing.
        messages: In order.
    """

    kind: str = "plain"
    aim: tuple[str, ...] = ()
    messages: tuple[Message, ...] = ()

    @property
    def told(self) -> tuple[str, ...]:
        """What the user says without being asked."""
        return tuple(one.text for one in self.messages if one.when == "answered")

    @property
    def held_back(self) -> tuple[Message, ...]:
        """What the user says only when asked."""
        return tuple(one for one in self.messages if one.when == "asked")


def read_brief(stored: str, turns: Sequence[str]) -> Brief:
    """Read the column `brief` of the table `queries`; what runs of before have not is said message by message.

    Args:
        stored: The column.
        turns: The user's messages.
    """
    brief = msgspec.json.decode(stored or "{}", type=Brief)
    known = brief.messages if len(brief.messages) == len(turns) else (Message(),) * len(turns)
    messages = tuple(msgspec.structs.replace(one, text=text) for one, text in zip(known, turns, strict=True))
    return msgspec.structs.replace(brief, messages=messages)
