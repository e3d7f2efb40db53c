"""Minimality by drop-one replay with bindings (DUPO Eq. 5).

A consumer of the dropped step fails unless the value is known from elsewhere: told by the user (a literal of
the task), in the context, or shown by another step that ran all the same. If the goal still holds without a step, the
task is not minimal: setting a limit twice and taking the card's id from the first setting does not make the
first one needed when the account showed the id before.

Deviation from Eq. 5: the minimum over all action sequences is not searched; dropping each single step shows
that no proper part of this trajectory with one step less reaches the goal.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import orjson

from planarena.environments.world import Outcome
from planarena.episodes import Episode, Goal, reached
from planarena.records.canonical import canonical_bytes
from planarena.tasks.atoms import Binding, Call, resolve

__all__ = ["find_superfluous", "known_values", "scalars_of", "scalars_shown"]

_MOMENT = re.compile(r"(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2})")


def known_values(program: Sequence[Call], facts: dict[str, Any]) -> frozenset[bytes]:
    """Return the scalar values that the user tells or told: literals and facts, as canonical JSON."""
    return frozenset(scalars_of([facts, *(call.literals for call in program)]))


def scalars_of(value: Any) -> set[bytes]:
    """Return the scalars in a JSON value, as canonical JSON; a moment tells its date and its time too.

    Truth values are left out: there are only two, so either is known.
    """
    found: set[bytes] = set()
    stack: list[Any] = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
        elif isinstance(item, str):
            found.add(_text_bytes(item))
            if item[10:11] == "T" and (moment := _MOMENT.match(item)) is not None:
                found.update(map(_text_bytes, moment.groups()))
        elif not isinstance(item, bool) and item is not None:
            found.add(canonical_bytes(item))
    return found


@lru_cache(maxsize=16384)
def _text_bytes(text: str) -> bytes:
    return canonical_bytes(text)


def scalars_shown(outcome: Outcome) -> frozenset[bytes]:
    """Return `scalars_of` the result of a call; empty if it failed."""
    return frozenset() if outcome.error is not None else _scalars_in(outcome.payload)


# Tasks of a scenario see the same observations over and over. Some APIs answer with a hundred kilobytes: the
# observations of many scenarios would fill the memory.
@lru_cache(maxsize=512)
def _scalars_in(payload: bytes) -> frozenset[bytes]:
    return frozenset(scalars_of(orjson.loads(payload)))


def find_superfluous(
    episode: Episode,
    program: Sequence[Call],
    goal: Goal,
    known: frozenset[bytes],
    results: Sequence[Any],
    first: int = 0,
    last: int | None = None,
) -> int | None:
    """Return the first step without which the goal still holds, or None if every step is needed.

    Args:
        episode: Over the program, at the initial state, where it is left again.
        program: The calls.
        goal: The goal of the whole program.
        known: See `known_values`.
        results: The recorded result of each step: what a consumer would have been given.
        first: Steps before this one are not dropped: they were asked for by an earlier message, with a goal of its own.
        last: Steps from this one on are not dropped: it was shown before that this goal, or one that asks for less, needs
            them; None where nothing was.
    """
    backend = episode.backend
    start = backend.mark()
    done: list[tuple[str, Outcome]] = []
    superfluous: int | None = None
    for dropped in range(len(program) if last is None else last):
        if dropped < first:
            done.append((program[dropped].tool, episode.perform(dropped)))
            continue
        mark = backend.mark()
        observed = list(done)
        missing = {dropped}  # steps that showed nothing: the dropped one, and those that failed without it
        for step in range(dropped + 1, len(program)):
            gone = [binding for binding in program[step].bound if binding.source in missing]
            if gone:
                shown = known.union(*(scalars_shown(outcome) for _, outcome in observed))
                for source in {binding.source for binding in gone}:
                    # A consumer may still know the value itself; all else of the missing result stays unknown.
                    episode.results[source] = _known_part(gone, source, results[source], shown)
            outcome = episode.perform(step)
            if outcome.status != "ok":
                missing.add(step)
            observed.append((program[step].tool, outcome))
        if reached(goal, backend.digest(), observed):
            superfluous = dropped
            break
        backend.rollback(mark)
        episode.results[dropped] = None
        done.append((program[dropped].tool, episode.perform(dropped)))
    backend.rollback(start)
    return superfluous


def _known_part(gone: Sequence[Binding], source: int, result: Any, shown: frozenset[bytes]) -> Any:
    """Return a result that holds only those of a missing step's values that are bound here and known."""
    part: Any = None
    for binding in gone:
        if binding.source != source:
            continue
        value = resolve(result, binding.path)
        if isinstance(value, str | int | float) and canonical_bytes(value) in shown:
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
