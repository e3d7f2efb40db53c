"""The keywords of JSON Schema 2020-12 by what they hold, and the type names that other dialects have instead."""

from __future__ import annotations

from typing import Any

__all__ = [
    "COUNTS",
    "FLAGS",
    "FOREIGN_TYPES",
    "MANY",
    "NAMED",
    "NUMBERS",
    "ONE",
    "SILENT",
    "TEXT",
    "TYPES",
]

TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")
FOREIGN_TYPES: dict[str, dict[str, Any]] = {
    "dict": {"type": "object"}, "map": {"type": "object"}, "hash": {"type": "object"},
    "dictionary": {"type": "object"}, "struct": {"type": "object"}, "json": {"type": "object"},
    "float": {"type": "number"}, "double": {"type": "number"}, "decimal": {"type": "number"},
    "int": {"type": "integer"}, "int32": {"type": "integer"}, "int64": {"type": "integer"},
    "long": {"type": "integer"}, "short": {"type": "integer"},
    "str": {"type": "string"}, "text": {"type": "string"}, "file": {"type": "string"},
    "binary": {"type": "string"}, "enum": {"type": "string"}, "char": {"type": "string"},
    "date": {"type": "string", "format": "date"}, "datetime": {"type": "string", "format": "date-time"},
    "date-time": {"type": "string", "format": "date-time"}, "uuid": {"type": "string", "format": "uuid"},
    "uri": {"type": "string", "format": "uri"}, "url": {"type": "string", "format": "uri"},
    "bool": {"type": "boolean"}, "list": {"type": "array"}, "tuple": {"type": "array"}, "set": {"type": "array"},
    "none": {"type": "null"}, "any": {}, "mixed": {}, "unknown": {},
}  # fmt: skip
TEXT = (
    "title",
    "description",
    "$comment",
    "format",
    "contentEncoding",
    "contentMediaType",
    "x-semantic",
    "x-surface",
)
FLAGS = ("deprecated", "readOnly", "writeOnly", "uniqueItems", "x-hidden")
NUMBERS = ("maximum", "minimum", "exclusiveMaximum", "exclusiveMinimum", "multipleOf")
COUNTS = (
    "maxLength",
    "minLength",
    "maxItems",
    "minItems",
    "maxContains",
    "minContains",
    "maxProperties",
    "minProperties",
)
ONE = ("additionalProperties", "items", "contains", "propertyNames", "not", "if", "then", "else",
        "unevaluatedItems", "unevaluatedProperties", "contentSchema")  # fmt: skip
MANY = ("allOf", "anyOf", "oneOf", "prefixItems")
NAMED = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")
# Remarks of OpenAPI that JSON Schema has no use for: leaving them out changes nothing that is validated.
SILENT = ("xml", "externalDocs", "discriminator", "example", "collectionFormat", "allowEmptyValue", "id",
           "$id", "$schema", "$anchor", "style", "explode", "nullable")  # fmt: skip
