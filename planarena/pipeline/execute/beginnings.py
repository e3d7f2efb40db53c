"""What conversations begin with: who goes on proves what is new, and not once more what was proven behind it.

A conversation grows message by message, and each message that is tried is proven with all before it. Those were proven
when they were the whole: executed again, in every order, each call needed for its message. What a message of them needs
hangs on nothing that comes later, so that stands; only what the whole needs is asked anew.
"""

from __future__ import annotations

from collections.abc import Hashable, MutableMapping, Sequence
from typing import Any, NamedTuple

import orjson

from planarena.environments import World
from planarena.episodes import ExecutedCall, Goal
from planarena.tasks.atoms import Call

__all__ = ["Beginning", "Beginnings", "ends_of", "shape_of"]

# By step all that proofs look at, but what the calls before it gave.
Shape = tuple[tuple[Any, ...], ...]


class Beginning(NamedTuple):
    """The first calls of a conversation, executed and proven.

    Attributes:
        made: The calls as they were executed anew, in the recorded order.
        goals: By message, what it reaches.
    """

    made: tuple[ExecutedCall, ...] = ()
    goals: tuple[Goal, ...] = ()


_NOTHING = Beginning()


class Beginnings:
    """The conversations of a scenario that were proven, by the state in which they begin and their calls, and swaps."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, Shape], Beginning] = {}
        self._numbers: dict[tuple[Any, ...], int] = {}
        self._swaps: dict[int, dict[Hashable, str | None]] = {}

    def swaps(
        self, world: Any, program: Sequence[Call]
    ) -> tuple[list[int], MutableMapping[Hashable, str | None] | None]:
        """Return what `find_dependences` takes to make no swap twice: a name of each call, and the swaps that were made.

        Args:
            world: In the state in which the program begins.
            program: The calls.
        """
        if not isinstance(world, World):
            return [], None
        names: list[int] = []
        for call in program:
            bound = tuple((argument, names[source], path) for argument, source, path in call.bound)
            key = call.tool, orjson.dumps(call.literals), bound
            names.append(self._numbers.setdefault(key, len(self._numbers)))
        return names, self._swaps.setdefault(world.store.total(), {})

    def longest(self, world: Any, shape: Shape, ends: Sequence[int]) -> Beginning:
        """Return the longest beginning of a conversation that was proven before.

        Args:
            world: In the state in which the conversation begins. Only of worlds of ours one sees the whole state.
            shape: The conversation: see `shape_of`.
            ends: How many calls there are up to each message.
        """
        if isinstance(world, World):
            state = world.store.total()
            for end in reversed(ends):
                if (found := self._known.get((state, shape[:end]))) is not None:
                    return found
        return _NOTHING

    def note(
        self,
        world: Any,
        shape: Shape,
        ends: Sequence[int],
        made: Sequence[ExecutedCall],
        goals: Sequence[Goal],
    ) -> None:
        """Note that a conversation was proven, and so was what it begins with."""
        if isinstance(world, World):
            state = world.store.total()
            for number, end in enumerate(ends):
                found = Beginning(tuple(made[:end]), tuple(goals[: number + 1]))
                self._known.setdefault((state, shape[:end]), found)


def ends_of(turn_of: Sequence[int]) -> list[int]:
    """Return how many calls there are up to each message that has some."""
    return [
        step + 1 for step in range(len(turn_of)) if turn_of[step + 1 : step + 2] != turn_of[step : step + 1]
    ]


def shape_of(program: Sequence[Call], *beside: Sequence[Any]) -> Shape:
    """Return a conversation's calls as keys.

    Args:
        program: The calls.
        beside: What else tells one step from another, each by step.
    """
    return tuple(
        (call.tool, orjson.dumps(call.literals), call.bound, *more)
        for call, *more in zip(program, *beside, strict=True)
    )
