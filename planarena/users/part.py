"""One conversation from its user's side, whoever words it: what may be said now, and whether what was said is in order."""

from __future__ import annotations

from typing import Any, Literal

from planarena.users.brief import Brief, Message
from planarena.users.checks import asks_back, check_message
from planarena.users.scripted import PATIENCE

__all__ = ["FAULTS", "MOVES", "Part"]

# Classes of what a user does wrong; `no_answer`: the model could not be had to say anything.
FAULTS = (
    *("lied", "leaked", "other_role", "ended_early", "never_ends"),
    *("left_out", "ahead", "withheld", "empty", "too_long", "no_answer"),
)
MOVES = ("next", "give", "again", "end")
_MOST_CHARACTERS = 8000


class Part:
    """One conversation from its user's side, whoever words it: what it may say now, and whether what was said is in order.

    Args:
        brief: What the user knows and says when.
        begun: Its first message is said already, as the brief has it.

    Attributes:
        spoiled: The class of what went wrong, one of `FAULTS`; empty while nothing did.
        detail: The evidence.
        answered: Everything was said and answered.
        said: The messages so far.
    """

    def __init__(self, brief: Brief, *, begun: bool = True) -> None:
        self.brief = brief
        self.spoiled = self.detail = ""
        self.answered = False
        self.said: list[str] = [brief.messages[0].text] if begun and brief.messages else []
        self._at = 0 if begun else -1
        self._talk = [{"who": "person", "text": text} for text in self.said]
        self._left = PATIENCE
        self._asks = False
        self._gone = False

    @property
    def over(self) -> bool:
        """Whether nothing more is said."""
        return bool(self.spoiled) or self.answered or self._gone

    @property
    def place(self) -> int:
        """The place of the message that was said last, in the brief; -1 before the first."""
        return self._at

    def _message(self, place: int) -> Message | None:
        messages = self.brief.messages
        return messages[place] if 0 <= place < len(messages) else None

    @property
    def _held(self) -> Message | None:
        following = self._message(self._at + 1)
        return following if following is not None and following.when == "asked" else None

    @property
    def _next(self) -> int:
        """The place of what is said next without being asked."""
        return self._at + (2 if self._held is not None else 1)

    def hear(self, said: str, calls: int) -> dict[str, Any] | None:
        """Take what the assistant said; return what the next message is made from, or None where none follows.

        Args:
            said: Its answer or its question; empty before the first message.
            calls: The calls that it made since the user's last message.
        """
        if self.over or not self.brief.messages:
            return None
        self._asks = not calls and asks_back(said)
        if said or self._talk:
            self._talk.append({"who": "assistant", "text": said[:_MOST_CHARACTERS]})
        now, due, held = self._message(self._at), self._message(self._next), self._held
        if self._asks and now is not None and now.calls and held is None and not self._left:
            # It was told all there is, again and again: the user gives up.
            self._gone = True
            return None
        return {
            "say_next": due.text if due is not None else "",
            "hold_back": {"what": held.label or "yes or no", "answer": held.text} if held is not None else {},
            "said": list(self.said),
            "conversation": list(self._talk),
        }

    def fail(self, kind: str, detail: str) -> None:
        """Note that the conversation is spoiled."""
        self.spoiled, self.detail = kind, detail[:500]

    def say(self, move: Literal["next", "give", "again", "end"], text: str) -> str | None:
        """Check what the model says and return it as the user's message; None where the conversation is over.

        Args:
            move: What it does.
            text: What it says.
        """
        text = text.strip()
        now, due, held = self._message(self._at), self._message(self._next), self._held
        if move == "end":
            open_question = self._asks and (held is not None or (now is not None and now.calls))
            if due is not None or open_question:
                left = due or held or now
                self.fail("ended_early", left.text if left is not None else "")
            else:
                self.answered = True
            return None
        place = self._at
        if move == "give":
            if held is None or not self._asks:
                self.fail(*(("leaked", text) if held is not None else ("never_ends", text)))
                return None
            place = self._at + 1
        elif move == "next" and due is not None:
            if held is not None and self._asks:
                self.fail("withheld", held.text)
                return None
            place = self._next
        else:
            if not self._left:
                self.fail("never_ends", text)
                return None
            self._left -= 1
        fault = self._fault(place, text)
        if fault is not None:
            self.fail(*fault)
            return None
        if place != self._at:
            self._at, self._left = place, PATIENCE
        self.said.append(text)
        self._talk.append({"who": "person", "text": text})
        return text

    def _fault(self, place: int, text: str) -> tuple[str, str] | None:
        messages = self.brief.messages
        told = messages[place] if place != self._at else None
        past = range(self._at + 1, place)  # held back for good: nobody asked
        held = [messages[one] for one in past]
        ahead = messages[place + 1 :]
        return check_message(
            text,
            own=told.text if told is not None else "",
            values=told.values if told is not None else (),
            known=[*(one["text"] for one in self._talk), *(one.text for one in messages[: self._at + 1])],
            held=[*held, *(one for one in ahead if one.when == "asked")],
            later=[one for one in ahead if one.when != "asked"],
            yes_or_no=told is not None and told.when == "asked" and not told.label,
        )
