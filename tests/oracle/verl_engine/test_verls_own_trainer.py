"""verl's own trainer, not ours, on what `planarena export --format verl` writes, with our reward file: two steps on a CPU."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from planarena.cli import main

SCRIPT = Path(__file__).with_name("own_trainer.py")

pytestmark = [pytest.mark.verl, pytest.mark.full]


def test_verls_own_trainer_takes_two_steps_on_exported_rows_with_our_rewards(tmp_path: Path) -> None:
    rows, out = tmp_path / "rows", tmp_path / "out"
    assert main(["build", "errands", "--trajectories", "300", "--out", str(tmp_path / "run"), "-q"]) == 0
    assert main(["export", str(tmp_path / "run"), "--format", "verl", "--out", str(rows)]) == 0
    # A model that is right now and then: where all rewards of a group are equal nothing is learnt.
    long = {
        "data.template": "planarena",
        "data.format": "planarena",
        "data.limit": 300,
        "validation.every": 0,
    }
    long |= {"rollout.max_prompt_length": 1400, "rollout.max_response_length": 64}
    options = [word for key, value in long.items() for word in ("--set", f"{key}={value}")]
    trained = [
        "train",
        "--algorithm",
        "sft",
        "--data",
        str(tmp_path / "run"),
        "--model",
        "tiny",
        "--steps",
        "120",
    ]
    assert main([*trained, "--out", str(tmp_path / "sft"), *options]) == 0
    model = tmp_path / "sft" / "checkpoints" / "step_120"
    words = [sys.executable, str(SCRIPT), str(rows), str(model), str(out)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    steps: list[dict[str, Any]] = json.loads((out / "metrics.json").read_text())
    assert [one["training/global_step"] for one in steps] == [1, 2]
    assert all(
        math.isfinite(one["critic/score/mean"]) and math.isfinite(one["actor/grad_norm"]) for one in steps
    )
    # What our function gave reached verl's advantages, and these its update.
    assert any(
        one["critic/score/max"] > one["critic/score/min"] and one["actor/grad_norm"] > 0 for one in steps
    )
