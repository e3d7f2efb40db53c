"""Level-by-level composition of atoms into tasks (DUPO Eq. 2).

Level m combines a task of level m-1 with an atom or a task of a lower level. What a combination is worth
(does it run, what depends on what) is not decided here but by the `realise` function that the caller
passes: in builds it executes. Both limits of the paper are kept apart: `max_depth` levels, `max_actions`
actions; and both stop rules: nothing new emerges (`exhausted`), or the budget is spent (`budget`).

Deviations from the paper: (1) Eq. 2's product over b factors is built pairwise, which reaches the same
tasks because both operators are associative; (2) tasks longer than `max_actions` are pruned while composing;
(3) of two tasks that are about nothing in common no combination is tried, where it is known what they are about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice, product
from random import Random
from typing import Any, Literal, NamedTuple

from planarena.environments.state import Footprint
from planarena.tasks.algebra import Expression, parallel, serial
from planarena.tasks.atoms import Atom

__all__ = ["Candidate", "Composition", "Limits", "Member", "Source", "compose", "enumerate_forms"]

StopReason = Literal["exhausted", "budget", "max_depth"]


class Source(NamedTuple):
    """Where a bound argument comes from: an atom (by its number) and a pointer into its result."""

    atom: int
    pointer: str


class Member(NamedTuple):
    """A task of the task space.

    Attributes:
        expression: Over atom numbers.
        bindings: (atom, argument) -> source.
        mask: Bit mask of the atoms.
        level: 1 for an atom.
        offers: Semantic type -> sources, latest last.
        footprint: What its calls read and wrote, or None where unknown.
        payload: What `realise` wants to remember.
        subjects: What it is about; parts that stand beside each other share one. None where nobody knows.
    """

    expression: Expression
    bindings: dict[tuple[int, str], Source]
    mask: int
    level: int
    offers: dict[str, tuple[Source, ...]]
    footprint: Footprint | None
    payload: Any = None
    subjects: frozenset[str] | None = None

    @property
    def n_actions(self) -> int:
        """The number of atoms."""
        return self.mask.bit_count()


class Candidate(NamedTuple):
    """A proposed combination: `left` before `right` where `op` is ","; to be realised."""

    op: Literal[",", "||"]
    left: Member
    right: Member | int  # an int is the number of an atom with needs
    bindings: dict[tuple[int, str], Source]


class Limits(NamedTuple):
    """Limits of a composition; a budget of None tries everything."""

    max_actions: int
    max_depth: int
    budget: int | None


class Composition(NamedTuple):
    """The task space: members by level, why it ended, how many candidates were tried."""

    levels: list[list[Member]]
    stop_reason: StopReason
    tried: int


def compose(
    atoms: Sequence[Atom],
    ground: Sequence[Member],
    realise: Callable[[Candidate], Member | None],
    limits: Limits,
    rng: Random,
) -> Composition:
    """Compose level by level.

    Args:
        atoms: All atoms; those with needs enter tasks only as consumers.
        ground: Level 1: the atoms without needs, as members.
        realise: Turns a candidate into a member, or None when it is no task; called once per candidate.
        limits: See `Limits`. The budget is shared out over the levels still to come.
        rng: Decides the order in which candidates are tried.

    Returns:
        The task space.
    """
    levels = [list(ground)]
    seen = {_key(member) for member in ground}
    tried, cut = 0, False
    while True:
        level = len(levels) + 1
        if level > limits.max_depth:
            return Composition(levels, "budget" if cut else "max_depth", tried)
        allowed: int | None = None
        if limits.budget is not None:
            remaining = max(1, min(limits.max_depth, limits.max_actions) - level + 1)
            allowed = -((tried - limits.budget) // remaining)
        fresh: list[Member] = []
        stream = _round_robin(
            _candidates(levels, member, atoms, limits, rng) for member in _shuffled(levels[-1], rng)
        )
        for candidate in islice(stream, allowed):
            tried += 1
            member = realise(candidate)
            if member is not None and (key := _key(member)) not in seen:
                seen.add(key)
                fresh.append(member)
        if allowed is not None and next(stream, None) is not None:
            cut = True
        if not fresh:
            return Composition(levels, "budget" if cut else "exhausted", tried)
        levels.append(fresh)


def _key(member: Member) -> tuple[Expression, frozenset[tuple[tuple[int, str], Source]]]:
    return member.expression, frozenset(member.bindings.items())


def _shuffled(items: Sequence[Any], rng: Random) -> list[Any]:
    mixed = list(items)
    rng.shuffle(mixed)
    return mixed


def _round_robin(streams: Iterator[Iterator[Candidate]]) -> Iterator[Candidate]:
    queue = list(streams)
    while queue:
        rest = []
        for stream in queue:
            candidate = next(stream, None)
            if candidate is not None:
                rest.append(stream)
                yield candidate
        queue = rest


def _candidates(
    levels: list[list[Member]], left: Member, atoms: Sequence[Atom], limits: Limits, rng: Random
) -> Iterator[Candidate]:
    """Yield what `left` can be combined with: four consumers of its results, then one task beside it, and so on."""
    if left.n_actions >= limits.max_actions:
        return
    consumers = _consumers(left, atoms, rng)
    joins = _joins(levels, left, limits, rng)
    while True:
        batch = list(islice(consumers, 4)) + list(islice(joins, 1))
        if not batch:
            return
        yield from batch


def _consumers(left: Member, atoms: Sequence[Atom], rng: Random) -> Iterator[Candidate]:
    for number in _shuffled(range(len(atoms)), rng):
        atom = atoms[number]
        if not atom.needs or left.mask >> number & 1:
            continue
        choices = [left.offers.get(semantic, ()) for _, semantic in atom.needs]
        if not all(choices):
            continue
        for sources in islice(product(*(_shuffled(choice, rng) for choice in choices)), 6):
            if len(set(sources)) < len(sources):
                continue  # one value for two arguments, as a transfer to the account it comes from
            bindings = {
                (number, argument): source for (argument, _), source in zip(atom.needs, sources, strict=True)
            }
            yield Candidate(",", left, number, bindings)


def _joins(levels: list[list[Member]], left: Member, limits: Limits, rng: Random) -> Iterator[Candidate]:
    partners = [
        (member, depth)
        for depth, level in enumerate(levels)
        for member in level
        if not member.mask & left.mask
        and member.n_actions + left.n_actions <= limits.max_actions
        and _belong(left.subjects, member.subjects)
    ]
    last = len(levels) - 1
    for right, depth in _shuffled(partners, rng):
        conflict = _conflict(left.footprint, right.footprint)
        if conflict is not False:
            yield Candidate(",", left, right, {})
            if depth < last:  # two tasks of the last level meet twice: each time one of the two orders
                yield Candidate(",", right, left, {})
        if conflict is not True:
            yield Candidate("||", left, right, {})


def _belong(left: frozenset[str] | None, right: frozenset[str] | None) -> bool:
    return left is None or right is None or not left.isdisjoint(right)


def _conflict(left: Footprint | None, right: Footprint | None) -> bool | None:
    return None if left is None or right is None else left.conflicts(right)


def enumerate_forms(n_atoms: int, max_actions: int, max_depth: int) -> Composition:
    """Compose `n_atoms` atoms without needs by both operators, with nothing refused: all expressions.

    It is `compose` with a `realise` that accepts everything; the counts of the forms over all atoms are
    the golden numbers of `planarena.tasks.algebra`.
    """
    from planarena.tasks.algebra import canonical

    atoms = [Atom(str(number), str(number), {}) for number in range(n_atoms)]
    ground = [Member(number, {}, 1 << number, 1, {}, None) for number in range(n_atoms)]

    def realise(candidate: Candidate) -> Member:
        left, right = candidate.left, candidate.right
        assert isinstance(right, Member)
        join = serial if candidate.op == "," else parallel
        expression = canonical(join(left.expression, right.expression))
        return Member(expression, {}, left.mask | right.mask, max(left.level, right.level) + 1, {}, None)

    return compose(atoms, ground, realise, Limits(max_actions, max_depth, None), Random(0))
