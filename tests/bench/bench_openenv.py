"""Steps a second over OpenEnv's own server and client: our environment beside an echo environment, in one run.

`python tests/bench/bench_openenv.py` builds a small run, serves it and an environment that only echoes with OpenEnv's
server, one process each, and lets the same number of clients step them over WebSockets at the same time in turns. It
prints steps a second and memory with 1,000 open sessions, and exits 1 below 1,000 steps a second or above 2 GiB. Both
begin an episode again every hundred steps.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import planarena
from planarena import managed
from planarena.config import BuildConfig, ExecutionConfig
from planarena.export import export
from planarena.serving.openenv import paths

CLIENTS, SECONDS, OPEN, FEWEST = 32, 4, 1_000, 1_000

ECHO = """
from openenv.core.env_server.http_server import create_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, ConcurrencyConfig, Observation, State
class Say(Action):
    message: str
class Heard(Observation):
    echoed_message: str = ""
class Echo(Environment):
    SUPPORTS_CONCURRENT_SESSIONS = True
    REQUIRES_SINGLE_THREAD_EXECUTOR = True
    def reset(self, seed=None, episode_id=None, **_): return Heard()
    async def reset_async(self, **options): return self.reset()
    def step(self, action, timeout_s=None, **_): return Heard(echoed_message=action.message, reward=0.0)
    async def step_async(self, action, timeout_s=None, **_): return self.step(action)
    @property
    def state(self): return State()
app = create_app(Echo, Say, Heard, env_name="echo", concurrency_config=ConcurrencyConfig(max_concurrent_envs=2000))
"""

LAUNCH = """
import socket, sys, uvicorn
from importlib import import_module
app = import_module(sys.argv[1]).app
listener = socket.create_server(("127.0.0.1", 0), backlog=2048)
print(listener.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False)).run(sockets=[listener])
"""

LOAD = """
import asyncio, json, sys, time
from websockets.asyncio.client import connect
jobs, clients, seconds, opened = json.loads(sys.argv[1]), *map(int, sys.argv[2:])
async def ask(socket, body):
    await socket.send(body)
    found = json.loads(await socket.recv())
    assert found["type"] == "observation", found
async def steps(job, end):
    async with connect(job["url"]) as socket:
        await ask(socket, job["reset"])
        number, texts = 0, job["steps"]
        while time.perf_counter() < end:
            await ask(socket, texts[number % len(texts)])
            number += 1
            if number % 100 == 0:
                await ask(socket, job["reset"])
        return number
async def hold(job):
    sockets = []
    for start in range(0, opened, 50):
        sockets += await asyncio.gather(*(connect(job["url"], ping_interval=None) for _ in range(50)))
    await asyncio.gather(*(ask(one, job["reset"]) for one in sockets))
    with open(f"/proc/{job['pid']}/status") as status:
        rss = int(next(line for line in status if line.startswith("VmRSS")).split()[1]) / 1024
    begun, number = time.perf_counter(), 0
    for one in sockets:
        await ask(one, job["steps"][0])
    await asyncio.gather(*(one.close() for one in sockets))
    return rss
async def main():
    found = {name: {"steps": 0.0} for name in jobs}
    for _ in range(3):
        for name, job in jobs.items():
            begun = time.perf_counter()
            done = await asyncio.gather(*(steps(job, begun + seconds) for _ in range(clients)))
            found[name]["steps"] = max(found[name]["steps"], sum(done) / (time.perf_counter() - begun))
    for name, job in jobs.items():
        found[name]["rss"] = await hold(job)
    print(json.dumps(found))
asyncio.run(main())
"""


def main() -> int:
    """Print the table."""
    python = str(managed.environment("openenv").python)
    with tempfile.TemporaryDirectory() as folder:
        config = BuildConfig(
            out=f"{folder}/run",
            sources=("builtin:banking", "builtin:travel"),
            trajectories=60,
            execution=ExecutionConfig(workers=1),
        )
        project = export(planarena.build(config), "openenv", f"{folder}/tasks").path
        Path(folder, "echo.py").write_text(ECHO)
        rows = [json.loads(line) for line in (project / "validation/oracle.jsonl").read_text().splitlines()]
        row = max(rows, key=lambda one: sum(map(len, one["gold"])))
        calls = row["gold"][0]  # what a task begins with is a look, which can be repeated
        steps = [
            {"type": "call_tool", "tool_name": call["name"], "arguments": call["arguments"]} for call in calls
        ]
        variables = {**os.environ, "PYTHONPATH": os.pathsep.join([str(project), folder, paths()])}
        jobs, servers = {}, []
        try:
            for name, module in (("planarena", "server.app"), ("echo", "echo")):
                server = subprocess.Popen(
                    [python, "-c", LAUNCH, module], env=variables, stdout=subprocess.PIPE, text=True
                )
                servers.append(server)
                assert server.stdout is not None
                url = f"ws://127.0.0.1:{server.stdout.readline().strip()}/ws"
                own = name == "planarena"
                bodies = steps if own else [{"message": "x" * 60}] * len(steps)
                jobs[name] = {
                    "url": url,
                    "pid": server.pid,
                    "reset": json.dumps(
                        {"type": "reset", "data": {"task_id": row["task_id"]} if own else {}}
                    ),
                    "steps": [json.dumps({"type": "step", "data": body}) for body in bodies],
                }
            words = [json.dumps(jobs), str(CLIENTS), str(SECONDS), str(OPEN)]
            done = subprocess.run([python, "-c", LOAD, *words], capture_output=True, text=True, check=False)
            if done.returncode:
                print(done.stderr)
                return 1
            found = json.loads(done.stdout)
        finally:
            for server in servers:
                server.terminate()
                server.wait(20)
    for name, one in found.items():
        print(f"{name:10} {one['steps']:8,.0f} steps/s {one['rss']:8,.0f} MiB with {OPEN:,} sessions")
    ratio = found["planarena"]["steps"] / found["echo"]["steps"]
    print(f"{ratio:.2f} of the echo environment's rate")
    return int(found["planarena"]["steps"] < FEWEST or found["planarena"]["rss"] > 2048)


if __name__ == "__main__":
    sys.exit(main())
