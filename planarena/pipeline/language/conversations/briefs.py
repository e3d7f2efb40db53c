"""What the user of a conversation knows and says when, for whoever plays the user."""

from __future__ import annotations

from planarena.config import PLAIN
from planarena.generate.clauses import StepContext
from planarena.generate.model_texts import find_stated
from planarena.generate.tellings import Query
from planarena.pipeline.products import Executed
from planarena.users import Brief, Message

__all__ = ["brief_of"]

# What the user says only to a question.
_HELD = ("gives", "agrees", "declines")


def brief_of(task: Executed, steps: list[StepContext], plan: str, query: Query) -> Brief:
    """Return the brief of a conversation, without the texts of its messages."""
    messages = []
    for turn in range(task.turns):
        held = task.talk.at(turn, *_HELD)
        label = ""
        if held is not None and held.what == "gives":
            label = steps[held.step].wording.missing[held.argument].label
        when = "answered" if held is None else "asked"
        text = query.turns[turn]
        values = tuple(dict.fromkeys(said.text for said in query.said if find_stated(text, (said.text,))))
        messages.append(Message(when, label, turn in task.turn_of, values=values))  # type: ignore[arg-type]
    return Brief(task.talk.kind or PLAIN, tuple(plan.splitlines()), tuple(messages))
