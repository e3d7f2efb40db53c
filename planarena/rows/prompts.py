"""Dialogues as prompts: the messages before each decision, in a template's layout."""

from __future__ import annotations

from collections.abc import Iterator
from string import Template as Slots
from typing import Any

import msgspec

from planarena import formats
from planarena.errors import UserError
from planarena.formats import Format, Gold, Native
from planarena.records import CanonicalError, canonical_json
from planarena.rows.dialogue import Decision, Dialogue, Observation, Place, openai_tool
from planarena.rows.options import RowOptions
from planarena.rows.signatures import render_call
from planarena.rows.templates import PromptTemplate, template

__all__ = ["Moment", "Prompter", "Unsayable"]

# Formats in which one action can call and speak.
_BOTH = frozenset({"toolrl", "hermes", "native"})
# Formats whose first segment holds reasoning rather than a plan.
_THINKING = frozenset({"toolrl", "chord", "math", "hermes", "native"})
_UNKNOWN = "(not recorded)"


class Unsayable(ValueError):  # noqa: N818  a property of the data, counted by whoever reads it
    """The format has no way to write the action; the message says why."""


class Moment(msgspec.Struct, frozen=True):
    """A decision about to be made.

    Attributes:
        place: Where it stands.
        decision: What the source did.
        prompt: The messages before it.
        gold: The same as the format can hold it.
    """

    place: Place
    decision: Decision
    prompt: tuple[dict[str, Any], ...]
    gold: Gold


class Prompter:
    """Cuts dialogues into moments.

    Args:
        options: The format, template and layout.
    """

    def __init__(self, options: RowOptions) -> None:
        options.check()
        self.options = options
        self.form: Format = formats.get(options.format)
        self.template: PromptTemplate = template(options.template_name, options.format)
        self._role = options.observations or self.template.observations

    def tools(self, dialogue: Dialogue) -> tuple[dict[str, Any], ...]:
        """Return the tools on offer in the OpenAI shape."""
        return tuple(openai_tool(tool) for tool in dialogue.tools)

    def gold(self, dialogue: Dialogue, place: Place, decision: Decision) -> Gold:
        """Return an action as the format can hold it.

        What is said along with calls becomes the plan where the format allows calls or words only, and is left
        out where there is a plan already.
        """
        plan = self._plan(dialogue, place, decision)
        text = decision.text
        if decision.calls and text is not None and self.form.name not in _BOTH:
            if plan is None and self.options.plan != "none":
                plan = text
            text = None
        return Gold(decision.calls, text, plan)

    def _plan(self, dialogue: Dialogue, place: Place, decision: Decision) -> str | None:
        if self.options.plan == "none" or self.form.name == "toolupt":
            return None
        line = decision.plan
        if self.options.plan == "global" and place.number == 0 and dialogue.plan:
            line = dialogue.plan
        if self.form.name in _THINKING:
            return decision.rationale or line or None
        return line or decision.rationale or None

    def render(self, gold: Gold) -> str:
        """Write an action in the format.

        Raises:
            Unsayable: The format cannot.
        """
        try:
            return self.form.render(plan=gold.plan, calls=gold.calls, response=gold.response)
        except UserError as error:
            raise Unsayable(error.what) from error
        except CanonicalError as error:
            raise Unsayable(f"arguments that are no JSON: {error}") from error

    def moments(self, dialogue: Dialogue) -> Iterator[Moment]:
        """Return every decision of a dialogue with the messages before it.

        Raises:
            Unsayable: The format cannot write an action of the history.
        """
        opening = self._opening(dialogue)
        layout = {"chat": self._chat, "packed": self._packed, "records": self._records}[self.template.history]
        yield from layout(dialogue, opening)

    def messages(self, dialogue: Dialogue) -> tuple[dict[str, Any], ...]:
        """Return the whole dialogue as chat messages, whatever the template's layout.

        Raises:
            Unsayable: The format cannot write an action.
        """
        last: tuple[dict[str, Any], ...] = ()
        for moment in self._chat(dialogue, self._opening(dialogue)):
            last = (*moment.prompt, *self._said(moment.gold, moment.decision, moment.place))
        return last

    def _opening(self, dialogue: Dialogue) -> tuple[dict[str, Any], ...]:
        system = self.template.render_system(
            self.form,
            self.tools(dialogue),
            dialogue.known if self.options.context else {},
            plan=self.options.plan != "none",
            signatures=self.options.signatures,
        )
        return ({"role": "system", "content": system},) if system else ()

    # -- layouts -------------------------------------------------------------------------------------

    def _chat(self, dialogue: Dialogue, opening: tuple[dict[str, Any], ...]) -> Iterator[Moment]:
        messages = list(opening)
        number = 0
        for turn_number, turn in enumerate(dialogue.turns):
            if turn.user:
                messages.append({"role": "user", "content": turn.user})
            for inner, decision in enumerate(turn.decisions):
                place = Place(turn_number, inner, number)
                gold = self.gold(dialogue, place, decision)
                yield Moment(place, decision, tuple(messages), gold)
                messages += self._said(gold, decision, place)
                number += 1

    def _said(self, gold: Gold, decision: Decision, place: Place) -> list[dict[str, Any]]:
        """Return the messages of a decision once it is made: the assistant's, and what came back."""
        if self._role == "native" or isinstance(self.form, Native):
            return self._said_natively(gold, decision, place)
        said: list[dict[str, Any]] = [{"role": "assistant", "content": self.render(gold)}]
        for call, observation in zip(decision.calls, decision.observations, strict=True):
            text = _show(observation)
            content = text if self._role == "tool" else f"Result of {call.name}: {text}"
            said.append({"role": self._role, "content": content})
        return said

    def _said_natively(self, gold: Gold, decision: Decision, place: Place) -> list[dict[str, Any]]:
        try:
            message = Native().message(plan=gold.plan, calls=gold.calls, response=gold.response)
        except (UserError, CanonicalError) as error:
            raise Unsayable(str(error)) from error
        for index, call in enumerate(message.get("tool_calls", ())):
            call["id"] = f"call_{place.number}_{index}"
        results = [
            {"role": "tool", "tool_call_id": f"call_{place.number}_{index}", "content": _show(observation)}
            for index, observation in enumerate(decision.observations)
        ]
        return [message, *results]

    def _packed(self, dialogue: Dialogue, opening: tuple[dict[str, Any], ...]) -> Iterator[Moment]:
        labels = self.template.labels
        memory: list[str] = []
        number = 0
        for turn_number, turn in enumerate(dialogue.turns):
            steps: list[str] = []
            for inner, decision in enumerate(turn.decisions):
                place = Place(turn_number, inner, number)
                content = Slots(self.template.user).substitute(
                    memory="\n".join(memory) or labels["none"],
                    query=turn.user or labels["none"],
                    steps="\n".join(steps) or labels["none"],
                )
                user = {"role": "user", "content": content.strip()}
                yield Moment(place, decision, (*opening, user), self.gold(dialogue, place, decision))
                steps += self._lines(decision, inner + 1)
                number += 1
            memory += [Slots(labels["user"]).substitute(text=turn.user)] if turn.user else []
            memory += steps

    def _lines(self, decision: Decision, number: int) -> list[str]:
        labels = self.template.labels
        lines = []
        if decision.text is not None:
            lines.append(Slots(labels["assistant"]).substitute(text=decision.text))
        if decision.calls:
            calls = ", ".join(render_call(call, labels["arguments_key"]) for call in decision.calls)
            shown = ", ".join(map(_show, decision.observations))
            lines.append(Slots(labels["call"]).substitute(number=number, calls=calls))
            lines.append(Slots(labels["observation"]).substitute(number=number, observations=shown))
        return lines

    def _records(self, dialogue: Dialogue, opening: tuple[dict[str, Any], ...]) -> Iterator[Moment]:
        records: list[str] = []
        number = 0
        for turn_number, turn in enumerate(dialogue.turns):
            if turn.user:
                records.append(f"<user> {turn.user} </user>")
            for inner, decision in enumerate(turn.decisions):
                place = Place(turn_number, inner, number)
                gold = self.gold(dialogue, place, decision)
                content = Slots(self.template.user).substitute(records="\n".join(records))
                yield Moment(place, decision, (*opening, {"role": "user", "content": content.strip()}), gold)
                records.append(self.render(gold))
                records += [f"<obs> {_show(observation)} </obs>" for observation in decision.observations]
                number += 1


def _show(observation: Observation | None) -> str:
    if observation is None:
        return _UNKNOWN
    value = observation.value
    return value if isinstance(value, str) else canonical_json(value)
