"""A part of a benchmark is never headed as the whole."""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))

from eval_samples import api_bank, mmlu_pro

from planarena.cli import main
from planarena.eval import EvalConfig, evaluate, open_evaluation


def test_one_level_of_api_bank_says_so_everywhere(tmp_path: Path, capsys) -> None:  # type: ignore[no-untyped-def]
    data = api_bank(tmp_path / "data")
    (data / "level-3-api.json").unlink()
    out = tmp_path / "out"
    arguments = ["eval", "api-bank", "--responses", "gold", "--data", f"api-bank={data}", "--out", str(out)]
    assert main([*arguments, "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)["suites"]["api-bank"]
    assert summary["part"] == "2 of 597 samples"
    assert set(summary["not_run"]) == {"level-2", "level-3"}
    result = open_evaluation(out).suites["api-bank"]
    assert result.overall[0].not_run == ("level-2", "level-3")
    assert "a part: 2 of 597 samples" in (out / "report.html").read_text()
    assert main(arguments) == 0
    assert "a part: 2 of 597 samples" in capsys.readouterr().out


def test_one_category_of_mmlu_pro_says_so(tmp_path: Path) -> None:
    data = mmlu_pro(tmp_path / "data", categories=("law",))
    config = EvalConfig(
        suites=("mmlu-pro",),
        out=str(tmp_path / "o"),
        responses="gold",
        data={"mmlu-pro": str(data / "test.jsonl")},
    )
    result = evaluate(config).suites["mmlu-pro"]
    assert result.part == "2 of 12032 questions"
    assert len(result.overall[0].not_run) == 13
    assert "physics" in result.overall[0].not_run


def test_outputs_of_some_categories_alone_are_a_part(tmp_path: Path) -> None:
    data = api_bank(tmp_path / "data")
    source = tmp_path / "r.jsonl"
    source.write_text('{"id": "level-1-0", "response": "x"}')
    config = EvalConfig(
        suites=("api-bank",), out=str(tmp_path / "o"), responses=str(source), data={"api-bank": str(data)}
    )
    result = evaluate(config).suites["api-bank"]
    assert result.overall[0].not_run == ("level-2", "level-3")


def test_a_limit_is_a_part(tmp_path: Path) -> None:
    config = EvalConfig(suites=("planarena",), out=str(tmp_path / "o"), responses="gold", limit=1)
    assert evaluate(config).suites["planarena"].part == "the first 1 of each category"
