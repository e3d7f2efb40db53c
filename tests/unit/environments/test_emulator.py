"""The REST emulator: state, responses that fit their schemas, 404, undo, and the same world from the same salt."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from planarena.environments.sources import Source
from planarena.environments.sources.instances import Generator, NoInstanceError
from planarena.environments.sources.openapi.emulator import EmulatedWorld
from planarena.environments.sources.openapi.resources import analyse
from planarena.environments.sources.openapi.source import Family, families
from planarena.tools import SchemaValidator
from planarena.tools.openapi import convert_openapi

PET = {
    "type": "object",
    "required": ["id", "name"],
    "properties": {
        "id": {"type": "integer"},
        "name": {"type": "string"},
        "tag": {"type": "string"},
        "created_at": {"type": "string", "format": "date-time"},
    },
}
NEW = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": {"type": "string"}, "tag": {"type": "string"}},
}
TOY = {"type": "object", "properties": {"toy_id": {"type": "string"}, "label": {"type": "string"}}}


def _json(schema: Any, status: str = "200") -> dict[str, Any]:
    return {"responses": {status: {"description": "", "content": {"application/json": {"schema": schema}}}}}


def _body(schema: Any) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def document() -> dict[str, Any]:
    envelope = {
        "type": "object",
        "required": ["data"],
        "properties": {
            "data": {"type": "array", "items": {"$ref": "#/components/schemas/Pet"}},
            "total": {"type": "integer"},
        },
    }
    tag = {"name": "tag", "in": "query", "schema": {"type": "string"}}
    limit = {"name": "limit", "in": "query", "schema": {"type": "integer"}}
    query = {"name": "q", "in": "query", "required": True, "schema": {"type": "string"}}
    return {
        "openapi": "3.0.0",
        "info": {"title": "Pet shop", "version": "1"},
        "components": {"schemas": {"Pet": PET, "New": NEW}},
        "paths": {
            "/pets": {
                "get": {"operationId": "listPets", "parameters": [tag, limit], **_json(envelope)},
                "post": {
                    "operationId": "addPet",
                    **_body({"$ref": "#/components/schemas/New"}),
                    **_json({"$ref": "#/components/schemas/Pet"}, "201"),
                },
            },
            "/pets/search": {"get": {"operationId": "searchPets", "parameters": [query], **_json(envelope)}},
            "/pets/{petId}": {
                "parameters": [
                    {"name": "petId", "in": "path", "required": True, "schema": {"type": "string"}}
                ],
                "get": {"operationId": "getPet", **_json({"$ref": "#/components/schemas/Pet"})},
                "patch": {
                    "operationId": "updatePet",
                    **_body(NEW),
                    **_json({"$ref": "#/components/schemas/Pet"}),
                },
                "delete": {"operationId": "deletePet", "responses": {"204": {"description": ""}}},
            },
            "/pets/{petId}/feed": {
                "post": {
                    "operationId": "feedPet",
                    **_body({"type": "object", "properties": {"grams": {"type": "integer"}}}),
                    **_json(
                        {
                            "type": "object",
                            "properties": {"grams": {"type": "integer"}, "note": {"type": "string"}},
                        }
                    ),
                }
            },
            "/pets/{petId}/toys": {
                "post": {
                    "operationId": "addToy",
                    **_body(
                        {"type": "object", "required": ["label"], "properties": {"label": {"type": "string"}}}
                    ),
                    **_json(TOY),
                },
                "get": {"operationId": "listToys", **_json({"type": "array", "items": TOY})},
            },
            "/pets/{petId}/toys/{toyId}": {"get": {"operationId": "getToy", **_json(TOY)}},
            "/health": {
                "get": {
                    "operationId": "health",
                    **_json({"type": "object", "properties": {"status": {"type": "string"}}}),
                }
            },
        },
    }


@pytest.fixture
def family(tmp_path: Path) -> Family:
    file = tmp_path / "shop.json"
    file.write_text(json.dumps(document()))
    return next(one for one in families(convert_openapi(file)) if one.shape == "/pets")


@pytest.fixture
def world(family: Family) -> EmulatedWorld:
    return family.world("salt")


def _ok(world: EmulatedWorld, tool: str, **arguments: Any) -> Any:
    outcome = world.call(tool, arguments)
    assert outcome.status == "ok", outcome.error
    schema = world.operations[tool].tool.output_schema
    if schema is not None:
        assert SchemaValidator(schema).first_error(outcome.result) is None
    return outcome.result


def test_roles(family: Family) -> None:
    roles = {name: route.role for name, route in family.api.routes.items()}
    assert roles == {
        "listPets": "list", "addPet": "create", "searchPets": "search", "getPet": "read", "updatePet": "update", "deletePet": "delete",
        "feedPet": "act", "addToy": "create", "listToys": "list", "getToy": "read", "health": "document",
    }  # fmt: skip
    assert family.observable
    getters = family.tools["getPet"]
    assert getters.parameters["petId"]["x-hidden"] is True
    # The path says string, responses show integers: both are taken.
    assert getters.parameters["petId"]["type"] == ["string", "integer"]


def test_create_read_update_list_search_delete(world: EmulatedWorld) -> None:
    made = _ok(world, "addPet", name="Rex", tag="dog")
    assert (made["name"], made["tag"]) == ("Rex", "dog")
    read = _ok(world, "getPet", petId=made["id"])
    assert read == made  # also what only the service knows, as created_at
    assert _ok(world, "getPet", petId=str(made["id"])) == made
    assert _ok(world, "updatePet", petId=made["id"], name="Zorro") == {**made, "name": "Zorro"}
    everything = _ok(world, "listPets")["data"]
    assert {**made, "name": "Zorro"} in everything
    assert len(everything) == 4  # three were there
    assert [pet["name"] for pet in _ok(world, "listPets", tag="dog")["data"]] == ["Zorro"]
    assert len(_ok(world, "listPets", limit=2)["data"]) == 2
    assert [pet["id"] for pet in _ok(world, "searchPets", q="zorro")["data"]] == [made["id"]]
    _ok(world, "deletePet", petId=made["id"])
    for tool in ("getPet", "updatePet", "deletePet", "feedPet"):
        outcome = world.call(tool, {"petId": made["id"], **({"name": "x"} if tool == "updatePet" else {})})
        assert outcome.status == "tool_error"
        assert outcome.error is not None
        assert outcome.error["code"] == "not_found"
        assert outcome.error["message"].startswith("404")
    assert made["id"] not in [pet["id"] for pet in _ok(world, "listPets")["data"]]


def test_children_live_under_their_owner(world: EmulatedWorld) -> None:
    rex, max_ = _ok(world, "addPet", name="Rex")["id"], _ok(world, "addPet", name="Zorro")["id"]
    toy = _ok(world, "addToy", petId=rex, label="ball")["toy_id"]
    assert _ok(world, "getToy", petId=rex, toyId=toy)["label"] == "ball"
    assert world.call("getToy", {"petId": max_, "toyId": toy}).status == "tool_error"
    assert [one["toy_id"] for one in _ok(world, "listToys", petId=rex)] == [toy]
    _ok(world, "deletePet", petId=rex)
    assert world.call("getToy", {"petId": rex, "toyId": toy}).status == "tool_error"


def test_undo_hash_and_failed_calls(world: EmulatedWorld) -> None:
    start, digest = world.mark(), world.digest()
    made = _ok(world, "addPet", name="Rex")
    assert world.digest() != digest
    after = world.digest()
    assert world.call("getPet", {"petId": 1}).status == "tool_error"
    assert world.call("addPet", {"nome": "x"}).status == "schema_error"
    assert world.digest() == after
    _ok(world, "feedPet", petId=made["id"], grams=5)
    assert world.digest() != after
    world.rollback(start)
    assert world.digest() == digest == world.store.recompute_digest()
    assert world.call("getPet", {"petId": made["id"]}).status == "tool_error"


def test_creates_commute_and_worlds_are_functions_of_their_salt(family: Family) -> None:
    one, two, other = family.world("a"), family.world("a"), family.world("b")
    assert one.digest() == two.digest() != other.digest()
    first = [_ok(one, "addPet", name=name) for name in ("x", "y")]
    second = [_ok(two, "addPet", name=name) for name in ("y", "x")]
    assert first == second[::-1]
    assert one.digest() == two.digest()


def test_words_offers_and_atoms(family: Family) -> None:
    drawn = Source("x", [family]).draw(0, 0, (11, 11))
    assert set(drawn.tools) == set(family.usable)
    assert drawn.offers["addPet"][0].pointer == "/id"
    assert drawn.offers["addPet"][0].hidden
    assert drawn.offers["listPets"][0].pointer == "/data/0/id"
    assert drawn.wording["addPet"].ask[0].startswith("add a pet")
    for name in drawn.tools:
        for arguments in drawn.world.propose(name, Random(1)):
            assert "petId" not in arguments
    again = Source("x", [family]).draw(0, 0, (11, 11))
    assert (again.tools, again.world.digest(), again.title) == (
        drawn.tools,
        drawn.world.digest(),
        drawn.title,
    )


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "minItems": 3, "uniqueItems": True, "items": {"enum": [1, 2, 3, 4]}},
        {"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#/$defs/T"}}, "$defs": {"T": {"type": "object", "properties": {"t": {"$ref": "#/$defs/T"}}}}},
        {"allOf": [{"type": "object", "properties": {"a": {"type": "integer", "minimum": 5}}}, {"properties": {"a": {"maximum": 6}}, "required": ["a"]}]},
        {"oneOf": [False, {"type": "string", "minLength": 30, "maxLength": 31}]},
        {"type": "number", "exclusiveMinimum": 1, "exclusiveMaximum": 2}, {"type": "integer", "multipleOf": 7, "minimum": 100, "maximum": 110},
        {"type": "string", "format": "uuid"}, {"type": ["null", "boolean"]}, {"const": {"x": 1}}, {"type": "object", "minProperties": 2, "additionalProperties": {"type": "integer"}},
    ],
)  # fmt: skip
def test_instances_fit_their_schemas(schema: dict[str, Any]) -> None:
    for seed in range(25):
        value = Generator(schema, Random(seed)).value(schema)
        assert SchemaValidator(schema).first_error(value) is None
        assert value == Generator(schema, Random(seed)).value(schema)


def test_schemas_without_an_instance_are_said_to_have_none() -> None:
    endless = {
        "$ref": "#/$defs/T",
        "$defs": {"T": {"type": "object", "required": ["t"], "properties": {"t": {"$ref": "#/$defs/T"}}}},
    }
    circle = {"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}}
    for schema in (
        endless,
        circle,
        {"type": "integer", "minimum": 5, "maximum": 4},
        {"$ref": "#/$defs/none"},
    ):
        with pytest.raises(NoInstanceError):
            Generator(schema, Random(0)).value(schema)


def test_paths_with_verbs_and_endings(tmp_path: Path) -> None:
    paths = {
        "/v1/jobs": {"post": {"responses": {}}},
        "/v1/jobs/{id}.json": {"get": {"responses": {}}},
        "/v1/jobs/{id}:cancel": {"post": {"responses": {}}},
    }
    file = tmp_path / "jobs.json"
    file.write_text(json.dumps({"openapi": "3.0.0", "info": {}, "paths": paths}))
    routes = analyse(convert_openapi(file)).routes.values()
    assert [(route.role, route.shape, route.verb) for route in routes] == [
        ("create", "/v1/jobs", "jobs"),
        ("read", "/v1/jobs", ""),
        ("act", "/v1/jobs", "cancel"),
    ]
