"""`planarena export` and `planarena tools` through the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planarena import Run
from planarena.cli import main


def test_export_says_what_it_wrote(
    built_run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["export", str(built_run.path), "--format", "openai", "--out", str(out), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["out"] == str(out)
    counts = built_run.info["counts"]
    assert sum(found["rows"].values()) == counts["gold"] + counts["no_call"]
    assert {path.stem for path in out.glob("*.jsonl")} == set(found["rows"])
    again = ["export", str(built_run.path), "--format", "openai", "--out", str(out)]
    assert main(again) == 0  # the same export may be written again
    capsys.readouterr()
    other = ["export", str(built_run.path), "--format", "hf", "--out", str(out)]
    for words, said in ((other, "other format"), ([*again, "--no-context"], "other options")):
        assert main(words) == 2
        err = capsys.readouterr().err
        assert said in err
        assert "--replace" in err
    assert {path.stem for path in out.glob("*.jsonl")} == set(found["rows"])
    assert main([*other, "--replace"]) == 0
    assert f"datasets.load_dataset('{out}')" in capsys.readouterr().out
    assert not [*out.glob("*.jsonl"), *out.glob("*.csv")]  # the earlier export is replaced as a whole


def test_export_options(built_run: Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ["--one-call-per-turn", "--no-context", "--system", "Be brief."]
    assert main(["export", str(built_run.path), "--format", "openai", "--out", str(out), *words]) == 0
    lines = [json.loads(line) for file in out.glob("*.jsonl") for line in file.read_text().splitlines()]
    assert {line["messages"][0]["content"] for line in lines} == {"Be brief."}
    assert all(len(m.get("tool_calls", [0])) == 1 for line in lines for m in line["messages"])


def test_export_mistakes(built_run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.txt").write_text("x")
    run, new = str(built_run.path), str(tmp_path / "new")
    for words, said in (
        ([run, "--format", "hf", "--out", str(tmp_path)], "no export wrote"),
        ([run, "--format", "hf", "--out", run], "no export wrote"),
        ([run, "--format", "hf", "--out", str(tmp_path / "mine.txt")], "is a file"),
        ([run, "--format", "openia", "--out", new], "did you mean openai"),
        ([run, "--format", "hf", "--out", new, "--kind", "golden"], "no kind 'golden'"),
        ([str(tmp_path), "--format", "hf", "--out", new], "is not a planarena run"),
    ):
        assert main(["export", *words]) == 2
        assert said in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_tools_list(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["tools", "list", "builtin:email", "--json"]) == 0
    tools = json.loads(capsys.readouterr().out)
    assert len(tools) >= 8
    assert {tool["namespace"] for tool in tools} == {"email"}
    assert main(["tools", "list", "builtin:email"]) == 0
    out = capsys.readouterr().out
    assert all(tool["wire_name"] in out for tool in tools)
    assert main(["tools", "list", "builtin:emial"]) == 2
    assert "no builtin domain 'emial'" in capsys.readouterr().err
    file = tmp_path / "mine.json"
    file.write_text('[{"name": "ring", "description": "\\u001b[31mRing [bold]it[/bold]."}]')
    assert main(["tools", "list", str(file)]) == 0
    out = capsys.readouterr().out
    assert "\\x1b[31mRing [bold]it[/bold]." in out
    assert "\x1b" not in out


def test_tools_check_lists_every_problem(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    file.write_text('[{"name": "a"}, {"name": "a"}, {"name": "b", "parameters": {"type": "\\u001b[31m"}}]')
    assert main(["tools", "check", str(file)]) == 2
    out, err = capsys.readouterr()
    assert err.count("error: ") == 2
    assert "1 usable tools, 2 problems" in out
    assert "\x1b" not in err
    assert main(["tools", "check", str(file), "--json"]) == 2
    found = json.loads(capsys.readouterr().out)
    assert [problem["kind"] for problem in found["problems"]] == ["SourceError", "SchemaError"]
    file.write_text('[{"name": "a", "inputSchema": {"type": "object"}}]')
    assert main(["tools", "check", str(file)]) == 0


def test_build_names_the_faults_of_a_tool_list_first(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "mine.json"
    file.write_text("[{]")
    assert main(["build", str(file), "--out", str(tmp_path / "run")]) == 2
    assert "line 1 column 3" in capsys.readouterr().err
    file.write_text('[{"name": "a"}]')
    assert main(["build", str(file), "--out", str(tmp_path / "run")]) == 2
    assert "nothing here can execute" in capsys.readouterr().err
