"""What can be wrong with verl is one message that names the fix."""

from __future__ import annotations

import ast
import shutil
import socket
from collections import namedtuple
from importlib import import_module, metadata
from importlib import util as imports
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from planarena.errors import ConfigError, PlanArenaError, UserError
from planarena.pipeline.run import ray_head
from planarena.trainers import get
from planarena.trainers.config import (
    DataConfig,
    ModelConfig,
    RolloutConfig,
    TinyConfig,
    TrainConfig,
    UpdateConfig,
    ValidationConfig,
    complete,
)
from planarena.trainers.local.model import start_path
from planarena.trainers.loop.backend import frozen_teacher
from planarena.trainers.types import Step
from planarena.trainers.verl import versions
from planarena.trainers.verl.rows import Info, Kind, Row, deal, padding_row
from planarena.trainers.verl.settings import forgets_weights, refuse_unknown

# The package shows the function of the same name.
launching = import_module("planarena.trainers.verl.launch")
Usage = namedtuple("Usage", "total used free")


def test_another_release_of_verl_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "version", lambda _: "0.8.0")
    with pytest.raises(UserError, match=r"verl 0\.8\.0 is installed") as caught:
        versions.check_installed()
    assert f"verl=={versions.VERL}" in str(caught.value)


def test_the_tested_release_has_all_parts() -> None:
    """What is looked for in other releases is there in the one that the tests train with."""
    spec = imports.find_spec("verl")
    assert spec is not None and spec.origin is not None
    assert versions.missing_parts(Path(spec.origin).parent) == []


def test_all_that_the_engine_imports_is_looked_for() -> None:
    """What a module of the engine imports from verl stands among the parts, or is a module that holds some."""
    imported = []
    for file in sorted(Path(str(versions.__file__)).parent.glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("verl."):
                path = str(node.module).removeprefix("verl.").replace(".", "/")
                imported += [(path, one.name) for one in node.names]
    assert len(imported) > 20
    for path, name in imported:
        known = versions._PARTS.get(f"{path}.py", {}) | versions._PARTS.get(f"{path}/__init__.py", {})
        assert name in known or f"{path}/{name}.py" in versions._PARTS, (path, name)


@pytest.mark.parametrize(
    ("file", "old", "new", "named"),
    [
        (
            "trainer/ppo/v1/trainer_base.py",
            "def _load_checkpoint(",
            "def _load(",
            "PPOTrainer._load_checkpoint",
        ),
        (
            "trainer/ppo/v1/replay_buffer.py",
            "partition_id",
            "partition",
            "ReplayBuffer.sample (partition_id)",
        ),
        ("workers/rollout/base.py", "_ROLLOUT_REGISTRY", "_ROLLOUTS", "_ROLLOUT_REGISTRY"),
        ("workers/engine_workers.py", "class TrainingWorker", "class Trainer", "TrainingWorker.train_batch"),
        ("trainer/ppo/v1/trainer_sync.py", "class", "class class", "PPOTrainerSync"),
    ],
)
def test_a_later_release_starts_only_where_no_part_has_moved(
    file: str, old: str, new: str, named: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    spec = imports.find_spec("verl")
    assert spec is not None and spec.origin is not None
    root = tmp_path / "verl"
    for part in versions._PARTS:
        (root / part).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(Path(spec.origin).parent / part, root / part)
    there = SimpleNamespace(origin=str(root / "__init__.py"))
    monkeypatch.setattr(versions, "version", lambda _: "0.10.0.dev0")
    monkeypatch.setattr(versions, "find_spec", lambda _: there)
    versions._check_release.cache_clear()
    versions.check_installed()
    assert versions.untested_release() == "0.10.0.dev0"
    text = (root / file).read_text()
    assert old in text
    (root / file).write_text(text.replace(old, new))
    versions._check_release.cache_clear()
    with pytest.raises(UserError, match="moved or changed") as caught:
        versions.check_installed()
    assert named in str(caught.value) and f"verl=={versions.VERL}" in str(caught.value)
    versions._check_release.cache_clear()


@pytest.mark.parametrize("release", ["0.9.0", "0.11.0", "1.0", "of today"])
def test_releases_too_old_or_too_new_are_refused(release: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "version", lambda _: release)
    with pytest.raises(UserError, match=f"verl {release} is installed"):
        versions.check_installed()


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(_: str) -> str:
        raise metadata.PackageNotFoundError("verl")

    monkeypatch.setattr(versions, "version", absent)
    with pytest.raises(UserError, match="verl is not installed"):
        versions.check_installed()
    monkeypatch.setattr(versions, "version", lambda _: versions.VERL)
    found = imports.find_spec
    monkeypatch.setattr(
        versions, "find_spec", lambda name: None if name in ("zmq", "fastapi") else found(name)
    )
    with pytest.raises(UserError, match="verl needs fastapi, pyzmq"):
        versions.check_installed()


def test_too_little_shared_memory_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setattr(launching, "_SHARED", str(tmp_path))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(64 << 20, 0, 64 << 20))
    config = complete(TrainConfig(algorithm="grpo", engine="verl"))
    with pytest.raises(UserError, match="64 MiB free") as caught:
        launching.check_start(config)
    assert "--shm-size" in str(caught.value)
    # A cluster that runs already has its memory elsewhere.
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:6379")
    launching.check_start(config)


def test_data_that_do_not_fit_are_refused_before_ray_starts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, root: Path
) -> None:
    def started(*_: Any) -> None:
        raise AssertionError("Ray was started")

    monkeypatch.setattr(launching, "opened", started)
    tiny = TinyConfig(hidden=16, layers=1, heads=2, intermediate=16, vocabulary=400, warm_start=0)
    data = DataConfig(path=str(root / "data" / "sample"), template="short", limit=20)
    model = ModelConfig(path="tiny", tiny=tiny)
    config = TrainConfig(algorithm="grpo", engine="verl", data=data, model=model)
    good = complete(msgspec.structs.replace(config, out=str(tmp_path / "first")))
    # Otherwise all is well, and it gets as far as Ray.
    with pytest.raises(AssertionError, match="Ray was started"):
        launching.launch(good)
    start = ModelConfig(path=start_path(good))
    for number, wrong in enumerate(
        (
            {"data": msgspec.structs.replace(data, template="chord")},
            {"data": msgspec.structs.replace(data, path=str(tmp_path / "nowhere"))},
            {"validation": ValidationConfig(bench=str(tmp_path / "nowhere"))},
        )
    ):
        out = str(tmp_path / str(number))
        changed = msgspec.structs.replace(config, model=start, out=out, **wrong)
        with pytest.raises(PlanArenaError, match="'chord'|nowhere"):
            launching.launch(complete(changed))


def test_a_port_in_use_is_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        # The head's own port is asked for first.
        ports, found = [port], ray_head._free_port
        monkeypatch.setattr(ray_head, "_free_port", lambda: ports.pop() if ports else found())
        with pytest.raises(UserError, match=f"port {port}, free a moment ago, is in use") as caught:
            ray_head.RayHead(1, where="--engine verl")
    assert "run the same command again" in str(caught.value)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            RuntimeError("EADDRINUSE: address already in use 0.0.0.0:29500"),
            "a port that verl or Ray chose is in use",
        ),
        (ConnectionError("ray://nowhere"), "the Ray cluster does not answer"),
        (RuntimeError("ActorDiedError: The actor died unexpectedly"), "a process of verl died"),
        (RuntimeError("CUDA out of memory. Tried to allocate"), "out of memory"),
        (ValueError("Trace\n\nwhat went wrong"), "verl failed: what went wrong"),
    ],
)
def test_errors_name_what_to_do(error: Exception, said: str, tmp_path: Path) -> None:
    told = str(launching.explain(error, tmp_path))
    assert said in told
    assert "fix: " in told
    assert "\n\n" not in told


def test_a_dead_process_names_the_checkpoint_to_go_on_from(tmp_path: Path) -> None:
    step = tmp_path / "checkpoints" / "step_4"
    step.mkdir(parents=True)
    (step / "state.json").write_text("{}")

    class ActorDiedError(Exception):
        pass

    assert str(step) in str(launching.explain(ActorDiedError("gone"), tmp_path))


def test_unknown_keys_of_verl_name_the_nearest() -> None:
    known = {"trainer": {"nnodes": 1}, "free": {}}
    refuse_unknown({"trainer": {"nnodes": 2}, "free": {"any": 1}}, known, "verl")
    with pytest.raises(ConfigError, match=r"verl\.trainer\.nnode") as caught:
        refuse_unknown({"trainer": {"nnode": 2}}, known, "verl")
    assert "write verl.trainer.nnodes" in str(caught.value)


def test_a_rollout_that_forgets_its_weights_cannot_be_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:6379")
    vllm: dict[str, Any] = {"actor_rollout_ref": {"rollout": {"name": "vllm"}}}
    config = TrainConfig(algorithm="grpo", engine="verl", verl=vllm, update=UpdateConfig(sync_interval=2))
    assert forgets_weights(config)
    with pytest.raises(UserError, match="older ones"):
        launching.check_start(complete(config))
    kept = {"actor_rollout_ref": {"rollout": {"name": "vllm", "free_cache_engine": False}}}
    assert not forgets_weights(TrainConfig(verl=kept))
    assert not forgets_weights(TrainConfig())


def test_the_teacher_of_opsd_is_frozen() -> None:
    assert frozen_teacher(TrainConfig(algorithm="opsd"), get("opsd").needs)
    assert not frozen_teacher(TrainConfig(algorithm="gear"), get("gear").needs)
    assert frozen_teacher(
        TrainConfig(algorithm="gear", rollout=RolloutConfig(teacher="start")), get("gear").needs
    )
    assert not frozen_teacher(
        TrainConfig(algorithm="opsd", rollout=RolloutConfig(teacher="current")), get("opsd").needs
    )


def _rows(count: int) -> list[Row]:
    return [
        Row([1] * (3 + place), [2] * (1 + place % 4), [1] * (1 + place % 4), Kind.ROLLOUT)
        for place in range(count)
    ]


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_rows_divide_evenly_over_ranks_and_passes(ranks: int, pairs: bool) -> None:
    rows = _rows(14)
    dealt, size = deal(rows, ranks, budget=40, pairs=pairs)
    assert len(dealt) % (ranks * size) == 0
    real = [row for row in dealt if row.kind != Kind.PADDING]
    assert sorted(map(id, real)) == sorted(map(id, rows))
    unit = 2 if pairs else 1
    assert size % unit == 0
    for start in range(0, len(dealt), size):
        part = dealt[start : start + size]
        assert len(part) == unit or len(part) * max(row.length for row in part) <= 40
    if pairs:
        place = {id(row): number for number, row in enumerate(dealt)}
        for left, right in zip(rows[::2], rows[1::2], strict=True):
            assert place[id(right)] == place[id(left)] + 1
    assert not any(padding_row(rows[0]).mask)


def test_what_travels_with_a_batch_comes_back() -> None:
    info = Info(
        step=Step(step=3, total_steps=9, tokens=70, expert_tokens=4, horizon=16),
        scalars={"mu": 0.25, "expert_entropy_threshold": float("inf")},
        state={"adaptive_mu": 0.5},
        rate=1e-6,
        present=["advantages"],
    )
    assert Info.decode(info.encode()) == info
