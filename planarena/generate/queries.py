"""Conversations from the environments' words: what the user asks, message by message, and what each answer tells.

Only the steps that a message asks for are spoken of; what merely serves them stands in their references. The answers are
written in between, since what an answer has named is called by its name afterwards.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import Any

from planarena.environments.wording import parse_pointer, schema_at
from planarena.generate.answers import is_led, write_response
from planarena.generate.asked import (
    asks_for_field,
    fits_register,
    is_curt,
    lists_told,
    main_list,
    takes_description,
    wanted_lists,
)
from planarena.generate.checks import QueryFaultError
from planarena.generate.clauses import Clause, Mention, StepContext, Voice
from planarena.generate.manners import REGISTERS
from planarena.generate.mentions import Memory, is_id, kind_of, value_kind
from planarena.generate.pronouns import closes, is_heavy, takes_reference
from planarena.generate.sentences import Piece, join_message, pick
from planarena.generate.spelling import Style, draw_style
from planarena.generate.tellings import Query, Telling
from planarena.generate.words import repeated_phrase
from planarena.tasks.atoms import resolve

__all__ = ["REGISTERS", "Conversation", "write_query"]

# How often a conversation is begun again when it repeats itself or says one phrase for two things.
_MOST_TRIES = 6
# Share of the requests that are whole sentences, where the words have many of them, and where they have few [ours].
_WHOLE = {
    "plain": (0.62, 0.45),
    "terse": (0.45, 0.25),
    "chatty": (0.6, 0.45),
    "indirect": (0.58, 0.4),
    "formal": (0.5, 0.3),
    "hurried": (0.58, 0.4),
    "casual": (0.6, 0.4),
    "aside": (0.55, 0.35),
    "listed": (0.3, 0.0),
}
_MANY = 4


def write_query(
    steps: list[StepContext],
    telling: Telling,
    rng: Random,
    used: Counter[str] | None = None,
    teller: Callable[..., Conversation] | None = None,
) -> Query:
    """Write a conversation.

    Args:
        steps: In unrolled order.
        telling: How the task is told.
        rng: Chooses among words.
        used: How often each template was used by other conversations, counted on here: the least used come first.
        teller: Makes what tells the task, given what a `Conversation` is given; a plain one by default.

    Raises:
        QueryFaultError: `repeated_phrase`, `shared_phrase`, `stacked_reference`, `puzzle_reference` or `asks_what_it_says`: none of the
            ways that were tried is good.
        LookupError: A template names what a result lacks.
    """
    used = Counter() if used is None else used
    register = _draw_register(rng)
    style = draw_style(rng, telling.now)
    fault = QueryFaultError("repeated_phrase", "")
    for _ in range(_MOST_TRIES):
        writer = (teller or Conversation)(steps, telling, register, style, used, rng)
        query = writer.write()
        if writer.memory.stacked:
            fault = QueryFaultError("stacked_reference", writer.memory.stacked)
        elif writer.memory.puzzle:
            fault = QueryFaultError("puzzle_reference", writer.memory.puzzle)
        elif writer.memory.clash:
            fault = QueryFaultError("shared_phrase", writer.memory.clash)
        elif phrase := repeated_phrase(" ".join(query.turns)):
            fault = QueryFaultError("repeated_phrase", f"{phrase!r} in {' '.join(query.turns)}")
        else:
            return query
        style = style._replace(
            manner=style.manner if style.manner >= 3 else style.manner + 3 if style.manner < 2 else 2
        )
    raise fault


def _draw_register(rng: Random) -> str:
    place = rng.random() * sum(share for _, share in REGISTERS)
    for name, share in REGISTERS:
        place -= share
        if place < 0:
            return name
    return REGISTERS[0][0]


class Conversation:
    """One way of telling a task; kinds of conversations tell some of their messages and answers otherwise."""

    def __init__(
        self,
        steps: list[StepContext],
        telling: Telling,
        register: str,
        style: Style,
        used: Counter[str],
        rng: Random,
    ) -> None:
        self.steps, self.telling, self.register, self.style, self.rng = steps, telling, register, style, rng
        self.memory = Memory(used)
        self.said: list[Mention] = []
        self.used = used
        self.openings: set[str] = set()
        self.spoken: set[str] = set()
        self.wanted: dict[int, tuple[str, ...]] = {}
        self.led = False  # whether an answer began with "All done."

    def write(self) -> Query:
        """Write all messages and answers."""
        turns: list[str] = []
        answers: list[str] = []
        listed: set[str] = set()
        for turn in range(self.telling.turns or self.telling.turn_of[-1] + 1):
            asked = self.in_order([step for step in self.telling.asked if self.telling.turn_of[step] == turn])
            self.memory.begin(listed)
            turns.append(self.message(turn, asked))
            later = self._used_after(turn)
            needed = [(source, pointer) for source, pointer in later if self.telling.turn_of[source] == turn]
            listed = self._nouns_listed(asked)
            self.memory.shown = frozenset(asked if len(asked) == 1 else ())
            self.memory.listed = frozenset(
                number
                for number in asked
                if self.wanted.get(number)
                or any(source == number and main_list(self.steps[source].wording) for source, _ in needed)
            )
            answers.append(self.answer(turn, asked, needed))
            self.led = self.led or is_led(answers[-1])
            self.memory.hear(answers[-1], self.steps, later, self.style, asked)
        return Query(tuple(turns), tuple(answers), tuple(self.said), self.register, self.style)

    def message(self, turn: int, asked: Sequence[int]) -> str:
        """Write a message of the user, which asks for some steps."""
        return join_message(
            self._pieces(asked), self.register, turn, self.style, self.openings, self.rng, self.used
        )

    def answer(self, turn: int, asked: Sequence[int], needed: Sequence[tuple[int, str]]) -> str:  # noqa: ARG002
        """Write the answer to a message, which tells what some steps gave and names what later messages take up."""
        return write_response(
            self.steps,
            asked,
            self.rng,
            self.style,
            needed,
            self.wanted,
            lead=self.may_lead(),
            tail=self.is_alone(),
        )

    def may_lead(self) -> bool:
        """Say whether an answer may begin with "All done.": once in a conversation."""
        return not self.led

    def is_alone(self) -> bool:
        """Say whether there is only one message, so that its answer may ask for more."""
        return (self.telling.turns or self.telling.turn_of[-1] + 1) == 1

    def _nouns_listed(self, asked: Sequence[int]) -> set[str]:
        """Return what the answer to a message lists, so that "that card" means nothing after it."""
        return {
            record.noun
            for number in asked
            for pointer, record in self.steps[number].wording.records.items()
            if isinstance(resolve(self.steps[number].result, parse_pointer(pointer)), list)
        }

    def _used_after(self, turn: int) -> list[tuple[int, str]]:
        """Return the values that later messages take up, and those that describe them: the accessory of that lamp."""
        found: set[tuple[int, str]] = set()
        left = [
            place
            for step in self.steps
            if self.telling.turn_of[step.number] > turn
            for place in step.bound.values()
        ]
        while left:
            place = left.pop()
            if place not in found:
                found.add(place)
                left += self.steps[place[0]].bound.values()
        return sorted(place for place in found if self.telling.turn_of[place[0]] <= turn)

    def in_order(self, asked: Sequence[int]) -> list[int]:
        """Order what a message asks for: what needs what, and one thing after the other."""
        left, order = list(asked), list[int]()
        while left:
            ready = [
                step
                for step in left
                if not any(
                    self.telling.before[step] >> other & 1
                    or (other < step and self._unsettles(other, step))
                    or self._completes(step, other)
                    for other in left
                )
            ]
            same = [step for step in ready if order and self._about(step) & self._about(order[-1])]
            follows = [step for step in ready if order and self.telling.before[step] >> order[-1] & 1]
            # What only shows something is asked for before what changes it: nobody answers a mail and then reads it.
            near = follows or same or ready
            shows = [step for step in near if self.steps[step].operation.tool.effects == "read"]
            step = pick(shows or near, self.rng)
            order.append(step)
            left.remove(step)
        return order

    def _completes(self, last: int, first: int) -> bool:
        """Say whether one asks for a step after another: the note is shared once the line is in it."""
        one, two = self.steps[first], self.steps[last]
        return one.operation.tool.wire_name in two.wording.completes

    def _unsettles(self, first: int, second: int) -> bool:
        """Say whether two steps must be spoken of as they were made: one makes what the other picks from a list.

        "The latest ticket" after a ticket was opened is another one.
        """
        return bool(self._made(first) & self._picked(second) or self._made(second) & self._picked(first))

    def _made(self, number: int) -> set[str]:
        step = self.steps[number]
        if step.operation.tool.effects == "read":
            return set()
        own = {record.noun for pointer, record in step.wording.records.items() if not pointer}
        return own | {kind_of(step, pointer) for pointer in step.wording.refer if is_id(step, pointer)}

    def _picked(self, number: int) -> set[str]:
        """Return the kinds of what a step takes from a list, or shows a list of."""
        step = self.steps[number]
        shown = {record.noun for pointer, record in step.wording.records.items() if pointer}
        picked = {
            kind_of(self.steps[source], pointer)
            for source, pointer in step.bound.values()
            if any(isinstance(word, int) for word in parse_pointer(pointer))
        }
        return shown | picked if step.operation.tool.effects == "read" else picked

    def _about(self, step: int) -> set[tuple[int, str]]:
        return set(self.steps[step].bound.values())

    def _pieces(self, asked: Sequence[int]) -> list[Piece]:
        tools = [self.steps[step].operation.tool.wire_name for step in asked]
        pieces: list[Piece] = []
        previous: int | None = None
        for place, number in enumerate(asked):
            # "the cheapest one" is clear only right after its search, and only if there was one search.
            near = previous if previous is not None and tools.count(tools[place - 1]) == 1 else None
            after = any(self.telling.before[number] >> other & 1 for other in asked[:place])
            relation = "start" if place == 0 else "then" if after else "and"
            pieces.append(self._piece(self.steps[number], near, relation))
            previous = number
        return pieces

    def otherwise(self, step: StepContext) -> Sequence[str] | None:  # noqa: ARG002
        """Return the templates by which a step is asked for in the place of its own, if there are such."""
        return None

    def clause_of(self, step: StepContext, template: str, voice: Voice) -> Clause:
        """Return what asks for a step."""
        return step.clause(template, voice)

    def _piece(self, step: StepContext, near: int | None, relation: str) -> Piece:
        wording = step.wording
        said = self._said_before(step)
        aims, ask = (self._fitting(step, found, said) for found in (wording.aims, wording.ask))
        aims = [one for one in aims if fits_register(one, self.register)]
        otherwise = self.otherwise(step)
        if not aims and not ask and otherwise is None:
            raise QueryFaultError(
                "asks_what_it_says", f"step {step.number} ({step.operation.tool.wire_name})"
            )
        share = _WHOLE.get(self.register, (0.0, 0.0))[len(aims) < _MANY]
        whole = bool(aims) and (not ask or self.rng.random() < share)
        templates: Sequence[str] = self._telling(step, aims if whole else ask, [*aims, *ask])
        # No two requests of a conversation are put in the same words.
        templates = [one for one in templates if one not in self.spoken] or templates
        if otherwise is not None:
            whole, templates = False, otherwise
        fewest = min(self.used[template] for template in templates)
        template = pick([one for one in templates if self.used[one] == fewest], self.rng)
        self.used[template] += 1
        self.spoken.add(template)
        wanted = wanted_lists(template, wording, _shown(step), step.arguments)
        self.wanted[step.number] = lists_told(wanted, template, wording)
        self.memory.begin_clause()
        voice = Voice(self.steps, self.rng.randrange(1000), near, memory=self.memory, style=self.style)
        clause = self.clause_of(step, template, voice)
        self.said += clause.said
        if step.operation.tool.effects == "create":
            # "It", or "that document" after a document was copied, would mean the new one.
            for pointer in step.wording.refer:
                if is_id(step, pointer):
                    self.memory.mention(step.number, pointer, kind_of(step, pointer))
            self.memory.distract()
        return Piece(relation, clause.text, whole)

    def _telling(self, step: StepContext, templates: Sequence[str], every: Sequence[str]) -> Sequence[str]:
        """Return the ways of asking whose answer shows what a later message takes up: another record than the first."""
        main = main_list(step.wording)
        turn_of = self.telling.turn_of
        later = any(
            source == step.number
            and turn_of[other.number] > turn_of[step.number]
            and any(isinstance(word, int) and word > 0 for word in parse_pointer(pointer))
            for other in self.steps
            for source, pointer in other.bound.values()
        )
        if not later or not main:
            return templates
        shown = _shown(step)
        for some in (templates, every):
            good = [one for one in some if main in wanted_lists(one, step.wording, shown, step.arguments)]
            if good:
                return good
        return templates

    def _said_before(self, step: StepContext) -> list[tuple[str, str]]:
        """Return (pointer, semantic type) of what a look-up tells though the user named it to refer to what is looked up."""
        if step.operation.tool.effects != "read" or not step.bound:
            return []
        written = {
            value
            for earlier in self.steps[: step.number]
            if earlier.operation.tool.effects != "read"
            and set(earlier.bound.values()) & set(step.bound.values())
            for value in (*earlier.arguments.values(), *_values(earlier.result))
            if isinstance(value, str)
        }
        named = written | {
            value
            for source, _ in step.bound.values()
            for name, value in self.steps[source].arguments.items()
            if isinstance(value, str) and name not in self.steps[source].bound
        }
        found = []
        for pointer in step.wording.outputs if named else ():
            path = parse_pointer(pointer)
            if resolve(step.result, path) in named:
                schema = schema_at(step.operation.tool.output_schema, path) or {}
                found.append((pointer, schema.get("x-semantic", "")))
        return found

    def _fitting(
        self, step: StepContext, templates: Sequence[str], said: Sequence[tuple[str, str]]
    ) -> list[str]:
        """Return the ways of asking that do not ask for what the request itself says, and that fit what they name."""
        open_ones = {
            argument: place for argument, place in step.bound.items() if place not in self.memory.names
        }
        described = [
            (argument, kind)
            for argument, place in open_ones.items()
            if (kind := value_kind(self.steps[place[0]], place[1]))
        ]
        heavy = [
            argument
            for argument, (source, pointer) in open_ones.items()
            if is_heavy(self.steps[source].wording.refer[pointer].full)
        ]
        good = [
            one
            for one in templates
            if not any(asks_for_field(one, *field) for field in said)
            and all(takes_description(one, *what) for what in described)
            and all(takes_reference(one, argument) for argument in open_ones)
            and all(one.count("{" + argument + "}") < 2 for argument in step.bound)
        ]
        if len(open_ones) > 1:
            # "The card that can wait least: whoever has least to do" leaves out too much.
            good = [one for one in good if not is_curt(one)] or good
        return [one for one in good if all(closes(one, argument) for argument in heavy)] or good


def _values(result: Any) -> Iterable[Any]:
    return result.values() if isinstance(result, dict) else ()


def _shown(step: StepContext) -> dict[str, str]:
    """Return the words of the arguments that are one of a few."""
    return {
        name: step.wording.values.get(name, {}).get(value, str(value))
        for name, value in step.arguments.items()
        if "enum" in step.operation.tool.parameters.get(name, {})
    }
