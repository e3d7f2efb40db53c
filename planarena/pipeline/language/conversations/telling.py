"""Telling a conversation: messages and answers that do something else than ask for steps and report them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from planarena.generate.queries import Conversation
from planarena.generate.tellings import Query
from planarena.pipeline.language.conversations import change_of_mind, failed_call, missing_value, rule
from planarena.pipeline.language.conversations.lines import Lines, Teller
from planarena.pipeline.products import Act, Executed

__all__ = ["Told", "teller_of"]

# By what a message does: how it is written, and how its answer is.
_MESSAGES: dict[str, Callable[[Lines, Act, int], str]] = {
    "lacks": missing_value.incomplete,
    "gives": missing_value.completed,
    "fails": failed_call.asked,
    "instead": failed_call.instead,
    "slips": change_of_mind.slipped,
    "corrects": change_of_mind.corrected,
    "takes_back": change_of_mind.taken_back,
    "forbids": rule.asked,
    "confirms": rule.asked_first,
    "agrees": rule.agreed,
    "declines": rule.declined,
}
_ANSWERS: dict[str, Callable[[Lines, Act, int, Sequence[tuple[int, str]]], str]] = {
    "lacks": missing_value.question,
    "fails": failed_call.told,
    "forbids": rule.forbidden,
    "confirms": rule.confirm,
    "declines": rule.left,
}


class Told(Teller):
    """One way of telling a conversation of some kind, with all that its acts do."""

    def message(self, turn: int, asked: Sequence[int]) -> str:
        """Write a message of the user."""
        act = self.talk.at(turn, *_MESSAGES)
        if act is not None:
            return _MESSAGES[act.what](Lines(self), act, turn)
        return self.plain_message(asked, turn, {})

    def answer(self, turn: int, asked: Sequence[int], needed: Sequence[tuple[int, str]]) -> str:
        """Write the answer to a message."""
        act = self.talk.at(turn, *_ANSWERS)
        if act is None:
            return super().answer(turn, asked, needed)
        return _ANSWERS[act.what](Lines(self), act, turn, needed)

    def write(self) -> Query:
        """Write all messages and answers."""
        query = super().write()
        # What is said of a call holds when it is made again, too.
        same = [(act.step, act.value) for act in self.talk.acts if act.what == "again"]
        said = list(query.said)
        for _ in same:
            for pair in same:
                for one, other in (pair, pair[::-1]):
                    said += [found._replace(step=other) for found in said if found.step == one]
        return query._replace(said=tuple(dict.fromkeys(said)))


def teller_of(task: Executed) -> Callable[..., Conversation] | None:
    """Return what tells a conversation; None for a plain one."""
    return partial(Told, task) if task.talk.kind else None
