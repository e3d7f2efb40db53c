"""Every vendor's way of writing calls is read per output, by its own examples and by round trips."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planarena.errors import UserError
from planarena.formats import Call, read_output, write_output
from planarena.formats.vendors import VENDORS

WEATHER = (Call("get_weather", {"city": "Oslo", "days": 2}),)
TWO = (*WEATHER, Call("clock.now", {}))

EXAMPLES = [
    ("llama", '{"name": "get_weather", "parameters": {"city": "Oslo", "days": 2}}', WEATHER),
    ("llama", '<|python_tag|>{"name": "get_weather", "parameters": {"city": "Oslo", "days": 2}}<|eom_id|>', WEATHER),
    (
        "llama",
        '{"type": "function", "name": "get_weather", "parameters": {"city": "Oslo", "days": 2}}; '
        '{"name": "clock.now", "parameters": {}}<|eot_id|>',
        TWO,
    ),
    ("function-tag", '<function=get_weather>{"city": "Oslo", "days": 2}</function><|eom_id|>', WEATHER),
    (
        "hermes",
        '<think>a</think>\nI look.\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo", "days": 2}}\n'
        '</tool_call>\n<tool_call>\n{"name": "clock.now", "arguments": {}}\n</tool_call><|im_end|>',
        TWO,
    ),
    (
        "hermes",  # planarena, ToolRL, ToolUPT and CHORD write inside of one block
        '<tool_call>\n{"name": "get_weather", "parameters": {"city": "Oslo", "days": 2}}\n{"name": "clock.now", '
        '"params": {}}\n</tool_call>',
        TWO,
    ),
    (
        "hermes",
        '<tool_call>[{"name": "get_weather", "arguments": {"city": "Oslo", "days": 2}}]</tool_call>',
        WEATHER,
    ),
    (
        "qwen-xml",
        "<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n<parameter=days>\n2\n</parameter>\n"
        "</function>\n</tool_call>",
        WEATHER,
    ),
    ("qwen-agent", '✿FUNCTION✿: get_weather\n✿ARGS✿: {"city": "Oslo", "days": 2}\n✿RESULT✿', WEATHER),
    ("mistral", '[TOOL_CALLS][{"name": "get_weather", "arguments": {"city": "Oslo", "days": 2}, "id": "a"}]</s>', WEATHER),
    ("mistral", '[TOOL_CALLS]get_weather[ARGS]{"city": "Oslo", "days": 2}[TOOL_CALLS]clock.now[CALL_ID]b1[ARGS]{}', TWO),
    ("mistral", '[TOOL_CALLS]get_weather{"city": "Oslo", "days": 2}</s>', WEATHER),
    (
        "deepseek",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n"
        '{"city": "Oslo", "days": 2}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>',
        WEATHER,
    ),
    (
        "deepseek",
        '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{"city": "Oslo", "days": 2}'
        "<｜tool▁call▁end｜><｜tool▁call▁begin｜>clock.now<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        TWO,
    ),
    ("xlam", '[{"name": "get_weather", "arguments": {"city": "Oslo", "days": 2}}]', WEATHER),
    (
        "xlam",
        '{"thought": "so", "tool_calls": [{"name": "get_weather", "arguments": {"city": "Oslo", "days": 2}}]}',
        WEATHER,
    ),
    ("xlam", '```json\n[{"name": "get_weather", "arguments": {"city": "Oslo", "days": 2}}]\n```', WEATHER),
    ("functionary", '>>>get_weather\n{"city": "Oslo", "days": 2}<|eot_id|>', WEATHER),
    ("functionary", '>>>all\nI look.\n>>>get_weather\n{"city": "Oslo", "days": 2}>>>clock.now\n{}', TWO),
    (
        "functionary",
        '<|from|>assistant\n<|recipient|>get_weather\n<|content|>{"city": "Oslo", "days": 2}<|stop|>',
        WEATHER,
    ),
    ("granite", '<|tool_call|>[{"name": "get_weather", "arguments": {"city": "Oslo", "days": 2}}]', WEATHER),
    ("granite", '<function_call> {"name": "get_weather", "arguments": {"city": "Oslo", "days": 2}}', WEATHER),
    ("gemma", '```tool_code\nget_weather(city="Oslo", days=2)\n```', WEATHER),
    ("gemma", "<start_function_call>call:get_weather{city:<escape>Oslo<escape>,days:2}<end_function_call>", WEATHER),
    (
        "harmony",
        "<|channel|>analysis<|message|>They ask.<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather "
        '<|constrain|>json<|message|>{"city": "Oslo", "days": 2}<|call|>',
        WEATHER,
    ),
    (
        "harmony",
        '<|start|>assistant to=functions.get_weather<|channel|>commentary json<|message|>{"city": "Oslo", "days": 2}<|call|>',
        WEATHER,
    ),
    ("python", "[get_weather(city='Oslo', days=2), clock.now()]", TWO),
    ("python", "<|python_start|>[get_weather(city='Oslo', days=2)]<|python_end|><|eot|>", WEATHER),
    (
        "native",
        json.dumps(
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Oslo", "days": 2}'}}
                ],
            }
        ),
        WEATHER,
    ),
    (
        "hermes",  # a server that leaves the call in the content
        json.dumps({"role": "assistant", "content": '<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo", "days": 2}}</tool_call>'}),
        WEATHER,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("written", "text", "calls"), EXAMPLES)
def test_a_vendors_own_form_is_read(written: str, text: str, calls: tuple[Call, ...]) -> None:
    found = read_output(text)
    assert (found.written, found.calls, found.problem) == (written, calls, "")
    assert read_output(text, written).calls == calls


@pytest.mark.parametrize(
    "text",
    [
        "It rains in Oslo.", "", "The set [1, 2] has f(x) = 2.", '{"a": 1}', '{"name": "Ada"} is a person',
        "answer: {x}", "I would use `get_weather(city='Oslo')` here.", "[see (a)]", "> > quote\n>>> f", '["a", "b"]',
    ],
)  # fmt: skip
def test_plain_text_is_no_call(text: str) -> None:
    found = read_output(text)
    assert (found.written, found.calls, found.problem, found.content) == ("plain", (), "", text)


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name": "f", "arguments": {', "<tool_call>\nget_weather\n</tool_call>", '[TOOL_CALLS][{"name": "f"',
        "<｜tool▁calls▁begin｜>", '<|tool_call|>[{"name"', "<|python_tag|>{", '<function=f>{"x": </function>',
        "<|channel|>commentary to=functions.f<|message|>{", "<start_function_call>call:f", "```tool_code\nx = 1\n```",
        '[{"name": "f", "arguments": {"x": ', '<tool_call>{"arguments": {}}</tool_call>',
    ],
)  # fmt: skip
def test_a_call_that_is_begun_and_broken_is_said_so(text: str) -> None:
    found = read_output(text)
    assert found.calls == ()
    assert found.problem


def test_thoughts_hold_no_calls() -> None:
    call = '<tool_call>{"name": "f", "arguments": {}}</tool_call>'
    assert read_output(f"<think>{call}</think>No.").calls == ()
    assert read_output(f"<think>{call}").calls == ()
    assert read_output(f"<think>hm</think>{call}").calls == (Call("f", {}),)


def test_a_forced_reader_reads_its_own_marks_alone() -> None:
    mistral = write_output("mistral", WEATHER)
    assert read_output(mistral, "mistral").calls == WEATHER
    assert read_output(mistral, "hermes").calls == ()
    with pytest.raises(UserError, match="no way 'nonsense'"):
        read_output("x", "nonsense")


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text("abc é\"'\\{}[],;:0 1\n", max_size=12),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text("abc_", min_size=1, max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
_CALLS = st.lists(
    st.builds(
        Call,
        st.from_regex(r"[a-z_]{1,8}(\.[a-z_]{1,8})?", fullmatch=True),
        st.dictionaries(st.from_regex(r"[a-z]{1,6}", fullmatch=True), _VALUES, max_size=3),
    ),
    min_size=1,
    max_size=3,
)


@pytest.mark.parametrize("form", [*VENDORS, "native", "qwen", "planarena"])
@given(calls=_CALLS)
def test_what_is_written_is_read_back(form: str, calls: list[Call]) -> None:
    if form in ("gemma", "python"):
        # Neither has quotes around keys, and Python's words are no names of arguments.
        calls = [
            Call(call.name, {f"k_{key}": value for key, value in call.arguments.items()}) for call in calls
        ]
    if form == "python":
        calls = [Call("f_" + call.name.replace(".", ".g_"), call.arguments) for call in calls]
    text = write_output(form, calls)
    found = read_output(text)
    assert [*found.calls] == calls, text
    assert read_output(text, form).calls == tuple(calls)


@pytest.mark.parametrize(
    "piece",
    [
        "<tool_call>", "[TOOL_CALLS]", "<function=f>", "<parameter=a>", ">>>a\n", "<|channel|>a", "<｜tool▁call▁begin｜>",
        "<｜tool▁call▁begin｜>a<｜tool▁sep｜>", "<start_function_call>call:f{", "```json\n", "✿FUNCTION✿: a ", "[", "{\"a\":", "<|tool_call|>",
        "<|recipient|>a", " ", "<|eot_id|>x", "<escape>",
    ],
)  # fmt: skip
def test_hostile_repetition_takes_linear_time(piece: str) -> None:
    text = piece * (400_000 // len(piece))
    begun = time.process_time()
    read_output(text)
    read_output("[" + text)
    # What is quadratic takes minutes here; what is linear takes some hundredths of a second.
    assert time.process_time() - begun < 3
