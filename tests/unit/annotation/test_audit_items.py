"""Items and their templates: verbatim texts, folds, hidden polarity, and one look for Argilla and the sheet."""

from __future__ import annotations

import json
import re
from html import unescape

import msgspec
import pytest

from planarena.annotation.forms import LETTERS, form
from planarena.annotation.items import decision_item, escape, is_blind, trajectory_item
from planarena.annotation.templates import page_template, render
from planarena.export.trajectories import Action, JoinedTrajectory
from planarena.records.canonical import canonical_json
from planarena.records.tables import DecisionPointRow, ScenarioRow, TaskRow, ToolRow, TrajectoryRow

HOSTILE = (
    "<script>parent.document.title = 'owned'</script>",
    "<img src=x onerror=\"parent.document.title='owned'\">",
    '{"x":"<tag>"}',
    "</script></pre></div><h1>out",
    "{{{constructor}}} {{this}} ${1} `x`",
    "&lt;already&gt; &amp;",
    "a \u202e right-to-left \u0007 bell",
)


def blank(kind, /, **given):
    """Return a row with empty values where none is given."""
    empty = {str: "", int: 0, float: 0.0, bool: False}
    import typing

    hints = typing.get_type_hints(kind)
    return kind(**{name: given.get(name, empty.get(hint, "")) for name, hint in hints.items()})


def make(text="word", actions=2, status="ok", observation=None, **row):
    tool = blank(
        ToolRow,
        tool_id="t1",
        wire_name=f"tool {text}",
        description=text,
        input_schema=canonical_json({"d": text}),
    )
    done = tuple(
        Action(
            number=number,
            group=number // 2,
            turn=0,
            tool=tool,
            plan=text,
            arguments={"value": text},
            bound=(("/value", 0, "/x"),) if number else (),
            status=status if number == actions - 1 else "ok",
            observation=text if observation is None else observation,
            execution_kind="real",
        )
        for number in range(actions)
    )
    given = {"trajectory_id": "ab12", "kind": "gold", "source": "offline", "plan": text, "response": text,
             "n_actions": actions, "reaches_goal": True} | row  # fmt: skip
    values = {
        "row": blank(TrajectoryRow, **given),
        "task": blank(TaskRow, n_parallel_groups=1),
        "scenario": blank(ScenarioRow, title=text, domain="travel", context=canonical_json({"now": text})),
        "turns": (text,),
        "said_before": (text,),
        "tools": (tool,),
        "actions": done,
        "responses": (text,),
        "order_edges": (),
        "grounded": {},
    }
    return JoinedTrajectory(**{name: values[name] for name in JoinedTrajectory._fields})


def text_of(html):
    return unescape(re.sub(r"<[^>]*>", "\0", html))


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_are_verbatim_and_open_no_tag(text):
    item = trajectory_item(make(text), blind=False)
    stored = json.dumps(item.fields)
    assert "<" not in stored and ">" not in stored
    shown = render("trajectory", item.fields["trajectory"]) + render("tools", item.fields["tools"])
    tags = set(re.findall(r"</?([a-z0-9]+)", shown))
    assert tags <= {"div", "p", "b", "span", "pre", "details", "summary", "i"}
    from planarena.export.escaping import visible

    said = text_of(shown)
    assert said.count(visible(text)) >= 6  # known before, tool, plan, observation, answer, description


def test_the_picture_has_a_box_for_each_step_and_an_arrow_for_each_value():
    item = trajectory_item(make(actions=3), blind=True)
    shown = render("graph", item.fields["graph"])
    assert shown.count("<rect") == 3 and shown.count('class="pa-edge"') == 2
    assert "step 3 needs step 1" in shown or "needs step 1" in shown
    parallel = [node["x"] for node in item.fields["graph"]["nodes"][:2]]
    assert parallel[0] == parallel[1], "steps called together stand in one column"
    assert render("graph", trajectory_item(make(actions=1), blind=True).fields["graph"]).count("<rect") == 0


def test_forms_are_as_large_as_the_run_needs():
    small = form("trajectories", steps=3)
    assert [one.options for one in small.questions if one.name == "first_wrong_step"] == [
        (("1", "1"), ("2", "2"), ("3", "3"))
    ]
    names = [one.name for one in form("decisions", choices=2).questions]
    assert names == ["right_choices", "relevance_A", "relevance_B", "comment"]
    assert form("decisions", choices=99) == form("decisions")


def test_steps_groups_and_origins_are_told():
    shown = text_of(render("trajectory", trajectory_item(make(actions=3), blind=True).fields["trajectory"]))
    assert "Steps 1 to 2, called together" in shown
    assert shown.count("value comes from step 1") == 2
    assert shown.index("called together") < shown.index("Answer to the user")


def test_long_values_fold_and_short_ones_stay_on_a_line():
    short = trajectory_item(make(observation={"a": 1}), blind=True).fields["trajectory"]
    assert short["turns"][0]["groups"][0]["steps"][0]["observation"] == {
        "text": '{"a":1}',
        "fold": False,
        "lines": 1,
        "brief": "",
    }
    rows = [{"name": f"row {number}", "price": number} for number in range(40)]
    value = trajectory_item(make(observation=rows), blind=True).fields["trajectory"]
    block = value["turns"][0]["groups"][0]["steps"][0]["observation"]
    assert block["fold"] and block["lines"] == 162
    assert msgspec.json.decode(unescape(block["text"])) == rows
    assert "<details><summary>" in render("trajectory", value)


def test_huge_values_are_cut_and_say_so():
    item = trajectory_item(make(observation="x" * 300_000), blind=True)
    assert len(json.dumps(item.fields)) < 120_000
    assert "more characters" in json.dumps(item.fields, ensure_ascii=False)


def test_suggestions_come_from_checks_and_failed_calls():
    good = trajectory_item(make(), blind=False, checks={"no_tool_names": True, "grounded": {}})
    assert {one.question: one.value for one in good.suggestions} == {"query_ok": "yes", "goal_ok": "yes"}
    bad = trajectory_item(
        make(status="tool_error", reaches_goal=False), blind=False, checks={"a": True, "b": False}
    )
    filled = next(one.value for one in bad.suggestions if one.question == "corrected_call")
    assert json.loads(filled).keys() == {"name", "arguments"}
    assert {one.question: one.value for one in bad.suggestions} == {
        "query_ok": "no", "goal_ok": "no", "issues": ["failed_call"], "first_wrong_step": "2",
        "corrected_call": filled,
    }  # fmt: skip
    assert all(0 < one.score < 1 for one in [*good.suggestions, *bad.suggestions])
    assert trajectory_item(make(), blind=True).suggestions == ()


def test_how_a_trajectory_was_made_is_in_hidden_properties_alone():
    item = trajectory_item(
        make(kind="contrastive", source="mutation", mutation="wrong_value", diverge_step=1), blind=False
    )
    hidden = {one.name for one in form("trajectories").properties if not one.visible}
    told = {
        name for name, value in item.metadata.items() if value in ("contrastive", "mutation", "wrong_value")
    }
    assert told == {"kind", "source", "mutation"} <= hidden
    assert not any(word in json.dumps(item.fields) for word in ("contrastive", "mutation", "wrong_value"))


def test_the_version_follows_everything_that_is_shown():
    versions = {
        trajectory_item(one, blind=blind).metadata["version"]
        for one in (make(), make("other"), make(observation={"a": 2}))
        for blind in (True, False)
    }
    assert len(versions) == 6


def test_blind_items_are_a_share_by_hash():
    chosen = [is_blind(f"item {number}", 0.2) for number in range(5000)]
    assert abs(sum(chosen) / 5000 - 0.2) < 0.03  # five standard deviations of a share of 5,000
    assert not any(is_blind(f"item {number}", 0.0) for number in range(100))
    assert all(is_blind(f"item {number}", 1.0) for number in range(100))


def test_decision_points_show_the_past_and_no_outcome():
    candidates = [
        {"tool": "go", "tool_id": "", "arguments": {"n": 1}, "outcome": "frontier", "relevance": 1.0, "mutation": "",
         "beside": {"tool": "also", "arguments": {"m": 2}}},
        {"tool": "", "tool_id": "", "arguments": {}, "outcome": "diverges", "relevance": 0.3, "mutation": "early_stop"},
    ]  # fmt: skip
    row = DecisionPointRow("d1", "ab12", 1, "p", canonical_json(candidates))
    item = decision_item(row, make(actions=3), blind=False)
    shown = text_of(render("trajectory", item.fields["so_far"]))
    assert "Observation" in shown and "Answer to the user" not in shown
    assert len(item.fields["so_far"]["turns"][0]["groups"]) == 1
    choices = text_of(render("choices", item.fields["choices"]))
    assert "Answer the user now" in choices and "also" in choices and '{"m":2}' in choices
    assert not any(word in json.dumps(item.fields) for word in ("frontier", "diverges", "early_stop"))
    suggested = {one.question: one.value for one in item.suggestions}
    letter = next(one["letter"] for one in item.fields["choices"]["choices"] if one["tool"] == "go")
    assert suggested["right_choices"] == [letter]
    assert suggested[f"relevance_{letter}"] == 4
    assert sorted(suggested) == ["relevance_A", "relevance_B", "right_choices"]


@pytest.mark.parametrize("name", ["trajectories", "decisions", "adjudication"])
def test_forms_fit_what_argilla_takes(name):
    asked = form(name)
    assert len(asked.guidelines) <= 10_000
    for field in asked.fields:
        if field.template:
            template = page_template(field.template, field.name)
            assert f"record.fields.{field.name}" in template
            assert "FIELD" not in template and "BLOCK" not in template
            assert "<script" not in template
    names = [question.name for question in asked.questions]
    assert len(set(names)) == len(names)
    assert any(question.required for question in asked.questions)
    assert len(LETTERS) == 6


def test_quotes_stay_and_control_codes_are_written_out():
    assert escape('it\'s "so" <b>\x07') == 'it\'s "so" &lt;b&gt;\\x07'


@pytest.mark.parametrize(
    ("step", "turn", "said", "answered"),
    [(0, 0, ["first"], []), (0, -1, ["first", "second"], ["which"]), (2, -1, ["first", "second"], ["which"])],
)
def test_decision_points_show_nothing_that_comes_later(step, turn, said, answered):
    """At a question the user's next message, and at the end the gold's answer, would give the right choice away."""
    candidates = [
        {"tool": "", "tool_id": "", "arguments": {}, "outcome": "frontier", "relevance": 1.0, "mutation": "",
         "response": "which"},
    ]  # fmt: skip
    row = DecisionPointRow("d1", "ab12", step, "p", canonical_json(candidates), turn)
    whole = make(actions=2)
    whole = whole._replace(
        turns=("first", "second"),
        responses=("which", "done"),
        actions=tuple(one._replace(turn=1) for one in whole.actions),
    )
    item = decision_item(row, whole, blind=True)
    turns = item.fields["so_far"]["turns"]
    assert [one["said"] for one in turns] == said
    assert [one["response"] for one in turns if one["response"]] == answered
    assert ("second" in item.fields["query"]) is (len(said) == 2)
