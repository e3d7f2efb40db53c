"""What goes wrong in training ends in one clear message, and no earlier checkpoint is lost."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec
import pytest

from planarena import Run
from planarena.cli import main
from planarena.errors import PlanArenaError
from planarena.trainers import TrainConfig, train
from planarena.trainers.config import (
    CheckpointConfig,
    DataConfig,
    LogConfig,
    LoraConfig,
    ModelConfig,
    RolloutConfig,
    TinyConfig,
    UpdateConfig,
    ValidationConfig,
)

SIZE = TinyConfig(hidden=16, layers=1, heads=2, intermediate=16, vocabulary=500)


def _config(run: Run, out: Path, algorithm: str = "sft", **changes: Any) -> TrainConfig:
    fields: dict[str, Any] = {
        "steps": 4,
        "threads": 1,
        "data": DataConfig(path=str(run.path), template="short", plan="none", format="planarena", limit=16),
        "model": ModelConfig(tiny=SIZE),
        "rollout": RolloutConfig(batch_size=2, group_size=2, max_prompt_length=900, max_response_length=64),
        "update": UpdateConfig(updates_per_batch=1, expert_batch_size=4, learning_rate=1e-2),
        "validation": ValidationConfig(every=0),
        "checkpoint": CheckpointConfig(every=2),
    }
    return TrainConfig(out=str(out), algorithm=algorithm, **{**fields, **changes})


@pytest.fixture(scope="module")
def start(built_run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trained microscopic checkpoint."""
    return Path(train(_config(built_run, tmp_path_factory.mktemp("faults") / "start", steps=12)).checkpoint)


def _fails(config: TrainConfig) -> PlanArenaError:
    with pytest.raises(PlanArenaError) as caught:
        train(config)
    return caught.value


def _without_times(line: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in line.items() if not key.startswith("time/")}


def test_a_model_without_a_tokenizer(start: Path, built_run: Run, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    bare.mkdir()
    for name in ("config.json", "model.safetensors"):
        shutil.copy(start / name, bare / name)
    error = _fails(_config(built_run, tmp_path / "run", model=ModelConfig(path=str(bare))))
    assert "holds a model but no tokenizer" in str(error)
    assert error.exit_code == 2
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "holds no model" in str(
        _fails(_config(built_run, tmp_path / "r2", model=ModelConfig(path=str(empty))))
    )
    absent = ModelConfig(path=str(tmp_path / "absent"))
    assert "cannot be loaded" in str(_fails(_config(built_run, tmp_path / "r3", model=absent)))


def test_a_model_that_lacks_weights(start: Path, built_run: Run, tmp_path: Path) -> None:
    """transformers would take random ones, and the run would be one of another model."""
    from safetensors.torch import load_file, save_file

    part = tmp_path / "part"
    shutil.copytree(start, part)
    for note in ("start.json", "state.json"):
        (part / note).unlink(missing_ok=True)  # as a folder of others: no digests
    held = load_file(part / "model.safetensors")
    name = next(one for one in held if one.endswith("down_proj.weight"))
    save_file(
        {key: value for key, value in held.items() if key != name},
        part / "model.safetensors",
        {"format": "pt"},
    )
    error = _fails(_config(built_run, tmp_path / "run", model=ModelConfig(path=str(part))))
    assert f"lacks 1 of the model's weights, {name} among them" in str(error)
    assert error.exit_code == 2


def test_rows_longer_than_the_context(start: Path, built_run: Run, tmp_path: Path) -> None:
    rollout = RolloutConfig(max_prompt_length=20, max_response_length=64)
    error = _fails(_config(built_run, tmp_path / "run", rollout=rollout, model=ModelConfig(path=str(start))))
    assert "no demonstration fits" in str(error)
    assert "prompts may have 20" in str(error)
    long = RolloutConfig(max_prompt_length=900, max_response_length=100_000)
    error = _fails(_config(built_run, tmp_path / "r2", rollout=long, model=ModelConfig(path=str(start))))
    assert "of a context of" in str(error)
    assert error.exit_code == 2


def test_an_empty_run_and_no_data(built_run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = DataConfig(path=str(built_run.path), domains=("nowhere",))
    assert "gives no row" in str(_fails(_config(built_run, tmp_path / "run", data=data)))
    assert main(["train", "--algorithm", "sft", "--out", str(tmp_path / "x")]) == 2
    assert "no data is given" in capsys.readouterr().err
    assert (
        main(["train", "--algorithm", "sft", "--data", str(tmp_path / "no"), "--out", str(tmp_path / "x")])
        == 2
    )


def test_all_rewards_equal(start: Path, built_run: Run, tmp_path: Path) -> None:
    said: list[str] = []
    rollout = RolloutConfig(
        batch_size=2, group_size=2, max_prompt_length=900, max_response_length=4, flat_batches=3
    )
    config = _config(
        built_run, tmp_path / "run", "grpo", steps=9, rollout=rollout, model=ModelConfig(path=str(start))
    )
    with pytest.raises(PlanArenaError) as caught:
        train(config, say=said.append)
    assert "all rewards were equal within their groups in 3 batches in a row" in str(caught.value)
    assert sum("nothing to learn" in text for text in said) == 1
    assert (tmp_path / "run" / "checkpoints" / "step_2" / "model.safetensors").is_file()


def test_nan_stops_the_run_and_names_the_last_good_checkpoint(
    start: Path, built_run: Run, tmp_path: Path
) -> None:
    # The first step is sound, then products of weights of 1e20 leave float32, whatever the rows are.
    update = UpdateConfig(expert_batch_size=4, learning_rate=1e20, warmup=1)
    config = _config(
        built_run,
        tmp_path / "run",
        steps=12,
        update=update,
        checkpoint=CheckpointConfig(every=1, keep=9),
        model=ModelConfig(path=str(start)),
    )
    error = _fails(config)
    assert "3 updates in a row had a loss or gradient that is not finite" in str(error)
    assert error.exit_code == 1
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    skipped = [line["step"] for line in lines if line.get("update/skipped")]
    assert len(skipped) == 3
    named = Path(str(error).rpartition("the last good checkpoint is ")[2])
    # A checkpoint of a skipped step would hold the same broken weights; none is written.
    assert int(named.name.removeprefix("step_")) < skipped[0]
    # JSON has no infinity: what could not be measured is null.
    assert lines[-1]["loss/total"] is None or lines[-1]["update/gradient_norm"] is None


def test_no_space_for_a_checkpoint(start: Path, built_run: Run, tmp_path: Path) -> None:
    whole = train(_config(built_run, tmp_path / "whole", model=ModelConfig(path=str(start))))
    config = _config(built_run, tmp_path / "run", model=ModelConfig(path=str(start)))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill(done: int, total: int, metrics: dict[str, Any]) -> None:
        if done == 3:
            # Files may not grow beyond 8 KiB from here on: metrics still fit, weights do not.
            resource.setrlimit(resource.RLIMIT_FSIZE, (8192, hard))

    try:
        with pytest.raises(PlanArenaError, match="checkpoint cannot be written") as caught:
            train(config, show=fill)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.exit_code == 1
    folder = tmp_path / "run" / "checkpoints"
    assert str(caught.value).endswith(f"the last good checkpoint is {folder / 'step_2'}")
    assert sorted(path.name for path in folder.iterdir()) == ["step_2"]
    again = train(config)
    assert again.steps == 4
    assert _without_times(again.metrics) == _without_times(whole.metrics)


@pytest.mark.parametrize("kilobytes", [pytest.param(120, marks=pytest.mark.full), 400])
def test_a_full_disk(kilobytes: int, start: Path, built_run: Run, tmp_path: Path) -> None:
    """A file system that is full at the first checkpoint, or at a later one."""
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode:
        pytest.skip("this machine lets nobody mount a file system of their own")
    disk = tmp_path / "disk"
    disk.mkdir()
    config = _config(
        built_run,
        disk / "run",
        steps=400,
        model=ModelConfig(path=str(start)),
        checkpoint=CheckpointConfig(every=2, keep=400),
    )
    stored = tmp_path / "config.json"
    stored.write_bytes(msgspec.json.encode(config))
    script = (
        f"mount -t tmpfs -o size={kilobytes}k none {disk} && "
        f"{sys.executable} -m planarena train --config {stored}; code=$?; "
        f"ls {disk}/run/checkpoints; exit $code"
    )
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", script], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\nerror: ") == 1
    assert "cannot be written: no space is left on the device" in done.stderr
    assert "fix: free some space" in done.stderr
    kept = [int(name.removeprefix("step_")) for name in done.stdout.split()]
    last = done.stderr.rpartition("the last good checkpoint is ")[2].strip()
    assert last == (str(disk / "run" / "checkpoints" / f"step_{max(kept)}") if kept else "none yet")
    assert bool(kept) == (kilobytes > 120)


def test_out_of_memory_says_what_to_lower(start: Path, built_run: Run, tmp_path: Path) -> None:
    # A hundred thousand million rollouts of one prompt: terabytes, refused by any allocator.
    rollout = RolloutConfig(batch_size=1, group_size=10**11, max_prompt_length=900, max_response_length=64)
    error = _fails(
        _config(built_run, tmp_path / "run", "grpo", rollout=rollout, model=ModelConfig(path=str(start)))
    )
    assert "out of memory at step 1" in str(error)
    assert "update.micro_batch_tokens (1024)" in str(error)
    assert error.exit_code == 1


def test_memory_that_ends_in_the_middle_of_a_run(start: Path, built_run: Run, tmp_path: Path) -> None:
    config = _config(built_run, tmp_path / "run", model=ModelConfig(path=str(start)))
    stored = tmp_path / "config.json"
    stored.write_bytes(msgspec.json.encode(config))
    # From step 3 on the process may not grow, and every larger tensor is a mapping of its own.
    program = (
        "import msgspec, pathlib, resource, sys\n"
        "from planarena.trainers import TrainConfig, train\n"
        "from planarena.errors import PlanArenaError\n"
        "config = msgspec.json.decode(pathlib.Path(sys.argv[1]).read_bytes(), type=TrainConfig)\n"
        "whole = resource.getrlimit(resource.RLIMIT_AS)\n"
        "def show(done, total, line):\n"
        "    if done == 3:\n"
        "        resource.setrlimit(resource.RLIMIT_AS, (1 << 20, whole[1]))\n"
        "try:\n"
        "    train(config, show=show)\n"
        "except PlanArenaError as error:\n"
        "    resource.setrlimit(resource.RLIMIT_AS, whole)\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(stored)],
        env={**os.environ, "OMP_NUM_THREADS": "1", "MALLOC_MMAP_THRESHOLD_": "32768"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert "out of memory at step 4" in done.stdout, done.stderr
    folder = tmp_path / "run" / "checkpoints"
    assert done.stdout.strip().endswith(f"the last good checkpoint is {folder / 'step_2'}")
    assert train(config).steps == 4


def test_folders_that_hold_something_else(start: Path, built_run: Run, tmp_path: Path) -> None:
    model = ModelConfig(path=str(start))
    config = _config(built_run, tmp_path / "run", model=model)
    done = train(config)
    assert train(config).metrics == done.metrics
    # A command that failed before its first step does not stand in the way of the next one.
    bad = _config(built_run, tmp_path / "tried", model=ModelConfig(path=str(tmp_path / "absent")))
    assert "cannot be loaded" in str(_fails(bad))
    assert train(_config(built_run, tmp_path / "tried", model=model)).steps == 4
    other = _config(built_run, tmp_path / "run", model=model, seed=9)
    assert "seed: 0 there, 9 here" in str(_fails(other))
    assert train(other, fresh=True).info["seed"] == 9
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("mine")
    assert "holds no training run" in str(_fails(_config(built_run, tmp_path / "full", model=model)))
    assert (tmp_path / "full" / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"algorithm": "dupoo"}, "write 'dupo'"),
        ({"options": {"zta": 1}}, "there is no option of dupo 'zta'"),
        ({"reward": {"name": "toolrll"}}, "write 'toolrl'"),
        ({"model": {"device": "cuda:77"}}, "no such GPU"),
        ({"rollout": {"group_size": 0}}, "rollout.group_size"),
        ({"model": {"tiny": {"heads": 3}}}, "does not divide"),
        ({"data": {"format": "planarna"}}, "write 'planarena'"),
        ({"update": {"learning_rate": -1.0}}, "update.learning_rate"),
    ],
)
def test_settings_that_cannot_be_used(
    changes: dict[str, Any], message: str, built_run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = {"algorithm": "dupo", "data": {"path": str(built_run.path), "limit": 4}, "steps": 1, **changes}
    settings["data"] = {"path": str(built_run.path), "limit": 4, **settings["data"]}
    file = tmp_path / "config.json"
    file.write_text(json.dumps(settings))
    assert main(["train", "--config", str(file), "--out", str(tmp_path / "run")]) == 2
    told = capsys.readouterr().err
    assert message in told
    assert "fix:" in told
    assert "Traceback" not in told


def test_adapters_train_alone_and_load_with_transformers(start: Path, built_run: Run, tmp_path: Path) -> None:
    import torch
    from safetensors.torch import load_file
    from transformers import AutoModelForCausalLM

    lora = LoraConfig(rank=2, alpha=4.0)
    config = _config(
        built_run,
        tmp_path / "run",
        "chord-mu",
        model=ModelConfig(path=str(start), lora=lora, dtype="bfloat16"),
        options={"kl_coef": 0.1},
        log=LogConfig(tensorboard=True),
    )
    result = train(config)
    stored = load_file(Path(result.checkpoint) / "adapter_model.safetensors")
    assert stored
    assert all("lora_" in name for name in stored)
    assert any(float(value.float().abs().sum()) > 0 for name, value in stored.items() if "lora_B" in name)
    assert not (Path(result.checkpoint) / "model.safetensors").exists()
    assert result.info["trained_parameters"] < result.info["parameters"] / 2
    ids = torch.tensor([[5, 6, 7]])
    tuned = AutoModelForCausalLM.from_pretrained(result.checkpoint)(ids).logits
    base = AutoModelForCausalLM.from_pretrained(start)(ids).logits
    assert not torch.allclose(tuned, base, atol=1e-4)
    assert list((tmp_path / "run" / "tensorboard").iterdir())


def test_a_package_that_is_not_installed(
    built_run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("planarena.trainers.launch.find_spec", lambda name: None)
    error = _fails(_config(built_run, tmp_path / "run", log=LogConfig(wandb="mine")))
    assert str(error).startswith("log.wandb: wandb is not installed")
    assert error.exit_code == 2
    assert not (tmp_path / "run").exists()


@pytest.mark.full
@pytest.mark.skipif(find_spec("wandb") is None, reason="Weights & Biases is not installed")
def test_weights_and_biases_without_a_network(
    start: Path, built_run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    config = _config(
        built_run, tmp_path / "run", model=ModelConfig(path=str(start)), log=LogConfig(wandb="mine")
    )
    info = train(config).info
    stored = [path.name for path in (tmp_path / "run" / "wandb").glob("offline-run-*")]
    assert [name.rpartition("-")[2] for name in stored] == [info["run_id"]]


def test_the_best_checkpoint_is_kept(start: Path, built_run: Run, tmp_path: Path) -> None:
    config = _config(
        built_run,
        tmp_path / "run",
        steps=5,
        validation=ValidationConfig(every=1, rows=2),
        checkpoint=CheckpointConfig(every=1, keep=1),
        model=ModelConfig(path=str(start)),
        # Every step makes it worse, so the first stays the best.
        update=UpdateConfig(expert_batch_size=4, learning_rate=1.0),
    )
    result = train(config)
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    scores = {line["step"]: (line["validation/success"], line["validation/reward"]) for line in lines[1:]}
    best = int(Path(result.best).name.removeprefix("step_"))
    assert scores[best] == max(scores.values())
    assert result.info["best"]["step"] == best
    kept = {path.name for path in (tmp_path / "run" / "checkpoints").iterdir()}
    assert kept == {"best", f"step_{best}", "step_5"}
    samples = [json.loads(line) for line in (tmp_path / "run" / "samples.jsonl").read_text().splitlines()]
    assert {"output", "target", "reward", "step"} <= set(samples[0])
