"""The public names are pinned: a name that comes or goes shows in the change that makes it."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

HERE = Path(__file__).resolve().parent
PINNED: dict[str, list[str]] = json.loads((HERE / "public_names.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def public_names() -> ModuleType:
    spec = importlib.util.spec_from_file_location("public_names", HERE / "public_names.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_public_names_are_the_pinned_ones(public_names: ModuleType) -> None:
    assert public_names.read_public_names() == PINNED, (
        "meant? then run: python tests/packaging/public_names.py"
    )


def test_every_public_name_is_there() -> None:
    """In a process of its own: importing everything here would hide a module that forgets an import."""
    script = (
        "import importlib, json, sys\n"
        "missing = [f'{package}.{name}' for package, names in json.load(sys.stdin).items()\n"
        "           for name in names if not hasattr(importlib.import_module(package), name)]\n"
        "print(json.dumps(missing))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], input=json.dumps(PINNED), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == []
