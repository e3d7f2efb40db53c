"""Tool sources other than our own domains: what a build can draw scenarios from.

A source holds units; a unit is a group of tools that can be executed together (a family of REST operations, the
servers of a configuration, a Python module). `draw` is a pure function of the seed and a number, as for builtin
domains, and gives all that the pipeline needs of a scenario.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property, lru_cache
from hashlib import blake2b
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, Protocol

import msgspec

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
    "allow",
    "close_descriptions",
    "draw_tools",
    "keep_conversions",
    "may_simulate",
    "open_source",
    "split_source",
]

KINDS = ("builtin", "json", "openapi", "mcp", "python", "http")


class SourceOptions(msgspec.Struct, frozen=True):
    """What a user allows.

    Attributes:
        unsafe_no_sandbox: Run third-party code without a sandbox.
        allow_effects: Execute gold trajectories once with live tools that cannot go back.
        model: A model that makes up the results of tools that nothing can execute; "" for none.
    """

    unsafe_no_sandbox: bool = False
    allow_effects: bool = False
    model: str = ""


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
        drawn = draw_tools(available, unit.offers, tools[0], tools[1], Random(int(salt, 16)))
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


def draw_tools(
    available: Mapping[str, Operation],
    offered: Mapping[str, Sequence[Offer]],
    fewest: int,
    most: int,
    rng: Random,
) -> tuple[str, ...]:
    """Draw tools so that every need of a drawn tool has a producer among them, in the order of `available`."""
    producers: dict[str, list[str]] = {}
    for name, entries in offered.items():
        for semantic in {entry.semantic for entry in entries}:
            if name in available:
                producers.setdefault(semantic, []).append(name)
    names = list(available)
    rng.shuffle(names)
    size = rng.randint(min(fewest, len(names)), min(most, len(names)))
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
            for argument in available[tool].tool.required:
                schema: Any = available[tool].tool.parameters.get(argument)
                if not isinstance(schema, dict) or not schema.get("x-hidden"):
                    continue
                makers = [maker for maker in producers.get(schema.get("x-semantic", ""), ()) if maker != tool]
                if makers and not any(maker in drawn for maker in makers):
                    queue.append(makers[rng.randrange(len(makers))])
    return tuple(name for name in available if name in drawn)


def split_source(text: str) -> tuple[str, str]:
    """Split a source as the command line writes it into its kind and the rest.

    Raises:
        SourceError: The kind is unknown.
    """
    if text == "builtin" or text.startswith("builtin:"):
        return "builtin", text.partition(":")[2]
    kind, colon, rest = text.partition(":")
    if colon and kind in KINDS:
        return kind, rest
    if text.endswith(".json") or Path(text).is_file():
        return "json", text
    raise SourceError(
        f"there is no source of the kind {kind!r}" if colon else f"there is no source {text!r}",
        where="SOURCE",
        fix="write builtin[:DOMAIN], tools.json, openapi:FILE_OR_FOLDER, mcp:servers.json or python:module",
    )


_ALLOWED = [SourceOptions()]


def allow(options: SourceOptions) -> None:
    """Set what this process allows where `open_source` is not told."""
    _ALLOWED[0] = options


def may_simulate() -> bool:
    """Say whether a model may make up results."""
    return bool(_ALLOWED[0].model)


def open_source(text: str, options: SourceOptions | None = None) -> Source:
    """Open a source; an open one is shared by all that ask for it in this process.

    Single API descriptions are kept while few operations are open: a build over thousands of them must not
    hold them all.

    Args:
        text: `openapi:FILE_OR_FOLDER`, `mcp:servers.json`, `python:module` or a JSON list of tools.
        options: What the user allows; None for what `allow` set.

    Raises:
        SourceError: It cannot be read, or holds no tools.
        EnvironmentUnavailableError: It needs a sandbox or a package that is not here.
    """
    kind, rest = split_source(text)
    if kind == "openapi" and Path(rest).is_file():
        return _open_description(text, rest)
    return _open_lasting(text, options or _ALLOWED[0])


_DESCRIPTIONS: dict[str, Source] = {}
# Some 50 KB each with schemas, validators and samples; those that reach half of a large model take more.
_MOST_OPEN_OPERATIONS = 1000


# Where converted descriptions are kept; None for nowhere.
_KEPT: list[Path | None] = [None]


def keep_conversions(folder: Path | None) -> None:
    """Have this process keep the descriptions that it converts in a folder, and take them from there.

    Args:
        folder: Of one version of this package; None for nowhere.
    """
    _KEPT[0] = folder


def _open_description(text: str, file: str) -> Source:
    from planarena.environments.sources.openapi.source import families
    from planarena.tools.conversion_store import convert_once
    from planarena.tools.openapi import convert_openapi

    found = _DESCRIPTIONS.pop(text, None)
    if found is None:
        folder = _KEPT[0]
        found = Source(
            text,
            families(convert_openapi(Path(file)) if folder is None else convert_once(Path(file), folder)),
        )
        room = _MOST_OPEN_OPERATIONS - _size_of(found)
        while _DESCRIPTIONS and sum(map(_size_of, _DESCRIPTIONS.values())) > room:
            del _DESCRIPTIONS[next(iter(_DESCRIPTIONS))]
    _DESCRIPTIONS[text] = found  # the one used last stands last
    return found


def close_descriptions() -> None:
    """Close the single API descriptions that are open; whoever needs one again opens it again."""
    _DESCRIPTIONS.clear()


def _size_of(source: Source) -> int:
    return len(source.units[0].conversion.operations) if source.units else 0  # type: ignore[attr-defined]


@lru_cache(maxsize=32)
def _open_lasting(text: str, options: SourceOptions) -> Source:
    kind, rest = split_source(text)
    if kind == "openapi":
        from planarena.environments.sources.openapi.source import families, openapi_tools

        units: list[Unit] = []
        for _, conversion in openapi_tools(Path(rest)):
            units.extend(families(conversion))
        return Source(text, units)
    if kind == "python":
        from planarena.environments.sources.python.source import open_python

        return Source(text, [open_python(rest, options)])
    if kind == "mcp":
        from planarena.environments.sources.mcp.source import open_servers

        return Source(text, [open_servers(Path(rest), options)])
    if kind == "http":
        from planarena.environments.sources.http.source import open_http

        return Source(text, [open_http(Path(rest), options)])
    if kind == "json":
        from planarena.tools import read_tool_list

        tools = read_tool_list(rest)
        if not options.model:
            return Source(text, [], tools)
        from planarena.environments.sources.json.simulated import ask_gateway, open_simulated

        return Source(text, [open_simulated(Path(rest).stem, tools, ask_gateway(options.model))])
    raise SourceError(
        "builtin domains are opened by name", where=text, fix="use planarena.environments.domains"
    )
