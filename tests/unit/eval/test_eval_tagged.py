"""Tagged text: API-Bank's soft reading, and the same calls for BFCL."""

from __future__ import annotations

import json

import pytest

from planarena.eval.api_bank import match
from planarena.eval.bfcl.categories import current_id
from planarena.eval.bfcl.outputs import detect_calls, to_structure
from planarena.eval.tagged import all_tagged_calls, tagged_calls

GOLD = [{"name": "Add", "parameters": {"a": 1}}]


def call(name: str, **arguments: object) -> str:
    return json.dumps({"name": name, "parameters": arguments})


@pytest.mark.parametrize(
    ("text", "soft", "strict"),
    [
        (f"<think>x</think>\n<tool_call>\n{call('Add', a=1)}\n</tool_call>", True, True),
        (f"<tool_call>{call('Add', a=1)}", True, True),
        (f"<tool_call>{call('Add', a=2)}</tool_call> <tool_call>{call('Add', a=1)}</tool_call>", True, True),
        (
            f"<tool_call>{call('Add', a=1)}</tool_call> <tool_call>{call('Add', a=2)}</tool_call>",
            False,
            False,
        ),
        (f"<tool_call>\n{call('Sub', a=1)}\n{call('Add', a=1)}\n</tool_call>", True, False),
        (f"<tool_call>\nnot json\n{call('Add', a=1)}\n</tool_call>", True, True),
        (f"<tool_call>{call('Add', a='1')}</tool_call>", False, False),
        (f"<tool_call>{call('Add', a=1, b=2)}</tool_call>", False, False),
        (call("Add", a=1), False, False),
        ("", False, False),
        (f"<response>{call('Add', a=1)}</response>", False, False),
    ],
)
def test_any_call_after_the_last_tag_counts(text: str, soft: bool, strict: bool) -> None:
    assert match(text, GOLD)[:2] == (soft, strict)


def test_hostile_text_holds_no_call() -> None:
    assert tagged_calls("<tool_call>" + "[" * 100_000) == []
    assert tagged_calls("<tool_call>" + "x" * 2_000_000) == []
    assert tagged_calls('<tool_call>{"name": 1}\n{"name": "f", "parameters": 3}\n7\nnull') == []
    assert match(7, GOLD)[0] is False


def test_every_block_counts_for_bfcl_and_tags_inside_strings_are_text() -> None:
    one, two = (
        '{"name": "f", "arguments": {"x": "</tool_call><tool_call>"}}',
        '{"name": "g", "arguments": {}}',
    )
    wanted = [{"name": "f", "arguments": {"x": "</tool_call><tool_call>"}}, {"name": "g", "arguments": {}}]
    for text in (
        f"<tool_call>\n{one}\n</tool_call>\n<tool_call>\n{two}\n</tool_call>",
        f"<tool_call>\n{one}\n{two}\n</tool_call>",
        f"<tool_call>[{one}, {two}]",
        f"<think><tool_call>{two}</tool_call></think><tool_call>{one}; {two}</tool_call>",
        f"<tool_call>nonsense</tool_call> <tool_call>{one}{two} trailing</tool_call>",
    ):
        assert all_tagged_calls(text) == wanted, text
    assert all_tagged_calls("<tool_call>" * 50_000) == []
    assert all_tagged_calls("<tool_call>" + "[" * 100_000) == []


def test_items_of_version_3_have_their_names_of_today() -> None:
    assert [current_id(key) for key in ("simple_7", "java_0", "javascript_3")] == [
        "simple_python_7",
        "simple_java_0",
        "simple_javascript_3",
    ]
    for key in ("simple_python_7", "live_simple_0-0-0", "multi_turn_base_1", "simple", "multiple_3"):
        assert current_id(key) == key


def test_tagged_text_becomes_function_calls_at_any_depth() -> None:
    text = '<plan>p</plan><tool_call>{"name": "f", "arguments": {"x": 1}}</tool_call>'
    assert detect_calls([text]) == detect_calls([[[text]]]) == detect_calls([[{"f": "{}"}]]) == "json"
    assert detect_calls(["[f(x=1)]", [["g()"]]]) == "text"
    wanted = [{"f": '{"x": 1}'}]
    assert to_structure(text, "simple_python", "json") == wanted
    assert to_structure([[text, "chat"]], "multi_turn_base", "json") == [[wanted, "chat"]]
    assert to_structure({"name": "f", "arguments": {"x": 1}}, "simple_python", "json") == {"f": '{"x": 1}'}
    assert to_structure("[f(x=1)]", "simple_python", "text") == "[f(x=1)]"
    assert to_structure("Paris", "memory_kv", "text") == [["Paris"]]


@pytest.mark.parametrize("depth", [150, 900])
def test_a_call_that_nests_deep_is_no_call(depth: int) -> None:
    arguments = '{"a": ' * depth + "1" + "}" * depth
    text = f'<tool_call>\n{{"name": "Add", "arguments": {arguments}}}\n{call("Add", a=1)}\n</tool_call>'
    assert match(text, GOLD) == (True, True, "")
    assert to_structure(text, "simple_python", "json") == [{"Add": '{"a": 1}'}]
