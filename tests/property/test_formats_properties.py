"""Any text can be parsed, quickly; what is rendered is read back; white space and key order do not count."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from planarena import formats
from planarena.formats import Call, TokenType, token_types
from planarena.records.canonical import canonical_json

Growth = Callable[[Callable[[float], object]], float]

QUIET = settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
TAGS = [
    f"<{slash}{tag}>" for tag in ("plan", "think", "tool_call", "response", "answer") for slash in ("", "/")
]

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
numbers = st.one_of(
    st.integers(-(2**63), 2**64 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.none(),
)
values = st.recursive(
    st.one_of(words, numbers, st.sampled_from(TAGS)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(words, inner, max_size=3)),
    max_leaves=6,
)
calls_strategy = st.lists(
    st.builds(Call, words.filter(bool), st.dictionaries(words, values, max_size=3)), min_size=1, max_size=3
).map(tuple)
pieces = st.one_of(
    st.text(max_size=8),
    st.sampled_from(
        [*TAGS, "\n", " ", "[", "]", "{", "}", '"', "\\", "\\boxed{", "NaN", "1e999", "9" * 30, "\ud800"]
    ),
    st.just('{"name": "f", "arguments": {"x": 1}}'),
    st.just('{"name": "f", "parameters": {"x": 1}}'),
)
soup = st.lists(pieces, max_size=14).map("".join)
names = st.sampled_from(formats.names())


@QUIET
@given(names, soup)
@example("planarena", "<tool_call>" + "[" * 10_000 + "]" * 10_000 + "</tool_call>")
@example("native", "[" * 10_000)
@example("native", '{"tool_calls": [{"function": {"name": "\ud800", "arguments": "{\\"a\\": NaN}"}}]}')
def test_no_text_is_refused_with_an_exception(name: str, text: str) -> None:
    form = formats.get(name)
    parsed = form.parse(text)
    for category in ("tool_call", "response", "both", "none"):
        assert isinstance(form.check(parsed, category), str)  # type: ignore[arg-type]
    spans = parsed.spans
    assert all(0 <= span.start < span.end <= len(text) for span in spans)
    assert all(left.end <= right.start for left, right in pairwise(spans))
    types = token_types(parsed, [(i, i + 1) for i in range(len(text))])
    inside = {i: span.type for span in spans for i in range(span.start, span.end)}
    assert types == [inside.get(i, TokenType.OTHER) for i in range(len(text))]
    for call in parsed.calls:
        canonical_json(call.arguments)
    assert not (parsed.broken and parsed.calls)


@QUIET
@given(names.filter(lambda name: name != "math"), calls_strategy)
def test_rendered_calls_are_read_back(name: str, calls: tuple[Call, ...]) -> None:
    form = formats.get(name)
    parsed = form.parse(form.render(plan="first this", calls=calls))
    assert form.check(parsed, "tool_call") == ""
    assert [call.name for call in parsed.calls] == [call.name for call in calls]
    assert [canonical_json(call.arguments) for call in parsed.calls] == [
        canonical_json(call.arguments) for call in calls
    ]
    if name != "toolupt":
        assert parsed.plan == "first this"


@QUIET
@given(
    names.filter(lambda name: name != "math"),
    words.map(str.strip).filter(lambda text: text and "<" not in text),
)
def test_rendered_responses_are_read_back(name: str, response: str) -> None:
    form = formats.get(name)
    parsed = form.parse(form.render(plan="p", response=response))
    assert (form.check(parsed, "response"), parsed.response, parsed.calls) == ("", response, ())


def rewritten(value: Any, rng: random.Random) -> Any:
    """The same JSON value with the keys of every object in another order."""
    if isinstance(value, dict):
        keys = list(value)
        rng.shuffle(keys)
        return {key: rewritten(value[key], rng) for key in keys}
    return [rewritten(item, rng) for item in value] if isinstance(value, list) else value


@QUIET
@given(st.sampled_from(["planarena", "toolupt", "chord", "hermes", "native"]), calls_strategy, st.randoms())
def test_key_order_and_white_space_carry_no_meaning(
    name: str, calls: tuple[Call, ...], rng: random.Random
) -> None:
    key = "params" if name == "toolupt" else "arguments"
    objects = [rewritten({"name": call.name, key: call.arguments}, rng) for call in calls]
    space = rng.choice([None, 1, 4, "\t"])
    separators = rng.choice([(",", ":"), (" , ", " : ")])

    def dump(value: Any) -> str:
        return json.dumps(value, indent=space, separators=separators).replace("<", "\\u003c")

    gap = rng.choice(["\n", "\n\n \t", " "])
    if name == "native":
        entries = [{"function": {"arguments": dump(o[key]), "name": o["name"]}, "id": "1"} for o in objects]
        text = dump({"tool_calls": entries, "role": "assistant"})
    elif name == "hermes":
        text = gap.join(f"<tool_call>{gap}{dump(o)}{gap}</tool_call>" for o in objects)
    elif name == "planarena":
        text = f"<plan>p</plan>{gap}<tool_call>{gap}{gap.join(map(dump, objects))}{gap}</tool_call>{gap}"
    else:
        head = "<think>p</think>" if name == "chord" else ""
        text = f"{gap}{head}{gap}<tool_call>{gap}{dump(objects)}{gap}</tool_call>{gap}"
    form = formats.get(name)
    parsed = form.parse(text)
    assert form.check(parsed, "tool_call") == ""
    assert parsed.calls == calls


TOOLRL_PATTERNS = {
    "response": r"^<think>.*?</think>\n<response>.*?</response>$",
    "tool_call": r"^<think>.*?</think>\n<tool_call>\n.*?\n</tool_call>$",
    "both": r"^<think>.*?</think>\n<tool_call>\n.*?\n</tool_call>\n<response>.*?</response>$",
    "none": r"^<think>.*?</think>$",
}
lines = st.lists(
    st.sampled_from(
        [
            *("<think>", "</think>", "\n", "<tool_call>", "</tool_call>", "<response>", "</response>", "x"),
            *(
                "</think>\n<tool_call>\n",
                "\n</tool_call>",
                "\n</tool_call>\n<response>",
                "</think>\n<response>",
            ),
        ]
    ),
    max_size=8,
).map("".join)


@settings(QUIET, max_examples=1500)
@given(st.sampled_from(sorted(TOOLRL_PATTERNS)), st.booleans(), lines)
def test_toolrl_predicate_equals_the_regular_expressions(category: str, think: bool, rest: str) -> None:
    text = "<think>" + rest if think else rest
    wanted = re.search(TOOLRL_PATTERNS[category], text, re.DOTALL) is not None
    if category in ("tool_call", "both"):
        wanted = wanted and text.count("<tool_call>") == 1 and text.count("</tool_call>") == 1
    if category in ("response", "both"):
        wanted = wanted and text.count("<response>") == 1 and text.count("</response>") == 1
    form = formats.get("toolrl")
    assert (form.check(form.parse(text), category) == "") is wanted  # type: ignore[arg-type]


SIZE = 10_000_000
HOSTILE = {
    "opening tags": "<think><tool_call>",
    "pairs": "<think></think><tool_call></tool_call>",
    "toolrl": "</think>\n<tool_call>\n\n</tool_call>",
    "brackets": "[{",
    "empty lists": "[],",
    "quotes": '"\\',
    "boxes": "\\boxed{",
    "digits": "9",
}


# Eight times the size takes 8 times as long in linear time and 64 times as long in quadratic time.
LINEAR = 24


@pytest.mark.parametrize("case", HOSTILE)
@pytest.mark.parametrize("name", ["planarena", "toolrl", "toolupt", "chord", "math", "hermes", "native"])
def test_ten_megabytes_are_read_in_linear_time(name: str, case: str, growth: Growth) -> None:
    unit, form = HOSTILE[case], formats.get(name)
    # Tags, boxes and the braces of `math` cost a Python step each: the full size is for one pass of C.
    passed = ("quotes", "digits") if name == "math" else ("brackets", "quotes", "digits")
    size = SIZE if case in passed else SIZE // 20

    def read(share: float) -> None:
        body = unit * (int(size * share) // len(unit))
        text = f"<think>t</think>\n<tool_call>\n{body}\n</tool_call>" if len(unit) < 5 else body
        parsed = form.parse(text)
        assert not parsed.calls
        form.check(parsed, "tool_call")

    assert growth(read) < LINEAR


@pytest.mark.parametrize("case", HOSTILE)
@pytest.mark.parametrize("name", ["planarena", "toolrl", "toolupt", "chord", "hermes", "native"])
def test_a_hostile_block_below_the_limit_is_read_in_linear_time(name: str, case: str, growth: Growth) -> None:
    unit, form = HOSTILE[case], formats.get(name)

    # As broken JSON, and with the limit of depth kept, as a string that is never closed.
    def read(share: float) -> None:
        size = int(990_000 * share)
        for body in (unit * (size // len(unit)), ('{"name": "' + unit * 100_000)[:size]):
            text = body if name == "native" else f"<think>t</think>\n<tool_call>\n{body}\n</tool_call>"
            assert not form.parse(text).calls

    assert growth(read) < LINEAR


@pytest.mark.parametrize("name", ["planarena", "toolupt", "chord", "hermes"])
def test_a_large_block_below_the_limit_is_read_in_linear_time(name: str, growth: Growth) -> None:
    key, form = "params" if name == "toolupt" else "arguments", formats.get(name)

    def read(share: float) -> None:
        count = int(150_000 * share)
        items = ",".join(['"\\"["'] * count)
        deep = f'{{"name": "f", "{key}": {{"x": [{items}]}}}}'
        text = f"<think>t</think><tool_call>[{deep}]</tool_call>"
        if name == "hermes":
            text = f"<tool_call>{deep}</tool_call>"
        calls = form.parse(text).calls
        assert len(calls) == 1 and len(calls[0].arguments["x"]) == count

    assert growth(read) < LINEAR
