"""Validation: the fast path and the reference agree, first errors too, and nothing outside a schema is read."""

from __future__ import annotations

import http.server
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planarena.environments import operations
from planarena.environments.domains import DOMAINS, load_domain
from planarena.errors import SchemaError
from planarena.tools import SchemaValidator

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 50)
    | st.floats(-5, 50)
    | st.text(max_size=6)
    | st.just("2026-03-04"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=5,
)
SCHEMAS = st.recursive(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object"])}
    )
    | st.builds(
        lambda v: {"enum": v},
        st.lists(st.sampled_from(["a", 1, 1.5, None, True]), min_size=1, max_size=3, unique_by=repr),
    )
    | st.builds(lambda low: {"type": "number", "minimum": low}, st.integers(-3, 10))
    | st.builds(lambda n: {"type": "string", "minLength": n}, st.integers(0, 4))
    | st.just({"type": "string", "pattern": "^[a-c]+$"})
    | st.just({"type": ["string", "null"]}),
    lambda inner: (
        st.builds(lambda item: {"type": "array", "items": item}, inner)
        | st.builds(lambda parts: {"anyOf": parts}, st.lists(inner, min_size=1, max_size=3))
        | st.builds(
            lambda properties, required, more: {
                "type": "object",
                "properties": properties,
                "required": sorted(required),
                "additionalProperties": more,
            },
            st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
            st.sets(st.sampled_from("abc"), max_size=3),
            st.booleans(),
        )
    ),
    max_leaves=6,
)


@settings(max_examples=400, deadline=None)
@given(SCHEMAS, VALUES)
def test_both_implementations_agree(schema, value):
    validator = SchemaValidator(schema)
    assert validator.is_valid(value) == validator.reference_is_valid(value)
    assert (validator.first_error(value) is None) == validator.is_valid(value)


@settings(max_examples=300, deadline=None)
@given(
    st.dictionaries(st.sampled_from("abcd"), SCHEMAS, max_size=3),
    st.sets(st.sampled_from("abc"), max_size=3),
    st.dictionaries(st.sampled_from("abcde"), VALUES, max_size=4),
)
def test_the_first_error_is_the_reference_s_first_error(properties, required, value):
    schema = {
        "type": "object",
        "properties": properties,
        "required": sorted(required),
        "additionalProperties": False,
    }
    validator = SchemaValidator(schema)
    errors = sorted(
        validator.reference.iter_errors(value),
        key=lambda error: (list(map(str, error.absolute_path)), error.message),
    )
    expected = None
    if errors:
        path = "/".join(map(str, errors[0].absolute_path))
        expected = f"{path}: {errors[0].message}" if path else errors[0].message
    assert validator.first_error(value) == expected


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_tools_of_every_domain_compile_in_both(domain):
    for operation in operations(load_domain(domain)).values():
        validator = SchemaValidator(operation.tool.input_schema)
        assert validator.is_valid({}) == validator.reference_is_valid({})
        SchemaValidator(operation.tool.output_schema)


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "file:///etc/passwd"},
        {"properties": {"a": {"$ref": "/etc/passwd"}}},
        {"anyOf": [{"$dynamicRef": "other.json#/x"}]},
        {"$id": "http://example.org/root.json", "$ref": "#/$defs/a", "$defs": {"a": {}}},
        {"$ref": "#/$defs/absent"},
        {"type": "nonsense"},
        {"type": "string", "pattern": "("},
        {"minimum": "low"},
        [],
        "text",
        None,
    ],
)
def test_a_schema_that_must_not_be_used_is_one_clear_error(schema):
    with pytest.raises(SchemaError) as caught:
        SchemaValidator(schema, "tools.json: a")
    assert "tools.json: a" in str(caught.value)
    assert "fix:" in str(caught.value)


def test_nothing_is_fetched():
    asked = []

    class Witness(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Witness)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        address = f"http://127.0.0.1:{server.server_port}/schema.json"
        for schema in ({"$ref": address}, {"properties": {"a": {"$ref": address + "#/x"}}}, {"$id": address}):
            with pytest.raises(SchemaError):
                SchemaValidator(schema)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert asked == []


def test_data_that_looks_like_a_reference_is_data():
    schema = {"type": "object", "properties": {"$ref": {"type": "string"}}, "default": {"$ref": "file:///x"}}
    assert SchemaValidator(schema).is_valid({"$ref": "anything"})


def test_hostile_depth_and_size_are_refused():
    deep = {"type": "string"}
    for _ in range(500):
        deep = {"type": "array", "items": deep}
    with pytest.raises(SchemaError, match="nested deeper"):
        SchemaValidator(deep)
    with pytest.raises(SchemaError, match="more than"):
        SchemaValidator({"enum": ["x"], "properties": {f"p{n}": {"type": "string"} for n in range(30_000)}})
