"""Wire names, patterns, and the shapes of BFCL and ToolBench."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random

import pytest

from planarena.tools import SchemaValidator, read_tool_list
from planarena.tools.patterns import pattern_fault, sample_pattern
from planarena.tools.wire_names import WireNames, to_wire_name


def test_wire_names_are_unique_and_lead_back_in_any_order() -> None:
    pairs = [
        ("a", "get pet"),
        ("b", "get_pet"),
        ("a", "x" * 100),
        ("a", "x" * 101),
        ("a", "ünïcode"),
        ("a", "???"),
    ]
    names, reverse = WireNames(pairs), WireNames(pairs[::-1])
    wires = [names.wire(*pair) for pair in pairs]
    assert len(set(wires)) == len(pairs)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", wire) for wire in wires)
    assert [names.original(wire) for wire in wires] == pairs
    assert [reverse.wire(*pair) for pair in pairs] == wires
    assert to_wire_name("list-pets") == "list-pets"


@pytest.mark.parametrize(
    "pattern", [r"^[A-Z]{3}-\d{2,4}$", r"^(foo|bar)?baz$", r"\w+@\w+\.com", r"^[^a]$", r"^.{5}$", ""]
)
def test_samples_match_their_pattern(pattern: str) -> None:
    assert pattern_fault(pattern) is None
    for seed in range(20):
        text = sample_pattern(pattern, Random(seed))
        assert text is not None
        assert re.search(pattern, text)


@pytest.mark.parametrize(
    ("pattern", "fault"),
    [
        (r"^(a+)+$", "exponential"), (r"(a|aa)*b", "exponential"), (r"^(([a-z])+.)+$", "exponential"),
        (r"(?=x)y", "linear"), (r"(a)\1", "linear"), (r"\p{Alpha}", "compile"), (r"(", "compile"), ("a" * 2000, "longer"),
        (r"a{100000}", "exponential"),
    ],
)  # fmt: skip
def test_patterns_that_must_not_stay(pattern: str, fault: str) -> None:
    # None of them is run on anything: the first three would not end.
    assert fault in (pattern_fault(pattern) or "")


def test_bfcl_rows_and_functions(tmp_path: Path) -> None:
    function = {
        "name": "geometry.area",
        "description": "Area.",
        "parameters": {
            "type": "dict",
            "properties": {"sides": {"type": "tuple", "items": {"type": "float"}}, "unit": {"type": "any"}},
            "required": ["sides"],
        },
    }
    rows = [
        {
            "id": f"x_{n}",
            "question": [[{"role": "user", "content": "?"}]],
            "function": [{**function, "name": f"area_{n}.of"}],
        }
        for n in range(2)
    ]
    file = tmp_path / "rows.json"
    file.write_text("\n".join(map(json.dumps, rows)))
    tools = read_tool_list(file)
    assert [tool.wire_name for tool in tools] == ["area_0_of", "area_1_of"]
    assert [tool.name for tool in tools] == ["area_0.of", "area_1.of"]
    assert any("tuple" in repair for repair in tools[0].schema_repairs)
    validator = SchemaValidator(tools[0].input_schema)
    assert validator.is_valid({"sides": [1.5, 2], "unit": None})
    assert not validator.is_valid({"sides": ["a"]})


def test_toolbench_lists(tmp_path: Path) -> None:
    api = {
        "name": "Search",
        "description": "Search things",
        "required_parameters": [{"name": "q", "type": "STRING", "description": "words", "default": ""}],
        "optional_parameters": [
            {"name": "limit", "type": "NUMBER", "description": "", "default": "10"},
            {"type": "STRING"},
        ],
    }
    file = tmp_path / "bench.json"
    file.write_text(
        json.dumps(
            [
                {"tool_name": "Shop", "tool_description": "A shop", "api_list": [api]},
                {**api, "tool_name": "Other", "api_name": "Find"},
            ]
        )
    )
    tools = read_tool_list(file)
    assert [tool.name for tool in tools] == ["Shop.Search", "Other.Find"]
    assert tools[0].required == ("q",)
    assert tools[0].parameters["limit"] == {"type": "number"}
    assert any("without a name" in repair for repair in tools[0].schema_repairs)
