"""What members of a composition do to each other: lost writes, odd sources, parts that depend on each other, offers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from planarena.environments.state import Footprint
from planarena.environments.wording import Offer, Path, ToolWording, names_in, parse_pointer
from planarena.proofs import Order, is_tied
from planarena.tasks.atoms import Atom, Binding, Call, resolve
from planarena.tasks.composition import Candidate, Member, Source

__all__ = [
    "crosses",
    "joined",
    "odd_source",
    "offers_of",
    "orders_in",
    "overwritten",
    "program_of",
    "said_in_full",
    "touched",
]


def program_of(
    order: Sequence[int],
    bindings: Mapping[tuple[int, str], Source],
    atoms: Sequence[Atom],
    paths: Mapping[tuple[str, str], Path],
) -> list[Call]:
    """Return the calls of atoms in an order.

    Args:
        order: The atoms' numbers.
        bindings: (atom, argument) -> source.
        atoms: The scenario's.
        paths: (tool, pointer) -> path, of what results offer.
    """
    place = {atom: step for step, atom in enumerate(order)}
    calls = []
    for number in order:
        atom = atoms[number]
        bound = []
        for argument, _ in atom.needs:
            source = bindings[number, argument]
            path = paths[atoms[source.atom].tool, source.pointer]
            bound.append(Binding(argument, place[source.atom], path))
        calls.append(Call(atom.tool, atom.arguments, tuple(bound)))
    return calls


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


def odd_source(
    candidate: Candidate, tool_of: Callable[[int], str], wording: Mapping[str, ToolWording]
) -> str | None:
    """Return which value a candidate takes from a tool from which the words let nobody take one; None for none."""
    for (consumer, argument), source in candidate.bindings.items():
        if tool_of(source.atom) in wording[tool_of(consumer)].never_from:
            return f"{argument} of {tool_of(consumer)} from {tool_of(source.atom)}"
    return None


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


def touched(footprints: Sequence[Footprint]) -> Footprint:
    """Return what calls read and wrote together."""
    return Footprint(
        frozenset().union(*(footprint.reads for footprint in footprints)),
        frozenset().union(*(footprint.writes for footprint in footprints)),
    )


def said_in_full(
    order: Sequence[int], member: Member, atoms: Sequence[Atom], wording: Mapping[str, ToolWording]
) -> list[bool]:
    """Say for each step whether what refers to its result says all its arguments, so that nobody need ask for it."""
    told = dict.fromkeys(order, True)
    for source in member.bindings.values():
        atom = atoms[source.atom]
        named = {*atom.arguments, *(argument for argument, _ in atom.needs)}
        full = wording[atom.tool].refer[source.pointer].full
        told[source.atom] &= any(named <= names_in(phrase) for phrase in full)
    return [told[number] for number in order]


def offers_of(
    number: int, result: Any, offers: Sequence[Offer], orders: Mapping[Path, Order]
) -> dict[str, tuple[Source, ...]]:
    """Return what the result of an atom offers for binding, by semantic type."""
    found: dict[str, tuple[Source, ...]] = {}
    for offer in offers:
        value = resolve(result, offer.path)
        # "The cheapest" of two that cost the same means neither.
        if isinstance(value, str | int | float) and not is_tied(result, offer.path, orders):
            found[offer.semantic] = (*found.get(offer.semantic, ()), Source(number, offer.pointer))
    return found


def orders_in(words: ToolWording) -> dict[Path, Order]:
    """Return what decides which record comes first in a tool's result, by the record's or the list's path."""
    return {
        parse_pointer(pointer): Order(parse_pointer(one.among or pointer), one.order)
        for pointer, one in words.records.items()
        if one.order
    }
