"""The guide's blocks run as they stand, with its names put in: one for each consumer."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from planarena import Run, managed
from planarena.cli import main
from planarena.session import read_tasks

TEXT = (Path(__file__).resolve().parents[2] / "docs/serving.md").read_text(encoding="utf-8")


def block(section: str, kind: str) -> str:
    """The first block of a kind in a section."""
    part = TEXT.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    found = re.search(rf"```{kind}\n(.*?)```", part, re.DOTALL)
    assert found, (section, kind)
    return found.group(1)


def commands(section: str) -> list[list[str]]:
    return [line.removeprefix("$ ").split() for line in block(section, "console").splitlines()]


def test_the_block_in_python_runs(built_run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    exec(block("In Python", "python").replace('"RUN"', repr(str(built_run.path))), {})
    shown = capsys.readouterr().out
    assert "answered" in shown


def test_every_command_of_the_guide_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    """Its options too: each is in the help of its command."""
    seen = 0
    for section in ("MCP", "A policy behind OpenAI's API", "OpenEnv", "verifiers", "NeMo Gym"):
        for words in commands(section):
            if words[0] != "planarena":
                continue
            names = words[1:3] if words[1] == "serve" else words[1:2]
            assert main([*names, "--help"]) == 0
            shown = capsys.readouterr().out
            for option in (word for word in words if word.startswith("--")):
                assert option in shown, (words, option)
            seen += 1
    assert seen == 9


def test_the_settings_of_an_editor_start_a_server(built_run: Run) -> None:
    task = read_tasks(built_run.path)[0]
    listed = json.loads(block("MCP", "json"))["mcpServers"]["task"]
    assert listed["command"] == "planarena"
    words = [{"RUN": str(built_run.path), "ID": task.id}.get(word, word) for word in listed["args"]]
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    done = subprocess.run(
        [sys.executable, "-m", "planarena", *words],
        input=json.dumps(asked) + "\n", capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["result"]["tools"]) == len(task.tools) + 3


@pytest.mark.parametrize(
    ("section", "path"),
    [("OpenEnv", "openenv.yaml"), ("verifiers", "pyproject.toml"), ("NeMo Gym", "README.md")],
)
def test_exports_of_the_guide_are_written(built_run: Run, tmp_path: Path, section: str, path: str) -> None:
    words = next(words for words in commands(section) if words[:2] == ["planarena", "export"])
    put = {"RUN": str(built_run.path), words[-1]: str(tmp_path / words[-1])}
    assert main([put.get(word, word) for word in words[1:]]) == 0
    assert (tmp_path / words[-1] / path).is_file()


@pytest.mark.full
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
def test_the_block_of_trl_trains(built_run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.e2e.test_serving_trl import make_tokenizer, tiny_model

    monkeypatch.chdir(tmp_path)
    tokenizer = make_tokenizer()
    names: dict[str, Any] = {"tokenizer": tokenizer, "model": tiny_model(tokenizer)}
    text = block("TRL", "python").replace('"RUN"', repr(str(built_run.path)))
    exec(text.replace("report_to=[]", "report_to=[], use_cpu=True, bf16=False"), names)
    assert names["trainer"].state.global_step == 1


@pytest.mark.full
def test_the_block_of_openenv_plays(built_run: Run) -> None:
    serve = [sys.executable, "-m", "planarena", "serve", "openenv", str(built_run.path), "--port", "0"]
    with subprocess.Popen(serve, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        address = server.stderr.readline().strip()
        text = block("OpenEnv", "python").replace("http://127.0.0.1:8932", address)
        done = subprocess.run(
            [str(managed.environment("openenv").python), "-c", text],
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        server.terminate()
        server.wait(20)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[0] in ("True", "False")
