"""An export for verifiers in the environment that has verifiers: its validation, and its evaluation of a scripted model."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from planarena import Run, managed
from planarena.export import export
from planarena.serving.openenv import paths
from planarena.session import SessionTask, read_tasks

pytestmark = pytest.mark.full

TASKS = 6


@pytest.fixture(scope="module")
def project(built_run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export(built_run, "verifiers", tmp_path_factory.mktemp("verifiers") / "some-tasks").path


@pytest.fixture(scope="module")
def binaries() -> Path:
    return managed.environment("verifiers").path / "bin"


def run(binaries: Path, project: Path, folder: Path, *words: str, timeout: int = 500) -> str:
    variables = {
        **os.environ,
        "PYTHONPATH": f"{project}:{paths()}",
        "PATH": f"{binaries}:{os.environ['PATH']}",
        "SCRIPT_KEY": "none",
    }
    done = subprocess.run(
        [binaries / words[0], *words[1:]],
        env=variables, cwd=folder, capture_output=True, text=True, timeout=timeout, check=False,
    )  # fmt: skip
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return done.stdout


def validated(binaries: Path, project: Path, folder: Path) -> dict[str, Any]:
    words = [
        "--no-rich",
        "--runtime.type",
        "subprocess",
        "--output-dir",
        str(folder / "out"),
        "--run.name",
        "v",
    ]
    run(binaries, project, folder, "vf-validate", "some-tasks", *words)
    (summary,) = (folder / "out").glob("**/summary.json")
    found: dict[str, Any] = json.loads(summary.read_text())
    return found


def test_its_validation_replays_the_gold(
    project: Path, binaries: Path, tmp_path: Path, built_run: Run
) -> None:
    number = len(read_tasks(built_run.path))
    (tmp_path / "whole").mkdir()
    whole = validated(binaries, project, tmp_path / "whole")
    assert (whole["outcomes"]["valid"], whole["total"]) == (number, number)
    assert whole["checks"]["gold"]["valid"] == whole["checks"]["noop"]["valid"] == number
    # A gold that lacks its last call is found out.
    broken = tmp_path / "broken"
    shutil.copytree(project, broken)
    file = broken / "some_tasks" / "solutions.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    row = next(row for row in rows if any(row["gold"]))
    row["gold"] = [*row["gold"]]
    last = max(place for place, calls in enumerate(row["gold"]) if calls)
    del row["gold"][last][-1]
    if not row["gold"][last]:
        del row["gold"][last]
    file.write_text("".join(json.dumps(one) + "\n" for one in rows))
    found = validated(binaries, broken, tmp_path)
    assert (found["outcomes"]["valid"], found["outcomes"]["invalid"]) == (number - 1, 1)


class Script(BaseHTTPRequestHandler):
    """A model that does what the gold does, or the gold but for its last call."""

    tasks: dict[str, SessionTask]
    gold = True

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        asked = next(one for one in body["messages"] if one["role"] == "user")["content"]
        text = asked if isinstance(asked, str) else "".join(part["text"] for part in asked)
        steps = self.steps(self.tasks[text])
        message = steps[min(sum(one["role"] == "assistant" for one in body["messages"]), len(steps) - 1)]
        reason = "tool_calls" if message.get("tool_calls") else "stop"
        found = {
            "id": "x", "object": "chat.completion", "created": 0, "model": body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": reason}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }  # fmt: skip
        if not body.get("stream"):
            self.send(json.dumps(found).encode(), "application/json")
            return
        delta = {**message}
        if message.get("tool_calls"):
            delta["tool_calls"] = [{"index": n, **call} for n, call in enumerate(message["tool_calls"])]
        chunk = {**found, "object": "chat.completion.chunk"}
        pieces = [
            {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
            {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
        ]
        data = "".join(f"data: {json.dumps(one)}\n\n" for one in pieces) + "data: [DONE]\n\n"
        self.send(data.encode(), "text/event-stream")

    def steps(self, task: SessionTask) -> list[dict[str, Any]]:
        answers, found = iter(task.answers), []
        left, told = task.actions, 0
        for decision in task.gold:
            calls = [(call.name, call.arguments) for call in decision]
            left -= len(calls)
            if calls and not left and not self.gold:
                calls = calls[:-1]
            if not decision:
                told += 1
                text = next(answers)
                if told == len(task.turns):
                    found.append({"role": "assistant", "content": text})
                else:
                    calls = [("send_message", {"message": text})]
            if calls:
                listed = [
                    {
                        "id": f"call_{len(found)}_{place}",
                        "type": "function",
                        "function": {"name": name, "arguments": json.dumps(arguments)},
                    }
                    for place, (name, arguments) in enumerate(calls)
                ]
                found.append({"role": "assistant", "content": None, "tool_calls": listed})
        return found

    def send(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def scripted(built_run: Run) -> Iterator[tuple[str, type[Script]]]:
    Script.tasks = {task.turns[0]: task for task in read_tasks(built_run.path)}
    server = ThreadingHTTPServer(("127.0.0.1", 0), Script)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/v1", Script
    server.shutdown()
    thread.join()
    server.server_close()


def test_its_evaluation_gives_gold_one_and_wrong_nought(
    project: Path, binaries: Path, tmp_path: Path, scripted: tuple[str, type[Script]], built_run: Run
) -> None:
    tasks = read_tasks(built_run.path)
    chosen = [task.id for task in tasks if task.actions and len(task.turns) == 1][: TASKS // 2]
    chosen += [task.id for task in tasks if task.actions and len(task.turns) > 1][: TASKS // 2]
    for gold in (True, False):
        scripted[1].gold = gold
        folder = tmp_path / str(gold)
        folder.mkdir()
        words = [
            "some-tasks",
            "-m",
            "script",
            "--client.base-url",
            scripted[0],
            "--client.api-key-var",
            "SCRIPT_KEY",
        ]
        words += [
            "--env.agent.harness.id",
            "null",
            "--env.agent.runtime.type",
            "subprocess",
            "--no-push",
            "--no-rich",
        ]
        words += ["--select.include.ids", json.dumps(chosen), "--output-dir", str(folder / "out")]
        run(binaries, project, folder, "vf-eval", *words)
        (file,) = (folder / "out").glob("**/traces.jsonl")
        traces = [json.loads(line) for line in file.read_text().splitlines()]
        assert len(traces) == TASKS
        for trace in (one["traces"][0] for one in traces):
            assert trace["rewards"]["success"]["score"] == float(gold), trace["errors"]
            assert trace["metrics"]["answered"] == 1.0
            text = json.dumps(trace["task"])
            assert tasks.get(trace["task"]["data"]["id"]).open().goal.final_state_hash not in text
