"""What is tracked says nothing about the machine that it was written on."""

from __future__ import annotations

import sys
from pathlib import Path

LARGEST = 1_000_000  # bytes; a repository of source wants no larger file, and resources stay small samples


def test_no_paths_of_this_machine(root: Path, tracked: list[str]) -> None:
    places = {str(root), str(root.parent / "shared"), str(Path.home()), sys.prefix, sys.base_prefix} - {
        "/",
        "/usr",
    }
    found = []
    for name in tracked:
        path = root / name
        if path.is_symlink():
            assert not path.readlink().is_absolute(), name
            continue
        content = path.read_bytes()
        found += [f"{name}: {place}/" for place in sorted(places) if f"{place}/".encode() in content]
    assert found == []


def test_no_large_files(root: Path, tracked: list[str]) -> None:
    large = {name: (root / name).stat().st_size for name in tracked if not (root / name).is_symlink()}
    assert {name: size for name, size in large.items() if size > LARGEST} == {}
