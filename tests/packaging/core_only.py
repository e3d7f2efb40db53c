"""An environment that holds the core lock's packages and nothing else, made of links in a second, and one process in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from importlib import metadata
from pathlib import Path
from typing import Any

_DRIVER = """
import contextlib, io, json, sys
from planarena.cli import main
answers = []
for words in json.loads(sys.argv[1]):
    out, err = (io.TextIOWrapper(io.BytesIO(), write_through=True) for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(words)
        except SystemExit as error:
            code = error.code
    answers.append([code, *(one.buffer.getvalue().decode() for one in (out, err))])
sys.__stdout__.write("\\n" + json.dumps(answers))
"""


def make(place: Path, lock: Path) -> Path:
    """Return the interpreter of a new environment in which exactly the packages of `lock` can be imported."""
    venv.create(place, with_pip=False, symlinks=True)
    own = next((place / "lib").glob("python*/site-packages"))
    pins = [line.split("==")[0] for line in lock.read_text().splitlines() if line[:1].isalnum()]
    for name in [*pins, "planarena"]:
        distribution = metadata.distribution(name)
        tops = {path.parts[0] for path in distribution.files or () if path.parts[0] != ".."}
        for top in tops - {"__pycache__", "tree.pth"}:
            target = Path(str(distribution.locate_file(top)))
            if target.exists() and target.suffix != ".pth" and not (own / top).exists():
                (own / top).symlink_to(target)
    return place / "bin/python"


def run(python: Path, root: Path, cwd: Path, commands: list[list[str]]) -> list[tuple[int, str, str]]:
    """Run command lines one after the other in one process of that environment: code, output, errors of each."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [python, "-P", "-c", _DRIVER, json.dumps(commands)],
        cwd=cwd,
        env={**kept, "PYTHONPATH": str(root), "PLANARENA_CACHE": str(cwd / "cache"), "COLUMNS": "100"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    answers: list[Any] = json.loads(done.stdout.splitlines()[-1])
    return [(code, out, err) for code, out, err in answers]


if __name__ == "__main__":
    here = Path(__file__).resolve().parent.parent.parent
    print(make(Path(sys.argv[1]), here / "requirements/core.lock"))
