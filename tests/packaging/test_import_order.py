"""Imports go one way, and the command line's help loads nothing heavy."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

HEAVY = (
    "torch", "transformers", "litellm", "datasets", "pandas", "ray", "polars", "pyarrow", "numpy", "networkx",
    "matplotlib", "openai", "jsonschema", "rich",
)  # fmt: skip
MAY_IMPORT_TORCH = {
    "planarena.trainers",
    "planarena.eval",
    "planarena.serving",
    "planarena.view",
    "planarena.cli",
    "planarena.__main__",
}


def test_imports_go_one_way(root: Path) -> None:
    program = Path(sys.executable).parent / "lint-imports"
    done = subprocess.run([program, "--no-cache"], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[done.stdout.find("Contracts") :] + done.stderr


def test_contracts_cover_every_package(root: Path, project: dict[str, Any]) -> None:
    """A package that no contract names would be free to import anything."""
    contracts = {contract["type"]: contract for contract in project["tool"]["importlinter"]["contracts"]}
    layers = {name.strip(" ()") for layer in contracts["layers"]["layers"] for name in layer.split(":")}
    top = {f"planarena.{path.stem}" for path in (root / "planarena").iterdir() if _is_module(path)}
    assert top - layers == set(), "add it to its layer in pyproject.toml"
    assert top - MAY_IMPORT_TORCH - set(contracts["forbidden"]["source_modules"]) == set(), (
        "add it to the contract about torch in pyproject.toml"
    )


def _is_module(path: Path) -> bool:
    return (path / "__init__.py").is_file() or (path.suffix == ".py" and path.stem != "__init__")


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], []])
def test_help_loads_nothing_heavy(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = (
        "import json, sys; from planarena.cli import main\n"
        f"main({arguments!r})\n"
        f"print(json.dumps([name for name in {HEAVY!r} if name in sys.modules]), file=sys.stderr)"
    )
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    seconds = time.perf_counter() - started
    assert json.loads(done.stderr.splitlines()[-1]) == []
    with capsys.disabled():  # printed, not asserted: the machine may be busy
        print(f"\nplanarena {' '.join(arguments)}: {seconds:.3f} s with the interpreter's start")


def test_the_package_itself_is_light(tmp_path: Path) -> None:
    script = (
        "import sys; before = set(sys.modules); import planarena\n"
        "print(sorted(name for name in set(sys.modules) - before if not name.startswith('planarena')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    # typing and __future__ may be new to the interpreter; everything else comes with a name that is used.
    assert {name.split(".")[0] for name in eval(done.stdout)} <= sys.stdlib_module_names
