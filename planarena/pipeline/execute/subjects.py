"""What a call is about: the things it names, takes up and shows, by which composition sees what belongs together.

Nobody asks in one breath for a seat on a flight and for another flight's bags, or for the balance of an account and for
an address. Parts of a task that stand beside each other share a thing: the person, the account, the playlist, the day.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from planarena.tasks.atoms import Call
from planarena.tools import Tool

__all__ = ["joined_subjects", "subjects_of", "things_of", "unrelated_requests"]

# Words shorter than this are no names: "home", "low".
_SHORTEST = 3
# Before the name of what only looks up.
_LOOKS = "look-up"
# The surfaces of moments; two results have a day in common by chance, two requests seldom have.
_MOMENTS = frozenset({"date", "datetime"})
# Where one of many words is chosen it names a thing, as a room; where one of few, a way of doing: "express".
_FEW = 6
# More requests in one message are a list that nobody writes to somebody.
_MOST_ASKED = 4


def subjects_of(tool: Tool, arguments: Mapping[str, Any], result: Any) -> frozenset[str]:
    """Return the things that a call is about.

    These are the names and ids among its arguments, the day for which a look-up is made, and the names and ids that the result of
    a look-up gives for one thing, not those of a list's rows; of a change the ids alone, for whose mail was labelled
    was not spoken of. A look-up is also about what it looks up: two bills, two songs.

    Args:
        tool: The tool.
        arguments: The call's.
        result: What it gave.
    """
    reads = tool.effects == "read"
    found = {f"{_LOOKS} {tool.wire_name}"} if reads else set[str]()
    for name, value in arguments.items():
        schema = tool.parameters.get(name, {})
        if not isinstance(value, str) or _is_choice(schema):
            continue
        if (surface := schema.get("x-surface")) in _MOMENTS:
            found |= {f"{tool.namespace} {value[:10]}"} if reads else set()
        elif surface != "time":
            found.add(value)
    properties = (tool.output_schema or {}).get("properties", {})
    for name, value in result.items() if isinstance(result, dict) else ():
        schema = properties.get(name, {})
        if _is_name(value, schema) and (reads or schema.get("x-hidden")):
            found.add(value)
    return frozenset(one for one in found if len(one) > _SHORTEST)


def things_of(subjects: frozenset[str]) -> frozenset[str]:
    """Return what a task of several calls is about: that it looks up a bill, too, is no reason to add another bill."""
    return frozenset(one for one in subjects if not one.startswith(_LOOKS))


def joined_subjects(left: frozenset[str] | None, right: frozenset[str] | None) -> frozenset[str] | None:
    """Return what a task of two parts is about; None where nobody knows."""
    return None if left is None or right is None else things_of(left | right)


def _is_name(value: Any, schema: Mapping[str, Any]) -> bool:
    return (
        isinstance(value, str)
        and "x-semantic" in schema
        and not _is_choice(schema)
        and schema.get("x-surface") not in {*_MOMENTS, "time"}
    )


def _is_choice(schema: Mapping[str, Any]) -> bool:
    return len(schema.get("enum", range(_FEW + 1))) <= _FEW


def unrelated_requests(
    program: Sequence[Call],
    subjects: Sequence[frozenset[str]],
    reported: Sequence[int],
    turn_of: Sequence[int],
) -> tuple[str, str] | None:
    """Return why nobody would put one of the messages: it asks for two things that have nothing in common, or for too much.

    Two requests belong together where they are about one thing, or where what they take their values from is.

    Args:
        program: The calls.
        subjects: By step, what it is about.
        reported: The steps that a message asks for.
        turn_of: By step, its message.
    """
    for turn in sorted(set(turn_of)):
        asked = [step for step in reported if turn_of[step] == turn]
        if len(asked) > _MOST_ASKED:
            return "too_many_requests", f"message {turn} asks for {len(asked)} things"
        if len(asked) < 2:
            continue
        met = {step for step in range(len(program)) if turn_of[step] == turn}
        met |= {binding.source for step in met for binding in program[step].bound}
        about = {step: subjects[step] if len(asked) == 2 else things_of(subjects[step]) for step in met}
        left, group = met - {asked[0]}, [asked[0]]
        for step in group:
            near = {
                other
                for other in left
                if not about[step].isdisjoint(about[other])
                or any(binding.source == other for binding in program[step].bound)
                or any(binding.source == step for binding in program[other].bound)
            }
            group += sorted(near)
            left -= near
        apart = left.intersection(asked)
        if apart:
            tools = ", ".join(program[step].tool for step in sorted(apart))
            return "unrelated_requests", f"message {turn}: {tools} beside {program[asked[0]].tool}"
    return None
