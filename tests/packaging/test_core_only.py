"""Without any extra: every command works, or ends with one message that names the extra, exit 2."""

from __future__ import annotations

import ast
import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from planarena.cli import COMMANDS, _load
from planarena.cli._extras import EXTRAS, explain_missing

HERE = Path(__file__).resolve().parent

# What makes a command reach the packages of its extra, and the extra; "" where the core is enough. A command that
# stands here in no row is run bare: it may then work or refuse, but with no fault.
ROWS = [
    ("build builtin:email --trajectories 1 --max-actions 2 --workers 1 --out built", ""),
    ("build builtin:email --trajectories 1 --engine ray --out ray", "ray"),
    ("inspect SAMPLE --limit 1", ""),
    ("export SAMPLE --format hf --out hf", ""),
    ("export SAMPLE --format preference --out preference", ""),
    ("audit export SAMPLE --limit 2 --out sheet", ""),
    ("audit push SAMPLE", ""),
    ("train --algorithm dupo --data SAMPLE --model tiny --steps 1 --out trained", "train"),
    ("train --algorithm dupo --data SAMPLE --model tiny --steps 1 --out trained --json", "train"),
    ("train --algorithm dupo --data SAMPLE --model tiny --engine verl --out verl", "train"),
    ("eval planarena --responses gold --limit 1 --out gold", ""),
    ("eval planarena --model CHECKPOINT --out scores", "train"),
    ("eval math --responses gold --data math=PROBLEMS --set judge=math-verify --out math", "eval"),
    ("bench algorithms --preset smoke --out bench", "train"),
    ("report SAMPLE --out report.html", ""),
    ("tools list builtin:email", ""),
    ("env new shop --dir shop", ""),
    ("chat CHECKPOINT", "train"),
    ("serve policy CHECKPOINT", "serve"),
    ("serve mcp SAMPLE", ""),
    ("serve mcp SAMPLE --http", "serve"),
    ("doctor", ""),
]


def _leaves() -> Iterator[tuple[str, ...]]:
    for name in COMMANDS:
        inner: dict[str, Any] = getattr(_load(name), "commands", {})
        yield from ((name, one) for one in inner) if inner else [(name,)]


@pytest.fixture(scope="module")
def core_only() -> ModuleType:
    spec = importlib.util.spec_from_file_location("core_only", HERE / "core_only.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_command_works_or_names_its_extra(core_only: ModuleType, root: Path, tmp_path: Path) -> None:
    python = core_only.make(tmp_path / "core", root / "requirements/core.lock")
    # Commands write beside a run: answers of an audit, readings. The checkout stays as it is.
    shutil.copytree(root / "data/sample", tmp_path / "sample")
    (tmp_path / "checkpoint").mkdir()
    for name, text in (("config.json", '{"model_type": "qwen2"}'), ("model.safetensors", "x")):
        (tmp_path / "checkpoint" / name).write_text(text)
    (tmp_path / "problems.jsonl").write_text('{"id": "1", "question": "1+1?", "answer": "2"}\n')
    places = {
        "SAMPLE": str(tmp_path / "sample"),
        "CHECKPOINT": str(tmp_path / "checkpoint"),
        "math=PROBLEMS": f"math={tmp_path / 'problems.jsonl'}",
    }
    rows = [([places.get(word, word) for word in line.split()], extra) for line, extra in ROWS]
    named = {tuple(line.split()[:2]) for line, _ in ROWS} | {(line.split()[0],) for line, _ in ROWS}
    rows += [([*leaf], None) for leaf in _leaves() if leaf not in named and leaf != ("audit", "up")]
    answers = core_only.run(python, root, tmp_path, [words for words, _ in rows])
    wrong = []
    for (words, extra), (code, out, err) in zip(rows, answers, strict=True):
        said = f"{' '.join(words)}: exit {code}\n{out[-400:]}{err[-400:]}"
        if "a fault of planarena" in err or "Traceback" in err:
            wrong.append(said)
        elif extra:
            good = code == 2 and f"planarena[{extra}]" in err and err.count("\n") <= 2
            wrong += [] if good else [said]
        elif extra == "" and words[:2] != ["audit", "push"]:  # which wants a server, in any environment
            wrong += [] if code == 0 else [said]
    assert wrong == [], "\n\n".join(wrong)


def test_the_environment_has_the_core_and_no_extra(core_only: ModuleType, root: Path, tmp_path: Path) -> None:
    """Otherwise the test above would find everything installed."""
    python = core_only.make(tmp_path / "core", root / "requirements/core.lock")
    script = (
        "from importlib.util import find_spec; import sys; print([n for n in sys.argv[1:] if find_spec(n)])"
    )
    done = subprocess.run(
        [python, "-c", script, "polars", "litellm", *EXTRAS], capture_output=True, text=True, check=True
    )
    # Of what litellm's own requirements bring, the core holds tokenizers and jinja2.
    assert set(ast.literal_eval(done.stdout)) <= {"polars", "litellm", "tokenizers", "jinja2"}
    assert {"polars", "litellm"} <= set(ast.literal_eval(done.stdout))


def test_every_package_of_an_extra_is_explained(project: dict[str, Any]) -> None:
    """A requirement that an extra gains is entered in planarena/cli/_extras.py."""
    extras = project["project"]["optional-dependencies"]
    modules = {"pyzmq": "zmq", "transferqueue": "transfer_queue"}
    core = {canonicalize_name(Requirement(line).name) for line in project["project"]["dependencies"]}
    for extra, lines in extras.items():
        for line in lines if extra != "dev" else ():
            name = canonicalize_name(Requirement(line).name)
            if name not in core:
                assert modules.get(name, name.replace("-", "_")) in EXTRAS, f"extra {extra}: {line}"
    assert set(EXTRAS.values()) <= set(extras)


def test_only_absent_packages_of_extras_are_explained() -> None:
    absent = ModuleNotFoundError("No module named 'zmq.green'", name="zmq.green")
    loaded = [name for name in EXTRAS if name in sys.modules]
    for name in loaded[:1]:
        part = ModuleNotFoundError(f"No module named '{name}.part'", name=f"{name}.part")
        assert explain_missing(part, ["train"]) is None
    if "zmq" not in sys.modules:
        told = explain_missing(absent, ["--json", "train"])
        assert told is not None
        assert str(told).startswith(
            "planarena train: zmq is not installed\n  fix: pip install 'planarena[verl]'"
        )
    assert explain_missing(ModuleNotFoundError("No module named 'x'", name="x"), []) is None
    assert explain_missing(ImportError("cannot import name 'y'", name="torch"), []) is None
