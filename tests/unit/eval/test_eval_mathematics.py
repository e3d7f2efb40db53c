"""Boxed answers: extraction, agreement, avg@k."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from planarena.errors import UserError
from planarena.eval import EvalConfig, evaluate
from planarena.eval.mathematics import answers_agree, last_boxed
from planarena.eval.mmlu_pro import extract_boxed

Growth = Callable[[Callable[[float], object]], float]


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        (r"so \boxed{42}", "42"),
        (r"\boxed{1} then \boxed{2}", "2"),
        (r"\boxed{\frac{1}{2}}", r"\frac{1}{2}"),
        (r"\boxed{a \} b}", r"a \} b"),
        (r"\boxed{1} and \boxed{2", "1"),
        (r"\boxed{x \boxed{y} z}", "y"),
        (r"\fbox {7}", "7"),
        (r"{ \boxed{3} } }", "3"),
        ("boxed{1}", None),
        ("", None),
    ],
)
def test_the_last_closed_box_is_found(text: str, inside: str | None) -> None:
    assert last_boxed(text) == inside


def test_boxes_are_found_in_linear_time(growth: Growth) -> None:
    def find(share: float) -> None:
        count = int(500_000 * share)
        assert last_boxed("\\boxed{" * (count // 2)) is None
        inside = "{" * count + "}" * count
        assert last_boxed(f"\\boxed{{{inside}}}") == inside

    assert growth(find) < 24  # linear time gives 8, quadratic time 64


@pytest.mark.parametrize(
    ("given", "gold", "same"),
    [
        ("42", "42", True), ("042", "42", True), ("1,234", "1234", True), ("0.5", "1/2", True), (r"\frac{1}{2}", "0.5", True),
        (r"\text{42}", "42", True), ("$42$", "42", True), ("42.", "42", True), (r"50\%", "50", True), ("-3", "- 3", True),
        (r"90^\circ", "90", True), (r"\left(1, 2\right)", "(1,2)", True), ("42", "43", False), ("", "", False), ("x", "y", False),
        ("1/0", "1", False), ("9" * 500, "9" * 500, True), ("1e5", "100000", False),
    ],
)  # fmt: skip
def test_short_answers_agree(given: str, gold: str, same: bool) -> None:
    assert answers_agree(given, gold) is same


@pytest.mark.parametrize(
    ("text", "letter"),
    [(r"\boxed{0}", "A"), (r"\boxed{(3)}", "D"), (r"\boxed{\text{2}}", "C"), (r"\boxed{9}", None), (r"\boxed{B}", None),
     (r"\boxed{-1}", None), (r"\boxed{²}", None), ("2", None)],
)  # fmt: skip
def test_boxed_options_count_from_zero(text: str, letter: str | None) -> None:
    assert extract_boxed(text, 5) == letter


def test_avg_at_k_is_the_mean_over_samples_and_items(tmp_path: Path) -> None:
    problems = tmp_path / "aime.jsonl"
    problems.write_text("\n".join(json.dumps({"id": f"p{n}", "answer": n}) for n in range(4)))
    right = {0: 4, 1: 2, 2: 0, 3: 1}  # of four samples
    rows = [
        {"id": f"p{n}", "response": f"\\boxed{{{n if sample < right[n] else 99}}}", "tokens": 10 * (n + 1)}
        for n in range(4)
        for sample in range(4)
    ]
    outputs = tmp_path / "outputs.jsonl"
    outputs.write_text("\n".join(json.dumps(row) for row in rows))
    config = EvalConfig(
        suites=("math",),
        out=str(tmp_path / "out"),
        responses=str(outputs),
        data={"math": str(problems)},
        samples=4,
    )
    result = evaluate(config).suites["math"]
    assert result.headline == "avg@4"
    assert result.overall[0].value == (4 + 2 + 0 + 1) / 16
    assert (result.categories[0].category, result.categories[0].items) == ("aime", 4)
    assert result.tokens == 25.0
    assert result.tokens_from == "the outputs' file"
    gold = evaluate(
        EvalConfig(suites=("math",), out=str(tmp_path / "g"), responses="gold", data={"math": str(problems)})
    )
    assert gold.suites["math"].overall[0].value == 1.0


def test_problems_without_an_answer_are_named(tmp_path: Path) -> None:
    problems = tmp_path / "p.jsonl"
    problems.write_text('{"id": "a", "answer": "1"}\n{"id": "b"}\n')
    config = EvalConfig(
        suites=("math",), out=str(tmp_path / "o"), responses="gold", data={"math": str(problems)}
    )
    with pytest.raises(UserError, match="without an answer") as caught:
        evaluate(config)
    assert "row 2" in caught.value.where
