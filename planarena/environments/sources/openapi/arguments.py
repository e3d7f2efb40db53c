"""Arguments that make sense in the present state of an emulated API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any

from planarena.environments.sources.generic_wording import is_nameable, is_sayable, sayable_value
from planarena.environments.sources.instances import Generator, NoInstanceError
from planarena.environments.sources.openapi.emulator import EmulatedApi
from planarena.environments.sources.openapi.resources import Api, Route, normal
from planarena.records.canonical import CanonicalError, canonical_bytes
from planarena.tools.tool import Tool

__all__ = ["ArgumentMaker"]


class ArgumentMaker:
    """Makes arguments for the tools of a family.

    Args:
        api: The API.
        tools: By wire name, with the semantic types of ids.
        shapes: The resources that the family's worlds hold.
    """

    def __init__(self, api: Api, tools: Mapping[str, Tool], shapes: Sequence[str]) -> None:
        self._api, self._tools, self._shapes = api, tools, shapes

    def make(
        self, name: str, handlers: EmulatedApi, rng: Random, *, hidden: bool
    ) -> Iterator[dict[str, Any]]:
        """Yield arguments that make sense in the present state; hidden ids are left out unless asked for."""
        route, tool = self._api.routes[name], self._tools[name]
        times = 3 if route.role in {"create", "update", "act"} else 2
        seen: set[bytes] = set()
        for _ in range(times):
            arguments = self._path_arguments(route, tool, handlers, rng, hidden=hidden)
            if arguments is None or not self._other_arguments(route, tool, handlers, rng, arguments):
                continue
            try:
                identity = canonical_bytes(arguments)
            except CanonicalError:
                continue
            if identity not in seen:
                seen.add(identity)
                yield arguments

    def _path_arguments(
        self, route: Route, tool: Tool, handlers: EmulatedApi, rng: Random, *, hidden: bool
    ) -> dict[str, Any] | None:
        arguments: dict[str, Any] = {}
        inside: list[str] | None = []
        for argument, shape in route.steps:
            if shape:
                rows = list(handlers.state.scan(shape))
                if inside is not None:
                    rows = [row for row in rows if row["in"] == inside]
                if not rows:
                    return None
                value = rows[rng.randrange(len(rows))]["id"]
            else:
                value = self._plain_value(route, argument, handlers)
                if value is None:
                    return None
            if tool.parameters[argument].get("x-hidden") and not hidden:
                inside = None
                continue
            arguments[argument] = value
            if inside is not None:
                inside = [*inside, str(value)]
        return arguments

    def _plain_value(self, route: Route, argument: str, handlers: EmulatedApi) -> Any:
        """The value that a path parameter of no resource has throughout this world."""
        place = [step for step, _ in route.steps].index(argument)
        for shape in self._shapes:
            for row in handlers.state.scan(shape):
                names = next(
                    (
                        [step for step, _ in one.steps]
                        for one in self._api.routes.values()
                        if one.shape == shape
                    ),
                    [],
                )
                if len(row["in"]) > place and names[place : place + 1] == [argument]:
                    return _typed(row["in"][place], route.operation.tool.parameters[argument])
        schema = route.operation.tool.parameters[argument]
        rng = Random(f"{handlers.salt} {argument}")
        try:
            return Generator(route.operation.tool.input_schema, rng).value(schema, argument)
        except (NoInstanceError, RecursionError):
            return None

    def _other_arguments(
        self, route: Route, tool: Tool, handlers: EmulatedApi, rng: Random, arguments: dict[str, Any]
    ) -> bool:
        """Fill in required arguments and a few optional ones; say whether all could be filled and said."""
        paths = {argument for argument, _ in route.steps}
        generator = Generator(tool.input_schema, rng, written=True)
        optional = [
            key
            for key, schema in tool.parameters.items()
            if key not in paths and key not in tool.required and not generator.is_read_only(schema)
        ]
        rng.shuffle(optional)
        wanted = 2 if route.role in {"create", "update", "act", "call"} else rng.randrange(2)
        for key in [*(key for key in tool.required if key not in paths), *optional]:
            required = key in tool.required
            place, name = route.operation.placement[key]
            if not is_nameable(key, required=required):
                if required:
                    return False
                continue
            if not required and (wanted <= 0 or place in {"header", "cookie"}):
                continue
            value = sayable_value(generator, tool.parameters[key], name)
            if not required and route.role in {"list", "search"} and place == "query":
                value = self._known_value(route, name, handlers, rng)
            if value is None or not is_sayable(value):
                if required:
                    return False
                continue
            arguments[key] = value
            wanted -= not required
        return True

    @staticmethod
    def _known_value(route: Route, name: str, handlers: EmulatedApi, rng: Random) -> Any:
        """A filter asks for what some item has."""
        rows = list(handlers.state.scan(route.shape))
        rng.shuffle(rows)
        for row in rows:
            for word, value in row["fields"].items():
                if normal(word) == normal(name) and not isinstance(value, dict | list):
                    return value
        return None


def _typed(text: str, schema: Any) -> Any:
    """Read a key of the path as its schema wants it: a number where that is allowed and it is one."""
    stated = schema.get("type") if isinstance(schema, dict) else None
    kinds = {stated} if isinstance(stated, str) else set(stated or ())
    if "string" not in kinds and kinds & {"integer", "number"}:
        for read in (int, float):
            try:
                return read(text)
            except ValueError:
                continue
    return text
