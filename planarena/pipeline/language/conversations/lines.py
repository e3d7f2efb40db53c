"""What the kinds of conversations need to write their lines: the conversation at hand, and how values are written."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from planarena.generate.clauses import Clause, Mention, StepContext, Voice
from planarena.generate.mentions import holds
from planarena.generate.queries import Conversation
from planarena.generate.sentences import capital, pick
from planarena.generate.spelling import Style, one_stop, spell
from planarena.generate.surfaces import surface
from planarena.generate.tellings import Telling
from planarena.pipeline.products import Executed

__all__ = ["FOR_GOOD", "Lines", "Teller"]

# What `Act.argument` says of a failure after which nothing helps.
FOR_GOOD = "for good"
_TRIES = 6
_PLEASED = re.compile(
    r"(?:oh,? |ah,? |that's |that is )?(?:great|perfect|brilliant|wonderful|lovely|excellent|splendid|super|glad|good|nice|"
    r"fantastic|thank|thx|cheers|many thanks|aha|happy|as i (?:thought|hoped)|fast|cool|neat|sweet|awesome|magic|that helps)",
    re.IGNORECASE,
)


class Teller(Conversation):
    """One way of telling a conversation of some kind."""

    def __init__(
        self,
        task: Executed,
        steps: list[StepContext],
        telling: Telling,
        register: str,
        style: Style,
        used: Any,
        rng: Random,
    ) -> None:
        super().__init__(steps, telling, register, style, used, rng)
        self.talk = task.talk
        self.tone = register  # the manner of short lines
        self.errors = {
            number: step.error["message"] for number, step in enumerate(task.steps) if step.error is not None
        }
        # By step: by what it is asked for in the place of its own words.
        self.templates: Mapping[int, Sequence[str]] = {}
        self.asking = ""  # the clause by which the last of those was asked for

    def plain_message(self, asked: Sequence[int], turn: int, templates: Mapping[int, Sequence[str]]) -> str:
        """Write a message that asks for steps, some of them by other templates than their own."""
        before = self.talk.at(turn - 1, "fails", "forbids", "declines")
        refused = before is not None and (before.what != "fails" or before.argument == FOR_GOOD)
        said = list(self.said)
        self.templates = templates
        try:
            for _ in range(_TRIES):
                text = Conversation.message(self, turn, asked)
                if not refused or not _PLEASED.match(text):
                    break
                self.said = list(said)  # nobody is pleased with what did not work
            return text
        finally:
            self.templates = {}

    def clause_of(self, step: StepContext, template: str, voice: Voice) -> Clause:
        """Return what asks for a step."""
        clause = super().clause_of(step, template, voice)
        if step.number in self.templates:
            self.asking = clause.text
        return clause

    def otherwise(self, step: StepContext) -> Sequence[str] | None:
        """Return the templates by which a step is asked for in the place of its own, if there are such."""
        return self.templates.get(step.number)


class Lines(NamedTuple):
    """The lines of one conversation."""

    of: Teller

    def pick(self, choices: Sequence[str]) -> str:
        """Return one of several lines, in the conversation's spelling."""
        text: str = pick(choices, self.of.rng)
        return spell(text, self.of.style)

    def asked_at(self, turn: int, *more: int) -> list[int]:
        """Return the steps that are carried out for a message, in the order in which they are asked for."""
        telling = self.of.telling
        return self.of.in_order([*(step for step in telling.asked if telling.turn_of[step] == turn), *more])

    def request(
        self, steps: Sequence[int], turn: int, templates: dict[int, Sequence[str]] | None = None
    ) -> str:
        """Write a message that asks for steps, some of them by other templates than their own."""
        return self.of.plain_message(steps, turn, templates or {})

    def value(self, step: int, argument: str, value: object = None) -> str:
        """Write the value of an argument as the user says it, and note that it was said."""
        words, style = self.of.steps[step], self.of.style
        schema = words.operation.tool.parameters.get(argument, {})
        given = words.arguments[argument] if value is None else value
        text = surface(given, schema, style.manner, words.wording.values.get(argument), style.year)
        if value is None:
            self.of.said.append(Mention(step, argument, text))
        quoted = f'"{{{argument}}}"'
        if any(quoted in template for template in words.wording.ask):
            return f'"{text}"'
        return text

    def line(self, text: str) -> str:
        """Write a short line in the manner of the conversation; a value at its start may get a capital, or lose it."""
        given = self.of.said[-1].text if self.of.said else ""
        # A name keeps its capital, however quickly it is typed.
        keeps = given[:1].isupper() and text.startswith(given)
        text = text.removesuffix(".") if keeps and self.of.tone == "casual" else self.spoken(text)
        for place, said in enumerate(self.of.said):
            for other in (capital(said.text), said.text[:1].lower() + said.text[1:]):
                if other != said.text and not holds(text, said.text) and text.strip('"').startswith(other):
                    self.of.said[place] = said._replace(text=other)
        return text

    def spoken(self, text: str) -> str:
        """Write a short line in the manner of the conversation."""
        if self.of.tone == "casual":
            text = text[:1].lower() + text[1:] if not re.match(r"[A-Z]\w*['A-Z\d]|I\b", text) else text
            return text.removesuffix(".")
        return one_stop(capital(text))
