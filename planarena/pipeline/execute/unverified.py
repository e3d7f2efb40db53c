"""Composing calls that cannot be tried, because they are irreversible: by what their schemas promise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from planarena.environments import World
from planarena.environments.state import Footprint
from planarena.environments.wording import Offer
from planarena.proofs import Dependences
from planarena.tasks.algebra import canonical, from_order, relabel
from planarena.tasks.composition import Candidate, Member, Source

__all__ = ["UnverifiedTools", "irreversible_tools"]


def irreversible_tools(world: World) -> frozenset[str]:
    """Return the tools of a world whose calls cannot be undone."""
    return frozenset(name for name in world.live_tools if world.operations[name].tool.effects != "read")


class UnverifiedTools:
    """The tools of a scenario that are not verified by trying them, and the tasks that hold them.

    Args:
        world: The scenario's.
        offers: By tool, what results offer for binding.
    """

    def __init__(self, world: World, offers: Mapping[str, Sequence[Offer]]) -> None:
        self._world, self._offers = world, offers
        self._tools = irreversible_tools(world)

    def holds(self, tools: Iterable[str]) -> bool:
        """Say whether one of the tools is not verified."""
        return not self._tools.isdisjoint(tools)

    def ground(self, number: int, tool: str) -> Member:
        """Return an atom as a task of level 1."""
        payload = [number], (Dependences([0], []), False)
        return Member(
            number, {}, 1 << number, 1, self._promised(number, tool), self._touched_by(tool), payload
        )

    def join(
        self,
        candidate: Candidate,
        order: list[int],
        bindings: dict[tuple[int, str], Source],
        level: int,
        tool_of: Callable[[int], str],
        label: Callable[[Any], str],
    ) -> Member | None:
        """Return what a candidate makes: in sequence, as nothing shows that an order does not matter; or None.

        Args:
            candidate: The candidate.
            order: Its atoms.
            bindings: Theirs.
            level: Of the task.
            tool_of: Of an atom.
            label: Of an atom, for the canonical form.
        """
        left, right = candidate.left, candidate.right
        if candidate.op == "||":
            return None
        before = [(1 << step) - 1 for step in range(len(order))]
        expression = canonical(relabel(from_order(before)[0], order), label)
        if isinstance(right, int):
            added, touched = self._promised(right, tool_of(right)), self._touched_by(tool_of(right))
        else:
            added, touched = right.offers, right.footprint or Footprint(frozenset(), frozenset())
        offered = dict(left.offers)
        for semantic, sources in added.items():
            offered[semantic] = (*offered.get(semantic, ()), *sources)
        first = left.footprint or touched
        union = Footprint(first.reads | touched.reads, first.writes | touched.writes)
        mask = sum(1 << number for number in order)
        return Member(
            expression, bindings, mask, level, offered, union, (order, (Dependences(before, []), False))
        )

    def _promised(self, number: int, tool: str) -> dict[str, tuple[Source, ...]]:
        found: dict[str, tuple[Source, ...]] = {}
        for offer in self._offers[tool]:
            found[offer.semantic] = (*found.get(offer.semantic, ()), Source(number, offer.pointer))
        return found

    def _touched_by(self, tool: str) -> Footprint:
        table = self._world.operations[tool].tool.namespace
        return Footprint(frozenset({(table, None)}), frozenset({(table, "*")}))
