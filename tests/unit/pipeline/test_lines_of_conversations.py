"""What is corrected inside a message, what is said of a failure, and when a first name will do."""

from __future__ import annotations

import re
from collections import Counter
from random import Random
from types import SimpleNamespace

import pytest

from planarena.config import BuildConfig
from planarena.config.conversations import ConversationConfig
from planarena.generate.spelling import PLAIN
from planarena.pipeline.execute.conversations import failed_call
from planarena.pipeline.execute.conversations.change_of_mind import is_short
from planarena.pipeline.execute.scenario_run import execute_with_variants
from planarena.pipeline.execute.scenarios import draw_scenario
from planarena.pipeline.language.aims import _SEEKS
from planarena.pipeline.language.conversations.aim_lines import has_article
from planarena.pipeline.language.conversations.failed_call import REASONS, hiccup, reason_of
from planarena.pipeline.language.describe import ScenarioLanguage
from planarena.pipeline.products import Act, Executed, Language


@pytest.mark.parametrize(
    ("value", "surface", "semantic", "short"),
    [
        ("Ada Lovelace", "name", "person", True),
        ("onyx", "word", "room", True),
        (5, "number", "seats", True),
        ("2026-05-04", "date", "date", True),
        ("2026-05-04T10:00", "datetime", "sitting", False),
        ("The Copper Street Band", "name", "artist", False),
        ("March rent", "name", "payment_note", False),
        ("AT882011100038712", "plain", "iban", False),
        ("ada@example.com", "plain", "email_address", False),
    ],
)
def test_only_what_is_short_is_corrected_inside_a_message(value, surface, semantic, short):
    assert is_short(value, {"x-surface": surface, "x-semantic": semantic}) is short


def test_what_is_out_of_order_is_told_in_own_words_that_do_not_change():
    for _, message in failed_call._DOWN:
        for step in range(5):
            told = reason_of(message, PLAIN, Act(0, "fails", step))
            assert told in REASONS[message]
            assert "this function" not in told.lower()
            assert told == reason_of(message, PLAIN, Act(0, "fails", step))


def test_only_what_a_look_up_had_shown_otherwise_is_told_to_have_changed():
    assert reason_of("The room is taken.", PLAIN, Act(0, "fails", 0, "for good")) == "the room is taken."
    told = reason_of("The room is taken.", PLAIN, Act(0, "fails", 0, "for good", True))
    assert told.startswith("the room is taken. ")
    assert re.search(r"since I looked|a moment ago|after I looked", told)


def test_a_value_that_is_spoken_of_with_an_article_keeps_it_in_a_correction():
    assert has_article("vehicle", ["Where is the {vehicle}, please?", "The {vehicle} needs oil."])
    assert not has_article("name", ["Freeze the {name} card.", "Take the {name} card, please."])
    assert not has_article("name", ["Find {name}.", "Where is the {name}?"])


@pytest.mark.parametrize(("effects", "heard"), [("read", False), ("create", True)])
def test_only_of_a_deed_one_hears_that_it_took_two_tries(effects, heard):
    step = SimpleNamespace(operation=SimpleNamespace(tool=SimpleNamespace(effects=effects, name="x")))
    act = Act(0, "fails", 1, "passing")
    again = Act(0, "again", 0, "", 1)
    of = SimpleNamespace(
        steps=[step, step],
        rng=Random(3),
        talk=SimpleNamespace(acts=(act, again)),
        telling=SimpleNamespace(turn_of=[0, 0], asked=[0]),
        in_order=list,
        style=PLAIN,
        used=Counter(),
    )
    said = {hiccup(of, act, 0) for _ in range(200)}
    assert (len(said) > 1) is heard


@pytest.mark.parametrize(
    ("way", "sought"),
    [
        ("Find {name} and tell me the mail address.", "name"),
        ("Look up {name}, see who the manager is.", "name"),
        ('Find the colleague "{name}", please.', "name"),
        ("Find out who {name}'s manager is.", ""),
        ("Who is {name}?", ""),
    ],
)
def test_who_is_to_be_found(way, sought):
    found = _SEEKS.match(way)
    assert (found.group(1) if found else "") == sought


@pytest.fixture(scope="module")
def said():
    """Return (task, what is said) of conversations of three domains, many of them with a change of mind."""
    found = []
    shares = ConversationConfig(shares={"change_of_mind": 0.5})
    config = BuildConfig(
        sources=("builtin:hr", "builtin:library", "builtin:gym"), seed=5, conversations=shares
    )
    for number in range(8):
        for scenario in execute_with_variants(config, draw_scenario(config, number)):
            writer = ScenarioLanguage(config, scenario)
            for task in scenario.items:
                if isinstance(task, Executed) and task.aims:
                    words = writer.describe(task, contrast=False)
                    if isinstance(words, Language):
                        found.append((scenario, task, words))
    return found


def test_most_corrections_are_messages_of_their_own(said):
    acts = [act.what for _, task, _ in said for act in task.talk.acts]
    slips = acts.count("slips")
    assert acts.count("corrects") + acts.count("takes_back") >= 2 * slips > 0


def test_a_first_name_stands_only_for_who_was_named_in_full_before(said):
    met = 0
    for scenario, task, words in said:
        known = f"{scenario.facts} {[(step.arguments, step.result) for step in task.steps]}"
        names = set(re.findall(r"[A-Z][a-z]+ [A-Z][a-z]+", known))
        for aimed in task.aims:
            message = words.turns[aimed.turn]
            for one in aimed.said:
                if one.value in names and aimed.turn and one.value not in message:
                    first = one.value.split()[0]
                    if re.search(rf"\b{first}\b", message):
                        assert one.value in " ".join(words.turns[: aimed.turn])
                        assert {name for name in names if name.startswith(f"{first} ")} == {one.value}
                        met += 1
    assert met
