"""Requests that no call answers: a missing tool, a look-alike tool, a missing value, or nothing to look up.

The right behaviour is to say so, to ask, or to answer from the context. `tool_missing`: the tool that would do
it is withheld, and no other tool offered does the same (executed to see). `trap`: so, but a tool that looks
right (same namespace, much the same arguments) is offered and has another effect. `parameter_missing`: a
required value is told by nobody. `no_tool_needed`: the answer stands in the context, or it is small talk.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from random import Random
from typing import Any, NamedTuple

from planarena.environments import World
from planarena.environments.wording import ToolWording
from planarena.generate.clauses import StepContext, Voice
from planarena.generate.relevance import tool_similarity
from planarena.generate.surfaces import surface
from planarena.generate.wrong_answers import ASK_BACK
from planarena.tools import Tool

__all__ = ["CATEGORIES", "NoCallItem", "write_no_calls"]

CATEGORIES = ("tool_missing", "trap", "parameter_missing", "no_tool_needed")
# Similarity from which a tool looks right for a request that another one answers [ours].
_LOOKS_RIGHT = 0.5

_OPENERS = (
    "",
    "Please ",
    "Could you ",
    "Can you ",
    "I need you to ",
    "I'd like you to ",
    "Would you ",
    "Hi, please ",
)
_QUESTIONS = ("Could you ", "Can you ", "Would you ")
_CANNOT = (
    "I can't do that here: none of my tools lets me {0}.",
    "I'm sorry, I have no tool with which to {0}.",
    "That is beyond what I can do: there is no tool here to {0}.",
    "I would need another tool to {0}, so I leave it at that.",
)
_NOT_THE_SAME = (
    " The nearest thing I have would do something else, so I have not used it.",
    " A similar tool is at hand, but its effect is a different one.",
    "",
)
_CLAIMS = ("Done: {0}.", "That is taken care of: {0}.", "All set, I did this: {0}.")
_REFUSALS = (
    "I'm sorry, I have no tool with which to look that up.",
    "I can't tell you that: none of my tools shows it.",
    "I don't have access to that information.",
)
_FACTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "home_city": (
        (
            "what is my home town in your notes",
            "which town do you have down as my home",
            "where do I live again",
        ),
        ("Your home town is {0}.", "I have {0} as your home town.", "You live in {0}."),
    ),
    "home_address": (
        (
            "which home address do you have for me",
            "what street do I live in",
            "what is my home address in your notes",
        ),
        ("Your home address is {0}.", "I have {0} for you.", "The address I have is {0}."),
    ),
    "user_address": (
        (
            "what is my own email address again",
            "which email address is mine",
            "what address do people write to me at",
        ),
        ("Your address is {0}.", "People reach you at {0}.", "It is {0}."),
    ),
    "user_name": (
        ("under which name do you know me", "who am I in your notes", "what name do you have for me"),
        ("I know you as {0}.", "You are {0}.", "The name I have is {0}."),
    ),
    "now": (
        (
            "what is the date today",
            "which day of the week is it",
            "what day are we on",
            "can you tell me today's date",
        ),
        ("Today is {0}.", "It is {0}.", "We have {0}."),
    ),
}
_LEADS = (
    "", "Quick question: ", "Before anything else, ", "Just so I know, ", "One small thing: ", "Tell me, ",
    "I forgot: ", "Remind me, ", "For a form that I am filling in, ", "Sorry to bother you, but ", "Hi, ", "By the way, ",
    "I'm drawing a blank, ", "To be sure, ",
)  # fmt: skip
_TAILS = (
    "", " That is all.", " No need to look anything up.", " Thanks!", " I keep mixing it up.", " Just that, please.",
    " I should know, I know.", " Then I can go on with my form.",
)  # fmt: skip
_CLOSINGS = (
    ("Thanks", "Thank you", "Perfect", "Great", "Lovely", "All right"),
    ("that was all for today", "I need nothing else", "that settles it", "I have what I need", "we are done for now",
     "I will take it from here", "the rest can wait until tomorrow", "I sorted the other thing out myself"),
    ("You're welcome. Have a good day!", "Good to hear. I'm here if anything else comes up.", "Gladly. See you next time."),
)  # fmt: skip


class NoCallItem(NamedTuple):
    """A request without a call.

    Attributes:
        category: One of `CATEGORIES`.
        query: What the user says.
        response: The right answer.
        withheld: Wire names of tools that are not offered.
        tempting: (tool, arguments) of calls that look right and are not, the most tempting first.
        wrong_answers: (kind of fault, text) of answers that are wrong.
    """

    category: str
    query: str
    response: str
    withheld: tuple[str, ...] = ()
    tempting: tuple[tuple[str, dict[str, Any]], ...] = ()
    wrong_answers: tuple[tuple[str, str], ...] = ()


class _Author:
    def __init__(
        self,
        world: World,
        offered: Sequence[str],
        atoms: Sequence[tuple[str, dict[str, Any]]],
        wording: Mapping[str, ToolWording],
        rng: Random,
    ) -> None:
        self.world, self.offered, self.wording, self.rng = world, offered, wording, rng
        self.atoms = list(atoms)
        rng.shuffle(self.atoms)

    def pick(self, choices: Sequence[Any]) -> Any:
        return choices[self.rng.randrange(len(choices))]

    def words(self, tool: str, arguments: dict[str, Any]) -> StepContext:
        return StepContext(0, self.world.operations[tool], self.wording[tool], arguments, {}, None)

    def request(self, clause: str) -> str:
        opener: str = self.pick(_OPENERS)
        text = opener + clause
        return text[0].upper() + text[1:] + ("?" if opener in _QUESTIONS else ".")

    def tool_missing(self, trap: bool) -> NoCallItem | None:
        if not self.world.live_tools.isdisjoint(self.offered):
            return None  # whether another tool does the same is seen by calling it
        for tool, arguments in self.atoms:
            others = [name for name in self.offered if name != tool]
            if not others:
                continue
            wanted = self.world.operations[tool].tool
            ranked = sorted(
                others, key=lambda name: (-tool_similarity(wanted, self.world.operations[name].tool), name)
            )
            looks_right = tool_similarity(wanted, self.world.operations[ranked[0]].tool) >= _LOOKS_RIGHT
            if looks_right != trap:
                continue
            calls = [(name, call) for name in ranked if (call := self._like(name, arguments)) is not None]
            if any(self._does_the_same(tool, arguments, name, call) for name, call in calls):
                continue
            step = self.words(tool, arguments)
            ask = step.clause(self.pick(step.wording.ask), Voice([step], self.rng.randrange(1000))).text
            response = self.pick(_CANNOT).format(to_user(ask)) + (self.pick(_NOT_THE_SAME) if trap else "")
            if trap and not (calls and calls[0][0] == ranked[0]):
                continue
            category = "trap" if trap else "tool_missing"
            tempting = tuple(calls[:2]) or self._unneeded(but=tool)
            return NoCallItem(category, self.request(ask), response, (tool,), tempting, self._claim(step))
        return None

    def _claim(self, step: StepContext) -> tuple[tuple[str, str], ...]:
        """Say of a change that nobody made that it is done."""
        if step.operation.tool.effects == "read":
            return ()
        text = step.clause(self.pick(step.wording.plan), Voice([step], self.rng.randrange(1000))).text
        return (("false_answer", self.pick(_CLAIMS).format(text[0].lower() + text[1:])),)

    def _like(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any] | None:
        """Fill another tool's required arguments with what the user told."""
        tool = self.world.operations[name].tool
        filled: dict[str, Any] = {}
        for argument in tool.required:
            if argument not in arguments:
                return None
            filled[argument] = arguments[argument]
        return filled if self.world.operations[name].validator.is_valid(filled) else None

    def _does_the_same(self, tool: str, arguments: dict[str, Any], other: str, call: dict[str, Any]) -> bool:
        """Execute both from the initial state: the same state, and for a read the same result."""
        start = self.world.mark()
        right = self.world.call(tool, arguments)
        state = self.world.digest()
        self.world.rollback(start)
        same = self.world.call(other, call)
        other_state = self.world.digest()
        self.world.rollback(start)
        changed = state != self.world.digest()
        return same.status == "ok" and state == other_state and (changed or same.payload == right.payload)

    def parameter_missing(self) -> NoCallItem | None:
        for tool, arguments in self.atoms:
            record = self.world.operations[tool].tool
            for name, omission in self.wording[tool].missing.items():
                if name not in arguments or arguments[name] in self.world.facts.values():
                    continue
                told = {key: value for key, value in arguments.items() if key != name}
                step = self.words(tool, told)
                clause = step.clause(self.pick(omission.ask), Voice([step], self.rng.randrange(1000)))
                values = self.wording[tool].values.get(name)
                if surface(arguments[name], record.parameters[name], 0, values) in clause.text:
                    continue  # another argument says the same
                return NoCallItem(
                    "parameter_missing",
                    self.request(clause.text),
                    self.pick(ASK_BACK).format(omission.label),
                    (),
                    ((tool, {**arguments, name: self._invented(record, name, arguments[name])}),),
                )
        return None

    def _invented(self, tool: Tool, name: str, value: Any) -> Any:
        """Return what an agent puts where nobody told a value: today, the first option, another one of its kind."""
        schema = tool.parameters[name]
        if "enum" in schema:
            return schema["enum"][0]
        now = str(self.world.facts.get("now", ""))
        if isinstance(value, str) and schema.get("x-surface") in {"date", "datetime"} and now:
            return now[: len(value)]
        semantic = schema.get("x-semantic")
        others = [
            given[key]
            for other, given in self.atoms
            for key in given
            if semantic
            and self.world.operations[other].tool.parameters[key].get("x-semantic") == semantic
            and given[key] != value
            and type(given[key]) is type(value)
        ]
        if others:
            return others[0]
        if isinstance(value, int | float) and not isinstance(value, bool):
            return type(value)(max(schema.get("minimum", 1), 1))
        return value

    def _unneeded(self, but: str = "") -> tuple[tuple[str, dict[str, Any]], ...]:
        """Return a look-up that the request does not need, with another tool than `but`."""
        found = [
            atom
            for atom in self.atoms
            if atom[0] != but and self.world.operations[atom[0]].tool.effects == "read"
        ]
        return tuple(found[:1])

    def no_tool_needed(self) -> NoCallItem:
        if self.rng.random() < 0.75:
            name = self.pick([name for name in _FACTS if name in self.world.facts])
            questions, answers = _FACTS[name]
            value = self.world.facts[name]
            if name == "now":
                moment = datetime.fromisoformat(value)
                value = f"{moment.strftime('%A')}, {surface(value[:10], {'x-surface': 'date'})}"
            text = f"{self.pick(_LEADS)}{self.pick(questions)}?{self.pick(_TAILS)}"
            return NoCallItem(
                "no_tool_needed",
                text[0].upper() + text[1:],
                self.pick(answers).format(value),
                (),
                self._unneeded(),
                (("needless_refusal", self.pick(_REFUSALS)),),
            )
        thanks, reasons, answers = _CLOSINGS
        name = self.world.facts["user_name"].split()[0]
        greeting = self.pick(
            ("", f" Best, {name}.", f" {name} here, signing off.", " Bye!", " Have a nice day!")
        )
        text = f"{self.pick(thanks)}, {self.pick(reasons)}.{greeting}"
        return NoCallItem("no_tool_needed", text, self.pick(answers), (), self._unneeded())


_QUOTED = re.compile(r'("[^"]*")')
_FIRST_PERSON = {"i": "you", "me": "you", "my": "your", "mine": "yours", "myself": "yourself"}
_FIRST = re.compile(r"\b(I'm|I|me|my|mine|myself)\b( am\b)?", re.IGNORECASE)


def to_user(ask: str) -> str:
    """Say a request as its hearer repeats it: "keep me posted" becomes "keep you posted"; titles stay.

    >>> to_user('put "Call me" on my list')
    'put "Call me" on your list'
    """

    def second(found: re.Match[str]) -> str:
        if found[1].lower() == "i'm":
            return "you're"
        return _FIRST_PERSON[found[1].lower()] + (" are" if found[2] else "")

    parts = _QUOTED.split(ask)
    return "".join(part if part.startswith('"') else _FIRST.sub(second, part) for part in parts)


def write_no_calls(
    world: World,
    offered: Sequence[str],
    atoms: Sequence[tuple[str, dict[str, Any]]],
    wording: Mapping[str, ToolWording],
    count: int,
    rng: Random,
) -> list[NoCallItem]:
    """Write requests without a call for one scenario.

    Args:
        world: In the initial state, where it is left again.
        offered: Wire names of the scenario's tools.
        atoms: (tool, arguments) of calls that need nothing from others and succeed.
        wording: By tool.
        count: How many; the category is drawn for each, and one that does not fit the scenario is left out.
        rng: Chooses.
    """
    author = _Author(world, offered, atoms, wording, rng)
    items: list[NoCallItem] = []
    for _ in range(count):
        category = author.pick(CATEGORIES)
        rng.shuffle(author.atoms)
        item = {
            "tool_missing": lambda: author.tool_missing(trap=False),
            "trap": lambda: author.tool_missing(trap=True),
            "parameter_missing": author.parameter_missing,
            "no_tool_needed": author.no_tool_needed,
        }[category]()
        if item is not None and all(item.query != other.query for other in items):
            items.append(item)
    return items
