"""A suite with state against a faulty server: failing and hanging requests, another model's name, kills.

The scores are those of a run that nothing disturbed, byte by byte, and no answer that arrived is asked for again.
"""

from __future__ import annotations

import ast
import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).resolve().parents[1]))
sys.path.append(str(Path(__file__).resolve().parents[1] / "unit" / "eval"))
from llm_server import Script, ScriptedServer
from test_eval_workbench import make

from planarena.eval import EvalConfig, evaluate
from planarena.eval.models.generation import UnansweredError
from planarena.eval.settings import GenerationConfig
from planarena.eval.workbench.suite import parse_action

FILES = ("scores.json", "responses.jsonl")
COPIES = 6


def widen(data: Path, copies: int) -> Path:
    """Each task so many times, with a query of its own."""
    for file in (data / "data" / "processed" / "queries_and_answers").glob("*.csv"):
        with file.open(newline="") as source:
            head, *rows = list(csv.reader(source))
        with file.open("w", newline="") as sink:
            made = [[f"{row[0]} ({number})", *row[1:]] for number in range(copies) for row in rows]
            csv.writer(sink).writerows([head, *made])
    return data


class Clerk:
    """Does what is right one call after the other, then says so."""

    def __init__(self, data: Path) -> None:
        self._answers: dict[str, list[str]] = {}
        for file in (data / "data" / "processed" / "queries_and_answers").glob("*.csv"):
            with file.open(newline="") as source:
                self._answers |= {
                    row["query"]: ast.literal_eval(row["answer"]) for row in csv.DictReader(source)
                }

    def __call__(self, body: dict[str, Any]) -> str | dict[str, Any]:
        query = next(message["content"] for message in body["messages"] if message["role"] == "user")
        done = sum(message["role"] == "tool" for message in body["messages"])
        actions = self._answers[query]
        if done == len(actions):
            return "That is done."
        action = parse_action(actions[done])
        assert action is not None
        return {"calls": [{"name": action.name.replace(".", "_"), "arguments": action.arguments}]}


def run(data: Path, url: str, out: Path, **options: Any) -> Any:
    made = GenerationConfig(concurrency=4, **{"timeout": 30.0, **options})
    config = EvalConfig(
        suites=("workbench",), out=str(out), model=f"m@{url}", data={"workbench": str(data)}, generation=made
    )
    return evaluate(config)


@pytest.mark.full
def test_faults_hangs_names_and_kills_change_no_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = widen(make(tmp_path / "data"), COPIES)
    clerk = Clerk(data)
    monkeypatch.setenv("PLANARENA_CACHE", str(tmp_path / "cache-a"))
    with ScriptedServer(Script(reply=clerk)) as server:
        whole = run(data, server.url, tmp_path / "whole")
        requests, port = len(server.arrivals), server.port
    assert whole.suites["workbench"].overall[0].value == 1.0
    assert requests == (2 + 1 + 2 + 3) * COPIES

    monkeypatch.setenv("PLANARENA_CACHE", str(tmp_path / "cache-b"))
    out = tmp_path / "faulty"
    faults = {"server_error": 0.08, "drop": 0.04, "half_body": 0.04, "hang": 0.03}
    script = Script(reply=clerk, seed=2, faults=faults, hang=4.0, most_faults=2, delay=0.05)
    command = [
        sys.executable,
        "-m",
        "planarena",
        "eval",
        "workbench",
        "--out",
        str(out),
        "--data",
        f"workbench={data}",
    ]
    with ScriptedServer(script, port=port) as server:
        command += ["--model", f"m@{server.url}", "--concurrency", "4", "--set", "generation.timeout=1.0"]
        kill(command, out / "responses.jsonl", 8)
        runs = 0
        while runs < 20:
            runs += 1
            try:
                run(data, server.url, out, timeout=1.0, attempts=2)
                break
            except UnansweredError as error:
                assert "run the same command again" in error.fix
        outcomes, arrivals = server.outcomes(), len(server.arrivals)
        good = Counter(arrival.digest for arrival in server.arrivals if arrival.outcome == "good")
    assert sum(outcomes[kind] for kind in faults) > 0.1 * arrivals
    assert outcomes["hang"] > 0
    for name in FILES:
        assert (out / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name
    # Of a killed process at most what was in flight is asked twice; nothing that had arrived.
    assert sum(count - 1 for count in good.values()) <= 4

    monkeypatch.setenv("PLANARENA_CACHE", str(tmp_path / "cache-c"))
    named = Script(reply=clerk, seed=3, faults={"other_model": 0.3})
    with ScriptedServer(named, port=port) as server:
        found = run(data, server.url, tmp_path / "named")
    for name in FILES:
        assert (tmp_path / "named" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name
    about = found.run["generation"]
    assert len(about["suites"]["workbench"]["served_by"]) == 2
    assert about["notes"][0].startswith("workbench: WARNING: the server answered as more than one model")


def kill(command: list[str], path: Path, lines: int) -> None:
    process = subprocess.Popen(command, stderr=subprocess.PIPE, env=os.environ | {"COLUMNS": "200"})
    try:
        end = time.monotonic() + 120
        while not path.exists() or path.read_bytes().count(b"\n") < lines:
            assert process.poll() is None, process.stderr and process.stderr.read()
            assert time.monotonic() < end
            time.sleep(0.02)
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    with path.open("ab") as stream:
        stream.write(b'{"suite":"workbench","id":"cal')  # a kill in the middle of writing a line


@pytest.mark.full
def test_hostile_outputs_stay_within_memory_and_time(tmp_path: Path) -> None:
    """Each suite scores outputs that are made to be costly in a process of its own: under 1 GiB and 60 seconds."""
    data = make(tmp_path / "data")
    nested = '{"a":' * 200_000
    outputs = {
        "calendar-0": ["<tool_call>\n{" * 700_000],
        "calendar-1": "x" * 10_000_000,
        "email-0": [f'<tool_call>\n{{"name": "email.send_email", "arguments": {nested}'] * 20,
        "email-1": "[" * 10_000_000,
    }
    source = tmp_path / "hostile.jsonl"
    source.write_text("\n".join(json.dumps({"id": key, "response": one}) for key, one in outputs.items()))
    command = [sys.executable, "-m", "planarena", "eval", "workbench", "--responses", str(source)]
    command += ["--data", f"workbench={data}", "--out", str(tmp_path / "out"), "--set", "unreadable=count"]
    begun = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    _, status, used = os.wait4(process.pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0, process.stderr and process.stderr.read()
    if process.stderr is not None:
        process.stderr.close()
    process.returncode = 0
    assert time.monotonic() - begun < 60
    assert used.ru_maxrss < 1 << 20  # in KiB
    verdicts = json.loads((tmp_path / "out" / "scores.json").read_bytes())["suites"]["workbench"]["verdicts"]
    assert {one["id"]: one["correct"] for one in verdicts} == {
        "calendar-0": False,
        "calendar-1": True,  # nothing was to be done, and nothing was done
        "email-0": False,
        "email-1": False,
    }
