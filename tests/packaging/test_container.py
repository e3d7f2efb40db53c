"""The Dockerfile, without a daemon: what it copies is let in, its steps run in a folder, and hadolint finds nothing.

Its base image and the system packages of its second stage are all that these tests do not see.
"""

from __future__ import annotations

import fnmatch
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from planarena import managed
from planarena.errors import EnvironmentUnavailableError


def _steps(root: Path) -> list[tuple[str, str]]:
    """Return the instructions of the Dockerfile in order, continued lines joined, comments left out."""
    text = (root / "Dockerfile").read_text(encoding="utf-8")
    lines = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    joined = lines.replace("\\\n", " ")
    return [
        (word, " ".join(rest.split()))
        for word, _, rest in (line.strip().partition(" ") for line in joined.splitlines() if line.strip())
    ]


def _context(root: Path, tracked: list[str]) -> list[str]:
    """Return the tracked files that .dockerignore lets in; its last fitting line decides, as docker has it."""
    rules = [line for line in (root / ".dockerignore").read_text().splitlines() if line and line[0] != "#"]

    def fits(name: str, pattern: str) -> bool:
        parts = name.split("/")
        tops = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
        return any(fnmatch.fnmatch(top, pattern.removeprefix("**/")) for top in tops)

    kept = []
    for name in tracked:
        allowed = True
        for rule in rules:
            if fits(name, rule.removeprefix("!")):
                allowed = rule.startswith("!")
        kept += [name] if allowed else []
    return kept


def test_the_context_holds_what_the_image_is_made_of(
    root: Path, tracked: list[str], sources: list[str]
) -> None:
    kept = set(_context(root, tracked))
    assert set(sources) <= kept
    assert {"pyproject.toml", "setup.py", "README.md", "LICENSE", "requirements/core.lock"} <= kept
    assert not [name for name in kept if name.startswith(("tests/", "docs/", ".git"))]


def test_the_image_runs_the_command_as_nobody_in_particular(root: Path) -> None:
    steps = _steps(root)
    last = {word: rest for word, rest in steps if word in {"USER", "ENTRYPOINT"}}
    assert last == {"USER": "1000", "ENTRYPOINT": '["planarena"]'}
    installs = [rest for word, rest in steps if word == "RUN" and "core.lock" in rest]
    assert len(installs) == 1
    assert "--require-hashes" in installs[0]
    versions = {rest.split()[0] for word, rest in steps if word == "FROM"}
    assert len(versions) == 1, "both stages have one Python, or the copied environment does not run"


@pytest.mark.full
def test_the_build_steps_run(root: Path, tracked: list[str], tmp_path: Path) -> None:
    """Each RUN of the first stage, with /opt and /source under a folder and this Python as `python`."""
    source, target = tmp_path / "source", tmp_path / "opt"
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/python").symlink_to(Path(sys.base_prefix) / "bin/python3")
    kept = _context(root, tracked)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment |= {"PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    ran = 0
    for word, rest in _steps(root)[: [word for word, _ in _steps(root)].index("FROM", 1)]:
        if word == "COPY":
            *what, _ = shlex.split(rest)
            for name in kept if what == ["."] else what:
                (source / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(root / name, source / name, follow_symlinks=False)
        elif word == "ENV":
            environment |= dict(part.split("=", 1) for part in shlex.split(rest))
        elif word == "ARG":
            environment[rest.partition("=")[0]] = "0123456789ab"
        elif word == "RUN":
            command = re.sub(r"/opt/planarena\b", str(target / "planarena"), rest)
            done = subprocess.run(
                ["/bin/sh", "-c", command], cwd=source, env=environment, capture_output=True, text=True, check=False
            )  # fmt: skip
            if "No matching distribution" in done.stderr or "Temporary failure" in done.stderr:
                pytest.skip("no package index here")
            assert done.returncode == 0, done.stdout + done.stderr
            ran += 1
    assert ran == 2
    program = target / "planarena/bin/planarena"

    def say(*words: str) -> str:
        done = subprocess.run(
            [program, *words], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout

    assert "(0123456789ab)" in say("--version")
    say("build", "builtin:email", "--trajectories", "2", "--workers", "1", "--out", "run")


@pytest.mark.full
def test_hadolint_finds_nothing(root: Path) -> None:
    try:
        place = managed.environment("hadolint", lock=root / "requirements/hadolint.lock")
    except EnvironmentUnavailableError as error:
        pytest.skip(f"hadolint cannot be installed here: {error.what}")
    program = place.path / "bin/hadolint"
    done = subprocess.run([program, root / "Dockerfile"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    wrong = subprocess.run(
        [program, "-"], input="FROM python\nRUN cd /x\n", capture_output=True, text=True, check=False
    )
    assert wrong.returncode == 1, "what finds nothing anywhere proves nothing"
