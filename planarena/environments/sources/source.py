"""Tool sources other than our own domains: what a build can draw scenarios from.

A source holds units; a unit is a group of tools that can be executed together (a family of REST operations, the
servers of a configuration, a Python module). `draw` is a pure function of the seed and a number, as for builtin
domains, and gives all that the pipeline needs of a scenario.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from hashlib import blake2b
from random import Random
from typing import Any, NamedTuple, Protocol

import msgspec

from planarena.config import CallsConfig
from planarena.environments.state import Footprint
from planarena.environments.wording import Offer, ToolWording
from planarena.environments.world import Operation, Outcome
from planarena.errors import SourceError
from planarena.tools.tool import Tool

__all__ = [
    "Drawn",
    "LiveWorld",
    "Opened",
    "Source",
    "SourceOptions",
    "Unit",
    "draw_tools",
    "startable",
]


class SourceOptions(msgspec.Struct, frozen=True):
    """What a user allows.

    Attributes:
        unsafe_no_sandbox: Run third-party code without a sandbox.
        allow_effects: Execute gold trajectories once with live tools that cannot go back.
        trusted: Run environment folders (`env:`) in this process, without a sandbox.
        model: A model that makes up the results of tools that nothing can execute; "" for none.
        calls: How that model is asked, with its budgets: what one process may spend.
    """

    unsafe_no_sandbox: bool = False
    allow_effects: bool = False
    model: str = ""
    trusted: bool = False
    calls: CallsConfig | None = None


class LiveWorld(Protocol):
    """What the pipeline asks of a scenario's world; `World` is one."""

    operations: dict[str, Operation]
    facts: dict[str, Any]
    live_tools: frozenset[str]

    @property
    def store(self) -> Any:
        """What can be dumped and hashed anew."""

    def propose(self, name: str, rng: Random) -> list[dict[str, Any]]:
        """Return arguments for atoms of a tool."""

    def call(self, name: str, arguments: Mapping[str, Any]) -> Outcome:
        """Execute one call."""

    def footprint(self) -> Footprint:
        """Return what the last call read and wrote."""

    def mark(self) -> int:
        """Return a point to roll back to."""

    def rollback(self, mark: int) -> None:
        """Undo every call since `mark`."""

    def digest(self) -> str:
        """Return the hash of the state."""


class Opened(NamedTuple):
    """A new world of a unit and what it is about."""

    world: LiveWorld
    title: str
    description: str


class Unit(Protocol):
    """A group of tools that are executed together.

    Attributes:
        name: Unique within its source, stable between runs.
        execution_kind: `real`, `emulated` or `simulated`.
        safety: `read_only`, `snapshot`, `reset`, or `live` where it is none of them.
    """

    name: str
    execution_kind: str
    safety: str

    @property
    def operations(self) -> dict[str, Operation]:
        """The usable operations by wire name."""

    @property
    def wording(self) -> dict[str, ToolWording]:
        """Their words."""

    @property
    def offers(self) -> dict[str, tuple[Offer, ...]]:
        """What their results offer for binding."""

    def open(self, salt: str) -> Opened:
        """Return a new world, a pure function of the salt."""

    def restore(self, tables: Mapping[str, Any], facts: Mapping[str, Any]) -> LiveWorld:
        """Return the world of a stored scenario, from what its world's store dumped."""


class Drawn(NamedTuple):
    """A scenario: what `planarena.pipeline.scenarios.Scenario` is made of.

    Attributes:
        unit: Where it comes from.
        salt: What the world was made from.
        tools: Wire names of the tools on offer.
        world: In its initial state; `world.operations` holds every operation of the unit.
        title: A few words.
        description: A sentence.
        facts: What the user knows.
        offers: By tool.
        wording: By tool; `outputs` are what goals require.
    """

    unit: Unit
    salt: str
    tools: tuple[str, ...]
    world: LiveWorld
    title: str
    description: str
    facts: dict[str, Any]
    offers: dict[str, tuple[Offer, ...]]
    wording: dict[str, ToolWording]


class Source:
    """A source of tools.

    Args:
        text: As on the command line.
        units: Its units.
        listed: All its tools, where more are listed than can be executed.
    """

    def __init__(self, text: str, units: Sequence[Unit], listed: Sequence[Tool] = ()) -> None:
        self.text = text
        self.units = tuple(units)
        self._listed = tuple(listed)
        self._by_name = {unit.name: unit for unit in self.units}

    @cached_property
    def tools(self) -> tuple[Tool, ...]:
        """Every tool once."""
        found: dict[str, Tool] = {tool.wire_name: tool for tool in self._listed}
        if not found:
            for unit in self.units:
                for name, operation in unit.operations.items():
                    found.setdefault(name, operation.tool)
        return tuple(found.values())

    def unit(self, name: str) -> Unit:
        """Return a unit by name.

        Raises:
            SourceError: There is none of that name: the source has changed.
        """
        found = self._by_name.get(name)
        if found is None:
            raise SourceError(
                f"has no unit {name!r}", where=self.text, fix="give the source that the run was built from"
            )
        return found

    @cached_property
    def drawable(self) -> tuple[Unit, ...]:
        """The units of which a scenario can be made: those with three usable operations, else with any."""
        for least in (3, 1):
            found = tuple(unit for unit in self.units if len(unit.operations) >= least)
            if found:
                return found
        return ()

    def draw(self, seed: int, number: int, tools: tuple[int, int] = (6, 10)) -> Drawn:
        """Draw scenario `number`: the same arguments always give the same scenario.

        Args:
            seed: Of the build.
            number: Of the scenario within this source.
            tools: Fewest and most tools.

        Raises:
            SourceError: Nothing of the source can be executed.
        """
        if not self.drawable:
            raise SourceError(
                "nothing of it can be executed", where=self.text, fix="`planarena tools check` says why"
            )
        return self.draw_from(self.drawable[number % len(self.drawable)], seed, number, tools)

    @staticmethod
    def draw_from(
        unit: Unit, seed: int, number: int, tools: tuple[int, int], only: Collection[str] | None = None
    ) -> Drawn:
        """Draw scenario `number` from one unit, of the tools in `only` where that is given."""
        salt = blake2b(repr((seed, unit.name, number)).encode(), digest_size=8).hexdigest()
        opened = unit.open(salt)
        available = {name: one for name, one in unit.operations.items() if only is None or name in only}
        rng, names = Random(int(salt, 16)), list(available)
        rng.shuffle(names)
        size = rng.randint(min(tools[0], len(names)), min(tools[1], len(names)))
        drawn = draw_tools(names, available, unit.offers, size, rng)
        return Drawn(
            unit,
            salt,
            drawn,
            opened.world,
            opened.title,
            opened.description,
            opened.world.facts,
            {name: unit.offers[name] for name in unit.operations},
            {name: unit.wording[name] for name in unit.operations},
        )


def startable(available: Mapping[str, Operation], offered: Mapping[str, Sequence[Offer]]) -> dict[str, int]:
    """Return the tools that can be called on what others give, and after how many rounds of others at least.

    Args:
        available: The tools, by wire name.
        offered: By tool, what its results offer for binding.
    """
    needs = {name: _hidden_needs(operation.tool) for name, operation in available.items()}
    ranks: dict[str, int] = {}
    known: set[str] = set()
    rank = 0
    while fresh := [name for name in needs if name not in ranks and known.issuperset(needs[name])]:
        ranks.update(dict.fromkeys(fresh, rank))
        known.update(entry.semantic for name in fresh for entry in offered.get(name, ()))
        rank += 1
    return ranks


def draw_tools(
    names: Iterable[str],
    available: Mapping[str, Operation],
    offered: Mapping[str, Sequence[Offer]],
    size: int,
    rng: Random,
) -> tuple[str, ...]:
    """Take tools until there are enough, each with a producer of what it needs, and give them as `available` has them.

    A producer is drawn only where it can start without the tool that needs it: of two tools that need each
    other's results neither could ever be called. Where nothing gives what a tool needs, it is drawn as it is.

    Args:
        names: Which tools to take, in this order.
        available: All that may be drawn, by wire name.
        offered: By tool, what its results offer for binding.
        size: How many; producers come on top.
        rng: Chooses among producers.
    """
    gives = {name: {entry.semantic for entry in offered.get(name, ())} for name in available}
    ranks = startable(available, offered)
    drawn: set[str] = set()
    for name in names:
        if len(drawn) >= size:
            break
        queue = [name]
        while queue:
            tool = queue.pop()
            if tool in drawn:
                continue
            drawn.add(tool)
            rank = ranks.get(tool, len(ranks))
            for semantic in _hidden_needs(available[tool].tool):
                makers = [one for one in ranks if ranks[one] < rank and semantic in gives[one]]
                if makers and not any(maker in drawn for maker in makers):
                    queue.append(makers[rng.randrange(len(makers))])
    return tuple(name for name in available if name in drawn)


def _hidden_needs(tool: Tool) -> tuple[str, ...]:
    schemas = (tool.parameters[name] for name in tool.required if isinstance(tool.parameters.get(name), dict))
    return tuple(dict.fromkeys(schema.get("x-semantic", "") for schema in schemas if schema.get("x-hidden")))
