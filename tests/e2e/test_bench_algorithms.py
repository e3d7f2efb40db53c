"""`planarena bench algorithms` in miniature: every file, the same scores after a resume, and clear refusals."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

SETTINGS = {
    "test": 6,
    "demonstrations": 24,
    "scarce_demonstrations": 12,
    "tasks": 6,
    "pool": 8,
    "pool_tries": 2,
    "start_steps": "{gold: 3, scarce: 3, repair: 3}",
    "fault_steps": 2,
    "ceiling_steps": 3,
    "batches": 3,
    "prompts": 2,
    "group": 2,
    "expert_rows": 2,
    "start_rows": 4,
    "compute_ratio": "{gold: 2, scarce: 2, repair: 2}",
    "tiny": "{hidden: 32, layers: 1, heads: 2, intermediate: 48}",
}


def command(out: Path | None, *options: str, jobs: int = 1, **changes: Any) -> list[str]:
    given = [f"--set={key}={value}" for key, value in (SETTINGS | changes).items()]
    where = ["--out", str(out)] if out else []
    code = "import sys; from planarena.cli import main; sys.exit(main(sys.argv[1:]))"
    return [sys.executable, "-c", code, "bench", "algorithms", "--jobs", str(jobs), *where, *options, *given]


def bench(out: Path | None, *options: str, **changes: Any) -> subprocess.CompletedProcess[str]:
    asked = command(out, *options, **changes)
    return subprocess.run(asked, capture_output=True, text=True, timeout=600, check=False)


def without_times(scores: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in scores.items() if key not in ("seconds", "cpu_seconds", "config")}
    for regime in kept["regimes"].values():
        for row in regime["rows"].values():
            row.pop("cpu_seconds")
    return kept


def test_a_study_goes_on_where_it_stopped_and_gives_the_same_scores(tmp_path: Path) -> None:
    out = tmp_path / "study"
    narrow = {"regimes": "[scarce]", "algorithms": "[grpo, chord-phi]", "seeds": 1}
    first = bench(out, **narrow)
    assert first.returncode == 0, first.stderr
    for words in ("scarce: success, greedy", "unseen", "ceiling", "What was expected", "report.html"):
        assert words in first.stdout
    before = json.loads((out / "scores.json").read_text())
    assert set(before["regimes"]) == {"scarce"}
    rows = before["regimes"]["scarce"]["rows"]
    assert list(rows) == ["start", "sft-steps", "sft-compute", "grpo", "chord-phi", "ceiling"]
    assert set(before["sets"]["overlap"].values()) == {0}
    assert before["sets"]["practised"]["pool"] == 8
    assert 1 <= before["sets"]["practised"]["practised"] <= 6
    assert {one["verdict"] for one in before["findings"]} <= {"seen", "not seen", "cannot be told"}
    page = (out / "report.html").read_text()
    assert "<svg" in page
    assert "http" not in page.replace("http://www.w3.org", "")

    # A unit that was killed before its result was written is done again, the others are not.
    kept = out / "units" / "scarce" / "chord-phi" / "0" / "result.json"
    written = kept.stat().st_mtime_ns
    (out / "units" / "scarce" / "grpo" / "0" / "result.json").unlink()
    second = bench(out, **narrow)
    assert second.returncode == 0, second.stderr
    assert "6 of 6: scarce/grpo/0" in second.stderr
    assert second.stderr.count(" of 6") == 1
    assert kept.stat().st_mtime_ns == written
    after = json.loads((out / "scores.json").read_text())
    assert without_times(after) == without_times(before)

    from planarena.errors import UserError
    from planarena.eval.algorithms.plan import StudyConfig
    from planarena.eval.algorithms.study import run_study

    with pytest.raises(UserError, match="another study"):
        run_study(StudyConfig(out=str(out)))


def test_the_study_of_conversations_in_miniature(tmp_path: Path) -> None:
    """Every unit trains and plays whole conversations; with so few steps nothing is learned, and the tables say so."""
    out = tmp_path / "study"
    small = {"start_steps": "{conversations: 3}", "compute_ratio": "{conversations: 2}", "seeds": 1}
    found = bench(out, "--preset", "conversations", **small)
    assert found.returncode == 0, found.stderr
    scores = json.loads((out / "scores.json").read_text())
    assert list(scores["regimes"]["conversations"]["rows"]) == [
        *("start", "sft-steps", "sft-compute", "grpo", "ceiling")
    ]
    assert set(scores["sets"]["overlap"].values()) == {0}
    assert scores["sets"]["sizes"]["faulty"] > 0
    assert {one["verdict"] for one in scores["findings"]} <= {"seen", "not seen", "cannot be told"}
    steps = (out / "units/conversations/grpo/0/training/metrics.jsonl").read_text().splitlines()[1:]
    assert len(steps) == 3
    assert all({"reward/goal", "reward/answered", "reward/turns"} <= set(json.loads(line)) for line in steps)
    assert "scripted user" in (out / "report.html").read_text()


@pytest.mark.slow
def test_a_killed_study_leaves_no_process_behind_and_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "study"
    narrow: dict[str, Any] = {"regimes": "[gold]", "algorithms": "[grpo]", "seeds": 1}
    process = subprocess.Popen(command(out, jobs=2, **narrow), stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 300
    while not (out / "units/gold/grpo/0/training").is_dir():
        assert process.poll() is None, "it ended before it was killed"
        assert time.monotonic() < deadline, "it got nowhere"
        time.sleep(0.01)
    workers = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.wait()
    _, left = psutil.wait_procs(workers, timeout=30)
    assert [one for one in left if one.status() != psutil.STATUS_ZOMBIE] == []
    assert len(workers) >= 2
    assert not (out / "scores.json").exists()

    resumed, whole = bench(out, **narrow), bench(tmp_path / "whole", **narrow)
    assert (resumed.returncode, whole.returncode) == (0, 0), resumed.stderr
    scores = [json.loads((root / "scores.json").read_text()) for root in (out, tmp_path / "whole")]
    assert without_times(scores[0]) == without_times(scores[1])


@pytest.mark.slow
def test_several_models_give_a_study_each_and_one_table(tmp_path: Path) -> None:
    out = tmp_path / "sizes"
    narrow: dict[str, Any] = {"regimes": "[gold]", "algorithms": "[grpo]", "seeds": 1}
    found = bench(out, "--model", "tiny", "--model", "tiny:32x2", **narrow)
    assert found.returncode == 0, found.stderr
    scores = {name: json.loads((out / name / "scores.json").read_text()) for name in ("tiny", "tiny-32x2")}
    assert {name: one["config"]["tiny"]["layers"] for name, one in scores.items()} == {
        "tiny": 1,
        "tiny-32x2": 2,
    }
    table = (out / "models.md").read_text()
    assert "| Method | tiny | tiny-32x2 | Mean |" in table
    [line] = [one for one in table.splitlines() if one.startswith("| grpo |")]
    values = [
        100 * one["regimes"]["gold"]["rows"]["grpo"]["greedy"]["all"]["value"] for one in scores.values()
    ]
    assert [float(cell.split()[0]) for cell in line.strip("| ").split(" | ")[1:]] == [
        pytest.approx(value, abs=0.05) for value in (*values, sum(values) / 2)
    ]
    assert "gold: success, greedy, by model" in found.stdout


@pytest.mark.full
def test_an_ablation_reports_on_the_papers_sign(tmp_path: Path) -> None:
    found = bench(tmp_path / "table4", "--ablation", "dupo-table-4", "--jobs", "2", seeds=1)
    assert found.returncode == 0, found.stderr
    scores = json.loads((tmp_path / "table4" / "scores.json").read_text())
    signs = scores["ablation"]["signs"]
    assert {(one["better"], one["worse"]) for one in signs} == {("With", "Without")}
    assert {one["verdict"] for one in signs} <= {"seen", "not seen: the opposite", "cannot be told"}
    assert "The paper's sign" in found.stdout


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--model", "tiny:30x2", "--out", "x"], "a multiple of 32"),
        (["--model", "tiny:big", "--out", "x"], "tiny:HIDDENxLAYERS"),
        (["--model", "tiny", "--model", "tiny", "--out", "x"], "twice"),
        (["--preset", "huge"], "there is no preset"),
        (["--ablation", "dupo-table-9", "--out", "x"], "there is no ablation"),
        (["--ablation", "chord-table-6", "--out", "x"], "demonstrations of two generators"),
        ([], "no folder for the study"),
        (["--set", "batchs=3", "--out", "x"], "did you mean batches"),
    ],
)
def test_what_cannot_be_is_refused(options: list[str], words: str) -> None:
    from typer.testing import CliRunner

    from planarena.cli import app
    from planarena.errors import PlanArenaError

    found = CliRunner().invoke(app, ["bench", "algorithms", *options])
    assert found.exit_code != 0
    assert isinstance(found.exception, PlanArenaError)
    assert words in str(found.exception)


def test_a_dry_run_says_what_would_be_done_and_writes_nothing(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from planarena.cli import app

    found = CliRunner().invoke(
        app, ["bench", "algorithms", "--out", str(tmp_path / "none"), "--dry-run", "--json"]
    )
    assert found.exit_code == 0, found.output
    plan = json.loads(found.stdout)
    assert plan["counts"] == {"start": 4, "ceiling": 1, "train": 72}
    # Two cores, an hour. The estimate is that of the run that was measured: 104 minutes of CPU time, 54 by the clock.
    assert 90 < plan["cpu_minutes"] < 120
    assert not (tmp_path / "none").exists()
