"""`planarena train --judge-model`: a served model judges, its answers are kept, and a failing one never passes silently."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from llm_server import Script, ScriptedServer

from planarena import Run
from planarena.cli import main

SETTINGS = {
    "model.tiny.hidden": 16,
    "model.tiny.layers": 1,
    "model.tiny.heads": 2,
    "model.tiny.intermediate": 16,
    "model.tiny.vocabulary": 400,
    "model.tiny.warm_start": 2,
    "rollout.batch_size": 2,
    "rollout.group_size": 2,
    "rollout.max_prompt_length": 900,
    "rollout.max_response_length": 64,
    "update.updates_per_batch": 1,
    "validation.every": 0,
    "data.limit": 8,
    "data.answers": "false",
    "threads": 1,
}


def _train(run: Run, out: Path, judge: str, algorithm: str = "awpo") -> list[dict[str, Any]]:
    flags = [word for key, value in SETTINGS.items() for word in ("--set", f"{key}={value}")]
    words = ["train", "--algorithm", algorithm, "--data", str(run.path), "--out", str(out), "--steps", "2"]
    judged = ["--judge-model", judge] if judge else []
    assert main([*words, "--model", "tiny", *judged, *flags]) == 0
    return [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()][1:]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANARENA_CACHE", str(tmp_path / "cache"))


def test_a_served_model_judges_and_is_asked_once(
    built_run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Untrained outputs are broken, which caps their tier; the judge's 0 stays below any cap.
    with ScriptedServer(Script(reply=lambda body: json.dumps({"score": 0.0}))) as server:
        lines = _train(built_run, tmp_path / "a", f"j@{server.url}")
        asked = len(server.arrivals)
        assert asked >= 4
        assert [line["reward/reasoning"] for line in lines] == [0.0, 0.0]
        again = _train(built_run, tmp_path / "b", f"j@{server.url}")
        assert len(server.arrivals) == asked
    told = ("reward/mean", "reward/reasoning", "loss/total")
    assert [[line[key] for key in told] for line in again] == [[line[key] for key in told] for line in lines]
    info = json.loads((tmp_path / "a" / "run.json").read_text())
    assert info["scoring"] == {}
    assert [line["judge/offline"] for line in lines] == [0.0, 0.0]
    assert "judge cannot" not in capsys.readouterr().err
    assert info["config"]["judge_model"].startswith("j@")


def test_groups_of_a_judge_that_fails_are_scored_offline_counted_and_said(
    built_run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ScriptedServer(Script(faults={"wrong_json": 1.0}, most_faults=999)) as server:
        lines = _train(built_run, tmp_path / "a", f"j@{server.url}")
        assert server.arrivals
    said = capsys.readouterr()
    # At once on the terminal, in every line of the metrics (which reports compare), and at the end.
    assert said.err.count("the judge cannot score 2 of 2 groups of batch 1") == 1
    assert "wrong_json" in said.err
    assert [line["judge/offline"] for line in lines] == [1.0, 1.0]
    assert "4 groups rescored offline" in said.out
    offline = _train(built_run, tmp_path / "b", "")
    assert [line["reward/reasoning"] for line in lines] == [line["reward/reasoning"] for line in offline]
    info = json.loads((tmp_path / "a" / "run.json").read_text())
    # Two batches of two groups.
    assert info["scoring"] == {"groups rescored offline": 4}
