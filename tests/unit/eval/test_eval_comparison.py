"""Comparing evaluations: names, differences, published rows, exports that escape."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from planarena.errors import RunError, UserError
from planarena.eval import EvalConfig, Evaluation, compare, evaluate, open_evaluation
from planarena.eval.bfcl.formulas import columns, overall, weights
from planarena.eval.results import SuiteResult, Verdict
from planarena.eval.tables import build_rows


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    """Two evaluations of ten problems: nine right, then six right of which one was wrong before."""
    problems = tmp_path / "p.jsonl"
    problems.write_text("\n".join(json.dumps({"id": f"p{n}", "answer": n}) for n in range(10)))
    made = []
    for name, right in (("first", set(range(9))), ("second|<b>", {0, 1, 2, 3, 4, 9})):
        rows = [{"id": f"p{n}", "response": f"\\boxed{{{n if n in right else -1}}}"} for n in range(10)]
        outputs = tmp_path / "outputs.jsonl"
        outputs.write_text("\n".join(json.dumps(row) for row in rows))
        evaluate(
            EvalConfig(
                suites=("math",),
                out=str(tmp_path / name),
                responses=str(outputs),
                data={"math": str(problems)},
                base="first" if made else None,
            )
        )
        made.append(tmp_path / name)
    return made


def test_the_difference_is_item_by_item_from_the_first(runs: list[Path]) -> None:
    (table,) = compare(runs).tables
    first, second = table.rows
    assert (first.values["Overall"], second.values["Overall"]) == (0.9, 0.6)
    assert first.difference is None
    assert second.difference is not None
    assert second.difference["difference"] == pytest.approx(-0.3)
    assert (second.difference["gained"], second.difference["lost"]) == (1, 4)
    base = open_evaluation(runs[1]).suites["math"].base
    assert base is not None
    assert base["name"] == "first"
    assert base["overall"]["avg@1"] == pytest.approx(-0.3)
    assert base["items"] == second.difference


def test_exports_escape_what_they_show(runs: list[Path]) -> None:
    comparison = compare(runs)
    markdown = comparison.markdown()
    rows = [line for line in markdown.splitlines() if line.startswith("| ")]
    # An unescaped bar would add a column.
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in rows}) == 1
    assert "second\\|&lt;b&gt;" in markdown
    page = comparison.html()
    assert "<b>" not in page
    assert "second|&lt;b&gt;" in page
    assert "http" not in page.replace("http-equiv", "")


def test_published_rows_are_marked(tmp_path: Path) -> None:
    data = tmp_path / "api"
    data.mkdir()
    (data / "level-1-x.json").write_text(json.dumps([{"answer": {"name": "F", "parameters": {}}}]))
    evaluate(
        EvalConfig(
            suites=("api-bank",), out=str(tmp_path / "ours"), responses="gold", data={"api-bank": str(data)}
        )
    )
    (table,) = compare([tmp_path / "ours"]).tables
    assert table.rows[0].source == ""
    published = table.rows[1:]
    assert len(published) == 12 + 21
    assert {row.source for row in published} == {
        "published: DUPO, table 2",
        "published: AWPO, table 3",
    }
    planner = next(row for row in published if row.name == "Qwen2.5-14B (AC-Planner)")
    assert planner.values == {"Overall": 0.6801, "level-1": 0.7419, "level-2": 0.6269, "level-3": 0.5191}
    assert compare([tmp_path / "ours"], published=False).tables[0].rows == table.rows[:1]
    strict = compare([tmp_path / "ours"], formula="strict").tables[0]
    assert len(strict.rows) == 1  # the papers' rows are of the soft match
    with pytest.raises(UserError, match="no overall value"):
        compare([tmp_path / "ours"], formula="v3")


def test_what_is_no_evaluation_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="not an evaluation"):
        compare([tmp_path])
    with pytest.raises(UserError, match="nothing to compare"):
        compare([])
    (tmp_path / "run.json").write_text("{}")
    (tmp_path / "scores.json").write_text('{"format_version": 99}')
    with pytest.raises(RunError, match="format version 99"):
        open_evaluation(tmp_path)
    (tmp_path / "scores.json").write_text('{"format_version": 1, "suites": {"x": 1}}')
    with pytest.raises(RunError, match="damaged"):
        open_evaluation(tmp_path)


def _problems(tmp_path: Path, name: str, right: set[int], samples: int = 1, count: int = 40) -> Path:
    problems = tmp_path / "q.jsonl"
    problems.write_text("\n".join(json.dumps({"id": f"p{n}", "answer": n}) for n in range(count)))
    rows = [
        {"id": f"p{n}", "sample": k, "response": f"\\boxed{{{n if n in right else -1}}}"}
        for n in range(count)
        for k in range(samples)
    ]
    outputs = tmp_path / f"{name}.jsonl"
    outputs.write_text("\n".join(map(json.dumps, rows)))
    config = EvalConfig(
        suites=("math",),
        out=str(tmp_path / name),
        responses=str(outputs),
        data={"math": str(problems)},
        samples=samples,
    )
    evaluate(config)
    return tmp_path / name


def test_other_numbers_of_samples_keep_their_overall_value(tmp_path: Path) -> None:
    one = _problems(tmp_path, "one", set(range(20)))
    four = _problems(tmp_path, "four", set(range(30)), samples=4)
    (table,) = compare([one, four]).tables
    assert [row.values["Overall"] for row in table.rows] == [0.5, 0.75]
    assert table.rows[1].note == "by avg@4"
    several = open_evaluation(four).suites["math"].several
    assert {"avg@1", "pass@1", "pass^1", "pass@4", "pass^4", "avg@4", "pass^3"} <= set(several)
    assert several["pass^4"].value == 0.75


def test_a_weighted_overall_moves_by_its_own_formula() -> None:
    """Two of ten live items gained and one of two hundred lost: the items say +1, the formula says more."""
    tables = []
    for gained in (0, 2):
        verdicts = [Verdict(f"l{n}", "live_parallel", n < gained) for n in range(10)]
        verdicts += [Verdict(f"m{n}", "multi_turn_base", n >= bool(gained)) for n in range(200)]
        rows = build_rows(verdicts, {"live_parallel": 10, "multi_turn_base": 200}, {})
        by_name = {row.category: row for row in rows}
        tables.append(
            SuiteResult(
                "bfcl-v3", "r", "v3", [overall("v3", by_name)], rows, verdicts, columns=columns(by_name)
            )
        )
    run = {"config": {"responses": "x", "model": None}, "planarena": "0", "started": ""}
    made = [Evaluation(Path(f"/e{n}"), {"bfcl-v3": result}, run) for n, result in enumerate(tables)]
    (table,) = compare(made, published=False).tables
    row = table.rows[1]
    assert row.points is not None
    assert row.difference is not None
    assert row.points[0] == pytest.approx(row.values["Overall"] - table.rows[0].values["Overall"])
    assert row.points[0] == pytest.approx(
        0.2 * weights("v3")["live_parallel"] - weights("v3")["multi_turn_base"] / 200
    )
    assert row.difference["difference"] == pytest.approx(1 / 210)
    assert row.points[0] != pytest.approx(row.difference["difference"])
    # No column holds all that was run, so the categories themselves stay in the table.
    assert {"live_parallel", "multi_turn_base"} <= set(table.columns)


def test_tests_are_corrected_for_the_suites_and_the_summary_can_be_pasted(tmp_path: Path) -> None:
    first, second = _problems(tmp_path, "a_1", set(range(15))), _problems(tmp_path, "b&2", set(range(30)))
    comparison = compare([first, second])
    (table,) = comparison.tables
    row = table.rows[1]
    assert row.p == pytest.approx(2 * 0.5**15)
    latex = comparison.latex()
    assert r"b\&2" in latex
    assert r"a\_1" in latex
    assert "(+37.50***)" in latex
    assert latex.count(r"\\") == 3
    assert re.search(r"\| b&amp;2 \| 75.00 ± \d+\.\d+ \(\+37.50\\\*\\\*\\\*\) \|", comparison.summary())
