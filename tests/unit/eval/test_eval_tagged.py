"""Tagged text: API-Bank's soft reading, and the same calls for BFCL."""

from __future__ import annotations

import json

import pytest

from planarena.eval.api_bank import match
from planarena.eval.bfcl.categories import current_id
from planarena.eval.bfcl.outputs import majority, to_structure
from planarena.eval.tagged import all_tagged_calls, tagged_calls
from planarena.formats import Call, write_output
from planarena.formats.vendors import VENDORS

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
        (call("Add", a=1), True, True),  # Llama writes no tags
        (f"It is {call('Add', a=1)}", False, False),
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
    assert majority([text])[0] == majority([[[text]]])[0] == "json"
    assert majority([[{"f": "{}"}]])[0] == "server"
    assert majority(["[f(x=1)]", [["[g()]"]]])[0] == "text"
    wanted = [{"f": '{"x": 1}'}]
    for most in ("json", "text"):
        assert to_structure(text, "simple_python", most) == (wanted, "json")
        assert to_structure([[text, "chat"]], "multi_turn_base", most) == ([[wanted, "chat"]], "json")
        assert to_structure({"name": "f", "arguments": {"x": 1}}, "simple_python", most) == (
            {"f": '{"x": 1}'},
            "json",
        )
        assert to_structure("[f(x=1)]", "simple_python", most) == ("[f(x=1)]", most)
        assert to_structure("Paris", "memory_kv", most) == ([["Paris"]], most)


def test_one_foreign_output_decides_nothing_but_itself() -> None:
    texts: list[object] = ["[f(x=1)]"] * 400 + ["I cannot."] * 839
    tagged = '<tool_call>{"name": "f", "arguments": {}}</tool_call>'
    assert majority([*texts, tagged]) == ("text", {"plain": 839, "python": 400, "hermes": 1})
    calls: list[object] = [[{"f": "{}"}]] * 300 + ["I cannot."] * 900
    assert majority([*calls, "[f(x=1)]"])[0] == "server"
    # Beside a server's calls, JSON in a text is what the model said; with a mark it is a call that was left there.
    told = 'Write\n```json\n[{"name": "f", "arguments": {}}]\n```'
    assert to_structure(told, "simple_python", "server") == (told, "json")
    assert to_structure(tagged, "simple_python", "server") == ([{"f": "{}"}], "json")
    assert majority([*["f(x=1)"] * 20, tagged]) == ("text", {"python": 20, "hermes": 1})


@pytest.mark.parametrize("form", [*VENDORS, "native"])
def test_calls_of_every_vendor_become_function_calls(form: str) -> None:
    text = write_output(form, [Call("f", {"x": 1})])
    wanted = ([{"f": '{"x": 1}'}], "json") if form != "python" else ("[f(x=1)]", "text")
    assert to_structure(text, "simple_python", "text") == wanted
    assert to_structure(text, "simple_python", "text", form) == wanted


@pytest.mark.parametrize("depth", [150, 900])
def test_a_call_that_nests_deep_is_no_call(depth: int) -> None:
    arguments = '{"a": ' * depth + "1" + "}" * depth
    text = f'<tool_call>\n{{"name": "Add", "arguments": {arguments}}}\n{call("Add", a=1)}\n</tool_call>'
    assert match(text, GOLD) == (True, True, "")
    assert to_structure(text, "simple_python", "json")[0] == [{"Add": '{"a": 1}'}]
