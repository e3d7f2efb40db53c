"""What planarena writes: a table of folders, how each is made, and the commands that read it. A new one is one line of WRITTEN."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import eval_samples  # noqa: E402
from asking import ASKING, Materials  # noqa: E402
from readers import sheet_answers  # noqa: E402

__all__ = ["WRITTEN", "Written", "kinds_of"]

Words = Callable[[Path, Path], list[str]]  # (the folder, a folder for what is needed beside it) -> words
# How the names of the files begin that a command reads, and its words.
Reads = tuple[str, Words]


class Written(NamedTuple):
    """A folder that a command writes.

    Attributes:
        write: The command; the same one goes on, or leaves a finished folder as it is.
        readers: Commands that read it, and which of its files; "" is all of them.
        same: What must have the bytes that it had, when the command says that all is well again.
        mends: How the names of files begin that the same command writes again where they are cut, empty or gone.
        again: An option with which the command begins anew; empty where it has none.
        trains: Whether torch is needed.
        only: How the names of the files begin that are damaged; empty is all.
        goes_on: The same command takes up what a killed one left; else it refuses it, and says so.
        names: Files without which nobody knows whose the folder is: nothing in it is thrown away then.
        longer: A command that goes on from what is there to something longer.
        ends: What that one writes, in the same bytes whatever was damaged, or with a message.
    """

    write: Words
    readers: tuple[Reads, ...]
    same: tuple[str, ...]
    again: str = "--fresh"
    mends: tuple[str, ...] = ()
    trains: bool = False
    only: tuple[str, ...] = ()
    goes_on: bool = True
    names: tuple[str, ...] = ()
    longer: Words | None = None
    ends: tuple[str, ...] = ()


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
    # One checkpoint, so that what is damaged is what the run goes on from.
    return [*words, "--set", "checkpoint.keep=1"]


def _import(out: Path, beside: Path) -> list[str]:
    rows = json.loads((HERE.parent / "unit/rows/import_samples.json").read_text())["openai"]
    (beside / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return ["import", str(beside / "rows.jsonl"), "--format", "openai", "--out", str(out)]


def _train_longer(out: Path, beside: Path) -> list[str]:
    words = _train(out, beside)
    words[words.index("--steps") + 1] = "3"
    return words


def _audit(out: Path, beside: Path) -> list[str]:
    """Answers are kept beside the run that they are of."""
    if not out.is_dir():
        shutil.copytree(_run(beside), out)
    answers = beside / "answers.jsonl"
    if not answers.is_file():
        answers.write_bytes(sheet_answers(beside, _run(beside)))
    return ["audit", "import", str(out), str(answers)]


def _augment(out: Path, beside: Path) -> list[str]:
    return ["augment", str(_run(beside)), "--out", str(out), "--workers", "1", "--limit", "6"]


def _export(out: Path, beside: Path) -> list[str]:
    return ["export", str(_run(beside)), "--format", "openai", "--out", str(out)]


def _inspect(out: Path, _: Path) -> list[str]:
    return ["inspect", str(out)]


def _report(out: Path, beside: Path) -> list[str]:
    return ["report", str(out), "--out", str(beside / "report.html")]


def _export_again(out: Path, beside: Path) -> list[str]:
    return ["export", str(out), "--format", "openai", "--out", str(beside / "exported"), "--replace"]


def _evaluate(out: Path, beside: Path) -> list[str]:
    given = ["--data", f"math={_problems(beside)}", "--limit", "1", "--max-tokens", "4"]
    return ["eval", "math", "--model", str(out), *given, "--out", str(beside / "evaluated"), "--fresh"]


WRITTEN: dict[str, Written] = {
    "build": Written(
        _build,
        (
            ("", _inspect),
            ("", lambda out, _: ["inspect", str(out), "--discarded", "all"]),
            ("", _export_again),
            ("", _report),
            ("", lambda out, beside: ["audit", "export", str(out), "--limit", "3", "--out", str(beside / "sheet")]),
        ),
        ("tables/*/*.parquet", "run.json", "README.md", "report.html"),
        mends=("tables/",),
    ),
    "eval": Written(
        _eval,
        (("", lambda out, beside: ["report", str(out), "--items", str(beside / "items.html")]),
         ("", lambda out, beside: [*_eval(beside / "second", beside), "--base", str(out), "--fresh"])),
        ("scores.json",),
    ),
    "import": Written(_import, (("", _inspect), ("", _report)), (), again="", goes_on=False),
    "augment": Written(_augment, (("", _inspect), ("", _export_again), ("", _report)), ("tables/*/*.parquet",), names=("work/augment.json",)),
    "audit": Written(
        _audit,
        (("", _inspect), ("", _report), ("", _export_again),
         ("", lambda out, beside: ["audit", "export", str(out), "--adjudicate", "--limit", "3", "--out", str(beside / "sheet2")])),
        ("audit/agreement.json", "audit/decisions.jsonl", "audit/corrections.jsonl", "audit/disagreements.jsonl"),
        again="",
        only=("audit/",),
    ),
    "export": Written(_export, (("train", lambda out, beside: ["import", str(out / "train.jsonl"), "--format", "openai", "--out", str(beside / "back")]),),
                      ("*.jsonl", "metadata.csv"), again="--replace", names=("export.json",), goes_on=False),
    "train": Written(
        _train,
        (("", lambda out, beside: ["report", str(out), str(out), "--out", str(beside / "report.html")]), ("checkpoints/", _evaluate)),
        ("checkpoints/step_2/*.safetensors",),
        trains=True,
        longer=_train_longer,
        ends=("checkpoints/step_3/model.safetensors",),
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
