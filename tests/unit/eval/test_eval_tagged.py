"""Tagged text: API-Bank's soft reading, and the same calls for BFCL."""

from __future__ import annotations

import json

import pytest

from planarena.eval.api_bank import match
from planarena.eval.bfcl.outputs import detect_calls, to_structure
from planarena.eval.tagged import tagged_calls

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
