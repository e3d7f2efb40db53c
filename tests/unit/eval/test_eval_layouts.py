"""Layouts of published result files: read, or refused with the fields that were seen; two models never merge."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planarena.errors import UserError
from planarena.eval import EvalConfig, evaluate
from planarena.eval.responses import OUTPUT_FIELDS, read_responses


def question(number: int) -> dict[str, Any]:
    return {
        "question_id": number,
        "question": f"Q{number}?",
        "options": list("wxyz"),
        "answer": "ABCD"[number % 4],
        "category": "law",
    }


def scored(tmp_path: Path, rows: list[dict[str, Any]], **options: Any) -> Any:
    source = tmp_path / "model.json"
    source.write_text(json.dumps(rows))
    config = EvalConfig(suites=("mmlu-pro",), out=str(tmp_path / "out"), responses=str(source), **options)
    return evaluate(config).suites["mmlu-pro"]


@pytest.mark.parametrize(
    "field", ["model_outputs", "generated_text", "response", "output", "completion", "generation"]
)
def test_every_published_layout_of_mmlu_pro_is_read(tmp_path: Path, field: str) -> None:
    rows = [question(n) | {field: f"The answer is ({'ABCD'[n % 4]}).", "pred": "A"} for n in range(8)]
    assert scored(tmp_path, rows).overall[0].value == 1.0


def test_rows_of_a_harness_hold_the_question_inside(tmp_path: Path) -> None:
    rows = [{"doc_id": n, "doc": question(n), "resps": [[f"answer is {'ABCD'[n % 4]}"]]} for n in range(4)]
    path = tmp_path / "samples.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    found = read_responses(path, "mmlu-pro")
    assert [listed[0].value for listed in found.by_id.values()] == [
        f"answer is {letter}" for letter in "ABCD"
    ]


def test_outputs_that_are_not_there_are_an_error_that_names_the_fields(tmp_path: Path) -> None:
    rows = [question(n) | {"pred": "A", "llm_said": "The answer is (A)."} for n in range(8)]
    with pytest.raises(UserError, match="8 of 8 outputs cannot be read") as error:
        scored(tmp_path, rows)
    assert "llm_said" in str(error.value)
    assert "pred" in str(error.value)
    assert not (tmp_path / "out" / "scores.json").exists()
    assert scored(tmp_path, rows, unreadable="count", guess=False).overall[0].value == 0.0


def test_less_than_half_unreadable_is_counted(tmp_path: Path) -> None:
    rows = [question(n) | ({"response": "The answer is (A)."} if n < 5 else {}) for n in range(8)]
    result = scored(tmp_path, rows)
    assert result.categories[0].unreadable == 3


def test_two_models_in_one_folder_are_an_error(tmp_path: Path) -> None:
    for model in ("one", "two"):
        rows = [{"id": str(n), "result": model} for n in range(5)]
        (tmp_path / f"{model}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(
        UserError, match="two files hold outputs of the same 5 items: .*one.jsonl and .*two.jsonl"
    ):
        read_responses(tmp_path, "math")
    assert len(read_responses(tmp_path, "math", samples=2).by_id["0"]) == 2
    rows = [{"id": str(n), "result": "x", "model": f"m{n % 2}"} for n in range(4)]
    (tmp_path / "sub").mkdir()
    path = tmp_path / "sub" / "r.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(UserError, match="more than one model: 'm0' and 'm1'"):
        read_responses(path, "math")


def test_parts_of_one_model_are_one(tmp_path: Path) -> None:
    for part in range(2):
        rows = [{"id": str(n), "result": "x"} for n in range(5 * part, 5 * part + 6)]
        (tmp_path / f"part{part}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    found = read_responses(tmp_path, "math")
    assert (len(found.by_id), found.repeated) == (11, 1)


def test_fields_are_tried_in_order() -> None:
    assert OUTPUT_FIELDS[:3] == ("response", "result", "model_outputs")
