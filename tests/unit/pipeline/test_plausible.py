"""Tasks that run and that nobody would ask for: ties, what was said already, things made twice, the user by name."""

from __future__ import annotations

from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from planarena.episodes import ExecutedCall
from planarena.pipeline.execute.plausible import Telling, idle_answer, senseless_write
from planarena.proofs import Order
from planarena.tasks.atoms import Binding, Call


def world(**tools: tuple[str, dict[str, Any]]) -> Any:
    operations = {
        name: SimpleNamespace(tool=SimpleNamespace(effects=effects, parameters=parameters, namespace="shop"))
        for name, (effects, parameters) in tools.items()
    }
    return SimpleNamespace(operations=operations, facts={"user_name": "Ada Byron", "now": "2026-05-01T09:00"})


def made(
    tool: str, arguments: dict[str, Any], result: Any, after: str = "s0", before: str = "s0"
) -> ExecutedCall:
    return ExecutedCall(tool, arguments, "ok", result, None, before, after)


def telling(outputs: dict[str, list[Any]], orders: Any = None) -> Telling:
    return Telling(outputs, orders or {}, [], [], Random(0))


TRIPS = ("trips",)


def trips(*drivers: str) -> dict[str, Any]:
    return {"total": 90, "trips": [{"driver": one, "km": 10} for one in drivers]}


def idle(
    executed: list[ExecutedCall], outputs: dict[str, list[Any]], orders: Any = None, program: Any = None
) -> Any:
    program = program or [Call(one.tool, one.arguments, ()) for one in executed]
    told = {}
    for step, one in enumerate(executed):
        found = []
        for path in outputs.get(one.tool, []):
            value: Any = one.result
            for word in path:
                value = value[word]
            found.append((path, value))
        told[step] = tuple(found)
    last = [len(executed) - 1]
    return idle_answer(world(), program, executed, told, last, telling(outputs, orders))


def test_a_first_among_equals_is_not_told() -> None:
    outputs = {"list_trips": [("trips", 0, "driver")]}
    orders = {"list_trips": {TRIPS: Order(TRIPS, ("km",))}}
    found = idle([made("list_trips", {}, trips("Ada", "Bo"))], outputs, orders)
    assert found is not None
    assert found[0] == "tied_answer"
    assert idle([made("list_trips", {}, trips("Ada"))], outputs, orders) is None


@pytest.mark.parametrize(("driver", "reason"), [("Ada", "told_already"), ("Bo", None)])
def test_who_drove_last_is_not_asked_after_that_trip_was_entered(driver: str, reason: str | None) -> None:
    outputs = {"list_trips": [("total",), ("trips", 0, "driver")]}
    entered = made("log_trip", {"driver": "Ada", "km": 10}, {"range": 300}, after="s1")
    shown = made("list_trips", {}, trips(driver, "Cy"), "s1", "s1")
    found = idle([entered, shown], outputs)
    assert (found[0] if found else None) == reason


def test_several_writes_together_may_say_all_that_a_look_up_tells() -> None:
    outputs = {"find_meter": [("tariff",), ("reading",)]}
    switched = made("switch", {"meter": "m"}, {"tariff": "Green"}, "s1", "s0")
    entered = made("submit", {"reading": 19}, {"cost": 3}, "s2", "s1")
    shown = made("find_meter", {}, {"tariff": "Green", "reading": 19}, "s2", "s2")
    found = idle([switched, entered, shown], outputs)
    assert found is not None
    assert found[0] == "told_already"
    other = made("find_meter", {}, {"tariff": "Green", "reading": 18}, "s2", "s2")
    assert idle([switched, entered, other], outputs) is None


def test_what_the_user_made_under_a_title_is_not_asked_about() -> None:
    outputs = {"open_card": [("title",), ("count",)]}
    created = made("create_card", {"title": "Bake"}, {"card_id": "c1", "title": "Bake"}, "s1", "s0")
    opened = made("open_card", {"card_id": "c1"}, {"title": "Bake", "count": 0}, "s1", "s1")
    bound = [
        Call("create_card", {"title": "Bake"}, ()),
        Call("open_card", {}, (Binding("card_id", 0, ("card_id",)),)),
    ]
    found = idle([created, opened], outputs, program=bound)
    assert found is not None
    assert found[0] == "own_creation"
    assert idle([created, opened], outputs) is None, "another card of that title"


def test_an_answer_does_not_tell_the_user_who_they_are() -> None:
    outputs = {"open_card": [("owner",)]}
    found = idle([made("open_card", {}, {"owner": "Ada Byron"})], outputs)
    assert found is not None
    assert found[0] == "about_the_user"


COPY = {"document_id": {"x-hidden": True}, "title": {"x-semantic": "document_title"}}
HOLD = {"flight_id": {"x-hidden": True}, "passenger": {"x-semantic": "person"}}


@pytest.mark.parametrize(
    ("tool", "parameters", "bound", "free", "values", "reason"),
    [
        ("copy", COPY, "document_id", "title", ("One", "Two"), "made_twice"),
        ("hold", HOLD, "flight_id", "passenger", ("Bo Li", "Cy Ho"), None),
    ],
)
def test_one_thing_is_not_made_twice_under_two_titles(
    tool: str, parameters: Any, bound: str, free: str, values: tuple[str, str], reason: str | None
) -> None:
    calls = [Call(tool, {free: one}, (Binding(bound, 0, ("id",)),)) for one in values]
    done = [made(tool, {bound: "x1", free: one}, {}, "s1") for one in values]
    found = senseless_write(world(**{tool: ("create", parameters)}), calls, done)
    assert (found[0] if found else None) == reason


def test_a_setting_is_not_taken_from_what_it_is_set_on() -> None:
    parameters = {"thermostat_id": {"x-hidden": True}, "target": {"x-surface": "temperature"}}
    here = world(set_target=("update", parameters))
    done = [made("set_target", {"thermostat_id": "t1", "target": 20}, {}, "s1")]
    own = (Binding("thermostat_id", 0, ("thermostat", "id")), Binding("target", 0, ("thermostat", "target")))
    found = senseless_write(here, [Call("set_target", {}, own)], done)
    assert found is not None
    assert found[0] == "own_setting"
    other = (own[0], Binding("target", 0, ("bedroom", "target")))
    assert senseless_write(here, [Call("set_target", {}, other)], done) is None


def test_one_statement_is_not_asked_for_since_two_days() -> None:
    here = world(statement=("read", {}))
    calls = [Call("statement", {}, ()), Call("statement", {}, ())]
    own = {"account_id": "a1", "since": "2026-05-01"}
    for other, reason in (
        ({**own, "since": "2026-06-01"}, "repeated_look_up"),
        ({**own, "account_id": "a2"}, None),
    ):
        done = [made("statement", own, {}), made("statement", other, {})]
        found = senseless_write(here, calls, done)
        assert (found[0] if found else None) == reason


def test_nobody_speaks_of_themselves_by_name() -> None:
    here = world(find=("read", {}))
    found = senseless_write(here, [Call("find", {}, ())], [made("find", {"owner": "Ada Byron"}, {})])
    assert found is not None
    assert found[0] == "about_the_user"
    assert senseless_write(here, [Call("find", {}, ())], [made("find", {"owner": "Bo Li"}, {})]) is None
