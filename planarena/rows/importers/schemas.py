"""Parameters as data sets write them, as JSON Schema."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["normalise"]

_TYPES = {
    "string": "string", "str": "string", "text": "string", "date": "string", "time": "string",
    "datetime": "string", "enum": "string", "uuid": "string",
    "integer": "integer", "int": "integer", "long": "integer",
    "number": "number", "float": "number", "double": "number", "decimal": "number",
    "boolean": "boolean", "bool": "boolean",
    "array": "array", "list": "array", "tuple": "array", "set": "array", "sequence": "array", "iterable": "array",
    "object": "object", "dict": "object", "map": "object", "mapping": "object", "hashmap": "object",
    "null": "null", "none": "null",
}  # fmt: skip
_ANY = frozenset({"any", "object?", "mixed", "union", "callable"})
_GENERIC = re.compile(r"^(\w+)\s*[\[<(](.*)[\])>]$", re.DOTALL)


def normalise(parameters: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return a JSON Schema of the arguments, and what was changed to get it.

    Args:
        parameters: A JSON Schema with Python's or Java's names of types (`dict`, `float`), or a table of
            parameters, `{name: {type, description, default}}`, where `str, optional` and a default that is not
            empty make a parameter optional (xLAM, ToolRL).

    Returns:
        The schema, an object; and the repairs, one clause each.
    """
    repairs: list[str] = []
    if not isinstance(parameters, dict):
        if parameters is not None:
            repairs.append("parameters: not an object, dropped")
        parameters = {}
    if "properties" in parameters or parameters.get("type") in ("object", "dict"):
        schema = _schema(parameters, "parameters", repairs)
    else:
        schema = _table(parameters, repairs)
    schema["type"] = "object"
    properties = schema.setdefault("properties", {})
    required = schema.get("required")
    if required is not None:
        known = [name for name in required if isinstance(name, str) and name in properties]
        if known != required:
            repairs.append("required: names without a property, dropped")
        schema["required"] = known
    return schema, tuple(dict.fromkeys(repairs))


def _table(parameters: dict[str, Any], repairs: list[str]) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    required: list[str] = []
    for name, written in parameters.items():
        entry = dict(written) if isinstance(written, dict) else {"description": str(written)}
        kind = entry.get("type")
        optional = entry.get("default") not in (None, "")
        if isinstance(kind, str) and "optional" in kind.lower():
            optional = True
            entry["type"] = (
                re.sub(r",?\s*\boptional\b(?!\[)", "", kind, flags=re.IGNORECASE).strip(" ,") or "any"
            )
        if entry.pop("required", None) is False:
            optional = True
        properties[name] = _schema(entry, f"parameters/{name}", repairs)
        if not optional:
            required.append(name)
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}


def _schema(written: Any, where: str, repairs: list[str]) -> dict[str, Any]:
    if not isinstance(written, dict):
        repairs.append(f"{where}: not a schema, dropped")
        return {}
    schema = dict(written)
    if "type" in schema:
        schema = {**_type(schema.pop("type"), where, repairs), **schema}
    properties = schema.get("properties")
    if isinstance(properties, dict):
        within = []
        for name, inner in properties.items():
            # Some sources mark a property as required in itself; JSON Schema wants the list.
            if isinstance(inner, dict) and isinstance(inner.get("required"), bool):
                if inner["required"]:
                    within.append(name)
                inner = {key: value for key, value in inner.items() if key != "required"}
                repairs.append(f"{where}/{name}: required as a flag, moved to the list")
            properties = {**properties, name: _schema(inner, f"{where}/{name}", repairs)}
        schema["properties"] = properties
        listed = schema.get("required")
        if within and (listed is None or isinstance(listed, list)):
            schema["required"] = [*(listed or []), *(name for name in within if name not in (listed or []))]
    elif "properties" in schema:
        del schema["properties"]
        repairs.append(f"{where}: properties that are no object, dropped")
    if "required" in schema and not isinstance(schema["required"], list):
        del schema["required"]
        repairs.append(f"{where}: required that is no list, dropped")
    if "items" in schema:
        schema["items"] = _schema(schema["items"], f"{where}/items", repairs)
    return schema


def _type(kind: Any, where: str, repairs: list[str]) -> dict[str, Any]:
    """Return the schema of a named type."""
    if isinstance(kind, list) and all(isinstance(one, str) and one.lower() in _TYPES for one in kind):
        return {"type": [_TYPES[one.lower()] for one in kind]}
    if isinstance(kind, str):
        word = kind.strip()
        known = _TYPES.get(word.lower())
        if known is not None:
            if known != word:
                repairs.append(f"{where}: type {word} became {known}")
            return {"type": known}
        if word.lower() in _ANY:
            repairs.append(f"{where}: type {word} dropped")
            return {}
        generic = _GENERIC.match(word)
        if generic:
            return _generic(generic[1].lower(), generic[2], word, where, repairs)
    repairs.append(f"{where}: type {kind!r} dropped")
    return {}


def _generic(outer: str, inner: str, word: str, where: str, repairs: list[str]) -> dict[str, Any]:
    if outer == "optional":
        return _type(inner, where, repairs)
    known = _TYPES.get(outer)
    if known is None:
        repairs.append(f"{where}: type {word} dropped")
        return {}
    repairs.append(f"{where}: type {word} became {known}")
    if known == "array" and inner.strip() and "," not in inner:
        items = _type(inner, f"{where}/items", repairs)
        return {"type": "array", **({"items": items} if items else {})}
    return {"type": known}
