"""BFCL against published runs: counts, failing ids and reasons as published; ground truth; printed columns."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from planarena import managed
from planarena.environments import sandbox
from planarena.errors import EnvironmentUnavailableError
from planarena.eval import EvalConfig, evaluate
from planarena.eval.results import SuiteResult

V4_RUNS = (
    "v0.10.2__openai_gpt-oss-120b",
    "2025-11-12-main__openai_gpt-oss-120b",
    "2025-11-12-main__openai_gpt-oss-20b",
)
V1_MODELS = (
    "gpt-3.5-turbo-0125-FC",
    "claude-3-5-sonnet-20240620",
    "meta-llama_Meta-Llama-3-8B-Instruct",
    "mistral-large-2407-FC-Auto",
)


@pytest.fixture(scope="module")
def published(shared: Path) -> Path:
    folder = shared / "oracles" / "bench" / "bfcl"
    if not folder.is_dir():
        pytest.skip("no published BFCL outputs beside this checkout")
    return folder


@pytest.fixture(scope="module", autouse=True)
def worker_can_run() -> None:
    if (why := sandbox.missing()) is not None:
        pytest.skip(f"no sandbox here: {why}")
    try:
        managed.environment("bfcl")
    except EnvironmentUnavailableError as error:
        pytest.skip(f"bfcl-eval cannot be installed here: {error.what}")


def failing(result: SuiteResult, category: str) -> dict[str, str]:
    return {
        item.id: item.reason for item in result.verdicts if item.category == category and not item.correct
    }


@pytest.mark.parametrize("run", V4_RUNS)
def test_a_published_v4_run_is_reproduced_item_by_item(published: Path, tmp_path: Path, run: str) -> None:
    folder = published / "v4_bbrowning"
    expected: dict[str, Any] = json.loads(gzip.decompress((folder / "expected.json.gz").read_bytes()))[run]
    config = EvalConfig(suites=("bfcl-v4",), out=str(tmp_path), responses=str(folder / f"{run}.jsonl.gz"))
    result = evaluate(config).suites["bfcl-v4"]
    rows = {row.category: row for row in result.categories}
    assert result.sandbox == "bubblewrap"
    assert len(expected) == 16
    for category, wanted in expected.items():
        row = rows[category]
        assert (row.items, row.correct) == (wanted["total_count"], wanted["correct_count"]), category
        assert failing(result, category) == wanted["failing"], category
    for category in set(rows) - set(expected):
        assert rows[category].accuracy is None
        assert rows[category].not_run
    _check_printed_columns(folder, run, result)


def _check_printed_columns(folder: Path, run: str, result: SuiteResult) -> None:
    prefix, model = run.split("__")
    name = f"{model.replace('_', '/')} (FC) (vLLM)"
    printed = next(
        row
        for row in csv.DictReader((folder / f"{prefix}__data_overall.csv").read_text().splitlines())
        if row["Model"] == name
    )

    def shown(column: str) -> float:
        return float(printed[column].rstrip("%"))

    # Printed with two decimals, hence half a unit of the second.
    half = pytest.approx
    columns = {key: 100 * value for key, value in result.columns.items()}
    assert columns["Non-Live (AST)"] == half(shown("Non-Live AST Acc"), abs=0.005001)
    assert columns["Live (AST)"] == half(shown("Live Acc"), abs=0.005001)
    assert columns["Relevance"] == half(shown("Relevance Detection"), abs=0.005001)
    assert columns["Irrelevance"] == half(shown("Irrelevance Detection"), abs=0.005001)
    # The run had long contexts too, whose outputs were not published: 0.3 of a quarter of its printed share.
    overall = next(value for value in result.overall if value.name == "v4")
    assert overall.value is not None
    assert "multi_turn_long_context" in overall.not_run
    whole = 100 * overall.value + 0.3 / 4 * shown("Multi Turn Long Context")
    assert whole == half(shown("Overall Acc"), abs=0.005001)


@pytest.mark.parametrize("model", V1_MODELS)
def test_a_published_v1_run_is_reproduced_on_its_own_questions(
    published: Path, tmp_path: Path, model: str
) -> None:
    folder = published / "v1_2024-08-11"
    expected = json.loads((folder / "expected.json").read_text())[model]
    config = EvalConfig(
        suites=("bfcl-v3",),
        out=str(tmp_path),
        responses=str(folder / f"{model}.jsonl.gz"),
        data={"bfcl-v3": str(folder / "data")},
    )
    result = evaluate(config).suites["bfcl-v3"]
    names = {"simple": "simple_python", "java": "simple_java", "javascript": "simple_javascript"}
    for old, wanted in expected.items():
        category = names.get(old, old.removesuffix("_function"))
        listed = [item for item in result.verdicts if item.category == category]
        wrong = [position for position, item in enumerate(listed, 1) if not item.correct]
        assert len(listed) == wanted["total_count"]
        assert wrong == wanted["failing_1based"], category


def test_the_ground_truth_scores_one(tmp_path: Path) -> None:
    result = evaluate(EvalConfig(suites=("bfcl-v4",), out=str(tmp_path), responses="gold")).suites["bfcl-v4"]
    rows = {row.category: row for row in result.categories}
    for category in (
        "multi_turn_base",
        "multi_turn_miss_func",
        "multi_turn_miss_param",
        "multi_turn_long_context",
    ):
        assert (rows[category].correct, rows[category].items) == (200, 200)
    # No output can satisfy these seven: their answer keys contradict their own functions (a required parameter
    # that the key leaves out, an element of a Java list that bfcl-eval reads as text, a text where a list of
    # texts is meant).
    wrong = {item.id for item in result.verdicts if not item.correct}
    formatted = {key for key in wrong if key.startswith("format_sensitivity")}
    # bfcl-eval cuts a JSON answer at the first bracket that looks like its end, and this one's lists hold two.
    assert len(formatted) == 6
    assert all("ret_fmt=json" in key and key.endswith(":simple_python_96") for key in formatted)
    assert wrong - formatted == {
        "simple_java_36",
        "simple_java_64",
        "simple_java_65",
        "live_simple_106-63-0",
        "live_simple_112-68-0",
        "live_multiple_862-181-3",
        "live_multiple_964-207-0",
    }
    assert {row.category: row.items for row in result.categories} == _counts()


def _counts() -> dict[str, int]:
    from planarena.eval.bfcl.categories import COUNTS

    return COUNTS


def test_workers_chunks_and_repeats_do_not_change_a_byte(published: Path, tmp_path: Path) -> None:
    """State of one item must not reach another: one worker, three workers, and the same outputs once more."""
    source = str(published / "v4_bbrowning" / f"{V4_RUNS[0]}.jsonl.gz")
    written = []
    for number, workers in enumerate((1, 3, 3)):
        out = tmp_path / str(number)
        evaluate(EvalConfig(suites=("bfcl-v3",), out=str(out), responses=source, workers=workers))
        written.append((out / "scores.json").read_bytes())
    assert written[0] == written[1] == written[2]
    # Our own responses.jsonl is read back to the same scores.
    again = tmp_path / "again"
    evaluate(
        EvalConfig(suites=("bfcl-v3",), out=str(again), responses=str(tmp_path / "0" / "responses.jsonl"))
    )
    assert (again / "scores.json").read_bytes() == written[0]
