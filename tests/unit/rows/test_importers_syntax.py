"""Python-like calls, parameters as data sets write them, and values of tool results."""

from __future__ import annotations

import json
from typing import Any

import pytest

from planarena.rows.importers.assistant import decode, observation, read_said
from planarena.rows.importers.python_calls import CallSyntaxError, looks_like_calls, read_calls
from planarena.rows.importers.schemas import normalise
from planarena.rows.importers.trace import TraceError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[f()]", [("f", {})]),
        ("[ f ( ) , g(x = 1) ]", [("f", {}), ("g", {"x": 1})]),
        ("[Get The News(q='it''s', from=\"A\")]", None),
        ('[Get News/v2.1(q="say \\"hi\\"\\n", from="A")]', [("Get News/v2.1", {"q": 'say "hi"\n', "from": "A"})]),
        ("[f(a=-1.5e3, b=[1, [2]], c={'k': (1, 2)}, d=None)]", [("f", {"a": -1500.0, "b": [1, [2]], "c": {"k": [1, 2]}, "d": None})]),
        ("[f(a=true, b=False, c=null, d=[],)]", [("f", {"a": True, "b": False, "c": None, "d": []})]),
        ('[f(a="), g(b=2")]', [("f", {"a": "), g(b=2"})]),
        ('[f("max-age"=3)]', [("f", {"max-age": 3})]),
        ("[f(a=1) and more]", None),
        ("[f(a=1)] thanks", None),
        ("[f(a=)]", None),
        ("[f(a=1", None),
        ('[f(a="x)]', None),
        ("[f(a=yes)]", None),
        ("[]", None),
        ("[(a=1)]", None),
        ("[f(a={1: 2})]", None),
        ("[f(a=" + "[" * 60 + "]" * 60 + ")]", None),
    ],
)  # fmt: skip
def test_calls_like_python(text: str, expected: list[tuple[str, dict[str, Any]]] | None) -> None:
    if expected is None:
        with pytest.raises(CallSyntaxError):
            read_calls(text)
    else:
        assert [(call.name, call.arguments) for call in read_calls(text)] == expected


@pytest.mark.parametrize(
    ("text", "looks"),
    [
        ("[f()]", True),
        (" [Get News(q=1)]", True),
        ("[Note: as I said (see above)] it rains.", False),
        ("[1, 2]", False),
        ('["f()"]', False),
        ("f(x=1)", False),
    ],
)
def test_prose_in_brackets_is_no_call(text: str, looks: bool) -> None:
    assert looks_like_calls(text) is looks


def test_messages_of_the_assistant() -> None:
    said = read_said(
        '<think> why </think> Wait.\n<tool_call>\n{"name": "f", "parameters": {"a": 1}}\n</tool_call>'
    )
    assert (said.rationale, said.text, said.calls[0].arguments) == ("why", "Wait.", {"a": 1})
    lines = '<tool_call>\n{"name": "f"}\n{"name": "g", "arguments": "{}"}\n</tool_call>'
    assert [call.name for call in read_said(lines).calls] == ["f", "g"]
    assert read_said("[Note (x)] fine").text == "[Note (x)] fine"
    with pytest.raises(TraceError):
        read_said("[f(a=)]")
    with pytest.raises(TraceError):
        read_said('<tool_call>{"name": "f"}</tool_call><tool_call>{"name": "g"}')


@pytest.mark.parametrize(
    ("content", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        ("[1, 2]", [1, 2]),
        ("3", 3),
        ('"x"', "x"),
        ("007", "007"),
        ("1e5", "1e5"),
        ("Error: no", "Error: no"),
        ("{broken", "{broken"),
        ("", ""),
        ({"a": 1}, {"a": 1}),
    ],
)
def test_results_keep_how_they_were_written(content: Any, value: Any) -> None:
    assert observation(content) == value


def test_decode_reads_python_but_runs_nothing() -> None:
    assert decode("{'a': True, 'b': None}") == {"a": True, "b": None}
    for text in ("__import__('os').getcwd()", "{'a': open('x')}", "{1, 2}", "(", "9" * 40):
        with pytest.raises(TraceError):
            decode(text)


@pytest.mark.parametrize(
    ("written", "schema"),
    [
        (None, {"type": "object", "properties": {}}),
        ("none", {"type": "object", "properties": {}}),
        ({"type": "dict", "properties": {}}, {"type": "object", "properties": {}}),
        (
            {"q": {"type": "str", "description": "d"}},
            {"type": "object", "properties": {"q": {"type": "string", "description": "d"}}, "required": ["q"]},
        ),
        (
            {"q": {"type": "str, optional", "default": ""}},
            {"type": "object", "properties": {"q": {"type": "string", "default": ""}}},
        ),
        ({"q": {"type": "Optional[int]"}}, {"type": "object", "properties": {"q": {"type": "integer"}}}),
        ({"q": {"type": "Dict[str, int]"}}, {"type": "object", "properties": {"q": {"type": "object"}}, "required": ["q"]}),
        ({"q": {"type": "List[List[float]]"}}, {"type": "object", "properties": {"q": {"type": "array", "items": {"type": "array", "items": {"type": "number"}}}}, "required": ["q"]}),
        ({"q": {"type": "Union[int, str]"}}, {"type": "object", "properties": {"q": {}}, "required": ["q"]}),
        ({"q": "a word"}, {"type": "object", "properties": {"q": {"description": "a word"}}, "required": ["q"]}),
        (
            {"type": "object", "properties": {"a": {"type": "string", "required": True}, "b": {"type": ["string", "null"]}}},
            {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": ["string", "null"]}}, "required": ["a"]},
        ),
        (
            {"type": "object", "properties": {"a": {"type": "dict", "properties": {"x": {"type": "float"}}}}, "required": ["a", "z"]},
            {"type": "object", "properties": {"a": {"type": "object", "properties": {"x": {"type": "number"}}}}, "required": ["a"]},
        ),
    ],
)  # fmt: skip
def test_parameters_become_json_schema(written: Any, schema: dict[str, Any]) -> None:
    found, _ = normalise(written)
    assert found == schema
    # Whatever comes out is a schema already: a second time changes nothing.
    assert normalise(json.loads(json.dumps(found)))[0] == schema


def test_repairs_are_told() -> None:
    written = {"type": "dict", "properties": {"a": {"type": "foo"}, "b": {"type": "float", "required": True}}}
    assert normalise(written)[1] == (
        "parameters: type dict became object",
        "parameters/a: type 'foo' dropped",
        "parameters/b: required as a flag, moved to the list",
        "parameters/b: type float became number",
    )
    assert normalise({"type": "object", "properties": {"a": {"type": "string"}}})[1] == ()
