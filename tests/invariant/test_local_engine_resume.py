"""A run that was killed and goes on gives the metrics of one that never stopped, to the bit, state included."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from planarena import Run
from planarena.errors import Interrupted, RunError
from planarena.trainers import TrainConfig, train
from planarena.trainers.config import (
    CheckpointConfig,
    DataConfig,
    ModelConfig,
    RolloutConfig,
    TinyConfig,
    UpdateConfig,
    ValidationConfig,
)

STEPS = 8


@pytest.fixture(scope="module")
def start(built_run: Run, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A model that knows a little, so that rewards differ within groups."""
    torch.set_num_threads(1)
    out = tmp_path_factory.mktemp("resume") / "start"
    config = _config(
        built_run,
        out,
        "sft",
        steps=30,
        model=ModelConfig(tiny=TinyConfig(hidden=16, layers=1, heads=2, intermediate=16, vocabulary=500)),
        update=UpdateConfig(learning_rate=1e-2, expert_batch_size=8),
        validation=ValidationConfig(every=0),
    )
    return train(config).checkpoint


def _config(run: Run, out: Path, algorithm: str, **changes: Any) -> TrainConfig:
    fields: dict[str, Any] = {
        "steps": STEPS,
        "threads": 1,
        "seed": 3,
        "data": DataConfig(path=str(run.path), template="short", plan="none", format="planarena", limit=30),
        "rollout": RolloutConfig(batch_size=3, group_size=3, max_prompt_length=900, max_response_length=48),
        "update": UpdateConfig(updates_per_batch=2, expert_batch_size=4, learning_rate=1e-3),
        "validation": ValidationConfig(every=3, rows=3),
        "checkpoint": CheckpointConfig(every=2),
    }
    return TrainConfig(out=str(out), algorithm=algorithm, **{**fields, **changes})


def _lines(out: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    return [{key: value for key, value in line.items() if not key.startswith("time/")} for line in lines]


CASES: dict[str, dict[str, Any]] = {
    # The moving average of rewards is state.
    "dupo": {"options": {"clip_average": "moving"}},
    # The mixing coefficient follows the rewards.
    "chord-mu": {"options": {"mixing": "adaptive", "mu_threshold": 3.0}},
    # A buffer of unsolved prompts.
    "relift": {"options": {"buffer_size": 4}},
    # Gradient norms, and phases drawn from them.
    "sasr": {"options": {"warmup_steps": 2}},
    # A rollout policy older than the trained one, and mini-batches.
    "grpo": {"update": UpdateConfig(updates_per_batch=2, sync_interval=3, learning_rate=1e-3, schedule="cosine", warmup=3)},
    # Groups drawn anew.
    "dapo": {},
    # A teacher that is the current policy, and one that is the policy of the start.
    "gear": {},
    "opsd": {},
    # A frozen reference.
    "kto": {"update": UpdateConfig(expert_batch_size=3, learning_rate=1e-3)},
}  # fmt: skip


@pytest.mark.parametrize("algorithm", CASES)
def test_a_resumed_run_repeats_the_uninterrupted_one(
    algorithm: str, start: str, built_run: Run, tmp_path: Path
) -> None:
    changes = {"model": ModelConfig(path=start), **CASES[algorithm]}
    whole = train(_config(built_run, tmp_path / "whole", algorithm, **changes))
    config = _config(built_run, tmp_path / "cut", algorithm, **changes)

    def stop(done: int, total: int, metrics: dict[str, Any]) -> None:
        if done == 5:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted, match="goes on from"):
        train(config, show=stop)
    said: list[str] = []
    resumed = train(config, say=said.append)
    assert any("going on from step 4" in text for text in said) or any(
        "going on from" in text for text in said
    )
    assert resumed.steps == whole.steps == STEPS
    assert _lines(tmp_path / "cut") == _lines(tmp_path / "whole")
    assert _weights(resumed.checkpoint) == _weights(whole.checkpoint)


def test_a_finished_run_goes_on_to_more_steps_as_if_it_had_never_ended(
    start: str, built_run: Run, tmp_path: Path
) -> None:
    changes = {"model": ModelConfig(path=start), **CASES["dupo"]}
    whole = train(_config(built_run, tmp_path / "whole", "dupo", **changes))
    short = train(_config(built_run, tmp_path / "cut", "dupo", **{**changes, "steps": 4}))
    assert short.steps == 4
    said: list[str] = []
    longer = train(_config(built_run, tmp_path / "cut", "dupo", **changes), say=said.append)
    assert f"going on from step 4 of {STEPS}" in said
    # The shorter run validated at its end besides.
    kept = [
        {key: value for key, value in line.items() if "validation" not in key}
        for line in _lines(tmp_path / "cut")
    ]
    wanted = [
        {key: value for key, value in line.items() if "validation" not in key}
        for line in _lines(tmp_path / "whole")
    ]
    assert kept == wanted
    assert _weights(longer.checkpoint) == _weights(whole.checkpoint)
    assert longer.info["lengthened"] == [{"from": 4, "to": STEPS}]
    assert longer.info["status"] == "finished"
    with pytest.raises(RunError, match="can only be made longer"):
        train(_config(built_run, tmp_path / "cut", "dupo", **{**changes, "steps": 4}))
    with pytest.raises(RunError, match=r"seed: 3 there, 4 here"):
        train(_config(built_run, tmp_path / "cut", "dupo", **{**changes, "steps": 12, "seed": 4}))
    # The same run again is still finished, and nothing is done.
    assert train(_config(built_run, tmp_path / "cut", "dupo", **changes)).steps == STEPS


def test_an_interruption_before_the_first_checkpoint_promises_nothing(
    start: str, built_run: Run, tmp_path: Path
) -> None:
    changes = {"model": ModelConfig(path=start), "checkpoint": CheckpointConfig(every=5)}
    config = _config(
        built_run, tmp_path / "cut", "sft", **{**changes, "validation": ValidationConfig(every=0)}
    )

    def stop(done: int, total: int, metrics: dict[str, Any]) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(
        Interrupted, match="after step 2, before the first checkpoint: .* starts again at step 1$"
    ):
        train(config, show=stop)
    said: list[str] = []
    assert train(config, say=said.append).steps == STEPS
    assert not any("going on" in text for text in said)


@pytest.mark.parametrize(
    ("algorithm", "lines"),
    [
        ("dupo", 6),
        # Killed while half of a batch's updates are made, so the newest checkpoint is further back.
        pytest.param("chord-mu", 4, marks=pytest.mark.full),
        pytest.param("gear", 6, marks=pytest.mark.full),
        pytest.param("relift", 5, marks=pytest.mark.full),
        pytest.param("sasr", 7, marks=pytest.mark.full),
        pytest.param("kto", 6, marks=pytest.mark.full),
        pytest.param("grpo", 6, marks=pytest.mark.full),
    ],
)
def test_a_killed_process_goes_on_to_the_bit(
    algorithm: str, lines: int, start: str, built_run: Run, tmp_path: Path
) -> None:
    import msgspec

    settings = {"model": ModelConfig(path=start), **CASES[algorithm]}
    whole = train(_config(built_run, tmp_path / "whole", algorithm, **settings))
    config = _config(built_run, tmp_path / "cut", algorithm, **settings)
    stored = tmp_path / "config.json"
    stored.write_bytes(msgspec.json.encode(config))
    # It waits after each step, so that the kill lands inside the run on any machine.
    program = (
        "import msgspec, pathlib, sys, time\n"
        "from planarena.trainers import TrainConfig, train\n"
        "config = msgspec.json.decode(pathlib.Path(sys.argv[1]).read_bytes(), type=TrainConfig)\n"
        f"train(config, show=lambda done, total, line: time.sleep(0.2 if done + 1 < {lines} else 60))\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(stored)], env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    metrics = tmp_path / "cut" / "metrics.jsonl"
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline and process.poll() is None:
        if metrics.is_file() and len(metrics.read_text().splitlines()) >= lines:
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    # What a kill can leave behind besides: half a line.
    with metrics.open("a") as handle:
        handle.write('{"step": 6, "phase"')
    said: list[str] = []
    resumed = train(config, say=said.append)
    assert any("going on from step" in text for text in said)
    assert _lines(tmp_path / "cut") == _lines(tmp_path / "whole")
    assert _weights(resumed.checkpoint) == _weights(whole.checkpoint)
    state = json.loads((Path(resumed.checkpoint) / "state.json").read_text())
    expected = json.loads((Path(whole.checkpoint) / "state.json").read_text())
    assert state["algorithm"] == expected["algorithm"]
    assert state["orders"] == expected["orders"]


def test_two_runs_of_one_seed_are_equal_and_of_two_seeds_are_not(
    start: str, built_run: Run, tmp_path: Path
) -> None:
    model = ModelConfig(path=start)
    train(_config(built_run, tmp_path / "a", "grpo", model=model, steps=3))
    train(_config(built_run, tmp_path / "b", "grpo", model=model, steps=3))
    train(_config(built_run, tmp_path / "c", "grpo", model=model, steps=3, seed=4))
    assert _lines(tmp_path / "a") == _lines(tmp_path / "b")
    assert _lines(tmp_path / "a") != _lines(tmp_path / "c")


def _weights(checkpoint: str) -> dict[str, list[Any]]:
    from safetensors.torch import load_file

    return {name: value.tolist() for name, value in load_file(Path(checkpoint) / "model.safetensors").items()}
