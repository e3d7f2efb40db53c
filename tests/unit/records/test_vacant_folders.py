"""What a killed command left of a file that it had not finished is nothing that another command stands back from."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from planarena.errors import UserError
from planarena.records.shards import is_vacant
from planarena.trainers.config import DataConfig, TrainConfig
from planarena.trainers.loop.run import RunFolder

# Killed between the temporary file and its name.
KILLED = """
import os, signal, sys
from pathlib import Path
from planarena.records.shards import write_durably
os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)
write_durably(Path(sys.argv[1]) / "run.json", b"{}")
"""


def test_a_killed_first_write_does_not_bar_the_folder(tmp_path: Path) -> None:
    out = tmp_path / "trained"
    done = subprocess.run([sys.executable, "-c", KILLED, str(out)], env=os.environ.copy(), check=False)
    assert done.returncode == -signal.SIGKILL
    assert [path.name.startswith(".run.json") for path in out.iterdir()] == [True]
    assert is_vacant(out)
    RunFolder(TrainConfig(algorithm="sft", data=DataConfig(path="anywhere"), out=str(out)))
    assert (out / "run.json").is_file()


def test_anything_else_does(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    assert not is_vacant(tmp_path)
    assert is_vacant(tmp_path, besides="notes.txt")
    with pytest.raises(UserError, match="holds no training run"):
        RunFolder(TrainConfig(algorithm="sft", data=DataConfig(path="anywhere"), out=str(tmp_path)))
