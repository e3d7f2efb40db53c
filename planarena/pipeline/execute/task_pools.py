"""Which of a scenario's composed tasks are proven, and in which order."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from planarena.proofs import Dependences
from planarena.tasks.composition import Composition, Member

__all__ = ["TaskPools"]


def _chain(member: Member) -> int:
    """Return the length of the longest chain of dependent steps."""
    found: Dependences = member.payload[1][0]
    longest: list[int] = []
    for mask in found.before:
        longest.append(1 + max((longest[i] for i in range(len(longest)) if mask >> i & 1), default=0))
    return max(longest)


class TaskPools:
    """Draws tasks by the mix of lengths; where a length has too few, others fill in.

    Each draw takes the length whose share among the proven tasks lags most behind its weight.
    """

    def __init__(self, space: Composition, mix: Sequence[float], max_actions: int, rng: Random) -> None:
        self._rng = rng
        self._pools: dict[int, list[Member]] = {}
        self._weights = {
            length: weight for length, weight in enumerate(mix[:max_actions], start=1) if weight > 0
        }
        for level in space.levels:
            for member in level:
                if member.n_actions in self._weights:
                    self._pools.setdefault(member.n_actions, []).append(member)
        for length in sorted(self._pools):
            rng.shuffle(self._pools[length])
            # Joining unrelated parts is easy and long chains are rare: every other task taken is the deepest left.
            self._pools[length].sort(key=_chain)
        self._proven = dict.fromkeys(self._weights, 0)
        self._drawn = dict.fromkeys(self._weights, 0)

    def draw(self) -> Member | None:
        """Take a task, or None when none is left."""
        live = [length for length, pool in self._pools.items() if pool]
        if not live:
            return None
        length = min(live, key=lambda item: ((self._proven[item] + 0.5) / self._weights[item], item))
        pool = self._pools[length]
        deepest = self._drawn[length] % 2 == 0
        self._drawn[length] += 1
        return pool.pop(len(pool) - 1 if deepest else self._rng.randrange(len(pool)))

    def count(self, member: Member) -> None:
        """Count a drawn task as proven."""
        self.count_length(member.n_actions)

    def count_length(self, length: int) -> None:
        """Count a task of a length as proven."""
        if length in self._proven:
            self._proven[length] += 1
