"""`planarena report`: one build anew, builds side by side, evaluations, training runs, mixtures, hostile text."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from planarena import BuildConfig, Run, build
from planarena.cli import main
from planarena.config import CompositionConfig, ExecutionConfig
from planarena.report import compare_builds


@pytest.fixture(scope="module")
def other_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return build(
        BuildConfig(
            out=str(tmp_path_factory.mktemp("other") / "other"),
            trajectories=24,
            sources=("builtin:email", "builtin:travel"),
            composition=CompositionConfig(max_actions=3, length_mix=(0.3, 0.4, 0.3)),
            chunk_scenarios=2,
            execution=ExecutionConfig(workers=1),
        )
    )


def _json(capsys: pytest.CaptureFixture[str], *words: str | Path) -> Any:
    assert main(["report", *map(str, words), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def _error(capsys: pytest.CaptureFixture[str], *words: str | Path) -> str:
    assert main(["report", *map(str, words)]) == 2
    read = capsys.readouterr()
    assert read.out == ""
    return read.err


def test_the_report_of_a_build_is_written_again(
    built_run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = built_run.path / "report.html"
    before = page.read_bytes()
    page.unlink()
    assert main(["report", str(built_run.path)]) == 0
    assert page.read_bytes() == before
    assert capsys.readouterr().out == f"report: {page}\n"
    elsewhere = tmp_path / "new" / "page.html"
    tables = tmp_path / "counts.md"
    assert main(["report", str(built_run.path), "--out", str(elsewhere), "--markdown", str(tables)]) == 0
    assert elsewhere.read_bytes() == before
    assert "| gold trajectories | 60 |" in tables.read_text()


def test_it_opens_in_the_browser_when_asked(built_run: Run, tmp_path: Path) -> None:
    opened = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {opened}\n')
    browser.chmod(0o755)
    command = [sys.executable, "-m", "planarena", "report", str(built_run.path), "--open"]
    subprocess.run(command, check=True, env={**os.environ, "BROWSER": f"{browser} %s"}, capture_output=True)
    assert opened.read_text() == (built_run.path / "report.html").as_uri()


def test_builds_side_by_side(
    built_run: Run, other_run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = _json(capsys, built_run.path, other_run.path)
    assert told["kind"] == "build"
    assert told["html"] is None
    assert told["runs"] == ["run", "other"]
    tables = told["tables"]
    first, second = built_run.info["counts"], other_run.info["counts"]
    assert tables["Counts"]["gold trajectories"] == [60, 24]
    assert tables["Counts"]["steps of gold trajectories"] == [first["steps"], second["steps"]]
    assert tables["By execution kind"]["distinct executions, real"] == [
        first["executions"]["real"],
        second["executions"]["real"],
    ]
    assert tables["Shares of gold trajectories"]["with a parallel group"] == pytest.approx(
        [100 * one["gold_parallel"] / one["gold"] for one in (first, second)]
    )
    for title, name in (
        ("Domains of gold trajectories", "gold_domain"),
        ("Actions of gold trajectories", "gold_length"),
        ("Faults of contrastive trajectories", "contrastive_mutation"),
        ("Outcomes of choices", "candidates"),
    ):
        for at, counts in enumerate((first, second)):
            total = sum(counts[name].values())
            shares = {key: values[at] for key, values in tables[title].items()}
            assert shares == pytest.approx({key: 100 * counts[name].get(key, 0) / total for key in shares})
            assert sum(shares.values()) == pytest.approx(100)
    assert list(tables["Actions of gold trajectories"]) == sorted(first["gold_length"], key=int)
    settings = tables["Settings that differ"]
    assert settings["config.composition.max_actions"] == ["7", "3"]
    seeds = [run.info["config"]["seed"] for run in (built_run, other_run)]
    assert ("config.seed" in settings) == (seeds[0] != seeds[1])
    for table, column in (("trajectories", "trajectory_id"), ("scenarios", "scenario_id")):
        ids = [set(run.table(table).collect()[column].to_list()) for run in (built_run, other_run)]
        shared = tables["In common"][f"{table} that run has too"]
        assert shared == [len(ids[0]), len(ids[0] & ids[1])]

    page, text = tmp_path / "page.html", tmp_path / "tables.md"
    words = ["report", str(built_run.path), str(other_run.path), "--out", str(page), "--markdown", str(text)]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert f"report: {page}\nmarkdown: {text}\n" in out
    (line,) = [line for line in out.splitlines() if line.startswith("gold trajectories  ")]
    assert line.split()[-3:] == ["60", "24", "-36"]
    assert "| gold trajectories | 60 | 24 | -36 |" in text.read_text()
    html = page.read_text()
    assert (
        '<td>gold trajectories</td><td class="n">60</td><td class="n">24</td><td class="n">-36</td>' in html
    )
    assert "<script" not in html
    assert "script-src" not in html
    assert "default-src 'none'" in html


def test_the_distance_of_a_mix_is_the_total_variation(built_run: Run, other_run: Run) -> None:
    found = compare_builds([built_run, other_run])
    (lengths,) = [table for table in found.tables if table.title == "Actions of gold trajectories"]
    first, second = built_run.info["counts"]["gold_length"], other_run.info["counts"]["gold_length"]
    moved = sum(max(0.0, second.get(key, 0) / 24 - first.get(key, 0) / 60) for key in {*first, *second})
    assert lengths.notes[0] == "of 60 in run, 24 in other"
    assert lengths.notes[1].startswith(f"{100 * moved:.1f} % of other")
    same = compare_builds([built_run, built_run, other_run])
    assert "Settings that differ" in [table.title for table in same.tables]
    (mix,) = [table for table in same.tables if table.title == lengths.title]
    assert mix.notes[1].startswith("0.0 %")
    # Folders of the same name are told apart by their paths.
    assert compare_builds([built_run, built_run]).names == (str(built_run.path),) * 2


def test_hostile_text_stays_text(
    built_run: Run, hostile_run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, text = tmp_path / "page.html", tmp_path / "tables.md"
    folders = [str(built_run.path), str(hostile_run.path)]
    assert main(["report", *folders, "--out", str(page), "--markdown", str(text)]) == 0
    out = capsys.readouterr().out
    for shown in (out, page.read_text(), text.read_text()):
        assert "alert(1)" in shown
        assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(shown)
    html, markdown = page.read_text(), text.read_text()
    assert "<script>alert" not in html
    assert "<img" not in html
    assert "<script>alert" not in markdown
    # A pipe in a name makes no further cell.
    for table in markdown.split("## ")[1:]:
        rows = [line for line in table.splitlines() if line.startswith("| ")]
        assert len({line.replace("\\|", "").count("|") for line in rows}) == 1


def _training(folder: Path, rewards: list[float]) -> Path:
    folder.mkdir(parents=True)
    lines = [
        json.dumps({"step": at + 1, "reward/mean": value, "note": "x"}) for at, value in enumerate(rewards)
    ]
    (folder / "metrics.jsonl").write_text("\n".join([*lines, '{"step": 99, "rew']))
    return folder


def test_training_runs_side_by_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = _training(tmp_path / "a", [0.0] * 10 + [0.5] * 8 + [0.25, 0.75])
    second = _training(tmp_path / "b", [1.0])
    told = _json(capsys, first, second)
    assert told["kind"] == "training"
    assert told["tables"] == {"Length": {"steps": [20, 1]}, "Metrics at the end": {"reward/mean": [0.5, 1.0]}}
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty/metrics.jsonl").write_text("")
    assert "holds no step" in _error(capsys, tmp_path / "empty")


@pytest.fixture(scope="module")
def evaluation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from planarena.eval import EvalConfig, evaluate

    root = tmp_path_factory.mktemp("evaluation")
    problems = [{"id": f"p{at}", "problem": "1 + 1", "answer": "2"} for at in range(4)]
    (root / "problems.jsonl").write_text("\n".join(map(json.dumps, problems)))
    outputs = [{"id": f"p{at}", "response": f"\\boxed{{{2 if at else 3}}}"} for at in range(4)]
    (root / "outputs.jsonl").write_text("\n".join(map(json.dumps, outputs)))
    evaluate(
        EvalConfig(
            suites=("math",),
            out=str(root / "scored"),
            responses=str(root / "outputs.jsonl"),
            data={"math": str(root / "problems.jsonl")},
        )
    )
    return root / "scored"


def test_evaluations_are_compared_by_their_own_tables(
    evaluation: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    assert main(["report", str(evaluation), str(evaluation), "--out", str(page)]) == 0
    assert "75.00" in capsys.readouterr().out
    assert "75.00" in page.read_text()
    assert _json(capsys, evaluation)["tables"][0]["suite"] == "math"


def test_what_cannot_be_compared_is_one_clear_error(
    built_run: Run, evaluation: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mixed = _error(capsys, built_run.path, evaluation)
    assert f"{built_run.path} is a build, {evaluation} is an evaluation" in mixed
    assert "compare builds with builds" in mixed
    assert "there is no such folder" in _error(capsys, tmp_path / "nowhere")
    assert "is not a planarena run" in _error(capsys, tmp_path)
    (tmp_path / "run.json").write_text('{"kind": "cake"}')
    assert "there is no report for a run of the kind 'cake'" in _error(capsys, tmp_path)
    (tmp_path / "run.json").write_text("{")
    assert "damaged" in _error(capsys, tmp_path)
    assert "is a folder" in _error(capsys, built_run.path, "--out", tmp_path)
    assert "there is no page to open" in _error(capsys, built_run.path, built_run.path, "--open")
