"""Mutants of every file that others write, read by the command that reads it: a result or one message, never a fault."""

from __future__ import annotations

import io
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from random import Random

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from asking import Materials
from mutate import mutant
from readers import READERS
from seeds import drawn, seeded

# Mutants of each reader: in `make test`, and in `make test-faults`.
FEW, MANY = 10, int(os.environ.get("FAULTS_MUTANTS", "500"))
SECONDS = 30
SHORT = drawn("readers", READERS, 9)


def _alarm(*_: object) -> None:
    raise TimeoutError("a mutant takes too long")


@pytest.mark.parametrize(
    ("name", "share"),
    [
        pytest.param(
            name,
            share,
            id=f"{share}-{name}",
            marks=() if share == "few" and name in SHORT else (pytest.mark.full,),
        )
        for share in ("few", "many")
        for name in READERS
    ],
)
def test_mutants(
    name: str,
    share: str,
    materials: Materials,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    figures: Callable[..., None],
) -> None:
    from planarena.cli import main

    reader = READERS[name]
    monkeypatch.setenv("PLANARENA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PLANARENA_TRACEBACK", "1")
    folder = tmp_path / "files"
    folder.mkdir()
    monkeypatch.chdir(folder)
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        good = reader.good(folder, materials.run)
    file = folder / reader.file
    file.parent.mkdir(parents=True, exist_ok=True)
    rng = Random(f"mutants/{name}{seeded(share)}")
    wrong: list[str] = []
    slowest = 0.0
    before = signal.signal(signal.SIGALRM, _alarm)
    number = FEW if share == "few" else MANY
    try:
        for case in range(number + 1):
            data = good if case == 0 else mutant(good, rng)
            file.write_bytes(data)
            out = tmp_path / "out"
            words = reader.words(file, out, materials.run)
            said, complained = io.StringIO(), io.StringIO()
            begun = time.monotonic()
            signal.alarm(SECONDS)
            try:
                with redirect_stdout(said), redirect_stderr(complained):
                    code = main(words)
            except BaseException as error:
                import traceback

                wrong.append(
                    f"mutant {case}: {data[:300]!r}\n{''.join(traceback.format_exception(error)[-4:])}"
                )
                code = None
            finally:
                signal.alarm(0)
            slowest = max(slowest, time.monotonic() - begun)
            if code not in (None, 0, 1, 2) or (
                code and not (said.getvalue() + complained.getvalue()).strip()
            ):
                wrong.append(f"mutant {case}: exit code {code}: {data[:300]!r}")
            if case == 0 and name not in {
                "train --data",
                "tools check mcp",
                "tools check http",
                "build against",
            }:
                assert code == 0, complained.getvalue()
            if out.is_dir():
                shutil.rmtree(out)
            elif out.exists():
                os.unlink(out)
    finally:
        signal.signal(signal.SIGALRM, before)
    figures(
        "foreign files", case=name, cases=number, ended=not any("TimeoutError" in one for one in wrong), lost=False,
        contained=True, traceback=len(wrong), seconds=slowest,
    )  # fmt: skip
    assert not wrong, f"{len(wrong)} of {number} mutants:\n" + "\n".join(wrong[:12])
