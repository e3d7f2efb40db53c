"""The `hf` export in other versions of `datasets`, each in an environment of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from planarena import Run
from planarena.export import ExportOptions, export, join_trajectories, render_messages

_SCRIPT = """
import json, sys, datasets
folder, cache = sys.argv[1:]
found = {"version": datasets.__version__}
for name in ("default", "text"):
    try:
        loaded = datasets.load_dataset(folder, name, cache_dir=cache)
        found[name] = [row for split in loaded.values() for row in split]
    except ValueError as error:
        found[name] = str(error)
json.dump(found, sys.stdout)
"""


@pytest.mark.full
@pytest.mark.parametrize(
    ("version", "objects"), [("3.6.0", False), ("4.4.1", False), ("4.8.0", True), ("5.2.0", True)]
)
def test_this_version_of_datasets_reads_the_export(
    built_run: Run, tmp_path: Path, version: str, objects: bool
) -> None:
    out = export(built_run, "hf", tmp_path / "out", ExportOptions(kinds=("gold", "contrastive"))).path
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    wanted = f"datasets=={version}"
    made = subprocess.run(
        [str(python), "-m", "pip", "install", "-q", wanted],
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    if made.returncode:
        pytest.skip(f"no package index here has {wanted}")
    done = subprocess.run(
        [str(python), "-c", _SCRIPT, str(out), str(tmp_path / "cache")],
        env=os.environ | {"HF_HUB_OFFLINE": "1", "PYTHONPATH": ""},
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["version"] == version
    expected = {
        one.row.trajectory_id: json.dumps(render_messages(one, style="template"), sort_keys=True)
        for one in join_trajectories(built_run)
    }
    text = {row["trajectory_id"]: json.loads(row["messages"]) for row in found["text"]}
    assert {name: json.dumps(messages, sort_keys=True) for name, messages in text.items()} == expected
    if objects:
        given = {row["trajectory_id"]: row["messages"] for row in found["default"]}
        assert {name: json.dumps(messages, sort_keys=True) for name, messages in given.items()} == expected
    else:
        # It says that it is too old for objects, and gives nothing wrong instead.
        assert "not found" in found["default"]
