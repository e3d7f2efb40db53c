"""What goes by its own name, what only an answer makes clear, and which reports fit a question."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from planarena.environments.catalog import operations_of, wording_of
from planarena.generate.answers import write_response
from planarena.generate.asked import lists_told, main_list
from planarena.generate.clauses import StepContext
from planarena.generate.naming import must_be_told, naming_phrases, said_by_name

CARDS: dict[str, Any] = {
    "count": 3,
    "cards": [
        {"card_id": "crd_0000000001", "title": "Sand the floor", "assignee": "nobody", "due": "2026-05-04"},
        {"card_id": "crd_0000000002", "title": "Paint the door", "assignee": "nobody", "due": "2026-05-06"},
        {"card_id": "crd_0000000003", "title": "Paint the door", "assignee": "nobody", "due": "2026-05-09"},
    ],
}
GIVEN = {"board": "Flat Conversion", "column": "backlog"}


def phrases(pointer: str, result: Any = CARDS, given: Any = GIVEN) -> tuple[str, ...]:
    tool = operations_of("boards")["list_board_cards"].tool
    return naming_phrases(tool, wording_of("boards")["list_board_cards"], pointer, given, result)


def told_first(domain: str, name: str, pointer: str, given: Any, result: Any, *, writes: bool) -> bool:
    tool = operations_of(domain)[name].tool
    return must_be_told(tool, wording_of(domain)[name], pointer, given, result, writes=writes)


def test_a_record_goes_by_a_name_that_no_other_of_its_list_has() -> None:
    assert all("{/cards/0/title}" in one for one in phrases("/cards/0/card_id"))
    assert phrases("/cards/0/card_id")
    assert phrases("/cards/1/card_id") == (), "two cards have that title"


def test_a_name_says_all_that_the_look_up_is_told() -> None:
    assert phrases("/cards/0/card_id", given={**GIVEN, "extra": "value"}) == ()
    said = said_by_name(
        'the email "{/subject}"', '"Catering for two" from Ada', {"keyword": "catering", "sender": "Ada"}
    )
    assert said == {"keyword": "Catering", "sender": "Ada"}
    assert said_by_name("{/subject}", "Caterings", {"keyword": "catering"}) == {}


@pytest.mark.parametrize("writes", [True, False])
def test_ordinals_wait_for_an_answer_and_names_do_not(writes: bool) -> None:
    given = ("boards", "list_board_cards")
    assert not told_first(*given, "/cards/0/card_id", GIVEN, CARDS, writes=writes)
    assert told_first(*given, "/cards/1/card_id", GIVEN, CARDS, writes=writes)


def test_a_superlative_of_a_market_may_be_asked_for_at_once() -> None:
    flight = {"flight_id": "flt_1", "airline": "Lark", "departure_time": "07:00", "price": 90.0}
    result = {"route": "Rome to Oslo", "flights": [flight, {**flight, "flight_id": "flt_2", "price": 95.0}]}
    given = {"origin": "Rome", "destination": "Oslo", "date": "2026-05-04"}
    for writes in (True, False):
        assert not told_first(
            "travel", "search_flights", "/flights/0/flight_id", given, result, writes=writes
        )
        assert told_first("travel", "search_flights", "/flights/1/flight_id", given, result, writes=writes)
        assert told_first("travel", "search_flights", "/flights/0/price", given, result, writes=writes)


def test_derived_days_are_told_and_people_are_named() -> None:
    card = {"card_id": "crd_1", "title": "Sand", "due": "2026-05-04", "creator": "Ada Byron"}
    assert told_first("boards", "open_board_card", "/due", {"card_id": "crd_1"}, card, writes=False)
    person = {"manager": "Ada Byron", "name": "Bo Li"}
    assert not told_first("calendar", "find_colleague", "/manager", {"name": "Bo Li"}, person, writes=True)


def step(result: Any = CARDS) -> StepContext:
    operation = operations_of("boards")["list_board_cards"]
    return StepContext(0, operation, wording_of("boards")["list_board_cards"], GIVEN, {}, result)


@pytest.mark.parametrize("seed", range(12))
def test_a_question_for_one_gets_one_and_a_question_for_all_gets_all(seed: int) -> None:
    one = write_response([step()], [0], Random(seed), wanted={0: ()})
    assert "Sand the floor" in one
    assert "Paint the door" not in one
    every = write_response([step()], [0], Random(seed), wanted={0: ("/cards",)})
    assert every.count("Paint the door") == 2


@pytest.mark.parametrize("seed", range(12))
def test_what_is_alone_comes_first_of_nothing(seed: int) -> None:
    alone = {"count": 1, "cards": CARDS["cards"][:1]}
    answer = write_response([step(alone)], [0], Random(seed), wanted={0: ("/cards",)})
    assert "first" not in answer
    assert "in order" not in answer


def test_a_list_that_no_report_tells_is_told_when_all_of_it_is_asked_for() -> None:
    words = wording_of("smart_home")["compare_rooms"]
    main = (main_list(words),)
    assert lists_told(main, "see where the temperature is lowest", words) == ()
    assert lists_told(main, "list the rooms by temperature", words) == main
    cards = wording_of("boards")["list_board_cards"]
    assert lists_told(("/cards",), "show me what stands there", cards) == ("/cards",)
