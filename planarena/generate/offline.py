"""The offline generator: queries, plans and answers from the environments' own wording, varied by a seed."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from planarena.generate.clauses import Clause, Said, StepWords, Voice
from planarena.generate.surfaces import MANNERS
from planarena.tasks.algebra import PARALLEL, SERIAL, Expression, Node

__all__ = [
    "Utterance",
    "write_failure",
    "write_plan",
    "write_query",
    "write_response",
    "write_step_plan",
    "write_step_plans",
]

# How a request opens; "?" marks the ones that end with a question mark.
_OPENERS = (
    ("", "."), ("Please ", "."), ("Could you ", "?"), ("Can you ", "?"), ("I need you to ", "."),
    ("I'd like you to ", "."), ("Would you ", "?"), ("Hi, please ", "."), ("Hello! Could you ", "?"),
    ("I want you to ", "."), ("Help me out: ", "."), ("Quick one: ", "."),
)  # fmt: skip
_THEN = ("Then ", "After that, ", "Next, ", "Once that is done, ", "With that done, ", "From there, ")
_ALSO = ("Also, ", "Separately, ", "On top of that, ", "In addition, ", "Besides that, ", "And please also ")
_LAST = ("Finally, ", "To finish, ", "Last of all, ")
_JOIN_THEN = (", then ", " and then ", ", after that ", ", and next ")
_JOIN_AND = (" and ", ", and also ", " as well as to ", ", and ")
_DONE = (
    "",
    "",
    "Done. ",
    "All set. ",
    "Everything is taken care of. ",
    "Here is the outcome: ",
    "That's sorted. ",
)


class Utterance(NamedTuple):
    """A user's message and what it states."""

    text: str
    said: tuple[Said, ...]


class _Move(NamedTuple):
    relation: str  # "start", "then" or "and"
    step: int


def _moves(expression: Expression, rng: Random, relation: str = "start") -> list[_Move]:
    """Flatten an expression of step numbers into the order in which a person would tell it."""
    if not isinstance(expression, Node):
        return [_Move(relation, expression)]  # type: ignore[arg-type]
    parts = list(expression.parts)
    if expression.op == PARALLEL:
        rng.shuffle(parts)
    moves: list[_Move] = []
    for place, part in enumerate(parts):
        link = relation if place == 0 else ("then" if expression.op == SERIAL else "and")
        moves += _moves(part, rng, link)
    return moves


def write_query(expression: Expression, steps: list[StepWords], rng: Random) -> Utterance:
    """Write the user's request.

    Args:
        expression: Over step numbers.
        steps: In unrolled order.
        rng: Chooses among words.
    """
    moves = _moves(expression, rng)
    manner = rng.randrange(MANNERS)
    tools = [steps[move.step].operation.tool.wire_name for move in moves]
    repeated = {name for name in tools if tools.count(name) > 1}
    clauses: list[Clause] = []
    previous: int | None = None
    for move in moves:
        step = steps[move.step]
        # "the cheapest one" is clear only right after its search, and only if there was one search.
        near = (
            previous
            if previous is not None and steps[previous].operation.tool.wire_name not in repeated
            else None
        )
        template = step.wording.ask[rng.randrange(len(step.wording.ask))]
        clauses.append(step.clause(template, Voice(steps, rng.randrange(1000), manner, near)))
        previous = move.step
    said = tuple(one for clause in clauses for one in clause.said)
    return Utterance(_sentences(moves, [clause.text for clause in clauses], rng), said)


def _sentences(moves: Sequence[_Move], clauses: Sequence[str], rng: Random) -> str:
    """Pack clauses into sentences of one to three, joined by what relates them."""
    sentences: list[str] = []
    place = 0
    while place < len(clauses):
        size = min(len(clauses) - place, _sentence_size(clauses, place, rng))
        opening, stop = _opening(moves, place, size, len(clauses), rng)
        words = opening + clauses[place]
        for offset in range(1, size):
            joins = _JOIN_THEN if moves[place + offset].relation == "then" else _JOIN_AND[:2]
            words += joins[rng.randrange(len(joins))] + clauses[place + offset]
        sentences.append(words[0].upper() + words[1:] + stop)
        place += size
    return " ".join(sentences)


def _sentence_size(clauses: Sequence[str], place: int, rng: Random) -> int:
    size = 1 + (rng.random() < 0.65) + (rng.random() < 0.25)
    while size > 1 and sum(map(len, clauses[place : place + size])) > 220:
        size -= 1
    return size


def _opening(moves: Sequence[_Move], place: int, size: int, total: int, rng: Random) -> tuple[str, str]:
    if place == 0:
        return _OPENERS[rng.randrange(len(_OPENERS))]
    if moves[place].relation == "and":
        return _ALSO[rng.randrange(len(_ALSO))], "."
    if place + size == total and total > 2 and rng.random() < 0.6:
        return _LAST[rng.randrange(len(_LAST))], "."
    return _THEN[rng.randrange(len(_THEN))], "."


def write_plan(
    steps: list[StepWords], order_edges: Sequence[tuple[int, int, str]], groups: Sequence[int], rng: Random
) -> str:
    """Write the global plan: one numbered line a step, with what it uses, what it follows and what runs beside it."""
    lines = []
    for step in steps:
        template = step.wording.plan[rng.randrange(len(step.wording.plan))]
        line = step.clause(template, Voice(steps, rng.randrange(1000))).text
        uses = sorted({source + 1 for source, _ in step.bound.values()})
        after = sorted({earlier + 1 for earlier, later, _ in order_edges if later == step.number} - set(uses))
        beside = [
            other + 1
            for other in range(len(steps))
            if groups[other] == groups[step.number] and other != step.number
        ]
        notes = [f"uses {_numbers(uses)}"] if uses else []
        notes += [f"after {_numbers(after)}"] if after else []
        notes += [f"together with {_numbers(beside)}"] if beside else []
        note = f" ({'; '.join(notes)})" if notes else ""
        lines.append(f"{step.number + 1}. {line[0].upper()}{line[1:]}{note}.")
    return "\n".join(lines)


def _numbers(numbers: Sequence[int]) -> str:
    words = [str(number) for number in numbers]
    head = "step" if len(words) == 1 else "steps"
    return f"{head} {words[0] if len(words) == 1 else ', '.join(words[:-1]) + ' and ' + words[-1]}"


_STEP_LEADS = ("Now I {0}.", "Next: {0}.", "I {0} now.", "The next thing to do is to {0}.")


def write_step_plan(step: StepWords, steps: list[StepWords], rng: Random) -> str:
    """Write the line of plan that goes with one action."""
    template = step.wording.plan[rng.randrange(len(step.wording.plan))]
    near = step.number - 1 if step.number else None
    text = step.clause(template, Voice(steps, rng.randrange(1000), near=near)).text
    lead = "I start: {0}." if step.number == 0 else _STEP_LEADS[rng.randrange(len(_STEP_LEADS))]
    return lead.format(text[0].lower() + text[1:])


def write_step_plans(steps: list[StepWords], rng: Random) -> tuple[str, ...]:
    """Write one line of plan per action."""
    return tuple(write_step_plan(step, steps, rng) for step in steps)


def write_response(steps: list[StepWords], reported: Sequence[int], rng: Random) -> str:
    """Write the final answer: what every reported step gave, in order."""
    sentences = []
    for number in reported:
        step = steps[number]
        template = step.wording.report[rng.randrange(len(step.wording.report))]
        text = step.clause(template, Voice(steps, rng.randrange(1000), known=True)).text
        sentences.append(text[0].upper() + text[1:] + ".")
    return _DONE[rng.randrange(len(_DONE))] + " ".join(sentences)


_SORRY = ("I could not finish this", "Something did not work", "One part failed", "This is not complete")


def write_failure(done: str, errors: Sequence[str], rng: Random) -> str:
    """Write the answer of an agent that went wrong: what it believes is done, and the first error it met."""
    if errors:
        return f"{done} {_SORRY[rng.randrange(len(_SORRY))]}: {errors[0]}".strip()
    return done or "Done."
