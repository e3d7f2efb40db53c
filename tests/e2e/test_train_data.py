"""What `planarena train --data` takes: a run, a file, a folder; and one clear message for each that it cannot use."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from planarena import Run
from planarena.cli import main
from planarena.rows import RowOptions, load_pairs, load_rows, write_rows

TINY = {
    "model.tiny.hidden": 16,
    "model.tiny.layers": 1,
    "model.tiny.heads": 2,
    "model.tiny.intermediate": 16,
    "model.tiny.vocabulary": 400,
    "model.tiny.warm_start": 2,
    "rollout.batch_size": 2,
    "rollout.group_size": 2,
    "rollout.max_prompt_length": 2000,
    "rollout.max_response_length": 200,
    "validation.rows": 2,
    "data.limit": 8,
    "threads": 1,
}
OPTIONS = RowOptions(template="short", plan="none", splits=("train",))
CHAT = {
    "messages": [
        {"role": "user", "content": "What is the weather in Oslo?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "1",
                    "type": "function",
                    "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "1", "content": '{"sky": "clear"}'},
        {"role": "assistant", "content": "It is clear in Oslo."},
    ],
    "tools": [
        {
            "type": "function",
            "function": {
                "name": "get_weather",
                "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
            },
        }
    ],
}


def _train(data: Path, out: Path, algorithm: str = "grpo", **settings: Any) -> int:
    flags = [word for key, value in {**TINY, **settings}.items() for word in ("--set", f"{key}={value}")]
    words = ["train", "--algorithm", algorithm, "--model", "tiny", "--steps", "1", "--json"]
    return main([*words, "--data", str(data), "--out", str(out), *flags])


def _lines(path: Path, *records: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def _rows(run: Run, folder: Path) -> Path:
    write_rows(folder / "train.jsonl", list(load_rows(run.path, OPTIONS))[:6])
    return folder / "train.jsonl"


def _folder(run: Run, folder: Path) -> Path:
    rows = list(load_rows(run.path, OPTIONS))
    write_rows(folder / "rows" / "a.jsonl", rows[:3])
    write_rows(folder / "rows" / "b.jsonl", rows[3:6])
    return folder / "rows"


def _pairs(run: Run, folder: Path) -> Path:
    write_rows(folder / "pairs.jsonl", list(load_pairs(run.path, OPTIONS))[:6])
    return folder / "pairs.jsonl"


@pytest.mark.parametrize(
    ("algorithm", "make", "read"),
    [
        ("grpo", lambda run, folder: run.path, 8),
        ("grpo", _rows, 6),
        ("sft", _folder, 6),
        ("grpo", lambda run, folder: _lines(folder / "chat.jsonl", CHAT, CHAT), 4),
        ("dpo", _pairs, 6),
    ],
    ids=["run", "file", "folder", "chat", "pairs"],
)
def test_runs_files_and_folders_train(
    algorithm: str,
    make: Callable[[Run, Path], Path],
    read: int,
    built_run: Run,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    data = make(built_run, tmp_path)
    assert _train(data, tmp_path / "out", algorithm) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["steps"] == 1
    kind = {"grpo": "prompts", "sft": "experts", "dpo": "pairs"}[algorithm]
    assert told["counts"][kind] == read


def _without_gold(run: Run, folder: Path) -> Path:
    path = _rows(run, folder)
    good, bad = (json.loads(line) for line in path.read_text().splitlines()[:2])
    bad["gold"] = {"calls": [], "response": None}
    return _lines(path, good, bad)


def _mixed(run: Run, folder: Path) -> Path:
    rows = _folder(run, folder)
    _lines(rows / "c.jsonl", CHAT)
    return rows


def _empty_run(run: Run, folder: Path) -> Path:
    (folder / "empty").mkdir()
    (folder / "empty" / "run.json").write_bytes((run.path / "run.json").read_bytes())
    return folder / "empty"


def _text(name: str, text: str) -> Callable[[Run, Path], Path]:
    def make(run: Run, folder: Path) -> Path:
        (folder / name).write_text(text)
        return folder / name

    return make


def _nothing(run: Run, folder: Path) -> Path:
    (folder / "nothing").mkdir()
    return folder / "nothing"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (_empty_run, "empty: gives no row"),
        (_text("rows.jsonl", ""), "rows.jsonl: is empty"),
        (_nothing, "nothing: holds no file"),
        (_text("odd.jsonl", '{"a": 1}\n'), "odd.jsonl, line 1: has the keys a, which is no shape"),
        (_text("bad.jsonl", "{\n"), "bad.jsonl, line 1: is no JSON"),
        (_text("notes.txt", "hello"), "notes.txt: has the ending .txt"),
        (_mixed, "c.jsonl, line 1: is of the format openai, but"),
        (_without_gold, "train.jsonl, line 2: a row without gold"),
        (_pairs, "holds preference pairs, not single decisions"),
        (lambda run, folder: folder / "absent.jsonl", "absent.jsonl: there is no such file"),
    ],
    ids=[
        "empty-run",
        "empty-file",
        "empty-folder",
        "shape",
        "json",
        "ending",
        "mixed",
        "gold",
        "pairs",
        "absent",
    ],
)
def test_data_that_cannot_be_used_is_one_clear_message(
    make: Callable[[Run, Path], Path],
    message: str,
    built_run: Run,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert _train(make(built_run, tmp_path), tmp_path / "out") == 2
    told = capsys.readouterr()
    assert message in told.err or message in told.out
    assert "Traceback" not in told.err


def test_a_command_that_failed_leaves_its_folder_free(built_run: Run, tmp_path: Path) -> None:
    assert _train(tmp_path / "absent", tmp_path / "out") == 2
    assert _train(_rows(built_run, tmp_path), tmp_path / "out") == 0


def test_preferences_need_pairs(built_run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _train(_rows(built_run, tmp_path), tmp_path / "out", "dpo") == 2
    told = capsys.readouterr()
    assert "holds no preference pairs" in told.err + told.out
