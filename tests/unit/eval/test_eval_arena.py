"""The suite of the PlanArena bench: what a policy played scores the same when its replies are given."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from planarena.bench import RandomTool
from planarena.cli import main
from planarena.eval import EvalConfig, evaluate
from planarena.eval.arena import generate


def test_generated_replies_score_as_they_were_played(tmp_path: Path) -> None:
    config = EvalConfig(suites=("planarena",), out=str(tmp_path / "out"), responses="gold", limit=4)
    responses = generate(RandomTool(), config)
    lines = [json.dumps({"id": key, "response": listed[0].value}) for key, listed in responses.by_id.items()]
    (tmp_path / "replies.jsonl").write_text("\n".join(lines[1:]))
    config = msgspec.structs.replace(config, responses=str(tmp_path / "replies.jsonl"))
    result = evaluate(config).suites["planarena"]
    assert len(result.verdicts) == len(lines)
    assert sum(verdict.reason == "no response" for verdict in result.verdicts) == 1
    assert {row.category for row in result.categories} >= {
        "1 action",
        "7 actions",
        "no call: trap",
        "shape: serial",
    }
    assert result.measures["calls"][0] > 1
    page = (tmp_path / "out" / "report.html").read_text()
    assert "steps done" in page


def test_the_command_prints_measures_and_never_a_name_into_its_number(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main(["eval", "planarena", "--responses", "gold", "--limit", "1", "--out", str(tmp_path / "out")])
        == 0
    )
    lines = capsys.readouterr().out.splitlines()
    (row,) = [line for line in lines if "parameter missing" in line]
    assert row.split() == ["no", "call:", "parameter", "missing", "100.00", "%", "1", "of", "1"]
    (steps,) = [line for line in lines if line.startswith("   steps done ")]
    assert steps.split()[2] == "1.000"
