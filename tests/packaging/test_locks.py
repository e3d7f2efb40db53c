"""The locks: hashed, free of addresses, consistent with each other and with pyproject.toml."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

LOCKS = ("core", "dev", "torch-cpu", "cuda")


def _entries(root: Path, lock: str) -> dict[str, tuple[Version, list[str]]]:
    text = (root / "requirements" / f"{lock}.lock").read_text(encoding="utf-8")
    found = {}
    for entry in re.split(r"\n(?=\S)", text):
        if pin := re.match(r"([A-Za-z0-9._-]+)==([^ \\\n]+)", entry):
            found[canonicalize_name(pin[1])] = (
                Version(pin[2]),
                re.findall(r"--hash=sha256:([0-9a-f]{64})\b", entry),
            )
    return found


@pytest.mark.parametrize("lock", [*LOCKS, "docs"])
def test_every_line_is_a_pin_or_a_hash(root: Path, lock: str) -> None:
    text = (root / "requirements" / f"{lock}.lock").read_text(encoding="utf-8")
    lines = [line.removesuffix("\\").rstrip() for line in text.splitlines() if not line.startswith("#")]
    # Options such as --index-url, and direct addresses, match neither form.
    form = re.compile(r"([A-Za-z0-9._-]+==[A-Za-z0-9.!+-]+( ; .+)?|    --hash=sha256:[0-9a-f]{64})")
    assert [line for line in lines if not form.fullmatch(line)] == []
    assert all(hashes for _, hashes in _entries(root, lock).values())


def test_locks_agree(root: Path) -> None:
    core, dev, cpu, cuda = (_entries(root, lock) for lock in LOCKS)
    assert {name: entry[0] for name, entry in core.items()}.items() <= {
        name: entry[0] for name, entry in dev.items()
    }.items()
    assert dev.keys() & cuda.keys() == set()
    assert cpu.keys() == {"torch"}
    assert not {"torch", "ray", "transformers"} & core.keys()


def test_torch_comes_from_either_place(root: Path) -> None:
    """The pin is the public version: the registry's wheel and the CPU wheel both answer to it."""
    version, hashes = _entries(root, "dev")["torch"]
    cpu_version, cpu_hashes = _entries(root, "torch-cpu")["torch"]
    assert version.local is None
    assert str(cpu_version) == f"{version}+cpu"
    assert set(cpu_hashes) < set(hashes)


def test_locks_meet_the_project_requirements(root: Path, project: dict[str, Any]) -> None:
    """Fails when a requirement changed and `make lock` was not run."""
    dev, core = _entries(root, "dev"), _entries(root, "core")
    wanted = [(line, core) for line in project["project"]["dependencies"]]
    for lines in project["project"]["optional-dependencies"].values():
        wanted += [(line, dev) for line in lines]
    for line, lock in wanted:
        requirement = Requirement(line)
        name = canonicalize_name(requirement.name)
        assert name in lock, f"{line} is not in the lock: run `make lock`"
        assert requirement.specifier.contains(lock[name][0], prereleases=True), f"{line}: run `make lock`"


def test_the_documentation_has_a_lock_of_what_it_asks_for(root: Path) -> None:
    wanted = (root / "requirements/docs.in").read_text(encoding="utf-8").splitlines()
    names = {canonicalize_name(line) for line in wanted if line and not line.startswith("#")}
    assert names <= _entries(root, "docs").keys(), "run `make lock`"
