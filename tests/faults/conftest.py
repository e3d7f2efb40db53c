"""What the fault suites share: processes to fork from, a finished build, and the figures of a whole run.

With FAULTS_FIGURES=FILE every case adds a line of JSON to FILE; `python tests/faults/figures.py FILE` prints the table.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from asking import Materials
from zygote import Zygote


@pytest.fixture(scope="session")
def zygote() -> Iterator[Zygote]:
    """Forks commands that load no torch."""
    with Zygote() as process:
        yield process


@pytest.fixture(scope="session")
def asking_zygote() -> Iterator[Zygote]:
    """Forks commands that ask models."""
    with Zygote("litellm") as process:
        yield process


@pytest.fixture(scope="session")
def training_zygote() -> Iterator[Zygote]:
    """Forks commands that train, and ask models."""
    with Zygote(
        "litellm", "torch", "transformers", "planarena.trainers", "planarena.trainers.local"
    ) as process:
        yield process


@pytest.fixture(scope="session")
def materials(tmp_path_factory: pytest.TempPathFactory, zygote: Zygote) -> Materials:
    """A small finished build, and a folder for what suites read."""
    folder = tmp_path_factory.mktemp("faults")
    words = [
        "build",
        "builtin:email",
        "builtin:files",
        "--trajectories",
        "40",
        "--workers",
        "1",
        "--out",
        "run",
    ]
    ended = zygote.run([*words, "--set", "chunk_scenarios=2"], cwd=folder, timeout=300)
    assert ended.code == 0, ended
    return Materials(folder / "run", folder)


@pytest.fixture(scope="session")
def figures() -> Callable[..., None]:
    """Write down what a case showed, where FAULTS_FIGURES says."""

    def add(suite: str, **shown: Any) -> None:
        if path := os.environ.get("FAULTS_FIGURES"):
            with open(path, "a") as file:
                file.write(json.dumps({"suite": suite, **shown}) + "\n")

    return add
