"""OpenAPI descriptions become tools: dialects, references, repairs, refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from planarena.errors import SourceError
from planarena.tools.documents import read_document
from planarena.tools.openapi import Conversion, convert_openapi, openapi_files


def _write(folder: Path, value: Any, name: str = "api.json") -> Path:
    file = folder / name
    file.write_text(value if isinstance(value, str) else json.dumps(value))
    return file


def _three(paths: dict[str, Any], version: str = "3.0.3", **more: Any) -> dict[str, Any]:
    return {"openapi": version, "info": {"title": "Pets", "version": "1"}, "paths": paths, **more}


def _only(conversion: Conversion) -> Any:
    assert not conversion.refused, conversion.refused
    (operation,) = conversion.operations
    Draft202012Validator.check_schema(operation.tool.input_schema)
    return operation


def test_parameters_and_body_become_arguments_that_know_their_place(tmp_path: Path) -> None:
    body = {
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {"type": "string"},
            "id": {"type": "string", "readOnly": True},
            "status": {"type": "string"},
        },
    }
    post = {
        "operationId": "addPet",
        "summary": "Add a pet",
        "parameters": [
            {"name": "status", "in": "query", "schema": {"type": "integer"}},
            {"name": "Authorization", "in": "header", "schema": {}},
        ],
        "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
        "responses": {"201": {"content": {"application/json": {"schema": {"type": "object"}}}}},
    }
    item = {
        "parameters": [{"name": "shop", "in": "path", "required": True, "schema": {"type": "string"}}],
        "post": post,
    }
    operation = _only(convert_openapi(_write(tmp_path, _three({"/shops/{shop}/pets": item}))))
    # The body has a field of a parameter's name, so it stays whole: nothing is renamed behind the caller's back.
    assert operation.placement == {
        "shop": ("path", "shop"),
        "status": ("query", "status"),
        "body": ("body", "body"),
    }
    assert operation.tool.required == ("shop", "body")
    assert (operation.status, operation.method, operation.tool.effects) == ("201", "post", "create")
    del body["properties"]["status"]
    operation = _only(convert_openapi(_write(tmp_path, _three({"/shops/{shop}/pets": item}))))
    assert operation.placement == {
        "shop": ("path", "shop"),
        "status": ("query", "status"),
        "name": ("field", "name"),
    }
    assert operation.tool.required == ("shop", "name")


def test_references_travel_whole_and_recursion_does_not_end_them(tmp_path: Path) -> None:
    depth = 40
    schemas: dict[str, Any] = {
        f"L{n}": {"type": "object", "properties": {"next": {"$ref": f"#/components/schemas/L{n + 1}"}}}
        for n in range(depth)
    }
    schemas[f"L{depth}"] = {"type": "string", "enum": ["deep"]}
    schemas["Tree"] = {
        "type": "object",
        "properties": {"children": {"type": "array", "items": {"$ref": "#/components/schemas/Tree"}}},
    }
    body = {
        "type": "object",
        "properties": {
            "chain": {"$ref": "#/components/schemas/L0"},
            "tree": {"$ref": "#/components/schemas/Tree"},
        },
    }
    post = {"requestBody": {"content": {"application/json": {"schema": body}}}, "responses": {}}
    tool = _only(
        convert_openapi(_write(tmp_path, _three({"/x": {"post": post}}, components={"schemas": schemas})))
    ).tool
    assert tool.input_schema["$defs"][f"L{depth}"] == {"type": "string", "enum": ["deep"]}
    value: Any = "deep"
    for _ in range(depth):
        value = {"next": value}
    validator = Draft202012Validator(tool.input_schema)
    assert validator.is_valid({"chain": value, "tree": {"children": [{"children": []}]}})
    for _ in range(depth):
        value = value["next"]
    bad: Any = "shallow"
    for _ in range(depth):
        bad = {"next": bad}
    assert not validator.is_valid({"chain": bad})
    assert not validator.is_valid({"tree": {"children": [3]}})


@pytest.mark.parametrize(
    ("version", "schema", "good", "bad"),
    [
        ("3.0.3", {"type": "string", "nullable": True}, ["a", None], [1]),
        ("3.0.3", {"type": "string", "enum": ["a"], "nullable": True}, ["a", None], ["b"]),
        ("3.0.3", {"nullable": True, "allOf": [{"type": "integer"}]}, [3, None], ["b"]),
        ("3.0.3", {"type": "number", "minimum": 3, "exclusiveMinimum": True}, [3.5], [3]),
        ("3.1.0", {"type": ["string", "null"]}, ["a", None], [1]),
        ("3.1.0", {"type": "number", "exclusiveMinimum": 3}, [3.5], [3]),
        ("3.1.0", {"anyOf": [{"type": "string"}, {"type": "array", "items": {"anyOf": [{"type": "null"}, {"type": "integer"}]}}]}, ["a", [1, None]], [["a"]]),
        ("3.0.3", {"type": "integer", "minimum": "2"}, [2], [1]),
        ("3.0.3", {"type": "string", "enum": [True, 1.5]}, ["true", "1.5"], [True]),
        ("3.0.3", {"type": "object", "properties": {"a": {"type": "string", "required": True}}}, [{"a": "x"}], [{}]),
        ("3.0.3", {"type": "array", "items": [{"type": "string"}]}, [["a"]], [[1]]),
        ("3.0.3", {"type": "float"}, [1.5], ["a"]),
        ("3.0.3", {"type": "string", "pattern": r"^\p{Alpha}+$"}, ["anything 1"], [1]),
        ("3.0.3", {"type": "string", "pattern": r"^(a+)+$"}, ["b"], [1]),
        ("3.0.3", {"type": "string", "pattern": "^[a-z]{2}$"}, ["ab"], ["abc"]),
    ],
)  # fmt: skip
def test_dialects(tmp_path: Path, version: str, schema: Any, good: list[Any], bad: list[Any]) -> None:
    get = {"parameters": [{"name": "x", "in": "query", "schema": schema}], "responses": {}}
    tool = _only(convert_openapi(_write(tmp_path, _three({"/x": {"get": get}}, version)))).tool
    validator = Draft202012Validator(tool.input_schema)
    assert [value for value in good if not validator.is_valid({"x": value})] == []
    assert [value for value in bad if validator.is_valid({"x": value})] == []
    dropped = "pattern" in schema and schema["pattern"] not in json.dumps(tool.input_schema)
    assert dropped == any("pattern" in repair for repair in tool.schema_repairs)


def test_swagger_2_forms_bodies_and_servers(tmp_path: Path) -> None:
    definitions = {
        "Pet": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}
    }
    paths = {
        "/pets": {
            "post": {
                "parameters": [
                    {"name": "pet", "in": "body", "required": True, "schema": {"$ref": "#/definitions/Pet"}}
                ],
                "responses": {200: {"schema": {"$ref": "#/definitions/Pet"}}},
            }
        },
        "/photo": {
            "post": {
                "consumes": ["multipart/form-data"],
                "parameters": [{"name": "file", "in": "formData", "type": "file", "required": True}],
                "responses": {},
            }
        },
    }
    document = {
        "swagger": "2.0",
        "info": {"title": "Pets"},
        "host": "pets.example.com",
        "basePath": "/v1",
        "schemes": ["http", "https"],
        "paths": paths,
        "definitions": definitions,
    }
    conversion = convert_openapi(_write(tmp_path, document))
    assert conversion.servers == ("https://pets.example.com/v1",)
    assert [operation.placement for operation in conversion.operations] == [
        {"name": ("field", "name")},
        {"file": ("form", "file")},
    ]
    output = conversion.operations[0].tool.output_schema
    assert output is not None
    assert output["$defs"]["Pet"]["properties"] == {"name": {"type": "string"}}


def test_references_stay_inside_the_folder(tmp_path: Path) -> None:
    inside = tmp_path / "api"
    inside.mkdir()
    _write(tmp_path, {"type": "string"}, "secret.json")
    _write(
        inside,
        {"Pet": {"type": "object", "properties": {"friend": {"$ref": "#/Pet"}, "tag": {"type": "string"}}}},
        "shared.json",
    )
    (inside / "link.json").symlink_to(tmp_path / "secret.json")

    def get(target: str) -> dict[str, Any]:
        return {
            "get": {"parameters": [{"name": "x", "in": "query", "schema": {"$ref": target}}], "responses": {}}
        }

    targets = [
        "shared.json#/Pet",
        "../secret.json",
        "link.json",
        "/etc/passwd",
        "file:///etc/passwd",
        "http://127.0.0.1:1/x.json",
        "//host/x",
        "missing.json",
        "#/nowhere",
    ]
    conversion = convert_openapi(
        _write(inside, _three({f"/{n}": get(target) for n, target in enumerate(targets)}))
    )
    assert [operation.path for operation in conversion.operations] == ["/0"]
    assert "tag" in json.dumps(conversion.operations[0].tool.input_schema["$defs"])
    assert [path for path, _ in conversion.refused] == [f"GET /{n}" for n in range(1, len(targets))]
    assert all(reason for _, reason in conversion.refused)


def test_repeated_and_missing_names_differ_on_the_wire(tmp_path: Path) -> None:
    paths = {
        "/a/{x}": {"get": {"responses": {}}},
        "/b": {
            "get": {"operationId": "same", "responses": {}},
            "post": {"operationId": "same", "responses": {}},
        },
        "/c": {"get": {"operationId": "a.b/c d" * 20, "responses": {}}},
    }
    names = [
        operation.tool.wire_name for operation in convert_openapi(_write(tmp_path, _three(paths))).operations
    ]
    assert len(set(names)) == 4
    assert names[0] == "get_a_x"
    assert all(len(name) <= 64 and name.replace("_", "").replace("-", "").isalnum() for name in names)


def test_a_response_without_schema_takes_that_of_its_example(tmp_path: Path) -> None:
    get = {"responses": {"200": {"content": {"application/json": {"example": {"id": 7, "tags": ["a"]}}}}}}
    tool = _only(convert_openapi(_write(tmp_path, _three({"/x": {"get": get}})))).tool
    assert tool.output_schema["properties"]["id"]["type"] == "integer"
    assert any("example" in repair for repair in tool.schema_repairs)


def test_yaml_is_read_as_json_would_be_and_bombs_are_refused(tmp_path: Path) -> None:
    value, _ = read_document(_write(tmp_path, "a: 2020-01-01\nb: yes\nc: 012\nd: 1.5\n3: x\n", "x.yaml"))
    assert value == {"a": "2020-01-01", "b": "yes", "c": "012", "d": 1.5, 3: "x"}
    lines = ["a0: &a0 [1,1,1,1,1,1,1,1,1,1]"] + [
        f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)
    ]
    with pytest.raises(SourceError, match="values"):
        read_document(_write(tmp_path, "\n".join(lines), "bomb.yaml"))
    with pytest.raises(SourceError, match="deep"):
        read_document(_write(tmp_path, "a: &a [*a]", "loop.yaml"))
    with pytest.raises(SourceError, match="deep"):
        read_document(_write(tmp_path, "[" * 100_000, "deep.json"))
    with pytest.raises(SourceError, match="neither"):
        read_document(_write(tmp_path, "a: !!python/object/apply:os.system [id]", "code.yaml"))


def test_folders_and_files_without_descriptions(tmp_path: Path) -> None:
    _write(tmp_path, {"name": "nothing"}, "other.json")
    with pytest.raises(SourceError, match="no OpenAPI"):
        openapi_files(tmp_path)
    _write(tmp_path, _three({}), "api.json")
    assert [file.name for file in openapi_files(tmp_path)] == ["api.json"]
    with pytest.raises(SourceError, match="is no OpenAPI"):
        convert_openapi(tmp_path / "other.json")
