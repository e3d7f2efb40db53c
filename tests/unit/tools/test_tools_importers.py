"""Tool lists in JSON: the three shapes, every fault with its place, and nothing read or fetched on the way."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from planarena.errors import SchemaError, SourceError, UserError
from planarena.tools import examine_tool_list, importers, read_tool_list

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def _write(folder: Path, content: Any) -> Path:
    path = folder / "weather.json"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def _error(folder: Path, content: Any) -> UserError:
    with pytest.raises(UserError) as caught:
        read_tool_list(_write(folder, content))
    assert str(folder / "weather.json") in caught.value.where
    assert caught.value.fix
    return caught.value


@pytest.mark.parametrize(
    "entry",
    [
        {"type": "function", "function": {"name": "get_rain", "description": "Rain.", "parameters": SCHEMA}},
        {"type": "function", "name": "get_rain", "description": "Rain.", "parameters": SCHEMA},
        {"name": "get_rain", "description": "Rain.", "parameters": SCHEMA},
        {"name": "get_rain", "description": "Rain.", "input_schema": SCHEMA},
        {"name": "get_rain", "description": "Rain.", "inputSchema": SCHEMA, "title": "Get rain"},
    ],
    ids=["openai", "openai-responses", "bare", "anthropic", "mcp"],
)
@pytest.mark.parametrize("wrapped", [False, True])
def test_every_shape_gives_the_same_tool(tmp_path: Path, entry: dict[str, Any], wrapped: bool) -> None:
    (tool,) = read_tool_list(_write(tmp_path, {"tools": [entry]} if wrapped else [entry]))
    assert (tool.namespace, tool.name, tool.wire_name, tool.description) == (
        "weather",
        "get_rain",
        "get_rain",
        "Rain.",
    )
    assert tool.input_schema == SCHEMA
    assert (tool.source_kind, tool.source_ref, tool.execution_kind) == ("json", "weather.json", "none")
    assert tool.schema_repairs == ()


def test_mcp_output_schema_and_hints_are_kept(tmp_path: Path) -> None:
    output = {"type": "object", "properties": {"mm": {"type": "number"}}}
    entry = {
        "name": "get_rain",
        "inputSchema": SCHEMA,
        "outputSchema": output,
        "annotations": {"readOnlyHint": True},
    }
    (tool,) = read_tool_list(_write(tmp_path, [entry]))
    assert tool.output_schema == output
    assert tool.effects == "read"


def test_what_is_added_is_said(tmp_path: Path) -> None:
    first, second = read_tool_list(
        _write(tmp_path, [{"name": "now"}, {"name": "b", "parameters": {"properties": {}}}])
    )
    assert first.input_schema == {"type": "object", "properties": {}}
    assert second.input_schema == {"type": "object", "properties": {}}
    assert len(first.schema_repairs) == len(second.schema_repairs) == 1


def test_names_become_wire_names(tmp_path: Path) -> None:
    (tool,) = read_tool_list(_write(tmp_path, [{"name": "math.läng/" + "x" * 80}]))
    assert tool.wire_name == "math_l_ng_" + "x" * 54


@pytest.mark.parametrize(
    ("content", "kind", "words"),
    [
        ('[{"name": "a"},\n {"name": }]', SourceError, "line 2 column 11"),
        ('{"name": "a"}\n{"name": "b"}', SourceError, "line 2 column 1"),
        ("", SourceError, "is empty"),
        ("[]", SourceError, "the list is empty"),
        ('{"name": "a"}', SourceError, "no list of tools but an object"),
        ("null", SourceError, "but null"),
        (b'[{"name": "\xff"}]', SourceError, "not UTF-8: byte 11, line 1"),
        ('[{"name": "NaN",\n"x": [NaN]}]', SourceError, "NaN is no number, line 2 column 7"),
        ('[{"name": "a", "x": -Infinity}]', SourceError, "line 1 column 21"),
        ('[{"name": "a", "x": 1e999}]', SourceError, "1e999 is no number"),
        ('[{"name": "a", "x": ' + "9" * 5000 + "}]", SourceError, "digits"),
        ('[{"name": "a", "name": "b"}]', SourceError, "'name' stands twice"),
        ("[" * 200 + "]" * 200, SourceError, "nested deeper"),
        ("[" * 100_000, SourceError, "nested deeper"),
        ([3], SourceError, "is a number, not an object"),
        ([{"description": "a"}], SourceError, "has no name"),
        ([{"name": 3}], SourceError, "the name is no text"),
        ([{"type": "function", "function": "a"}], SourceError, '"function" is a string'),
        ([{"name": "a", "description": 3}], SourceError, "the description is a number"),
        ([{"name": "a"}, {"name": "a"}], SourceError, "'a' is that of tool 0 too"),
        ([{"name": "a.b"}, {"name": "a_b"}], SourceError, "both 'a_b' to a model"),
        ('[{"name": "\\ud800"}]', SourceError, "no canonical JSON"),
        ([{"name": "a", "parameters": {"const": 2**70}}], SourceError, "no canonical JSON"),
        ([{"name": "a", "parameters": [1]}], SchemaError, "is a list, not an object"),
        ([{"name": "a", "parameters": {"type": "array"}}], SchemaError, "must be an object"),
        ([{"name": "a", "parameters": {}, "input_schema": {}}], SchemaError, "parameters and input_schema"),
        ([{"name": "a", "outputSchema": 1}], SchemaError, "is a number"),
        ([{"name": "a", "parameters": {"$ref": "#/$defs/none"}}], SchemaError, "does not compile"),
        ([{"name": "a", "parameters": {"required": "x"}}], SchemaError, "does not compile"),
        (
            [{"name": "a", "parameters": {"properties": {"x": {"pattern": "("}}}}],
            SchemaError,
            "does not compile",
        ),
    ],
)
def test_each_fault_is_one_error_with_its_place(
    tmp_path: Path, content: Any, kind: type[UserError], words: str
) -> None:
    error = _error(tmp_path, content)
    assert type(error) is kind
    assert words in error.what + error.where


def test_a_schema_error_names_the_place_and_the_right_type(tmp_path: Path) -> None:
    error = _error(tmp_path, [{"name": "a", "parameters": {"properties": {"x": {"type": "dict"}}}}])
    assert error.where.endswith("tool 0 ('a') parameters/properties/x/type")
    assert error.fix == 'write "object"'


def test_files_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SourceError, match="no such file"):
        read_tool_list(tmp_path / "none.json")
    with pytest.raises(SourceError, match="is a folder"):
        read_tool_list(tmp_path)
    monkeypatch.setattr(importers, "MAX_BYTES", 100)
    assert "larger than" in _error(tmp_path, " " * 101).what
    fifo = tmp_path / "pipe.json"
    os.mkfifo(fifo)  # opening it would wait for a writer for ever
    with pytest.raises(SourceError, match="no such file"):
        read_tool_list(fifo)


@pytest.fixture
def witness() -> Iterator[tuple[str, list[str]]]:
    """A server on loopback that notes every request, and its address."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"type": "object"}')

        def log_message(self, *_: object) -> None:
            """Stay quiet."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize("keyword", ["$ref", "$dynamicRef", "$schema", "$id"])
def test_no_reference_is_fetched(tmp_path: Path, witness: tuple[str, list[str]], keyword: str) -> None:
    address, asked = witness
    schema = {"type": "object", "properties": {"x": {keyword: f"{address}/schema.json"}}}
    examine_tool_list(_write(tmp_path, [{"name": "a", "parameters": schema}]))
    top = {"type": "object", keyword: f"{address}/schema.json", "properties": {"x": {"$ref": "other.json"}}}
    _error(tmp_path, [{"name": "a", "parameters": top}])
    assert asked == []


@pytest.mark.parametrize("scheme", ["file://", ""])
def test_no_file_is_read(tmp_path: Path, scheme: str) -> None:
    """The witness is a schema beside the list: were it read, the tool would compile."""
    (tmp_path / "secret.json").write_text('{"type": "object"}')
    reference = f"{scheme}{tmp_path / 'secret.json'}" if scheme else "secret.json"
    error = _error(tmp_path, [{"name": "a", "parameters": {"properties": {"x": {"$ref": reference}}}}])
    assert isinstance(error, SchemaError)
    assert "points outside the document" in error.what
    assert error.where.endswith("parameters/properties/x")


def test_etc_passwd_is_refused_and_not_quoted(tmp_path: Path) -> None:
    error = _error(tmp_path, [{"name": "a", "parameters": {"$ref": "file:///etc/passwd"}}])
    assert "file:///etc/passwd" in error.what
    assert "root:" not in str(error)


def test_all_problems_are_collected_and_the_rest_is_usable(tmp_path: Path) -> None:
    path = _write(
        tmp_path,
        [
            {"name": "good"},
            {},
            {"name": "bad", "parameters": {"type": "int"}},
            {"name": "good"},
            {"name": "b"},
        ],
    )
    tools, problems = examine_tool_list(path)
    assert [tool.name for tool in tools] == ["good", "b"]
    assert [problem.where.split(": ")[1][:6] for problem in problems] == ["tool 1", "tool 2", "tool 3"]
    with pytest.raises(SourceError, match="2 more problems"):
        read_tool_list(path)


def test_a_property_named_like_a_keyword_is_no_reference(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"$ref": {"type": "string"}}, "required": ["$ref"]}
    (tool,) = read_tool_list(_write(tmp_path, [{"name": "a", "parameters": schema}]))
    assert tool.input_schema == schema
