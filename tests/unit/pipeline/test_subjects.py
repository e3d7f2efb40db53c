"""What calls are about: parts of a task share a thing, and so do the requests of a message."""

from __future__ import annotations

from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from planarena.environments.domains import load_domain
from planarena.environments.state import Footprint
from planarena.environments.world import operations
from planarena.pipeline.execute.members import odd_source
from planarena.pipeline.execute.subjects import (
    joined_subjects,
    subjects_of,
    things_of,
    unrelated_requests,
)
from planarena.tasks.atoms import Atom, Binding, Call
from planarena.tasks.composition import Candidate, Limits, Member, Source, compose

BANKING = {name: one.tool for name, one in operations(load_domain("banking")).items()}
TRAVEL = {name: one.tool for name, one in operations(load_domain("travel")).items()}
HOME = {name: one.tool for name, one in operations(load_domain("smart_home")).items()}


def test_names_and_ids_are_what_a_call_is_about() -> None:
    account = subjects_of(
        BANKING["get_bank_account"],
        {"name": "Holiday"},
        {"account_id": "ac_1", "iban": "DE1", "balance": 4.0},
    )
    saving = {"account_id": "ac_1", "goal": "Piano", "amount": 25.0}
    saved = subjects_of(BANKING["save_to_goal"], saving, {"goal": "Piano", "saved": 900.0})
    bill = subjects_of(
        BANKING["find_unpaid_bill"], {"category": "water"}, {"bill_id": "bl_1", "biller": "Aquafold"}
    )
    assert "Holiday" in account and "Piano" in saved
    assert account & saved == {"ac_1"}
    assert account.isdisjoint(bill)


def test_a_choice_among_few_joins_nothing_and_a_room_does() -> None:
    lit = subjects_of(HOME["get_room"], {"room": "kitchen"}, {"room": "kitchen"})
    assert "kitchen" in lit
    door = subjects_of(HOME["set_door_lock"], {"door": "front door", "state": "locked"}, {"state": "locked"})
    assert "locked" not in door


def test_of_a_change_only_ids_count_and_of_days_only_those_that_are_looked_at() -> None:
    flights = {"origin": "Porto", "destination": "Rome", "date": "2026-05-01"}
    found = subjects_of(TRAVEL["search_flights"], flights, {"route": "Porto to Rome", "flights": []})
    assert any(one.endswith("2026-05-01") for one in found)
    ride = {
        "pickup": "Fiumicino",
        "dropoff": "Via 1, Rome",
        "pickup_at": "2026-05-01T12:00",
        "vehicle": "car",
    }
    booked = subjects_of(
        TRAVEL["book_airport_transfer"], ride, {"driver": "Ada Byron", "booking_code": "A1B2C3"}
    )
    assert not any("2026-05-01" in one for one in booked)
    assert "Ada Byron" not in booked


def test_look_ups_of_one_kind_go_together_as_long_as_they_stand_alone() -> None:
    water = subjects_of(BANKING["find_unpaid_bill"], {"category": "water"}, {"bill_id": "bl_1"})
    gas = subjects_of(BANKING["find_unpaid_bill"], {"category": "gas"}, {"bill_id": "bl_2"})
    assert not water.isdisjoint(gas)
    assert things_of(water).isdisjoint(things_of(gas))
    assert joined_subjects(water, gas) == {"water", "bl_1", "bl_2"}
    assert joined_subjects(None, gas) is None


def step(tool: str, *sources: int) -> Call:
    return Call(tool, {}, tuple(Binding("x", source, ("y",)) for source in sources))


def test_requests_of_a_message_belong_together() -> None:
    program = [step("account"), step("freeze", 0), step("bill")]
    about = [frozenset({"ac_1"}), frozenset({"ac_1"}), frozenset({"Aquafold"})]
    assert unrelated_requests(program, about, [0, 1], [0, 0, 1]) is None
    found = unrelated_requests(program, about, [1, 2], [0, 0, 0])
    assert found is not None and found[0] == "unrelated_requests"
    # In messages of their own people may turn to something else.
    assert unrelated_requests(program, about, [1, 2], [0, 0, 1]) is None


def test_what_takes_its_values_from_one_thing_belongs_together() -> None:
    program = [step("order"), step("review", 0), step("return", 0)]
    about = [frozenset({"ord_1"}), frozenset({"itm_1"}), frozenset({"itm_2"})]
    assert unrelated_requests(program, about, [1, 2], [0, 1, 1]) is None
    alone = [step("order"), step("review"), step("return")]
    found = unrelated_requests(alone, about, [1, 2], [0, 1, 1])
    assert found is not None and found[0] == "unrelated_requests"


def test_a_message_asks_for_a_few_things_at_most() -> None:
    program = [step("read") for _ in range(5)]
    about = [frozenset({"same"})] * 5
    assert unrelated_requests(program, about, range(4), [0] * 5) is None
    found = unrelated_requests(program, about, range(5), [0] * 5)
    assert found is not None and found[0] == "too_many_requests"


def member(number: int, subjects: frozenset[str] | None) -> Member:
    return Member(number, {}, 1 << number, 1, {}, Footprint(frozenset(), frozenset()), None, subjects)


@pytest.mark.parametrize(
    ("left", "right", "tried"),
    [({"ac_1"}, {"ac_1", "Piano"}, True), ({"ac_1"}, {"bl_1"}, False), (None, {"bl_1"}, True)],
)
def test_composition_joins_what_has_something_in_common(left: Any, right: Any, tried: bool) -> None:
    ground = [member(0, left and frozenset(left)), member(1, frozenset(right))]
    met: list[Candidate] = []

    def realise(candidate: Candidate) -> None:
        met.append(candidate)

    atoms = [Atom("a", "a", {}), Atom("b", "b", {})]
    compose(atoms, ground, realise, Limits(3, 3, None), Random(0))  # type: ignore[arg-type]
    assert bool(met) is tried


def test_a_value_is_taken_from_where_people_take_it() -> None:
    tools = ["get_shop_order", "add_to_wish_list", "search_products"]
    words: Any = {name: SimpleNamespace(never_from=()) for name in tools}
    words["add_to_wish_list"] = SimpleNamespace(never_from=("get_shop_order",))

    def candidate(source: int) -> Candidate:
        return Candidate(",", member(source, None), 1, {(1, "product_id"): Source(source, "/x")})

    found = odd_source(candidate(0), tools.__getitem__, words)
    assert found is not None and "get_shop_order" in found
    assert odd_source(candidate(2), tools.__getitem__, words) is None
