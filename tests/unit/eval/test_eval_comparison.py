"""Comparing evaluations: names, differences, published rows, exports that escape."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from planarena.errors import RunError, UserError
from planarena.eval import EvalConfig, compare, evaluate, open_evaluation


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
        "published: paper 000, table 2",
        "published: paper 001, table 3",
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
