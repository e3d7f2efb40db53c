"""Each kind of wrong choice, executed: what is wrong with it is what its name says."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
import pytest

from planarena.config import TRIVIAL_KINDS, BuildConfig, CompositionConfig, ContrastConfig
from planarena.errors import ConfigError
from planarena.generate.mutations import MUTATIONS
from planarena.generate.relevance import likeness, relevance_of_answer, relevance_of_call
from planarena.pipeline.execute.chunk import execute_chunk
from planarena.pipeline.language.describe import ScenarioLanguage
from planarena.pipeline.products import Candidate, Discard, Executed, ExecutedChunk, Language
from planarena.records import WRONG_OUTCOMES

CONFIG = BuildConfig(
    sources=("builtin:travel", "builtin:email", "builtin:banking", "builtin:support"),
    chunk_scenarios=8,
    composition=CompositionConfig(per_scenario=8, budget=40),
)


@pytest.fixture(scope="module")
def executed() -> ExecutedChunk:
    return execute_chunk(CONFIG, 0, None)


class Found(NamedTuple):
    """A wrong choice with the gold step in whose place it stands, None at the answer."""

    task: Executed
    said: Language
    step: int
    gold: tuple[str, dict[str, Any]] | None
    choice: Candidate
    schema: dict[str, Any]


def choices_of(executed: ExecutedChunk, kind: str) -> list[Found]:
    """Make contrast of one kind alone, which leaves every point to it."""
    config = msgspec.structs.replace(CONFIG, contrast=ContrastConfig(kinds={kind: 1.0}))
    found = []
    for scenario in executed.scenarios:
        writer = ScenarioLanguage(config, scenario)
        for task in scenario.items:
            said = None if isinstance(task, Discard) else writer.describe(task)
            if isinstance(task, Discard) or not isinstance(said, Language):
                continue
            assert said.contrast is not None
            for step, point in enumerate(said.contrast.points):
                gold = None
                if step < len(task.steps):
                    gold = scenario.atoms[task.steps[step].atom].tool, task.steps[step].arguments
                for choice in point:
                    if choice.mutation == kind and choice.outcome in WRONG_OUTCOMES:
                        tool = writer.world.operations.get(choice.tool)
                        schema = tool.tool.input_schema if tool is not None else {}
                        found.append(Found(task, said, step, gold, choice, schema))
    return found


def differs_in_one(one: Found) -> tuple[Any, Any]:
    """Return the value of the only argument in which a choice differs from the gold step: right, given."""
    assert one.gold is not None
    assert one.choice.tool == one.gold[0]
    assert set(one.choice.arguments) == set(one.gold[1])
    [name] = [name for name, value in one.gold[1].items() if one.choice.arguments[name] != value]
    return one.gold[1][name], one.choice.arguments[name]


def neighbour(one: Found) -> None:
    right, given = differs_in_one(one)
    assert isinstance(given, str) == isinstance(right, str)
    assert one.choice.attempt is not None
    assert one.choice.attempt.status != "schema_error"


def a_name(one: Found) -> None:
    hidden = [k for k, schema in one.schema["properties"].items() if schema.get("x-hidden")]
    like = [
        step.arguments
        for step in one.task.steps[one.step :]
        if set(step.arguments) == set(one.choice.arguments)
    ]
    # One of the steps that are left, but for an id that has become a name.
    assert any(
        [k for k, v in arguments.items() if one.choice.arguments[k] != v] in [[k] for k in hidden]
        for arguments in like
    )
    assert one.choice.outcome == "error"


def another_way_of_writing(one: Found) -> None:
    right, given = differs_in_one(one)
    assert isinstance(given, str)
    assert given != right
    assert one.choice.outcome == "error"


def another_tool(one: Found) -> None:
    assert one.gold is not None
    assert one.choice.tool != one.gold[0]
    values = [repr(value) for value in one.gold[1].values()]
    assert any(repr(value) in values for value in one.choice.arguments.values())


def a_look_up_of_something_else(one: Found) -> None:
    calls = [(step.tool, step.arguments) for step in one.task.steps]
    assert (one.choice.tool, one.choice.arguments) not in calls
    assert one.choice.attempt is not None
    same = one.choice.attempt.state_before == one.choice.attempt.state_after
    # A fault that was waiting for the tool: it comes, or a look-up clears it, as after a conflict of versions.
    assert same or one.choice.outcome == "error" or one.task.talk.kind == "failed_call"


def once_more(one: Found) -> None:
    if one.choice.beside is not None:
        assert one.gold == (one.choice.tool, one.choice.arguments) == one.choice.beside
        assert one.choice.second is not None
    else:
        assert one.choice.arguments in [step.arguments for step in one.task.steps[: one.step]]


def too_early(one: Found) -> None:
    assert one.gold is not None
    assert (one.choice.tool, one.choice.arguments) != one.gold
    assert set(one.choice.arguments) in [set(step.arguments) for step in one.task.steps[one.step + 1 :]]


def both_at_once(one: Found) -> None:
    assert one.gold == (one.choice.tool, one.choice.arguments)
    assert one.choice.beside is not None
    assert one.choice.second is not None


def an_argument_less(one: Found) -> None:
    assert one.gold is not None
    assert one.choice.arguments.items() < one.gold[1].items()
    assert len(one.choice.arguments) in (0, len(one.gold[1]) - 1)


def an_answer(one: Found) -> None:
    assert not one.choice.tool
    assert one.choice.response
    assert one.choice.response != one.said.response
    assert one.choice.attempt is not None
    shown = one.choice.attempt.result
    assert not shown["goal_reached"] or shown["untold"]
    assert shown["goal_reached"] == (one.gold is None)


def a_question(one: Found) -> None:
    an_answer(one)
    assert re.search(r"\?|tell me|What should I take", one.choice.response)


def one_call_left_out(one: Found) -> None:
    an_answer(one)
    assert one.choice.attempt is not None
    assert len(one.choice.attempt.result["steps_left"]) == 1


def passed_over(one: Found) -> None:
    assert not one.choice.tool
    assert one.choice.attempt is not None
    assert one.choice.attempt.result["untold"] or one.choice.attempt.result["steps_left"]
    errors = [step.error["message"] for step in one.task.steps if step.error is not None]
    assert errors
    assert not any(message in one.choice.response for message in errors)


def given_up(one: Found) -> None:
    an_answer(one)
    before = one.task.steps[one.step - 1].error
    assert before is not None
    assert before["message"] in one.choice.response


def taken_back(one: Found) -> None:
    _, given = differs_in_one(one)
    said = [act.value for act in one.task.talk.acts if act.what in {"slips", "corrects"}]
    assert given in said


def not_allowed(one: Found) -> None:
    unmade = [(step.tool, step.arguments) for step in one.task.talk.unmade]
    assert (one.choice.tool, one.choice.arguments) in unmade


def ordered_by_a_result(one: Found) -> None:
    order = next(act for act in one.task.talk.acts if act.what == "injects")
    assert [one.choice.tool, one.choice.arguments] == order.value
    assert order.step < one.step


def no_such_tool(one: Found) -> None:
    assert not one.schema
    assert one.choice.attempt is not None
    assert one.choice.attempt.error is not None
    assert one.choice.attempt.error["code"] == "unknown_tool"


def nobody_knows(one: Found) -> None:
    assert one.choice.outcome == "ungrounded"
    assert one.choice.attempt is not None
    too_early(one)


PROPERTIES: dict[str, tuple[Callable[[Found], None], int]] = {
    "neighbour_value": (neighbour, 100),
    "id_as_name": (a_name, 50),
    "wrong_format": (another_way_of_writing, 50),
    "near_tool": (another_tool, 30),
    "wrong_lookup": (a_look_up_of_something_else, 100),
    "repeated_call": (once_more, 100),
    "wrong_order": (too_early, 3),
    "parallel_dependents": (both_at_once, 20),
    "omitted_argument": (an_argument_less, 50),
    "omitted_call": (one_call_left_out, 3),
    "incomplete_answer": (an_answer, 50),
    "false_answer": (an_answer, 50),
    "needless_question": (a_question, 50),
    "ignored_error": (passed_over, 5),
    "gave_up": (given_up, 4),
    "superseded_value": (taken_back, 3),
    # Few conversations are under a rule or meet an order: tests of the kinds see to it that there are some.
    "forbidden_call": (not_allowed, 0),
    "injected_order": (ordered_by_a_result, 0),
    "hallucinated_tool": (no_such_tool, 100),
    "empty_arguments": (an_argument_less, 50),
    "early_stop": (an_answer, 30),
    "unknowable_value": (nobody_knows, 20),
}


def test_every_kind_is_looked_at_here() -> None:
    assert set(PROPERTIES) == set(MUTATIONS) == set(ContrastConfig().kinds)
    assert set(TRIVIAL_KINDS) <= set(MUTATIONS)


@pytest.mark.parametrize("kind", sorted(PROPERTIES))
def test_what_is_wrong_is_what_the_kind_says(executed: ExecutedChunk, kind: str) -> None:
    holds, fewest = PROPERTIES[kind]
    found = choices_of(executed, kind)
    assert len(found) >= fewest
    for one in found:
        assert one.choice.attempt is not None
        holds(one)


def test_weights_are_checked() -> None:
    for kinds in ({"no_such_kind": 1.0}, {"near_tool": -1.0}, {"near_tool": 0.0}):
        with pytest.raises(ConfigError, match="out of range"):
            ContrastConfig(kinds=kinds)


def test_by_default_trivial_kinds_are_less_than_a_tenth() -> None:
    kinds = ContrastConfig().kinds
    assert sum(kinds[kind] for kind in TRIVIAL_KINDS) / sum(kinds.values()) <= 0.1


def test_relevance_of_what_is_wrong_ends_below_what_is_right() -> None:
    whole = likeness({"a": 1, "b": 2}, 1.0, {"a": 1, "b": 2})
    near = likeness({"a": 1, "b": 2}, 1.0, {"a": 1, "b": 3})
    far = likeness({"a": 1, "b": 2}, 0.3, {"c": 1})
    assert 1.0 == whole > near > far
    assert relevance_of_call("frontier") == relevance_of_call("equivalent") == 1.0
    assert relevance_of_call("harmless") == 0.9
    assert relevance_of_call("diverges", whole) < 0.8
    assert relevance_of_call("diverges", near) == pytest.approx(0.8 * near)
    assert relevance_of_answer(1.0) < 0.8
