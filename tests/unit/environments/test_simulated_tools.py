"""Simulated tools: what a model answers is checked, kept in one world, and marked as simulated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planarena.environments.catalog import unit_names
from planarena.environments.sources import open_source
from planarena.environments.sources.json.simulated import SimulatedSession, open_simulated, require_gateway
from planarena.errors import EnvironmentUnavailableError, SourceError
from planarena.tools import Tool

OUTPUT = {"type": "object", "required": ["title"], "properties": {"title": {"type": "string"}}}
TOOLS = [
    Tool(
        "x",
        "save_note",
        "save_note",
        "Save a note.",
        {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]},
        OUTPUT,
        "create",
    ),
    Tool(
        "x",
        "last_note",
        "last_note",
        "Tell the last note.",
        {"type": "object", "properties": {}},
        OUTPUT,
        "read",
    ),
]


def play(messages: list[dict[str, str]]) -> str:
    """Answer as a model that keeps to what it was told: the note that was saved last."""
    asked: dict[str, Any] = json.loads(messages[-1]["content"])
    call, before = asked["call"], asked["before"]
    if call["name"] == "save_note":
        title = call["arguments"]["title"]
        return {"bad": "not JSON", "wrong": '{"titel": 1}', "refused": '{"error": "no room"}'}.get(
            title, f"```json\n{json.dumps({'title': title})}\n```"
        )
    return json.dumps({"title": before[-1][2]["title"] if before else "none"})


def test_results_are_checked_and_stay_of_one_piece() -> None:
    world = open_simulated("notes", TOOLS, play).open("salt").world
    start = world.mark()
    assert world.call("last_note", {}).result == {"title": "none"}
    digest = world.digest()
    assert world.call("save_note", {"title": "tea"}).result == {"title": "tea"}
    assert world.digest() != digest
    assert world.call("last_note", {}).result == {"title": "tea"}
    world.rollback(start)
    assert world.call("last_note", {}).result == {"title": "none"}
    assert world.digest() == digest
    for title, code in (("bad", "not_json"), ("wrong", "not_of_schema"), ("refused", "simulated_error")):
        error = world.call("save_note", {"title": title}).error
        assert error is not None
        assert error["code"] == code
    assert world.digest() == digest


def test_they_are_marked_and_never_called_real() -> None:
    unit = open_simulated("notes", TOOLS, play)
    assert unit.execution_kind == "simulated"
    assert {operation.tool.execution_kind for operation in unit.operations.values()} == {"simulated"}
    assert isinstance(unit.session, SimulatedSession)


def test_without_a_model_a_list_is_no_source_of_executions(tmp_path: Path) -> None:
    file = tmp_path / "tools.json"
    file.write_text(
        json.dumps([{"name": "a", "description": "", "parameters": {"type": "object", "properties": {}}}])
    )
    assert [tool.wire_name for tool in open_source(str(file)).tools] == ["a"]
    with pytest.raises(SourceError, match="nothing of it can be executed"):
        unit_names(str(file))
    with pytest.raises(EnvironmentUnavailableError, match="--model"):
        require_gateway(str(file))
