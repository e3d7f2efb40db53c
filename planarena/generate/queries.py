"""Conversations from the environments' words: what the user asks, message by message, and what each answer tells.

Only the steps that a message asks for are spoken of; what merely serves them stands in their references. The answers are
written in between, since what an answer has named is called by its name afterwards.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random
from typing import NamedTuple

from planarena.generate.answers import write_response
from planarena.generate.checks import QueryFaultError
from planarena.generate.clauses import Said, StepWords, Voice
from planarena.generate.manners import REGISTERS
from planarena.generate.mentions import Memory
from planarena.generate.sentences import Piece, join_message, pick
from planarena.generate.spelling import Style, draw_style
from planarena.generate.words import repeated_phrase

__all__ = ["REGISTERS", "Query", "Telling", "write_query"]

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
_MANY = 6


class Telling(NamedTuple):
    """How a task is told.

    Attributes:
        turn_of: By step, its message.
        asked: The steps that a message asks for, in order.
        before: By step, the steps that must come before it, as a bit mask.
        now: The present moment; empty where there is no clock.
    """

    turn_of: Sequence[int]
    asked: Sequence[int]
    before: Sequence[int]
    now: str = ""


class Query(NamedTuple):
    """A conversation.

    Attributes:
        turns: The user's messages.
        answers: What each of them was answered.
        said: The literals that they state.
        register: The manner of speaking.
        style: How it is written.
    """

    turns: tuple[str, ...]
    answers: tuple[str, ...]
    said: tuple[Said, ...]
    register: str
    style: Style


def write_query(
    steps: list[StepWords], telling: Telling, rng: Random, used: Counter[str] | None = None
) -> Query:
    """Write a conversation.

    Args:
        steps: In unrolled order.
        telling: How the task is told.
        rng: Chooses among words.
        used: How often each template was used by other conversations, counted on here: the least used come first.

    Raises:
        QueryFaultError: `repeated_phrase`, `shared_phrase` or `stacked_reference`: none of the ways that were tried
            is good.
        LookupError: A template names what a result lacks.
    """
    used = Counter() if used is None else used
    register = _draw_register(rng)
    style = draw_style(rng, telling.now)
    fault = QueryFaultError("repeated_phrase", "")
    for _ in range(_MOST_TRIES):
        writer = _Conversation(steps, telling, register, style, used, rng)
        query = writer.write()
        if writer.memory.stacked:
            fault = QueryFaultError("stacked_reference", writer.memory.stacked)
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


class _Conversation:
    """One way of telling a task."""

    def __init__(
        self,
        steps: list[StepWords],
        telling: Telling,
        register: str,
        style: Style,
        used: Counter[str],
        rng: Random,
    ) -> None:
        self.steps, self.telling, self.register, self.style, self.rng = steps, telling, register, style, rng
        self.memory = Memory()
        self.said: list[Said] = []
        self.used = used
        self.openings: set[str] = set()

    def write(self) -> Query:
        turns: list[str] = []
        answers: list[str] = []
        reach = False
        for turn in range(self.telling.turn_of[-1] + 1):
            asked = self._order([step for step in self.telling.asked if self.telling.turn_of[step] == turn])
            self.memory.begin(reach)
            turns.append(
                join_message(self._pieces(asked), self.register, turn, self.style, self.openings, self.rng)
            )
            later = self._used_after(turn)
            needed = [(source, pointer) for source, pointer in later if self.telling.turn_of[source] == turn]
            # An answer that lists others makes "that card" mean nothing.
            reach = not needed
            self.memory.shown = frozenset(asked if len(asked) == 1 else ())
            answers.append(write_response(self.steps, asked, self.rng, self.style, needed))
            self.memory.hear(answers[-1], self.steps, later, self.style)
        return Query(tuple(turns), tuple(answers), tuple(self.said), self.register, self.style)

    def _used_after(self, turn: int) -> list[tuple[int, str]]:
        """Return the values that later messages take up."""
        return sorted(
            {
                place
                for step in self.steps
                if self.telling.turn_of[step.number] > turn
                for place in step.bound.values()
                if self.telling.turn_of[place[0]] <= turn
            }
        )

    def _order(self, asked: Sequence[int]) -> list[int]:
        """Order what a message asks for: what needs what, and one thing after the other."""
        left, order = list(asked), list[int]()
        while left:
            ready = [
                step for step in left if not any(self.telling.before[step] >> other & 1 for other in left)
            ]
            same = [step for step in ready if order and self._about(step) & self._about(order[-1])]
            follows = [step for step in ready if order and self.telling.before[step] >> order[-1] & 1]
            step = pick(follows or same or ready, self.rng)
            order.append(step)
            left.remove(step)
        return order

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

    def _piece(self, step: StepWords, near: int | None, relation: str) -> Piece:
        wording = step.wording
        share = _WHOLE.get(self.register, (0.0, 0.0))[len(wording.aims) < _MANY]
        whole = bool(wording.aims) and self.rng.random() < share
        templates = wording.aims if whole else wording.ask
        fewest = min(self.used[template] for template in templates)
        template = pick([one for one in templates if self.used[one] == fewest], self.rng)
        self.used[template] += 1
        voice = Voice(self.steps, self.rng.randrange(1000), near, memory=self.memory, style=self.style)
        clause = step.clause(template, voice)
        self.said += clause.said
        return Piece(relation, clause.text, whole)


def before_of(
    count: int, bound: Sequence[Mapping[str, tuple[int, str]]], edges: Sequence[tuple[int, int, str]]
) -> list[int]:
    """Return by step what must come before it, as bit masks, closed under "before"."""
    before = [0] * count
    for step in range(count):
        for source, _ in bound[step].values():
            before[step] |= 1 << source | before[source]
        for earlier, later, _ in edges:
            if later == step:
                before[step] |= 1 << earlier | before[earlier]
    return before
