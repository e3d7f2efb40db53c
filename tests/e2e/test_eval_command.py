"""`planarena eval` as a person uses it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from planarena.environments import sandbox


def planarena(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = Path(sys.executable).with_name("planarena")
    return subprocess.run([command, *map(str, arguments)], capture_output=True, text=True, check=False)


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    path = tmp_path / "questions.jsonl"
    rows = [
        {
            "question_id": n,
            "options": ["w", "x", "y", "z"],
            "answer": "ABCD"[n % 4],
            "category": "law" if n < 6 else "<math>",
        }
        for n in range(10)
    ]
    path.write_text("\n".join(json.dumps(row) for row in rows))
    return path


def outputs(path: Path, texts: dict[int, Any]) -> Path:
    path.write_text("\n".join(json.dumps({"id": str(key), "response": text}) for key, text in texts.items()))
    return path


def test_an_evaluation_writes_its_four_files(questions: Path, tmp_path: Path) -> None:
    texts = {n: f"The answer is ({'ABCD'[n % 4]})." for n in range(8)} | {
        8: "<script>alert(1)</script> \x1b[31m"
    }
    source = outputs(tmp_path / "outputs.jsonl", texts)
    done = planarena(
        "eval",
        "mmlu-pro",
        "--out",
        tmp_path / "run",
        "--responses",
        source,
        "--data",
        f"mmlu-pro={questions}",
        "--no-guess",
    )
    assert done.returncode == 0, done.stderr
    assert "80.00 %" in done.stdout
    assert str(tmp_path / "run" / "report.html") in done.stdout
    files = {file.name for file in (tmp_path / "run").iterdir()}
    assert files == {"responses.jsonl", "scores.json", "report.html", "run.json", "items.jsonl", "items.html"}
    items = [json.loads(line) for line in (tmp_path / "run" / "items.jsonl").read_text().splitlines()]
    assert (items[0]["id"], items[0]["gold"], items[0]["output"]) == ("6", "C", texts[6])
    scores = json.loads((tmp_path / "run" / "scores.json").read_text())["suites"]["mmlu-pro"]
    verdicts = {item["id"]: item for item in scores["verdicts"]}
    assert verdicts["0"] | {"tokens": 0} == {
        "id": "0", "category": "law", "correct": True, "reason": "", "detail": "", "sample": 0, "tokens": 0,
        "guessed": False, "answer": "A", "marks": {}, "counts": {},
    }  # fmt: skip
    assert (verdicts["8"]["correct"], verdicts["8"]["reason"]) == (False, "nothing extracted")
    assert (verdicts["9"]["correct"], verdicts["9"]["reason"]) == (False, "no response")
    rows = {row["category"]: row for row in scores["categories"]}
    assert (rows["law"]["correct"], rows["<math>"]["correct"], rows["<math>"]["missing"]) == (6, 2, 1)
    assert rows["law"]["low"] < 1 == rows["law"]["high"]
    page = (tmp_path / "run" / "report.html").read_text()
    assert "&lt;math&gt;" in page
    assert "<math>" not in page
    for outside in ("<script", "src=", "http://", "https://", "@import", "\x1b"):
        assert outside not in page
    run = json.loads((tmp_path / "run" / "run.json").read_text())
    assert run["config"]["guess"] is False


def test_json_output_base_and_limit(questions: Path, tmp_path: Path) -> None:
    good = outputs(tmp_path / "good.jsonl", {n: f"answer is {'ABCD'[n % 4]}" for n in range(10)})
    poor = outputs(
        tmp_path / "poor.jsonl", {n: f"answer is {'ABCD'[n % 4] if n % 2 else 'J'}" for n in range(10)}
    )
    data = ("--data", f"mmlu-pro={questions}", "--json")
    first = planarena("eval", "mmlu-pro", "--out", tmp_path / "good", "--responses", good, *data)
    assert json.loads(first.stdout)["suites"]["mmlu-pro"]["overall"] == {"micro": 1.0}
    second = planarena(
        "eval", "mmlu-pro", "--out", tmp_path / "poor", "--responses", poor, "--base", "good", *data
    )
    assert json.loads(second.stdout)["suites"]["mmlu-pro"]["overall"] == {"micro": 0.5}
    base = json.loads((tmp_path / "poor" / "scores.json").read_text())["suites"]["mmlu-pro"]["base"]
    assert (base["name"], base["items"]["items"], base["items"]["lost"]) == ("good", 10, 5)
    limited = planarena(
        "eval", "mmlu-pro", "--out", tmp_path / "l", "--responses", poor, "--limit", "1", *data
    )
    assert json.loads(limited.stdout)["suites"]["mmlu-pro"]["categories"] == {"<math>": 0.0, "law": 0.0}


def test_outputs_of_another_benchmark_are_an_error(questions: Path, tmp_path: Path) -> None:
    source = outputs(tmp_path / "o.jsonl", {100: "answer is A"})
    done = planarena(
        "eval",
        "mmlu-pro",
        "--out",
        tmp_path / "run",
        "--responses",
        source,
        "--data",
        f"mmlu-pro={questions}",
    )
    assert done.returncode == 2
    assert "none of the 1 outputs is of an item of mmlu-pro, such as '100'" in done.stderr


def test_bfcl_says_what_was_not_run(tmp_path: Path) -> None:
    if sandbox.missing() is not None:
        pytest.skip(f"no sandbox here: {sandbox.missing()}")
    text = '<think>base times height</think><tool_call>{"name": "calculate_triangle_area", "arguments": %s}</tool_call>'
    # The id is version 3's; the second output is one of an item that the limit leaves out.
    rows = [
        {"id": "simple_0", "response": text % '{"base": 10, "height": 5}'},
        {"id": "simple_9", "response": ""},
    ]
    source = tmp_path / "o.jsonl"
    source.write_text("\n".join(json.dumps(row) for row in rows))
    done = planarena("eval", "bfcl-v4", "--out", tmp_path / "run", "--responses", source, "--limit", "1")
    assert done.returncode == 0, done.stderr
    assert "simple_python           100.00 %  1 of 1" in done.stdout
    assert (
        "web_search_base         not run: a model needs a search key and the internet for it" in done.stdout
    )
    assert (
        "memory_vector           not run: its search needs the weights of an embedding model" in done.stdout
    )
    assert "multi_turn_base         not run: no outputs were given" in done.stdout
    run = json.loads((tmp_path / "run" / "run.json").read_text())
    assert run["reading"]["bfcl-v4"]["unknown_items"] == 1
    overall = json.loads((tmp_path / "run" / "scores.json").read_text())["suites"]["bfcl-v4"]["overall"]
    assert "multi_turn_base" in next(value for value in overall if value["name"] == "v3")["not_run"]


def test_an_interrupted_evaluation_leaves_no_worker_and_is_run_again(tmp_path: Path) -> None:
    if sandbox.missing() is not None:
        pytest.skip(f"no sandbox here: {sandbox.missing()}")
    endless = [[[{"square_root": '{"number": 2, "precision": 100000000}'}]] for _ in range(5)]
    source = tmp_path / "o.jsonl"
    source.write_text(json.dumps({"id": "multi_turn_base_15", "response": endless}))
    command = Path(sys.executable).with_name("planarena")
    arguments = ["eval", "bfcl-v3", "--out", tmp_path / "run", "--responses", source]
    started = subprocess.Popen(
        [command, *arguments, "--set", "seconds=60"],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while len(_workers(started.pid)) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)
    sandboxes = _workers(started.pid)
    assert sandboxes
    started.send_signal(signal.SIGINT)
    try:
        _, said = started.communicate(timeout=60)
    finally:
        started.kill()
    assert started.returncode == 130, said
    assert "Traceback" not in said
    assert not (tmp_path / "run" / "scores.json").exists()
    assert [pid for pid in sandboxes if Path(f"/proc/{pid}").exists()] == []
    again = planarena(*arguments, "--set", "seconds=0.5")
    assert again.returncode == 0, again.stderr
    assert "multi_turn_base           0.00 %" in again.stdout


def _workers(parent: int) -> list[int]:
    """Sandboxes that a process started."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(fields[1]) == parent and b"bwrap" in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def test_scoring_again_writes_the_same_bytes(questions: Path, tmp_path: Path) -> None:
    source = outputs(tmp_path / "o.jsonl", dict.fromkeys(range(10), "no letter here at all"))
    written = []
    for _ in range(2):
        done = planarena(
            "eval",
            "mmlu-pro",
            "--out",
            tmp_path / "run",
            "--responses",
            source,
            "--data",
            f"mmlu-pro={questions}",
        )
        assert done.returncode == 0, done.stderr
        written.append((tmp_path / "run" / "scores.json").read_bytes())
    assert written[0] == written[1]
    assert b'"guessed": true' in written[0]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["bfcl-v4", "--model", "./no/such/folder"], "there is no such folder"),
        (["math", "--model", "m@http://127.0.0.1:9/v1", "--responses", "gold"], "both a model and existing"),
        (["bfcl-v5", "--responses", "gold"], "there is no suite 'bfcl-v5'"),
        (["mmlu-pro"], "no outputs to score"),
        (["mmlu-pro", "--responses", "gold"], "questions are not shipped"),
        (["api-bank", "--responses", "gold"], "not shipped with planarena"),
        (["api-bank", "--responses", "gold", "--data", "api-bank"], "is not SUITE=PATH"),
        (["api-bank", "--responses", "gold", "--data", "api-bank=/nonexistent"], "there is no such file"),
        (["math", "--responses", "/nonexistent/file"], "there is no such file"),
        (["math", "--responses", "gold", "--limit", "0"], "0 is out of range"),
        (["math", "--responses", "gold", "--set", "extraktion=boxed"], "did you mean extraction"),
        (["math", "--responses", "gold", "--set", "extraction=magic"], "'magic' is no choice"),
        (["math", "--responses", "gold", "--base", "nowhere"], "no evaluation called 'nowhere'"),
    ],
)
def test_mistakes_are_one_clear_error(arguments: list[str], said: str, tmp_path: Path) -> None:
    done = planarena("eval", *arguments, "--out", tmp_path / "run")
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert "fix" in done.stderr
