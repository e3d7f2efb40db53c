"""Labels, disagreements and repairs from answers."""

from __future__ import annotations

import msgspec
import pytest

from planarena.annotation.answers import checked_values
from planarena.annotation.forms import Answer
from planarena.annotation.labels import agreement_of, audit_rows, judge, judge_decisions, read_correction
from planarena.errors import UserError
from planarena.records.canonical import canonical_json
from planarena.records.tables import DecisionPointRow

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}


def answer(item, who, query="yes", goal="yes", form="trajectories", at="2026-03-01T10:00:00", **more):
    values = {"query_ok": query, "goal_ok": goal, **more}
    return Answer(form, item, who, values, at, False, "g1", "v1")


def labels(*answers, overlap=2):
    return {row.trajectory_id: (row.label, row.method) for row in judge(answers, overlap).labels}


@pytest.mark.parametrize(
    ("query", "goal", "label"),
    [
        ("yes", "yes", "positive"),
        ("no", "yes", "negative"),
        ("yes", "no", "negative"),
        ("no", "no", "negative"),
    ],
)
def test_both_bits_make_a_positive(query, goal, label):
    assert labels(answer("t", "ann", query, goal), answer("t", "bob", query, goal)) == {
        "t": (label, "agreed")
    }


def test_too_few_answers_wait():
    found = judge([answer("t", "ann")], 2)
    assert (found.labels, found.waiting) == ([], ["t"])
    assert labels(answer("t", "ann"), overlap=1) == {"t": ("positive", "single")}


def test_a_disagreement_is_no_positive_and_is_listed_with_both_answers():
    found = judge([answer("t", "ann"), answer("t", "bob", goal="no", comment="paid twice")], 2)
    assert [(row.label, row.method, row.agreement) for row in found.labels] == [("negative", "disputed", 0.5)]
    (entry,) = found.disagreements
    assert (entry["trajectory_id"], entry["differs"], entry["settled"]) == ("t", ["goal_ok"], False)
    assert [one["annotator"] for one in entry["answers"]] == ["ann", "bob"]
    assert entry["answers"][1]["comment"] == "paid twice"


def test_different_reasons_for_a_negative_are_a_negative_and_still_listed():
    found = judge([answer("t", "ann", "no", "yes"), answer("t", "bob", "yes", "no")], 2)
    assert [(row.label, row.agreement) for row in found.labels] == [("negative", 0.0)]
    assert found.disagreements[0]["differs"] == ["query_ok", "goal_ok"]


def test_an_adjudicator_decides():
    disputed = [answer("t", "ann"), answer("t", "bob", goal="no")]
    assert labels(*disputed, answer("t", "eve", form="adjudication")) == {"t": ("positive", "adjudicated")}
    found = judge([*disputed, answer("t", "eve", goal="no", form="adjudication")], 2)
    assert [row.label for row in found.labels] == ["negative"]
    assert found.disagreements[0]["settled"]


def test_a_wrong_query_is_repairable_only_if_all_say_so():
    both = judge(
        [answer("t", "ann", "no", issues=["query_unclear"]), answer("t", "bob", "no", comment="when?")], 2
    )
    assert both.repairable == [
        {"trajectory_id": "t", "goal_ok": True, "issues": ["query_unclear"], "comments": ["when?"]}
    ]
    assert judge([answer("t", "ann", "no", "no"), answer("t", "bob", "yes", "no")], 2).repairable == []


def test_agreement_is_the_share_of_pairs_over_both_bits():
    found = judge([answer("t", "ann"), answer("t", "bob"), answer("t", "eve")], 2)
    assert found.labels[0].agreement == 1.0
    # yes/no, yes/no, no/no: query agrees in 1 of 3 pairs, goal in 3 of 3: 4 of 6.
    found = judge(
        [answer("t", "ann", goal="no"), answer("t", "bob", goal="no"), answer("t", "eve", "no", "no")], 2
    )
    assert found.labels[0].agreement == pytest.approx(4 / 6, abs=1e-12)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('{"name": "find", "arguments": {"city": "Ghent"}}', ""),
        ('{"name": "find", "arguments": {"city": 3}}', "arguments: city:"),
        ('{"name": "find", "arguments": {"city": "Ghent", "x": 1}}', "arguments:"),
        ('{"name": "fly", "arguments": {}}', "there is no tool 'fly'"),
        ('{"name": "find", "arguments": []}', "not an object"),
        ('["find"]', "not an object"),
        ("find(Ghent)", "not JSON"),
        ('{"name": "find", "arguments": {"city": 1e999}}', "not JSON"),
        ('{"name": "find", "arguments": {"city": 123456789012345678901234567890}}', "not JSON"),
    ],
)
def test_a_corrected_call_is_checked_against_the_tools_schema(text, error):
    found = read_correction(text, {"find": SCHEMA})
    assert (found.error == "") == (error == ""), found
    assert error in found.error
    assert msgspec.json.decode(found.stored)  # what is stored is JSON, whatever was written


def test_audit_rows_count_steps_from_zero_and_keep_the_correction():
    text = '{"name": "find", "arguments": {"city": "Ghent"}}'
    rows = audit_rows(
        [
            answer(
                "t",
                "ann",
                goal="no",
                first_wrong_step="3",
                corrected_call=text,
                issues=["wrong_value", "other"],
            ),
            answer("t", "bob"),
        ],
        {"t": {"find": SCHEMA}},
    )
    mine = {row.annotator: row for row in rows}
    assert (mine["ann"].first_wrong_step, mine["bob"].first_wrong_step) == (2, -1)
    assert mine["ann"].correction == '{"arguments":{"city":"Ghent"},"name":"find"}'
    assert (mine["bob"].correction, mine["ann"].issues) == ("null", '["other","wrong_value"]')
    assert len({row.audit_id for row in rows}) == 2


def test_answers_outside_the_form_are_refused():
    with pytest.raises(UserError, match="no answer to 'query_ok'"):
        checked_values(answer("t", "ann", query="maybe"))
    with pytest.raises(UserError, match="'goal_ok' is not answered"):
        checked_values(answer("t", "ann")._replace(values={"query_ok": "yes"}))
    with pytest.raises(UserError, match="no answer to 'issues'"):
        checked_values(answer("t", "ann", issues="other"))
    kept = checked_values(answer("t", "ann", issues=[], comment="", forgotten="x"))
    assert kept.values == {"query_ok": "yes", "goal_ok": "yes"}


def point(outcomes):
    candidates = [
        {
            "tool": f"tool_{place}",
            "tool_id": "",
            "arguments": {"n": place},
            "outcome": outcome,
            "relevance": 0.5,
        }
        for place, outcome in enumerate(outcomes)
    ]
    return DecisionPointRow("d", "t", 1, "p", canonical_json(candidates))


def test_choices_map_back_to_the_candidates_they_were():
    from planarena.annotation.items import ordered_choices

    row = point(["frontier", "diverges", "error"])
    letter = {choice.place: choice.letter for choice in ordered_choices(row)}
    values = {"right_choices": [letter[0], letter[2]], f"relevance_{letter[1]}": 3}
    given = [Answer("decisions", "d", "ann", values, "", False, "", ""),
             Answer("decisions", "d", "bob", {"right_choices": [letter[0]], f"relevance_{letter[1]}": 2}, "", False, "", "")]  # fmt: skip
    (found,) = judge_decisions(given, {"d": row})
    assert [one["right_by"] for one in found["candidates"]] == [["ann", "bob"], [], ["ann"]]
    assert [one["relevance"] for one in found["candidates"]] == [None, 0.625, None]
    assert [one["outcome"] for one in found["candidates"]] == ["frontier", "diverges", "error"]
    measures = agreement_of(given, {"d": row})
    assert measures["right_choices"]["all"]["units"] == 3
    assert measures["relevance"]["all"]["units"] == 1


def test_many_candidates_keep_a_right_and_a_wrong_one():
    from planarena.annotation.items import ordered_choices

    for outcomes in (["frontier"] * 9 + ["error"], ["error"] * 9 + ["equivalent"], ["frontier"] * 8):
        shown = ordered_choices(point(outcomes))
        assert [choice.letter for choice in shown] == list("ABCDEF")
        assert {choice.is_right for choice in shown} == {
            one == "frontier" or one == "equivalent" for one in outcomes
        }


def test_blind_and_assisted_answers_are_measured_apart():
    both = [answer("t", "ann"), answer("t", "bob", goal="no"), answer("u", "ann"), answer("u", "bob")]
    given = [one._replace(blind=one.item_id == "u") for one in both]
    found = agreement_of(given, {})["goal_ok"]
    assert (found["all"]["units"], found["blind"]["units"], found["assisted"]["units"]) == (2, 1, 1)
    assert (found["blind"]["percent"], found["assisted"]["percent"]) == (1.0, 0.0)
