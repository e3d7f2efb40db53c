"""How requests call what was spoken of, and what they ask for: pronouns, light phrases, lists, single fields, tones."""

from __future__ import annotations

from random import Random

import pytest

from planarena.environments.catalog import wording_of
from planarena.environments.domains import DOMAINS
from planarena.generate.asked import (
    asks_for_field,
    fits_register,
    is_curt,
    main_list,
    takes_description,
    wanted_lists,
)
from planarena.generate.mentions import Memory
from planarena.generate.pronouns import Around, closes, first_name, light, pronoun, takes_reference
from planarena.generate.sentences import Piece, join_message
from planarena.generate.spelling import Style, capital, with_articles


@pytest.mark.parametrize(
    ("before", "after", "alone", "expected"),
    [
        ("file ", " under Tasks", True, "it"),
        ("file ", " under Tasks", False, "that card"),
        ("what ", "'s up to next", True, "that card"),
        ("", " needs an owner", True, "that card"),
        ("tell me about the size of ", "", True, "that card"),
        ("put off ", " for too long", True, "that card"),
        ("take it and put ", " away", True, "that card"),
    ],
)
def test_it_stands_only_where_it_can(before: str, after: str, alone: bool, expected: str) -> None:
    assert pronoun("card", 1, Around(before, after), alone=alone, pick=1) == expected


def test_people_days_and_sums_have_words_of_their_own() -> None:
    here = Around("ask ", "")
    assert pronoun("employee", 1, here, alone=True, pick=1) == "them"
    assert pronoun("day", 3, here, alone=True, pick=1) == "that day"
    assert pronoun("card", 2, Around("tag ", " as new"), alone=False, pick=0) == "the card"
    assert first_name("Ada Lovelace") == "Ada"
    assert first_name("the card of Ada") == ""


def test_a_clause_stands_at_the_end_of_what_it_stands_in() -> None:
    phrases = ("whoever leads them", "the head of the team", "the boss named there")
    assert light(phrases, Around("see ", "")) == phrases
    assert light(phrases, Around("find where ", " works")) == phrases[1:]
    assert light(phrases, Around("dig up ", "'s address")) == ("the head of the team",)
    short = ("the address it came from", "the sender's address")
    assert light(short, Around("sort mail from ", " by hand")) == short[1:]
    assert light(("the item {customer} ordered", "that item"), Around("sell ", " cheap")) == ("that item",)
    assert closes("find {a}, then stop", "a")
    assert not closes("find where {a} works", "a")


def test_a_reference_does_not_follow_what_counts() -> None:
    assert not takes_reference("Are there too many {item} somewhere?", "item")
    assert takes_reference("Who sells {item}?", "item")


def test_a_record_is_fresh_until_another_of_its_kind_is_spoken_of() -> None:
    memory = Memory()
    memory.begin(())
    memory.begin_clause()
    assert memory.mention(0, "/cards/0/card_id", "card") == 0
    assert memory.is_fresh(0, "/cards/0/card_id", "card")
    memory.begin_clause()
    assert memory.is_alone(0, "/cards/0/card_id", "card")
    memory.mention(0, "/cards/1/card_id", "card")
    assert not memory.is_fresh(0, "/cards/0/card_id", "card")
    memory.begin_clause()
    assert not memory.is_alone(0, "/cards/0/card_id", "card")
    # A request that takes up nothing, or makes something, speaks of another thing.
    memory.begin(())
    memory.begin_clause()
    memory.mention(0, "/cards/0/card_id", "card")
    memory.begin_clause()
    memory.begin_clause()
    assert not memory.is_alone(0, "/cards/0/card_id", "card")


def test_a_later_message_reaches_back_to_what_no_answer_listed() -> None:
    for listed, reaches in (((), True), (("card",), False)):
        memory = Memory()
        memory.begin(())
        memory.begin_clause()
        memory.mention(0, "/card/card_id", "card")
        memory.begin(listed)
        assert memory.is_fresh(0, "/card/card_id", "card") is reaches


# By tool, words of requests and whether they ask for the records of its list.
LISTS = [
    ("travel", "list_tickets", "show me the upcoming flights of {passenger}", True),
    ("travel", "list_tickets", "Where's {passenger} flying next, and when?", False),
    ("calendar", "list_events", "tell me which meetings I have on {date}", True),
    ("calendar", "list_events", "let me know how {date} is filled and what comes first", False),
    ("support", "list_queue_tickets", "What's waiting in {queue}, and who has waited longest?", True),
    ("support", "list_queue_tickets", "count what's waiting in {queue} and name the oldest", False),
    ("vehicles", "list_vehicles_due", "list the vehicles by when they are due for {check}", True),
    ("vehicles", "list_vehicles_due", "Which one can't wait any longer for {check}?", False),
    ("travel", "search_flights", "find flights from {origin} to {destination} on {date}", True),
    ("travel", "search_flights", "dig out the cheapest seat from {origin} to {destination} on {date}", False),
]


@pytest.mark.parametrize(("domain", "tool", "template", "expected"), LISTS)
def test_a_plural_asks_for_the_records_and_a_superlative_for_one(
    domain: str, tool: str, template: str, expected: bool
) -> None:
    words = wording_of(domain)[tool]
    assert bool(main_list(words))
    assert (main_list(words) in wanted_lists(template, words, {}, {"date"})) is expected


def test_what_is_optional_counts_only_where_it_is_said() -> None:
    words = wording_of("clinic")["list_open_appointments"]
    template = "get the gaps in the diary of {doctor_id}[, the first not before {from_date}]"
    assert wanted_lists(template, words, {}, {"doctor_id"})
    assert not wanted_lists(template, words, {}, {"doctor_id", "from_date"})


def test_a_field_that_was_said_is_not_asked_for() -> None:
    assert asks_for_field("Whose is {document_id}?", "/owner", "person")
    assert asks_for_field("see which team {employee_id} is in", "/team", "hr_team")
    assert asks_for_field("find out where {document_id} is kept", "/folder", "folder")
    assert not asks_for_field("how big is {document_id}?", "/owner", "person")
    # A placeholder's own name is no word of the request.
    assert not asks_for_field("open {team}", "/team", "hr_team")


def test_a_day_that_is_described_follows_a_preposition() -> None:
    assert takes_description("list my events on {date}", "date", "day")
    assert not takes_description("say what {date} holds in store", "date", "day")
    assert takes_description("find a room from {start} on", "start", "time")
    assert not takes_description("3 seats, {start}, a whiteboard", "start", "time")


def test_clipped_words_fit_quick_manners_alone() -> None:
    assert is_curt("{card_id}: owner, author, open items?")
    assert is_curt('"{title}" to {start}, please.')
    assert not is_curt("Whose is {card_id}?")
    assert fits_register("{card_id}: owner, author?", "terse")
    assert not fits_register("{card_id}: owner, author?", "formal")
    assert not fits_register("Kindly list the cards of {board}.", "casual")
    assert not fits_register("Bung {card_id} in there.", "formal")
    assert fits_register("Whose is {card_id}?", "formal")


@pytest.mark.parametrize("domain", sorted(DOMAINS))
def test_every_tool_can_be_asked_for_in_every_manner(domain: str) -> None:
    for name, words in wording_of(domain).items():
        for register in ("plain", "formal", "casual"):
            fitting = [one for one in words.aims if fits_register(one, register)]
            assert len(words.ask) + len(fitting) >= 6, (name, register)


def test_an_address_keeps_its_small_letters_and_a_sentence_its_capital() -> None:
    assert capital("ada@example.com should know") == "ada@example.com should know"
    assert capital("that card") == "That card"
    pieces = [Piece("start", "that card needs an owner.", True), Piece("and", "ask for it", False)]
    for seed in range(40):
        for line in join_message(pieces, "listed", 0, Style(), set(), Random(seed)).splitlines()[1:]:
            assert line.lstrip("-0123456789. ")[0].isupper()


def test_an_article_fits_what_follows() -> None:
    assert with_articles('Village Hall has a Accuwell battery and a "Opening" folder.') == (
        'Village Hall has an Accuwell battery and an "Opening" folder.'
    )
    assert (
        with_articles("a one-way ticket, a European name, a unit")
        == "a one-way ticket, a European name, a unit"
    )
