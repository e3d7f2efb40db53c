"""Which steps truly depend on which: data edges, and order edges that a swap proves."""

from __future__ import annotations

from collections.abc import Hashable, MutableMapping, Sequence
from typing import NamedTuple

from planarena.environments.state import Footprint
from planarena.episodes import Episode
from planarena.tasks.atoms import Call

__all__ = ["Dependences", "OrderEvidence", "find_dependences", "swap_changes"]


class OrderEvidence(NamedTuple):
    """An order edge without data, and what changes when the two steps are exchanged.

    Attributes:
        earlier: Step.
        later: Step.
        change: `earlier_result`, `later_result` or `state`.
    """

    earlier: int
    later: int
    change: str


class Dependences(NamedTuple):
    """A program's partial order.

    Attributes:
        before: By step, the bit mask of all steps that must come before it (transitively closed).
        order_edges: The proven edges without data.
    """

    before: list[int]
    order_edges: list[OrderEvidence]


def _close(direct: Sequence[int]) -> list[int]:
    before: list[int] = []
    for mask in direct:
        closed = mask
        for earlier in range(len(before)):
            if mask >> earlier & 1:
                closed |= before[earlier]
        before.append(closed)
    return before


def swap_changes(episode: Episode, before: Sequence[int], earlier: int, later: int) -> str | None:
    """Execute two steps in both orders, after all that must precede either, and say what differs.

    Args:
        episode: At the initial state, where it is left again.
        before: Predecessors by step; no step lies between the two.
        earlier: A step.
        later: A step that takes no value from `earlier`.

    Returns:
        What changes (see `OrderEvidence`), or None when nothing does.
    """
    backend = episode.backend
    start = backend.mark()
    needed = (before[earlier] | before[later]) & ~(1 << earlier)
    for step in range(len(before)):
        if needed >> step & 1:
            episode.perform(step)
    middle = backend.mark()
    first, second = episode.perform(earlier).payload, episode.perform(later).payload
    state = backend.digest()
    backend.rollback(middle)
    second_swapped, first_swapped = episode.perform(later).payload, episode.perform(earlier).payload
    state_swapped = backend.digest()
    backend.rollback(start)
    if second != second_swapped:
        return "later_result"
    if first != first_swapped:
        return "earlier_result"
    return None if state == state_swapped else "state"


def find_dependences(
    program: Sequence[Call],
    footprints: Sequence[Footprint],
    episode: Episode,
    names: Sequence[Hashable] = (),
    swaps: MutableMapping[Hashable, str | None] | None = None,
) -> Dependences:
    """Find the partial order of a program that ran without an error in the order given.

    Two steps whose footprints conflict may depend on each other; a swap in the real environment decides.
    Only covering pairs (nothing lies between) need a swap: the others follow by transitivity.

    Args:
        program: The calls.
        footprints: What each read and wrote when the program ran.
        episode: Over the program, at the initial state, where it is left again.
        names: By step, what tells its call and bindings from any other of the scenario.
        swaps: Swaps made before from the same initial state, by what was executed: not made again. Needs `names`.
    """
    n = len(program)
    data = [0] * n
    for step, call in enumerate(program):
        for binding in call.bound:
            data[step] |= 1 << binding.source
    direct = list(data)
    for later in range(n):
        for earlier in range(later):
            if not direct[later] >> earlier & 1 and footprints[earlier].conflicts(footprints[later]):
                direct[later] |= 1 << earlier
    proven: dict[tuple[int, int], str] = {}
    while True:
        before = _close(direct)
        doubtful = _next_doubtful(before, data, proven)
        if doubtful is None:
            break
        earlier, later = doubtful
        change = _swap_once(episode, before, earlier, later, names, swaps)
        if change is None:
            direct[later] &= ~(1 << earlier)
        else:
            proven[doubtful] = change
    covers = {pair for pair in proven if _covers(before, *pair)}
    return Dependences(before, [OrderEvidence(*pair, proven[pair]) for pair in sorted(covers)])


def _swap_once(
    episode: Episode,
    before: Sequence[int],
    earlier: int,
    later: int,
    names: Sequence[Hashable],
    swaps: MutableMapping[Hashable, str | None] | None,
) -> str | None:
    if swaps is None:
        return swap_changes(episode, before, earlier, later)
    needed = (before[earlier] | before[later]) & ~(1 << earlier)
    key = (
        tuple(names[step] for step in range(len(before)) if needed >> step & 1),
        names[earlier],
        names[later],
    )
    if key not in swaps:
        swaps[key] = swap_changes(episode, before, earlier, later)
    return swaps[key]


def _covers(before: Sequence[int], earlier: int, later: int) -> bool:
    if not before[later] >> earlier & 1:
        return False
    between = before[later] & ~(1 << earlier)
    return not any(between >> step & 1 and before[step] >> earlier & 1 for step in range(len(before)))


def _next_doubtful(
    before: Sequence[int], data: Sequence[int], proven: dict[tuple[int, int], str]
) -> tuple[int, int] | None:
    for later in range(len(before)):
        for earlier in range(later):
            if (
                before[later] >> earlier & 1
                and not data[later] >> earlier & 1
                and (earlier, later) not in proven
                and _covers(before, earlier, later)
            ):
                return earlier, later
    return None
