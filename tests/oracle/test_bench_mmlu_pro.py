"""MMLU-Pro extraction against the stored predictions of 12,032 outputs, and against the patterns it restates."""

from __future__ import annotations

import json
import random
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from planarena.eval import EvalConfig, evaluate
from planarena.eval.mmlu_pro import extract_first, extract_letter

Growth = Callable[[Callable[[float], object]], float]


@pytest.fixture(scope="module")
def archive(shared: Path) -> Path:
    path = shared / "oracles" / "bench" / "mmlu_pro" / "model_outputs_jamba-1.5-large_5shots.zip"
    if not path.is_file():
        pytest.skip("no MMLU-Pro outputs beside this checkout")
    return path


@pytest.fixture(scope="module")
def rows(archive: Path) -> list[dict[str, Any]]:
    with zipfile.ZipFile(archive) as opened:
        return json.loads(opened.read(opened.namelist()[0]))


def test_every_stored_prediction_is_extracted(rows: list[dict[str, Any]]) -> None:
    assert len(rows) == 12_032
    assert [extract_letter(row["model_outputs"]) for row in rows] == [row["pred"] for row in rows]
    assert sum(row["pred"] is None for row in rows) == 56


def test_the_score_is_that_of_the_stored_predictions(
    archive: Path, rows: list[dict[str, Any]], tmp_path: Path
) -> None:
    right = sum(row["pred"] == row["answer"] for row in rows)
    config = EvalConfig(suites=("mmlu-pro",), out=str(tmp_path), responses=str(archive), guess=False)
    result = evaluate(config).suites["mmlu-pro"]
    assert result.overall[0].value == right / 12_032
    assert len(result.categories) == 14
    assert sum(row.correct for row in result.categories) == right
    assert result.reasons["nothing extracted"] == 56
    # The harness's variant takes the first pattern alone.
    first = sum(extract_first(row["model_outputs"]) == row["answer"] for row in rows)
    config = EvalConfig(
        suites=("mmlu-pro",), out=str(tmp_path / "h"), responses=str(archive), extraction="lm-eval"
    )
    harness = evaluate(config).suites["mmlu-pro"]
    assert harness.overall[0].value == first / 12_032
    assert first < right


def test_guesses_are_seeded_and_independent_of_order(archive: Path, tmp_path: Path) -> None:
    scores = []
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        config = EvalConfig(suites=("mmlu-pro",), out=str(tmp_path / name), responses=str(archive), seed=seed)
        result = evaluate(config).suites["mmlu-pro"]
        assert sum(item.guessed for item in result.verdicts) == 56
        scores.append([item.correct for item in result.verdicts])
    assert scores[0] == scores[1] != scores[2]


def _by_patterns(text: str) -> str | None:
    """MMLU-Pro's three patterns as published."""
    for pattern, flags in (
        (r"answer is \(?([A-J])\)?", 0),
        (r".*[aA]nswer:\s*([A-J])", 0),
        (r"\b([A-J])\b(?!.*\b[A-J]\b)", re.DOTALL),
    ):
        if match := re.search(pattern, text, flags):
            return match.group(1)
    return None


def test_extraction_equals_the_published_patterns_on_awkward_texts() -> None:
    draw = random.Random(7)
    pieces = [
        "answer",
        "Answer:",
        "answer:",
        "nswer: ",
        " is ",
        "(",
        ")",
        "A",
        "B",
        "J",
        "K",
        "x",
        "\n",
        " ",
        "\t",
        ".",
        "é",
    ]
    for _ in range(20_000):
        text = "".join(draw.choices(pieces, k=draw.randrange(1, 25)))
        assert extract_letter(text) == _by_patterns(text), repr(text)


@pytest.mark.parametrize(
    "text",
    [
        "answer:" * 100_000,
        "Answer: \n" * 100_000,
        "A " * 400_000,
        "answer:" + " " * 1_000_000,
        "x" * 2_000_000,
    ],
)
def test_extraction_takes_linear_time(text: str, growth: Growth) -> None:
    # Linear time gives 8, quadratic time 64; the published patterns take hours on these.
    assert growth(lambda share: extract_letter(text[: int(len(text) * share)])) < 24
