"""An export for OpenEnv in the environment that has OpenEnv: its validation, its client, many sessions, wrong requests."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from planarena import Run, managed
from planarena.export import export
from planarena.serving.openenv import paths

pytestmark = pytest.mark.full

# Runs where OpenEnv is: plays the gold and less of it, through OpenEnv's own client.
PLAY = """
import json, sys
from openenv.core.generic_client import GenericEnvClient
url, rows, skip = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3] == "wrong"
found = []
with GenericEnvClient(base_url=url).sync() as client:
    for row in rows:
        opened = client.reset(task_id=row["task_id"], seed=1, episode_id="e")
        result, answers = opened, iter(row["answers"])
        left = sum(map(len, row["gold"]))
        for decision in row["gold"]:
            for one in decision:
                left -= 1
                if left or not skip:
                    result = client.step({"type": "call_tool", "tool_name": one["name"], "arguments": one["arguments"]})
                    assert not result.done and result.reward is None
            if not decision:
                text = next(answers)
                result = client.step({"type": "call_tool", "tool_name": "send_message", "arguments": {"message": text}})
        state = client.state()
        found.append({"reward": result.reward, "done": result.done, "opened": opened.observation, "state": state})
print(json.dumps(found))
"""

MANY = """
import asyncio, json, sys, time
from openenv.core.generic_client import GenericEnvClient
url, number, names = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])
async def one(place, gate):
    async with GenericEnvClient(base_url=url, websocket_ping_interval_s=None) as client:
        first = await client.reset(task_id=names[place % len(names)])
        await gate.wait()
        for _ in range(3):
            result = await client.step({"type": "list_tools"})
        again = await client.step({"type": "call_tool", "tool_name": "send_message", "arguments": {"message": "no"}})
        return first.observation["task_id"] == names[place % len(names)] and len(result.observation["tools"]) > 1
async def main():
    gate = asyncio.Event()
    tasks = [asyncio.create_task(one(place, gate)) for place in range(number)]
    await asyncio.sleep(8)
    pid = int(sys.argv[4])
    rss = int(next(line for line in open(f"/proc/{pid}/status") if line.startswith("VmRSS")).split()[1]) / 1024
    gate.set()
    found = await asyncio.gather(*tasks)
    print(json.dumps({"right": sum(found), "rss": rss}))
asyncio.run(main())
"""

FUZZ = """
import asyncio, copy, json, random, sys
import websockets
url, number = sys.argv[1].replace("http", "ws") + "/ws", int(sys.argv[2])
rng = random.Random(5)
values = [None, True, -1, 2**80, "", "x" * 5000, [], {}, {"a": [1]}, "\\ud800", 1e400]
bodies = [{"type": "reset", "data": {"seed": 1}}, {"type": "step", "data": {"type": "call_tool", "tool_name": "t", "arguments": {"a": 1}}},
          {"type": "step", "data": {"type": "list_tools"}}, {"type": "state"}]
def change(value):
    if isinstance(value, dict) and value and rng.random() < 0.8:
        key = rng.choice(sorted(value)); value[key] = change(value[key]); return value
    return copy.deepcopy(rng.choice(values))
async def main():
    answers = closed = 0
    socket = None
    for _ in range(number):
        if socket is None:
            socket = await websockets.connect(url)
        body = json.loads(json.dumps(rng.choice(bodies)))
        for _ in range(rng.randrange(3)):
            body = change(body)
        text = json.dumps(body)
        text = text[:rng.randrange(len(text) + 1)] if rng.random() < 0.1 else text
        try:
            await socket.send(text)
            json.loads(await asyncio.wait_for(socket.recv(), 30)); answers += 1
        except websockets.ConnectionClosed:
            closed += 1; socket = None
    print(json.dumps({"answers": answers, "closed": closed}))
asyncio.run(main())
"""


@pytest.fixture(scope="module")
def python() -> str:
    return str(managed.environment("openenv").python)


@pytest.fixture(scope="module")
def project(built_run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export(built_run, "openenv", tmp_path_factory.mktemp("openenv") / "some-tasks").path


@pytest.fixture(scope="module")
def rows(project: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (project / "validation/oracle.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def served(built_run: Run) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """`planarena serve openenv`."""
    command = [sys.executable, "-m", "planarena", "serve", "openenv", str(built_run.path), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        line = process.stderr.readline().strip()
        assert line.startswith("http://127.0.0.1:"), line
        yield line, process
        process.send_signal(signal.SIGTERM)
        process.wait(20)


def ask(python: str, script: str, *words: str) -> Any:
    done = subprocess.run(
        [python, "-c", script, *words], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def test_its_own_validation_passes(project: Path, python: str) -> None:
    command = Path(python).with_name("openenv")
    for words in (["--level", "static"], ["--skip-build"]):
        done = subprocess.run(
            [command, "validate", project, *words], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout
        assert "PASS  static.manifest" in done.stdout
    evidence = json.loads((project / "validation/evidence.json").read_text())
    assert [evidence[name] for name in ("oracle_max", "floor", "replayability", "no_solution_leakage")] == [
        1,
        0,
        1,
        1,
    ]
    assert not evidence["left_out"]


def test_a_running_server_passes_its_probe(served: tuple[str, Any], python: str) -> None:
    done = subprocess.run(
        [Path(python).with_name("openenv"), "validate", "--url", served[0]],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


def test_its_client_plays_gold_to_one_and_wrong_to_nought(
    served: tuple[str, Any], rows: list[dict[str, Any]], python: str, built_run: Run
) -> None:
    from planarena.session import read_tasks

    chosen = [row for row in rows if any(row["gold"])][:10]
    tasks = read_tasks(built_run.path)
    hidden = [task.open().goal.final_state_hash for task in tasks]
    hidden += [text for task in tasks for text in task.answers if len(text) > 20]
    for kind, wanted in (("gold", 1.0), ("wrong", 0.0)):
        found = ask(python, PLAY, served[0], json.dumps(chosen), kind)
        assert [(one["reward"], one["done"]) for one in found] == [(wanted, True)] * 10
        text = json.dumps([[one["opened"], one["state"]] for one in found], ensure_ascii=False)
        assert not [secret for secret in hidden if secret in text]
        for one, row in zip(found, chosen, strict=True):
            assert one["opened"]["messages"] == [dict(m) for m in tasks.get(row["task_id"]).messages]


def test_the_oracle_of_the_project_earns_all(served: tuple[str, Any], project: Path, python: str) -> None:
    done = subprocess.run(
        [python, project / "validation/oracle.py", served[0]], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "tasks earn 1" in done.stdout


def test_tasks_are_listed_without_what_is_right(
    served: tuple[str, Any], built_run: Run, rows: list[dict[str, Any]]
) -> None:
    from planarena.session import read_tasks

    tasks = read_tasks(built_run.path)
    listed = []
    splits = httpx.get(f"{served[0]}/planarena/splits").json()
    for split in splits:
        answer = httpx.post(f"{served[0]}/planarena/tasks", json={"split": split["name"]}).json()
        listed += answer["tasks"]
        number = httpx.post(f"{served[0]}/planarena/num_tasks", json={"split": split["name"]}).json()
        assert number == {"num_tasks": len(answer["tasks"])}
    assert {one["task_id"] for one in listed} == {row["task_id"] for row in rows}
    assert set(listed[0]) == {"task_id", "split", "domain", "user_messages", "tools"}
    wrong = httpx.post(f"{served[0]}/planarena/task", json={"split": "train", "index": 10**6})
    assert wrong.status_code == 400
    for path in ("/goal", "/tasks.jsonl", "/sessions", "/validation/oracle.jsonl"):
        assert httpx.get(f"{served[0]}{path}").status_code in (404, 405)
    del tasks


def server_of(process: subprocess.Popen[str]) -> int:
    """The server is the one child of the command."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return int(children[0])


def test_a_thousand_sessions_at_one_time(
    served: tuple[str, subprocess.Popen[str]], rows: list[dict[str, Any]], python: str
) -> None:
    names = json.dumps([row["task_id"] for row in rows])
    found = ask(python, MANY, served[0], "1000", names, str(server_of(served[1])))
    assert found["right"] == 1000
    assert found["rss"] < 2048, found
    print(found)


def test_fuzzed_messages_leave_the_server_at_work(
    served: tuple[str, Any], python: str, rows: list[dict[str, Any]]
) -> None:
    found = ask(python, FUZZ, served[0], "10000")
    assert found["answers"] + found["closed"] == 10_000
    assert found["answers"] > 8_000, found
    again = ask(python, PLAY, served[0], json.dumps(rows[:1]), "gold")
    assert again[0]["reward"] == 1.0


def test_a_token_is_asked_for(project: Path, python: str) -> None:
    script = (
        "import asyncio, json, httpx, websockets\n"
        "from server.app import app\n"
        "async def main():\n"
        "    transport = httpx.ASGITransport(app)\n"
        "    async with httpx.AsyncClient(transport=transport, base_url='http://x') as client:\n"
        "        codes = [(await client.get('/health', headers=h)).status_code\n"
        "                 for h in ({}, {'authorization': 'Bearer no'}, {'authorization': 'Bearer yes'})]\n"
        "    sent = []\n"
        "    async def send(message): sent.append(message['type'])\n"
        "    async def receive(): return {'type': 'websocket.connect'}\n"
        "    await app({'type': 'websocket', 'path': '/ws', 'headers': []}, receive, send)\n"
        "    print(json.dumps([codes, sent]))\n"
        "asyncio.run(main())\n"
    )
    variables = {**os.environ, "PLANARENA_SERVE_TOKEN": "yes", "PYTHONPATH": f"{project}:{paths()}"}
    done = subprocess.run([python, "-c", script], env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [[401, 401, 200], ["websocket.close"]]
