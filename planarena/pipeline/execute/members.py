"""What members of a composition do to each other: writes that are lost, parts that depend on each other, joint offers."""

from __future__ import annotations

from collections.abc import Sequence

from planarena.environments.state import Footprint
from planarena.tasks.atoms import Call
from planarena.tasks.composition import Source

__all__ = ["crosses", "joined", "overwritten"]


def overwritten(program: Sequence[Call], footprints: Sequence[Footprint]) -> bool:
    """Say whether a write is plainly lost: made again with the same kinds of values before anything saw it.

    Only a short cut: drop-one replay would discard such a task later.
    """
    for later, call in enumerate(program):
        writes = footprints[later].writes
        if not writes:
            continue
        for earlier in range(later):
            other = program[earlier]
            if (
                other.tool == call.tool
                and footprints[earlier].writes == writes
                and other.literals.keys() == call.literals.keys()
                and not any(_reads(footprints[step], writes) for step in range(earlier + 1, later))
            ):
                return True
    return False


def _reads(footprint: Footprint, keys: frozenset[tuple[str, str | None]]) -> bool:
    return any(key in footprint.reads or (key[0], None) in footprint.reads for key in keys)


def crosses(before: Sequence[int], split: int) -> bool:
    """Say whether a step of the second part must come after one of the first."""
    left = (1 << split) - 1
    return any(mask & left for mask in before[split:])


def joined(
    left: dict[str, tuple[Source, ...]], right: dict[str, tuple[Source, ...]]
) -> dict[str, tuple[Source, ...]]:
    """Return what two parts offer together, by semantic type."""
    joined = dict(left)
    for semantic, sources in right.items():
        joined[semantic] = (*joined.get(semantic, ()), *sources)
    return joined
