"""What an emulated API answers: items as they are in the world, the rest from the declared schema and its examples.

An item's values are made when it comes into being and kept with it, so that every response shows the same ones;
what a call sends comes back; what is created is dated at the world's now.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import blake2b
from random import Random
from typing import Any

from planarena.environments.contract import ToolError
from planarena.environments.sources.field_kinds import (
    in_place,
    kind_of_number,
    kind_of_text,
    moment_of,
    spaced,
)
from planarena.environments.sources.instances import Generator, NoInstanceError
from planarena.environments.sources.openapi.coherence import aligned
from planarena.environments.sources.openapi.entities import Entity
from planarena.environments.sources.openapi.fields import merged_of, placed, told_by
from planarena.environments.sources.openapi.identifiers import normal, singular, words_of
from planarena.environments.sources.openapi.naming import is_person, names_of, topic_noun
from planarena.environments.sources.openapi.relations import (
    chosen,
    counted_elsewhere,
    counted_in,
    listing,
    related_shape,
    shown_as,
)
from planarena.environments.sources.openapi.resources import Api, Route
from planarena.environments.sources.openapi.shaping import (
    BEGUN,
    counted,
    is_new,
    name_alike,
    parts_of_name,
    with_owners,
)
from planarena.environments.sources.vocabulary import Vocabulary
from planarena.environments.state import Record, View
from planarena.records.canonical import CanonicalError, canonical_bytes
from planarena.tools.validation import SchemaValidator

__all__ = ["Responder", "seed_of"]

# A head chef works in no department that chance finds.
_VACANT = re.compile(r"(^| )(job|opening|position|vacancy|posting)$")
# What would have to agree with what the world does not keep.
_LEFT_OUT = frozenset(("parentid", "parent"))
# By these a response says that something was done; what a description states of them is kept.
_MESSAGES = frozenset(("message", "msg", "detail", "info"))
_STATED = frozenset(("example", "examples", "default", "enum", "const", "pattern", "format"))
_OVER = r"^(completed|closed|resolved|deleted|archived|cancell?ed|finished|failed|rejected|expired|removed|suspended) (at|on|date|time|by)\b"


def seed_of(*key: Any) -> int:
    """Return a seed that depends on the key alone."""
    return int.from_bytes(blake2b(canonical_bytes(list(key)), digest_size=8).digest(), "big")


class Responder:
    """Makes the responses and the items of one world.

    Args:
        api: The API.
        view: The tables.
        salt: Differs between scenarios, so that two worlds hold different values.
        now: The world's present, ISO 8601.
        validators: Of the results, by wire name; None for what has none.
    """

    def __init__(
        self, api: Api, view: View, salt: str, now: str, validators: Mapping[str, SchemaValidator | None]
    ) -> None:
        self.api, self.state, self.salt, self.now = api, view, salt, now
        self.vocabulary = Vocabulary(now, setting=api.setting)
        self._validators = validators
        self._bases: dict[tuple[str, str], Any] = {}

    # -- items -------------------------------------------------------------------------------------

    def noun(self, shape: str) -> str:
        """Return what the items of a shape are."""
        resource = self.api.resources.get(shape)
        return resource.noun if resource is not None else "item"

    def complete(
        self, shape: str, inside: list[str], identity: Any, sent: Mapping[str, Any], number: int | None = None
    ) -> dict[str, Any]:
        """Return all fields of an item that comes into being: what was sent, and what the service knows besides.

        Args:
            shape: The resource's.
            inside: The ids of its owners.
            identity: Its id.
            sent: What the call said; nothing for an item that was there before.
            number: Of an item that was there before; None for one that is created now.
        """
        made = dict(sent)
        vocabulary = self._whose(shape, inside, identity, sent)
        taken = {normal(name) for name in sent}
        ids = {
            route.entity.id_field
            for route in self.api.routes.values()
            if route.shape == shape and route.entity is not None
        }
        for name, (schema, root) in self.api.profiles.get(shape, {}).items():
            if normal(name) in taken or name in ids or re.search(_OVER, spaced(name)):
                continue
            if (
                counted_elsewhere(self.api, name, self.noun(shape))
                or normal(name) in _LEFT_OUT
                or (_VACANT.search(self.noun(shape)) and kind_of_text("", name) == "department")
            ):
                continue  # it would have to agree with what is listed
            rng = Random(seed_of("field", self.salt, shape, inside, str(identity), normal(name)))
            generator = Generator(
                root, rng, vocabulary=vocabulary, known=True, noun=self._topic(shape), number=number
            )
            called = in_place(
                name, self.api.profiles[shape], str(merged_of(schema, root).get("description", ""))
            )
            try:
                value = self._kept_id(name, generator.value(schema, called, 1), rng)
                canonical_bytes(value)
            except (NoInstanceError, RecursionError, CanonicalError):
                continue
            if value in ({}, []) or (number is None and not is_new(called, value, schema, root)):
                continue
            made[name] = value if number is not None else self._fresh(name, value, schema, root)
        naming = names_of(self.api, shape)
        if naming is not None and normal(naming.main) not in taken:
            if naming.kind == "number":
                made[naming.main] = self._numbered(shape, naming.main, number)
            elif number is None and naming.kind == "title" and not isinstance(made.get(naming.main), str):
                # Services name what nobody named, so that lists can show it.
                made[naming.main] = f"Untitled {self.noun(shape)}"
        name_alike(made, naming)
        if naming is not None and naming.kind == "number" and isinstance(made.get("floor"), int):
            door = str(made[naming.main])
            made["floor"] = int(door[:-2]) if re.fullmatch(r"\d{3,4}", door) else made["floor"]
        return made if number is None else aligned(made, self.vocabulary.now)

    def _kept_id(self, name: str, value: Any, rng: Random) -> Any:
        """Return the id of an item that the world keeps, where a field names one by its noun."""
        stem = spaced(name).removesuffix(" id")
        if stem == spaced(name) or isinstance(value, bool) or not isinstance(value, str | int):
            return value
        for shape, resource in self.api.resources.items():
            if resource.noun == stem and "{}" not in shape:
                found = [row["id"] for row in self.state.scan(shape)]
                same = [one for one in found if isinstance(one, type(value))]
                return same[rng.randrange(len(same))] if same else value
        return value

    def _topic(self, shape: str) -> str:
        """Return the noun that tells what the items of a shape are called."""
        return topic_noun(self.api, self.api.resources.get(shape))

    def _whose(self, shape: str, inside: Any, identity: Any, fields: Mapping[str, Any]) -> Vocabulary:
        """Return the vocabulary of one item: of the person whom its fields name, where they name one."""
        found = self.vocabulary.about(canonical_bytes([self.salt, shape, inside, str(identity)]).decode())
        if is_person(self.api, shape):
            first, last = parts_of_name(fields)
            return found.named(first, last) if last else found
        return found

    def _numbered(self, shape: str, field: str, number: int | None) -> Any:
        """Return the number of an item among its like: INV-2041, or 12 where it is a door's."""
        noun = self.noun(shape).rsplit(" ", maxsplit=1)[-1]
        first = Random(seed_of("numbers", self.salt, shape)).randrange(1000, 9000)
        many = sum(1 for _ in self.state.scan(shape))
        count = (number if number is not None else 100 + many) + first
        schema, root = self.api.profiles[shape][field]
        whole = merged_of(schema, root).get("type") in ("integer", ["integer", "null"])
        if noun in {"unit", "room", "table", "locker"}:
            place = (number if number is not None else 20 + many) + first % 9 + 1
            return place if whole else f"{1 + place // 9}{place % 9 + 1:02d}"
        whole_noun = self.noun(shape)
        if " " in whole_noun:
            return count if whole else f"{''.join(word[0] for word in whole_noun.split(' ')).upper()}-{count}"
        prefix = {"booking": "BK", "ticket": "TKT", "shipment": "SHP", "parcel": "PCL"}.get(
            noun, noun[:3].upper()
        )
        return count if whole else f"{prefix}-{count}"

    def _fresh(self, name: str, value: Any, schema: Any, root: Any) -> Any:
        """Return a value as a new item has it: its counts are zero, its moments are now."""
        if (
            isinstance(value, int)
            and not isinstance(value, bool)
            and kind_of_number(name) in {"count", "total"}
        ):
            return 0 if merged_of(schema, root).get("minimum", 0) <= 0 else value
        if kind_of_text("", name) == "status" and isinstance(value, str):
            merged = merged_of(schema, root)
            fresh = [one for one in merged.get("enum", ()) if isinstance(one, str) and re.match(BEGUN, one)]
            return fresh[0] if fresh else value
        return self.dated(name, value, ("created", "updated"))

    def dated(self, name: str, value: Any, roles: tuple[str, ...]) -> Any:
        """Return now in the form of the value, if the field is a moment of one of the roles, else the value."""
        if moment_of(name) not in roles:
            return value
        now = self.vocabulary.now
        if isinstance(value, int) and not isinstance(value, bool) and kind_of_number(name) == "epoch":
            return int(now.timestamp())
        kind = kind_of_text("", name)
        if not isinstance(value, str) or kind not in {"date", "date-time"}:
            return value
        if len(value) == 10 and value[4:5] == "-":
            return now.date().isoformat()
        return now.strftime("%Y-%m-%dT%H:%M:%SZ") if value[4:5] == "-" else value

    # -- responses ---------------------------------------------------------------------------------

    def one(
        self,
        name: str,
        route: Route,
        key: str,
        given: Mapping[str, Any],
        record: Record | None,
        told: Mapping[str, Any],
    ) -> Any:
        """Return a response that shows one item, or none.

        Args:
            name: The operation's wire name.
            route: The operation's.
            key: What the response is about: equal keys, equal values.
            given: The values of the path's parameters, by argument.
            record: The item, or None.
            told: More that the response repeats.
        """
        schema = route.operation.tool.output_schema
        if schema is None:
            return self._status(route)
        noun = self.noun(route.shape) if record is not None else singular(words_of(route.verb)) or "item"
        base = self._base(name, schema, key, noun)
        entity = route.entity
        if record is not None and entity is not None:
            own = {**record["fields"], **told}

            def fill(shown: Any) -> Any:
                if not entity.many:
                    return self._item(shown, route.shape, entity, schema, record, own)
                first = shown[0] if isinstance(shown, list) and shown and isinstance(shown[0], dict) else {}
                return [self._item(first, route.shape, entity, schema, record, own)]

            made = placed(counted(base, 1, 1) if entity.many else base, entity.path, fill)
        else:
            made = self._related(route, key, given, told_by(base, told) if told else base)
        return self._valid(name, self._acknowledged(self._echoed(made, route, given), route, schema))

    def _acknowledged(self, made: Any, route: Route, schema: Any) -> Any:
        """Return the response to a change with a message that says what was done, where it has one and says no example."""
        deed = {"create": "created", "update": "updated", "delete": "deleted"}.get(route.role)
        if deed is None or not isinstance(made, dict):
            return made
        own = set(route.entity.properties) if route.entity is not None and not route.entity.path else set()
        properties = merged_of(schema, schema).get("properties", {})
        for name in _MESSAGES & set(made) - own:
            told = merged_of(properties.get(name), schema)
            if isinstance(made[name], str) and not _STATED & set(told):
                made = {**made, name: f"{self.noun(route.shape).capitalize()} {deed}."}
        return made

    def _related(self, route: Route, key: str, given: Mapping[str, Any], base: Any) -> Any:
        """Return a part or a document with items of the world, where it lists such, and with its counts."""
        path, listed = listing(base, singular(words_of(route.verb)))
        if listed is None or route.role not in {"part", "document"}:
            return base
        owner = self.state.get(route.shape, key) if given else None
        if owner is not None and owner.get("new"):
            # What was just created has nothing yet.
            emptied = placed(counted(base, 0, 0), tuple(map(str, path)), lambda _: [])
            validator = self._validators.get(route.operation.tool.wire_name)
            return emptied if validator is None or validator.is_valid(emptied) else base
        shape = related_shape(self.api, route)
        rows = [row for row in self.state.scan(shape) if not row.get("new")] if shape else []
        if len(rows) < 2 or not listed:
            return counted(base, len(listed), len(listed))
        rows = chosen(rows, Random(seed_of("related", self.salt, route.shape, route.verb, key)))
        items = [
            shown_as(listed[place % len(listed)], row, self.api, shape) for place, row in enumerate(rows)
        ]
        changed = placed(counted(base, len(items), len(items)), tuple(map(str, path)), lambda _: items)
        validator = self._validators.get(route.operation.tool.wire_name)
        return changed if validator is None or validator.is_valid(changed) else base

    def many(
        self, name: str, route: Route, key: str, given: Mapping[str, Any], records: list[Record], total: int
    ) -> Any:
        """Return a response that lists items.

        Args:
            name: The operation's wire name.
            route: The operation's.
            key: What the response is about.
            given: The values of the path's parameters, by argument.
            records: The items.
            total: How many there are in all.
        """
        schema = route.operation.tool.output_schema
        if schema is None:
            return self._status(route)
        base = self._base(name, schema, key, self.noun(route.shape))
        entity = route.entity
        if entity is None or not entity.many:
            return self._valid(name, base)

        def fill(shown: Any) -> Any:
            first = shown[0] if isinstance(shown, list) and shown and isinstance(shown[0], dict) else {}
            return [
                self._item(first, route.shape, entity, schema, record, record["fields"]) for record in records
            ]

        made = placed(counted(base, total, len(records)), entity.path, fill)
        return self._valid(name, self._echoed(made, route, given))

    @staticmethod
    def _status(route: Route) -> dict[str, int]:
        return {"status": int(route.operation.status) if route.operation.status.isdigit() else 200}

    def _base(self, name: str, schema: Any, key: str, noun: str) -> Any:
        known = self._bases.get((name, key))
        if known is None:
            rng = Random(seed_of("base", self.salt, name, key))
            try:
                known = Generator(schema, rng, vocabulary=self.vocabulary, known=True, noun=noun).value(
                    schema
                )
            except (NoInstanceError, RecursionError) as error:
                raise ToolError(
                    "not_emulated", f"No response of the declared form could be made: {error}"
                ) from error
            self._bases[name, key] = known
        return known

    def _item(
        self, shown: Any, shape: str, entity: Entity, schema: Any, record: Record, own: Mapping[str, Any]
    ) -> Any:
        """Return an item as a response shows it: its id, its own fields, and required values that stay."""
        if not isinstance(shown, dict):
            return shown
        mine = {normal(word): value for word, value in own.items()}
        counts = counted_in(self.api, shape, entity.properties)
        made: dict[str, Any] = {}
        for name in dict.fromkeys((*entity.properties, *shown)):
            if name == entity.id_field:
                made[name] = record["id"]
            elif name in counts and next(iter(self.state.scan(counts[name])), None) is not None:
                made[name] = self._count_of(counts[name], record)
            elif normal(name) in mine:
                made[name] = mine[normal(name)]
            elif name in shown and name in entity.required:
                made[name] = self._lasting(name, shape, entity, schema, record, shown[name])
        return made

    def _count_of(self, inner: str, record: Record) -> int:
        """Return how many things of a resource an item owns."""
        owner = [*record["in"], str(record["id"])]
        return sum(1 for row in self.state.scan(inner) if row["in"] == owner)

    def _lasting(
        self, name: str, shape: str, entity: Entity, schema: Any, record: Record, otherwise: Any
    ) -> Any:
        """A value that the schema requires and nothing is known of: the same in every response that shows the item."""
        key = (name, canonical_bytes([record["in"], record["id"]]).decode())
        known = self._bases.get(key)
        if known is None:
            rng = Random(seed_of("field", self.salt, *key))
            try:
                vocabulary = self._whose(shape, record["in"], record["id"], record["fields"])
                known = Generator(schema, rng, vocabulary=vocabulary, noun=self._topic(shape)).value(
                    entity.properties.get(name, True), in_place(name, entity.properties), 4
                )
            except (NoInstanceError, RecursionError):
                known = otherwise
            known = self._as_new(name, known) if record.get("new") else known
            self._bases[key] = known
        return known

    def _as_new(self, name: str, value: Any) -> Any:
        """Return a value of something that is created now: the moments in it are now."""
        if isinstance(value, dict):
            return {inner: self._as_new(inner, one) for inner, one in value.items()}
        return self.dated(name, value, ("created", "updated"))

    def _echoed(self, made: Any, route: Route, given: Mapping[str, Any]) -> Any:
        """Return the response with ids that the call named, and their items, where it speaks of them."""
        ids: dict[str, Any] = {}
        owners: dict[str, tuple[Record, str]] = {}
        path: list[str] = []
        for argument, shape in route.steps:
            path.append(str(given.get(argument, "")))
            record = self.state.get(shape, canonical_bytes(path).decode()) if shape else None
            value = given.get(argument) if record is None else record["id"]
            if len(normal(argument)) > 3:
                ids[normal(argument)] = value
            if record is not None and shape != route.shape:
                noun = self.noun(shape)
                ids.setdefault(normal(f"{noun}id"), value)
                naming = names_of(self.api, shape)
                if naming is not None and len(naming.fields) == 1 and naming.main in record["fields"]:
                    ids.setdefault(normal(f"{noun}name"), record["fields"][naming.main])
                owners[normal(noun)] = record, next(
                    (one.entity.id_field for one in self.api.routes.values() if one.shape == shape and one.entity is not None and one.entity.id_field),
                    "id",
                )  # fmt: skip
        return with_owners(made, ids, owners, 0) if ids or owners else made

    def _valid(self, name: str, made: Any) -> Any:
        """Return the response if it fits its schema.

        Raises:
            ToolError: It does not: what the schema asks for cannot be emulated.
        """
        validator = self._validators.get(name)
        if validator is None or validator.is_valid(made):
            return made
        raise ToolError("not_emulated", "No response of the declared form could be made.")
