"""What planarena writes: a table of folders, how each is made, and the commands that read it. A new one is one line of WRITTEN."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import eval_samples  # noqa: E402
from asking import ASKING, Materials  # noqa: E402

__all__ = ["WRITTEN", "Written", "kinds_of"]

Words = Callable[[Path, Path], list[str]]  # (the folder, a folder for what is needed beside it) -> words


class Written(NamedTuple):
    """A folder that a command writes.

    Attributes:
        write: The command; the same one goes on, or leaves a finished folder as it is.
        readers: Commands that read it.
        same: What must have the bytes that it had, when the command says that all is well again.
        mends: How the names of files begin that the same command writes again where they are cut, empty or gone.
        again: An option with which the command begins anew; empty where it has none.
        trains: Whether torch is needed.
    """

    write: Words
    readers: tuple[Words, ...]
    same: tuple[str, ...]
    again: str = "--fresh"
    mends: tuple[str, ...] = ()
    trains: bool = False


def _build(out: Path, _: Path) -> list[str]:
    words = [
        "build",
        "builtin:email",
        "builtin:files",
        "--trajectories",
        "12",
        "--workers",
        "1",
        "--seed",
        "2",
    ]
    return [*words, "--set", "chunk_scenarios=4", "--out", str(out)]


def _problems(beside: Path) -> Path:
    path = beside / "problems.jsonl"
    return path if path.is_file() else eval_samples.problems(path)


def _eval(out: Path, beside: Path) -> list[str]:
    answers = beside / "answers.jsonl"
    if not answers.is_file():
        answers.write_text(
            "".join(f'{{"id": "sum-{n}", "output": "It is \\\\boxed{{{2 * n}}}."}}\n' for n in range(3))
        )
    return [
        "eval",
        "math",
        "--responses",
        str(answers),
        "--data",
        f"math={_problems(beside)}",
        "--out",
        str(out),
    ]


def _run(beside: Path) -> Path:
    """A finished build beside the folder, to train on."""
    from subprocess import run

    if not (beside / "run").is_dir():
        run(
            [sys.executable, "-m", "planarena", *_build(beside / "run", beside)],
            check=True,
            capture_output=True,
        )
    return beside / "run"


def _train(out: Path, beside: Path) -> list[str]:
    words = ASKING["train --judge-model"].words(Materials(_run(beside), beside), out, "x")
    at = words.index("--judge-model")
    del words[at : at + 2]
    words[words.index("awpo")] = "sft"
    return words


def _import(out: Path, beside: Path) -> list[str]:
    import json

    rows = json.loads((HERE.parent / "unit/rows/import_samples.json").read_text())["openai"]
    (beside / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return ["import", str(beside / "rows.jsonl"), "--format", "openai", "--out", str(out)]


WRITTEN: dict[str, Written] = {
    "build": Written(
        _build,
        (
            lambda out, _: ["inspect", str(out)],
            lambda out, _: ["inspect", str(out), "--discarded", "all"],
            lambda out, beside: ["export", str(out), "--format", "openai", "--out", str(beside / "exported"), "--replace"],
            lambda out, beside: ["report", str(out), "--out", str(beside / "report.html")],
            lambda out, beside: ["audit", "export", str(out), "--limit", "3", "--out", str(beside / "sheet")],
        ),
        ("tables/*/*.parquet", "run.json", "README.md", "report.html"),
        mends=("tables/",),
    ),
    "eval": Written(
        _eval,
        (lambda out, beside: ["report", str(out), "--items", str(beside / "items.html")],
         lambda out, beside: [*_eval(beside / "second", beside), "--base", str(out), "--fresh"]),
        ("scores.json",),
    ),
    "import": Written(
        _import,
        (lambda out, _: ["inspect", str(out)], lambda out, beside: ["report", str(out), "--out", str(beside / "report.html")]),
        (),
        again="",
    ),
    "train": Written(
        _train,
        (lambda out, beside: ["report", str(out), str(out), "--out", str(beside / "report.html")],
         lambda out, beside: ["eval", "math", "--model", str(out), "--data", f"math={_problems(beside)}", "--limit", "1",
                              "--max-tokens", "4", "--out", str(beside / "evaluated"), "--fresh"]),
        (),
        trains=True,
    ),
}  # fmt: skip


def kinds_of(folder: Path) -> list[str]:
    """One file of each kind that a folder holds: shards of one table are alike, and so are products of chunks."""
    import re

    kinds: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_file() and not path.is_symlink() and not name.startswith(".faults"):
            kinds.setdefault(re.sub(r"[0-9a-f]{8,}|\d+", "N", name), name)
    return list(kinds.values())
