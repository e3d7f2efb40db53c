"""A deterministic, stateful emulator of REST APIs, driven by their descriptions alone; no network.

Every resource is a table of the same store that our own environments use, so that undo, hashes and footprints
are theirs too. What responses look like: `planarena.environments.sources.openapi.responses`.

What an emulation proves is the flow of arguments and ids and the order of effects. What the real service would
say beyond that it does not prove: `state_observable` tells whether a read shows what a create wrote.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from random import Random
from typing import Any, NamedTuple

from planarena.environments.contract import ToolError
from planarena.environments.sources.field_kinds import kind_of_text
from planarena.environments.sources.instances import Generator, NoInstanceError
from planarena.environments.sources.openapi.deeds import DEEDS, outcome_of
from planarena.environments.sources.openapi.fields import agrees, fields_of, id_schema, mentions
from planarena.environments.sources.openapi.identifiers import normal, words_of
from planarena.environments.sources.openapi.naming import names_of
from planarena.environments.sources.openapi.resources import Api, Resource, Route
from planarena.environments.sources.openapi.responses import Responder, seed_of
from planarena.environments.state import Record, Store, View
from planarena.environments.world import Operation, World
from planarena.records.canonical import canonical_bytes
from planarena.tools.tool import Tool
from planarena.tools.validation import SchemaValidator

__all__ = [
    "EmulatedApi",
    "EmulatedWorld",
    "id_of",
    "state_observable",
]

# What some APIs call in requests otherwise than in results.
_SHORT = {"desc": "description", "descr": "description", "qty": "quantity", "tel": "phone", "mail": "email", "colour": "color", "color": "colour"}  # fmt: skip
_LIMITS = ("limit", "perpage", "pagesize", "maxresults", "count", "first", "top", "size")
_QUERIES = ("q", "query", "search", "term", "keyword", "keywords", "text")


def state_observable(api: Api, shape: str, role: str = "create") -> bool:
    """Say whether what calls write into the resource can be seen in what reads of it show; true where none writes."""
    if role in {"delete", "act"}:  # that something is gone or different shows wherever it is listed or read
        return any(
            route.shape == shape and route.role in {"read", "list", "search"} and route.entity is not None
            for route in api.routes.values()
        )
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
    return bool(written & shown) or not any(
        route.shape == shape and route.role in {"create", "update", "act", "call"}
        for route in api.routes.values()
    )


class Given(NamedTuple):
    """What a call says: the path's values by argument, and the rest by the names that the API uses."""

    path: dict[str, Any]
    fields: dict[str, Any]


class EmulatedApi:
    """The handlers of one API over the state of one world.

    Args:
        api: The API.
        view: The tables.
        salt: Differs between scenarios, so that two worlds hold different values.
        now: The world's present, ISO 8601.
        validators: Of the results, by wire name.
    """

    def __init__(
        self,
        api: Api,
        view: View,
        salt: str,
        now: str,
        validators: Mapping[str, SchemaValidator | None],
    ) -> None:
        self.api, self.state, self.salt = api, view, salt
        self.responder = Responder(api, view, salt, now, validators)
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
        for argument, shape in route.links:
            if self.state.get(shape, self.key_of([str(arguments[argument])])) is None:
                raise ToolError(
                    "not_found", f"404: There is no {self.responder.noun(shape)} {arguments[argument]}."
                )
        path = {argument: arguments[argument] for argument, _ in route.steps}
        given = Given(path, fields_of(route, arguments))
        if route.role in {"read", "update", "delete", "part", "act"}:
            key = self.key_of(inside)
            record = self.state.get(route.shape, key)
            if record is None:
                noun = self.responder.noun(route.shape)
                raise ToolError("not_found", f"404: There is no {noun} {inside[-1] if inside else ''}.")
            return getattr(self, f"_{route.role}")(name, route, key, record, given)
        return getattr(self, f"_{route.role}")(name, route, inside, given)

    def _inside(self, route: Route, arguments: Mapping[str, Any]) -> list[str]:
        """Return the values of the path's parameters; every item on the way but the last must exist."""
        values: list[str] = []
        last = len(route.steps) - (route.role in {"read", "update", "delete", "part", "act"})
        for number, (argument, shape) in enumerate(route.steps):
            values.append(str(arguments[argument]))
            if shape and number < last and self.state.get(shape, self.key_of(values)) is None:
                raise ToolError("not_found", f"404: There is no {self.responder.noun(shape)} {values[-1]}.")
        return values

    @staticmethod
    def key_of(values: list[str]) -> str:
        """Return the key of the record that a path's values name."""
        return canonical_bytes(values).decode()

    def _create(self, name: str, route: Route, inside: list[str], given: Given) -> Any:
        identity = self.new_id(route, inside, given.fields)
        key = self.key_of([*inside, str(identity)])
        known = {normal(word): word for word in self.api.profiles.get(route.shape, {})}
        sent = _in_full(given.fields, known)
        fields = self.responder.complete(route.shape, inside, identity, sent)
        record = {"id": identity, "in": inside, "fields": fields, "done": {}, "new": True}
        self.state.put(route.shape, key, record)
        return self.responder.one(name, route, key, given.path, record, {})

    def _read(self, name: str, route: Route, key: str, record: Record, given: Given) -> Any:
        return self.responder.one(name, route, key, given.path, record, {})

    def _update(self, name: str, route: Route, key: str, record: Record, given: Given) -> Any:
        record = self.state.patch(route.shape, key, fields=self._changed(record, given.fields))
        return self.responder.one(name, route, key, given.path, record, {})

    def _changed(self, record: Record, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return an item's fields after a change: those that the call names by the names that they have, and its date.

        What writes what is there already changes nothing.
        """
        named = {normal(word): word for word in record["fields"]}
        fields = _in_full(fields, named)
        same = all(
            record["fields"].get(named.get(normal(word), word)) == value for word, value in fields.items()
        )
        known = {
            word: self.responder.dated(word, value, ("updated",))
            if not same and not re.search(r"complet|clos|resolv|finish|archiv|delet|seen|read", word)
            else value
            for word, value in record["fields"].items()
        }
        return {**known, **{named.get(normal(word), word): value for word, value in fields.items()}}

    def _delete(self, name: str, route: Route, key: str, record: Record, given: Given) -> Any:
        self.state.delete(route.shape, key)
        return self.responder.one(name, route, key, given.path, record, {})

    def _act(self, name: str, route: Route, key: str, record: Record, given: Given) -> Any:
        known = {normal(word) for word in record["fields"]}
        if route.entity is not None:
            known.update(map(normal, route.entity.properties))
        own = {word: value for word, value in given.fields.items() if normal(word) in known}
        done = {**record["done"], f"{route.operation.method} {route.verb}": given.fields}
        fields = self._changed(record, {**self._outcome(route, record), **own})
        record = self.state.patch(route.shape, key, fields=fields, done=done)
        profile = self.api.profiles.get(route.shape, {})
        shows = route.entity is not None and bool(route.entity.id_field)
        if shows and route.entity is not None:
            shows = 2 * len(set(route.entity.properties) & set(profile)) > len(route.entity.properties)
        return self.responder.one(name, route, key, given.path, record if shows else None, given.fields)

    def _outcome(self, route: Route, record: Record) -> dict[str, Any]:
        """Return what an action makes of the fields that tell its outcome: "archive" sets `archived`.

        Raises:
            ToolError: `conflict` where the item is in no state for it: what is closed cannot be cancelled.
        """
        deed = DEEDS.get(words_of(route.verb))
        if deed is None:
            return {}
        found = outcome_of(self.api, route.shape, deed, record["fields"])
        if found is None:
            noun = self.responder.noun(route.shape)
            raise ToolError("conflict", f"409: The {noun} is in no state to {deed.ask} it.")
        return found

    def _part(self, name: str, route: Route, key: str, record: Record, given: Given) -> Any:
        told = {
            word: value
            for act, said in record["done"].items()
            if act.split(" ")[-1] == route.verb
            for word, value in said.items()
        }
        return self.responder.one(name, route, key, given.path, None, told)

    def _list(self, name: str, route: Route, inside: list[str], given: Given) -> Any:
        records = [record for record in self.state.scan(route.shape) if record["in"] == inside]
        # What was there before comes first: the first of a list is not what was just added.
        naming = names_of(self.api, route.shape)
        if naming is not None and naming.kind == "number":
            records.sort(key=lambda record: str(record["fields"].get(naming.main, "")).rjust(20))
        records.sort(key=lambda record: bool(record.get("new")))
        limit = len(records)
        for word, value in given.fields.items():
            plain = normal(word)
            if plain in _LIMITS and isinstance(value, int) and not isinstance(value, bool):
                limit = min(limit, max(0, value))
            elif plain in _QUERIES and isinstance(value, str):
                records = [record for record in records if mentions(record["fields"], value)]
            else:
                records = [record for record in records if agrees(record, plain, value)]
        key = self.key_of([*inside, "*"])
        return self.responder.many(name, route, key, given.path, records[:limit], len(records))

    _search = _list

    def _document(self, name: str, route: Route, inside: list[str], given: Given) -> Any:
        key = canonical_bytes([inside, given.fields]).decode()
        return self.responder.one(name, route, key, given.path, None, given.fields)

    def _call(self, name: str, route: Route, inside: list[str], given: Given) -> Any:
        key = canonical_bytes([inside, given.fields]).decode()
        called = {"in": inside, "fields": given.fields}
        self.state.put(f"calls {route.operation.method} {route.shape}", key, called)
        return self.responder.one(name, route, key, given.path, None, given.fields)

    # -- ids ---------------------------------------------------------------------------------------

    def new_id(self, route: Route, inside: list[str], fields: dict[str, Any], content: Any = None) -> Any:
        """Return what the caller named the item, else an id made from the content, which fits every schema of ids.

        Args:
            route: Of the creating operation.
            inside: The ids of its owners.
            fields: What the caller sends.
            content: What the id is made from, where not from `fields`.
        """
        resource = self.api.resources.get(route.shape)
        wanted = [resource.id_name if resource else "", route.entity.id_field if route.entity else ""]
        for want in wanted:
            for word, value in fields.items():
                if want and normal(word) == normal(want) and isinstance(value, str | int):
                    return value
        return self.make_id(route.shape, [inside, fields] if content is None else content)

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
        named = self._called(shape)
        if not number and plain and any(kind_of_text("", name) == "title" for name in named):
            # The same name twice would be one item.
            noun = self.responder.noun(shape)
            taken = {record["id"] for record in self.state.scan(shape)}
            place = content[-1] if isinstance(content[-1], int) else rng.randrange(12)
            found = [self.responder.vocabulary.title(noun, rng, place + more) for more in range(12)]
            return next((title for title in found if title not in taken), found[0])
        if not number and plain:
            noun = self.responder.noun(shape).replace(" ", "_")
            return f"{noun}_{rng.getrandbits(40):010x}".ljust(int(merged.get("minLength", 0)), "0")
        try:
            return Generator(root, rng).value(merged, "id")
        except (NoInstanceError, RecursionError) as error:
            raise ToolError("not_emulated", f"No id of the declared form could be made: {error}") from error

    def _called(self, shape: str) -> set[str]:
        """Return what the API calls the ids of a shape."""
        own = [route for route in self.api.routes.values() if route.shape == shape]
        shown = {route.entity.id_field for route in own if route.entity is not None}
        return shown | {route.steps[-1][0] for route in own if route.role == "read"}

    def _id_schema(self, shape: str) -> tuple[dict[str, Any], Any]:
        known = self._ids.get(shape)
        if known is None:
            known = self._ids[shape] = id_schema(self.api, shape)
        return known


def _in_full(fields: Mapping[str, Any], known: Mapping[str, str]) -> dict[str, Any]:
    """Return what a call says with the names that results have for it besides: `description` for `desc`."""
    longer = {
        known[_SHORT[normal(word)]]: value
        for word, value in fields.items()
        if _SHORT.get(normal(word), "") in known
    }
    return {**longer, **fields}


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
        now = str(facts.get("now", "2026-03-02T10:00"))
        handlers = EmulatedApi(api, self.store.view("api"), salt, now, validators[1])
        self.handlers = handlers
        self.operations = {
            name: Operation(tool, _bind(name), validators[0][name], propose.get(name))
            for name, tool in tools.items()
        }
        self._owners: dict[str, Any] = dict.fromkeys(tools, handlers)


def id_of(resource: Resource, *, listed: bool) -> str:
    """Return the semantic type of a resource's ids.

    Args:
        resource: The resource.
        listed: Of an item that was there before: nobody looks up, changes or deletes what they just created.
    """
    return f"{resource.shape} {'listed id' if listed else 'id'}"
