"""Sentences as people write them: contractions, stops, greetings, acknowledgements and capitals."""

from __future__ import annotations

import re
from random import Random

import pytest

from planarena.generate.sentences import Piece, join_message
from planarena.generate.spelling import Style, one_stop, spell

SHORT = Style(contracted=True)


@pytest.mark.parametrize(
    "text",
    ["see how long it is", "the room as it is now in ", "how much it is, please", "what it is called", "it is",
     "open tasks in it is ", "as it will", "say whether there is room"],
)  # fmt: skip
def test_nothing_is_contracted_where_it_cannot_stand(text: str) -> None:
    assert spell(text, SHORT) == text


@pytest.mark.parametrize(
    ("text", "short"),
    [("it is done", "it's done"), ("There is more", "There's more"), ("you will see", "you'll see"),
     ("that is done, it is ", "that's done, it's ")],
)  # fmt: skip
def test_everything_else_is(text: str, short: str) -> None:
    assert spell(text, SHORT) == short


def test_a_quotation_and_its_sentence_share_one_stop() -> None:
    assert one_stop('Write "Send the invoice.". Then "Go!".') == 'Write "Send the invoice." Then "Go!"'
    assert one_stop("Wait... Really") == "Wait... Really"
    assert one_stop('Name it "Help wanted".') == 'Name it "Help wanted".'


def messages(pieces: list[Piece], register: str, turn: int) -> set[str]:
    return {join_message(pieces, register, turn, Style(), set(), Random(seed)) for seed in range(400)}


def test_a_greeting_before_a_whole_sentence_is_whole() -> None:
    for text in messages([Piece("start", "What is due?", True)], "chatty", 0):
        assert " so." not in text
        assert ":." not in text
        assert "What is due?" in text


def test_an_acknowledgement_does_not_stand_twice() -> None:
    found = messages([Piece("start", "Right, that note goes to Ada.", True)], "plain", 1)
    assert len(found) > 5
    assert all("Right. Right" not in text for text in found)


def test_a_casual_message_writes_its_capitals_in_one_way() -> None:
    pieces = [Piece("start", "What is due?", True), Piece("and", "open the card", False)]
    for text in messages(pieces, "casual", 0):
        assert text.split("? ", 1)[1][0].isupper()
    for text in messages([Piece("start", "open the card", False)], "casual", 0):
        assert text[0].islower()


@pytest.mark.parametrize("register", ["plain", "chatty", "formal", "hurried", "indirect"])
def test_nothing_goes_on_behind_a_quotation_that_ends_a_sentence(register: str) -> None:
    pieces = [
        Piece("start", 'add a note that says "All is well."', False),
        Piece("then", "show me the notes", False),
    ]
    for seed in range(200):
        text = join_message(pieces, register, 0, Style(), set(), Random(seed))
        assert 'well."' in text
        assert re.search(r'well\.",? (and|then)\b', text) is None, text
