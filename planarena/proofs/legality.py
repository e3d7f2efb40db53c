"""Determinism and parallel legality: every order that an expression allows gives the same results and state.

The steps done so far form a down-set of the partial order. From each down-set every ready step is executed
once; its observation must equal the recorded one, and the state reached must not depend on the way to it.
By induction along any linear extension, all of them then give the recorded observations and final state:
the proof covers every linear extension without enumerating them ((a,b)||c has three, seven free steps 5,040
but only 128 down-sets).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from planarena.episodes import Episode

__all__ = ["Violation", "prove_orders"]


class Violation(NamedTuple):
    """A linear extension that behaves differently.

    Attributes:
        kind: `determinism` when the recorded order itself differs on repetition, else `parallel`.
        order: The steps executed, the last of them the one that shows the difference.
        detail: For people.
    """

    kind: str
    order: tuple[int, ...]
    detail: str


def prove_orders(
    episode: Episode,
    before: Sequence[int],
    recorded: Sequence[bytes],
    states: Sequence[str],
    proven: int = 0,
) -> Violation | None:
    """Execute a program again in every order that its partial order allows.

    Args:
        episode: Over the program, at the initial state, where it is left again.
        before: Predecessors by step, as bit masks; the recorded order 0, 1, 2, ... respects them.
        recorded: The canonical observation of each step in the recorded order.
        states: The state's hash after each step in the recorded order.
        proven: So many steps come before all others, and were proven in all their orders: one of these is executed.

    Returns:
        The first violation, or None.
    """
    orders = _Orders(episode, before, recorded, states)
    if not proven:
        return orders.visit(0)
    mark = episode.backend.mark()
    orders.path += range(proven)
    episode.perform_all(range(proven))
    try:
        return orders.visit((1 << proven) - 1)
    finally:
        episode.backend.rollback(mark)


class _Orders:
    """A walk over the down-sets."""

    def __init__(
        self, episode: Episode, before: Sequence[int], recorded: Sequence[bytes], states: Sequence[str]
    ) -> None:
        self.episode, self.before, self.recorded = episode, before, recorded
        self.known = {(1 << (step + 1)) - 1: state for step, state in enumerate(states)}
        self.visited: set[int] = set()
        self.path: list[int] = []

    def visit(self, done: int) -> Violation | None:
        self.visited.add(done)
        backend, path = self.episode.backend, self.path
        for step, needed in enumerate(self.before):
            if done >> step & 1 or needed & ~done:
                continue
            mark = backend.mark()
            path.append(step)
            payload = self.episode.perform(step).payload
            reached = done | 1 << step
            found: Violation | None = None
            if payload != self.recorded[step]:
                found = _violation(
                    path, f"step {step} observed {payload[:200]!r}, before {self.recorded[step][:200]!r}"
                )
            else:
                state = backend.digest()
                if self.known.setdefault(reached, state) != state:
                    found = _violation(path, "the state differs from that of another order")
                elif reached not in self.visited:
                    found = self.visit(reached)
            path.pop()
            backend.rollback(mark)
            if found is not None:
                return found
        return None


def _violation(path: Sequence[int], detail: str) -> Violation:
    as_recorded = all(step == place for place, step in enumerate(path))
    return Violation("determinism" if as_recorded else "parallel", tuple(path), detail)
