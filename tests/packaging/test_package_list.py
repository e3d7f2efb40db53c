"""The explicit package list and the four links against the tree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

LINKED = ("trainers", "eval", "annotation", "data")


def _dotted(folder: str) -> str:
    return (
        folder.replace("/", ".")
        if folder.split("/")[0] == "planarena"
        else f"planarena.{folder.replace('/', '.')}"
    )


def test_every_package_folder_is_listed_once(project: dict[str, Any], sources: list[str]) -> None:
    listed = project["tool"]["setuptools"]["packages"]
    found = {_dotted(name.removesuffix("/__init__.py")) for name in sources if name.endswith("/__init__.py")}
    assert sorted(set(listed)) == listed, "keep the list sorted and without repeats"
    assert set(listed) - found == set(), "listed in pyproject.toml, but no such package"
    assert found - set(listed) == set(), (
        "a package that pyproject.toml does not list: it would not be installed"
    )


def test_every_module_lies_in_a_package(sources: list[str]) -> None:
    packages = {name.removesuffix("/__init__.py") for name in sources if name.endswith("/__init__.py")}
    stray = [name for name in sources if name.endswith(".py") and name.rpartition("/")[0] not in packages]
    assert stray == []


def test_the_mapping_names_the_five_folders(project: dict[str, Any]) -> None:
    mapping = project["tool"]["setuptools"]["package-dir"]
    five = {"planarena": "planarena"} | {f"planarena.{name}": name for name in LINKED}
    assert mapping == five, "a subpackage belongs into the list only; its folder follows from its parent's"


@pytest.mark.parametrize("name", LINKED)
def test_links_are_committed_as_links(root: Path, tracked: list[str], name: str) -> None:
    link = f"planarena/{name}"
    assert link in tracked
    if not (root / link).is_symlink():
        pytest.skip("this checkout was made without symbolic links")
    assert (root / link).readlink() == Path("..") / name


def test_no_other_links(root: Path, tracked: list[str]) -> None:
    links = [name for name in tracked if (root / name).is_symlink()]
    assert set(links) <= {f"planarena/{name}" for name in LINKED}
