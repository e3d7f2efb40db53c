"""A policy's call costs its own episode alone, whatever it holds."""

from __future__ import annotations

from random import Random

from planarena.environments import World
from planarena.environments.domains import draw_seeds, load_domain
from planarena.episodes import Episode


def test_faults_withheld_tools_and_nonsense_are_outcomes() -> None:
    world = World([load_domain("calendar")], draw_seeds(("calendar",), Random(1)))
    episode = Episode(world)
    offered = frozenset(world.operations) - {"list_tasks"}
    before = world.digest()
    fault = episode.attempt(
        "find_free_rooms", {"start": "2026-84-04T10:00", "duration": 30, "seats": 2}, offered
    )
    assert fault.status == "tool_error"
    assert fault.error is not None
    assert fault.error["code"] in {"internal_error", "invalid_date"}
    withheld = episode.attempt("list_tasks", {}, offered)
    assert (withheld.status, withheld.error) == (
        "schema_error",
        {"code": "unknown_tool", "message": "There is no tool named list_tasks."},
    )
    assert episode.attempt("no_such_tool", {}, offered).status == "schema_error"
    assert episode.attempt("find_free_rooms", {"seats": "many"}, offered).status == "schema_error"
    assert world.digest() == before
    assert episode.attempt("list_tasks", {}, frozenset(world.operations)).status == "ok"
