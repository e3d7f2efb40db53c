"""Whether an answer holds at the end of its message: what was looked up before the same message changed it is out of date."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from planarena.environments import World
from planarena.environments.sources.folder.world import FolderWorld
from planarena.environments.wording import ToolWording, parse_pointer
from planarena.episodes import ExecutedCall
from planarena.tasks.atoms import resolve

__all__ = ["stale_answer"]

Path = tuple[str | int, ...]


def stale_answer(
    world: World,
    executed: Sequence[ExecutedCall],
    values: Mapping[int, tuple[tuple[Path, Any], ...] | None],
    reported: Sequence[int],
    turn_of: Sequence[int],
    wording: Mapping[str, ToolWording],
) -> tuple[str, str] | None:
    """Return why an answer would tell what is so no more when it is given; None where all of it still holds.

    A look-up is made again at the end of its message: what is told of it must be the same, and so must its lists. Of two
    changes of one thing no count may be told twice.

    Args:
        world: In the initial state, where it is left again.
        executed: The calls in the recorded order.
        values: By step, what an answer tells of it.
        reported: The steps that are told.
        turn_of: By step, its message.
        wording: The tools' words, which say what is listed.
    """
    if (twice := _counted_twice(executed, values, reported, turn_of)) is not None:
        return twice
    suspects: dict[int, list[int]] = {}
    for step in reported:
        if executed[step].state_after != executed[step].state_before:
            continue
        # In whichever order a group runs, a change of the same message may follow the look-up.
        later = [other for other in range(step + 1, len(executed)) if turn_of[other] == turn_of[step]]
        if any(executed[other].state_after != executed[other].state_before for other in later):
            suspects.setdefault(turn_of[step], []).append(step)
    # What lies outside is not asked once more for this: an answer may cost, and a change may not be undone.
    if not suspects or not isinstance(world, World | FolderWorld):
        return None
    start = world.mark()
    try:
        for step, one in enumerate(executed):
            world.call(one.tool, one.arguments)
            if step + 1 < len(executed) and turn_of[step + 1] == turn_of[step]:
                continue
            for looked in suspects.get(turn_of[step], ()):
                if (changed := _changed(world, executed[looked], values[looked] or (), wording)) is not None:
                    return "stale_answer", f"step {looked}: {changed} of {executed[looked].tool} has changed"
    finally:
        world.rollback(start)
    return None


def _changed(
    world: World,
    one: ExecutedCall,
    told: Sequence[tuple[Path, Any]],
    wording: Mapping[str, ToolWording],
) -> str | None:
    mark = world.mark()
    outcome = world.call(one.tool, one.arguments)
    world.rollback(mark)
    if outcome.status != "ok":
        return "the result"
    words = wording.get(one.tool)
    lists = [parse_pointer(pointer) for pointer in words.records if pointer] if words is not None else []
    for path in (*(path for path, _ in told), *lists):
        if resolve(outcome.result, path) != resolve(one.result, path):
            return "".join(f"/{word}" for word in path)
    return None


def _counted_twice(
    executed: Sequence[ExecutedCall],
    values: Mapping[int, tuple[tuple[Path, Any], ...] | None],
    reported: Sequence[int],
    turn_of: Sequence[int],
) -> tuple[str, str] | None:
    """Return two changes of one message that tell different numbers of the same thing, as how many songs it has."""
    told = {
        step: {path[-1]: value for path, value in values[step] or () if path}
        for step in reported
        if executed[step].state_after != executed[step].state_before
    }
    for second, two in told.items():
        for first, one in told.items():
            if first >= second or turn_of[first] != turn_of[second]:
                continue
            texts = {value for value in one.values() if isinstance(value, str)}
            if texts.isdisjoint({value for value in two.values() if isinstance(value, str)}):
                continue
            given = set(map(str, (*executed[first].arguments.values(), *executed[second].arguments.values())))
            # In the order of the result: that of a set is another one in every process.
            for name in filter(two.__contains__, one):
                pair = one[name], two[name]
                if pair[0] == pair[1] or given & set(map(str, pair)):
                    continue
                if all(isinstance(value, int | float) for value in pair):
                    return "stale_answer", f"steps {first} and {second} tell {name} of one thing"
    return None
