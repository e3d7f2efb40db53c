"""How people write the values of an API: dates as days, states in words; said in the schemas, as `x-surface`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planarena.environments.sources.field_kinds import kind_of_number, kind_of_text
from planarena.environments.sources.openapi.asking import Style
from planarena.environments.sources.openapi.fields import kinds_of, merged_of
from planarena.environments.sources.openapi.labels import choice_words
from planarena.environments.sources.openapi.resources import Route

__all__ = ["surfaced_arguments", "surfaced_result"]

_BY_STYLE = {"date": "date", "date-time": "datetime", "percent": "percent", "minutes": "minutes"}


def surfaced_arguments(properties: Mapping[str, Any], styles: Mapping[str, Style]) -> dict[str, Any]:
    """Return the schemas of arguments, each with how people write it."""
    return {
        key: {**schema, "x-surface": _BY_STYLE[styles[key].kind]}
        if key in styles and styles[key].kind in _BY_STYLE and isinstance(schema, dict)
        else schema
        for key, schema in properties.items()
    }


def surfaced_result(route: Route) -> Any:
    """Return the schema of a result, with how people write the plain values of the items that it shows.

    What lies between the root and the items is written out, as a reference cannot be annotated.
    """
    root, entity = route.operation.tool.output_schema, route.entity
    if entity is None or not isinstance(root, dict):
        return root
    path = [*(("properties", name) for name in entity.path), *([("items", "")] if entity.many else [])]
    return _along(root, root, path)


def _along(schema: Any, root: Any, path: list[tuple[str, str]]) -> Any:
    merged = merged_of(schema, root)
    if not merged:
        return schema
    if not path:
        inner = {name: _surfaced(name, one, root) for name, one in merged.get("properties", {}).items()}
        return {**merged, "properties": inner} if inner else schema
    (word, name), *rest = path
    if word == "items":
        return {**merged, "items": _along(merged.get("items"), root, rest)}
    properties = merged.get("properties", {})
    if name not in properties:
        return schema
    return {**merged, "properties": {**properties, name: _along(properties[name], root, rest)}}


def _surfaced(name: str, schema: Any, root: Any) -> Any:
    merged = merged_of(schema, root)
    kinds = kinds_of(merged)
    if kinds == {"string"}:
        kind = kind_of_text(str(merged.get("format", "")), name)
        surface = {"date": "date", "date-time": "datetime"}.get(kind, "")
        codes = kind_of_text("", name) in {
            "currency",
            "country",
            "country_code",
            "language",
            "locale",
            "region",
        }
        if not codes and any(isinstance(one, str) and choice_words(one) for one in merged.get("enum", ())):
            surface = "choice"
        return {**merged, "x-surface": surface} if surface else schema
    if kinds and kinds <= {"integer", "number"}:
        surface = {"minutes": "minutes", "temperature": "temperature", "percent": "percent"}.get(
            kind_of_number(name), ""
        )
        return {**merged, "x-surface": surface} if surface else schema
    return schema
