"""What a model writes is used only if it states every value, keeps the graph and makes nothing up."""

from __future__ import annotations

import copy
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from planarena.config import BuildConfig, CompositionConfig
from planarena.generate.clauses import StepContext
from planarena.generate.model_brief import TaskBrief
from planarena.generate.model_checks import (
    check_call,
    check_plan,
    check_rationales,
    check_responses,
    check_trajectory,
    check_written_query,
)
from planarena.generate.model_texts import TextFaultError, check_text, find_stated, foreign_numbers
from planarena.pipeline.execute.chunk import execute_chunk
from planarena.pipeline.language.describe import describe_chunk
from planarena.pipeline.models.phase import brief_of
from planarena.pipeline.products import Discard

sys.path.append(str(Path(__file__).resolve().parents[2]))
from llm_build_model import GoodModel


@pytest.fixture(scope="module")
def briefs() -> list[TaskBrief]:
    config = BuildConfig(
        sources=("builtin:travel", "builtin:email", "builtin:banking", "builtin:smart_home"),
        chunk_scenarios=20,
        composition=CompositionConfig(per_scenario=10, budget=40),
    )
    executed = execute_chunk(config, 0, None)
    found = []
    for scenario, words in zip(executed.scenarios, describe_chunk(config, executed).items, strict=True):
        for task, said in zip(scenario.items, words, strict=True):
            if not isinstance(task, Discard) and not isinstance(said, Discard):
                found.append(brief_of(config, scenario, task, said))
    assert len(found) > 20
    return found


@pytest.fixture(scope="module")
def bound(briefs: list[TaskBrief]) -> TaskBrief:
    """A task of one message with a value that a record of its result is meant by, and three steps or more."""
    return next(
        brief
        for brief in briefs
        if len(brief.turns) == 1
        and len(brief.steps) >= 3
        and any(_is_of_a_list(step, name) for step in _first_bound(brief) for name in step.bound)
    )


def _first_bound(brief: TaskBrief) -> list[StepContext]:
    return [step for step in brief.steps if step.bound][:1]


def _is_of_a_list(step: StepContext, name: str) -> bool:
    """Whether an argument that no user knows is that of one record of a list, which every phrase says."""
    hidden = step.operation.tool.parameters[name].get("x-hidden")
    return bool(hidden) and "/0/" in step.bound[name][1]


def quoted(value: Any) -> Any:
    """The value as it arrives: through JSON."""
    return json.loads(json.dumps(value))


def query_of(brief: TaskBrief) -> list[str]:
    return GoodModel().query(quoted(brief.for_query(1)))["versions"][0]


def plan_of(brief: TaskBrief) -> list[dict[str, Any]]:
    return GoodModel().plan(quoted(brief.for_plan(brief.turns)))["steps"]


def answers_of(brief: TaskBrief) -> list[str]:
    return GoodModel().response(quoted(brief.for_response(brief.turns)))["answers"]


def rationales_of(brief: TaskBrief) -> list[dict[str, Any]]:
    return GoodModel().rationale(quoted(brief.for_rationale(brief.turns)))["rationales"]


def refused(check: Callable[..., Any], *arguments: Any) -> str:
    with pytest.raises(TextFaultError) as caught:
        check(*arguments)
    return caught.value.reason


def test_offline_words_and_good_answers_pass_for_every_task(briefs: list[TaskBrief]) -> None:
    for brief in briefs:
        _, checks, score = check_written_query(brief, query_of(brief))
        assert checks["stated_in_time"]
        assert 0 <= score <= 1
        # The offline query meets the same checks, and is worth as much as another that tells as much.
        offline = check_written_query(brief, brief.turns)[2]
        longer = ["Good evening, it is me again. " + brief.turns[0], *brief.turns[1:]]
        assert check_written_query(brief, longer)[2] == offline > 0
        plan, lines = check_plan(brief, plan_of(brief))
        assert len(plan.split("\n")) == len(lines) == len(brief.steps)
        assert len(check_responses(brief, brief.turns, answers_of(brief))) == len(brief.turns)
        assert len(check_rationales(brief, rationales_of(brief))) == len(brief.steps)


def test_every_literal_must_be_stated(briefs: list[TaskBrief]) -> None:
    dropped = 0
    for brief in briefs:
        material = quoted(brief.for_query(1))
        for step in material["steps"]:
            for value in step["values"]:
                known = str([brief.told, brief.facts])
                if not value["say"] or any(way in known for way in value["say"]):
                    continue
                silenced = query_of(brief)
                for way in sorted(value["say"], key=len, reverse=True):
                    silenced = [re.sub(re.escape(way), "so", turn, flags=re.IGNORECASE) for turn in silenced]
                others = [
                    way
                    for other in material["steps"]
                    for told in other["values"]
                    if told is not value
                    for way in told["say"]
                ]
                # A value that another one holds, or that the silenced text still has by another way to say it.
                if any(find_stated(way, value["say"]) for way in others):
                    continue
                if find_stated(" ".join(silenced), value["say"]):
                    continue
                assert refused(check_written_query, brief, silenced) in {"ungrounded", "reference_lost"}
                dropped += 1
    assert dropped > 30


def test_a_value_stated_in_a_later_message_comes_too_late(briefs: list[TaskBrief]) -> None:
    late = 0
    for brief in briefs:
        turns = query_of(brief)
        if len(turns) < 2:
            continue
        known = str([brief.told, brief.facts])
        said = [
            value["say"]
            for step in brief.for_query(1)["steps"]
            for value in step["values"]
            if step["message"] == 1 and value["say"] and not any(way in known for way in value["say"])
        ]
        moved = [*turns[1:], turns[0]]
        if any(find_stated(moved[0], ways) is None for ways in said):
            assert refused(check_written_query, brief, moved) in {"ungrounded", "reference_lost"}
            late += 1
        assert refused(check_written_query, brief, [" ".join(turns)]) == "wrong_messages"
    assert late


def test_a_query_tells_which_value_is_meant_and_names_no_id(bound: TaskBrief) -> None:
    material = quoted(bound.for_query(1))
    bare = [way for step in material["steps"] for value in step["values"] for way in value["say"]]
    assert refused(check_written_query, bound, [f"Do it with {', '.join(bare)}."]) == "reference_lost"
    step = next(step for step in bound.steps if step.bound)
    hidden = next(
        value
        for name, value in step.arguments.items()
        if name in step.bound and step.operation.tool.parameters[name].get("x-hidden")
    )
    assert refused(check_written_query, bound, [f"{query_of(bound)[0]} {hidden}"]) == "hidden_value"
    tool = next(name for name in bound.tools if "_" in name)
    assert refused(check_written_query, bound, [f"{query_of(bound)[0]} Use {tool}."]) == "tool_name"


def test_a_plan_keeps_the_graph(bound: TaskBrief) -> None:
    lines = plan_of(bound)
    assert refused(check_plan, bound, lines[:-1]) == "plan_coverage"
    assert refused(check_plan, bound, [*lines, lines[0]]) == "plan_coverage"
    assert refused(check_plan, bound, [*reversed(lines)]) == "plan_order"
    later = next(number for number, step in enumerate(bound.steps) if step.bound)
    without = copy.deepcopy(lines)
    without[later]["needs"] = []
    assert refused(check_plan, bound, without) == "plan_needs"
    forward = copy.deepcopy(lines)
    forward[0]["needs"] = [len(lines)]
    assert refused(check_plan, bound, forward) == "plan_needs"
    empty = copy.deepcopy(lines)
    empty[0]["outline"] = "Zzz"
    assert refused(check_plan, bound, empty) == "plan_coverage"


def test_a_plan_may_list_any_legal_order_and_is_written_in_ours(briefs: list[TaskBrief]) -> None:
    brief = next(
        brief for brief in briefs if len(brief.steps) > 1 and not brief.before[0] and not brief.before[1]
    )
    lines = plan_of(brief)
    swapped = [lines[1], lines[0], *lines[2:]]
    assert check_plan(brief, swapped) == check_plan(brief, lines)


def test_an_answer_tells_what_was_found_and_invents_no_number(briefs: list[TaskBrief]) -> None:
    silent = 0
    for brief in briefs:
        answers = answers_of(brief)
        invented = [f"{answers[0]} That makes 98765 in all.", *answers[1:]]
        assert refused(check_responses, brief, brief.turns, invented) == "invented_number"
        if any(brief.to_report(number) for reported in brief.reported for number in reported):
            mute = ["Done."] * len(answers)
            silent += refused(check_responses, brief, brief.turns, mute) == "missing_output"
    assert silent > 10


def test_a_rationale_knows_nothing_of_later_results(bound: TaskBrief) -> None:
    lines = rationales_of(bound)
    later = next(step for step in bound.steps if step.bound)
    name = next(name for name in later.bound if later.operation.tool.parameters[name].get("x-hidden"))
    source = later.bound[name][0]
    early = copy.deepcopy(lines)
    early[source]["text"] += f" Then {later.arguments[name]} follows."
    assert refused(check_rationales, bound, early) == "foresight"
    assert refused(check_rationales, bound, lines[1:]) == "rationale_coverage"
    idle = copy.deepcopy(lines)
    idle[0]["text"] = "Zzz."
    assert refused(check_rationales, bound, idle) == "rationale_coverage"


@pytest.mark.parametrize(
    "text",
    [
        "a </tool_call> b",
        "<plan>x</plan>",
        "<|im_start|>system",
        "[INST] x",
        "a\x1b[2J",
        "{{x}}",
        "\u202eabc",
    ],
)
def test_no_text_holds_marks_of_a_format(text: str) -> None:
    assert refused(check_text, text, "x", 100) == "markup"


def test_forms_of_values() -> None:
    assert find_stated("It costs €12 today", ["€12"]) == "€12"
    assert find_stated("It costs €120", ["€12"]) is None
    assert find_stated("It costs €12.50", ["€12"]) is None
    assert find_stated("to new  york.", ["New York"]) == "new  york"
    assert find_stated("Romeo", ["Rome"]) is None
    assert foreign_numbers("1,250.00 of 3 at 14:30", ["1250", "14:30"]) == []
    assert foreign_numbers("It is 77", ["7", "770"]) == ["77"]


def test_calls_of_a_trajectory(bound: TaskBrief) -> None:
    good = {"tool": "x", "plan": "I look.", "arguments": {"a": [{"$from": 1, "pointer": "/b"}]}}
    first = {"tool": "x", "plan": "I look.", "arguments": {}}
    assert len(check_trajectory(bound, [first, good])) == 2
    assert refused(check_trajectory, bound, [good]) == "bad_reference"
    wrong = {**good, "arguments": {"a": {"$from": True, "pointer": "/b"}}}
    assert refused(check_trajectory, bound, [first, wrong]) == "bad_reference"
    assert refused(check_trajectory, bound, [first] * (bound.most_calls + 1)) == "too_many_calls"
    assert refused(check_call, {"a": "x" * 9000}) == "bad_arguments"
    assert refused(check_call, {"a": 2**70}) == "bad_arguments"
