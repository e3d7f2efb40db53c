"""docs/training.md: its commands run, its settings exist, and a run holds the files and metrics that it names."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from planarena import Run
from planarena.cli import main
from planarena.trainers import TrainConfig, train
from planarena.trainers.config import (
    DataConfig,
    LogConfig,
    ModelConfig,
    RolloutConfig,
    TinyConfig,
    UpdateConfig,
    ValidationConfig,
)

BLOCK = re.compile(r"^```sh runnable\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def guide(root: Path) -> str:
    return (root / "docs" / "training.md").read_text(encoding="utf-8")


def _settings(kind: type[msgspec.Struct], prefix: str = "") -> set[str]:
    """Return the dotted names of all settings, sections included."""
    found = set()
    for field in msgspec.structs.fields(kind):
        name = f"{prefix}{field.name}"
        found.add(name)
        for part in (field.type, *getattr(field.type, "__args__", ())):
            if isinstance(part, type) and issubclass(part, msgspec.Struct):
                found |= _settings(part, f"{name}.")
    return found


def test_every_setting_that_is_named_exists(guide: str) -> None:
    known = _settings(TrainConfig)
    sections = "|".join(sorted({name.partition(".")[0] for name in known if "." in name}))
    named = set(re.findall(rf"\b((?:{sections})\.[a-z_]+(?:\.[a-z_]+)?)\b", guide))
    named = {name for name in named if not name.endswith((".png", ".json", ".jsonl", ".yaml", ".md", ".py"))}
    assert len(named) > 15
    assert named <= known
    for section, words in re.findall(
        r"`(rollout|update|validation|checkpoint)\.[a-z_]+`((?:, `[a-z_]+`)+)", guide
    ):
        assert {f"{section}.{word}" for word in re.findall(r"`([a-z_]+)`", words)} <= known


def test_a_run_holds_what_the_guide_says(guide: str, built_run: Run, tmp_path: Path) -> None:
    config = TrainConfig(
        algorithm="dupo",
        out=str(tmp_path / "run"),
        steps=2,
        threads=1,
        data=DataConfig(path=str(built_run.path), limit=8),
        model=ModelConfig(
            tiny=TinyConfig(hidden=16, layers=1, heads=2, intermediate=16, vocabulary=400, warm_start=2)
        ),
        rollout=RolloutConfig(batch_size=2, group_size=2, max_prompt_length=1600, max_response_length=200),
        update=UpdateConfig(expert_batch_size=2),
        validation=ValidationConfig(rows=2),
        log=LogConfig(tensorboard=True),
    )
    train(config)
    table = guide.partition("| file | holds |")[2].partition("\n\n")[0]
    files = re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE)
    assert len(files) == 11
    for file in files:
        assert (tmp_path / "run" / file.replace("step_N", "step_2")).exists(), file
    ours = {path.name for path in (tmp_path / "run").iterdir()}
    assert ours <= {file.split("/")[0] for file in files}
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    table = guide.partition("| metric | meaning |")[2].partition("\n\n")[0]
    named = [name for name in re.findall(r"`([a-z_]+/[a-z_.]+)`", table) if not name.endswith("...")]
    assert len(named) > 10
    assert set(named) <= lines[1].keys()
    families = {key.partition("/")[0] for key in lines[1]} - {"step", "phase", "rollout"}
    assert families <= set(re.findall(r"`([a-z_]+)/", table))


# What makes each command small; it stays the command of the guide in everything else.
SMALL = (
    "model.tiny.hidden=16 model.tiny.layers=1 model.tiny.heads=2 model.tiny.intermediate=16 "
    "model.tiny.vocabulary=400 model.tiny.warm_start=2 rollout.batch_size=2 rollout.group_size=2 "
    "update.expert_batch_size=1 threads=1"
).split()


def test_the_commands_run_at_a_small_size(
    guide: str, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "sample").symlink_to(root / "data" / "sample")
    monkeypatch.chdir(tmp_path)
    done = []
    for block in BLOCK.findall(guide):
        written = re.search(r"^cat > (\S+) <<END\n(.*?)^END$", block, re.MULTILINE | re.DOTALL)
        if written:
            Path(written[1]).write_text(written[2])
        for line in block.splitlines():
            if not line.startswith("planarena train --algorithm"):
                continue
            words = shlex.split(line)[1:]
            # The supervised run keeps its steps, because the others start from its last checkpoint.
            fewer = [] if words[2] == "sft" else ["--steps", "2"]
            assert main([*words, *fewer, *(part for one in SMALL for part in ("--set", one))]) == 0, line
            done.append(words[2])
    assert done == ["dupo", "sft", "gear", "sft", "gigpo", "chord-mu"]


@pytest.mark.full
def test_the_commands_run(guide: str, root: Path, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "sample").symlink_to(root / "data" / "sample")
    here = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    blocks = BLOCK.findall(guide)
    assert len(blocks) >= 5
    for block in blocks:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block],
            cwd=tmp_path,
            env={**os.environ, "PATH": here},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{block}\n{done.stdout}\n{done.stderr}"
    for name in ("dupo", "sft", "gear", "episodes", "lora"):
        info = json.loads((tmp_path / "runs" / name / "run.json").read_text())
        assert info["status"] == "finished", name
