"""Kept conversions equal new ones, and what is damaged, foreign or beyond one file is converted anew."""

from __future__ import annotations

import json

import pytest

from planarena.errors import SourceError
from planarena.tools.conversion_store import convert_once
from planarena.tools.openapi import convert_openapi


def shown(schema):
    return {"200": {"description": "ok", "content": {"application/json": {"schema": schema}}}}


def document(pet=None):
    pet = pet or {
        "type": "object",
        "properties": {"name": {"type": "string"}, "owner": {"$ref": "#/x/Owner"}},
    }
    owner = {"type": "object", "properties": {"pets": {"type": "array", "items": {"$ref": "#/x/Pet"}}}}
    item = {"name": "id", "in": "path", "required": True, "schema": {"type": "integer", "default": 2.5}}
    body = {
        "content": {
            "application/json": {"schema": {"type": "object", "properties": {"pet": {"$ref": "#/x/Pet"}}}}
        }
    }
    return {
        "openapi": "3.0.0",
        "info": {"title": "Pets", "version": "1", "license": {"name": "MIT"}},
        "x": {"Pet": pet, "Owner": owner},
        "paths": {
            "/pets/{id}": {
                "parameters": [item],
                "get": {"operationId": "get", "responses": shown({"$ref": "#/x/Pet"}), "deprecated": True},
                "put": {"operationId": "put", "requestBody": body, "responses": shown({"type": "null"})},
            },
            "/ping": {"get": {"operationId": "ping", "responses": {"204": {"description": "nothing"}}}},
            "/bad": {"get": {"parameters": [{"$ref": "#/nowhere"}], "responses": shown(True)}},
        },
    }


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "pets.json"
    path.write_text(json.dumps(document()))
    return path


def in_order(value):
    return json.dumps(value)


def test_what_was_kept_is_what_was_converted(file, tmp_path, monkeypatch):
    folder = tmp_path / "kept"
    fresh = convert_openapi(file)
    assert fresh.refused
    assert convert_once(file, folder) == fresh
    monkeypatch.setattr("planarena.tools.conversion_store.convert_openapi", None)  # it must not be needed
    again = convert_once(file, folder)
    assert again == fresh
    for one, other in zip(again.operations, fresh.operations, strict=True):
        assert in_order(one.tool.input_schema) == in_order(other.tool.input_schema)
        assert in_order(one.tool.output_schema) == in_order(other.tool.output_schema)
        assert one.tool.tool_id == other.tool.tool_id


@pytest.mark.parametrize("damage", [b"", b"torn", b"\xff" * 64, "half"])
def test_a_damaged_file_is_made_anew(file, tmp_path, damage):
    folder = tmp_path / "kept"
    fresh = convert_once(file, folder)
    (kept,) = folder.iterdir()
    whole = kept.read_bytes()
    kept.write_bytes(whole[: len(whole) // 2] if damage == "half" else damage)
    assert convert_once(file, folder) == fresh
    assert kept.read_bytes() == whole


def test_a_changed_description_is_converted_anew(file, tmp_path):
    folder = tmp_path / "kept"
    convert_once(file, folder)
    file.write_text(json.dumps(document({"type": "object", "properties": {"age": {"type": "integer"}}})))
    assert convert_once(file, folder) == convert_openapi(file)
    assert len(list(folder.iterdir())) == 2


def test_a_description_of_several_files_is_not_kept(file, tmp_path):
    value = document()
    value["x"]["Pet"] = {"$ref": "other.json#/Pet"}
    (tmp_path / "other.json").write_text(
        json.dumps({"Pet": {"type": "object", "properties": {"a": {"type": "string"}}}})
    )
    file.write_text(json.dumps(value))
    assert convert_once(file, tmp_path / "kept") == convert_openapi(file)
    assert not (tmp_path / "kept").exists()


def test_a_description_that_is_not_there_is_said_to_be_missing(tmp_path):
    with pytest.raises(SourceError, match="cannot be read"):
        convert_once(tmp_path / "none.json", tmp_path / "kept")


def test_a_folder_that_cannot_be_written_keeps_nothing(file, tmp_path):
    (tmp_path / "kept").write_text("a file")
    assert convert_once(file, tmp_path / "kept") == convert_openapi(file)
