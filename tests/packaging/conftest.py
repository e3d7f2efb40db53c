"""What the packaging tests share: the tracked files, the project's table, and one built wheel."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

FOLDERS = ("planarena", "trainers", "eval", "annotation", "data")
"""The five folders that hold the package; all but the first are linked into it."""


COMMIT = "0123456789ab"
"""What the distributions of the tests say they were made from; their sources have no .git."""


@pytest.fixture(scope="session")
def project(root: Path) -> dict[str, Any]:
    """The whole pyproject.toml."""
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def tracked(root: Path) -> list[str]:
    """Every file that git tracks and that is still there, links included, relative to the root."""
    if not (root / ".git").exists():
        pytest.skip("not a git checkout")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, check=True)
    names = listed.stdout.decode().rstrip("\0").split("\0")
    return [name for name in names if (root / name).is_symlink() or (root / name).exists()]


@pytest.fixture(scope="session")
def sources(tracked: list[str]) -> list[str]:
    """The tracked files inside the package, by their real paths."""
    return [name for name in tracked if name.split("/")[0] in FOLDERS and not _is_link(name)]


def _is_link(name: str) -> bool:
    return name.split("/")[0] == "planarena" and name.count("/") == 1 and name.split("/")[1] in FOLDERS


@pytest.fixture(scope="session")
def checkout(root: Path, tracked: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tracked files without the links, as a system without symbolic links has it."""
    copy = tmp_path_factory.mktemp("checkout")
    for name in tracked:
        if not (root / name).is_symlink():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, copy / name)
    return copy


@pytest.fixture(scope="session")
def distributions(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The source distribution, and the wheel that is built from it."""
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(checkout)]
    named = {**os.environ, "PLANARENA_COMMIT": COMMIT}
    done = subprocess.run(command, env=named, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return next(out.glob("*.tar.gz")), next(out.glob("*.whl"))
