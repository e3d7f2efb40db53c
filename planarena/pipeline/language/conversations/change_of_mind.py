"""Change of mind: a value corrected at once or later, and what was done taken back."""

from __future__ import annotations

import re

from planarena.generate.checks import QueryFaultError
from planarena.generate.clauses import Mention, Voice
from planarena.generate.sentences import capital, pick
from planarena.pipeline.language.conversations.lines import Lines
from planarena.pipeline.products import Act

__all__ = ["CORRECTS", "LOOKS", "SHORT_SLIPS", "SLIPS", "corrected", "slipped", "taken_back"]

SLIPS = (
    "Sorry, {0}, not {1}.", "Sorry, I mean {0}, not {1}.", "No, {0}, not {1}.", "{0}, I mean, not {1}.", "No wait, {0}, not {1}.",
)  # fmt: skip
# Where nothing else was said that it could stand in the place of.
SHORT_SLIPS = (
    "No, {0}.", "Sorry, {0}.", "{0}, I mean.", "No, sorry, {0}.", "Sorry, I meant {0}.", "Sorry, {0}, not {1}.", "No wait, {0}.",
)  # fmt: skip
CORRECTS = (
    "Sorry, I've changed my mind: {0} instead of {1}.", "Actually, make that {0} instead of {1}.",
    "On second thought, {0} rather than {1}.", "Sorry, I meant {0}, not {1}. Could you change that?",
    "I got that wrong: it should be {0}, not {1}. Please change it.", "Could you change that to {0}? {2} was a mistake.",
    "I've thought again: {0}, not {1}, please.",
)  # fmt: skip
LOOKS = (
    "Sorry, I meant {0}, not {1}. Could you look again?", "Oh, sorry, I said {1} but meant {0}. Could you check that instead?",
    "Wait, not {1}: I meant {0}. Could you look that up?", "I should have said {0}, not {1}. Could you look again?",
    "My mistake: {0}, not {1}. Could you look that up instead?",
)  # fmt: skip
_CHANGES = (
    "Actually, {0} instead.", "On second thought, {0}.", "I've changed my mind: {0}.", "Sorry, I've thought again. Please {0}.",
    "Hm, no. Could you {0} instead?",
)  # fmt: skip
_BACK = (
    "On second thought, I'd rather undo that: {0}.", "I've changed my mind. Please {0}.", "Sorry, something has come up: {0}.",
    "Oh dear, that was a mistake. Could you {0}?", "Actually, let's not do that. Please {0}.", "Forget that last thing: {0}.",
    "Hm, I'd better take that back. {2}, please.", "Plans have changed: {0}.",
)  # fmt: skip


_GOES_ON = re.compile(r"[.?!]\s+\S+(\s+\S+){2}")


def slipped(lines: Lines, act: Act, turn: int) -> str:
    """Write a message that says a value and corrects it."""
    of = lines.of
    words = of.steps[act.step]
    said = words._replace(arguments={**words.arguments, act.argument: act.value})
    before, wrong = of.steps, lines.value(act.step, act.argument, act.value)
    of.steps = [said if one.number == act.step else one for one in before]
    try:
        # What is corrected is what was said last: after another request nobody would know what is meant.
        asked = lines.asked_at(turn)
        if any(of.telling.before[other] >> act.step & 1 for other in asked):
            raise QueryFaultError("not_corrected", f"step {act.step} is followed by what needs it")
        text = lines.request([*(step for step in asked if step != act.step), act.step], turn)
    finally:
        of.steps = before
    of.said = [one for one in of.said if (one.step, one.argument) != (act.step, act.argument)]
    right = lines.value(act.step, act.argument)
    if text.count(wrong.strip('"')) != 1 or right.strip('"') in text:
        raise QueryFaultError("not_corrected", f"{wrong} or {right} in {text}")
    if _GOES_ON.search(text[text.index(wrong.strip('"')) + len(wrong) :]):
        raise QueryFaultError("not_corrected", f"{wrong} is not said last in {text}")
    correction = lines.line(lines.pick(SLIPS).format(right, wrong))
    if text.endswith("\n") or "\n" in text:
        return f"{text}\n{correction}"
    return f"{text if text[-1] in '.?!' else text + '.'} {correction}"


def corrected(lines: Lines, act: Act, turn: int) -> str:
    """Write a message that wants something with another value than before."""
    of = lines.of
    words = of.steps[act.step]
    wrong, right = lines.value(act.step, act.argument, act.value), lines.value(act.step, act.argument)
    schema = words.operation.tool.parameters[act.argument]
    said_in_words = schema.get("x-surface") == "word" or words.wording.values.get(act.argument)
    if said_in_words and words.operation.tool.effects != "read":
        text = capital(lines.pick(_CHANGES).format(_clause(lines, act.step)))
    else:
        # What the first time told holds: only the one value is said again.
        for name in words.arguments:
            if name not in words.bound and name != act.argument:
                of.said += _said_before(lines, act, name)
        forms = LOOKS if words.operation.tool.effects == "read" else CORRECTS
        text = lines.line(lines.pick(forms).format(right, wrong, capital(wrong)))
    return _with_rest(lines, act, turn, text)


def _said_before(lines: Lines, act: Act, name: str) -> list[Mention]:
    """Return how the first call's message said a value that the second call has too."""
    words = lines.of.steps[act.step]
    return [
        one._replace(step=act.step)
        for one in lines.of.said
        if one.argument == name
        and one.step != act.step
        and lines.of.steps[one.step].operation is words.operation
        and lines.of.steps[one.step].arguments.get(name) == words.arguments[name]
    ][:1]


def _clause(lines: Lines, step: int) -> str:
    of = lines.of
    words = of.steps[step]
    voice = Voice(of.steps, of.rng.randrange(1000), memory=of.memory, style=of.style)
    clause = of.clause_of(words, pick(words.wording.ask, of.rng), voice)
    of.said += clause.said
    return clause.text


def taken_back(lines: Lines, act: Act, turn: int) -> str:
    """Write a message that takes back what was done."""
    clause = _clause(lines, act.step)
    text = capital(lines.pick(_BACK).format(clause, "", capital(clause)))
    return _with_rest(lines, act, turn, text)


def _with_rest(lines: Lines, act: Act, turn: int, text: str) -> str:
    rest = [step for step in lines.asked_at(turn) if step != act.step]
    return f"{text} {lines.request(rest, turn)}" if rest else text
