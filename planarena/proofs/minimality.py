"""Minimality by drop-one replay with bindings (paper 000 Eq. 5).

A consumer of the dropped step fails unless the value is known from elsewhere: told by the user (a literal of
the task) or in the context. If the goal still holds without a step, the task is not minimal.

Deviation from Eq. 5: the minimum over all action sequences is not searched; dropping each single step shows
that no proper part of this trajectory with one step less reaches the goal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from planarena.environments.world import Outcome
from planarena.episodes import Episode, Goal, reached
from planarena.records.canonical import canonical_bytes
from planarena.tasks.atoms import Call, resolve

__all__ = ["find_superfluous", "known_values"]


def known_values(program: Sequence[Call], facts: dict[str, Any]) -> frozenset[bytes]:
    """Return the scalar values that the user tells or told: literals and facts, as canonical JSON."""
    found: set[bytes] = set()
    stack: list[Any] = [facts, *(call.literals for call in program)]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
        elif not isinstance(item, bool) and item is not None:
            found.add(canonical_bytes(item))
    return frozenset(found)


def find_superfluous(
    episode: Episode, program: Sequence[Call], goal: Goal, known: frozenset[bytes], results: Sequence[Any]
) -> int | None:
    """Return the first step without which the goal still holds, or None if every step is needed.

    Args:
        episode: Over the program, at the initial state, where it is left again.
        program: The calls.
        goal: The goal of the whole program.
        known: See `known_values`.
        results: The recorded result of each step: what a consumer would have been given.
    """
    backend = episode.backend
    start = backend.mark()
    done: list[tuple[str, Outcome]] = []
    superfluous: int | None = None
    for dropped in range(len(program)):
        mark = backend.mark()
        # A consumer may still know the dropped step's value; all else of its result stays unknown.
        episode.results[dropped] = _told_part(program, dropped, known, results[dropped])
        observed = list(done)
        for step in range(dropped + 1, len(program)):
            observed.append((program[step].tool, episode.perform(step)))
        if reached(goal, backend.digest(), observed):
            superfluous = dropped
            break
        backend.rollback(mark)
        episode.results[dropped] = None
        done.append((program[dropped].tool, episode.perform(dropped)))
    backend.rollback(start)
    return superfluous


def _told_part(program: Sequence[Call], dropped: int, known: frozenset[bytes], result: Any) -> Any:
    """Return a result that holds only those bound values of the dropped step that are known from elsewhere."""
    part: Any = None
    for call in program[dropped + 1 :]:
        for binding in call.bound:
            if binding.source != dropped:
                continue
            value = resolve(result, binding.path)
            if isinstance(value, str | int | float) and canonical_bytes(value) in known:
                part = _graft(part, binding.path, value)
    return part


def _graft(tree: Any, path: tuple[str | int, ...], value: Any) -> Any:
    if not path:
        return value
    head, rest = path[0], path[1:]
    # Lists become mappings by index: `resolve` reads both the same way.
    branch = dict(tree) if isinstance(tree, dict) else {}
    branch[head] = _graft(branch.get(head), rest, value)
    return branch
