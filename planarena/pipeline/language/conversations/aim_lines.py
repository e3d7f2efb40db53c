"""What is said where a message that follows an aim leaves a value out, corrects one, is refused, or does not work."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from planarena.environments.goals import Aim
from planarena.generate.checks import QueryFaultError
from planarena.generate.clauses import Mention
from planarena.generate.mentions import holds
from planarena.generate.spelling import capital
from planarena.pipeline.aimed import Aimed, Said
from planarena.pipeline.language.conversations.change_of_mind import CORRECTS, LOOKS, SHORT_SLIPS, SLIPS
from planarena.pipeline.language.conversations.failed_call import deed_of, hiccup, reason_of
from planarena.pipeline.language.conversations.lines import FOR_GOOD, Lines
from planarena.pipeline.language.conversations.missing_value import GIVEN, addressed
from planarena.pipeline.language.conversations.rule import LEFT, from_me
from planarena.pipeline.language.conversations.telling import Told
from planarena.pipeline.products import Act

__all__ = ["AIM_ANSWERS", "AIM_MESSAGES", "AimTeller", "has_article", "noticed"]

_REFUSED = (
    "I'm sorry, I can't {0}. {1}", "I'm afraid I can't {0}. {1}", "Sorry, I can't {0}. {1}", "Sorry, I'm not allowed to do that. {1}",
    "I'm afraid I can't do that. {1}",
)  # fmt: skip
_CONFIRM = (
    "Before I go ahead: do you want me to {0}?", "Shall I go ahead and {0}?", "Just to confirm: shall I {0}?",
    "I need your yes for that first. Shall I {0}?", "Let me check with you first: shall I {0}?", "Is it all right if I {0}?",
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
    "But I couldn't {0}: {1}", "I couldn't {0}, though: {1}", "Unfortunately I couldn't {0}: {1}",
)  # fmt: skip
_FAILED_LOOK = (
    "I'm sorry, I couldn't look that up: {1}", "Unfortunately I can't find that out: {1}",
    "I tried to look it up, but it didn't work: {1}", "I'm afraid I can't tell you that: {1}",
)  # fmt: skip
_THEN = (
    "Then {0}, please.", "All right, {0} then.", "OK, then {0} instead.", "What about {0} instead?", "I see. Then {0}.",
    "Would {0} work?",
)  # fmt: skip
_THEN_MAKE = (
    "Then make it {0}.", "All right, make it {0} then.", "OK, make it {0}.", "I see. Then {0}, please.", "Fair enough, then {0}.",
    "OK, {0} then.",
)  # fmt: skip
_NUMBERS = frozenset({"money", "percent", "duration", "number"})
_YES = ("Yes, please.", "Yes, go ahead.", "Yes, do that.", "Yes.", "Go ahead.", "Sure, yes.", "Yes, please do.")  # fmt: skip
# The end of a sentence, and what a sentence may still say behind a value that is corrected right after it.
_ENDS, _MOST_BEHIND = re.compile(r"[.?!](?=\s|$)"), 9
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
# Of so many words nobody repeats a value just to say that it was understood.
_MOST_WORDS = 3
# A plan's line for a call says what could not be done where it is short and tells of nothing that was found.
_MOST_OF_DEED, _FOUND = 14, re.compile(r"\b(?:found|fits?)\b")
# How an answer takes up what was corrected, where it does not name it otherwise.
_NOTICED = ("OK, {0} then. ", "All right, {0} then. ", "Right, {0} then. ")


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
    if any(f'"{{{one.name}}}"' in way for way in aim.ways):
        return f'"{text}"'
    return f"the {text}" if has_article(one.name, aim.ways) else text


def has_article(name: str, ways: Sequence[str]) -> bool:
    """Say whether a value is spoken of with an article: "the Drover Pickup", but "the Festive card" of "Festive"."""
    place = f"{{{name}}}"
    spoken = [way for way in ways if place in way]
    alone = re.compile(rf"\b[Tt]he {re.escape(place)}(?=[,.?!;:]|$)")
    return any(alone.search(way) for way in spoken) and all(
        way[: found.start()].lower().endswith("the ")
        for way in spoken
        for found in re.finditer(re.escape(place), way)
    )


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
    return Lines(of).line(Lines(of).pick(GIVEN).format(_shown(of, said)))


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
    behind: tuple[str, list[Mention]] | None = None
    for way in sorted(ways, key=lambda _: of.rng.random()):
        of.said = list(before)
        text = of.say(changed, [way], turn)
        of.said = [one for one in of.said if (one.step, one.argument) not in said.places]
        right, first = _shown(of, said), _shown(of, said, act.value)
        if _YEAR.search(right) or _YEAR.search(first):
            raise QueryFaultError("not_corrected", f"nobody says {right} twice in a message")
        text = text if text[-1] in '.?!"' else text + "."
        place = text.find(first.strip('"'))
        end = _end_of_sentence(text, place + len(first.strip('"')))
        # What is corrected was said just before, and not within what is dictated.
        if text.count(first.strip('"')) == 1 and right.strip('"') not in text and end:
            # Between two sentences a correction interrupts: it comes last, and after another one it says for what.
            last = not text[end:].strip()
            forms = SHORT_SLIPS if last and _is_plain(aimed, said) else SLIPS
            correction = Lines(of).line(Lines(of).pick(forms).format(right, first))
            if last:
                return f"{text} {correction}"
            behind = behind or (f"{text} {correction}", list(of.said))
    if behind is not None:
        text, of.said = behind
        return text
    raise QueryFaultError("not_corrected", f"{said.name} of {aimed.name} is said last in no way")


def _is_plain(aimed: Aimed, said: Said) -> bool:
    """Say whether a value alone tells what it stands in the place of: a name, the only value of its kind."""
    return isinstance(said.value, str) and not any(
        one is not said and one.surface == said.surface for one in aimed.said
    )


def _end_of_sentence(text: str, start: int) -> int:
    """Return where the sentence ends that a value stands in; 0 where too much follows in it, or something is dictated."""
    for found in _ENDS.finditer(text, start - 1):
        if text[: found.end()].count('"') % 2 == 0:
            behind = text[start : found.end()]
            plain = len(behind.split()) <= _MOST_BEHIND and behind.count('"') < 2
            return found.end() if plain else 0
    return 0


def noticed(of: AimTeller, act: Act, turn: int, answer: str) -> str:
    """Return an answer that makes plain what was corrected: in what it tells, or else by saying so first."""
    said = _said(of.aims[turn], act)
    known = list(of.said)
    text = _shown(of, said)
    of.said = known
    forms = {text.strip('"'), _YEAR.sub("", text).strip(' ,"')}
    if len(text.split()) > _MOST_WORDS or any(holds(answer.lower(), one.lower()) for one in forms):
        return answer
    if any(
        len(word) > _MOST_WORDS and holds(answer.lower(), word) for word in text.strip('"').lower().split()
    ):
        return answer
    return Lines(of).pick(_NOTICED).format(text) + answer


def _corrected(of: AimTeller, act: Act, turn: int) -> str:
    """Write a message that wants an aim with another value than before; what else was said holds."""
    aimed = of.aims[turn]
    said = _said(aimed, act)
    for one in aimed.said:
        if one is not said and one.places:
            of.value_of(one)
    right, wrong = _shown(of, said), _shown(of, said, act.value)
    # Where nothing was done before, nothing is to be changed.
    before = of.aims.get(turn - 1, aimed)
    reads = all(of.steps[step].operation.tool.effects == "read" for step, _, _ in before.calls)
    form = Lines(of).pick(LOOKS if reads else CORRECTS)
    return Lines(of).line(form.format(right, wrong, capital(wrong)))


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
    forms = [one for one in _REFUSED if deed or "{0}" not in one]
    return Lines(of).pick(forms).format(deed, from_me(str(act.value)))


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
        last = hiccup(of, act, turn)
        return of.own_answer(turn, done, needed, lead=not last) + last
    deed = _deed(of, of.aims[turn])
    reads = of.steps[act.step].operation.tool.effects == "read"
    own = {step for step, _, _ in of.aims[turn].calls if of.steps[step].operation.tool.effects != "read"}
    if not deed and not done and not reads:
        plan = addressed(deed_of(Lines(of), act.step))
        deed = plan if len(plan.split()) <= _MOST_OF_DEED and not _FOUND.search(plan) else ""
    if own & set(done):
        deed = ""  # some of it is done, and told
    forms = _FAILED if deed else _FAILED_LOOK if reads else _FAILED_LAST if done else _FAILED_BARE
    if forms is _FAILED_LAST:
        deed = addressed(deed_of(Lines(of), act.step))
    failure = Lines(of).pick(forms).format(deed, reason_of(of.errors[act.step], of.style, act))
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
