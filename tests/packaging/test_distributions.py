"""The wheel and the source distribution against the tree, and the wheel at work in a clean environment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest
import yaml

from planarena.version import __version__, describe, find_commit

LICENCE = "Apache-2.0"


def _installed_path(source: str) -> str:
    return source if source.split("/")[0] == "planarena" else f"planarena/{source}"


def test_wheel_holds_the_tree_and_nothing_else(distributions: tuple[Path, Path], sources: list[str]) -> None:
    with zipfile.ZipFile(distributions[1]) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    expected = {_installed_path(name) for name in sources} | {"planarena/commit.txt"}  # written by setup.py
    assert names - expected == set(), "in the wheel, but not in the tree"
    assert expected - names == set(), (
        "not in the wheel: a package or its package-data misses in pyproject.toml"
    )


def test_wheel_states_licence_and_command(distributions: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(distributions[1]) as wheel:
        texts = {
            name.rpartition("/")[2]: wheel.read(name).decode()
            for name in wheel.namelist()
            if ".dist-info/" in name
        }
    assert f"License-Expression: {LICENCE}" in texts["METADATA"]
    assert "Apache License" in texts["LICENSE"]
    assert "planarena = planarena.cli:main" in texts["entry_points.txt"]
    for version in ("3.11", "3.12", "3.13"):
        assert f"Classifier: Programming Language :: Python :: {version}" in texts["METADATA"]
    assert "Requires-Python: >=3.11" in texts["METADATA"]


def test_sdist_holds_what_a_build_needs(distributions: tuple[Path, Path], sources: list[str]) -> None:
    with tarfile.open(distributions[0]) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    assert {
        "pyproject.toml",
        "setup.py",
        "README.md",
        "LICENSE",
        "planarena/commit.txt",
        *sources,
    } - names == set()


@pytest.fixture(scope="module")
def installed(distributions: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin folder of an environment that holds the wheel, and sees our dependencies behind it."""
    place = tmp_path_factory.mktemp("clean")
    venv.create(place, with_pip=False, symlinks=True)
    command = [sys.executable, "-m", "pip", "--python", str(place / "bin/python"), "install", "--quiet"]
    command += ["--no-deps", "--no-index", "--disable-pip-version-check", str(distributions[1])]
    # A tree on PYTHONPATH that something was built in holds metadata, which pip would take for an installation.
    quiet = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(command, env=quiet, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    own = next((place / "lib").glob("python*/site-packages"))
    # A .pth line is searched after the environment's own packages and runs no .pth files of that folder, so
    # the wheel wins over this checkout's editable install.
    (own / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return place / "bin"


def _run(program: Path, *arguments: str, cwd: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [program, *arguments], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_wheel_runs_in_a_clean_environment(installed: Path, tmp_path: Path) -> None:
    where = _run(installed / "python", "-c", "import planarena; print(planarena.__file__)", cwd=tmp_path)
    assert Path(where.strip()).is_relative_to(installed.parent)
    assert "Usage: planarena" in _run(installed / "planarena", "--help", cwd=tmp_path)
    # The commit went from the build's environment into the source distribution and from there into the wheel.
    assert (
        _run(installed / "planarena", "--version", cwd=tmp_path)
        == f"planarena {__version__} (0123456789ab)\n"
    )
    checks = json.loads(_run(installed / "planarena", "doctor", "--json", cwd=tmp_path))
    assert checks["ok"] is True


def test_resources_are_found_in_the_wheel(installed: Path, sources: list[str], tmp_path: Path) -> None:
    script = (
        "import sys; from importlib.resources import files\n"
        "for name in sys.argv[1:]: assert files('planarena.data').joinpath(name).is_file(), name"
    )
    resources = [name.removeprefix("data/") for name in sources if name.startswith("data/")]
    _run(installed / "python", "-c", script, *resources, cwd=tmp_path)


def test_a_checkout_names_its_commit(root: Path, tmp_path: Path) -> None:
    if not (root / ".git").exists():
        pytest.skip("not a git checkout")
    command = ["git", "rev-parse", "--short=12", "HEAD"]
    head = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout.strip()
    assert find_commit().removesuffix("-dirty") == head
    assert describe().startswith(f"{__version__} ({head}")


def test_citation_states_this_version(root: Path) -> None:
    card = yaml.safe_load((root / "CITATION.cff").read_text(encoding="utf-8"))
    assert card["version"] == __version__
    assert card["license"] == LICENCE
    assert {"cff-version", "title", "message", "authors"} <= card.keys()


def test_completion_is_installed_and_completes(tmp_path: Path) -> None:
    """In a real bash, from what `--install-completion` writes into the home folder."""
    script = """
        planarena --install-completion >/dev/null
        source "$HOME/.bash_completions/planarena.sh"
        complete_it() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _planarena_completion planarena; echo "${COMPREPLY[@]}"; }
        complete_it planarena tr
        complete_it planarena audit pu
        complete_it planarena train --alg
    """
    here = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-euc", script],
        env={**os.environ, "HOME": str(tmp_path), "PATH": here},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.split("\n")[:3] == ["train", "push pull", "--algorithm"]
    assert "planarena" in (tmp_path / ".bashrc").read_text()
