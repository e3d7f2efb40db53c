"""Emulated worlds are coherent: examples first, what was sent comes back, nothing is dated in the future."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random
from typing import Any

import pytest

from planarena.data import load_yaml
from planarena.environments.sources import vocabulary
from planarena.environments.sources.instances import Generator
from planarena.environments.sources.openapi.asking import is_speakable
from planarena.environments.sources.openapi.emulator import EmulatedWorld
from planarena.environments.sources.openapi.identifiers import singular
from planarena.environments.sources.openapi.labels import plural
from planarena.environments.sources.openapi.source import Family, families, left_out_of
from planarena.environments.sources.vocabulary import Vocabulary
from planarena.tools.openapi import convert_openapi

TASK = {
    "type": "object",
    "required": ["gid", "name"],
    "properties": {
        "gid": {"type": "string"},
        "name": {"type": "string"},
        "status": {"type": "string", "enum": ["open", "in_progress", "archived"]},
        "notes": {"type": "string"},
        "project": {
            "type": "object",
            "properties": {"gid": {"type": "string"}, "name": {"type": "string"}},
        },
        "project_gid": {"type": "string"},
        "created_at": {"type": "string", "format": "date-time"},
        "updated_at": {"type": "string", "format": "date-time"},
        "due_on": {"type": "string", "format": "date"},
        "completed_at": {"type": "string", "format": "date-time"},
        "archived": {"type": "boolean"},
        "comment_count": {"type": "integer"},
        "blorb": {"type": "string"},
    },
}
PROJECT = {
    "type": "object",
    "properties": {"gid": {"type": "string"}, "name": {"type": "string"}, "city": {"type": "string"}},
}


def _json(schema: Any) -> dict[str, Any]:
    return {"responses": {"200": {"description": "", "content": {"application/json": {"schema": schema}}}}}


def _wrapped(schema: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"data": schema, "total": {"type": "integer"}}}


def _body(schema: Any, **more: Any) -> dict[str, Any]:
    return {"requestBody": {"content": {"application/json": {"schema": schema}}, **more}}


def document() -> dict[str, Any]:
    new = {
        "type": "object",
        "required": ["name"],
        "properties": {"name": {"type": "string"}, "notes": {"type": "string"}},
    }
    key = {"name": "api_key", "in": "query", "required": True, "schema": {"type": "string"}}

    def path(*names: str) -> list[dict[str, Any]]:
        return [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names
        ]

    return {
        "openapi": "3.0.3",
        "info": {"title": "Planner", "version": "1"},
        "paths": {
            "/projects": {
                "get": {"operationId": "list_projects", "parameters": [key], **_json(_wrapped({"type": "array", "items": PROJECT}))},
            },
            "/projects/{project_gid}": {
                "parameters": path("project_gid"),
                "get": {"operationId": "get_project", **_json(_wrapped(PROJECT))},
            },
            "/projects/{project_gid}/tasks": {
                "parameters": path("project_gid"),
                "get": {"operationId": "list_tasks", **_json(_wrapped({"type": "array", "items": TASK}))},
                "post": {"operationId": "add_task", **_body(new), **_json(_wrapped(TASK))},
            },
            "/projects/{project_gid}/tasks/{task_gid}": {
                "parameters": path("project_gid", "task_gid"),
                "get": {"operationId": "get_task", **_json(_wrapped(TASK))},
                "patch": {"operationId": "change_task", **_body({**new, "required": []}), **_json(_wrapped(TASK))},
            },
            "/projects/{project_gid}/tasks/{task_gid}/archive": {
                "parameters": path("project_gid", "task_gid"),
                "post": {"operationId": "archive_task", **_json(_wrapped(TASK))},
            },
            "/v1alpha/webhooks/{hook_id}": {
                "parameters": path("hook_id"),
                "get": {"operationId": "get_hook", **_json(PROJECT)},
            },
        },
    }  # fmt: skip


@pytest.fixture
def units(tmp_path: Path) -> list[Family]:
    file = tmp_path / "planner.json"
    file.write_text(json.dumps(document()))
    return families(convert_openapi(file))


@pytest.fixture
def family(units: list[Family]) -> Family:
    return next(one for one in units if one.shape == "/projects/{}/tasks")


def _ok(world: EmulatedWorld, tool: str, **arguments: Any) -> Any:
    outcome = world.call(tool, arguments)
    assert outcome.status == "ok", outcome.error
    return outcome.result


@pytest.mark.parametrize("salt", ["a", "b", "c", "d"])
def test_a_record_got_by_its_id_is_that_record_and_lists_agree(family: Family, salt: str) -> None:
    world = family.world(salt)
    for project in _ok(world, "list_projects")["data"]:
        assert _ok(world, "get_project", project_gid=project["gid"])["data"] == project
        listed = _ok(world, "list_tasks", project_gid=project["gid"])
        assert listed["total"] == len(listed["data"]) > 1
        assert len({task["name"] for task in listed["data"]}) == len(listed["data"])
        for task in listed["data"]:
            read = _ok(world, "get_task", project_gid=project["gid"], task_gid=task["gid"])["data"]
            assert read == task
            assert task["project_gid"] == project["gid"]
            assert task["project"]["gid"] == project["gid"]
            assert task["project"]["name"] == project["name"]
            now = world.facts["now"]
            assert task["created_at"] <= task["updated_at"] <= now <= task["due_on"]
            assert "completed_at" not in task, "it would have to agree with whether it is completed"
            assert "blorb" not in task, "nothing is known of it, and it may be left out"


def test_what_was_sent_comes_back_and_is_dated_now(family: Family) -> None:
    world = family.world("salt")
    now = world.facts["now"]
    project = _ok(world, "list_projects")["data"][0]["gid"]
    made = _ok(world, "add_task", project_gid=project, name="Paint the fence")["data"]
    assert made["name"] == "Paint the fence"
    assert made["created_at"].startswith(now)
    assert made["updated_at"].startswith(now)
    assert made["status"] == "open"
    assert made["comment_count"] == 0
    assert "notes" not in made, "nobody gave it any"
    assert made in _ok(world, "list_tasks", project_gid=project)["data"]
    changed = _ok(world, "change_task", project_gid=project, task_gid=made["gid"], notes="Green, please.")
    assert changed["data"] == {**made, "notes": "Green, please."}
    done = _ok(world, "archive_task", project_gid=project, task_gid=made["gid"])["data"]
    assert (done["archived"], done["status"]) == (True, "archived")
    other = _ok(world, "list_tasks", project_gid=project)["data"]
    old = next(task for task in other if task["gid"] != made["gid"])
    touched = _ok(world, "change_task", project_gid=project, task_gid=old["gid"], notes="Soon.")["data"]
    assert touched["updated_at"].startswith(now)
    assert touched["created_at"] == old["created_at"]


def test_an_optional_body_keeps_its_required_names_and_keys_are_the_clients(family: Family) -> None:
    assert "name" in family.tools["add_task"].required
    assert "name" not in family.tools["change_task"].required
    assert "api_key" not in family.tools["list_projects"].parameters
    assert "api_key: left out" in " ".join(family.tools["list_projects"].schema_repairs)


def test_what_nobody_asks_for_is_left_out_with_its_reason(units: list[Family]) -> None:
    used = {name for unit in units for name in unit.usable}
    assert "get_hook" not in used
    assert left_out_of(units)["no everyday word for what it is about"] == 1
    for unit in units:
        assert set(unit.usable) == set(unit.operations) == set(unit.wording) == set(unit.offers)
        for words in unit.wording.values():
            for text in (*words.ask, *words.report):
                assert not re.search(r"gid|v1|data|_task", re.sub(r"\{[^}]*\}", "", text)), text


def test_things_are_spoken_of_by_their_names(family: Family) -> None:
    refer = family.wording["list_tasks"].refer
    assert list(refer) == [f"/data/{place}/gid" for place in range(3)]
    assert refer["/data/1/gid"].full == ('the task "{/data/1/name}"',)
    assert family.wording["add_task"].refer["/data/gid"].full[0] == 'the task "{name}"'
    # Who just created something does not look it up: reads take what lists show.
    semantic = family.tools["get_task"].parameters["task_gid"]["x-semantic"]
    assert semantic in {offer.semantic for offer in family.offers["list_tasks"]}
    assert semantic not in {offer.semantic for offer in family.offers["add_task"]}


def test_the_descriptions_own_examples_come_first() -> None:
    schema = {
        "type": "object",
        "required": ["plan", "level", "dish", "price"],
        "properties": {
            "plan": {"type": "string", "examples": ["Night owl"]},
            "level": {"type": "string", "default": "beginner"},
            "dish": {"type": "string", "examples": ["string"]},
            "price": {"type": "number", "examples": [17.25]},
        },
    }
    for seed in range(20):
        made = Generator(schema, Random(seed), known=True).value(schema)
        assert (made["plan"], made["level"], made["price"]) == ("Night owl", "beginner", 17.25)
        assert made["dish"] != "string", "a placeholder is no example"


def test_the_fields_of_one_thing_are_about_one_person_in_one_place() -> None:
    words = Vocabulary("2026-03-02T10:00").about("customer 7")
    values = {
        name: words.text("", name, noun, Random(number))
        for number, (name, noun) in enumerate(
            [("first_name", "customer"), ("last_name", "customer"), ("name", "customer"), ("email", "customer"), ("country_code", "address"), ("country", "billing address")]
        )
    }  # fmt: skip
    assert values["name"] == f"{values['first_name']} {values['last_name']}"
    assert values["email"].startswith(values["first_name"].lower())
    assert (values["country_code"], values["country"]) in {
        (place[3], place[2])
        for place in load_yaml(Path(vocabulary.__file__).with_name("everyday.yaml"))["places"]
    }
    other = words.text("", "name", "created by", Random(0))
    assert other != values["name"]
    assert values["name"] == Vocabulary("2026-03-02T10:00").about("customer 7").text(
        "", "name", "customer", Random(99)
    )


def test_nouns() -> None:
    assert [plural(noun) for noun in ("box", "category", "person", "status update")] == [
        "boxes",
        "categories",
        "people",
        "status updates",
    ]
    assert singular("people") == "person"
    assert is_speakable("business group")
    for noun in ("v1alpha", "webhook", "companies vendor", "oauth token", "by id", "cfg", "items"):
        assert not is_speakable(noun), noun


def test_what_fills_an_envelope_is_seen(tmp_path: Path) -> None:
    """A shared envelope says `items: {}`; each response says beside it of what, and that counts."""
    described = document()
    described["components"] = {
        "schemas": {
            "Answer": {"type": "object", "required": ["data"], "properties": {"data": {}}},
            "Page": {
                "allOf": [
                    {"$ref": "#/components/schemas/Answer"},
                    {"properties": {"data": {"type": "array", "items": {}}, "total": {"type": "integer"}}},
                ]
            },
        }
    }
    listed = {
        "allOf": [
            {"$ref": "#/components/schemas/Page"},
            {"type": "object", "properties": {"data": {"type": "array", "items": PROJECT}}},
        ]
    }
    described["paths"]["/projects"]["get"] |= _json(listed)
    file = tmp_path / "planner.json"
    file.write_text(json.dumps(described))
    family = next(one for one in families(convert_openapi(file)) if one.shape == "/projects")
    assert "list_projects" in family.usable
    world = family.world("a")
    projects = _ok(world, "list_projects")["data"]
    assert len(projects) > 1 and all(project["name"] for project in projects)
    for project in projects:
        assert _ok(world, "get_project", project_gid=project["gid"])["data"] == project
