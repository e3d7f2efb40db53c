"""How sequences of calls are compared without carrying them out: partial and full match, macro F1 of names and slots.

The rules are those of the benchmark's own script: a reference to a result is a reference to the function that gave it,
values are compared as text, and sequences of other lengths are aligned by their functions' names.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

__all__ = ["Labelled", "ground", "macro_f1", "partial_match", "slots"]


class Labelled(NamedTuple):
    """One call of a sequence.

    Attributes:
        name: The function.
        arguments: Values, or references such as `$var_1.result$`.
        label: What later calls call its result.
    """

    name: str
    arguments: dict[str, Any]
    label: str


def ground(calls: Sequence[Labelled]) -> list[Labelled]:
    """Put the function's name in the place of its label wherever a value refers to it."""
    owners = {call.label: call.name for call in calls if call.label}
    return [
        Labelled(
            call.name, {key: _grounded(value, owners) for key, value in call.arguments.items()}, call.label
        )
        for call in calls
    ]


def _grounded(value: Any, owners: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        label = value.partition(".")[0].replace("$", "")
        if value.startswith("$var") and "." in value and label in owners:
            return value.replace(label, owners[label])
        return value
    if isinstance(value, list):
        return [_grounded(one, owners) if isinstance(one, str) else one for one in value]
    return value


def _text(key: str, value: Any) -> str:
    if isinstance(value, str) and value.startswith("$") and not value.endswith("$"):
        value = f"{value}$"
    return f"{key} = {value}"


def _written(call: Labelled) -> str:
    return f"{call.name}({', '.join(sorted(_text(key, value) for key, value in call.arguments.items()))})"


def partial_match(gold: Sequence[Labelled], found: Sequence[Labelled]) -> float:
    """The share of places at which both sequences have the same call."""
    left, right = ground(gold), ground(found)
    pairs: Iterable[tuple[Labelled | None, Labelled | None]]
    pairs = zip(left, right, strict=True) if len(left) == len(right) else _align(left, right)
    same = [
        one is not None and other is not None and _written(one) == _written(other) for one, other in pairs
    ]
    return sum(same) / len(same) if same else 0.0


def _align(
    left: Sequence[Labelled], right: Sequence[Labelled]
) -> list[tuple[Labelled | None, Labelled | None]]:
    """Pair calls of one name; where names differ, the gold's stands alone until it has no more."""
    pairs: list[tuple[Labelled | None, Labelled | None]] = []
    i = j = 0
    while i < len(left) or j < len(right):
        if i < len(left) and j < len(right) and left[i].name == right[j].name:
            pairs.append((left[i], right[j]))
            i, j = i + 1, j + 1
        elif i < len(left):
            pairs.append((left[i], None))
            i += 1
        else:
            pairs.append((None, right[j]))
            j += 1
    return pairs


def slots(gold: Sequence[Labelled], found: Sequence[Labelled]) -> list[tuple[set[str], set[str]]]:
    """The arguments of each function in both, as text; of a function that is called twice the last call's."""
    sides = []
    for calls in (ground(gold), ground(found)):
        sides.append(
            {call.name: {_text(key, value) for key, value in call.arguments.items()} for call in calls}
        )
    return [
        (sides[0].get(name, set()), sides[1].get(name, set()))
        for name in sorted(sides[0].keys() | sides[1].keys())
    ]


def macro_f1(pairs: Iterable[tuple[set[str], set[str]]]) -> float:
    """The mean F1 of the classes that the gold has; a prediction of any other class is passed over."""
    right: dict[str, int] = defaultdict(int)
    wanted: dict[str, int] = defaultdict(int)
    given: dict[str, int] = defaultdict(int)
    for gold, found in pairs:
        for name in gold:
            wanted[name] += 1
            right[name] += name in found
        for name in found:
            given[name] += 1
    if not wanted:
        return 0.0
    return sum(2 * right[name] / (wanted[name] + given[name]) for name in wanted) / len(wanted)
