"""Acting again without calling what is live: gold calls are answered from their record, other live calls not made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from planarena.environments import Outcome
from planarena.environments.sources import LiveWorld
from planarena.environments.state import Footprint
from planarena.episodes.episode import ExecutedCall

__all__ = ["ReplayBackend", "WithheldCallError"]


class WithheldCallError(Exception):
    """A call of a live tool that is not the gold one: it was not made."""


class ReplayBackend:
    """A world whose live tools are not called again.

    Calls that other tools answer, and calls that are refused before anything is sent (an unknown tool, arguments
    that do not fit the schema), go to the world. A live tool gives what it gave in the gold trajectory.

    Args:
        world: In the initial state.
        taken: The gold trajectory.
    """

    def __init__(self, world: LiveWorld, taken: Sequence[ExecutedCall]) -> None:
        self._world, self._taken = world, taken
        self._state: str | None = None  # told by the record, once a live call has changed it
        live = [one for one in taken if one.tool in world.live_tools]
        # Before and after a change the same question may have two answers.
        self._changes = any(one.state_before != one.state_after for one in live)
        self._marks: list[tuple[int, str | None]] = []

    def call(self, name: str, arguments: Mapping[str, Any]) -> Outcome:
        """Execute a call, or tell what it gave.

        Raises:
            WithheldCallError: It is a call of a live tool that the gold trajectory does not make there.
        """
        world = self._world
        if name not in world.live_tools or not world.operations[name].validator.is_valid(arguments):
            return world.call(name, arguments)
        for one in self._taken:
            same = (one.tool, one.arguments) == (name, arguments)
            if same and (not self._changes or one.state_before == self.digest()):
                self._state = one.state_after if self._changes else self._state
                return one.outcome
        raise WithheldCallError(name)

    def footprint(self) -> Footprint:
        """Return what the last call of the world read and wrote."""
        return self._world.footprint()

    def mark(self) -> int:
        """Return a point to roll back to."""
        self._marks.append((self._world.mark(), self._state))
        return len(self._marks) - 1

    def rollback(self, mark: int) -> None:
        """Undo every call since `mark`."""
        inner, self._state = self._marks[mark]
        del self._marks[mark + 1 :]
        self._world.rollback(inner)

    def digest(self) -> str:
        """Return the hash of the state."""
        return self._world.digest() if self._state is None else self._state
