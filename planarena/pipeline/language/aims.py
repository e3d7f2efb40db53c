"""What is said in a task that follows an aim: one of the aim's ways, and an answer that tells what it asks for.

The rest of the language part sees such a task as any other: what its picks mean stands in the words of its steps (see
`aim_words`), as references and as what is told.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial

from msgspec.structs import replace

from planarena.environments.goals import Aim, stated_names
from planarena.generate.answers import write_response
from planarena.generate.checks import QueryFaultError
from planarena.generate.clauses import Mention, Voice
from planarena.generate.manners import fitting_asides
from planarena.generate.mentions import holds
from planarena.generate.queries import Conversation
from planarena.generate.semantic_values import semantic_values
from planarena.generate.sentences import pick as pick_one
from planarena.generate.sentences import pick_rare
from planarena.generate.spelling import Style, capital, one_stop, spell, with_articles
from planarena.generate.surfaces import surface
from planarena.generate.templates import Segment, counted, segments_of
from planarena.pipeline.aimed import Aimed, Said
from planarena.pipeline.language.aim_words import aim_of
from planarena.pipeline.language.conversations.aim_lines import (
    AIM_ANSWERS,
    AIM_MESSAGES,
    AimTeller,
    noticed,
)
from planarena.pipeline.language.conversations.lines import FOR_GOOD
from planarena.pipeline.products import Act, Executed

__all__ = ["aim_teller_of"]

# How a later message may begin: after an answer that tells something, after one that says what was done, where it goes
# on to something else, where it is the last, and after an answer that nobody is glad of [ours].
_AFTER_NEWS = ("Thanks. ", "Thank you. ", "OK, thanks. ", "I see, thanks. ", "Good to know. ")
_AFTER_DEEDS = ("Thanks. ", "Great, thanks. ", "Perfect. ", "Good. ", "Thank you. ", "Lovely, thank you. ")
_ELSEWHERE = ("Thanks. ", "Thank you. ", "OK, thanks. ", "One more thing. ")
_AT_LAST = ("Thanks. ", "One last thing. ", "Thank you. ", "And one more thing. ")
_AFTER_A_NO = ("Never mind. ", "All right. ", "OK. ", "I see. ", "Understood. ", "Too bad. ")
# How often, and in how many messages of one conversation; where nothing is left out that was said [ours].
_OPENED, _OPENED_AFTER_A_NO, _MOST_OPENED, _AGAIN = 0.3, 0.7, 2, 0.8
# Of the ways of a later message the plainest are taken, so many at least [ours].
_FEWEST = 3
_DAYS = frozenset({"date", "datetime"})
# Share of the first messages that begin with the spot in which their writer is, of those that say nothing of it [ours];
# two stories in one message would contradict each other.
_ASIDE = 0.5
_PERSONAL = re.compile(
    r"\b(I|my|we|our|us|mine|ours)\b|^(hi|hello|hey|good)\b|[.?!:] .*[.?!:] ", re.IGNORECASE
)
# What a person's name is, of whom later messages may speak by the first one: so often [ours].
_PEOPLE, _FULL_NAME = frozenset({"person", "patient"}), re.compile(r"[A-Z][a-z]+ [A-Z][\w'-]+")
_BY_FIRST_NAME = 0.7
# Where people speak of their family, friends and colleagues; of customers nobody does so.
_FAMILIAR = frozenset(
    {"boards", "calendar", "clinic", "gym", "hr", "kitchen", "library", "parcels", "travel"}
)
_SEEKS = re.compile(
    r"(?:please )?(?:find|look up|search for|look for) (?!out )(?:the )?(?:\w+ )?\"?\{([\w.]+)\}(?!'s)",
    re.IGNORECASE,
)
# Where a sentence begins within a message.
_BEGINS = re.compile(r"[.?!][\"')]* $")


def _shielded(text: str) -> str:
    """Return a text so that nothing changes its words: no spelling, no template; `_bared` undoes it."""
    return "".join(chr(_SHIELD + ord(one)) if ord(one) < _SHIELDED else one for one in text)


def _bared(text: str) -> str:
    return "".join(
        chr(ord(one) - _SHIELD) if _SHIELD <= ord(one) < _SHIELD + _SHIELDED else one for one in text
    )


# The manner of writing dates that no person talks in.
_OF_MACHINES = 2
# Where Unicode keeps room for private use.
_SHIELD, _SHIELDED = 0xE000, 0x1800


class Aimful(AimTeller):
    """One way of telling a task whose messages follow aims."""

    def __init__(self, task: Executed, *given: object) -> None:
        super().__init__(task, *given)  # type: ignore[arg-type]
        self.aims = {one.turn: one for one in task.aims}
        if self.style.manner == _OF_MACHINES:
            self.style = self.style._replace(manner=0 if self.style.british else 1)
        self.tone = "plain"  # whole messages are written by hand: what stands between them is no quicker
        self.answered: dict[int, str] = {}
        self.opened: set[str] = set()
        self.first_names: dict[str, str] = {}

    def in_order(self, asked: Sequence[int]) -> list[int]:
        """Order what a message asks for as the aim has it."""
        if all(self.telling.turn_of[step] in self.aims for step in asked):
            names = {
                step: (list(aim_of(one).calls).index(call), number)
                for one in self.aims.values()
                for step, call, number in one.calls
            }
            return sorted(asked, key=lambda step: (self.telling.turn_of[step], names[step]))
        return super().in_order(asked)

    def aim_of(self, aimed: Aimed) -> Aim:
        """Return the aim that a message follows."""
        return aim_of(aimed)

    def aim_at(self, said: Said) -> Aim:
        """Return the aim that has a value."""
        return next(
            aim_of(one) for one in self.aims.values() if any(each.name == said.name for each in one.said)
        )

    def message(self, turn: int, asked: Sequence[int]) -> str:
        """Write a message of the user."""
        act = self.talk.at(turn, *AIM_MESSAGES)
        if act is not None and self._follows(act, turn):
            return AIM_MESSAGES[act.what](self, act, turn)
        return super().message(turn, asked)

    def _follows(self, act: Act, turn: int) -> bool:
        """Say whether what a message does is about an aim."""
        return turn in self.aims or (act.what in {"lacks", "confirms"} and turn + 1 in self.aims)

    def plain_message(self, asked: Sequence[int], turn: int, templates: object) -> str:
        """Write a message that says an aim in one of its ways."""
        if turn not in self.aims:
            return super().plain_message(asked, turn, templates)  # type: ignore[arg-type]
        aimed = self.aims[turn]
        aim = aim_of(aimed)
        return self.say(aimed, list(aim.ways) if aimed.way < 0 else [aim.ways[aimed.way]], turn, again=True)

    def _ways_again(self, aimed: Aimed, turn: int) -> list[str]:
        """Return the ways in which an aim leaves out what the message before has said."""
        before = self.aims.get(turn - 1)
        if before is None or before.domain != aimed.domain or self._was_refused(turn):
            return []
        aim = aim_of(aimed)
        # Where a journey begins is never "there".
        known = {one.value for one in before.said if isinstance(one.value, str) and one.name != "origin"}
        own = {one.name: one.value for one in aimed.said}
        needed = set.intersection(*(stated_names(way) for way in aim.ways))
        left_out = {way: needed - stated_names(way) for way in aim.again}
        return [
            way
            for way, names in left_out.items()
            if all(isinstance(own.get(name), str) and own[name] in known for name in names)
            and not any(one.name in names and self._is_one_of_several(one, turn - 1) for one in aimed.said)
        ]

    def _is_one_of_several(self, said: Said, turn: int) -> bool:
        """Say whether a message or its answer names another of the same kind: then "their" could mean either."""
        if not said.places:
            return False
        step, argument = said.places[0]
        semantic = self.steps[step].operation.tool.parameters[argument].get("x-semantic", "")
        # "That day" after two days were said.
        days = [
            one.value[:10]
            for one in self.aims[turn].said
            if one.surface in _DAYS and isinstance(one.value, str)
        ]
        if said.surface in _DAYS and any(day != str(said.value)[:10] for day in days):
            return True
        shown = [
            value
            for number, one in enumerate(self.steps)
            if self.telling.turn_of[number] == turn
            for kind, value in semantic_values(one.operation.tool.output_schema, one.result)
            if kind == semantic and value != said.value
        ]
        return any(str(value) in self.answered.get(turn, "") for value in shown)

    def say(self, aimed: Aimed, ways: Sequence[str], turn: int, *, again: bool = False) -> str:
        """Write a whole message in one of several ways.

        Args:
            aimed: The aim.
            ways: They.
            turn: The message.
            again: Whether it may leave out what the message before has said.
        """
        shorter = self._ways_again(aimed, turn) if again and self.rng.random() < _AGAIN else []
        if turn and again:
            # Who has said why they ask says it once: a second story soon contradicts the first.
            ways = self._of_the_known(aimed, ways, turn)
            ways = sorted(ways, key=lambda way: len(way.split()))[: max(_FEWEST, 3 * len(ways) // 4)]
        self.first_names = self._first_names(aimed, turn) if turn and again else {}
        try:
            text = self.written(aimed, self.choose(shorter or ways))
        finally:
            self.first_names = {}
        if shorter:
            noted = {(one.step, one.argument) for one in self.said}
            for one in aimed.said:
                if one.places and one.places[0] not in noted:
                    self.value_of(one)
        elif turn and self.rng.random() < (_OPENED_AFTER_A_NO if self._was_refused(turn) else _OPENED):
            thanks = "thank" in text.lower()  # once in a message
            left = [
                one
                for one in self._openers(aimed, turn)
                if one not in self.opened and not (thanks and "thank" in one.lower())
            ]
            if left and (len(self.opened) < _MOST_OPENED or self._was_refused(turn)):
                opener = pick_one(left, self.rng)
                self.opened.add(opener)
                text = opener + capital(text)
        elif not turn and again and not _PERSONAL.search(text) and self.rng.random() < _ASIDE:
            remark = pick_rare(fitting_asides(text), self.rng, self.used)
            text = f"{spell(remark, self.style)} {capital(text)}"
        return with_articles(one_stop(capital(text)))

    def _before(self, turn: int) -> set[str]:
        """Return the texts that the user said in earlier messages."""
        return {
            one.value
            for each in self.aims.values()
            if each.turn < turn
            for one in each.said
            if isinstance(one.value, str)
        }

    def _of_the_known(self, aimed: Aimed, ways: Sequence[str], turn: int) -> Sequence[str]:
        """Return the ways that do not have somebody found whom the conversation has dealt with, if there are such."""
        told = " ".join(text for at, text in self.answered.items() if at < turn)
        before = self._before(turn)
        known = {
            one.name
            for one in aimed.said
            if isinstance(one.value, str) and (one.value in before or holds(told, one.value))
        }
        return [
            way
            for way in ways
            if not ((seeks := _SEEKS.match(way)) and seeks.group(1) in known)
        ] or ways  # fmt: skip

    def _first_names(self, aimed: Aimed, turn: int) -> dict[str, str]:
        """Return by full name the first name that will do: who was named in full, and nobody else has it."""
        before, found = self._before(turn), {}
        for one in aimed.said if aimed.domain in _FAMILIAR else ():
            if one.value not in before or not _FULL_NAME.fullmatch(str(one.value)) or not one.places:
                continue
            schemas = (self.steps[step].operation.tool.parameters.get(name, {}) for step, name in one.places)
            if any(schema.get("x-semantic") not in _PEOPLE for schema in schemas):
                continue
            first = str(one.value).split()[0]
            others = {
                match.group().rstrip("'") for match in re.finditer(rf"\b{first} [A-Z][\w'-]+", self._shown())
            }
            if others <= {one.value} and self.rng.random() < _BY_FIRST_NAME:
                found[str(one.value)] = first
        return found

    def _shown(self) -> str:
        """Return all that the conversation deals with, and what is known from the start, as one text."""
        return " | ".join([self.telling.known, *(repr((one.arguments, one.result)) for one in self.steps)])

    def _was_refused(self, turn: int) -> bool:
        """Say whether what the message before asked for was not done."""
        act = self.talk.at(turn - 1, "fails", "forbids", "declines")
        return act is not None and (act.what != "fails" or act.argument == FOR_GOOD)

    def _openers(self, aimed: Aimed, turn: int) -> tuple[str, ...]:
        """Return how a later message may begin, by what was answered before it."""
        if self._was_refused(turn):
            return _AFTER_A_NO
        if turn > 1 and turn == (self.telling.turns or self.telling.turn_of[-1] + 1) - 1:
            return _AT_LAST
        before = {one.value for each in self.aims.values() if each.turn < turn for one in each.said}
        if not any(isinstance(one.value, str) and one.value in before for one in aimed.said):
            return _ELSEWHERE
        told = [step for step in self.telling.asked if self.telling.turn_of[step] == turn - 1]
        deeds = told and all(self.steps[step].operation.tool.effects != "read" for step in told)
        return _AFTER_DEEDS if deeds else _AFTER_NEWS

    def choose(self, ways: Sequence[str]) -> str:
        """Return the way that was used least."""
        fewest = min(self.used[way] for way in ways)
        way: str = pick_one([one for one in ways if self.used[one] == fewest], self.rng)
        self.used[way] += 1
        return way

    def written(self, aimed: Aimed, way: str) -> str:
        """Write a way with its values."""
        return self._written(segments_of(way, self.style), {one.name: one for one in aimed.said}, aimed)

    def unnoted(self, aimed: Aimed, ways: Sequence[str]) -> str:
        """Write one of several ways as the assistant says it: what it names counts for nothing that the user said."""
        known = list(self.said)
        try:
            return with_articles(self.written(aimed, self.choose(ways)))
        finally:
            self.said = known

    def value_of(self, one: Said) -> str:
        """Write a value as the user says it, and note that it was said."""
        return self._value(one)

    def answer(self, turn: int, asked: Sequence[int], needed: Sequence[tuple[int, str]]) -> str:
        """Write the answer to a message."""
        act = self.talk.at(turn, *AIM_ANSWERS)
        follows = act is not None and (self._follows(act, turn) or self._follows(act, turn - 1))
        own = AIM_ANSWERS[act.what](self, act, turn, needed) if act is not None and follows else ""
        text = own or self.own_answer(turn, asked, needed)
        changed = self.talk.at(turn, "slips", "corrects")
        if changed is not None and turn in self.aims:
            text = noticed(self, changed, turn, text)
        self.answered[turn] = text
        return text

    def own_answer(
        self, turn: int, asked: Sequence[int], needed: Sequence[tuple[int, str]], *, lead: bool = True
    ) -> str:
        """Write what an answer tells: what was done for all that fit is told in one sentence."""
        if turn not in self.aims:
            return super().answer(turn, asked, needed)
        if all(one in self.aims for one in self.telling.turn_of if one > turn):
            needed = ()  # later messages say themselves what they mean
        aimed, steps, left = self.aims[turn], list(self.steps), list(asked)
        aim = aim_of(aimed)
        for call in aim.calls:
            telling = aim.telling(call)
            made = [step for step, name, _ in sorted(aimed.calls, key=lambda one: one[2]) if name == call]
            if telling is None or not telling.line or not made or not set(made) <= set(asked):
                continue
            lines = []
            for step in made:
                [line] = self.steps[step].wording.report
                voice = Voice(self.steps, 0, known=True, style=self.style)
                lines.append(self.steps[step].clause(line, voice).text)
            mark = "; " if any("," in line for line in lines) else ", "
            listed = lines[0] if len(lines) == 1 else f"{mark.join(lines[:-1])} and {lines[-1]}"
            way = pick_one(telling.clauses(aimed.branch), self.rng).replace("{*}", _shielded(listed))
            first = made[0]
            steps[first] = steps[first]._replace(wording=replace(steps[first].wording, report=(way,)))
            left = [step for step in left if step == first or step not in made]
        own = self.steps
        self.steps = steps
        try:
            answer = write_response(
                self.steps,
                left,
                self.rng,
                self.style,
                needed,
                self.wanted,
                lead=lead and self.may_lead(),
                tail=lead and self.is_alone(),
            )
            return one_stop(_bared(answer))
        finally:
            self.steps = own

    def _written(self, segments: Sequence[Segment], said: dict[str, Said], aimed: Aimed) -> str:
        out = ""
        for kind, text, inner, noun in segments:
            if kind == "text":
                out += text
            elif kind == "optional":
                if all(one.kind != "argument" or one.text in said for one in inner):
                    out += self._written(inner, said, aimed)
            elif text not in said:
                raise QueryFaultError("unsayable", f"{aimed.name} has nothing called {text}")
            else:
                value = self._value(said[text])
                if value in self.first_names and not out.endswith('"'):
                    value = self.first_names[value]
                if _BEGINS.search(out) and value[:1].islower() and "@" not in value:
                    self.said = [
                        one._replace(text=capital(value)) if one.text == value else one for one in self.said
                    ]
                    value = capital(value)
                out += counted(said[text].value, value, noun) if noun and value[:1].isdigit() else value
        return out

    def _value(self, one: Said) -> str:
        style: Style = self.style
        if not one.places:
            return surface(one.value, {"x-surface": one.surface}, style.manner, None, style.year)
        text = ""
        for step, argument in one.places:
            words = self.steps[step]
            schema = words.operation.tool.parameters.get(argument, {})
            text = text or surface(
                one.value, schema, style.manner, words.wording.values.get(argument), style.year
            )
            self.said.append(Mention(step, argument, text))
        return text


def aim_teller_of(task: Executed) -> Callable[..., Conversation] | None:
    """Return what tells a task that follows aims; None for others."""
    return partial(Aimful, task) if task.aims else None
