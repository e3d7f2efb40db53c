"""Contamination: a benchmark's own tools are left out, namesakes are marked, queries are compared by words."""

from __future__ import annotations

import json
from pathlib import Path

import polars
import pytest

from planarena.errors import SourceError
from planarena.quality.contamination import Benchmark, Contamination, read_benchmark
from planarena.tools import Tool

QUERY = (
    "Find the cheapest direct flight from Lisbon to Oslo on the third of May and book two window seats for us"
)


def _tool(name: str, *parameters: str) -> Tool:
    schema = {"type": "object", "properties": {parameter: {"type": "string"} for parameter in parameters}}
    return Tool("x", name, name.replace(".", "_"), "", schema)


def _bfcl(folder: Path) -> Path:
    function = {
        "name": "flights.find_cheapest",
        "description": "",
        "parameters": {
            "type": "dict",
            "properties": {"origin": {"type": "string"}, "day": {"type": "string"}},
        },
    }
    row = {"id": "simple_0", "question": [[{"role": "user", "content": QUERY}]], "function": [function]}
    short = {
        "id": "simple_1",
        "question": [[{"role": "user", "content": "Book a table for two"}]],
        "function": [],
    }
    file = folder / "BFCL_simple.json"
    file.write_text("\n".join(map(json.dumps, (row, short))))
    return folder


def test_signatures_are_dropped_and_names_are_marked(tmp_path: Path) -> None:
    found = Contamination([read_benchmark("bfcl", _bfcl(tmp_path))])
    tools = [
        _tool("Flights_FindCheapest", "day", "origin"),
        _tool("flights.find_cheapest", "origin"),
        _tool("find_hotel", "origin", "day"),
    ]
    kept, dropped = found.filter_tools(tools)
    assert [(tool.name, verdict.marks) for tool, verdict in dropped] == [
        ("Flights_FindCheapest", ("signature:bfcl",))
    ]
    assert [(tool.name, tool.contamination) for tool in kept] == [
        ("flights.find_cheapest", ("name:bfcl",)),
        ("find_hotel", ()),
    ]


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        (QUERY, ("minhash:bfcl", "ngram:bfcl")),
        ("Please: find the cheapest DIRECT flight, from Lisbon to Oslo!", ("ngram:bfcl",)),
        ("find the cheapest direct flight from Lisbon in June", ()),
        ("book a table for two.", ("minhash:bfcl", "same:bfcl")),
        ("Book a table for two at eight", ()),
        (
            QUERY.replace("Find", "Search for").replace("us", "me").replace("third", "fourth"),
            ("ngram:bfcl",),
        ),
        ("", ()),
    ],
)
def test_queries(tmp_path: Path, text: str, marks: tuple[str, ...]) -> None:
    assert Contamination([read_benchmark("bfcl", _bfcl(tmp_path))]).judge_query(text) == marks


def test_a_similar_query_without_eight_words_in_a_row_is_found_by_minhash() -> None:
    words = [f"w{number}" for number in range(120)]
    changed = [word if place % 7 else "other" for place, word in enumerate(words)]
    far = [word if place % 2 else f"other{place}" for place, word in enumerate(words)]
    found = Contamination([Benchmark("b", frozenset(), frozenset(), (" ".join(words),))])
    # Of 119 pairs 35 differ: Jaccard 84/154 = 0.55, below the line of 0.7; with every 15th word changed it is 0.77.
    assert found.judge_query(" ".join(changed)) == ()
    near = [word if place % 15 else "other" for place, word in enumerate(words)]
    assert "minhash:b" in found.judge_query(" ".join(near))
    assert found.judge_query(" ".join(far)) == ()


def test_parquet_and_lists_are_read_and_nothing_is_no_benchmark(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    polars.DataFrame(
        {"question": ["What is the boiling point of water at sea level in kelvin"], "answer": ["x"]}
    ).write_parquet(tmp_path / "m" / "t.parquet")
    benchmark = read_benchmark("mmlu-pro", tmp_path / "m")
    assert benchmark.queries == ("What is the boiling point of water at sea level in kelvin",)
    judged = Contamination([benchmark]).judge_query(
        "Tell me: what is the boiling point of water at sea level?"
    )
    assert "ngram:mmlu-pro" in judged
    api = tmp_path / "api.json"
    api.write_text(
        json.dumps(
            [
                {"name": "AddAlarm", "input_parameters": {"time": {"type": "str"}}},
                {"instruction": "x", "input": "User: wake me at six", "output": "y"},
            ]
        )
    )
    assert Contamination([read_benchmark("api-bank", api)]).judge_tool(_tool("add_alarm", "time")).drop
    (tmp_path / "none").mkdir()
    with pytest.raises(SourceError, match="no tools and no queries"):
        read_benchmark("bfcl", tmp_path / "none")


def test_the_published_data_is_found_in_itself(shared: Path) -> None:
    folder = shared / "oracles" / "bench" / "bfcl"
    benchmark = read_benchmark("bfcl", folder)
    assert len(benchmark.signatures) > 0
    found = Contamination([benchmark._replace(queries=benchmark.queries[:200])])
    long = [query for query in benchmark.queries[:200] if len(query.split()) >= 12]
    assert long
    assert all(found.judge_query(query) for query in long)
    assert not found.judge_query(
        "Water the tomatoes behind the shed, then tell me how many of them are ripe by now"
    )
