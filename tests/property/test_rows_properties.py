"""Rows and importers under generated input: what is written comes back, and nothing crashes."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from planarena import formats
from planarena.formats import Call
from planarena.records import canonical_json
from planarena.rows import Decision, Dialogue, Observation, RowOptions, Turn
from planarena.rows.importers import ImportOptions, TraceError, as_dialogue, source
from planarena.rows.importers.assistant import read_said
from planarena.rows.importers.hammer import mask
from planarena.rows.importers.python_calls import CallSyntaxError, read_calls
from planarena.rows.importers.schemas import normalise
from planarena.rows.importers.trace import SourceTool, Trace
from planarena.rows.stepwise import StepExtractor

TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
NAME = st.text("abcdefgh _./-XYZ", min_size=1, max_size=12).map(str.strip).filter(bool)
KEY = st.from_regex(r"[a-z][a-z0-9_-]{0,8}", fullmatch=True)
SCALAR = st.none() | st.booleans() | st.integers(-(10**12), 10**12) | st.floats(-1e9, 1e9) | TEXT
VALUE = st.recursive(
    SCALAR, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3), max_leaves=8
)
ARGUMENTS = st.dictionaries(KEY, VALUE, max_size=4)
JSONISH = st.recursive(
    SCALAR,
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from("type properties required items default description enum x".split()), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(st.lists(st.tuples(NAME, ARGUMENTS), min_size=1, max_size=3))
def test_python_like_calls_come_back(calls: list[tuple[str, dict[str, Any]]]) -> None:
    # JSON's own writing of values is Python's but for true, false and null, which both spell out.
    inside = ", ".join(
        f"{name}({', '.join(f'{key}={json.dumps(value)}' for key, value in given.items())})"
        for name, given in calls
    )
    assert [(call.name, call.arguments) for call in read_calls(f"[{inside}]")] == calls


@given(st.text("[]()={},'\"\\ ab1.-", max_size=40))
def test_no_text_crashes_the_readers(text: str) -> None:
    for read, refusal in ((read_calls, CallSyntaxError), (read_said, TraceError)):
        try:
            read(text)
        except refusal:
            continue


@given(JSONISH)
def test_any_parameters_become_a_stable_schema(written: Any) -> None:
    schema, _ = normalise(written)
    assert schema["type"] == "object"
    assert isinstance(schema["properties"], dict)
    assert set(schema.get("required", ())) <= set(schema["properties"])
    again, repairs = normalise(json.loads(json.dumps(schema)))
    assert (again, repairs) == (schema, ())


RECORDS = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(
        "conversations messages tools system query answers instruction input output prompt problem".split(),
        JSONISH | TEXT,
    ),
)


@settings(max_examples=60)
@given(
    RECORDS,
    st.sampled_from(["openai", "sharegpt", "toolace", "xlam", "hammer", "hermes", "toolrl", "openr1-math"]),
)
def test_no_record_crashes_an_importer(record: dict[str, Any], name: str) -> None:
    try:
        as_dialogue(source(name).read(record, ImportOptions(), 0), name)
    except TraceError as error:
        assert error.reason


@given(st.dictionaries(KEY, VALUE, min_size=1, max_size=4), st.integers(0, 1000))
def test_masking_only_renames(arguments: dict[str, Any], seed: int) -> None:
    tool = SourceTool("tool", "What it does.", {key: {"type": "str"} for key in arguments})
    trace = Trace(
        tools=(tool, SourceTool("other", "", None)),
        turns=(Turn("x", (Decision(calls=(Call("tool", arguments),), observations=(None,)),)),),
    )
    masked = mask(trace, Random(seed))
    call = masked.turns[0].decisions[0].calls[0]
    assert list(call.arguments.values()) == list(arguments.values())
    assert len(call.arguments) == len(arguments)
    assert set(call.arguments) == set(masked.tools[0].parameters["properties"])
    assert (call.name, masked.tools[0].description) == (masked.tools[0].name, tool.description)
    assert len({one.name for one in masked.tools}) == 2
    as_dialogue(masked, "hammer")


PLAIN = st.text("abc XYZ.,\n", min_size=1, max_size=20).filter(lambda text: bool(text.strip()))
DECISION = st.builds(
    lambda calls, plan: Decision(
        calls=tuple(Call("tool", given) for given, _ in calls),
        observations=tuple(Observation(value) for _, value in calls),
        plan=plan,
    ),
    st.lists(st.tuples(ARGUMENTS, VALUE), min_size=1, max_size=3),
    st.just("") | PLAIN,
)
TURN = st.builds(
    lambda user, acts, answer: Turn(user, (*acts, Decision(text=answer.strip()))),
    PLAIN, st.lists(DECISION, max_size=3), PLAIN,
)  # fmt: skip


@settings(max_examples=40)
@given(
    st.lists(TURN, min_size=1, max_size=3),
    st.sampled_from([name for name in formats.names() if name != "math"]),
    st.sampled_from(["global", "step", "none"]),
    st.booleans(),
)
def test_every_dialogue_gives_rows_that_parse_back(
    turns: list[Turn], name: str, plan: Any, apart: bool
) -> None:
    dialogue = Dialogue(
        trajectory_id="t", scenario_id="s", task_id="k", turns=tuple(turns), plan="All of it."
    )
    cutter = StepExtractor(RowOptions(format=name, plan=plan, one_call_per_turn=apart, splits=()))
    rows = list(cutter.rows(dialogue))
    decisions = [decision for _, decision in dialogue.decisions()]
    expected = sum(max(len(decision.calls), 1) if apart else 1 for decision in decisions)
    assert len(rows) == expected
    assert [row.step for row in rows] == list(range(1, expected + 1))
    form = formats.get(name)
    for row in rows:
        parsed = form.parse(row.target)
        assert form.check(parsed, row.gold.category) == ""
        assert canonical_json([call.arguments for call in parsed.calls]) == canonical_json(
            [call.arguments for call in row.gold.calls]
        )
    called = [call for row in rows for call in row.gold.calls]
    assert called == [call for decision in decisions for call in decision.calls]
