"""Native calls in the text of local models: the families' forms, and what only looks like one."""

from __future__ import annotations

import json

import pytest

from planarena.eval.models.native_text import message_of, split_thought


def calls(text: str) -> list[tuple[str, object]]:
    found = message_of(text).get("tool_calls", [])
    return [(call["function"]["name"], json.loads(call["function"]["arguments"])) for call in found]


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>\n{"name": "f", "arguments": {"x": 1}}\n</tool_call>\n<tool_call>\n{"name": "g", "arguments": {}}\n</tool_call>',
        '<think>\nwhich?\n</think>\n\nLet me see.\n<tool_call>{"name": "f", "arguments": {"x": 1}}\n{"name": "g", "arguments": {}}</tool_call>',
        '<|python_tag|>{"name": "f", "parameters": {"x": 1}}; {"name": "g", "parameters": {}}',
        '{"name": "f", "parameters": {"x": 1}}\n{"name": "g", "parameters": {}}',
        '[TOOL_CALLS] [{"name": "f", "arguments": {"x": 1}}, {"name": "g", "arguments": {}}]',
    ],
)
def test_the_families_forms_are_read(text: str) -> None:
    assert calls(text) == [("f", {"x": 1}), ("g", {})]
    assert [call["id"] for call in message_of(text)["tool_calls"]] == ["call_0", "call_1"]


@pytest.mark.parametrize(
    "text",
    [
        "plain words",
        '{"name": "f"}',
        '{"name": "f", "parameters": "x"}',
        '{"answer": 42}',
        '{"name": "f", "parameters": {}} and then some words',
        "[TOOL_CALLS] f(x=1)",
        '{"name": "f", "parameters": {"x": 1}',
        "",
    ],
)
def test_what_is_no_call_is_content(text: str) -> None:
    assert calls(text) == []
    assert message_of(text)["role"] == "assistant"


def test_thoughts_stand_beside_what_is_said() -> None:
    assert split_thought("<think>\na\n</think>\n\nb") == ("a", "b")
    assert split_thought("a</think>b") == ("a", "b")  # the template opened the thinking
    assert split_thought("<think> never ends") == ("never ends", "")
    assert split_thought("b") == ("", "b")
    message = message_of('<think>a</think>words <tool_call>{"name": "f", "arguments": {}}</tool_call>')
    assert (message["reasoning_content"], message["content"]) == ("a", "words")


def test_hostile_text_ends_in_time() -> None:
    assert calls("{" * 200_000) == []
    assert calls("[TOOL_CALLS]" + '{"name": "f", "parameters": {"x": ' + "[" * 50_000) == []
    assert calls('{"name": "f", "parameters": {}}' + ";" * 2_000_000) == []
