"""A user played by a model: every message is checked, and what is wrong spoils the conversation with its class."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from planarena.errors import ConfigError
from planarena.llm import Budget, BudgetSpent
from planarena.pipeline.language.conversations.rule import _NO, _YES
from planarena.users import Brief, Message, Users, read_user
from planarena.users.checks import check_message, is_no, telling

sys.path.append(str(Path(__file__).resolve().parents[2]))
from llm_server import Script, ScriptedServer
from user_model import GoodUser

BRIEF = Brief(
    "missing_value",
    messages=(
        Message(text="Book a table at Lumo for 4, please."),
        Message("asked", "which day", True, "On 14 May.", ("14 May",)),
        Message(calls=True, text="And a taxi there from Harbour Street.", values=("Harbour Street",)),
    ),
)
GOOD = (("Which day should it be?", 0), ("Booked for 14 May.", 1), ("A taxi is on its way.", 1))


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANARENA_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def play(request: pytest.FixtureRequest) -> Iterator[Callable[..., Any]]:
    """Return what plays `BRIEF` against replies of a model: (user, what it said)."""
    opened: list[Any] = []

    def run(reply: Callable[[dict[str, Any]], dict[str, str]], heard: Any = GOOD, **options: Any) -> Any:
        server = ScriptedServer(Script(reply=lambda body: json.dumps(reply(body))))
        opened.append(server)
        url = server.__enter__().url
        users = Users(f"model:person@{url}", **options)
        opened.append(users)
        user = users.play(BRIEF)
        return user, [user.reply(text, calls) for text, calls in heard], server

    yield run
    for one in reversed(opened):
        one.__exit__(None, None, None)


def says(*lines: tuple[str, str]) -> Callable[[dict[str, Any]], dict[str, str]]:
    """Return a model that says these lines one after the other, the last one for ever."""
    left = list(lines)

    def reply(body: dict[str, Any]) -> dict[str, str]:
        del body
        move, message = left.pop(0) if len(left) > 1 else left[0]
        return {"move": move, "message": message}

    return reply


def test_a_good_model_says_all_that_there_is_in_its_own_words(play: Any) -> None:
    user, said, _ = play(GoodUser())
    assert said == [
        "Well, that would be: On 14 May.",
        "Well, then: And a taxi there from Harbour Street.",
        None,
    ]
    assert user.answered
    assert not user.spoiled


def test_what_is_held_back_stays_so_where_nobody_asks(play: Any) -> None:
    user, said, _ = play(GoodUser(), (("Booked for today.", 1), ("A taxi is on its way.", 1)))
    assert said == ["Well, then: And a taxi there from Harbour Street.", None]
    assert user.answered


@pytest.mark.parametrize(
    ("reply", "heard", "fault"),
    [
        (says(("give", "On 15 May.")), GOOD, "lied"),
        (says(("give", "On 14 May, with Anna.")), GOOD, "lied"),
        (says(("next", "It is for 14 May. And a taxi from Harbour Street.")), (("Done.", 1),), "leaked"),
        (says(("give", "On 14 May.")), (("Done.", 1),), "leaked"),
        (says(("give", "Soon.")), GOOD, "left_out"),
        (says(("give", "How can I help you today?")), GOOD, "other_role"),
        (says(("give", "Assistant: the table is booked for 14 May.")), GOOD, "other_role"),
        (says(("give", '{"name": "book", "arguments": {"day": "14 May"}}')), GOOD, "other_role"),
        (says(("end", "Bye.")), GOOD, "ended_early"),
        (says(("give", "On 14 May."), ("end", "")), GOOD, "ended_early"),
        (says(("again", "A table at Lumo for 4.")), (("Hm.", 1), *GOOD), "never_ends"),
        (says(("next", "And a taxi there from Harbour Street.")), GOOD, "withheld"),
        (says(("give", "On 14 May, and a taxi from Harbour Street.")), GOOD, "ahead"),
        (says(("give", " ")), GOOD, "empty"),
        (says(("give", "On 14 May. " * 400)), GOOD, "too_long"),
    ],
)
def test_what_is_wrong_spoils_the_conversation_with_its_class(
    play: Any, reply: Any, heard: Any, fault: str
) -> None:
    user, said, _ = play(reply, heard)
    assert (user.spoiled, said[-1], user.answered) == (fault, None, False)


def test_a_user_who_never_ends_is_stopped(play: Any) -> None:
    chat = says(
        ("give", "On 14 May."), ("next", "And a taxi there from Harbour Street."), ("next", "Thanks a lot!")
    )
    user, said, server = play(chat, (*GOOD, *[("You are welcome.", 0)] * 9))
    assert user.spoiled == "never_ends"
    assert said[2:] == ["Thanks a lot!", "Thanks a lot!", *[None] * 8]
    assert sum(server.sent.values()) == 5


def test_who_asks_for_ever_is_given_up_and_that_is_not_the_fault_of_the_user(play: Any) -> None:
    asked = (("Which day should it be?", 0), *[("From where?", 0)] * 5)
    user, said, _ = play(says(("give", "On 14 May."), ("again", "14 May, as I said.")), asked)
    assert said == ["On 14 May.", *["14 May, as I said."] * 2, *[None] * 3]
    assert (user.answered, user.spoiled) == (False, "")


def test_a_yes_stays_a_yes() -> None:
    for texts, no in ((_YES, False), (_NO, True)):
        for text in texts:
            assert is_no(text) is no, text
            wrong = "Yes, please." if no else "No, don't."
            assert check_message(text, own=text, yes_or_no=True) is None
            fault = check_message(wrong, own=text, yes_or_no=True)
            assert fault is not None
            assert fault[0] == "lied"


def test_what_texts_tell() -> None:
    assert telling('I paid 1,250.00 to Jan Nowak at a.b@c.org for "two teas".') == {
        "1250", "jan", "nowak", "a.b@c.org", "two", "teas",
    }  # fmt: skip


def test_nothing_is_paid_twice_and_the_budget_holds(play: Any) -> None:
    _, first, server = play(GoodUser())
    with Users(f"model:person@{server.url}") as users:
        user = users.play(BRIEF)
        assert [user.reply(*one) for one in GOOD] == first
    assert set(server.sent.values()) == {1}
    with pytest.raises(BudgetSpent):
        play(GoodUser(), budget=Budget(calls=1))


def test_an_answer_that_is_no_message_spoils_the_conversation(play: Any) -> None:
    user, said, _ = play(lambda body: {"word": "x"})
    assert (user.spoiled, said) == ("no_answer", [None, None, None])


def test_who_plays_is_scripted_or_a_model() -> None:
    assert read_user("scripted") is None
    model = read_user("model:openai/small")
    assert model is not None
    assert model.name == "openai/small"
    with pytest.raises(ConfigError, match="plays no user"):
        read_user("openai/small")
