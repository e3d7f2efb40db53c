"""The calls of a conversation that is put together, and the order in which they are made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from planarena.environments.wording import parse_pointer
from planarena.episodes import ExecutedCall, Goal
from planarena.pipeline.products import Executed, Step, Talk
from planarena.tasks.algebra import (
    Expression,
    canonical,
    from_order,
    generations,
    predecessors,
    relabel,
    render,
)
from planarena.tasks.atoms import Atom, Binding, Call

__all__ = ["Drawn", "Line", "ordered", "task_of"]


class Line(NamedTuple):
    """A call of a conversation.

    Attributes:
        atom: Its tool and literals.
        bound: (argument, line, pointer) of what it takes from earlier lines.
        turn: The message that it is made for.
        told: Whether the answer to that message tells what it gave, or that it failed.
        after: The lines that it must come after, beside those that it takes from.
        fails: Whether it fails.
    """

    atom: Atom
    bound: tuple[tuple[str, int, str], ...]
    turn: int
    told: bool
    after: frozenset[int] = frozenset()
    fails: bool = False


class Drawn(NamedTuple):
    """Lines in the order in which they are made.

    Attributes:
        expression: The canonical expression over lines.
        over_serialised: See `planarena.tasks.algebra.from_order`.
        rows: The generations.
        order: The lines, step by step.
        place: By line its step.
        program: The calls by step.
        masks: The predecessors of each step.
    """

    expression: Expression
    over_serialised: bool
    rows: Sequence[Sequence[int]]
    order: list[int]
    place: dict[int, int]
    program: list[Call]
    masks: list[int]


def ordered(lines: Sequence[Line]) -> Drawn:
    """Return lines in the canonical order that what they take from and come after allows.

    Args:
        lines: They; what a later message asks for comes after all that an earlier one does.
    """
    expression, over_serialised = from_order(_closed(lines))
    expression = canonical(expression, lambda line: f"{lines[line].atom.tool}:{lines[line].atom.atom_id}")
    rows = generations(expression)
    order = [line for row in rows for line in row]
    place = {line: step for step, line in enumerate(order)}
    program = [
        Call(
            lines[line].atom.tool,
            lines[line].atom.arguments,
            tuple(
                Binding(name, place[source], parse_pointer(pointer))
                for name, source, pointer in lines[line].bound
            ),
        )
        for line in order
    ]
    masks = predecessors(relabel(expression, place), {step: step for step in range(len(order))})
    return Drawn(expression, over_serialised, rows, order, place, program, masks)


def task_of(
    lines: Sequence[Line],
    drawn: Drawn,
    made: Sequence[ExecutedCall],
    goal: Goal,
    told: Sequence[int],
    talk: Talk,
) -> Executed:
    """Return proven lines as a task.

    Args:
        lines: They.
        drawn: Their order.
        made: The executed calls, step by step.
        goal: What is reached.
        told: The steps whose results are told.
        talk: What happens beyond asking and serving.
    """
    groups = {line: number for number, row in enumerate(drawn.rows) for line in row}
    steps = tuple(
        Step.at(
            one,
            step,
            groups[line],
            tuple((name, drawn.place[source], pointer) for name, source, pointer in lines[line].bound),
        )
        for step, (one, line) in enumerate(zip(made, drawn.order, strict=True))
    )
    return Executed(
        render(relabel(drawn.expression, drawn.place), str),
        1 + max(groups.values()),
        steps,
        (),
        drawn.over_serialised,
        goal,
        tuple(step for step in told if made[step].status == "ok"),
        turn_of=tuple(lines[line].turn for line in drawn.order),
        talk=talk,
    )


def _closed(lines: Sequence[Line]) -> list[int]:
    """Return by line what must come before it, as bit masks; what a later message asks for comes after all before."""
    before = [0] * len(lines)
    changed = True
    for number, line in enumerate(lines):
        for other in (*line.after, *(source for _, source, _ in line.bound)):
            before[number] |= 1 << other
        for other, earlier in enumerate(lines):
            if earlier.turn < line.turn:
                before[number] |= 1 << other
    while changed:
        changed = False
        for number, mask in enumerate(before):
            more = mask
            for other in range(len(lines)):
                if mask >> other & 1:
                    more |= before[other]
            if more != mask:
                before[number], changed = more, True
    return before
