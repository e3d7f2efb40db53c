"""JSON Schemas from typed Python signatures and Google-style docstrings."""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Callable
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from planarena.errors import SchemaError
from planarena.tools.semantics import Semantic

__all__ = ["describe", "input_schema", "output_schema", "schema_of"]

_PLAIN: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    Any: {},
}
_SECTION = re.compile(r"^(Args|Arguments|Returns|Raises|Errors|Example|Examples):\s*$")
_ARGUMENT = re.compile(r"^\s{2,}(\w+)\s*(?:\([^)]*\))?:\s*(.*)$")


def describe(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """Split a docstring into the tool's description and its arguments' descriptions."""
    text = inspect.getdoc(function) or ""
    head: list[str] = []
    arguments: dict[str, str] = {}
    section, last = "", ""
    for line in text.splitlines():
        found = _SECTION.match(line)
        if found:
            section, last = found.group(1), ""
        elif not section:
            head.append(line.strip())
        elif section in {"Args", "Arguments"}:
            argument = _ARGUMENT.match("  " + line if not line.startswith(" ") else line)
            if argument:
                last = argument.group(1)
                arguments[last] = argument.group(2).strip()
            elif last and line.strip():
                arguments[last] += " " + line.strip()
    return " ".join(part for part in head if part), arguments


def schema_of(annotation: Any, where: str) -> dict[str, Any]:
    """Return the JSON Schema of a type.

    Args:
        annotation: The type, as in a signature.
        where: What is being described, for errors.

    Raises:
        SchemaError: The type has no schema.
    """
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is NotRequired:
        return schema_of(arguments[0], where)
    if origin is Annotated:
        schema = schema_of(arguments[0], where)
        for extra in arguments[1:]:
            if isinstance(extra, Semantic):
                words = extra.annotations()
                if schema.get("type") == "array":
                    schema = {**schema, "items": {**schema["items"], **words}}
                else:
                    schema = {**schema, **words}
            elif isinstance(extra, str):
                schema = {**schema, "description": extra}
        return schema
    if annotation in _PLAIN:
        return dict(_PLAIN[annotation])
    if origin is Literal:
        kinds = {type(value) for value in arguments}
        schema = {"enum": list(arguments)}
        if len(kinds) == 1:
            schema = {**_PLAIN[kinds.pop()], **schema}
        return schema
    if origin is list:
        return {"type": "array", "items": schema_of(arguments[0], where)}
    if origin is dict:
        return {"type": "object", "additionalProperties": schema_of(arguments[1], where)}
    if origin in (Union, types.UnionType):
        members = [schema_of(item, where) for item in arguments if item is not type(None)]
        if len(members) == len(arguments):
            return {"anyOf": members}
        if len(members) == 1 and isinstance(members[0].get("type"), str) and "enum" not in members[0]:
            return {**members[0], "type": [members[0]["type"], "null"]}
        return {"anyOf": [*members, {"type": "null"}]}
    if is_typeddict(annotation):
        hints = get_type_hints(annotation, include_extras=True)
        # Under postponed annotations __optional_keys__ misses NotRequired: the resolved hints tell.
        optional = {name for name, hint in hints.items() if get_origin(hint) is NotRequired}
        optional |= annotation.__optional_keys__
        return {
            "type": "object",
            "properties": {name: schema_of(hint, f"{where}.{name}") for name, hint in hints.items()},
            "required": [name for name in hints if name not in optional],
        }
    raise SchemaError(
        f"the type {annotation!r} has no JSON Schema",
        where=where,
        fix="use str, int, float, bool, Literal, list, dict[str, T], TypedDict, T | None or Annotated of these",
    )


def input_schema(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the JSON Schema (2020-12, an object) of a function's arguments; `self` is left out.

    Raises:
        SchemaError: An argument has no type, a type without a schema, or no description.
    """
    hints = get_type_hints(function, include_extras=True)
    _, descriptions = describe(function)
    properties: dict[str, Any] = {}
    required: list[str] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if name == "self":
            continue
        where = f"{function.__qualname__}({name})"
        if name not in hints:
            raise SchemaError("the argument has no type", where=where, fix="annotate it")
        annotation = hints[name]
        optional = parameter.default is not inspect.Parameter.empty
        # `T | None = None` says "may be left out", not "null is a value": callers leave it out.
        if optional and parameter.default is None:
            annotation = _without_none(annotation)
        schema = schema_of(annotation, where)
        if name not in descriptions:
            raise SchemaError(
                "the argument is not described", where=where, fix="add it to the docstring's Args"
            )
        schema = {**schema, "description": descriptions[name]}
        if not optional:
            required.append(name)
        elif parameter.default is not None:
            schema["default"] = parameter.default
        properties[name] = schema
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _without_none(annotation: Any) -> Any:
    if get_origin(annotation) in (Union, types.UnionType):
        rest = tuple(item for item in get_args(annotation) if item is not type(None))
        return rest[0] if len(rest) == 1 else Union[rest]  # noqa: UP007  built from a tuple
    return annotation


def output_schema(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the JSON Schema of a function's result, from its return type.

    Raises:
        SchemaError: The return type is absent or has no schema.
    """
    hints = get_type_hints(function, include_extras=True)
    where = f"{function.__qualname__} -> result"
    if "return" not in hints:
        raise SchemaError("the result has no type", where=where, fix="annotate the return type")
    return schema_of(hints["return"], where)
