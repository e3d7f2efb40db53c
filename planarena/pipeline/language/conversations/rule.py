"""A rule forbids it: the refusal, the question for a yes, and what the user says to that."""

from __future__ import annotations

import re
from collections.abc import Sequence
from copy import copy

from planarena.generate.answers import write_response
from planarena.generate.clauses import Voice
from planarena.generate.sentences import pick
from planarena.pipeline.language.conversations.lines import Lines
from planarena.pipeline.language.conversations.missing_value import addressed
from planarena.pipeline.products import Act

__all__ = ["LEFT", "agreed", "asked", "asked_first", "confirm", "declined", "forbidden", "from_me", "left"]

_FORBIDDEN = (
    "I'm sorry, I can't {0}. {1}", "One thing I can't do is {0}. {1}", "I'm afraid I can't {0}. {1}",
)  # fmt: skip
_FORBIDDEN_ALONE = (
    "I'm sorry, I can't do that. {1}", "I'm afraid I can't {0}. {1}", "Sorry, I'm not allowed to do that. {1}",
    "Sorry, I can't {0}. {1}",
)  # fmt: skip
_CONFIRM = (
    "Before I go on, I need your yes: shall I {0}?", "Let me ask first: do you want me to {0}?", "Just to be sure: shall I {0}?",
    "To confirm: shall I {0}?", "I need your yes for that first. Shall I {0}?",
)  # fmt: skip
_YES = (
    "Yes, please.",
    "Yes, go ahead.",
    "Yes, do that.",
    "Yes.",
    "Go ahead.",
    "Sure, yes.",
    "Yes, please do.",
)
_NO = (
    "No, better not.", "No, leave it.", "On reflection, no.", "No, don't.", "Hm, no. Leave that out.", "No, I'll think about it first.",
    "No, not now.", "Then rather not.",
)  # fmt: skip
LEFT = (
    "All right, I've left it as it is.", "OK, I won't do that.", "OK, nothing has been changed.", "Understood, I'll leave it.",
)  # fmt: skip


_BY_ME = re.compile(r"\b(by|through|with|to|from|for) the assistant\b")
_I = re.compile(r"\b[Tt]he assistant (\w+)")
_VERBS = {"may": "may", "can": "can", "has": "have", "does": "do", "is": "am", "goes": "go"}


def from_me(rule: str) -> str:
    """Return a rule as the assistant says it: "by the assistant" becomes "by me"."""
    mine = _I.sub(lambda found: f"I {_VERBS.get(found.group(1), found.group(1).removesuffix('s'))}", rule)
    if mine != rule:
        mine = re.sub(r"\bbut does not\b", "but don't", mine)
    return _BY_ME.sub(r"\1 me", mine)


def asked(lines: Lines, act: Act, turn: int) -> str:
    """Write the message that asks for what a rule forbids, among other things."""
    return lines.request(lines.asked_at(turn, act.step), turn)


def asked_first(lines: Lines, act: Act, turn: int) -> str:
    """Write the message that asks for what needs a yes; all of it is carried out after the next message."""
    steps = lines.asked_at(turn + 1)
    return lines.request(lines.asked_at(turn + 1, *({act.step} - set(steps))), turn)


def _deed(lines: Lines, step: int, *, told: bool = False) -> str:
    """Return what a call would do, in words that need no look-up."""
    of = lines.of
    words = of.steps[step]
    # Names that were told, but no "that card": who is asked for a yes is told what for.
    memory = copy(of.memory)
    memory._mentioned, memory.phrases = {}, dict(memory.phrases)
    voice = Voice(of.steps, of.rng.randrange(1000), memory=memory, style=of.style)
    # A yes is asked for with every value; an imperative clause has them all, a line of a plan has not.
    lines_of_it = words.wording.ask if told else words.wording.plan
    text = addressed(words.clause(pick(lines_of_it, of.rng), voice).text)
    return text[:1].lower() + text[1:]


def forbidden(lines: Lines, act: Act, turn: int, needed: Sequence[tuple[int, str]]) -> str:
    """Write the answer that refuses, and tells what else is done."""
    of = lines.of
    done = lines.asked_at(turn)
    rule = str(act.value)
    refusal = lines.pick(_FORBIDDEN if done else _FORBIDDEN_ALONE).format(
        _deed(lines, act.step), from_me(rule)
    )
    if not done:
        return refusal
    rest = write_response(of.steps, done, of.rng, of.style, needed, lead=False)
    return f"{rest} {refusal}" if of.rng.random() < 0.6 else f"{refusal} {rest}"


def confirm(lines: Lines, act: Act, turn: int, needed: Sequence[tuple[int, str]]) -> str:  # noqa: ARG001
    """Write the question for a yes."""
    return lines.pick(_CONFIRM).format(_deed(lines, act.step, told=True))


def agreed(lines: Lines, act: Act, turn: int) -> str:  # noqa: ARG001
    """Write the user's yes."""
    return lines.spoken(lines.pick(_YES))


def declined(lines: Lines, act: Act, turn: int) -> str:  # noqa: ARG001
    """Write the user's no."""
    return lines.spoken(lines.pick(_NO))


def left(lines: Lines, act: Act, turn: int, needed: Sequence[tuple[int, str]]) -> str:  # noqa: ARG001
    """Write the answer to a no."""
    of = lines.of
    done = lines.asked_at(turn)
    text = lines.pick(LEFT)
    return f"{text} {write_response(of.steps, done, of.rng, of.style, needed, lead=False)}" if done else text
