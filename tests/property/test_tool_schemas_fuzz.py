"""10,000 fuzzed schemas and 10,000 fuzzed calls: errors are ours or none, nothing is fetched, validators agree.

jsonschema and jsonschema-rs agree on every value that is drawn here: no difference is excused. The one place where
they part is a schema that refers to itself without end, which the reference answers with a RecursionError.
"""

from __future__ import annotations

import json
import socket
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import jsonschema_rs
import pytest
from jsonschema import Draft202012Validator

from planarena.environments.sources.instances import Generator, NoInstanceError
from planarena.errors import SourceError, UserError
from planarena.tools import SchemaValidator, examine_tool_list
from planarena.tools.openapi import convert_openapi
from planarena.tools.repair import Repairer

_WORDS = (
    "type", "properties", "required", "items", "enum", "anyOf", "oneOf", "allOf", "not", "$ref", "nullable", "minimum", "maximum",
    "exclusiveMinimum", "minLength", "maxLength", "pattern", "format", "additionalProperties", "default", "const", "uniqueItems",
    "minItems", "maxItems", "example", "examples", "x-y", "description", "$id", "$schema", "$defs", "definitions", "discriminator",
    "prefixItems", "patternProperties", "dependentRequired", "if", "then", "else", "multipleOf", "propertyNames", "contains", "readOnly",
)  # fmt: skip
_TYPES = (
    "string",
    "integer",
    "number",
    "boolean",
    "object",
    "array",
    "null",
    "dict",
    "float",
    "any",
    "file",
    "tuple",
    "String",
    "",
    "wrong",
)
_PATTERNS = (
    "^a+$",
    "(a+)+$",
    r"\p{Alpha}",
    "{,2}",
    "(",
    "[a-z]{2,3}",
    r"^(\d|x)*$",
    "a" * 1200,
    "(?=a)b",
    r"(a)\1",
)
_REFERENCES = (
    "#",
    "#/$defs/A",
    "#/properties/a",
    "#/nowhere",
    "http://127.0.0.1:1/x",
    "file:///etc/passwd",
    "other.json",
    "//x/y",
    "#/%zz",
    "",
)
_SCALARS = (
    0,
    -1,
    3,
    1.5,
    1e300,
    2**70,
    True,
    False,
    None,
    "",
    "a",
    "true",
    "3",
    "é",
    "\ud800",
    float("nan"),
    float("inf"),
)


def _value(rng: Random, depth: int = 0) -> Any:
    choice = rng.random()
    if depth < 3 and choice < 0.2:
        return [_value(rng, depth + 1) for _ in range(rng.randrange(4))]
    if depth < 3 and choice < 0.4:
        return {rng.choice("abcde"): _value(rng, depth + 1) for _ in range(rng.randrange(4))}
    return rng.choice(_SCALARS)


def _schema(rng: Random, depth: int = 0) -> Any:
    """Draw something like a schema: mostly plausible keywords with values that are often of the wrong kind."""
    if depth > 4 or rng.random() < 0.06:
        return rng.choice((True, False, {}, None, "string", 3, []))
    found: dict[str, Any] = {}
    for word in rng.sample(_WORDS, rng.randrange(1, 6)):
        if rng.random() < 0.12:
            found[word] = _value(rng)
        elif word == "type":
            found[word] = rng.choice(_TYPES) if rng.random() < 0.8 else rng.sample(_TYPES, 2)
        elif word in {"properties", "patternProperties", "$defs", "definitions"}:
            found[word] = {
                rng.choice(("a", "b", "A", "^a", "$ref", "type")): _schema(rng, depth + 1)
                for _ in range(rng.randrange(4))
            }
        elif word in {"anyOf", "oneOf", "allOf", "prefixItems"}:
            found[word] = [_schema(rng, depth + 1) for _ in range(rng.randrange(3))]
        elif word in {
            "items",
            "additionalProperties",
            "not",
            "if",
            "then",
            "else",
            "propertyNames",
            "contains",
        }:
            found[word] = _schema(rng, depth + 1)
        elif word == "$ref":
            found[word] = rng.choice(_REFERENCES)
        elif word == "pattern":
            found[word] = rng.choice(_PATTERNS)
        elif word in {"required", "enum", "examples"}:
            found[word] = [rng.choice(("a", "b", "a", 3, None)) for _ in range(rng.randrange(4))]
        elif word in {
            "minimum",
            "maximum",
            "minLength",
            "maxLength",
            "minItems",
            "maxItems",
            "multipleOf",
            "exclusiveMinimum",
        }:
            found[word] = rng.choice((0, 1, 2, 5, -3, 2.5, "4", True, 2**80))
        else:
            found[word] = rng.choice(("a", True, {"a": 1}, 3, None))
    return found


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    asked: list[Any] = []

    def refuse(*arguments: Any, **_: Any) -> Any:
        asked.append(arguments)
        raise OSError("a schema must not reach the network")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    return asked


@pytest.mark.slow
def test_fuzzed_schemas_and_calls(no_network: list[Any]) -> None:
    rng = Random(20260101)
    counts: Counter[str] = Counter()
    differences: list[tuple[Any, Any]] = []
    for number in range(10_000):
        repairer = Repairer(nullable=rng.random() < 0.5)
        try:
            schema = repairer.schema(_schema(rng))
            assert isinstance(schema, dict | bool)
            # Whatever went in, what comes out passes the meta-schema.
            assert jsonschema_rs.meta.is_valid(schema)
            if number % 20 == 0:  # the reference takes a millisecond and more
                Draft202012Validator.check_schema(schema)
            validator = SchemaValidator(schema)
        except UserError:
            counts["refused"] += 1
            continue
        counts["compiled"] += 1
        value = _call(schema, rng)
        fast = validator.is_valid(value)
        try:
            slow = validator.reference_is_valid(value)
        except RecursionError:
            counts["endless"] += 1  # {"$ref": "#"} alone: the reference implementation never ends
            continue
        if fast != slow:
            differences.append((schema, value))
        assert (validator.first_error(value) is None) == slow
        counts["valid" if fast else "invalid"] += 1
    assert no_network == []
    assert counts["compiled"] > 6_000
    assert counts["invalid"] > 500
    assert counts["valid"] > 500
    assert differences == []


@pytest.mark.parametrize(
    ("schema", "endless"),
    [
        ({"if": {"$ref": "#"}}, True),
        ({"not": {"$ref": "#"}}, True),
        ({"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}]}, "b": {"$ref": "#/$defs/a"}}}, True),
        ({"properties": {"x": {"$anchor": "x", "allOf": [{"$ref": "#x"}]}}}, True),
        ({"properties": {"x": {"$ref": "#"}}}, False),  # goes into the value: ends with it
        (
            {"allOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}], "$defs": {"a": {"type": "object"}}},
            False,
        ),
        ({"items": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}, False),
    ],
)
def test_the_reference_is_never_asked_about_a_schema_without_end(schema: Any, endless: bool) -> None:
    validator = SchemaValidator(schema)
    assert validator.endless is endless

    def ask(depth: int) -> Any:
        # How the reference fails hangs on where the stack ends, so it is asked at many depths.
        if depth:
            return ask(depth - 1)
        try:
            return validator.reference_is_valid({"b": 1})
        except RecursionError:
            return "endless"

    assert {ask(depth) for depth in range(40)} == ({"endless"} if endless else {True})
    assert (validator.first_error({"b": 1}) is None) == validator.is_valid({"b": 1})


def _call(schema: Any, rng: Random) -> Any:
    """Draw a value that often fits: made from the schema, or anything that is JSON."""
    if rng.random() < 0.5:
        try:
            return json.loads(json.dumps(Generator(schema, rng).value(schema)))
        except (NoInstanceError, RecursionError, ValueError):
            pass
    while True:
        value = _value(rng)
        try:
            json.dumps(value, allow_nan=False).encode()
        except ValueError:
            continue
        if "\\ud800" not in json.dumps(value) and str(2**70) not in json.dumps(value):
            return value


def test_fuzzed_tool_lists_and_descriptions_are_read_or_refused(
    tmp_path: Path, no_network: list[Any]
) -> None:
    rng = Random(20260102)
    file = tmp_path / "x.json"
    read = 0
    for _ in range(300):
        tools = [
            {
                "name": rng.choice(("a", "b", "c d", "", 3)),
                "description": "x",
                rng.choice(("parameters", "inputSchema", "input_schema")): _schema(rng),
            }
            for _ in range(3)
        ]
        file.write_text(json.dumps(tools).replace("NaN", "0").replace("Infinity", "0"))
        found, problems = examine_tool_list(file)
        assert found or problems
        operation = {
            "parameters": [
                {"name": "x", "in": rng.choice(("query", "body", "path", 3)), "schema": _schema(rng)},
                _value(rng),
            ],
            "requestBody": _value(rng),
            "responses": {"200": {"content": {"application/json": {"schema": _schema(rng)}}}},
        }
        document = {
            "openapi": "3.0.0",
            "info": _value(rng),
            "paths": {"/x/{y}": {"get": operation, "post": _value(rng)}, "/z": _value(rng)},
            "components": {"schemas": {"A": _schema(rng)}},
        }
        file.write_text(json.dumps(document).replace("NaN", "0").replace("Infinity", "0"))
        try:
            conversion = convert_openapi(file)
        except SourceError as error:
            # Half of a surrogate pair is no text: the file is refused as a whole.
            assert "surrogates not allowed" in str(error)
            continue
        read += len(conversion.operations)
        for one in conversion.operations:
            Draft202012Validator.check_schema(one.tool.input_schema)
    assert read > 100
    assert no_network == []
