"""Schemas of functions as users write them, and values to and from JSON.

It runs in the sandbox beside `_service.py` and imports nothing of planarena: what the strict reader of signatures
refuses (no docstring, dataclasses, pydantic models, enumerations, dates) is read here as well as it can be.
"""

import dataclasses
import datetime
import decimal
import enum
import inspect
import re
import types
import typing
import uuid
from typing import Any, Literal, Union, get_args, get_origin

# The classes as they are before the clock is stopped: what a module imports later are children of these.
_DATE, _MOMENT, _TIME = datetime.date, datetime.datetime, datetime.time

__all__ = ["docstring", "from_json", "input_schema", "is_record", "output_schema", "schema_of", "to_json"]

_PLAIN: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    bytes: {"type": "string"},
    dict: {"type": "object"},
    list: {"type": "array"},
    tuple: {"type": "array"},
    set: {"type": "array", "uniqueItems": True},
    decimal.Decimal: {"type": "number"},
    uuid.UUID: {"type": "string", "format": "uuid"},
}
_SECTION = re.compile(r"^\s*(Args|Arguments|Parameters|Params|Returns?|Raises|Yields|Examples?|Notes?):?\s*$")
_GOOGLE = re.compile(r"^\s*\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.+)$")
_SPHINX = re.compile(r"^\s*:param\s+(?:[\w\[\], .|]+\s+)?(\w+)\s*:\s*(.*)$")
_NUMPY = re.compile(r"^(\w+)\s*:\s*\S.*$")
_DEEPEST = 6


def docstring(function: Any) -> tuple[str, dict[str, str]]:
    """Return the description of a function and of its arguments: Google, Sphinx and NumPy styles, or none at all."""
    text = inspect.getdoc(function) or ""
    head: list[str] = []
    arguments: dict[str, str] = {}
    section = last = ""
    for line in text.splitlines():
        if (found := _SPHINX.match(line)) is not None:
            section, last = "sphinx", found.group(1)
            arguments[last] = found.group(2).strip()
        elif re.match(r"^\s*:\w+", line):
            section, last = "other", ""
        elif (found := _SECTION.match(line)) is not None:
            section, last = found.group(1), ""
        elif set(line.strip()) == {"-"}:
            continue
        elif not section:
            head.append(line.strip())
        elif section.startswith(("Arg", "Param")):
            numpy = _NUMPY.match(line) if not line.startswith(" ") else None
            found = _GOOGLE.match(line)
            if numpy is not None and section == "Parameters":
                last = numpy.group(1)
                arguments[last] = ""
            elif found is not None:
                last = found.group(1)
                arguments[last] = found.group(2).strip()
            elif last and line.strip():
                arguments[last] = f"{arguments[last]} {line.strip()}".strip()
        elif section == "sphinx" and last and line.strip():
            arguments[last] = f"{arguments[last]} {line.strip()}".strip()
    return " ".join(part for part in head if part), arguments


def is_record(annotation: Any) -> bool:
    """Say whether a class describes data: a dataclass, a pydantic model, a TypedDict, a NamedTuple."""
    return isinstance(annotation, type) and (
        dataclasses.is_dataclass(annotation)
        or hasattr(annotation, "model_json_schema")
        or typing.is_typeddict(annotation)
        or (issubclass(annotation, tuple) and hasattr(annotation, "_fields"))
    )


def schema_of(annotation: Any, depth: int = 0) -> dict[str, Any]:
    """Return the JSON Schema of a type; what has none allows anything."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if depth > _DEEPEST or annotation is Any or annotation is inspect.Parameter.empty:
        return {}
    if origin is typing.Annotated:
        return schema_of(inner[0], depth) | _extras(inner[1:])
    if origin in (typing.NotRequired, typing.Required):
        return schema_of(inner[0], depth)
    if annotation in _PLAIN:
        return dict(_PLAIN[annotation])
    if origin is Literal:
        kinds = {type(value) for value in inner}
        named = _PLAIN.get(next(iter(kinds)), {}) if len(kinds) == 1 else {}
        return {**named, "enum": list(inner)}
    if origin in (Union, types.UnionType):
        members = [schema_of(one, depth) for one in inner if one is not type(None)]
        return members[0] if len(members) == 1 else {"anyOf": members}
    if origin in (list, set, frozenset, tuple) or str(origin).startswith("<class 'collections.abc"):
        first = schema_of(inner[0], depth + 1) if inner else {}
        if origin is not None and issubclass(origin, typing.Mapping):
            return {"type": "object", "additionalProperties": schema_of(inner[-1], depth + 1)}
        return {"type": "array", "items": first}
    if origin is dict:
        return {"type": "object", "additionalProperties": schema_of(inner[1], depth + 1)}
    if isinstance(annotation, type):
        return _of_class(annotation, depth)
    return {}


def _extras(extras: tuple[Any, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for one in extras:
        if isinstance(one, str):
            found["description"] = one
        elif isinstance(described := getattr(one, "description", None), str):
            found["description"] = described
        semantic = getattr(one, "annotations", None)
        if callable(semantic):
            found |= semantic()
    return found


def _of_class(kind: type, depth: int) -> dict[str, Any]:
    for day, form in ((_MOMENT, "date-time"), (_DATE, "date"), (_TIME, "time")):
        if issubclass(kind, day):
            return {"type": "string", "format": form}
    if issubclass(kind, enum.Enum):
        values = [member.value for member in kind]
        kinds = {type(value) for value in values}
        return {**(_PLAIN.get(kinds.pop(), {}) if len(kinds) == 1 else {}), "enum": values}
    if hasattr(kind, "model_fields"):
        return _object(
            {
                name: (field.annotation, field.is_required(), _extras((field,)) | _bounds(field))
                for name, field in kind.model_fields.items()
            },
            depth,
        )
    hints = _hints(kind)
    if dataclasses.is_dataclass(kind):
        return _object(
            {
                one.name: (
                    hints.get(one.name, one.type),
                    one.default is dataclasses.MISSING and one.default_factory is dataclasses.MISSING,
                    {},
                )
                for one in dataclasses.fields(kind)
                if one.init
            },
            depth,
        )
    if typing.is_typeddict(kind):
        optional = set(kind.__optional_keys__)  # type: ignore[attr-defined]
        optional |= {name for name, hint in hints.items() if get_origin(hint) is typing.NotRequired}
        return _object({name: (hint, name not in optional, {}) for name, hint in hints.items()}, depth)
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return _object({name: (hints.get(name, Any), True, {}) for name in kind._fields}, depth)
    return {}


def _bounds(field: Any) -> dict[str, Any]:
    """Return what a pydantic field's metadata says of its values."""
    names = {
        "ge": "minimum",
        "gt": "exclusiveMinimum",
        "le": "maximum",
        "lt": "exclusiveMaximum",
        "min_length": "minLength",
        "max_length": "maxLength",
        "pattern": "pattern",
    }
    found = {}
    for one in getattr(field, "metadata", ()):
        for name, word in names.items():
            value = getattr(one, name, None)
            if isinstance(value, int | float | str):
                found[word] = value
    return found


def _object(fields: dict[str, tuple[Any, bool, dict[str, Any]]], depth: int) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name: schema_of(kind, depth + 1) | more for name, (kind, _, more) in fields.items()},
        "required": [name for name, (_, needed, _) in fields.items() if needed],
    }


def _hints(of: Any) -> dict[str, Any]:
    try:
        return typing.get_type_hints(of, include_extras=True)
    except Exception:
        return dict(getattr(of, "__annotations__", {}))


def input_schema(function: Any) -> dict[str, Any]:
    """Return the schema of a function's arguments; `*args` and `**kwargs` are none."""
    hints, (_, described) = _hints(function), docstring(function)
    properties: dict[str, Any] = {}
    required: list[str] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if name in {"self", "cls"} or parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}:
            continue
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise TypeError(f"the argument {name} has no name that a call can use")
        schema = schema_of(hints.get(name, Any))
        if described.get(name):
            schema["description"] = described[name]
        if parameter.default is parameter.empty:
            required.append(name)
        elif isinstance(parameter.default, str | int | float | bool):
            schema["default"] = to_json(parameter.default)
        if not schema and isinstance(parameter.default, str | int | float | bool):
            schema = dict(_PLAIN[type(parameter.default)])
        properties[name] = schema
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def output_schema(function: Any) -> dict[str, Any] | None:
    """Return the schema of what a function gives, None where its type says nothing."""
    annotation = _hints(function).get("return", Any)
    if get_origin(annotation) in (Union, types.UnionType) and type(None) in get_args(annotation):
        return None
    return schema_of(annotation) or None


def from_json(value: Any, annotation: Any) -> Any:
    """Return a JSON value as the type that a function expects."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is typing.Annotated:
        return from_json(value, inner[0])
    if value is None:
        return None
    if origin in (Union, types.UnionType):
        for one in inner:
            if one is not type(None):
                return from_json(value, one)
    if origin in (list, set, tuple, frozenset) and isinstance(value, list):
        return origin(from_json(one, inner[0]) for one in value)
    if origin is dict and isinstance(value, dict):
        return {key: from_json(one, inner[1]) for key, one in value.items()}
    if annotation in (set, tuple, frozenset) and isinstance(value, list):
        return annotation(value)
    if not isinstance(annotation, type):
        return value
    if hasattr(annotation, "model_validate"):
        return annotation.model_validate(value)
    if dataclasses.is_dataclass(annotation) and isinstance(value, dict):
        hints = _hints(annotation)
        return annotation(**{key: from_json(one, hints.get(key, Any)) for key, one in value.items()})
    if issubclass(annotation, tuple) and hasattr(annotation, "_fields") and isinstance(value, dict):
        return annotation(**value)
    if issubclass(annotation, enum.Enum):
        return annotation(value)
    if issubclass(annotation, _DATE | _TIME):
        return annotation.fromisoformat(value)
    if annotation in (decimal.Decimal, uuid.UUID):
        return annotation(str(value))
    if annotation is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return value


def to_json(value: Any, depth: int = 0) -> Any:
    """Return what a function gave as a JSON value; what is none stays as it is, and is refused later."""
    if depth > 40 or value is None or type(value) in (str, int, float, bool):
        return value
    if isinstance(value, enum.Enum):
        return to_json(value.value, depth + 1)
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {one.name: to_json(getattr(value, one.name), depth + 1) for one in dataclasses.fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {key: to_json(one, depth + 1) for key, one in value._asdict().items()}
    if isinstance(value, dict):
        return {
            key if isinstance(key, str) else str(to_json(key)): to_json(one, depth + 1)
            for key, one in value.items()
        }
    if isinstance(value, list | tuple):
        return [to_json(one, depth + 1) for one in value]
    if isinstance(value, set | frozenset):
        return sorted((to_json(one, depth + 1) for one in value), key=repr)
    if isinstance(value, _DATE | _TIME):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return float(value)
    if isinstance(value, uuid.UUID | datetime.timedelta):
        return str(value)
    if isinstance(value, str | int | float):
        return value
    if hasattr(value, "__dict__") and type(value).__module__ not in {"builtins", "types"}:
        return {
            key: to_json(one, depth + 1) for key, one in vars(value).items() if not str(key).startswith("_")
        }
    return value
