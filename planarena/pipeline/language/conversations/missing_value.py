"""Something is missing: the request without a value, the question for it, and the answer that gives it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from planarena.generate.checks import QueryFaultError
from planarena.generate.mentions import holds
from planarena.pipeline.language.conversations.lines import Lines
from planarena.pipeline.products import Act

__all__ = ["FORMAL", "GIVEN", "SHORT", "completed", "incomplete", "question", "question_for"]

_WHICH = (
    "Which {0} should it be?", "Which {0} do you mean?", "Gladly. Which {0}?", "Sure. Which {0} should I take?",
    "Which {0} do you have in mind?", "Happy to. Which {0} would you like?",
)  # fmt: skip
# What nobody chooses from a few: numbers and texts.
_WHAT = (
    "What should the {0} be?", "Sure. What {0} should I put?", "What {0} would you like?", "Gladly. What's the {0}?",
    "Could you tell me the {0}, too?",
)  # fmt: skip
# Whom a request is about is not given or taken as a value is.
_PEOPLE = (
    "person", "patient", "customer", "employee", "driver", "colleague", "traveller", "contact", "artist",
)  # fmt: skip
_WHO = (
    "Which {0} do you mean?", "Gladly. Which {0} is it for?", "Sure. Which {0}?", "Which {0} are we talking about?",
)  # fmt: skip
_WHO_FOR = (
    "Before I {1}: which {0} do you mean?", "I can {1}, but which {0} do you mean?",
)  # fmt: skip
# A longer clause is not repeated.
_LONGEST = 90
_OPEN = (
    "quantity", "number of seats", "amount", "reading", "level", "length", "yearly consumption", "text", "title", "name",
    "account number", "coupon code", "complaint", "word", "address",
)  # fmt: skip
# Where a message asks for several things: what the value is for.
_FOR = (
    "To {1}, I still need the {0}. What is it?", "Before I {1}: what's the {0}?", "I can {1} once I know the {0}. What is it?",
)  # fmt: skip
GIVEN = (
    "{0}.", "{0}, please.", "{0}.", "Sorry, {0}.", "Oh, right: {0}.", "{0}, thanks.", "Sorry, I forgot: {0}.",
)  # fmt: skip
FORMAL = ("{0}.", "{0}, please.", "My apologies, I left that out: {0}.", "{0}, thank you.")
SHORT = ("{0}.", "{0}, please.", "{0}.", "{0}, sorry.")


def addressed(clause: str) -> str:
    """Turn a clause of the user's into one about the user: "my account" becomes "your account"."""
    # What stands in quotation marks is a title, or words that stay as they are.
    parts = clause.split('"')
    parts[::2] = [_PERSON.sub(lambda found: _TURNED[found.group().lower()], part) for part in parts[::2]]
    return '"'.join(parts)


_TURNED = {
    "i am": "you are", "i'm": "you're", "i was": "you were", "i": "you", "me": "you", "my": "your", "mine": "yours",
    "myself": "yourself", "we are": "you are", "we're": "you're", "we": "you", "us": "you", "our": "your", "ours": "yours",
    "i've": "you've", "i'd": "you'd",
}  # fmt: skip
_PERSON = re.compile(
    r"\b(?:" + "|".join(sorted(_TURNED, key=lambda word: -len(word))) + r")\b", re.IGNORECASE
)


def question_for(label: str, lines: Lines) -> str:
    """Ask for something by its label."""
    return lines.pick(_WHO if label in _PEOPLE else _WHAT if label in _OPEN else _WHICH).format(label)


def incomplete(lines: Lines, act: Act, turn: int) -> str:
    """Write the message that leaves the value out; what it asks for is carried out after the next one."""
    words = lines.of.steps[act.step].wording.missing[act.argument]
    text = lines.request(lines.asked_at(turn + 1), turn, {act.step: words.ask})
    value = lines.value(act.step, act.argument)
    lines.of.said.pop()
    if holds(text.lower(), value.strip('"').lower()):
        raise QueryFaultError("told_after_all", f"{value} in {text}")
    return text


def question(lines: Lines, act: Act, turn: int, needed: Sequence[tuple[int, str]]) -> str:  # noqa: ARG001
    """Write the question for the value."""
    step = lines.of.steps[act.step]
    words = step.wording.missing[act.argument]
    said_already = words.label in lines.of.asking
    if len(lines.asked_at(turn + 1)) < 2 or said_already or len(lines.of.asking) > _LONGEST:
        return question_for(words.label, lines)
    forms = _WHO_FOR if words.label in _PEOPLE else _FOR
    return lines.pick(forms).format(words.label, addressed(lines.of.asking))


def completed(lines: Lines, act: Act, turn: int) -> str:  # noqa: ARG001
    """Write the message that gives the value."""
    label = lines.of.steps[act.step].wording.missing[act.argument].label
    register = lines.of.tone
    forms = FORMAL if register == "formal" else SHORT if register in {"terse", "hurried"} else GIVEN
    return lines.line(lines.pick(forms).format(lines.value(act.step, act.argument), label))
