"""Several messages of one conversation: they hang together, and corrections, rules and fillers stand where they belong."""

from __future__ import annotations

from random import Random
from types import MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple

import pytest

from planarena.config import BuildConfig
from planarena.environments.catalog import goals_of, operations_of
from planarena.environments.policies import Rule
from planarena.pipeline.execute.aims.following import (
    _changes_again,
    _does_the_like,
    _does_what_was_undone,
    _is_of_deed,
    _was_done_for_all,
)
from planarena.pipeline.execute.scenario_run import execute_with_variants
from planarena.pipeline.execute.scenarios import draw_scenario
from planarena.pipeline.language.conversations.aim_lines import _end_of_sentence
from planarena.pipeline.language.conversations.rule import from_me
from planarena.pipeline.language.describe import ScenarioLanguage
from planarena.pipeline.products import Discard, Executed, Language

REASONS = {
    "asks_what_was_told",
    "asks_of_nothing",
    "describes_what_is_known",
    "done_before",
    "done_all_the_same",
    "undoes_what_was_done",
    "does_the_like_again",
    "changes_it_again",
}
LEADS = ("Done. ", "All set. ", "That's done. ", "All done. ")
TAILS = ("Anything else?", "Is there anything else?")


@pytest.fixture(scope="module")
def drawn():
    """Return (scenario, task, what is said) of the conversations of two domains, and what was left out."""
    found, left_out = [], []
    for domain in ("parcels", "gym"):
        config = BuildConfig(sources=(f"builtin:{domain}",), seed=3)
        for number in range(4):
            for scenario in execute_with_variants(config, draw_scenario(config, number)):
                left_out += [one for one in scenario.items if isinstance(one, Discard)]
                writer = ScenarioLanguage(config, scenario)
                for task in scenario.items:
                    if isinstance(task, Executed) and task.aims:
                        said = writer.describe(task, contrast=False)
                        if isinstance(said, Language):
                            found.append((scenario, task, said))
    return found, left_out


def test_what_does_not_follow_is_left_out_with_its_reason(drawn):
    reasons = {one.reason for one in drawn[1] if one.stage == "conversation"}
    assert reasons
    assert reasons <= REASONS


def test_no_later_message_describes_by_its_place_what_an_earlier_one_acted_on(drawn):
    met = 0
    for _, task, _ in drawn[0]:
        if task.talk.kind not in {"", "long"}:
            continue
        for aimed in task.aims:
            picks = goals_of(aimed.domain)[aimed.name].picks
            before = {
                value
                for other in task.aims
                if other.turn < aimed.turn
                for step, _, _ in other.calls
                for name, value in task.steps[step].arguments.items()
                if name.endswith("_id")
            }
            ranked = {
                one.name for one in aimed.picked if picks[one.name][1].way in {"least", "most", "place"}
            }
            taken = {
                task.steps[step].arguments[name]
                for step, _, _ in aimed.calls
                for name, source, pointer in task.steps[step].bound
                for one in aimed.picked
                if one.name in ranked
                and one.of == 1
                and source == one.step
                and pointer.startswith(f"{picks[one.name][1].rows}/{one.index}/")
            }
            assert not taken & before
            met += bool(before)
    assert met > 5


def test_an_answer_begins_with_filler_once_at_most_and_never_before_a_look_up(drawn):
    operations = {**operations_of("parcels"), **operations_of("gym")}
    for scenario, task, said in drawn[0]:
        if all(operations[step.tool].tool.effects == "read" for step in task.steps):
            assert not said.response.startswith(LEADS)
        answers = (*said.turn_responses, said.response)
        assert sum(answer.startswith(LEADS) for answer in answers) <= 1
        assert not any(answer.endswith(TAILS) for answer in answers if len(answers) > 1)
        assert scenario.facts["user_name"] not in " ".join(said.turns)


@pytest.mark.parametrize(
    ("text", "value", "end"),
    [
        ("Take the aisle seat. What does it cost?", "aisle seat", "Take the aisle seat."),
        ("Open it for Ana and tell me the subject.", "Ana", "Open it for Ana and tell me the subject."),
        ('Send it to Ana: "See you. Bye."', "Ana", ""),
        ("For Ana, in the morning, with all that we said about it on the phone last week.", "Ana", ""),
    ],
)
def test_a_correction_stands_behind_its_sentence(text, value, end):
    place = _end_of_sentence(text, text.index(value) + len(value))
    assert text[:place] == end


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("Rooms are booked at the desk, not by the assistant.", "Rooms are booked at the desk, not by me."),
        ("Money stays there: the assistant takes none out.", "Money stays there: I take none out."),
        (
            "The assistant may restart machines but does not stop any.",
            "I may restart machines but don't stop any.",
        ),
        ("Fee notes are issued by the partners alone.", "Fee notes are issued by the partners alone."),
    ],
)
def test_the_assistant_says_a_rule_as_its_own(rule, said):
    assert from_me(rule) == said


def test_a_rule_counts_one_and_offers_nothing_in_place_of_a_fact():
    rule = Rule("record", "refusal", "More than {limit} lessons: the office.", {"lessons": [1]}, fact=True)
    policy = rule.drawn(Random(1))
    assert policy.text == "More than 1 lesson: the office."
    assert rule.allowed(policy, 4) is None
    wish = Rule("record", "refusal", "More than {limit} lessons: the office.", {"lessons": [2]})
    assert wish.drawn(Random(1)).text == "More than 2 lessons: the office."
    assert wish.allowed(wish.drawn(Random(1)), 4) == 2


_PARAMETERS: dict[str, Any] = {
    "coach_id": {"x-hidden": True},
    "booking_id": {"x-hidden": True},
    "focus": {},
    "cook": {},
    "payee": {},
    "amount": {},
}


class Draw(NamedTuple):
    """As much of a draw as deciding about likes needs."""

    made: list[Any]
    said: dict[str, str]
    shop: Any = SimpleNamespace(reads=lambda tool: tool.startswith("find"))
    many: frozenset[str] = frozenset()
    picked: Any = MappingProxyType({})
    world: Any = SimpleNamespace(
        operations={
            tool: SimpleNamespace(tool=SimpleNamespace(effects=effects, parameters=_PARAMETERS))
            for tool, effects in (
                ("find_coach", "read"),
                ("book", "create"),
                ("assign", "update"),
                ("cancel", "delete"),
                ("transfer", "create"),
            )
        }
    )

    def once(self, find: Any) -> Any:
        return find(self)


def _call(tool, bound=(), **arguments):
    return SimpleNamespace(atom=SimpleNamespace(tool=tool), arguments=arguments, bound=bound, result={})


def _hour(focus):
    looked = _call("find_coach", focus=focus)
    return Draw([looked, _call("book", [("coach_id", 0, "/x")], coach_id="c_" + focus)], {"focus": focus})


def test_what_is_booked_for_the_same_name_is_the_like():
    first, second, third = _hour("running"), _hour("running"), _hour("endurance")
    assert _does_the_like(first, first.made[1], second)
    assert not _does_the_like(first, first.made[1], third)


def test_what_changed_is_changed_again_by_the_same_record_alone():
    one = Draw([_call("assign", coach_id="c_1", cook="Ada")], {"cook": "Ada"})
    same = Draw([_call("assign", coach_id="c_1", cook="Bea")], {"cook": "Bea"})
    other = Draw([_call("assign", coach_id="c_2", cook="Bea")], {"cook": "Bea"})
    assert _changes_again(one, one.made[0], same)
    assert not _changes_again(one, one.made[0], other)


def test_who_did_it_for_all_does_not_do_it_for_one():
    looked = _call("find_coach", focus="running")
    every = Draw(
        [looked, _call("assign", [("coach_id", 0, "/rows/0/coach_id")], coach_id="c_1", cook="Ada")],
        {"cook": "Ada"},
        many=frozenset({"row"}),
        picked={"row": [(0, 0), (0, 1)]},
    )
    one = Draw([_call("assign", coach_id="c_2", cook="Bea")], {"cook": "Bea"})
    assert _was_done_for_all(every, every.made[1], one)
    assert not _was_done_for_all(one, one.made[0], every)


def _deed(tool, result, **arguments):
    made = _call(tool, **arguments)
    made.result = result
    return made


def test_the_last_booking_after_a_transfer_is_that_transfer():
    sent = {"amount": 56.7, "date": "2026-08-17", "from_account": "Workshop", "payee": "Kiran Hernandez"}
    draw = Draw([_deed("transfer", sent, amount=56.7, payee="Kiran Hernandez")], {})
    assert _is_of_deed([draw], ["Transfer to Kiran Hernandez", "2026-08-17"])
    assert _is_of_deed([draw], ["Transfer to Kiran Hernandez", "2026-08-17", -56.7])
    assert not _is_of_deed([draw], ["Transfer to Kiran Hernandez", -39.06])
    assert not _is_of_deed([draw], ["Metro Transit", "2026-08-17"])
    looked = Draw([_deed("find_coach", sent, payee="Kiran Hernandez")], {})
    assert not _is_of_deed([looked], ["Transfer to Kiran Hernandez"])


def test_what_was_called_off_is_not_ordered_again_for_the_same():
    words = {"cancel": SimpleNamespace(undoes=(), ends=("booking_id",))}
    shop = SimpleNamespace(reads=lambda tool: tool.startswith("find"), wording=words)
    off = _deed("cancel", {"name": "Long Acre", "date": "2026-05-07"}, booking_id="b_1")
    draw = Draw([off], {"name": "Long Acre"}, shop=shop)
    again = _deed("book", {"booking_id": "b_2"}, cook="2026-05-07")
    elsewhere = _deed("book", {"booking_id": "b_3"}, cook="2026-06-01")
    assert _does_what_was_undone(draw, off, Draw([again], {}, shop=shop))
    assert not _does_what_was_undone(draw, off, Draw([elsewhere], {}, shop=shop))
