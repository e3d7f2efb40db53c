"""OpenAPI descriptions as scenarios: families of operations around one resource, executed by the emulator."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from planarena.environments.contract import ToolError
from planarena.environments.sources.generic_wording import (
    reportable,
)
from planarena.environments.sources.instances import Generator, NoInstanceError, everyday_facts
from planarena.environments.sources.openapi.arguments import ArgumentMaker
from planarena.environments.sources.openapi.emulator import (
    EmulatedApi,
    EmulatedWorld,
    id_of,
    state_observable,
)
from planarena.environments.sources.openapi.resources import Api, Route, analyse, normal
from planarena.environments.sources.openapi.schemas import Results, compile_arguments
from planarena.environments.sources.openapi.seeding import seed_tables
from planarena.environments.sources.openapi.wording import word_tool
from planarena.environments.sources.source import Opened
from planarena.environments.state import Record
from planarena.environments.wording import Offer, ToolWording, parse_pointer
from planarena.environments.world import Operation
from planarena.records.canonical import CanonicalError, canonical_bytes
from planarena.tools.openapi import Conversion, convert_openapi, openapi_files
from planarena.tools.tool import Tool

__all__ = ["Family", "families", "openapi_tools"]

_MOST_TOOLS = 40
_WORLD = "api world"


def openapi_tools(source: Path) -> Iterator[tuple[Path, Conversion]]:
    """Convert every description of a file or folder.

    Raises:
        SourceError: There is none, or one cannot be read.
    """
    for file in openapi_files(source):
        yield file, convert_openapi(file)


def families(conversion: Conversion) -> list[Family]:
    """Group the operations of an API around its resources; what belongs to none stands together by its path."""
    api = analyse(conversion)
    place = {name: number for number, name in enumerate(api.routes)}
    within: dict[str, list[str]] = {}
    below: dict[str, list[str]] = {}
    for name, route in api.routes.items():
        within.setdefault(route.shape, []).append(name)
        for step in {step for _, step in route.steps if step != route.shape}:
            below.setdefault(step, []).append(name)
    groups: dict[str, list[str]] = {}
    for shape, resource in api.resources.items():
        own = within.get(shape)
        if not own:
            continue
        owners = {step for name in own for _, step in api.routes[name].steps if step and step != shape}
        inner = below.get(shape, [])
        outer = sorted(
            (
                name
                for owner in owners
                for name in within.get(owner, ())
                if api.routes[name].role in {"create", "list", "read"}
            ),
            key=place.__getitem__,
        )
        names = list(dict.fromkeys([*own, *outer, *inner]))[:_MOST_TOOLS]
        if resource.producers or len(names) > 2:
            groups[shape] = names
    taken = {name for names in groups.values() for name in names}
    for name, route in api.routes.items():
        if name not in taken:
            head = "/".join(route.shape.split("/")[:2]) + " (other)"
            if len(groups.setdefault(head, [])) < _MOST_TOOLS:
                groups[head].append(name)
    results = Results(api)
    return [Family(conversion, api, shape, tuple(names), results) for shape, names in sorted(groups.items())]


class Family:
    """Operations that belong together: a unit from which scenarios are drawn.

    Args:
        conversion: The API's description.
        api: Its analysis.
        shape: The resource.
        names: Wire names of the operations.
        results: The schemas of the API's results.

    Attributes:
        name: Of the unit.
        observable: See `state_observable`.
    """

    execution_kind = "emulated"
    safety = "snapshot"

    def __init__(
        self, conversion: Conversion, api: Api, shape: str, names: tuple[str, ...], results: Results
    ) -> None:
        self.conversion, self.api, self.shape = conversion, api, shape
        self._names, self._results = names, results
        self.name = f"{conversion.namespace} {shape}"
        self.observable = state_observable(api, shape)

    @cached_property
    def tools(self) -> dict[str, Tool]:
        """The tools by wire name, with the semantic types of ids."""
        return {name: self._annotated(name) for name in self._names}

    def _annotated(self, name: str) -> Tool:
        route = self.api.routes[name]
        tool = route.operation.tool
        properties = dict(tool.parameters)
        repairs: list[str] = []
        for argument, shape in route.steps:
            if shape and isinstance(properties.get(argument), dict):
                words = {"x-semantic": id_of(self.api.resources[shape])}
                if self._is_hidden(shape):
                    words["x-hidden"] = True  # type: ignore[assignment]
                properties[argument] = {
                    **self._widened(properties[argument], shape, argument, repairs),
                    **words,
                }
        schema = {**tool.input_schema, "properties": properties}
        return msgspec.structs.replace(
            tool,
            input_schema=schema,
            execution_kind="emulated",
            determinism="deterministic",
            schema_repairs=(*tool.schema_repairs, *repairs),
        )

    def _widened(
        self, schema: dict[str, Any], shape: str, argument: str, repairs: list[str]
    ) -> dict[str, Any]:
        """Let an id be given as responses show it: in a path a number and its digits are the same."""
        shown = self.api.id_types.get(shape)
        kind = schema.get("type")
        if (
            shown is None
            or not isinstance(kind, str)
            or kind == shown
            or {kind, shown} == {"integer", "number"}
        ):
            return schema
        repairs.append(f"{argument}: {shown} is allowed beside {kind}, as results show the id")
        return {**schema, "type": [kind, shown]}

    def _is_hidden(self, shape: str) -> bool:
        """An id that the service makes cannot be known; one that its creator chooses can."""
        resource = self.api.resources[shape]
        made = [
            self.api.routes[name] for name in resource.producers if self.api.routes[name].role == "create"
        ]
        chosen = any(
            normal(name) in {normal(resource.id_name), normal(route.entity.id_field if route.entity else "")}
            for route in made
            for _, name in route.operation.placement.values()
        )
        return bool(resource.producers) and not chosen

    # -- worlds ------------------------------------------------------------------------------------

    @cached_property
    def _validators(self) -> Any:
        return compile_arguments(self.tools), self._results.validators

    @cached_property
    def shapes(self) -> list[str]:
        """The resources that the family's worlds hold, owners first."""
        found: set[str] = set()
        for name in self._names:
            route = self.api.routes[name]
            found.update(step for _, step in route.steps if step)
            if route.shape in self.api.resources:
                found.add(route.shape)
        return sorted(found, key=lambda shape: (shape.count("/"), shape))

    def world(self, salt: str) -> EmulatedWorld:
        """Return a new world.

        Args:
            salt: Decides all its values.

        Raises:
            ToolError: `not_emulated` where the schemas of its ids allow none.
        """
        tables, plain = seed_tables(self.api, self.shapes, salt)
        # The salt decides what the service makes up, so it is part of the state that is stored.
        tables[_WORLD] = {"salt": {"salt": salt}}
        return self.restore(tables, {**everyday_facts(salt), **plain})

    def open(self, salt: str) -> Opened:
        """Return a new world, a pure function of the salt."""
        resource = self.api.resources.get(self.shape)
        noun = resource.noun if resource is not None else "service"
        title = f"{noun} at {self.conversion.title}".strip()
        text = f"A user works with {self.conversion.title} ({self.conversion.namespace}): everything around {noun}."
        return Opened(self.world(salt), title[:1].upper() + title[1:], text)

    def restore(self, tables: Mapping[str, Mapping[str, Record]], facts: Mapping[str, Any]) -> EmulatedWorld:
        """Return the world of a stored scenario."""
        salt = str(tables[_WORLD]["salt"]["salt"])
        proposers = {name: self._proposer(name) for name in self.tools}
        return EmulatedWorld(self.api, self.tools, proposers, tables, dict(facts), salt, self._validators)

    @cached_property
    def usable(self) -> dict[str, tuple[str, ...]]:
        """The tools that work in a sample world -> what answers report of their results."""
        try:
            world = self.world("sample")
        except ToolError:
            return {}
        found: dict[str, tuple[str, ...]] = {}
        for name in self._names:
            route = self.api.routes[name]
            mark = world.mark()
            for proposed in self._maker.make(name, world.handlers, Random(0), hidden=True):
                try:
                    outcome = world.call(name, proposed)
                    canonical_bytes(outcome.result)
                except CanonicalError:
                    break
                if outcome.status == "ok":
                    pointers = self._reported(route, outcome.result)
                    if pointers or route.role in {"create", "update", "delete", "act", "call"}:
                        found[name] = pointers
                    break
            world.rollback(mark)
        return found

    @staticmethod
    def _reported(route: Route, result: Any) -> tuple[str, ...]:
        if route.operation.tool.output_schema is None or route.role == "delete":
            return ()
        if route.entity is None:
            return reportable(result)
        within: tuple[str | int, ...] = (*route.entity.path, 0) if route.entity.many else route.entity.path
        schema = route.operation.tool.output_schema

        def lasting(path: Sequence[str | int]) -> bool:
            return is_promised(schema, path, len(within) + 1)

        return reportable(result, [route.entity.id_field], within, lasting)

    @cached_property
    def operations(self) -> dict[str, Operation]:
        """The usable operations by wire name."""
        try:
            world = self.world("sample")
        except ToolError:
            return {}
        return {name: world.operations[name] for name in self._names if name in self.usable}

    # -- atoms -------------------------------------------------------------------------------------

    @cached_property
    def _maker(self) -> ArgumentMaker:
        return ArgumentMaker(self.api, self.tools, self.shapes)

    def _proposer(self, name: str) -> Callable[[Any, Random], Iterator[dict[str, Any]]]:
        def propose(handlers: EmulatedApi, rng: Random) -> Iterator[dict[str, Any]]:
            return self._maker.make(name, handlers, rng, hidden=False)

        return propose

    # -- words -------------------------------------------------------------------------------------

    @cached_property
    def offers(self) -> dict[str, tuple[Offer, ...]]:
        """What the results of the usable tools offer for binding."""
        found: dict[str, tuple[Offer, ...]] = {}
        for name in self.usable:
            route = self.api.routes[name]
            resource = self.api.resources.get(route.shape)
            if resource is None or name not in resource.producers or route.entity is None:
                found[name] = ()
                continue
            words = [*route.entity.path, *([0] if route.entity.many else []), route.entity.id_field]
            pointer = "".join(f"/{str(word).replace('~', '~0').replace('/', '~1')}" for word in words)
            hidden = self._is_hidden(route.shape)
            found[name] = (Offer(pointer, parse_pointer(pointer), id_of(resource), hidden),)
        return found

    @cached_property
    def wording(self) -> dict[str, ToolWording]:
        """The words of the usable tools."""
        return {
            name: word_tool(self.api, self.api.routes[name], self.tools[name], outputs, self.offers[name])
            for name, outputs in self.usable.items()
        }


def is_promised(schema: Any, path: Sequence[str | int], known: int) -> bool:
    """Say whether a schema requires what stands at a path, of which so many words are known to be there."""
    generator, node = Generator(schema, Random(0)), schema
    try:
        for place, word in enumerate(path):
            node = generator.merged(node) if isinstance(node, dict) else {}
            if isinstance(word, int):
                node = node.get("items", {})
                continue
            if place >= known and word not in node.get("required", ()):
                return False
            node = node.get("properties", {}).get(word, {})
    except (NoInstanceError, RecursionError):
        return False
    return True


def family_tools(conversion: Conversion) -> list[Tool]:
    """Return all tools of a description, with their semantic types, each once."""
    found: dict[str, Tool] = {}
    for family in families(conversion):
        for name, tool in family.tools.items():
            found.setdefault(name, tool)
    return list(found.values())
