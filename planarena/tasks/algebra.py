"""The task algebra of DUPO: serial "," and parallel "||" over atoms.

"," is associative; "||" is associative and commutative. The canonical form flattens both and sorts the
children of "||". Canonical forms over n distinct atoms are the labelled series-parallel partial orders:
1, 3, 19, 195, 2791 for n = 1..5.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from planarena.errors import UserError

__all__ = [
    "PARALLEL",
    "SERIAL",
    "Expression",
    "Node",
    "canonical",
    "depth",
    "from_order",
    "generations",
    "leaves",
    "order_of",
    "parallel",
    "parse",
    "predecessors",
    "relabel",
    "render",
    "serial",
]

SERIAL: Literal[","] = ","
PARALLEL: Literal["||"] = "||"


class Node(NamedTuple):
    """A composition of two or more parts."""

    op: Literal[",", "||"]
    parts: tuple[Expression, ...]


Expression = Node | Hashable  # a leaf is any hashable value that is not a Node

Label = Callable[[Any], str]


def serial(*parts: Expression) -> Expression:
    """Compose in sequence; nested sequences are flattened."""
    return _combine(SERIAL, parts)


def parallel(*parts: Expression) -> Expression:
    """Compose without order; nested parallels are flattened, the order of parts is kept until `canonical`."""
    return _combine(PARALLEL, parts)


def _combine(op: Literal[",", "||"], parts: Sequence[Expression]) -> Expression:
    flat: list[Expression] = []
    for part in parts:
        if isinstance(part, Node) and part.op == op:
            flat.extend(part.parts)
        else:
            flat.append(part)
    if not flat:
        raise ValueError("a composition needs a part")
    return flat[0] if len(flat) == 1 else Node(op, tuple(flat))


def render(expression: Expression, label: Label = str) -> str:
    """Write an expression, as `a, (b || c)`; "||" binds tighter to nothing: mixed parts get brackets."""
    if not isinstance(expression, Node):
        return label(expression)
    words = [
        f"({render(part, label)})" if isinstance(part, Node) else label(part) for part in expression.parts
    ]
    return (", " if expression.op == SERIAL else " || ").join(words)


def canonical(expression: Expression, label: Label = str) -> Expression:
    """Flatten and sort the children of every "||" by their rendering with `label`."""
    return _canonical(expression, label)[0]


def _canonical(expression: Expression, label: Label) -> tuple[Expression, str]:
    if not isinstance(expression, Node):
        return expression, label(expression)
    done = [_canonical(part, label) for part in expression.parts]
    if expression.op == PARALLEL:
        done.sort(key=lambda pair: pair[1])
    merged = _combine(expression.op, [part for part, _ in done])
    if expression.op == PARALLEL and isinstance(merged, Node) and len(merged.parts) != len(done):
        merged = Node(PARALLEL, tuple(sorted(merged.parts, key=lambda part: render(part, label))))
    return merged, render(merged, label)


def leaves(expression: Expression) -> list[Any]:
    """Return the leaves from left to right."""
    if not isinstance(expression, Node):
        return [expression]
    return [leaf for part in expression.parts for leaf in leaves(part)]


def depth(expression: Expression) -> int:
    """Return the nesting depth: 1 for an atom."""
    return 1 + max(map(depth, expression.parts)) if isinstance(expression, Node) else 1


def order_of(expression: Expression) -> tuple[list[Any], list[int]]:
    """Return the partial order that an expression says.

    Returns:
        The leaves from left to right, and for each the bit mask of the leaves that must come before it.
    """
    names: list[Any] = []
    before: list[int] = []
    _walk(expression, 0, names, before)
    return names, before


def _walk(part: Expression, earlier: int, names: list[Any], before: list[int]) -> int:
    """Add the leaves of a part and what comes before each; return the part's mask.

    No function within `order_of`: one that calls itself is a cycle, which only the collector frees.
    """
    if not isinstance(part, Node):
        names.append(part)
        before.append(earlier)
        return 1 << (len(names) - 1)
    mine = 0
    for child in part.parts:
        mine |= _walk(child, earlier | mine if part.op == SERIAL else earlier, names, before)
    return mine


def predecessors(expression: Expression, place: Mapping[Any, int]) -> list[int]:
    """Return for each step the bit mask of the steps that must come before it.

    Args:
        expression: Says the partial order.
        place: The step of each leaf.
    """
    names, masks = order_of(expression)
    before = [0] * len(names)
    for name, mask in zip(names, masks, strict=True):
        before[place[name]] = sum(1 << place[names[i]] for i in range(len(names)) if mask >> i & 1)
    return before


def generations(expression: Expression) -> list[list[Any]]:
    """Unroll deterministically (DUPO Eq. 3): the leaves by their longest chain of predecessors.

    Leaves of one generation are pairwise unordered, so they may be called in one turn; generations
    follow each other, so concatenating them gives a sequence that respects the expression.
    """
    names, before = order_of(expression)
    level: list[int] = []
    for mask in before:
        level.append(1 + max((level[i] for i in range(len(level)) if mask >> i & 1), default=-1))
    rows: list[list[Any]] = [[] for _ in range(max(level) + 1)]
    for name, row in zip(names, level, strict=True):
        rows[row].append(name)
    return rows


def _components(members: list[int], joined: Callable[[int, int], bool]) -> list[list[int]]:
    rest, found = list(members), []
    while rest:
        component, queue = [], [rest.pop(0)]
        while queue:
            item = queue.pop()
            component.append(item)
            near = [other for other in rest if joined(item, other)]
            for other in near:
                rest.remove(other)
            queue.extend(near)
        found.append(sorted(component))
    return found


def from_order(before: Sequence[int]) -> tuple[Expression, bool]:
    """Return the expression of a partial order over 0..n-1.

    Args:
        before: For each element the bit mask of all its predecessors (transitively closed).

    Returns:
        The expression over the element numbers, and whether it says more order than asked: an N-shaped
        order has no expression and is over-serialised generation by generation.
    """
    return _from_order(tuple(before))


@lru_cache(maxsize=4096)
def _from_order(before: tuple[int, ...]) -> tuple[Expression, bool]:
    def ordered(i: int, j: int) -> bool:
        return bool(before[j] >> i & 1 or before[i] >> j & 1)

    def build(members: list[int]) -> tuple[Expression, bool]:
        if len(members) == 1:
            return members[0], False
        split = _components(members, ordered)
        if len(split) > 1:
            built = [build(part) for part in split]
            return parallel(*(part for part, _ in built)), any(extra for _, extra in built)
        split = _components(members, lambda i, j: not ordered(i, j))
        extra = False
        if len(split) == 1:
            extra, split = True, _by_generation(members, before)
        else:
            # Parts are totally ordered; one with more elements before it comes later.
            split.sort(key=lambda part: (before[part[0]] & _mask(members)).bit_count())
        built = [build(part) for part in split]
        return serial(*(part for part, _ in built)), extra or any(more for _, more in built)

    return build(list(range(len(before))))


def _mask(members: Sequence[int]) -> int:
    return sum(1 << item for item in members)


def _by_generation(members: list[int], before: Sequence[int]) -> list[list[int]]:
    level: dict[int, int] = {}
    for item in sorted(members, key=lambda i: before[i].bit_count()):
        level[item] = 1 + max((level[other] for other in level if before[item] >> other & 1), default=-1)
    rows: list[list[int]] = [[] for _ in range(max(level.values()) + 1)]
    for item in members:
        rows[level[item]].append(item)
    return rows


def relabel(expression: Expression, names: Mapping[Any, Any] | Sequence[Any]) -> Expression:
    """Replace every leaf by `names[leaf]`."""
    if isinstance(expression, Node):
        return Node(expression.op, tuple(relabel(part, names) for part in expression.parts))
    found: Expression = names[expression]  # type: ignore[call-overload]
    return found


def parse(text: str) -> Expression:
    """Read an expression of names, brackets, "," and "||"; mixed operators need brackets.

    Raises:
        UserError: With the place of the fault.
    """
    tokens = list(_tokens(text))
    expression, rest = _parse(tokens, 0, text)
    if rest != len(tokens):
        raise _fault(text, tokens[rest][1])
    return expression


def _tokens(text: str) -> Iterator[tuple[str, int]]:
    place = 0
    while place < len(text):
        sign = text[place]
        if sign.isspace():
            place += 1
        elif sign in "(),":
            yield sign, place
            place += 1
        elif text.startswith("||", place):
            yield "||", place
            place += 2
        elif sign.isalnum() or sign in "_-.":
            start = place
            while place < len(text) and (text[place].isalnum() or text[place] in "_-."):
                place += 1
            yield text[start:place], start
        else:
            raise _fault(text, place)


def _fault(text: str, place: int) -> UserError:
    return UserError(
        f"cannot be read at character {place}", where=repr(text[:80]), fix='write it as "a, (b || c)"'
    )


def _parse(tokens: list[tuple[str, int]], place: int, text: str) -> tuple[Expression, int]:
    parts: list[Expression] = []
    op: Literal[",", "||"] | None = None
    while True:
        if place >= len(tokens):
            raise _fault(text, len(text))
        word, at = tokens[place]
        if word == "(":
            part, place = _parse(tokens, place + 1, text)
            if place >= len(tokens) or tokens[place][0] != ")":
                raise _fault(text, len(text) if place >= len(tokens) else tokens[place][1])
            place += 1
        elif word in {")", ",", "||"}:
            raise _fault(text, at)
        else:
            part, place = word, place + 1
        parts.append(part)
        if place >= len(tokens) or tokens[place][0] == ")":
            return (parts[0] if op is None else _combine(op, parts)), place
        sign, at = tokens[place]
        if sign not in {",", "||"} or (op is not None and sign != op):
            raise _fault(text, at)
        op = SERIAL if sign == "," else PARALLEL
        place += 1
