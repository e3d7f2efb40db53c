"""A deterministic, stateful emulator of REST APIs, driven by their descriptions alone; no network.

Every resource is a table of the same store that our own environments use, so that undo, hashes and footprints
are theirs too. A response is made from its declared schema by a generator whose seed is the item's key; then
the item's own fields take their places in it. It is checked against the schema before it is given.

What an emulation proves is the flow of arguments and ids and the order of effects. What the real service would
say beyond that it does not prove: `state_observable` tells whether a read shows what a create wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import blake2b
from random import Random
from typing import Any

from planarena.environments.contract import ToolError
from planarena.environments.sources.instances import Generator, NoInstanceError
from planarena.environments.sources.openapi.fields import (
    agrees,
    fields_of,
    id_schema,
    mentions,
    placed,
    told_by,
)
from planarena.environments.sources.openapi.resources import Api, Entity, Resource, Route, normal
from planarena.environments.state import Record, Store, View
from planarena.environments.world import Operation, World
from planarena.records.canonical import canonical_bytes
from planarena.tools.tool import Tool
from planarena.tools.validation import SchemaValidator

__all__ = [
    "EmulatedApi",
    "EmulatedWorld",
    "id_of",
    "seed_of",
    "state_observable",
]

_LIMITS = ("limit", "perpage", "pagesize", "maxresults", "count", "first", "top", "size")
_QUERIES = ("q", "query", "search", "term", "keyword", "keywords", "text")


def seed_of(*key: Any) -> int:
    """Return a seed that depends on the key alone."""
    return int.from_bytes(blake2b(canonical_bytes(list(key)), digest_size=8).digest(), "big")


def state_observable(api: Api, shape: str) -> bool:
    """Say whether what a create of the resource writes can be seen in what a read of it shows."""
    written: set[str] = set()
    shown: set[str] = set()
    for route in api.routes.values():
        if route.shape != shape:
            continue
        if route.role in {"create", "update"}:
            for key, (place, name) in route.operation.placement.items():
                if place in {"field", "form"}:
                    written.add(normal(name))
                elif place == "body":
                    inner = route.operation.tool.parameters[key]
                    if isinstance(inner, dict):
                        root = route.operation.tool.input_schema
                        try:
                            merged = Generator(root, Random(0)).merged(inner)
                        except NoInstanceError:
                            continue
                        written.update(map(normal, merged.get("properties", {})))
        elif route.role in {"read", "list", "search"} and route.entity is not None:
            shown.update(map(normal, route.entity.properties))
    return bool(written & shown)


class EmulatedApi:
    """The handlers of one API over the state of one world.

    Args:
        api: The API.
        names: Wire names of the operations that are offered.
        view: The tables.
        salt: Differs between scenarios, so that two worlds hold different values.
    """

    def __init__(
        self, api: Api, view: View, salt: str, validators: dict[str, SchemaValidator | None]
    ) -> None:
        self.api, self.state, self.salt = api, view, salt
        self._validators = validators
        self._bases: dict[tuple[str, str], Any] = {}
        self._ids: dict[str, tuple[dict[str, Any], Any]] = {}

    # -- calls -------------------------------------------------------------------------------------

    def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Execute one operation.

        Raises:
            ToolError: `not_found` for an item or a parent that is not there; `not_emulated` where no response
                that fits the declared schema could be made.
        """
        route = self.api.routes[name]
        inside = self._inside(route, arguments)
        fields = fields_of(route, arguments)
        if route.role in {"read", "update", "delete", "part", "act"}:
            key = self.key_of(inside)
            record = self.state.get(route.shape, key)
            if record is None:
                noun = self._noun(route.shape)
                raise ToolError("not_found", f"404: There is no {noun} {inside[-1] if inside else ''}.")
            return getattr(self, f"_{route.role}")(name, route, key, record, fields)
        return getattr(self, f"_{route.role}")(name, route, inside, fields)

    def _noun(self, shape: str) -> str:
        resource = self.api.resources.get(shape)
        return resource.noun if resource is not None else "item"

    def _inside(self, route: Route, arguments: Mapping[str, Any]) -> list[str]:
        """Return the values of the path's parameters; every item on the way but the last must exist."""
        values: list[str] = []
        last = len(route.steps) - (route.role in {"read", "update", "delete", "part", "act"})
        for number, (argument, shape) in enumerate(route.steps):
            values.append(str(arguments[argument]))
            if shape and number < last and self.state.get(shape, self.key_of(values)) is None:
                raise ToolError("not_found", f"404: There is no {self._noun(shape)} {values[-1]}.")
        return values

    @staticmethod
    def key_of(values: list[str]) -> str:
        """Return the key of the record that a path's values name."""
        return canonical_bytes(values).decode()

    def _create(self, name: str, route: Route, inside: list[str], fields: dict[str, Any]) -> Any:
        identity = self.new_id(route, inside, fields)
        key = self.key_of([*inside, str(identity)])
        record = {"id": identity, "in": inside, "fields": fields, "done": {}}
        self.state.put(route.shape, key, record)
        return self._respond(name, route, key, record)

    def _read(self, name: str, route: Route, key: str, record: Record, _fields: dict[str, Any]) -> Any:
        return self._respond(name, route, key, record)

    def _update(self, name: str, route: Route, key: str, record: Record, fields: dict[str, Any]) -> Any:
        record = self.state.patch(route.shape, key, fields={**record["fields"], **fields})
        return self._respond(name, route, key, record)

    def _delete(self, name: str, route: Route, key: str, record: Record, _fields: dict[str, Any]) -> Any:
        self.state.delete(route.shape, key)
        return self._respond(name, route, key, record)

    def _act(self, name: str, route: Route, key: str, record: Record, fields: dict[str, Any]) -> Any:
        known = {normal(word) for word in record["fields"]}
        if route.entity is not None:
            known.update(map(normal, route.entity.properties))
        own = {word: value for word, value in fields.items() if normal(word) in known}
        done = {**record["done"], f"{route.operation.method} {route.verb}": fields}
        record = self.state.patch(route.shape, key, fields={**record["fields"], **own}, done=done)
        return self._respond(name, route, key, record, fields)

    def _part(self, name: str, route: Route, key: str, record: Record, _fields: dict[str, Any]) -> Any:
        told = {
            word: value
            for act, said in record["done"].items()
            if act.split(" ")[-1] == route.verb
            for word, value in said.items()
        }
        return self._respond(name, route, key, record, told)

    def _list(self, name: str, route: Route, inside: list[str], fields: dict[str, Any]) -> Any:
        records = [record for record in self.state.scan(route.shape) if record["in"] == inside]
        limit = len(records)
        for word, value in fields.items():
            plain = normal(word)
            if plain in _LIMITS and isinstance(value, int) and not isinstance(value, bool):
                limit = min(limit, max(0, value))
            elif plain in _QUERIES and isinstance(value, str):
                records = [record for record in records if mentions(record["fields"], value)]
            else:
                records = [record for record in records if agrees(record, plain, value)]
        return self._respond_many(name, route, self.key_of([*inside, "*"]), records[:limit])

    _search = _list

    def _document(self, name: str, route: Route, inside: list[str], fields: dict[str, Any]) -> Any:
        key = canonical_bytes([inside, fields]).decode()
        return self._respond(name, route, key, None, fields)

    def _call(self, name: str, route: Route, inside: list[str], fields: dict[str, Any]) -> Any:
        key = canonical_bytes([inside, fields]).decode()
        self.state.put(f"calls {route.operation.method} {route.shape}", key, {"in": inside, "fields": fields})
        return self._respond(name, route, key, None, fields)

    # -- ids ---------------------------------------------------------------------------------------

    def new_id(self, route: Route, inside: list[str], fields: dict[str, Any]) -> Any:
        """Return what the caller named the item, else an id made from the content, which fits every schema of ids."""
        resource = self.api.resources.get(route.shape)
        wanted = [resource.id_name if resource else "", route.entity.id_field if route.entity else ""]
        for want in wanted:
            for word, value in fields.items():
                if want and normal(word) == normal(want) and isinstance(value, str | int):
                    return value
        return self.make_id(route.shape, [inside, fields])

    def make_id(self, shape: str, content: Any) -> Any:
        """Return an id for an item of a resource, derived from content alone.

        Raises:
            ToolError: The schemas of the id allow none.
        """
        rng = Random(seed_of("id", self.salt, shape, content))
        merged, root = self._id_schema(shape)
        number = merged.get("type") in {"integer", "number"}
        plain = not any(
            word in merged for word in ("pattern", "format", "enum", "const", "maxLength", "oneOf", "anyOf")
        )
        if number and "maximum" not in merged:
            return int(merged.get("minimum", 0)) + 1000 + rng.randrange(9_000_000)
        if not number and plain:
            noun = self._noun(shape).replace(" ", "_")
            return f"{noun}_{rng.getrandbits(40):010x}".ljust(int(merged.get("minLength", 0)), "0")
        try:
            return Generator(root, rng).value(merged, "id")
        except (NoInstanceError, RecursionError) as error:
            raise ToolError("not_emulated", f"No id of the declared form could be made: {error}") from error

    def _id_schema(self, shape: str) -> tuple[dict[str, Any], Any]:
        known = self._ids.get(shape)
        if known is None:
            known = self._ids[shape] = id_schema(self.api, shape)
        return known

    # -- responses ---------------------------------------------------------------------------------

    def _respond(
        self, name: str, route: Route, key: str, record: Record | None, told: Mapping[str, Any] | None = None
    ) -> Any:
        schema = route.operation.tool.output_schema
        if schema is None:
            return {"status": int(route.operation.status) if route.operation.status.isdigit() else 200}
        base = self._base(name, schema, key)
        own: dict[str, Any] = dict(told or {})
        if record is not None:
            own = {**record["fields"], **own}
        entity = (
            route.entity if record is not None or route.entity is None else route.entity._replace(id_field="")
        )
        if entity is not None and not entity.many:
            made = placed(base, entity.path, lambda shown: self._shown(shown, entity, schema, record, own))
        else:
            made = told_by(base, own) if own else base
        return self._valid(name, made, base)

    def _respond_many(self, name: str, route: Route, key: str, records: list[Record]) -> Any:
        schema = route.operation.tool.output_schema
        if schema is None:
            return {"status": int(route.operation.status) if route.operation.status.isdigit() else 200}
        base = self._base(name, schema, key)
        entity = route.entity
        if entity is None or not entity.many:
            return self._valid(name, base, base)

        def fill(shown: Any) -> Any:
            first = shown[0] if isinstance(shown, list) and shown and isinstance(shown[0], dict) else {}
            return [self._shown(first, entity, schema, record, record["fields"]) for record in records]

        return self._valid(name, placed(base, entity.path, fill), base)

    def _base(self, name: str, schema: Any, key: str) -> Any:
        known = self._bases.get((name, key))
        if known is None:
            rng = Random(seed_of("base", self.salt, name, key))
            try:
                known = Generator(schema, rng).value(schema)
            except (NoInstanceError, RecursionError) as error:
                raise ToolError(
                    "not_emulated", f"No response of the declared form could be made: {error}"
                ) from error
            self._bases[name, key] = known
        return known

    def _shown(
        self, shown: Any, entity: Entity, schema: Any, record: Record | None, own: Mapping[str, Any]
    ) -> Any:
        """Return an item as a response shows it: its own fields, its id, and for the rest values that stay."""
        if not isinstance(shown, dict):
            return shown
        mine = {normal(word): value for word, value in own.items()}
        made: dict[str, Any] = {}
        names = [*shown, *(name for name in entity.properties if name not in shown and normal(name) in mine)]
        for name in names:
            if record is not None and name == entity.id_field:
                made[name] = record["id"]
            elif normal(name) in mine:
                made[name] = mine[normal(name)]
            elif record is not None and name in entity.properties:
                made[name] = self._lasting(name, entity.properties[name], schema, record, shown[name])
            else:
                made[name] = shown[name]
        return made

    def _lasting(self, name: str, inner: Any, schema: Any, record: Record, otherwise: Any) -> Any:
        """A value that the service would have made itself: the same in every response that shows the item."""
        key = (name, canonical_bytes([record["in"], record["id"], inner]).decode())
        known = self._bases.get(key)
        if known is None:
            rng = Random(seed_of("field", self.salt, *key))
            try:
                known = Generator(schema, rng).value(inner, name, 3)
            except (NoInstanceError, RecursionError):
                known = otherwise
            self._bases[key] = known
        return known

    def _valid(self, name: str, made: Any, base: Any) -> Any:
        """Return the response if it fits its schema, else the base without the item's fields if that does."""
        validator = self._validators.get(name)
        if validator is None:
            return made
        for candidate in (made, base):
            if validator.is_valid(candidate):
                return candidate
        raise ToolError("not_emulated", "No response of the declared form could be made.")


def _bind(name: str) -> Callable[..., Any]:
    def method(handlers: EmulatedApi, /, **arguments: Any) -> Any:
        return handlers.call(name, arguments)

    return method


class EmulatedWorld(World):
    """The world of one scenario over an emulated API.

    Args:
        api: The API.
        tools: The tools on offer, by wire name.
        propose: Sources of atoms, by wire name.
        tables: `{namespace.shape: {key: record}}`.
        facts: The context.
        salt: See `EmulatedApi`.
        validators: Of the arguments, and of the results of the whole API; kept between worlds.
    """

    execution_kind = "emulated"

    def __init__(
        self,
        api: Api,
        tools: Mapping[str, Tool],
        propose: Mapping[str, Callable[[Any, Random], Any]],
        tables: Mapping[str, Mapping[str, Record]],
        facts: dict[str, Any],
        salt: str,
        validators: tuple[dict[str, SchemaValidator], dict[str, SchemaValidator | None]],
    ) -> None:
        self.store = Store.load(tables)
        self.facts = facts
        handlers = EmulatedApi(api, self.store.view("api"), salt, validators[1])
        self.handlers = handlers
        self.operations = {
            name: Operation(tool, _bind(name), validators[0][name], propose.get(name))
            for name, tool in tools.items()
        }
        self._owners: dict[str, Any] = dict.fromkeys(tools, handlers)


def id_of(resource: Resource) -> str:
    """Return the semantic type of a resource's ids."""
    return f"{resource.shape} id"
