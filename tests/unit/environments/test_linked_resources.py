"""Resources that name each other outside of their paths: a task's project stands in its body, a list's in its query."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from planarena.cli import main
from planarena.environments.sources.openapi.emulator import EmulatedWorld
from planarena.environments.sources.openapi.source import Family, families
from planarena.records.run import Run
from planarena.tools.openapi import convert_openapi

TRACKER = Path(__file__).parents[2] / "own_sources" / "tracker.yaml"


@pytest.fixture(scope="module")
def tasks() -> Family:
    return next(one for one in families(convert_openapi(TRACKER)) if one.shape == "/tasks")


def _named(tasks: Family, path: str, method: str) -> str:
    return next(
        name
        for name, route in tasks.api.routes.items()
        if (route.operation.path, route.operation.method) == (path, method)
    )


def _ids(world: EmulatedWorld, shape: str) -> list[str]:
    return [str(row["id"]) for row in world.handlers.state.scan(shape)]


def test_every_operation_of_the_description_is_asked_for(tasks: Family) -> None:
    assert set(tasks.usable) == set(tasks.api.routes)
    assert len(tasks.usable) == 8


def test_an_id_in_a_body_or_a_query_is_an_id_like_one_in_a_path(tasks: Family) -> None:
    for path, method in (("/tasks", "post"), ("/tasks", "get")):
        name = _named(tasks, path, method)
        assert tasks.api.routes[name].links == (("projectId", "/project"),)
        schema = tasks.tools[name].parameters["projectId"]
        assert schema["x-hidden"]
        assert schema["x-semantic"] == "/project id"
        asked = tasks.wording[name].ask[0]
        assert "{projectId}" in asked
    assert tasks.api.routes[_named(tasks, "/tasks/{taskId}", "get")].links == ()


def test_the_plural_of_a_resource_lists_it(tasks: Family) -> None:
    route = tasks.api.routes[_named(tasks, "/projects", "get")]
    assert (route.role, route.shape) == ("list", "/project")


def test_the_page_of_a_list_is_the_clients_and_stays_where_it_is_optional(tasks: Family) -> None:
    tool = tasks.tools[_named(tasks, "/projects", "get")]
    assert tool.parameters == {}
    assert tool.required == ()
    assert "page: left out, the client sends it" in tool.schema_repairs


def test_setting_one_field_under_its_own_path_is_a_change_of_the_item(tasks: Family) -> None:
    name = _named(tasks, "/tasks/{taskId}/status", "patch")
    assert tasks.api.routes[name].role == "update"
    world = tasks.world("a")
    first = _ids(world, "/tasks")[0]
    for status in ("done", "open"):
        assert world.call(name, {"taskId": first, "status": status}).result["status"] == status
        shown = world.call(_named(tasks, "/tasks/{taskId}", "get"), {"taskId": first})
        assert shown.result["status"] == status


@pytest.mark.parametrize("salt", ["a", "b", "c", "d"])
def test_what_is_there_names_what_is_there_and_every_list_shows_several(tasks: Family, salt: str) -> None:
    world = tasks.world(salt)
    projects = _ids(world, "/project")
    of = Counter(row["fields"]["projectId"] for row in world.handlers.state.scan("/tasks"))
    assert set(of) == set(projects)
    assert min(of.values()) >= 2
    listed = world.call(_named(tasks, "/tasks", "get"), {"projectId": projects[0]}).result["content"]
    assert {one["projectId"] for one in listed} == {projects[0]}
    assert len(listed) == of[projects[0]]


def test_what_names_nothing_is_refused(tasks: Family) -> None:
    world = tasks.world("a")
    wrong = {"projectId": "00000000-0000-4000-8000-000000000000"}
    for path, method, more in (("/tasks", "get", {}), ("/tasks", "post", {"title": "Sand the floor", "priority": "low"})):  # fmt: skip
        before = world.digest()
        outcome = world.call(_named(tasks, path, method), {**wrong, **more})
        assert outcome.status == "tool_error"
        assert "There is no project" in str(outcome.error)
        assert world.digest() == before


def test_a_build_binds_them_to_what_was_listed_or_created(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    text = f"openapi:{TRACKER}"
    assert main(["build", text, "--trajectories", "40", "--seed", "3", "--out", str(out), "-q"]) == 0
    capsys.readouterr()
    run = Run.open(out)
    bound = Counter[str]()
    for row in run.table("steps").collect().to_dicts():
        bound[row["tool"]] += "projectId" in row["bound_from"]
    created = sum(count for tool, count in bound.items() if tool.endswith("createTask"))
    listed = sum(count for tool, count in bound.items() if tool.endswith("listTasks"))
    assert created >= 3
    assert listed >= 3


def test_what_a_change_answers_says_what_was_done(tmp_path: Path) -> None:
    description = tmp_path / "answers.yaml"
    text = TRACKER.read_text()
    gone = '"204": {description: gone}'
    assert gone in text
    answer = '"200": {description: ok, content: {application/json: {schema: {type: object, properties: {message: {type: string}}}}}}'
    description.write_text(text.replace(gone, answer))
    tasks = next(one for one in families(convert_openapi(description)) if one.shape == "/tasks")
    world = tasks.world("a")
    name = _named(tasks, "/tasks/{taskId}", "delete")
    assert world.call(name, {"taskId": _ids(world, "/tasks")[0]}).result == {"message": "Task deleted."}
