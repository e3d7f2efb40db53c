"""The fields of emulated items: what a call says, how a response shows it, what filters and ids make of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from planarena.environments.sources.instances import Generator, NoInstanceError
from planarena.environments.sources.openapi.identifiers import normal
from planarena.environments.sources.openapi.resources import Api, Route
from planarena.environments.state import Record

__all__ = ["agrees", "fields_of", "id_schema", "kinds_of", "mentions", "merged_of", "placed", "told_by"]


def merged_of(schema: Any, root: Any) -> dict[str, Any]:
    """Return a schema with its references followed; the only alternative that is not null counts as the schema."""
    if not isinstance(schema, dict):
        return {}
    try:
        merged = Generator(root, Random(0)).merged(schema)
        for word in ("anyOf", "oneOf"):
            options = [
                one for one in merged.get(word, ()) if isinstance(one, dict) and one.get("type") != "null"
            ]
            if len(options) == 1:
                merged = Generator(root, Random(0)).merged(
                    {"allOf": [{key: value for key, value in merged.items() if key != word}, options[0]]}
                )
    except (NoInstanceError, RecursionError):
        return {}
    return merged


def kinds_of(schema: Mapping[str, Any]) -> set[str]:
    """Return the JSON types that a schema allows, but for null."""
    stated = schema.get("type")
    return {stated} if isinstance(stated, str) else {one for one in stated or () if one != "null"}


def id_schema(api: Api, shape: str) -> tuple[dict[str, Any], Any]:
    """Fold what the item's path parameter and the responses' id fields ask of an id into one schema."""
    parts: list[tuple[Any, Any]] = []
    for route in api.routes.values():
        tool = route.operation.tool
        if route.shape == shape and route.role in {"read", "update", "delete", "part", "act"} and route.steps:
            parts.append((tool.parameters[route.steps[-1][0]], tool.input_schema))
        if route.shape == shape and route.entity is not None and route.entity.id_field:
            parts.append((route.entity.properties[route.entity.id_field], tool.output_schema))
    merged: dict[str, Any] = {}
    root: Any = {}
    for part, holder in parts:
        try:
            flat = Generator(holder, Random(0)).merged(part) if isinstance(part, dict) else {}
            merged = Generator({}, Random(0)).merged({"allOf": [merged, flat]})
        except (NoInstanceError, RecursionError):
            continue
        root = holder if any(word in flat for word in ("oneOf", "anyOf")) else root
    kinds = merged.get("type")
    if shape in api.id_types:
        kinds = merged["type"] = api.id_types[shape]
    if isinstance(kinds, list):
        merged = {**merged, "type": next((kind for kind in kinds if kind != "null"), "string")}
    return merged, root


def fields_of(route: Route, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a call says, by the names that the API uses; a body in an envelope is opened."""
    fields: dict[str, Any] = {}
    for key, value in arguments.items():
        place, name = route.operation.placement.get(key, ("query", key))
        if place in {"field", "form", "query"}:
            fields[name] = value
        elif place == "body":
            if isinstance(value, dict) and len(value) == 1 and isinstance(next(iter(value.values())), dict):
                value = next(iter(value.values()))
            fields.update(value if isinstance(value, dict) else {"body": value})
    told = [name for name in fields if normal(name) == "data"]
    if told and isinstance(fields[told[0]], dict):
        fields.update(fields.pop(told[0]))
    return fields


def mentions(value: Any, words: str) -> bool:
    """Say whether a text somewhere in a value holds words."""
    if isinstance(value, dict):
        return any(mentions(inner, words) for inner in value.values())
    return isinstance(value, str) and words.lower() in value.lower()


def agrees(record: Record, plain: str, value: Any) -> bool:
    """Say whether an item passes a filter: it has the value in the field, or no such field."""
    for word, own in record["fields"].items():
        if normal(word) == plain and not isinstance(own, dict | list):
            return str(own).lower() == str(value).lower()
    return True


def placed(base: Any, path: tuple[str, ...], change: Callable[[Any], Any]) -> Any:
    """Return the base with the value at a path changed; what is not on the path is shared."""
    if not path:
        return change(base)
    if not isinstance(base, dict):
        return base
    return {**base, path[0]: placed(base.get(path[0], {}), path[1:], change)}


def told_by(base: Any, own: Mapping[str, Any]) -> Any:
    """Return the base with the values that a call told in their places."""
    if not isinstance(base, dict):
        return base
    mine = {normal(word): value for word, value in own.items()}
    return {name: mine.get(normal(name), value) for name, value in base.items()}
