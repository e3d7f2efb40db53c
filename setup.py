"""What pyproject.toml cannot say: a build writes the commit that it was made from into the package.

The commit is PLANARENA_COMMIT where that is set (a build without .git, as in a container), else that of the
source distribution which is built from, else the checkout's. Nothing is written where none is known.
"""

from __future__ import annotations

import os
import runpy
from pathlib import Path
from typing import Any

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

ROOT = Path(__file__).resolve().parent


def _write_commit(package: Path) -> None:
    found = runpy.run_path(str(ROOT / "planarena" / "version.py"))["find_commit"]
    commit = os.environ.get("PLANARENA_COMMIT", "").strip() or found()
    if commit:
        (package / "commit.txt").write_text(f"{commit}\n", encoding="utf-8")


class BuildWithCommit(build_py):
    """Copies the package, and the commit beside it; an editable install asks its checkout instead."""

    def run(self) -> None:
        """Copy the package, then write the commit."""
        super().run()
        if not self.editable_mode:
            _write_commit(Path(self.build_lib) / "planarena")


class SourceWithCommit(sdist):
    """A source distribution has no .git, so it carries the commit along."""

    def make_release_tree(self, base_dir: str, files: Any) -> None:
        """Copy the sources, then write the commit."""
        super().make_release_tree(base_dir, files)
        _write_commit(Path(base_dir) / "planarena")


setup(cmdclass={"build_py": BuildWithCommit, "sdist": SourceWithCommit})
