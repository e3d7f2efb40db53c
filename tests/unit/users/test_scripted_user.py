"""A scripted user says what it holds, when it is to be said, and nothing else."""

from __future__ import annotations

import pytest

from planarena.users import Brief, Message, ScriptedUser, read_brief

HELD = Brief(
    "missing_value",
    messages=(
        Message(calls=False, text="Book a table."),
        Message("asked", "day", True, "Friday."),
        Message(calls=True, text="And a taxi."),
    ),
)


def test_what_is_held_back_is_given_to_a_question() -> None:
    user = ScriptedUser(HELD)
    assert user.reply("Which day should it be?", 0) == "Friday."
    assert user.reply("Booked for Friday. Anything else?", 1) == "And a taxi."
    assert not user.answered
    assert user.reply("A taxi is on its way.", 1) is None
    assert user.answered


def test_what_is_held_back_stays_so_where_nobody_asks() -> None:
    user = ScriptedUser(HELD)
    said = [user.reply("Done, today at eight.", 1), user.reply("Done.", 1)]
    assert said == ["And a taxi.", None]
    assert user.answered


def test_a_question_about_what_was_told_is_answered_with_it_and_not_for_ever() -> None:
    user = ScriptedUser(Brief("plain", messages=(Message(calls=True, text="Lock the back door."),)))
    said = [user.reply("Which door?", 0) for _ in range(4)]
    assert all(text is not None and "Lock the back door." in text for text in said[:2])
    assert said[2:] == [None, None]
    assert not user.answered


def test_an_answer_that_offers_more_is_no_question() -> None:
    user = ScriptedUser(
        Brief("plain", messages=(Message(calls=True, text="A."), Message(calls=True, text="B.")))
    )
    assert user.reply("Done. Shall I do anything else?", 2) == "B."


def test_runs_of_before_go_on_message_by_message() -> None:
    user = ScriptedUser(read_brief("", ("A.", "B.")))
    assert [user.reply("What?", 0), user.reply("Fine.", 0)] == ["B.", None]
    assert user.answered


def test_a_brief_is_read_with_its_texts() -> None:
    stored = '{"kind":"rule","messages":[{},{"when":"asked","calls":true}]}'
    brief = read_brief(stored, ("Pay it.", "Yes."))
    assert brief.told == ("Pay it.",)
    assert [one.text for one in brief.held_back] == ["Yes."]


@pytest.mark.parametrize(
    "closing", ["Shall I do anything else?", "Anything else?", "Tell me if anything should change."]
)
def test_a_polite_close_is_no_question(closing: str) -> None:
    user = ScriptedUser(Brief(messages=(Message(calls=True, text="Book the room."),)))
    assert user.reply(f"It is booked. {closing}", 0) is None
    assert user.answered
