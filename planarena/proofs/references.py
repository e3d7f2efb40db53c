"""References: a value that a call takes from an earlier result is looked up again at the moment of its use.

"The most recent order" means another one once an order was placed, and "the cheapest" of two that cost the same
means neither. A task with such a reference would say one thing and do another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from planarena.episodes import Backend, ExecutedCall
from planarena.tasks.atoms import Call, resolve

__all__ = ["Order", "ReferenceFault", "find_reference_fault", "is_tied"]

Path = tuple[str | int, ...]


class Order(NamedTuple):
    """What decides which record of a list is the first, or the best: the list and the fields compared."""

    rows: Path
    fields: tuple[str, ...]


class ReferenceFault(NamedTuple):
    """A reference that does not mean one thing: `changed` or `tied`, and the evidence."""

    reason: str
    detail: str


def find_reference_fault(
    backend: Backend,
    program: Sequence[Call],
    taken: Sequence[ExecutedCall],
    is_read: Callable[[str], bool],
    orders: Mapping[str, Mapping[Path, Order]],
) -> ReferenceFault | None:
    """Return the first reference of a task that changed before its use, or that fits two records.

    Args:
        backend: In the initial state, where it is left again.
        program: The calls in the recorded order.
        taken: Their executions.
        is_read: Says whether a tool changes nothing: only look-ups are made again.
        orders: By tool, for each list in its result, and for each record that is the best of one, what it is sorted by.
    """
    for step, call in enumerate(program):
        for argument, source, path in call.bound:
            if is_tied(taken[source].outcome.result, path, orders.get(taken[source].tool, {})):
                detail = f"step {step}: {argument} is at {_text(path)} of {taken[source].tool}, which ties"
                return ReferenceFault("tied", detail)
    if not _may_change(program, taken):
        return None
    start = backend.mark()
    try:
        return _first_changed(backend, program, taken, is_read)
    finally:
        backend.rollback(start)


def _may_change(program: Sequence[Call], taken: Sequence[ExecutedCall]) -> bool:
    """Say whether the state changed between a step and one that takes up its result."""
    return any(
        taken[source].state_after != taken[step].state_before
        for step, call in enumerate(program)
        for _, source, _ in call.bound
    )


def _first_changed(
    backend: Backend, program: Sequence[Call], taken: Sequence[ExecutedCall], is_read: Callable[[str], bool]
) -> ReferenceFault | None:
    for step, call in enumerate(program):
        for argument, source, path in call.bound:
            now = resolve(_look_up(backend, program, taken, is_read, source), path)
            then = resolve(taken[source].outcome.result, path)
            if now != then:
                shown = repr(now) if isinstance(now, str | int | float) else "nothing"
                detail = f"step {step}: {argument} is {then!r}, looked up again {shown}"
                return ReferenceFault("changed", detail)
        backend.call(taken[step].tool, taken[step].arguments)
    return None


def _look_up(
    backend: Backend,
    program: Sequence[Call],
    taken: Sequence[ExecutedCall],
    is_read: Callable[[str], bool],
    step: int,
) -> Any:
    """Return what a step would show now, its own references looked up now too; None where it fails."""
    one = taken[step]
    if not is_read(one.tool):
        return one.outcome.result
    arguments = dict(one.arguments)
    for argument, source, path in program[step].bound:
        value = resolve(_look_up(backend, program, taken, is_read, source), path)
        if not isinstance(value, str | int | float):
            return None  # what it took its value from shows none any more
        arguments[argument] = value
    mark = backend.mark()
    outcome = backend.call(one.tool, arguments)
    backend.rollback(mark)
    return outcome.result


def is_tied(result: Any, path: Path, orders: Mapping[Path, Order]) -> bool:
    """Say whether another record of a result has the same value in a field that decides which one a path means."""
    for place in range(len(path)):
        order = orders.get(path[:place])
        # A list is compared with the record that the path goes on to; the best of a list stands beside it.
        if order is None or (order.rows == path[:place] and not isinstance(path[place], int)):
            continue
        own = resolve(result, path[: place + 1] if order.rows == path[:place] else path[:place])
        rows = resolve(result, order.rows)
        if not isinstance(rows, list) or not isinstance(own, dict):
            continue
        for field in order.fields:
            if sum(isinstance(row, dict) and row.get(field) == own.get(field) for row in rows) > 1:
                return True
    return False


def _text(path: Path) -> str:
    return "".join(f"/{word}" for word in path)
