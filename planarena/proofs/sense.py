"""Sense: tasks that can be executed and that nobody would ask for.

What two writes on one record mean to one another an environment's words say (`undoes`, `ends`); the rest is seen
from what was executed: writes that change nothing, look-ups that show what a former one showed, dates on the wrong
side of now, one call whose values belong to different records of one list.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from planarena.environments.state import Footprint
from planarena.environments.wording import ToolWording, parse_pointer
from planarena.environments.world import Operation
from planarena.records.canonical import canonical_bytes
from planarena.tasks.atoms import Call

__all__ = ["Done", "Sense", "SenseFault"]


class SenseFault(NamedTuple):
    """Why nobody would ask for it: a stable word, and the evidence."""

    reason: str
    detail: str


class Done(NamedTuple):
    """One executed step as the checks see it.

    Attributes:
        call: Its literals and bindings.
        arguments: All arguments.
        result: What it gave.
        footprint: What it read and wrote.
    """

    call: Call
    arguments: Mapping[str, Any]
    result: Any
    footprint: Footprint


class Sense:
    """Judges the tasks of a scenario.

    Args:
        operations: The tools by wire name.
        wording: Their words.
        now: The moment of the scenario, as `2026-08-17T09:00`; empty where there is no clock.
    """

    def __init__(
        self, operations: Mapping[str, Operation], wording: Mapping[str, ToolWording], now: str
    ) -> None:
        self._wording, self._now = wording, now
        self._reads = {name: one.tool.effects == "read" for name, one in operations.items()}
        self._hidden = {
            name: frozenset(arg for arg, schema in one.tool.parameters.items() if schema.get("x-hidden"))
            for name, one in operations.items()
        }
        self._dates = {name: self._sides(name, one) for name, one in operations.items()}
        self._semantic = {
            name: {arg: schema.get("x-semantic", arg) for arg, schema in one.tool.parameters.items()}
            for name, one in operations.items()
        }

    def _sides(self, name: str, operation: Operation) -> dict[str, str]:
        told = self._wording[name].dates if name in self._wording else {}
        usual = "any" if self._reads[name] else "future"
        return {
            argument: side
            for argument, schema in operation.tool.parameters.items()
            if schema.get("x-surface") in {"date", "datetime"}
            and (side := told.get(argument, usual)) != "any"
        }

    def fault(self, steps: Sequence[Done], joined: int = 0) -> SenseFault | None:
        """Return why a task makes no sense, or None.

        Args:
            steps: In an order in which they ran.
            joined: The first so many were judged together before, and so were the others.
        """
        for place in range(joined, len(steps)):
            step = steps[place]
            if (found := self._alone(place, step, steps)) is not None:
                return found
            for earlier in range(joined or place):
                if (found := self._together(steps[earlier], step)) is not None:
                    return found
        return None

    # -- one step ------------------------------------------------------------------------------

    def _alone(self, place: int, step: Done, steps: Sequence[Done]) -> SenseFault | None:
        tool = step.call.tool
        if self._now:
            for argument, side in self._dates[tool].items():
                value = step.arguments.get(argument)
                if isinstance(value, str) and value and _side(value, self._now) not in {side, "today"}:
                    return SenseFault(
                        "wrong_side_of_now", f"{tool}: {argument} = {value!r}, now is {self._now}"
                    )
        if not self._reads[tool] and (half := self._half(place, steps)):
            return SenseFault("half_taken", f"{tool}: {half}")
        if len(step.call.bound) > 1 and (mixed := self._mixed(place, steps)):
            return SenseFault("mixed_records", f"{tool}: {mixed}")
        return None

    def _half(self, place: int, steps: Sequence[Done]) -> str:
        """Name a value that a write takes without the one beside it: the sum of a bill for somebody else."""
        bound = steps[place].call.bound
        taken = {(binding.source, binding.path) for binding in bound}
        for binding in bound:
            words = self._wording.get(steps[binding.source].call.tool)
            pointer = "".join(f"/{word}" for word in binding.path)
            reference = words.refer.get(pointer) if words is not None else None
            if (
                reference is not None
                and reference.beside
                and (binding.source, parse_pointer(reference.beside)) not in taken
            ):
                return f"{pointer} without {reference.beside}"
        return ""

    def _mixed(self, place: int, steps: Sequence[Done]) -> str:
        """Name two arguments that come from different records of one list, though they are no pair of equals."""
        call = steps[place].call
        seen: dict[tuple[int, tuple[str | int, ...]], tuple[int, str]] = {}
        for binding in call.bound:
            for source, rows, index in _origins(steps, binding.source, binding.path):
                other, argument = seen.setdefault((source, rows), (index, binding.argument))
                kinds = self._semantic[call.tool]
                if other != index and kinds.get(argument) != kinds.get(binding.argument):
                    return f"{argument} and {binding.argument} belong to different records of {call.tool}"
        return ""

    # -- two steps -----------------------------------------------------------------------------

    def _together(self, first: Done, second: Done) -> SenseFault | None:
        one, two = first.call.tool, second.call.tool
        if self._reads[one] and self._reads[two]:
            if self._are_apart(first, second):
                return SenseFault("apart", f"{two} beside {one}")
            if self._is_once(first, second):
                return SenseFault("asked_twice", f"{one} twice for one thing")
            if one == two and _shows_no_more(first.result, second.result):
                return SenseFault("repeated_look_up", f"{one} shows twice what it shows once")
            return None
        if (found := self._unlikely(first, second)) is not None:
            return found
        words = self._wording.get(two)
        if words is not None and one in words.undoes and _overlap(first.footprint, second.footprint):
            return SenseFault("undone_or_repeated", f"{two} after {one} on the same record")
        return self._ended(first, second, later=True) or self._ended(second, first, later=False)

    def _unlikely(self, first: Done, second: Done) -> SenseFault | None:
        """Return why two steps, one of which changes something, do not go together as the words have it."""
        one, two = first.call.tool, second.call.tool
        words = self._wording.get(one)
        if words is None:
            return None
        if two in words.completes:
            return SenseFault("after_completion", f"{two} after {one}")
        if self._is_once(first, second):
            return SenseFault("asked_twice", f"{one} twice for one thing")
        if self._are_apart(first, second):
            return SenseFault("apart", f"{two} beside {one}")
        return None

    def _is_once(self, first: Done, second: Done) -> bool:
        words = self._wording.get(first.call.tool)
        if words is None or first.call.tool != second.call.tool:
            return False
        return any(first.arguments.get(name) == second.arguments.get(name) for name in words.once)

    def _are_apart(self, first: Done, second: Done) -> bool:
        words, others = self._wording.get(first.call.tool), self._wording.get(second.call.tool)
        named = (words is not None and second.call.tool in words.apart) or (
            others is not None and first.call.tool in others.apart
        )
        return named and not _takes_from(first, second) and bool(_texts(first) & _texts(second))

    def _ended(self, ending: Done, other: Done, *, later: bool) -> SenseFault | None:
        words = self._wording.get(ending.call.tool)
        if words is None or not words.ends or (not later and self._reads[other.call.tool]):
            return None
        gone = {ending.arguments.get(argument) for argument in words.ends} - {None, ""}
        used = {
            other.arguments[argument]
            for argument in other.arguments
            if isinstance(other.arguments[argument], str | int) and other.arguments[argument] is not True
        }
        if gone & used:
            return SenseFault("used_after_end", f"{other.call.tool} beside {ending.call.tool}")
        return None


def _side(value: str, now: str) -> str:
    """Return `past`, `today` or `future` for a date or a moment."""
    if value[:10] != now[:10]:
        return "past" if value[:10] < now[:10] else "future"
    return "past" if len(value) >= 16 and value[:16] < now[:16] else "today"


def _origins(
    steps: Sequence[Done], source: int, path: tuple[str | int, ...]
) -> Iterator[tuple[int, tuple[str | int, ...], int]]:
    """Yield the records of lists that a value comes from, its producers' own references included."""
    for place, word in enumerate(path):
        if isinstance(word, int):
            yield source, path[:place], word
    for binding in steps[source].call.bound:
        yield from _origins(steps, binding.source, binding.path)


def _takes_from(first: Done, second: Done) -> bool:
    """Say whether a step takes a value from another that the other does not take itself."""
    taken = {value for value in second.arguments.values() if isinstance(value, str | int | float)}
    shown = first.result.values() if isinstance(first.result, dict) else ()
    fresh = {value for value in shown if isinstance(value, str | int | float)} - {
        value for value in first.arguments.values() if isinstance(value, str | int | float)
    }
    return bool(taken & fresh)


def _texts(step: Done) -> set[str]:
    """Return the words and ids that a step was told and showed: two steps that share one are about one thing."""
    shown = step.result.values() if isinstance(step.result, dict) else ()
    return {
        value for value in (*step.arguments.values(), *shown) if isinstance(value, str) and len(value) > 3
    }


def _overlap(first: Footprint, second: Footprint) -> bool:
    return not first.writes.isdisjoint(second.writes)


def _shows_no_more(first: Any, second: Any) -> bool:
    """Say whether one of two results of a tool holds no record that the other lacks."""
    if not isinstance(first, dict) or not isinstance(second, dict):
        return bool(first == second)
    lists = [
        key
        for key, value in first.items()
        if isinstance(value, list) and isinstance(second.get(key), list) and value and second[key]
    ]
    if not lists:
        return bool(first == second)
    for key in lists:
        one, two = ({canonical_bytes(row) for row in result[key]} for result in (first, second))
        if not (one <= two or two <= one):
            return False
    return True
