"""Compiling JSON Schemas safely and validating arguments: jsonschema-rs for speed, jsonschema for words.

References resolve inside the schema's own document only. Both libraries would fetch URLs and read
`file://` paths: a reference that leaves the document is refused before either sees it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote

import jsonschema_rs

from planarena.errors import SchemaError
from planarena.tools.endless import is_endless

__all__ = [
    "MAX_SCHEMA_DEPTH",
    "MAX_SCHEMA_NODES",
    "SchemaValidator",
    "check_schema",
    "compile_together",
]

MAX_SCHEMA_DEPTH = 64
MAX_SCHEMA_NODES = 20_000
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
# Keywords whose values are data, not schemas: a "$ref" inside them is a plain word.
_DATA = ("enum", "const", "default", "examples", "example")
# Under these the keys are names: there a "$ref" is a property.
_NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_POINTING = frozenset({*_REFERENCES, "$id", "id"})


def check_schema(schema: Any, where: str) -> int:
    """Refuse a schema that is too large or deep, or that refers outside itself; read nothing, fetch nothing.

    Returns:
        The number of values in it, at most 20,000.

    Raises:
        SchemaError: With the place and the fix.
    """
    if not isinstance(schema, dict | bool):
        raise SchemaError(
            f"a schema must be a JSON object, not {type(schema).__name__}",
            where=where,
            fix='write {"type": "object", ...}',
        )
    stack: list[tuple[Any, int, str, bool]] = [(schema, 0, "", True)]
    nodes = 0
    while stack:
        item, depth, pointer, is_schema = stack.pop()
        nodes += 1
        if depth > MAX_SCHEMA_DEPTH:
            raise SchemaError(
                f"nested deeper than {MAX_SCHEMA_DEPTH}", where=where + pointer, fix="use $defs and $ref"
            )
        if nodes > MAX_SCHEMA_NODES:
            raise SchemaError(f"more than {MAX_SCHEMA_NODES} values", where=where, fix="split the tool")
        if isinstance(item, dict):
            if is_schema and not _POINTING.isdisjoint(item):
                _check_references(item, where + pointer)
                _check_targets(item, schema, where + pointer)
            for key, value in item.items():
                if is_schema and key in _NAMED and isinstance(value, dict):
                    stack.extend(
                        (child, depth + 2, f"{pointer}/{key}/{name}", True) for name, child in value.items()
                    )
                elif not (is_schema and key in _DATA):
                    stack.append((value, depth + 1, f"{pointer}/{key}", is_schema))
        elif isinstance(item, list):
            stack.extend(
                (child, depth + 1, f"{pointer}/{place}", is_schema) for place, child in enumerate(item)
            )
    return nodes


def _check_references(item: dict[str, Any], where: str) -> None:
    for keyword in _REFERENCES:
        target = item.get(keyword)
        if isinstance(target, str) and not target.startswith("#"):
            raise SchemaError(
                f"{keyword} points outside the document: {target[:120]!r}",
                where=where,
                fix="copy the schema into this document under $defs and refer to it as #/$defs/NAME; nothing is fetched",
            )
    for keyword in ("$id", "id"):
        target = item.get(keyword)
        if isinstance(target, str) and re.match(r"^[A-Za-z][A-Za-z0-9+.-]*:", target):
            raise SchemaError(
                f"{keyword} gives the schema a base address: {target[:120]!r}",
                where=where,
                fix=f"remove {keyword}; references are resolved inside the document",
            )


def _refuse_retrieval(uri: str) -> Any:
    raise LookupError(f"references are not fetched: {uri}")


def _check_targets(item: dict[str, Any], root: Any, where: str) -> None:
    """Refuse a pointer that leads nowhere: the fast path overlooks one that it never follows."""
    target = item.get("$ref")
    if not isinstance(target, str) or not target.startswith("#/"):
        return
    found = root
    for word in unquote(target[2:]).split("/"):
        word = word.replace("~1", "/").replace("~0", "~")
        try:
            found = found[int(word)] if isinstance(found, list) else found[word]
        except (KeyError, IndexError, TypeError, ValueError):
            raise SchemaError(
                f"the schema does not compile: $ref points nowhere: {target[:120]!r}",
                where=where,
                fix="define it under $defs, or correct the name",
            ) from None


def _compile(schema: Any, where: str) -> Any:
    try:
        return jsonschema_rs.Draft202012Validator(schema, retriever=_refuse_retrieval)
    except (ValueError, TypeError, jsonschema_rs.ReferencingError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise SchemaError(
            f"the schema does not compile: {reason}",
            where=where,
            fix="correct it; `planarena tools check FILE` shows all",
        ) from error


def compile_together(schemas: Mapping[str, dict[str, Any] | bool]) -> dict[str, SchemaValidator]:
    """Compile schemas that share their definitions, each definition once.

    Of some APIs every answer reaches hundreds of definitions: compiled one by one, their schemas take megabytes each.

    Args:
        schemas: By any name. `check_schema` has passed them, or all parts that they are made of; references in them
            lead to `#/$defs/...` alone, and definitions of the same name are equal.

    Raises:
        SchemaError: One does not compile; which one, only compiling them one by one says.
    """
    definitions: dict[str, Any] = {}
    parts: dict[str, Any] = {}
    for name, schema in schemas.items():
        if isinstance(schema, dict):
            definitions.update(schema.get("$defs", {}))
            schema = {key: value for key, value in schema.items() if key != "$defs"}
        parts[name] = schema
    whole = _compile({"$defs": definitions, "properties": parts}, "schemas")
    return {
        name: SchemaValidator(schema, name, checked=True, is_valid=_Part(whole, name))
        for name, schema in schemas.items()
    }


class _Part:
    """One of the schemas that were compiled together."""

    __slots__ = ("_is_valid", "_name")

    def __init__(self, whole: Any, name: str) -> None:
        self._is_valid, self._name = whole.is_valid, name

    def __call__(self, instance: Any) -> bool:
        return bool(self._is_valid({self._name: instance}))


class SchemaValidator:
    """A compiled schema.

    Args:
        schema: JSON Schema 2020-12.
        where: What to name in errors.
        checked: Whether `check_schema` has passed it, or all parts that it is made of.
        is_valid: What judges by it, where it is compiled already.

    Raises:
        SchemaError: The schema does not compile or refers outside itself.
    """

    __slots__ = ("_endless", "_reference", "_schema", "is_valid")

    def __init__(
        self,
        schema: dict[str, Any] | bool,
        where: str = "schema",
        *,
        checked: bool = False,
        is_valid: Callable[[Any], bool] | None = None,
    ) -> None:
        if not checked:
            check_schema(schema, where)
        self._schema = schema
        self._reference: Any = None
        self._endless: bool | None = None
        # A bound method kept as an attribute: this is the hot path of every call.
        self.is_valid: Callable[[Any], bool] = is_valid or _compile(schema, where).is_valid

    def first_error(self, instance: Any) -> str | None:
        """Return the reference implementation's message for the first error, or None if valid."""
        missing = self._missing(instance)
        if missing:
            # The commonest fault, worded as the reference words it and in its place, without the wait.
            return f"{min(map(repr, missing))} is a required property"
        if self.endless:
            return None if self.is_valid(instance) else "the schema refers to itself without end"
        try:
            errors = sorted(
                self.reference.iter_errors(instance),
                key=lambda error: (list(map(str, error.absolute_path)), error.message),
            )
        except RecursionError:
            return None if self.is_valid(instance) else "nested too deeply"
        if not errors:
            return None
        path = "/".join(map(str, errors[0].absolute_path))
        message = errors[0].message
        message = message if len(message) <= 300 else message[:300] + "..."
        return f"{path}: {message}" if path else message

    def _missing(self, instance: Any) -> list[str]:
        schema = self._schema
        if not isinstance(schema, dict) or schema.get("type") != "object" or not isinstance(instance, dict):
            return []
        # Other keywords of the root could put an error of theirs first.
        if not schema.keys() <= _PLAIN_OBJECT:
            return []
        return [name for name in schema.get("required", ()) if name not in instance]

    @property
    def reference(self) -> Any:
        """The validator of `jsonschema`, the reference: slow, for messages and differential tests."""
        if self._reference is None:
            from jsonschema import Draft202012Validator

            self._reference = Draft202012Validator(self._schema, registry=_empty_registry())
        return self._reference

    @property
    def endless(self) -> bool:
        """Whether the schema refers to itself at the same value; the reference cannot judge by it."""
        if self._endless is None:
            self._endless = is_endless(self._schema)
        return self._endless

    def reference_is_valid(self, instance: Any) -> bool:
        """Validate with `jsonschema`, the reference.

        Raises:
            RecursionError: The schema is `endless`, or the value is nested too deeply for the reference.
        """
        if self.endless:
            raise RecursionError("the schema refers to itself without end")
        return bool(self.reference.is_valid(instance))


_PLAIN_OBJECT = frozenset(
    {"type", "properties", "required", "additionalProperties", "description", "title", "$schema"}
)


def _empty_registry() -> Any:
    from referencing import Registry
    from referencing.exceptions import NoSuchResource

    def refuse(uri: str) -> Any:
        raise NoSuchResource(uri)

    return Registry(retrieve=refuse)  # type: ignore[call-arg]
