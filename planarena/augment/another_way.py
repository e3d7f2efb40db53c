"""Whether another tool does what a step does: seen by calling it with all values that are known there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, product
from typing import Any

from planarena.augment.cases import Case
from planarena.environments import Outcome, World
from planarena.episodes import Episode
from planarena.proofs import scalars_of, scalars_shown
from planarena.records.canonical import canonical_bytes
from planarena.tasks.atoms import resolve
from planarena.tools import Tool

__all__ = ["does_the_same", "is_within_reach"]

# Most ways of filling a tool's arguments that are tried.
_MOST_WAYS = 24
# How many look-ups one after the other are searched, and how many in all.
_ROUNDS, _MOST_CALLS = 2, 300

_Known = dict[str, list[Any]]


def does_the_same(case: Case, step: int, tool: str, world: World) -> bool:
    """Say whether one call of another tool does what a step of the gold does.

    A change is the same if the state is; a look-up, if all is shown that later steps or the goal take from it.

    Args:
        case: The trajectory.
        step: The step.
        tool: The other tool.
        world: The world in the initial state, where it is left again.
    """
    start = world.mark()
    episode = Episode(world, case.program)
    for earlier in range(step):
        episode.perform(earlier)
    here = world.mark()
    before = world.digest()
    episode.perform(step)
    wanted = world.digest()
    world.rollback(here)
    needed = _needed(case, step)
    found = False
    known = _known(case, step, world)
    for arguments in islice(_ways(known, world.operations[tool].tool), _MOST_WAYS):
        outcome = _call(world, tool, arguments)
        same = outcome is not None and world.digest() == wanted
        if outcome is not None and same and wanted == before:
            same = bool(needed) and needed <= scalars_shown(outcome)
        world.rollback(here)
        if same:
            found = True
            break
    world.rollback(start)
    return found


def is_within_reach(case: Case, step: int, tools: Sequence[str], world: World) -> bool:
    """Say whether what a step of the gold does can be had with other tools: one change, or look-ups in two rounds before it.

    Args:
        case: The trajectory.
        step: The step.
        tools: The other tools on offer.
        world: The world in the initial state, where it is left again.
    """
    start = world.mark()
    episode = Episode(world, case.program)
    for earlier in range(step):
        episode.perform(earlier)
    here, before = world.mark(), world.digest()
    episode.perform(step)
    wanted = world.digest()
    world.rollback(here)
    needed, known = _needed(case, step), _known(case, step, world)
    reads = [tool for tool in tools if world.operations[tool].tool.effects == "read"]
    shown: set[bytes] = set()
    made: set[bytes] = set()
    found = False
    for _ in range(_ROUNDS):
        for tool, result in _looks(world, reads, known, made):
            shown |= scalars_of(result)
            for semantic, value in _shown(world.operations[tool].tool.output_schema, result):
                _note(known, f"x:{semantic}", value)
        world.rollback(here)
    if wanted == before:
        found = bool(needed) and needed <= shown
    else:
        for tool in tools:
            for arguments in islice(_ways(known, world.operations[tool].tool), _MOST_CALLS):
                outcome = _call(world, tool, arguments)
                same = outcome is not None and world.digest() == wanted
                world.rollback(here)
                if same:
                    found = True
    world.rollback(start)
    return found


def _looks(world: World, reads: Sequence[str], known: _Known, made: set[bytes]) -> Iterator[tuple[str, Any]]:
    """Make every look-up that what is known allows, once, and yield what each showed."""
    calls = [
        (tool, found)
        for tool in reads
        for found in islice(_ways(known, world.operations[tool].tool), _MOST_CALLS)
    ]
    for tool, arguments in calls:
        key = canonical_bytes([tool, arguments])
        if key in made or len(made) >= _MOST_CALLS:
            continue
        made.add(key)
        outcome = _call(world, tool, arguments)
        if outcome is not None:
            yield tool, outcome.result


def _call(world: World, tool: str, arguments: dict[str, Any]) -> Outcome | None:
    """Return the outcome of a call that succeeds, else None."""
    mark = world.mark()
    try:
        outcome = world.call(tool, arguments)
    except Exception:  # what an environment does not foresee does nothing that anybody wants
        world.rollback(mark)
        return None
    return outcome if outcome.status == "ok" else None


def _needed(case: Case, step: int) -> set[bytes]:
    """Return the values that later steps, or the goal, take from a step."""
    values = [
        resolve(case.results[step], binding.path)
        for call in case.program
        for binding in call.bound
        if binding.source == step
    ]
    return scalars_of([values, [value for tool, value in case.required if tool == case.steps[step].tool]])


def _note(known: _Known, key: str, value: Any) -> None:
    if isinstance(value, str | int | float) and value not in known.setdefault(key, []):
        known[key].append(value)


def _known(case: Case, step: int, world: World) -> _Known:
    """Return what the user told, the context and what was shown before a step, by name and by meaning."""
    known: _Known = {}
    for name, value in world.facts.items():
        _note(known, name, value)
    for call, arguments in zip(case.program, case.arguments, strict=True):
        parameters = world.operations[call.tool].tool.parameters
        for name in call.literals:
            _note(known, name, arguments[name])
            _note(known, f"x:{parameters.get(name, {}).get('x-semantic')}", arguments[name])
    for earlier in range(step):
        schema = world.operations[case.steps[earlier].tool].tool.output_schema
        for semantic, value in _shown(schema, case.results[earlier]):
            _note(known, f"x:{semantic}", value)
    return known


def _ways(known: _Known, tool: Tool) -> Iterator[dict[str, Any]]:
    """Yield arguments of a tool from what is known."""
    choices = []
    for name in tool.required:
        stated = tool.parameters.get(name, {})
        options = [
            *stated.get("enum", ()),
            *known.get(f"x:{stated.get('x-semantic', name)}", ()),
            *known.get(name, ()),
        ]
        if not options:
            return
        choices.append(list(dict.fromkeys(options)))
    for values in product(*choices):
        yield dict(zip(tool.required, values, strict=True))


def _shown(schema: Any, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the values of a result with their meanings."""
    if not isinstance(schema, dict):
        return
    if "x-semantic" in schema:
        yield str(schema["x-semantic"]), value
    if isinstance(value, dict):
        for name, one in value.items():
            yield from _shown(schema.get("properties", {}).get(name), one)
    elif isinstance(value, list):
        for one in value:
            yield from _shown(schema.get("items"), one)
