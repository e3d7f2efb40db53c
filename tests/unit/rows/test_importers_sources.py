"""Each published shape, read: tools, calls, results, turns, reasoning, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from planarena.formats import Call
from planarena.rows.dialogue import Dialogue
from planarena.rows.importers import SOURCES, ImportOptions, TraceError, as_dialogue, detect, source
from planarena.rows.importers.hammer import mask

SAMPLES: dict[str, list[dict[str, Any]]] = json.loads(
    Path(__file__).with_name("import_samples.json").read_text(encoding="utf-8")
)


def read(name: str, number: int = 0, **options: Any) -> Dialogue:
    return as_dialogue(source(name).read(SAMPLES[name][number], ImportOptions(**options), number), name)


def calls(dialogue: Dialogue) -> list[list[tuple[str, dict[str, Any]]]]:
    return [[(call.name, call.arguments) for call in d.calls] for _, d in dialogue.decisions() if d.calls]


def results(dialogue: Dialogue) -> list[list[Any]]:
    return [
        [None if one is None else one.value for one in d.observations]
        for _, d in dialogue.decisions()
        if d.calls
    ]


def texts(dialogue: Dialogue) -> list[str | None]:
    return [d.text for _, d in dialogue.decisions()]


def test_every_source_has_a_sample_and_every_sample_is_recognised() -> None:
    assert set(SAMPLES) == set(SOURCES)
    # Hammer's files have xLAM's shape, and the others share ShareGPT's.
    looks = {"hammer": "xlam", "apigen-mt": "sharegpt", "funreason-mt": "sharegpt"}
    for name, records in SAMPLES.items():
        assert {detect(record) for record in records} == {looks.get(name, name)}
    assert detect({"text": "x"}) is None


def test_toolace() -> None:
    dialogue = read("toolace")
    assert [turn.user for turn in dialogue.turns] == [
        "Will it rain in Bergen, and when do ferries leave?",
        "And in Oslo?",
    ]
    assert calls(dialogue) == [
        [
            ("get_weather", {"city": "Bergen", "days": 2}),
            ("Ferry_Times", {"from": "Bergen", "classes": ["deck", "cabin"], "price": 99.5}),
        ],
        [("get_weather", {"city": "Oslo"})],
    ]
    assert results(dialogue) == [[{"rain": True}, {"leaves": ["08:00"]}], [{"rain": False}]]
    assert texts(dialogue) == [None, "It will rain; a ferry leaves at 08:00.", None, "Oslo stays dry."]
    ferry = dialogue.tools[1]
    assert (ferry.name, ferry.wire_name) == ("Ferry Times", "Ferry_Times")
    schema = json.loads(ferry.input_schema)
    assert schema["type"] == "object"
    assert schema["properties"]["price"]["type"] == "number"
    repairs = json.loads(ferry.schema_repairs)
    assert "name: 'Ferry Times' became 'Ferry_Times'" in repairs
    assert any("float became number" in repair for repair in repairs)
    assert dialogue.context == {}  # the list of tools is no instruction
    assert texts(read("toolace", 1)) == ["Which city do you mean?"]
    with pytest.raises(TraceError, match="not on offer: ring_bell"):
        read("toolace", 2)


def test_xlam() -> None:
    dialogue = read("xlam")
    assert calls(dialogue) == [
        [("live_scores", {"league": "Eliteserien", "ids": [3, 4]}), ("odds", {"match": 3})]
    ]
    assert results(dialogue) == [[None, None]]
    schema = json.loads(dialogue.tools[0].input_schema)
    assert schema["required"] == ["league", "ids"]
    assert schema["properties"]["limit"] == {"type": "integer", "description": "How many.", "default": 5}
    assert schema["properties"]["ids"] == {
        "type": "array",
        "items": {"type": "integer"},
        "description": "Which matches.",
    }
    refusal = read("xlam", 1)
    assert refusal.category == "tool_missing"
    assert calls(refusal) == []
    assert texts(refusal) == ["None of the available tools can do this."]


def test_hammer_masks_names_and_nothing_else() -> None:
    plain, masked = read("xlam"), read("hammer", seed=3)
    renamed = {old.wire_name: new for old, new in zip(plain.tools, masked.tools, strict=True)}
    for old, new in renamed.items():
        assert new.wire_name != old
        assert 5 <= len(new.wire_name) <= 15
    assert [tool.description for tool in masked.tools] == [tool.description for tool in plain.tools]
    for was, now in zip(calls(plain)[0], calls(masked)[0], strict=True):
        assert now[0] == renamed[was[0]].wire_name
        assert list(now[1].values()) == list(was[1].values())
        assert not set(now[1]) & set(was[1])
        assert set(now[1]) <= set(json.loads(renamed[was[0]].input_schema)["properties"])
    assert read("hammer", seed=3) == masked
    assert calls(read("hammer", seed=4)) != calls(masked)
    assert calls(read("hammer", mask=0.0)) == calls(plain)


def test_masked_schemas_keep_their_shape() -> None:
    trace = source("xlam").read(SAMPLES["xlam"][0], ImportOptions(), 0)
    masked = mask(trace, Random(1))
    again = mask(trace, Random(1))
    assert masked == again
    for tool in masked.tools:
        assert set(tool.parameters.get("required", ())) <= set(tool.parameters["properties"])


def test_hermes() -> None:
    dialogue = read("hermes")
    assert calls(dialogue) == [
        [
            ("get_weather", {"city": "Rome", "days": 2}),  # a Python dict in the source
            ("book_table", {"when": {"day": "Friday", "hour": 20}, "guests": ["Ada", "Bo"]}),
        ]
    ]
    assert results(dialogue) == [[{"rain": False}, {"booked": True}]]
    assert next(dialogue.decisions())[1].rationale == "Both can run at once."
    assert [tool.wire_name for tool in dialogue.tools] == ["get_weather", "book_table"]
    assert dialogue.context == {}


def test_apigen_mt_keeps_the_policy() -> None:
    dialogue = read("apigen-mt")
    assert dialogue.context == {"instructions": "# Retail policy\nConfirm before you change an order."}
    assert texts(dialogue) == ["For how many guests, and when?", None, None, "Table 7 is booked."]
    assert results(dialogue) == [[{"booked": True, "number": 7}], ["Error: unknown city"]]
    with pytest.raises(TraceError, match="no list of tools"):
        source("apigen-mt").read({**SAMPLES["apigen-mt"][0], "tools": ""}, ImportOptions(), 0)


def test_funreason_mt() -> None:
    dialogue = read("funreason-mt")
    assert calls(dialogue) == [[("get_weather", {"city": "Kyoto"})]]
    assert [d.rationale for _, d in dialogue.decisions()] == ["I need the weather tool.", "It rains."]
    assert texts(dialogue)[-1] == "It rains in Kyoto."
    assert results(read("funreason-mt", 1)) == [["Error: service down"]]
    with pytest.raises(TraceError, match="marked as holding wrong tool responses"):
        read("funreason-mt", 1, keep_errors=False)


def test_toolrl_learns_from_the_output_alone() -> None:
    first, second, both = read("toolrl"), read("toolrl", 1), read("toolrl", 2)
    assert calls(first) == [[("Search_Managers", {"name": "reds"}), ("scores", {"day": 2})]]
    assert first.tools[0].description == "Search for managers by name\nand retrieve them."
    assert json.loads(first.tools[0].input_schema)["required"] == ["name"]
    assert "required" not in json.loads(first.tools[1].input_schema)
    assert second.first_decision == 1
    assert results(second) == [[{"found": "Kim"}]]
    assert texts(second) == [None, "Kim manages the reds."]
    assert (both.split, texts(both), calls(both)) == ("test", ["One moment."], [[("scores", {"day": 3})]])


def test_sharegpt() -> None:
    dialogue = read("sharegpt")
    assert calls(dialogue) == [[("get_weather", {"city": "Rome"}), ("get_weather", {"city": "Oslo"})]]
    assert results(dialogue) == [[{"rain": False}, {"rain": True}]]
    assert dialogue.context == {"instructions": "Be kind."}


def test_openai() -> None:
    dialogue = read("openai")
    decision = next(dialogue.decisions())[1]
    assert decision.calls[1] == Call("get_weather", {"city": "here"})
    assert decision.text == "Looking."
    assert decision.rationale == "Two calls."
    assert results(dialogue) == [["booked", {"rain": False}]]  # by call id, not by order
    assert len(dialogue.turns) == 1  # nobody answers the last message
    with pytest.raises(TraceError, match="no action of the assistant"):
        read("openai", 1)


def test_openr1_math() -> None:
    dialogue = read("openr1-math")
    decision = next(dialogue.decisions())[1]
    assert (decision.text, decision.rationale) == ("39", "22 + 17 = 39.")  # the verified generation
    assert texts(read("openr1-math", 1)) == [r"\frac{1}{2}"]
    with pytest.raises(TraceError, match="an answer that is no integer"):
        read("openr1-math", 1, integer_answers=True)
    with pytest.raises(TraceError, match="no gold action"):
        read("openr1-math", 2)


def message(role: str, value: str) -> dict[str, str]:
    return {"from": role, "value": value}


@pytest.mark.parametrize(
    ("name", "record", "reason"),
    [
        ("sharegpt", {"conversations": "x"}, "no JSON"),
        ("sharegpt", {"conversations": [message("robot", "x")]}, "an unknown role: robot"),
        (
            "sharegpt",
            {"conversations": [message("human", "x"), message("observation", "1")]},
            "without a call",
        ),
        ("sharegpt", {"conversations": [message("function_call", "call it")]}, "cannot be read"),
        ("sharegpt", {"conversations": [message("gpt", "<tool_call>{")], "tools": "[]"}, "cannot be read"),
        ("sharegpt", {"conversations": [message("function_call", '{"name": "f"}')]}, "no list of tools"),
        ("sharegpt", {"conversations": [3]}, "no object"),
        ("openai", {"messages": [{"role": "assistant", "tool_calls": "f"}]}, "no list"),
        ("openai", {"messages": [{"role": "user", "content": 3}]}, "no text"),
        ("xlam", {"query": " ", "answers": "[]"}, "no query"),
        ("xlam", {"query": "x", "answers": "{}", "tools": "[]"}, "no list"),
        ("xlam", {"query": "x", "answers": '[{"name": 3}]', "tools": "[]"}, "cannot be read"),
        ("toolrl", {"instruction": "x", "input": "y", "output": "just text"}, "no gold action"),
        ("toolrl", {"prompt": [], "reward_model": {}}, "no gold action"),
        ("openr1-math", {"problem": "", "answer": "1"}, "no problem"),
        ("hermes", {"conversations": 3}, "no list of messages"),
        ("toolace", {"system": 3, "conversations": []}, "no text"),
    ],
)
def test_what_cannot_be_read_is_said(name: str, record: dict[str, Any], reason: str) -> None:
    with pytest.raises(TraceError, match=reason):
        as_dialogue(source(name).read(record, ImportOptions(), 0), name)


def test_numbers_that_json_cannot_hold_are_refused() -> None:
    record = {
        "query": "x",
        "tools": '[{"name": "f"}]',
        "answers": [{"name": "f", "arguments": {"x": float("nan")}}],
    }
    with pytest.raises(TraceError, match="no JSON"):
        as_dialogue(source("xlam").read(record, ImportOptions(), 0), "xlam")


def test_names_that_collide_are_kept_apart() -> None:
    tools = [{"name": "a b"}, {"name": "a.b"}, {"name": "a/b" + "c" * 80}]
    record = {"query": "x", "tools": tools, "answers": [{"name": "a.b", "arguments": {}}]}
    dialogue = as_dialogue(source("xlam").read(record, ImportOptions(), 0), "xlam")
    names = [tool.wire_name for tool in dialogue.tools]
    assert names[:2] == ["a_b", "a_b_2"]
    assert len(names[2]) == 64
    assert calls(dialogue) == [[("a_b_2", {})]]


def test_ids_depend_on_the_content_alone() -> None:
    one, same = read("sharegpt"), read("sharegpt")
    assert (one.trajectory_id, one.scenario_id) == (same.trajectory_id, same.scenario_id)
    other = msgspec.json.decode(msgspec.json.encode(SAMPLES["sharegpt"][0]))
    other["conversations"][-1]["value"] += "!"
    changed = as_dialogue(source("sharegpt").read(other, ImportOptions(), 0), "sharegpt")
    assert changed.trajectory_id != one.trajectory_id
