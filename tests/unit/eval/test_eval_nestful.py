"""NESTFUL in miniature: invented sequences and functions in the layouts of both of its releases."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from planarena.environments import sandbox
from planarena.errors import UserError
from planarena.eval import EvalConfig, evaluate
from planarena.eval.nestful.matching import Labelled, macro_f1, partial_match
from planarena.eval.nestful.suite import read_sequence
from planarena.formats import Call, write_output

TOOLS = [
    {
        "name": name,
        "description": f"Works out {name}.",
        "parameters": {"arg_0": {"type": "float", "description": "left"}, "arg_1": {"type": "list of float", "description": "right"}},
        "output_parameters": {"result": {"type": "float", "description": "what comes out"}},
    }
    for name in ("plus", "times", "pairs", "forever")
]  # fmt: skip
BASIC = """
def plus(arg_0, arg_1):
    return arg_0 + arg_1
def pairs(arg_0, arg_1):
    return (arg_0, arg_1)
"""
OTHER = """
def times(arg_0, arg_1):
    return arg_0 * arg_1
def forever(arg_0, arg_1):
    while True:
        try:
            pass
        except Exception:
            pass
"""


def call(name: str, label: str, *values: Any) -> dict[str, Any]:
    return {
        "name": name,
        "label": label,
        "arguments": {f"arg_{place}": value for place, value in enumerate(values)},
    }


ITEMS = {
    "sum": ([call("plus", "$var_1", 0.1, 0.2), call("times", "$var_2", "$var_1.result$", 3)], 0.9),
    "pair": ([call("pairs", "$var_1", 1, 2)], [1, 2]),
}


def make(path: Path) -> Path:
    place = path / "data_v2" / "executable_functions"
    place.mkdir(parents=True)
    (place / "basic_functions.py").write_text(BASIC)
    (place / "py_code_file_1.py").write_text(OTHER)
    (place / "func_file_map.json").write_text(
        json.dumps({"times": "py_code_file_1.py", "forever": "py_code_file_1.py"})
    )
    rows = [
        {"sample_id": key, "input": "How much?", "output": calls, "tools": TOOLS, "gold_answer": answer}
        for key, (calls, answer) in ITEMS.items()
    ]
    (path / "data_v2" / "nestful_data.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return path


def scored(tmp_path: Path, outputs: Any, **options: Any) -> Any:
    data = tmp_path / "data"
    if not data.exists():
        make(data)
    if isinstance(outputs, dict):
        source = tmp_path / "outputs.jsonl"
        source.write_text("\n".join(json.dumps({"id": key, "response": one}) for key, one in outputs.items()))
        outputs = str(source)
    config = EvalConfig(
        suites=("nestful",),
        out=str(tmp_path / "out"),
        responses=outputs,
        data={"nestful": str(data)},
        **options,
    )
    return evaluate(config).suites["nestful"]


def needs_sandbox() -> None:
    if (why := sandbox.missing()) is not None:
        pytest.skip(f"no sandbox here: {why}")


def test_gold_wins_and_other_ways_to_the_answer_win_too(tmp_path: Path) -> None:
    needs_sandbox()
    result = scored(tmp_path, "gold")
    assert [(one.name, one.value) for one in result.overall] == [("win rate", 1.0), ("full match", 1.0)]
    assert result.columns == {"partial match": 1.0, "F1 functions": 1.0, "F1 arguments": 1.0}
    assert "1,861" in result.notes[0]
    result = scored(
        tmp_path,
        {
            # Labels are the positions where none are written; another way to the same number.
            "sum": write_output("hermes", [Call("times", {"arg_0": 0.3, "arg_1": 3})]),
            "pair": write_output("llama", [Call("pairs", {"arg_0": 2, "arg_1": 1})]),
        },
    )
    assert {one.id: (one.correct, one.reason) for one in result.verdicts} == {
        "sum": (True, ""),
        "pair": (False, "wrong answer"),
    }
    assert [one.value for one in result.overall] == [0.5, 0.0]


def test_functions_and_outputs_are_contained(tmp_path: Path) -> None:
    needs_sandbox()
    flag = tmp_path / "escaped"
    result = scored(
        tmp_path,
        {
            "sum": json.dumps([call("forever", "$var_1", 1, 2)]),
            "pair": json.dumps([call("__import__", "$var_1", "os"), call("plus", "$var_2", f"open({str(flag)!r}, 'w')", 1)]),
        },
        seconds=0.5,
    )  # fmt: skip
    reasons = {one.id: one.reason for one in result.verdicts}
    assert reasons == {"sum": "limit:time", "pair": "execution error"}
    assert not flag.exists()


def test_the_first_release_is_matched_alone(tmp_path: Path) -> None:
    place = tmp_path / "old" / "executable"
    place.mkdir(parents=True)
    rows = [
        {"input": "How much?", "output": [call("plus", "var1", 1, 2), call("times", "var2", "$var1.result$", 3),
                                          {"name": "var_result", "arguments": {"x": "$var2$"}}]},
    ]  # fmt: skip
    (place / "executable-data.json").write_text(json.dumps(rows))
    (place / "executable-spec.json").write_text(json.dumps(TOOLS))
    config = {
        "suites": ("nestful",),
        "out": str(tmp_path / "out"),
        "data": {"nestful": str(tmp_path / "old")},
    }
    result = evaluate(EvalConfig(responses="gold", **config)).suites["nestful"]
    assert [(one.name, one.value) for one in result.overall] == [("full match", 1.0)]
    (place / "executable-data.json").write_text('[{"input": "x"}]')
    with pytest.raises(UserError, match="row 1"):
        evaluate(EvalConfig(responses="gold", **config))


def test_references_are_compared_by_what_they_refer_to() -> None:
    gold, _ = read_sequence(json.dumps(ITEMS["sum"][0]), "auto")
    renamed = json.dumps([call("plus", "$var_7", 0.1, 0.2), call("times", "$var_9", "$var_7.result$", 3)])
    assert partial_match(gold, read_sequence(renamed, "auto")[0]) == 1.0
    wrong = json.dumps([call("plus", "$var_7", 0.1, 0.2), call("times", "$var_9", "$var_8.result$", 3)])
    assert partial_match(gold, read_sequence(wrong, "auto")[0]) == 0.5
    assert partial_match(gold, gold[:1]) == 0.5
    assert partial_match(gold, []) == 0.0


def test_macro_f1_is_the_mean_over_the_golds_classes() -> None:
    """Against the definition, written out class by class, on random sets."""
    rng = random.Random(3)
    for _ in range(50):
        pairs = [
            (set(rng.sample("abcd", rng.randrange(4))), set(rng.sample("abcde", rng.randrange(4))))
            for _ in range(6)
        ]
        classes = sorted(set().union(*(gold for gold, _ in pairs)))
        values = []
        for name in classes:
            hits = sum(name in gold and name in found for gold, found in pairs)
            precision = hits / max(sum(name in found for _, found in pairs), 1)
            recall = hits / sum(name in gold for gold, _ in pairs)
            values.append(2 * precision * recall / (precision + recall) if hits else 0.0)
        assert macro_f1(pairs) == pytest.approx(sum(values) / len(values) if values else 0.0, abs=1e-12)
    assert partial_match([Labelled("f", {"x": 1}, "a")], [Labelled("f", {"x": "1"}, "a")]) == 1.0  # as text
