"""Every name of `planarena train --list` trains `--model tiny` from the command line, its phases included."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from planarena import Run
from planarena.cli import main
from planarena.trainers.algorithms import list_algorithms, names, preset_names
from planarena.trainers.config import TrainConfig, complete
from planarena.trainers.recipes import load_recipe

# A microscopic tiny model; everything else is what the command line takes by itself.
SMALL = {
    "model.tiny.hidden": 16,
    "model.tiny.layers": 1,
    "model.tiny.heads": 2,
    "model.tiny.intermediate": 16,
    "model.tiny.vocabulary": 400,
    "model.tiny.warm_start": 3,
    "rollout.batch_size": 2,
    "rollout.group_size": 2,
    "rollout.max_prompt_length": 900,
    "rollout.max_response_length": 100,
    "update.expert_batch_size": 2,
    "validation.rows": 2,
    "data.limit": 12,
    "threads": 1,
}
QUICK = ("dupo", "sft-grpo")


def _run_steps(name: str, run: Run, out: Path, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    flags = [word for key, value in SMALL.items() for word in ("--set", f"{key}={value}")]
    words = ["train", "--algorithm", name, "--data", str(run.path), "--model", "tiny", "--out", str(out)]
    assert main([*words, "--steps", "4", "--json", *flags]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["steps"] == 4
    assert told["skipped_steps"] == 0
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == [0, 1, 2, 3, 4]
    assert all(math.isfinite(line["loss/total"]) for line in lines[1:])
    for file in ("config.yaml", "run.json", "plot.png", "start/start.json"):
        assert (out / file).stat().st_size > 0
    assert (Path(told["checkpoint"]) / "model.safetensors").is_file()
    entry = next(entry for entry in list_algorithms() if entry["name"] == name)
    phases = {line["phase"] for line in lines[1:]}
    if "own_phases" in entry["needs"] and entry["preset_of"] == "sft-rl":
        # Four steps are less than any paper's supervised stage; both stages happen all the same.
        assert phases == {"sft", "rl"}
    return lines


@pytest.mark.parametrize("name", QUICK)
def test_tiny_trains_with(
    name: str, built_run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _run_steps(name, built_run, tmp_path / "run", capsys)


@pytest.mark.full
@pytest.mark.parametrize("name", sorted({*names(), *preset_names()} - set(QUICK)))
def test_tiny_trains_with_every_other(
    name: str, built_run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _run_steps(name, built_run, tmp_path / "run", capsys)


def test_the_list_prints_options_of_presets_too(capsys: pytest.CaptureFixture[str]) -> None:
    for entry in list_algorithms():
        assert main(["train", "--list", entry["name"]]) == 0
        first, *block = (line.strip() for line in capsys.readouterr().out.splitlines())
        assert first.startswith(f"{entry['name']}: ")
        assert block[0].startswith("needs: ")
        assert (f"reward: {entry['reward']}  format: {entry['format']}" in block) == bool(entry["reward"])
        for option in entry["options"]:
            assert any(line.startswith(f"{option['name']} = {option['default']} ") for line in block)


def test_a_first_phase_longer_than_the_run_takes_its_share() -> None:
    def options(name: str, steps: int, **given: Any) -> dict[str, Any]:
        return complete(TrainConfig(algorithm=name, steps=steps, options=given)).options

    # ToolUPT Table 7: 3,000 supervised steps of 3,600.
    assert options("sft-dapo-star", 100) == {"sft_steps": 83}
    # AWPO gives no length of the run: a half.
    assert options("sft-grpo", 100) == {"sft_steps": 50}
    # UFT: hints for 300 of 500 steps.
    assert options("uft", 50) == {"hint_steps": 30}
    # A phase that fits, and one that the caller chose, stay.
    assert options("sft-dapo-star", 3600) == {}
    assert options("sasr", 100) == {}
    assert options("sft-dapo-star", 100, sft_steps=100) == {"sft_steps": 100}
    made = TrainConfig.of_recipe(load_recipe("sft-dapo-star"), steps=36)
    assert made.options["sft_steps"] == 30
