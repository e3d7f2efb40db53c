"""OpenAPI descriptions as scenarios: families of operations around one resource, executed by the emulator."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from planarena.environments.contract import ToolError
from planarena.environments.sources.instances import everyday_facts
from planarena.environments.sources.openapi.arguments import ArgumentMaker
from planarena.environments.sources.openapi.asking import is_credential, is_paging, styles_of, why_not
from planarena.environments.sources.openapi.emulator import (
    EmulatedApi,
    EmulatedWorld,
    id_of,
    state_observable,
)
from planarena.environments.sources.openapi.identifiers import normal
from planarena.environments.sources.openapi.naming import names_of
from planarena.environments.sources.openapi.relations import related_shape
from planarena.environments.sources.openapi.resources import Api, Route, analyse
from planarena.environments.sources.openapi.schemas import Results, compile_arguments
from planarena.environments.sources.openapi.seeding import seed_tables
from planarena.environments.sources.openapi.surfacing import surfaced_arguments, surfaced_result
from planarena.environments.sources.openapi.telling import Told, noun_of, told_of
from planarena.environments.sources.openapi.wording import word_tool
from planarena.environments.sources.source import Opened
from planarena.environments.state import Record
from planarena.environments.wording import Offer, ToolWording, parse_pointer
from planarena.environments.world import Operation
from planarena.records.canonical import CanonicalError, canonical_bytes
from planarena.tools.openapi import Conversion, convert_openapi, openapi_files
from planarena.tools.tool import Tool

__all__ = ["Family", "families", "left_out_of", "openapi_tools", "usage_of"]

_MOST_TOOLS = 40
# So many of the things that a list shows can be meant in a request.
_MOST_OFFERED = 3
# What is asked for to hear something.
_TELLS = {"read", "list", "search", "part", "document"}
_MORE_SAMPLES = 3
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
        owners = {
            step
            for name in own
            for _, step in (*api.routes[name].steps, *api.routes[name].links)
            if step and step != shape
        }
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
        placement = route.operation.placement
        secret = {key for key in tool.parameters if is_credential(*placement.get(key, ("", key)))}
        secret |= {key for key in tool.required if is_paging(*placement.get(key, ("", key)))}
        properties = {key: schema for key, schema in tool.parameters.items() if key not in secret}
        # No user says them and no model should see them: whoever calls the real service adds them.
        repairs: list[str] = [f"{key}: left out, the client sends it" for key in sorted(secret)]
        for argument, shape in (*route.steps, *route.links):
            if shape and isinstance(properties.get(argument), dict):
                own = (argument, shape) in route.steps[-1:] and route.role in {"read", "update", "delete"}
                words = {"x-semantic": id_of(self.api.resources[shape], listed=own)}
                if self._is_hidden(shape):
                    words["x-hidden"] = True  # type: ignore[assignment]
                properties[argument] = {
                    **self._widened(properties[argument], shape, argument, repairs),
                    **words,
                }
        styles = styles_of(self.api, route, tool, noun_of(self.api, route))
        schema = {**tool.input_schema, "properties": surfaced_arguments(properties, styles)}
        if secret and "required" in schema:
            schema["required"] = [key for key in schema["required"] if key not in secret]
        return msgspec.structs.replace(
            tool,
            input_schema=schema,
            output_schema=surfaced_result(route),
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
            found.update(step for _, step in (*route.steps, *route.links) if step)
            if route.shape in self.api.resources:
                found.add(route.shape)
            found.update(filter(None, (related_shape(self.api, route),)))
        named = {shape for name in self._names for _, shape in self.api.routes[name].links}
        return sorted(found, key=lambda shape: (shape.count("/"), shape not in named, shape))

    def world(self, salt: str) -> EmulatedWorld:
        """Return a new world.

        Args:
            salt: Decides all its values.

        Raises:
            ToolError: `not_emulated` where the schemas of its ids allow none.
        """
        facts = everyday_facts(salt)
        tables, plain = seed_tables(self.api, self.shapes, salt, facts["now"])
        # The salt decides what the service makes up, so it is part of the state that is stored.
        tables[_WORLD] = {"salt": {"salt": salt}}
        return self.restore(tables, {**facts, **plain})

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
    def _examined(self) -> tuple[dict[str, Told], dict[str, str]]:
        """What answers tell of the results of the tools that people ask for, and why the others are left out."""
        try:
            world = self.world("sample")
        except ToolError:
            return {}, dict.fromkeys(self._names, "its ids cannot be made")
        found: dict[str, Told] = {}
        left: dict[str, str] = {}
        for name in self._names:
            route, tool = self.api.routes[name], self.tools[name]
            observable = state_observable(self.api, route.shape, route.role)
            reason = why_not(self.api, route, tool, noun_of(self.api, route), observable)
            told = None if reason else self._try(name, world)
            if told is None and not reason and route.role == "act":
                # What is done cannot be completed; in another world something is not.
                tried = (self._try(name, self.world(f"sample {number}")) for number in range(_MORE_SAMPLES))
                told = next((one for one in tried if one is not None), None)
            if told is None:
                left[name] = reason or "no call of it works in a sample world"
            elif route.role in _TELLS and not told.outputs:
                left[name] = "its results tell nothing that people ask for"
            else:
                found[name] = told
        self._leave_alike(found, left)
        return self._reachable(found, left)

    def _leave_alike(self, found: dict[str, Told], left: dict[str, str]) -> None:
        """Leave out what would be asked for in the same words as something else: nobody could tell which is meant."""
        known: set[str] = set()
        for name, told in list(found.items()):
            route, tool = self.api.routes[name], self.tools[name]
            asked = _asked(route, word_tool(self.api, route, tool, told, []))
            if asked in known:
                del found[name]
                left[name] = "another operation is asked for in the same words"
            known.add(asked)

    def _try(self, name: str, world: EmulatedWorld) -> Told | None:
        mark = world.mark()
        told = None
        for proposed in self._maker.make(name, world.handlers, Random(0), hidden=True):
            try:
                outcome = world.call(name, proposed)
                canonical_bytes(outcome.result)
            except CanonicalError:
                break
            if outcome.status == "ok":
                told = told_of(self.api, self.api.routes[name], outcome.result)
                break
        world.rollback(mark)
        return told

    def _reachable(
        self, found: dict[str, Told], left: dict[str, str]
    ) -> tuple[dict[str, Told], dict[str, str]]:
        """Leave out what is called with an id that none of the others shows."""
        while True:
            shown = {entry.semantic for name, told in found.items() for entry in self._offered(name, told)}
            lost = [
                name
                for name in found
                if any(
                    schema.get("x-hidden") and schema["x-semantic"] not in shown
                    for schema in self.tools[name].parameters.values()
                )
            ]
            if not lost:
                return found, left
            for name in lost:
                del found[name]
                left[name] = "nothing that people ask for shows the id that it needs"

    @property
    def usable(self) -> dict[str, tuple[str, ...]]:
        """The tools that work in a sample world and that people ask for -> what answers report of their results."""
        return {name: told.outputs for name, told in self._examined[0].items()}

    @property
    def names(self) -> tuple[str, ...]:
        """All its operations by wire name."""
        return self._names

    @property
    def left_out(self) -> dict[str, str]:
        """The tools that nobody would ask for, or that cannot be emulated -> why."""
        return dict(self._examined[1])

    @cached_property
    def operations(self) -> dict[str, Operation]:
        """The usable operations by wire name."""
        if not self.usable:
            return {}
        world = self.world("sample")
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
        return {name: self._offered(name, told) for name, told in self._examined[0].items()}

    def _offered(self, name: str, told: Told) -> tuple[Offer, ...]:
        """The ids of what a call creates, or of the named things that it lists."""
        route = self.api.routes[name]
        resource = self.api.resources.get(route.shape)
        if resource is None or name not in resource.producers or route.entity is None:
            return ()
        naming = names_of(self.api, route.shape)
        if naming is None or set(naming.fields) - set(route.entity.properties):
            return ()  # an answer could call it by its id alone
        if route.role == "create" and not self._says(route, naming.fields):
            return ()  # "the new one" is ambiguous once there are two
        places: list[list[str | int]] = [[]]
        listed = route.entity.many and route.role in {"list", "search"}
        if route.entity.many and not listed:
            places = [[0]]
        if listed:
            places = [[place] for place in range(_MOST_OFFERED if route.role == "list" else len(told.names))]
        hidden = self._is_hidden(route.shape)
        found = []
        for place in places:
            words = [*route.entity.path, *place, route.entity.id_field]
            pointer = "".join(f"/{str(word).replace('~', '~0').replace('/', '~1')}" for word in words)
            kinds = (False, True) if listed else (False,)
            for known in kinds:
                semantic = id_of(resource, listed=known)
                found.append(Offer(pointer, parse_pointer(pointer), semantic, hidden))
        return tuple(found)

    def _says(self, route: Route, fields: Sequence[str]) -> bool:
        """Say whether who creates an item says what it is called."""
        tool = route.operation.tool
        styles = styles_of(self.api, route, tool, noun_of(self.api, route))
        said = {normal(route.operation.placement[key][1]) for key in styles}
        return said >= set(map(normal, fields))

    @cached_property
    def wording(self) -> dict[str, ToolWording]:
        """The words of the usable tools."""
        return {
            name: word_tool(
                self.api,
                self.api.routes[name],
                self.tools[name],
                told,
                [one.pointer for one in self.offers[name]],
            )
            for name, told in self._examined[0].items()
        }


def _asked(route: Route, words: ToolWording) -> str:
    """Return how a tool is asked for, whatever its arguments are called."""
    shapes = {argument: f"{{{shape}}}" for argument, shape in (*route.steps, *route.links)}
    plain = re.sub(r"\{(\w+)\}", lambda found: shapes.get(found.group(1), "{}"), words.ask[0])
    return re.sub(r"\[[^\]]*\]", "", plain) or f"{route.role} {route.shape}"


def left_out_of(units: Sequence[Family]) -> Counter[str]:
    """Count the operations of an API that no unit of it uses, by reason."""
    used = {name for unit in units for name in unit.usable}
    left = {name: why for unit in units for name, why in unit.left_out.items() if name not in used}
    return Counter(left.values())


def usage_of(units: Sequence[Family]) -> dict[str, Any]:
    """Count the operations of descriptions: all, those that people ask for, and the others by the reason that keeps them out."""
    apis: dict[int, list[Family]] = {}
    for unit in units:
        apis.setdefault(id(unit.conversion), []).append(unit)
    left: Counter[str] = Counter()
    for own in apis.values():
        left.update(left_out_of(own))
    total = sum(len({name for unit in own for name in unit.names}) for own in apis.values())
    reasons = dict(sorted(left.items(), key=lambda pair: (-pair[1], pair[0])))
    return {"operations": total, "asked_for": total - sum(left.values()), "left_out": reasons}
