"""Inputs below 100 MB that would become huge: no reader takes more than 1 GiB or 60 s for one."""

from __future__ import annotations

import gzip
import os
import shutil
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
import eval_samples
from asking import Materials
from zygote import Zygote

MOST_BYTES, MOST_SECONDS = 1 << 30, 60.0
SIZE = 90 << 20


def _laughs(levels: int = 40) -> str:
    lines = ["a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, levels)]
    return "\n".join(lines)


def _bomb(path: Path) -> None:
    with gzip.open(path, "wb") as file:
        for _ in range(3000):
            file.write(b" " * (1 << 20))


def _bomb_of_rows(path: Path) -> None:
    """No line of it is too long, and every one of them is kept."""
    with gzip.open(path, "wb", compresslevel=1) as file:
        for number in range(1600):
            file.write(
                b'{"id": "sum-%d", "problem": "p", "answer": "1", "output": "' % number
                + b" " * (1 << 20)
                + b'"}\n'
            )


def _zip(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(20):
            archive.writestr(f"{number}.jsonl", b"[" * (100 << 20))


def _repeated(unit: bytes, start: bytes = b"", end: bytes = b"", size: int = SIZE) -> Callable[[Path], None]:
    return lambda path: path.write_bytes(start + unit * (size // len(unit)) + end) and None


def _table(path: Path) -> None:
    """One short text, a hundred million times: Parquet keeps it as a few kilobytes."""
    import pyarrow
    import pyarrow.parquet

    column = pyarrow.DictionaryArray.from_arrays(
        pyarrow.array([0] * 30_000_000, pyarrow.int32()), ["x" * 1000]
    )
    pyarrow.parquet.write_table(pyarrow.table({"messages": column}), path, compression="zstd")


def _texts(length: int, rows: int, column: str = "problem") -> Callable[[Path], None]:
    """One long text in every row: it is unpacked anew for each."""

    def make(path: Path) -> None:
        import pyarrow
        import pyarrow.parquet

        texts = pyarrow.DictionaryArray.from_arrays(
            pyarrow.array([0] * rows, pyarrow.int32()), ["x" * length]
        )
        pyarrow.parquet.write_table(pyarrow.table({column: texts, "answer": texts}), path, compression="zstd")

    return make


# Kind of file -> how it is made.
FILES: dict[str, tuple[str, Callable[[Path], None]]] = {
    "open brackets": ("a.json", lambda path: path.write_text("[" * SIZE) and None),
    "dense list": ("a.json", _repeated(b"[],", b"[", b"[]]")),
    "dense object in a line": ("a.jsonl", _repeated(b"[],", b'{"messages":[', b"[]]}\n")),
    "short texts": ("a.json", _repeated(b'"ab",', b"[", b'"ab"]')),
    "small objects": ("a.json", _repeated(b'{"ab":1.5},', b"[", b"{}]")),
    "decimals": ("a.json", _repeated(b"1.5,", b"[", b"1.5]")),
    "short texts in a line": ("a.jsonl", _repeated(b'"ab",', b'{"messages":[', b'"ab"]}\n')),
    "small objects in a line": ("a.jsonl", _repeated(b'{"ab":1.5},', b'{"messages":[', b"{}]}\n")),
    "as dense as is taken": ("a.json", _repeated(b'{"ab":1.5},', b"[", b"{}]", size=17 << 20)),
    "many small objects": ("a.json", _repeated(b'{"ab":1.5},', b"[", b"{}]", size=60 << 20)),
    "rows of small objects": (
        "a.jsonl",
        _repeated(b'{"id":"sum-1","output":[' + b'{"ab":1.5},' * 2000 + b"{}]}\n"),
    ),
    "rows of short texts": (
        "a.jsonl",
        _repeated(b'{"id":"sum-1","problem":"p","answer":"2","output":[' + b'"ab",' * 2000 + b'"ab"]}\n'),
    ),
    "one wide text": (
        "a.jsonl",
        _repeated(b"word ", '{"id": "a", "output": "\U0001f600'.encode(), b'"}\n', size=60 << 20),
    ),
    "many short lines": ("a.jsonl", _repeated(b"{}\n")),
    "one long text": ("a.jsonl", _repeated(b"word ", b'{"id": "a", "output": "', b'"}\n')),
    "digits": ("a.jsonl", _repeated(b"9", b'{"id": ', b"}\n")),
    "gzip bomb": ("a.jsonl.gz", _bomb),
    "gzip bomb of rows": ("a.jsonl.gz", _bomb_of_rows),
    "zip bomb": ("a.zip", _zip),
    "parquet bomb": ("a.parquet", _table),
    "parquet of long texts": ("a.parquet", _texts(10_000_000, 2_000)),
    "parquet of many texts": ("a.parquet", _texts(20_000, 200_000)),
    "rows of a letter": ("a.csv", _repeated(b"a\n", b"query\n")),
    "billion laughs": ("a.yaml", lambda path: path.write_text(_laughs()) and None),
    "long yaml": ("a.yaml", _repeated(b"- a\n")),
    "yaml of 60 MB": ("a.yaml", _repeated(b"- a\n", size=60 << 20)),
    "yaml as long as is taken": ("a.yaml", _repeated(b"- ab\n", size=4 << 20)),
    "deep yaml": ("a.yaml", _repeated(b"- ")),
}


def _at(file: Path, place: str) -> Path:
    """Put a file where a command looks for it."""
    target = file.parent / place
    target.parent.mkdir(parents=True, exist_ok=True)
    os.link(file, target)
    return target


def _suite(file: Path, out: Path, _: Path) -> list[str]:
    suite = _at(file, "suite/suite.yaml" if file.suffix == ".yaml" else "suite/items.jsonl").parent
    (suite / "suite.yaml").exists() or (suite / "suite.yaml").write_text("rule: calls\n")
    (suite / "items.jsonl").exists() or (suite / "items.jsonl").write_text('{"id": "a"}\n')
    return ["eval", f"suite:{suite}", "--responses", "gold", "--out", str(out)]


def _environment(place: str) -> Words:
    def words(file: Path, out: Path, _: Path) -> list[str]:
        from planarena.cli import main

        home = out.parent / "home"
        assert main(["env", "new", "library", "--dir", str(home)]) == 0
        (home / "library" / place).unlink()
        return ["env", "check", str(_at(file, f"home/library/{place}").parent), "--trusted"]

    return words


def _metrics(file: Path, out: Path, _: Path) -> list[str]:
    return ["report", str(_at(file, "trained/metrics.jsonl").parent), "--out", f"{out}.html"]


def _against(file: Path, out: Path, _: Path) -> list[str]:
    tools = out.parent / "tools.json"
    tools.write_text('[{"name": "find", "description": "Finds.", "parameters": {"type": "object"}}]')
    bench = _at(file, f"bench/{file.name}").parent
    return ["tools", "import", str(tools), "--against", f"x={bench}", "--out", f"{out}.json"]


def _reading(file: Path, out: Path, run: Path) -> list[str]:
    """The same bytes behind what says that it is a reading."""
    shutil.copytree(run, out)
    reading = out.parent / "reading.json"
    reading.write_bytes(b'{"kind":"planarena-reading","judgements":' + file.read_bytes() + b"}")
    return ["audit", "import", str(out), str(reading), "--annotator", "x"]


def _base(file: Path, out: Path, _: Path) -> list[str]:
    (base := _at(file, "base/scores.json").parent).joinpath("run.json").write_text("{}")
    return ["report", str(base), "--items", f"{out}.html"]


def _answers(file: Path, out: Path, run: Path) -> list[str]:
    shutil.copytree(run, out)
    return ["audit", "import", str(out), str(file)]


Words = Callable[[Path, Path, Path], list[str]]
# Command -> (the file, a new place, a finished build) -> the words with which it reads that file.
COMMANDS: dict[str, Words] = {
    "import": lambda file, out, _: ["import", str(file), "--format", "openai", "--out", str(out)],
    "import toolrl": lambda file, out, _: ["import", str(file), "--format", "toolrl", "--out", str(out)],
    "train": lambda file, out, _: ["train", "--algorithm", "sft", "--data", str(file), "--out", str(out), "--steps", "1", "--model", "nowhere"],
    "responses": lambda file, out, _: ["eval", "math", "--responses", str(file), "--data", f"math={eval_samples.problems(out.parent / 'p.jsonl')}", "--out", str(out)],
    "questions": lambda file, out, _: ["eval", "math", "--responses", "gold", "--data", f"math={file}", "--out", str(out)],
    "tools": lambda file, out, _: ["tools", "list", str(file)],
    "tools import": lambda file, out, _: ["tools", "import", str(file), "--out", f"{out}.json"],
    "openapi": lambda file, out, _: ["tools", "check", f"openapi:{file}"],
    "mcp": lambda file, out, _: ["tools", "check", f"mcp:{file}"],
    "http": lambda file, out, _: ["tools", "check", f"http:{file}"],
    "config": lambda file, out, _: ["build", "--config", str(file), "--out", str(out), "--dry-run"],
    "training config": lambda file, out, _: ["train", "--config", str(file), "--data", "x", "--out", str(out)],
    "suite": _suite,
    "audit": _answers,
    "metrics": _metrics,
    "against": _against,
    "reading": _reading,
    "evaluation": _base,
    "api-bank": lambda file, out, _: ["eval", "api-bank", "--responses", "gold", "--data", f"api-bank={_at(file, 'bank/level-1-api.json').parent}", "--out", str(out)],
    "mmlu-pro": lambda file, out, _: ["eval", "mmlu-pro", "--responses", "gold", "--data", f"mmlu-pro={_at(file, 'mmlu/test' + file.suffix).parent}", "--out", str(out)],
    "acebench": lambda file, out, _: ["eval", "acebench", "--responses", "gold", "--data", f"acebench={_at(file, 'ace/data_normal_atom_bool.json').parent}", "--out", str(out)],
    "nestful": lambda file, out, _: ["eval", "nestful", "--responses", "gold", "--data", f"nestful={_at(file, 'nest/nestful_data.jsonl').parent}", "--out", str(out)],
    "tau2": lambda file, out, _: ["eval", "tau2", "--responses", "gold", "--data", f"tau2={_at(file, 'data/tau2/domains/retail/tasks.json').parents[4]}", "--out", str(out)],
    "tau2 runs": lambda file, out, _: ["eval", "tau2", "--responses", str(file), "--out", str(out)],
    "workbench": lambda file, out, _: ["eval", "workbench", "--responses", "gold", "--data", f"workbench={_at(file, 'bench/data/processed/queries_and_answers/a_queries_and_answers.csv').parents[3]}", "--out", str(out)],
    "tasks": lambda file, _, __: ["serve", "mcp", str(file)],
    "words.yaml": _environment("words.yaml"),
    "seeds.yaml": _environment("seeds.yaml"),
    "topics": lambda file, out, _: ["env", "draft", "--topics", str(file), "--model", "m@http://127.0.0.1:1/v1", "--out", str(out)],
}  # fmt: skip
READ_BY = {
    ".json": (
        "import",
        "train",
        "responses",
        "questions",
        "tools",
        "openapi",
        "config",
        "tools import",
        "mcp",
        "http",
        "against",
        "reading",
        "evaluation",
        "api-bank",
        "acebench",
        "tau2",
        "tau2 runs",
    ),
    ".jsonl": (
        "import",
        "train",
        "responses",
        "questions",
        "import toolrl",
        "suite",
        "audit",
        "metrics",
        "topics",
        "against",
        "mmlu-pro",
        "nestful",
        "tasks",
    ),
    ".gz": ("responses", "questions"),
    ".zip": ("responses",),
    ".parquet": ("import", "questions", "against"),
    ".csv": ("workbench",),
    ".yaml": ("openapi", "config", "training config", "suite", "words.yaml", "seeds.yaml"),
}
SHORT = {
    ("billion laughs", "config"),
    ("billion laughs", "openapi"),
    ("zip bomb", "responses"),
    ("deep yaml", "config"),
}


@pytest.mark.parametrize(
    ("kind", "command"),
    [
        pytest.param(kind, command, marks=() if (kind, command) in SHORT else (pytest.mark.full,))
        for kind, (name, _) in FILES.items()
        for command in READ_BY[Path(name).suffix]
    ],
)
def test_large_files(
    kind: str,
    command: str,
    zygote: Zygote,
    materials: Materials,
    tmp_path: Path,
    figures: Callable[..., None],
) -> None:
    name, make = FILES[kind]
    make(tmp_path / name)
    assert (tmp_path / name).stat().st_size < 100 << 20
    words = COMMANDS[command](tmp_path / name, tmp_path / "out", materials.run)
    # A reader without a limit is to fail, and not to take the machine.
    ended = zygote.run(
        words,
        cwd=tmp_path,
        env={"PLANARENA_CACHE": str(tmp_path / "cache")},
        limits={"RLIMIT_DATA": 3 * MOST_BYTES},
        timeout=2 * MOST_SECONDS,
    )
    shutil.rmtree(tmp_path)
    figures("large files", case=f"{command}: {kind}", ended=not ended.timed_out, lost=False, contained=ended.peak < MOST_BYTES,
            traceback=ended.traceback, seconds=ended.seconds, peak=ended.peak)  # fmt: skip
    assert not ended.timed_out, ended
    assert not ended.traceback, ended
    assert ended.code in (0, 1, 2), ended
    assert ended.peak < MOST_BYTES, f"{ended.peak >> 20} MiB\n{ended}"
    assert ended.seconds < MOST_SECONDS, ended
