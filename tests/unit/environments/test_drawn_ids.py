"""Servers and modules that draw ids: the same calls give the same results, whoever makes them, and an id is what was given."""

from __future__ import annotations

import json
from collections.abc import Mapping
from random import Random
from typing import Any

import pytest

from planarena.cli import main
from planarena.environments import sandbox
from planarena.environments.sources.own.drawn import SteadySession, find_drawn
from planarena.environments.world import Outcome
from planarena.records.run import Run
from planarena.tools.tool import Tool
from tests.unit.environments.test_own_sources import FOLDER

needs_sandbox = pytest.mark.skipif(
    sandbox.missing() is not None, reason=f"no sandbox here: {sandbox.missing()}"
)


class _Shelf:
    """A shop that forgets everything when it starts again, and draws every id and time anew."""

    safety, observable = "reset", False
    owner: object = None

    def __init__(self, seed: int) -> None:
        self.rng, self.kept = Random(seed), dict[str, dict[str, Any]]()

    def is_live(self, tool: Tool) -> bool:
        return False

    def start_anew(self, salt: str) -> None:
        self.kept = {}

    def call(self, tool: Tool, arguments: Mapping[str, Any]) -> Outcome:
        if tool.name == "add":
            name = f"it-{self.rng.getrandbits(32):08x}"
            at = f"2031-0{self.rng.randint(1, 9)}-11T1{self.rng.randint(0, 9)}:22:33.{self.rng.randint(100, 999)}Z"
            self.kept[name] = {
                "id": name, "title": arguments["title"], "at": at, "number": len(self.kept) + 1, "stamp": 1_900_000_000 + self.rng.randint(1, 10**6),
            }  # fmt: skip
            return Outcome("ok", dict(self.kept[name]), None)
        if tool.name == "list":
            return Outcome("ok", {"all": [dict(one) for one in self.kept.values()]}, None)
        found = self.kept.get(arguments["id"])
        return (
            Outcome("ok", dict(found), None)
            if found
            else Outcome("tool_error", None, {"code": "none", "message": "?"})
        )


def _tool(name: str) -> Tool:
    return Tool("shelf", name, name, "", {"type": "object"}, effects="create" if name == "add" else "read")


TOOLS = {name: _tool(name) for name in ("add", "list", "get")}


def _steady(seed: int) -> SteadySession:
    shelf = _Shelf(seed)
    calls = [
        ("add", {"title": one}, shelf.call(TOOLS["add"], {"title": one}).result)
        for one in ("Tea", "Rice", "Oil")
    ]
    drawn = find_drawn(shelf, calls, TOOLS)  # type: ignore[arg-type]
    assert set(drawn["add"]) == {"/id", "/at", "/stamp"}
    return SteadySession(shelf, drawn)  # type: ignore[arg-type]


def _story(session: SteadySession) -> list[Any]:
    session.start_anew("x")
    first = session.call(TOOLS["add"], {"title": "Salt"}).result
    second = session.call(TOOLS["add"], {"title": "Salt"}).result
    assert first["id"] != second["id"]
    assert first["number"] == 1  # what counts is no name
    found = session.call(TOOLS["get"], {"id": second["id"]}).result
    return [first, second, found, session.call(TOOLS["list"], {}).result]


def test_the_same_calls_give_the_same_ids_in_every_run_and_every_process() -> None:
    one = _steady(1)
    stories = [_story(one), _story(one), _story(one)]
    assert stories[0] == stories[1] == stories[2]
    first, second, found, listed = stories[0]
    assert found == second
    assert listed["all"] == [first, second]
    assert first["at"] == "2026-03-02T09:00:00.000Z"
    assert first["stamp"] == 1_772_442_000
    assert first["id"].startswith("it-")
    assert len(first["id"]) == len("it-00000000")


def test_a_number_that_was_never_given_is_refused_as_before() -> None:
    session = _steady(2)
    session.start_anew("x")
    assert session.call(TOOLS["get"], {"id": "it-00000000"}).status == "tool_error"


@needs_sandbox
def test_every_id_that_a_call_takes_is_the_one_that_was_given(tmp_path: Any) -> None:
    # uuid4 in two scenarios of a class: each scenario's own id was shown beside the result of the other's.
    out = tmp_path / "run"
    assert (
        main(["build", str(FOLDER / "todo_class.py"), "--trajectories", "30", "--out", str(out), "-q"]) == 0
    )
    run = Run.open(out)
    results = {
        row["execution_id"]: json.loads(row["result"]) for row in run.table("executions").collect().to_dicts()
    }
    by_step = {(row["trajectory_id"], row["step"]): row for row in run.table("steps").collect().to_dicts()}
    bound = 0
    for (trajectory, _), row in by_step.items():
        for place, source in json.loads(row["bound_from"]).items():
            given = results[by_step[trajectory, source["step"]]["execution_id"]]
            for word in source["pointer"].strip("/").split("/"):
                given = given[int(word)] if isinstance(given, list) else given[word]
            assert json.loads(row["arguments"])[place.strip("/")] == given
            bound += 1
    assert bound > 5
