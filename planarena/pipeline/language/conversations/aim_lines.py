"""What is said where a message that follows an aim leaves a value out, corrects one, is refused, or does not work."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from planarena.environments.goals import Aim
from planarena.generate.checks import QueryFaultError
from planarena.generate.mentions import holds
from planarena.generate.spelling import capital
from planarena.pipeline.aimed import Aimed, Said
from planarena.pipeline.language.conversations.change_of_mind import CORRECTS, LOOKS, SLIPS
from planarena.pipeline.language.conversations.failed_call import hiccup, spoken_error
from planarena.pipeline.language.conversations.lines import FOR_GOOD, Lines
from planarena.pipeline.language.conversations.missing_value import FORMAL, GIVEN, SHORT, addressed
from planarena.pipeline.language.conversations.rule import LEFT
from planarena.pipeline.language.conversations.telling import Told
from planarena.pipeline.products import Act

__all__ = ["AIM_ANSWERS", "AIM_MESSAGES", "AimTeller"]

_REFUSED = (
    "I'm sorry, I can't {0}. {1}", "I'm not allowed to {0}: {2}", "That is something I may not do for you. {1}",
    "I'm afraid I can't {0}. {1}", "Sorry, but I have to leave that one alone. {1}", "I can't {0} here. {1}",
)  # fmt: skip
_CONFIRM = (
    "Shall I {0}? I need your yes for that.", "Before I go ahead: do you want me to {0}?", "To be sure: shall I {0}?",
    "I need a clear yes from you first. Shall I {0}?", "Should I really {0}? Please confirm.", "Just to confirm: I am to {0}?",
)  # fmt: skip
_FAILED = (
    "I'm sorry, I couldn't {0}: {1}", "Unfortunately I couldn't {0}: {1}", "I tried to {0}, but it didn't work: {1}",
    "I wasn't able to {0}: {1}", "I'm afraid I couldn't {0}: {1}",
)  # fmt: skip
_FAILED_BARE = (
    "I'm sorry, that didn't work: {1}", "Unfortunately that isn't possible: {1}", "I tried, but it didn't work: {1}",
)  # fmt: skip
# Where the rest of the message has been done.
_FAILED_LAST = (
    "The last step didn't work, though: {1}", "One thing did not work: {1}", "The rest failed: {1}",
    "I could not do the last part: {1}",
)  # fmt: skip
_FAILED_LOOK = (
    "I'm sorry, I couldn't look that up: {1}", "Unfortunately I can't find that out at the moment: {1}",
    "I tried to look it up, but it didn't work: {1}", "I'm afraid I can't tell you that now: {1}",
)  # fmt: skip
_THEN = (
    "Then {0}, please.", "All right, {0} then.", "OK, then {0} instead.", "In that case, {0}.", "What about {0} instead?",
    "I see. {0}, then.", "Pity. Then {0}, please.", "Would {0} work?",
)  # fmt: skip
_THEN_MAKE = (
    "Then make it {0}.", "All right, make it {0} then.", "OK, {0} will do.", "I see. {0} is fine, too.", "In that case, {0}.",
    "Fair enough, then {0}.", "Then let's say {0}.", "OK, {0} then.",
)  # fmt: skip
_NUMBERS = frozenset({"money", "percent", "duration", "number"})
_YES = ("Yes, please.", "Yes, go ahead.", "Yes, do that.", "Yes, I'm sure.", "Yes, that's right.", "Go ahead.", "Sure, yes.")  # fmt: skip
_GOES_ON = re.compile(r"[.?!]\s+\S+(\s+\S+){9}")


class AimTeller(Told):
    """What these lines ask of whoever tells messages that follow aims; `Aimful` answers it."""

    aims: dict[int, Aimed]

    def aim_of(self, aimed: Aimed) -> Aim:
        """Return the aim that a message follows."""
        raise NotImplementedError

    def aim_at(self, said: Said) -> Aim:
        """Return the aim that has a value."""
        raise NotImplementedError

    def say(self, aimed: Aimed, ways: Sequence[str], turn: int, *, again: bool = False) -> str:
        """Write a whole message in one of several ways."""
        raise NotImplementedError

    def choose(self, ways: Sequence[str]) -> str:
        """Return the way that was used least."""
        raise NotImplementedError

    def written(self, aimed: Aimed, way: str) -> str:
        """Write a way with its values."""
        raise NotImplementedError

    def unnoted(self, aimed: Aimed, ways: Sequence[str]) -> str:
        """Write one of several ways as the assistant says it."""
        raise NotImplementedError

    def value_of(self, one: Said) -> str:
        """Write a value as the user says it, and note that it was said."""
        raise NotImplementedError

    def own_answer(
        self, turn: int, asked: Sequence[int], needed: Sequence[tuple[int, str]], *, lead: bool = True
    ) -> str:
        """Write what an answer tells."""
        raise NotImplementedError


def _said(aimed: Aimed, act: Act) -> Said:
    """Return the value of an aim that a message is about."""
    found = next((one for one in aimed.said if (act.step, act.argument) in one.places), None)
    if found is None:
        raise QueryFaultError("unsayable", f"{aimed.name} does not say {act.argument} of step {act.step}")
    return found


def _shown(of: AimTeller, one: Said, value: Any = None) -> str:
    """Write a value as the user would alone, in quotation marks where the ways have some; only the right one is noted."""
    known = list(of.said)
    text = of.value_of(one if value is None else replace(one, value=value))
    if value is not None:
        of.said = known
    aim = of.aim_at(one)
    return f'"{text}"' if any(f'"{{{one.name}}}"' in way for way in aim.ways) else text


def _lacking(of: AimTeller, act: Act, turn: int) -> str:
    """Write the message that leaves a value out; what it asks for is carried out after the next one."""
    aimed = of.aims[turn + 1]
    said = _said(aimed, act)
    text = of.say(aimed, of.aim_of(aimed).lacking[said.name].ways, turn)
    known = list(of.said)
    value = of.value_of(said)
    of.said = known
    if holds(text.lower(), value.lower()):
        raise QueryFaultError("told_after_all", f"{value} in {text}")
    return text


def _question(of: AimTeller, act: Act, turn: int, needed: Sequence[tuple[int, str]]) -> str:  # noqa: ARG001
    aimed = of.aims[turn + 1]
    return of.unnoted(aimed, of.aim_of(aimed).lacking[_said(aimed, act).name].asks)


def _given(of: AimTeller, act: Act, turn: int) -> str:
    aimed = of.aims[turn]
    said = _said(aimed, act)
    gives = of.aim_of(aimed).lacking[said.name].gives
    if gives:
        return Lines(of).line(of.written(aimed, of.choose(gives)))
    forms = FORMAL[1:] if of.register == "formal" else SHORT if of.register in {"terse", "hurried"} else GIVEN
    return Lines(of).line(Lines(of).pick(forms).format(_shown(of, said), ""))


def _slipped(of: AimTeller, act: Act, turn: int) -> str:
    """Write a message that says a value and corrects it."""
    aimed = of.aims[turn]
    said = _said(aimed, act)
    wrong = replace(said, value=act.value)
    ways = [way for way in of.aim_of(aimed).ways if way.count(f"{{{said.name}}}") == 1]
    if not ways:
        raise QueryFaultError("not_corrected", f"{said.name} of {aimed.name} is said twice")
    changed = replace(aimed, said=tuple(wrong if one is said else one for one in aimed.said))
    before = list(of.said)
    for way in sorted(ways, key=lambda _: of.rng.random()):
        of.said = list(before)
        text = of.say(changed, [way], turn)
        of.said = [one for one in of.said if (one.step, one.argument) not in said.places]
        right, first = _shown(of, said), _shown(of, said, act.value)
        once = text.count(first.strip('"')) == 1 and right.strip('"') not in text
        # What is corrected was said just before, and not within what is dictated.
        if once and not text.endswith('"') and not _GOES_ON.search(text[text.index(first.strip('"')) :]):
            correction = Lines(of).line(Lines(of).pick(SLIPS).format(right, first))
            return f"{text if text[-1] in '.?!' else text + '.'} {correction}"
    raise QueryFaultError("not_corrected", f"{said.name} of {aimed.name} is said last in no way")


def _corrected(of: AimTeller, act: Act, turn: int) -> str:
    """Write a message that wants an aim with another value than before; what else was said holds."""
    aimed = of.aims[turn]
    said = _said(aimed, act)
    for one in aimed.said:
        if one is not said and one.places:
            of.value_of(one)
    right, wrong = _shown(of, said), _shown(of, said, act.value)
    own = {step for step, _, _ in aimed.calls}
    reads = all(of.steps[step].operation.tool.effects == "read" for step in own)
    return Lines(of).line(Lines(of).pick(LOOKS if reads else CORRECTS).format(right, wrong))


def _instead(of: AimTeller, act: Act, turn: int) -> str:
    """Write the message that wants an aim with a value that works, or that a rule allows."""
    aimed = of.aims[turn]
    said = _said(aimed, act)
    for one in aimed.said:
        if one is not said and one.places:
            of.value_of(one)
    forms = _THEN_MAKE if said.surface in _NUMBERS else _THEN
    text = Lines(of).pick(forms).format(_shown(of, said))
    return Lines(of).line(capital(text))


def _asked_first(of: AimTeller, act: Act, turn: int) -> str:  # noqa: ARG001
    """Write the message that asks for what needs a yes; all of it is carried out after the next one, or nothing."""
    aimed = of.aims.get(turn + 1) or of.aims[turn]
    if of.talk.at(turn + 1, "declines"):
        aimed = of.aims[turn]
    return of.say(aimed, of.aim_of(aimed).ways, turn, again=True)


def _agreed(of: AimTeller, act: Act, turn: int) -> str:  # noqa: ARG001
    return Lines(of).spoken(Lines(of).pick(_YES))


def _asked(of: AimTeller, act: Act, turn: int) -> str:  # noqa: ARG001
    aimed = of.aims[turn]
    return of.say(aimed, of.aim_of(aimed).ways, turn, again=True)


def _deed(of: AimTeller, aimed: Aimed) -> str:
    aim = of.aim_of(aimed)
    # What belongs to the user stands in values, too: "my credit card".
    return addressed(of.unnoted(aimed, (aim.deed,))) if aim.deed else ""


def _refused(of: AimTeller, act: Act, turn: int, needed: Sequence[tuple[int, str]]) -> str:  # noqa: ARG001
    deed = _deed(of, of.aims[turn])
    rule = str(act.value)
    forms = [one for one in _REFUSED if deed or "{0}" not in one]
    return Lines(of).pick(forms).format(deed, rule, rule[:1].lower() + rule[1:])


def _confirm(of: AimTeller, act: Act, turn: int, needed: Sequence[tuple[int, str]]) -> str:  # noqa: ARG001
    aimed = of.aims[turn] if of.talk.at(turn + 1, "declines") else of.aims[turn + 1]
    deed = _deed(of, aimed)
    if not deed:
        raise QueryFaultError("unsayable", f"{aimed.name} has no deed to confirm")
    return Lines(of).pick(_CONFIRM).format(deed)


def _left(of: AimTeller, act: Act, turn: int, needed: Sequence[tuple[int, str]]) -> str:  # noqa: ARG001
    return Lines(of).pick(LEFT)


def _failed(of: AimTeller, act: Act, turn: int, needed: Sequence[tuple[int, str]]) -> str:
    """Write the answer: that it did not work, and what else is done; or that it worked in the end."""
    done = Lines(of).asked_at(turn)
    if act.argument != FOR_GOOD:
        first = hiccup(of, act, turn)
        return first + of.own_answer(turn, done, needed, lead=not first)
    deed = _deed(of, of.aims[turn])
    reads = of.steps[act.step].operation.tool.effects == "read"
    own = {step for step, _, _ in of.aims[turn].calls if of.steps[step].operation.tool.effects != "read"}
    if own - {act.step}:
        deed = ""  # some of it is done
    forms = _FAILED if deed else _FAILED_LOOK if reads else _FAILED_LAST if done else _FAILED_BARE
    failure = Lines(of).pick(forms).format(deed, spoken_error(of.errors[act.step], of.style))
    return f"{of.own_answer(turn, done, needed, lead=False)} {failure}" if done else failure


AIM_MESSAGES: dict[str, Callable[[AimTeller, Act, int], str]] = {
    "lacks": _lacking,
    "gives": _given,
    "slips": _slipped,
    "corrects": _corrected,
    "instead": _instead,
    "confirms": _asked_first,
    "agrees": _agreed,
    "forbids": _asked,
    "fails": _asked,
}
AIM_ANSWERS: dict[str, Callable[[AimTeller, Act, int, Sequence[tuple[int, str]]], str]] = {
    "lacks": _question,
    "forbids": _refused,
    "confirms": _confirm,
    "declines": _left,
    "fails": _failed,
}
