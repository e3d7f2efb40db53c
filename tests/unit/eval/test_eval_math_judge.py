"""Equivalent answers are the same, others are not, hostile ones end, and a judge that is missing is said."""

from __future__ import annotations

import importlib.util
import json
import time
from pathlib import Path

import pytest

from planarena.errors import UserError
from planarena.eval import EvalConfig, evaluate, math_judge
from planarena.eval.math_judge import MathJudge
from planarena.eval.mathematics import answers_agree

SAME = [
    (r"\frac{1}{2}", "0.5"), (r"\dfrac12", r"\frac{1}{2}"), ("x=3", "3"), (r"\sqrt{12}", r"2\sqrt{3}"),
    (r"2\pi", r"\pi\cdot 2"), ("1,000", "1000"), (r"50\%", r"50\%"), (r"\frac{\sqrt{2}}{2}", r"\frac{1}{\sqrt{2}}"),
    ("(1, 2)", "(1,2)"), (r"\{1,2\}", r"\{2,1\}"), (r"[0,1)", r"[0, 1)"), (r"x^2+2x+1", r"(x+1)^2"),
    (r"\text{5}", "5"), (r"5\text{ cm}", "5"), (r"90^\circ", "90"), (r"\$5", "5"), (r"3\times 10^2", "300"),
    (r"\frac{3}{4}", "0.75"), ("-0.5", r"-\frac{1}{2}"), (r"2^{10}", "1024"), (r"\sqrt[3]{8}", "2"),
    (r"\frac{10}{4}", r"\frac{5}{2}"), ("7.0", "7"), (r"\left(\frac{1}{2},3\right)", "(0.5,3)"),
    (r"1+\sqrt{5}", r"\sqrt{5}+1"), (r"\frac{-1}{3}", r"-\frac13"), (r"y=2x+1", r"2x+1"), (r"\log_2 8", "3"),
    (r"\binom{5}{2}", "10"), (r"5!", "120"), (r"e^{0}", "1"), (r"\sin(\pi/2)", "1"), (r"\frac{x}{y}", r"x/y"),
    (r"\begin{pmatrix}1\\2\end{pmatrix}", r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}"), (r"(-\infty, 2]", r"(-\infty,2]"),
    (r"\frac{\pi}{4}", r"\pi/4"), ("0.333333333", r"\frac{1}{3}"), (r"12\,345", "12345"),
]  # fmt: skip
OTHER = [
    ("1", "2"), (r"\frac{1}{2}", r"\frac{1}{3}"), (r"\sqrt{2}", "2"), ("(1,2)", "(2,1)"), ("x+1", "x-1"), ("", "0"),
    (r"[0,1)", r"[0,1]"), ("3.14", r"\pi"), ("50", r"\frac{1}{2}"), ("banana", "7"), (r"\{1,2\}", r"\{1,2,3\}"),
]  # fmt: skip


@pytest.fixture(scope="module")
def judge() -> MathJudge:
    if importlib.util.find_spec("math_verify") is None:
        pytest.skip("math-verify is not installed: pip install 'planarena[eval]'")
    return MathJudge("math-verify", answers_agree)


def test_equivalent_answers_are_the_same(judge: MathJudge) -> None:
    missed = [pair for pair in SAME if not judge.agree(*pair)]
    assert len(SAME) == 38
    assert missed == []


def test_other_answers_are_not(judge: MathJudge) -> None:
    assert [pair for pair in OTHER if judge.agree(*pair)] == []


def test_own_rules_miss_about_half_of_them_and_never_take_another(judge: MathJudge) -> None:
    rules = MathJudge("rules", answers_agree)
    assert not any(rules.agree(*pair) for pair in OTHER)
    assert sum(not rules.agree(*pair) for pair in SAME) > 10


def test_hostile_answers_end(judge: MathJudge) -> None:
    begun = time.monotonic()
    hostile = [
        "9^{9^{9^9}}", "9**9**9**9", "1000000!^{1000}", r"\sum_{n=1}^{10^{12}} n!", r"\int_0^1 " * 50,
        "(" * 900, r"\frac{" * 400, "x" * 1_000_000, r"__import__('os').system('touch /tmp/never')", "2^{99999999}",
    ]  # fmt: skip
    assert not any(judge.agree(text, "7") for text in hostile)
    assert judge.agree("x=3", "3")
    assert time.monotonic() - begun < 60
    judge.close()


def test_a_missing_judge_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(math_judge, "find_spec", lambda name: None)
    with pytest.raises(UserError, match="math-verify is not installed"):
        MathJudge("math-verify", answers_agree)
    problems = tmp_path / "p.jsonl"
    problems.write_text(json.dumps({"id": "a", "answer": "7"}))
    config = EvalConfig(
        suites=("math",), out=str(tmp_path / "o"), responses="gold", data={"math": str(problems)}
    )
    notes = evaluate(config).suites["math"].notes
    assert any(note.startswith("WARNING: math-verify is not installed") for note in notes)
