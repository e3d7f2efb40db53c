"""Questions and answers given with --data: what is none of that suite's is one error that names the place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planarena.errors import UserError
from planarena.eval import EvalConfig, evaluate
from planarena.eval.api_bank import read_samples
from planarena.eval.bfcl.outputs import read_questions


def score(tmp_path: Path, suite: str, rows: list[Any], responses: str = "gold", **options: Any) -> Any:
    path = tmp_path / "data.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    config = EvalConfig(
        suites=(suite,), out=str(tmp_path / "out"), responses=responses, data={suite: str(path)}, **options
    )
    return evaluate(config).suites[suite]


QUESTION = {"question_id": 1, "options": ["a", "b"], "answer": "B", "category": "x"}


@pytest.mark.parametrize(
    "change",
    [
        {"options": 4},
        {"options": []},
        {"options": list("abcdefghijkl"), "answer": "L"},
        {"answer": None},
        {"answer": "b"},
        {"answer": "C"},
        {"answer": ""},
        {"answer": "AB"},
        {"answer": 1},
        {"question_id": None},
    ],
)
@pytest.mark.parametrize("extraction", ["three-rules", "boxed"])
def test_questions_of_mmlu_pro(tmp_path: Path, extraction: str, change: dict[str, Any]) -> None:
    assert score(tmp_path, "mmlu-pro", [QUESTION], extraction=extraction).overall[0].value == 1.0
    with pytest.raises(UserError, match="row 2"):
        score(tmp_path, "mmlu-pro", [QUESTION, QUESTION | {"question_id": 2} | change], extraction=extraction)


def test_a_question_stands_once(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="row 2"):
        score(tmp_path, "mmlu-pro", [QUESTION, QUESTION])
    with pytest.raises(UserError, match="a second time"):
        score(tmp_path, "math", [{"id": "1", "answer": "1"}, {"id": "1", "answer": "2"}])


def test_outputs_whose_question_is_damaged_are_no_items(tmp_path: Path) -> None:
    rows = [QUESTION | {"model_outputs": "the answer is (B)"}, QUESTION | {"question_id": 2, "options": 3}]
    path = tmp_path / "outputs.json"
    path.write_text(json.dumps(rows))
    config = EvalConfig(suites=("mmlu-pro",), out=str(tmp_path / "out"), responses=str(path))
    assert [verdict.id for verdict in evaluate(config).suites["mmlu-pro"].verdicts] == ["1"]


@pytest.mark.parametrize("answer", [None, {"a": 1}, [1], True])
def test_answers_of_math(tmp_path: Path, answer: Any) -> None:
    with pytest.raises(UserError, match="without an answer"):
        score(tmp_path, "math", [{"id": "1", "answer": answer}])


@pytest.mark.parametrize(
    "rows",
    [
        [{"answer": "text"}],
        [{"answer": {"foo": 1}}],
        [{"answer": {"name": "f", "parameters": []}}],
        [{"answer": []}],
        {"answer": 1},
        [],
        [{"id": "a", "answer": {"name": "f", "parameters": {}}}] * 2,
    ],
)
def test_samples_of_api_bank(tmp_path: Path, rows: Any) -> None:
    (tmp_path / "level-1-api.json").write_text(json.dumps(rows))
    with pytest.raises(UserError):
        read_samples(tmp_path)


def test_question_files_of_bfcl(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such folder"):
        read_questions(tmp_path / "absent")
    answers = tmp_path / "possible_answer"
    answers.mkdir()
    name = "BFCL_v4_simple_python.json"
    question = {"id": "simple_python_0", "function": []}
    (tmp_path / "BFCL_v4_anything_else.json").write_text(json.dumps(question))
    with pytest.raises(UserError, match="holds no BFCL question files"):
        read_questions(tmp_path)
    for asked, answered in (
        ({"nope": 1}, {"nope": 1}),
        (question, {"id": "simple_python_0"}),
        ([], question),
    ):
        (tmp_path / name).write_text(json.dumps(asked) + "\n")
        (answers / name).write_text(json.dumps(answered) + "\n")
        with pytest.raises(UserError):
            read_questions(tmp_path)
    (tmp_path / name).write_text(json.dumps(question) + "\n")
    (answers / name).write_text(json.dumps({"id": "simple_python_0", "ground_truth": []}) + "\n")
    assert list(read_questions(tmp_path)) == ["simple_python"]
