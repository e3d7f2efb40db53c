"""Algorithms on verl, with Ray, FSDP over gloo and the transformers rollout: steps, curves, tools, kills, two ranks."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from planarena import Run
from planarena.trainers import get
from planarena.trainers.algorithms import names

# `make test` holds these; the others belong to `make test-verl`.
FIRST = ("dupo", "grpo", "chord-phi")
WITH_REFERENCE = ("dpo", "kto", "opsd")
MICRO: dict[str, Any] = {
    "engine": "verl",
    "steps": 3,
    "rollout": {"batch_size": 3, "group_size": 3, "max_prompt_length": 900, "max_response_length": 40},
    "update": {"updates_per_batch": 2, "expert_batch_size": 4, "learning_rate": 1e-3},
    "data": {"format": "planarena", "template": "short", "plan": "none", "limit": 40},
    "validation": {"rows": 3, "every": 3},
    "checkpoint": {"every": 0},
    "model": {"device": "cpu"},
}
OWN: dict[str, dict[str, Any]] = {
    "sft-rl": {"options": {"sft_steps": 1}},
    "sasr": {"options": {"warmup_steps": 1}},
    "relift": {"options": {"buffer_size": 2}},
    "chord-phi": {"options": {"weight": "entropy_norm"}},
}
# Coefficients whose schedule is seen within three steps.
SCHEDULED = {
    "chord-mu": "coefficient/mixing",
    "chord-phi": "coefficient/mixing",
    "dupo": "coefficient/mixing",
}


def merged(base: dict[str, Any], top: dict[str, Any]) -> dict[str, Any]:
    """Return nested settings, the second above the first."""
    found = dict(base)
    for key, value in top.items():
        below = found.get(key)
        found[key] = merged(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return found


def lines(out: Path) -> list[dict[str, Any]]:
    """Return metrics.jsonl."""
    return [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]


def environment(root: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}


def run_all(root: Path, folder: Path, runs: list[dict[str, Any]]) -> None:
    """Train several on one set of processes."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "runs.json"
    file.write_text(json.dumps(runs))
    script = root / "tests" / "e2e" / "verl_sessions.py"
    done = subprocess.run(
        [sys.executable, str(script), str(file)],
        check=False,
        env=environment(root),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-6000:]


@pytest.fixture(scope="module")
def start(built_run: Run, root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A microscopic model with its tokenizer, made by the local engine."""
    out = tmp_path_factory.mktemp("start") / "run"
    sizes = {"hidden": 32, "layers": 1, "heads": 2, "intermediate": 32, "vocabulary": 500}
    _train_local(
        root, out, {"algorithm": "sft", "data": {"path": str(built_run.path)}, "model": {"tiny": sizes}}
    )
    return out / "checkpoints" / "step_3"


def _train_local(root: Path, out: Path, settings: dict[str, Any]) -> None:
    whole = merged(MICRO, {"engine": "local", "out": str(out), "checkpoint": {"every": 1}})
    command(root, merged(whole, settings))


def command(root: Path, settings: dict[str, Any], *, wait: bool = True) -> Any:
    """Run `planarena train` with settings from a file."""
    out = Path(settings["out"])
    out.parent.mkdir(parents=True, exist_ok=True)
    file = out.with_suffix(".yaml")
    file.write_text(json.dumps(settings))
    code = "import sys; from planarena.cli import main; sys.exit(main(sys.argv[1:]))"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "train", "--config", str(file), "--json"],
        env=environment(root),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    if not wait:
        return process
    said, told = process.communicate()
    assert process.returncode == 0, said[-3000:] + told[-6000:]
    return json.loads(said)


@pytest.fixture(scope="module")
def first(built_run: Run, root: Path, start: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _several(FIRST, built_run, root, start, tmp_path_factory.mktemp("first"))


@pytest.fixture(scope="module")
def others(built_run: Run, root: Path, start: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    rest = [name for name in names() if name not in (*FIRST, *WITH_REFERENCE)]
    return _several(rest, built_run, root, start, tmp_path_factory.mktemp("others"))


@pytest.fixture(scope="module")
def referenced(built_run: Run, root: Path, start: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _several(WITH_REFERENCE, built_run, root, start, tmp_path_factory.mktemp("referenced"))


def _several(chosen: Any, run: Run, root: Path, start: Path, folder: Path) -> Path:
    shared = {"model": {"path": str(start)}, "data": {"path": str(run.path)}}
    runs = [
        merged(merged(MICRO, shared), {"algorithm": name, "out": str(folder / name), **OWN.get(name, {})})
        for name in chosen
    ]
    run_all(root, folder, runs)
    return folder


def _check(name: str, out: Path) -> None:
    told = lines(out)
    assert [line["step"] for line in told] == [0, 1, 2, 3]
    own = [line for line in told if line["step"]]
    assert all(line["update/skipped"] == 0.0 for line in own)
    assert any(line["update/gradient_norm"] > 0 for line in own), name
    assert all(math.isfinite(line.get("loss/total", 0.0)) for line in own)
    assert "validation/success" in told[-1]
    if get(name).needs.rollouts:
        assert any("time/rollout" in line for line in own)
    if name in SCHEDULED:
        values = [line[SCHEDULED[name]] for line in own if SCHEDULED[name] in line]
        assert len(values) == 3
    if get(name).needs.experts and not get(name).needs.own_phases and name != "uft":
        assert all(line["update/expert_tokens"] > 0 for line in own)
    info = json.loads((out / "run.json").read_text())
    assert (info["status"], info["engine"], info["rollout"]) == ("finished", "verl", "planarena")
    from transformers import AutoModelForCausalLM

    assert AutoModelForCausalLM.from_pretrained(out / "checkpoints" / "step_3").config.vocab_size > 100


@pytest.mark.verl
@pytest.mark.parametrize("name", FIRST)
def test_first_algorithms_train_on_verl(name: str, first: Path) -> None:
    _check(name, first / name)


@pytest.mark.verl
@pytest.mark.parametrize("name", [name for name in names() if name not in (*FIRST, *WITH_REFERENCE)])
def test_every_algorithm_trains_on_verl(name: str, others: Path) -> None:
    _check(name, others / name)


@pytest.mark.verl
@pytest.mark.parametrize("name", WITH_REFERENCE)
def test_algorithms_with_a_reference_train_on_verl(name: str, referenced: Path) -> None:
    _check(name, referenced / name)


@pytest.mark.verl
@pytest.mark.parametrize("name", ["grpo", "dupo"])
def test_rewards_rise_as_in_the_local_engine(name: str, built_run: Run, root: Path, tmp_path: Path) -> None:
    settings = merged(
        MICRO,
        {
            "algorithm": name,
            "steps": 30,
            "data": {"path": str(built_run.path), "limit": 24},
            "rollout": {"batch_size": 8, "group_size": 8, "max_response_length": 64},
            "update": {"updates_per_batch": 1, "expert_batch_size": 8, "learning_rate": 5e-4},
            "validation": {"every": 0},
            "model": {
                "path": "tiny",
                "tiny": {"hidden": 64, "layers": 2, "intermediate": 128, "warm_start": 250},
            },
            "out": str(tmp_path / "run"),
        },
    )
    command(root, settings)
    rewards = [line["reward/mean"] for line in lines(tmp_path / "run") if line["step"]]
    assert len(rewards) == 30
    # Group means of 64 rollouts scatter by about 0.1; ten of them by 0.03.
    assert sum(rewards[-10:]) / 10 > sum(rewards[:10]) / 10 + 0.05


@pytest.mark.verl
def test_the_policy_acts_with_real_tools(built_run: Run, root: Path, start: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    settings = merged(
        MICRO,
        {
            "algorithm": "grpo",
            "steps": 2,
            "data": {"path": str(built_run.path), "mode": "episodes", "limit": 24},
            "rollout": {"max_response_length": 400, "max_turns": 4, "step_weight": 0.5},
            "update": {"updates_per_batch": 1},
            "model": {
                "path": "tiny",
                "tiny": {"hidden": 64, "layers": 2, "intermediate": 128, "warm_start": 250},
            },
            "out": str(out),
        },
    )
    command(root, settings)
    told = [line for line in lines(out) if line["step"]]
    assert any(line.get("rollout/tool_calls", 0.0) > 0 for line in told)
    assert any(line.get("rollout/observation_tokens", 0.0) > 0 for line in told)


@pytest.mark.verl
def test_a_killed_run_goes_on_with_the_same_curve(
    built_run: Run, root: Path, start: Path, tmp_path: Path
) -> None:
    shared = {
        "algorithm": "grpo",
        "steps": 6,
        "model": {"path": str(start)},
        "data": {"path": str(built_run.path)},
        "update": {"updates_per_batch": 1},
        "checkpoint": {"every": 2},
        "validation": {"every": 0},
    }
    whole = merged(MICRO, {**shared, "out": str(tmp_path / "whole")})
    killed = merged(MICRO, {**shared, "out": str(tmp_path / "killed")})
    command(root, whole)
    process = command(root, killed, wait=False)
    deadline = time.monotonic() + 900
    state = tmp_path / "killed" / "checkpoints" / "step_2" / "state.json"
    while not state.is_file():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.2)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    command(root, killed)
    pairs = list(zip(lines(tmp_path / "whole"), lines(tmp_path / "killed"), strict=True))
    assert len(pairs) == 7
    for left, right in pairs:
        for key in ("reward/mean", "loss/total", "update/gradient_norm"):
            # Batches of requests may be cut differently, so sums differ in the last bits.
            assert right.get(key, 0.0) == pytest.approx(left.get(key, 0.0), rel=1e-3, abs=1e-4), (left, key)


@pytest.mark.verl
def test_two_ranks_do_the_work_of_one(built_run: Run, root: Path, start: Path, tmp_path: Path) -> None:
    found = []
    for ranks in (1, 2):
        out = tmp_path / f"ranks{ranks}"
        shared = {
            "algorithm": "chord-mu",
            "steps": 2,
            "model": {"path": str(start)},
            "data": {"path": str(built_run.path)},
            "update": {"updates_per_batch": 1},
            "validation": {"every": 0},
            "verl": {
                "trainer": {"n_gpus_per_node": ranks},
                "ray_kwargs": {"ray_init": {"num_gpus": ranks}},
            },
        }
        command(root, merged(MICRO, {**shared, "out": str(out)}))
        found.append([line for line in lines(out) if line["step"]])
    for left, right in zip(*found, strict=True):
        assert right["loss/total"] == pytest.approx(left["loss/total"], rel=1e-3, abs=1e-5)
        assert right["update/gradient_norm"] == pytest.approx(left["update/gradient_norm"], rel=1e-3)
