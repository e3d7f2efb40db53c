"""Where responses show items, and what stands in them."""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple

from planarena.environments.sources.instances import Generator, NoInstanceError
from planarena.environments.sources.openapi.identifiers import normal

__all__ = ["Entity", "find_entity", "is_scalar", "plain_of", "property_names", "reader_of"]

_IDS = ("id", "uuid", "uid", "guid", "gid", "_id", "identifier", "key", "slug", "sid", "name", "code", "number")  # fmt: skip


class Entity(NamedTuple):
    """Where a response shows an item of a resource.

    Attributes:
        path: Property names from the response's root; for lists: of the array.
        many: Whether it is an array of items.
        properties: The item's properties.
        id_field: The property that holds the id, or "".
        required: Properties that every item has.
    """

    path: tuple[str, ...]
    many: bool
    properties: dict[str, Any]
    id_field: str
    required: frozenset[str]


def property_names(root: dict[str, Any], schema: Any) -> set[str]:
    """Return the normal names of an object's properties."""
    if not isinstance(schema, dict):
        return set()
    try:
        merged = reader_of(root).merged(schema)
    except (NoInstanceError, RecursionError):
        return set()
    return {normal(name) for name in merged.get("properties", {})}


def reader_of(root: Any) -> Generator:
    """Return what follows the references of a schema."""
    return Generator(root, Random(0))


def find_entity(root: Any, many: bool, id_name: str, noun: str, fields: set[str]) -> Entity | None:
    """Find where a response shows an item: at its root, or in an envelope of at most two levels.

    Args:
        root: The response's schema.
        many: Whether an array of items is sought.
        id_name: The path parameter that names an item.
        noun: As `pet`.
        fields: Normal names that requests write.
    """
    reader = reader_of(root)
    best: tuple[int, int, Entity] | None = None
    queue: list[tuple[tuple[str, ...], Any]] = [((), root)]
    while queue:
        path, schema = queue.pop(0)
        merged = plain_of(reader, schema)
        if merged is None:
            continue
        item = merged
        if many:
            item = plain_of(reader, merged.get("items")) or {} if "items" in merged else {}
        properties = item.get("properties", {})
        if properties and (not many or "items" in merged):
            id_field = _id_field(reader, properties, id_name, noun)
            score = 2 * bool(id_field) + sum(normal(name) in fields for name in properties)
            if score and (best is None or (score, -len(path)) > best[:2]):
                best = (
                    score,
                    -len(path),
                    Entity(path, many, properties, id_field, frozenset(item.get("required", ()))),
                )
        if len(path) < 2:
            queue += [
                ((*path, name), inner) for name, inner in list(merged.get("properties", {}).items())[:60]
            ]
    return best[2] if best else None


def plain_of(reader: Generator, schema: Any) -> dict[str, Any] | None:
    """Follow references and the first alternative, as the generator does."""
    if not isinstance(schema, dict):
        return None
    try:
        merged = reader.merged(schema)
        for _ in range(4):
            key = next((key for key in ("oneOf", "anyOf") if key in merged), None)
            if key is None:
                return merged
            options = [one for one in merged[key] if isinstance(one, dict) and one != {"type": "null"}]
            if not options:
                return merged
            rest = {word: value for word, value in merged.items() if word not in {"oneOf", "anyOf"}}
            merged = reader.merged({"allOf": [rest, options[0]]})
        return merged
    except (NoInstanceError, RecursionError):
        return None


def _id_field(reader: Generator, properties: dict[str, Any], id_name: str, noun: str) -> str:
    wanted = [
        normal(id_name),
        *_IDS[:7],
        normal(f"{noun}id"),
        normal(f"{noun}uuid"),
        normal(f"{noun}name"),
        *_IDS[7:],
    ]
    names: dict[str, str] = {}
    for name in properties:
        names.setdefault(normal(name), name)
    for want in wanted:
        found = names.get(normal(want)) if want else None
        if found is not None and is_scalar(plain_of(reader, properties[found])):
            return found
    return ""


def is_scalar(schema: dict[str, Any] | None) -> bool:
    """Say whether a value is a text or a number."""
    if schema is None:
        return False
    kinds = schema.get("type")
    if kinds is None:
        return not any(key in schema for key in ("properties", "items"))
    return bool({"string", "integer", "number"} & set(kinds if isinstance(kinds, list) else [kinds]))
