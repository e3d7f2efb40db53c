"""MCP clients of others play a task over both transports: the official ones, in Python and from npm."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from planarena import Run, managed
from planarena.session import SessionTask, read_tasks

PYTHON = """
import asyncio, json, sys
from mcp import Client, StdioServerParameters, stdio_client

async def main(plan):
    target = plan["url"] or stdio_client(StdioServerParameters(command=plan["command"][0], args=plan["command"][1:], env=plan["env"]))
    async with Client(target) as client:
        tools = [one.name for one in (await client.list_tools()).tools]
        prompts = [one.name for one in (await client.list_prompts()).prompts]
        prompt = (await client.get_prompt("task")).messages[0].content.text
        texts = [(await client.call_tool(name, arguments)).content[0].text for name, arguments in plan["calls"]]
    print(json.dumps({"tools": tools, "prompts": prompts, "prompt": prompt, "texts": texts}))

asyncio.run(main(json.loads(sys.argv[1])))
"""

NODE = """
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const plan = JSON.parse(process.argv[2]);
const transport = plan.url
  ? new StreamableHTTPClientTransport(new URL(plan.url))
  : new StdioClientTransport({ command: plan.command[0], args: plan.command.slice(1), env: plan.env });
const client = new Client({ name: "test", version: "1" });
await client.connect(transport);
const tools = (await client.listTools()).tools.map((one) => one.name);
const prompts = (await client.listPrompts()).prompts.map((one) => one.name);
const prompt = (await client.getPrompt({ name: "task" })).messages[0].content.text;
const texts = [];
for (const [name, args] of plan.calls) {
  texts.push((await client.callTool({ name, arguments: args })).content[0].text);
}
await client.close();
console.log(JSON.stringify({ tools, prompts, prompt, texts }));
"""


@pytest.fixture(scope="module")
def task(built_run: Run) -> SessionTask:
    return max(read_tasks(built_run.path), key=lambda one: (len(one.turns), one.actions))


@pytest.fixture
def server(built_run: Run, task: SessionTask) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    with subprocess.Popen(
        [*command(built_run, task), "--http", "--port", "0"], stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        assert task.id in line
        yield line.split()[-1], process
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0


def command(run: Run, task: SessionTask) -> list[str]:
    return [sys.executable, "-m", "planarena", "serve", "mcp", str(run.path), "--scenario", task.id]


def calls_of(task: SessionTask, *, gold: bool) -> list[tuple[str, dict[str, Any]]]:
    answers = iter(task.answers)
    found: list[tuple[str, dict[str, Any]]] = []
    for decision in task.gold:
        found += [(call.name, call.arguments) for call in decision if gold]
        if not decision:
            found.append(("send_message", {"message": next(answers)}))
    return [*found, ("check", {})]


def check(task: SessionTask, found: dict[str, Any], *, gold: bool) -> None:
    assert found["tools"][: len(task.tools)] == [tool["function"]["name"] for tool in task.tools]
    assert found["tools"][len(task.tools) :] == ["send_message", "check", "start_over"]
    assert found["prompts"] == ["task"]
    assert found["prompt"].endswith(task.turns[0])
    assert json.loads(found["texts"][-1])["done"] is gold
    assert [text for text in found["texts"] if text in task.turns] == list(task.turns[1:])


def play(runner: list[str], plan: dict[str, Any]) -> dict[str, Any]:
    done = subprocess.run(
        [*runner, json.dumps(plan)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def environment() -> dict[str, str]:
    kept = ("PATH", "HOME", "PYTHONPATH", "PLANARENA_CACHE", "LANG")
    return {name: os.environ[name] for name in kept if name in os.environ}


@pytest.mark.full
@pytest.mark.parametrize("gold", [True, False])
@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize("client", ["python", "node"])
def test_a_client_of_others_lists_calls_and_checks(
    client: str,
    transport: str,
    gold: bool,
    task: SessionTask,
    built_run: Run,
    server: tuple[str, Any],
    tmp_path: Path,
) -> None:
    if client == "python":
        script = tmp_path / "client.py"
        script.write_text(PYTHON)
        runner = [str(managed.environment("mcp").python), str(script)]
    else:
        node = shutil.which("node")
        if node is None or shutil.which("npm") is None:
            pytest.skip("no Node.js here")
        from planarena.environments.sources.mcp.packages import npm_environment

        (tmp_path / "node_modules").symlink_to(npm_environment() / "node_modules")
        script = tmp_path / "client.mjs"
        script.write_text(NODE)
        runner = [node, str(script)]
    plan = {
        "url": server[0] if transport == "http" else "",
        "command": command(built_run, task),
        "env": environment(),
        "calls": calls_of(task, gold=gold),
    }
    check(task, play(runner, plan), gold=gold)


def rpc(url: str, method: str, session: str = "", **params: Any) -> httpx.Response:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    headers = {"mcp-session-id": session} if session else {}
    return httpx.post(url, json=body, headers=headers, timeout=30)


def test_a_killed_server_loses_open_sessions_and_says_so(
    built_run: Run, task: SessionTask, server: tuple[str, subprocess.Popen[str]]
) -> None:
    url, _ = server
    port = url.split(":")[2].partition("/")[0]
    with subprocess.Popen(
        [*command(built_run, task), "--http", "--port", "0"], stderr=subprocess.PIPE, text=True
    ) as other:
        assert other.stderr is not None
        second = other.stderr.readline().split()[-1]
        session = rpc(second, "initialize", protocolVersion="2025-06-18").headers["mcp-session-id"]
        assert rpc(second, "tools/list", session).status_code == 200
        other.kill()
    with subprocess.Popen(
        [*command(built_run, task), "--http", "--port", second.split(":")[2].partition("/")[0]],
        stderr=subprocess.PIPE,
        text=True,
    ) as again:
        assert again.stderr is not None
        assert second in again.stderr.readline()
        lost = rpc(second, "tools/list", session)
        assert (lost.status_code, "initialize again" in lost.text) == (404, True)
        assert rpc(second, "initialize", protocolVersion="2025-06-18").status_code == 200
        again.send_signal(signal.SIGINT)
    assert rpc(url, "initialize", protocolVersion="2025-06-18").status_code == 200, port


def test_a_port_that_is_taken_ends_with_an_explanation(
    built_run: Run, task: SessionTask, server: tuple[str, Any]
) -> None:
    port = server[0].split(":")[2].partition("/")[0]
    begun = time.monotonic()
    done = subprocess.run(
        [*command(built_run, task), "--http", "--port", port], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "choose another --port" in done.stderr
    assert done.stderr.count("\n") == 2  # what and where, and what to write instead
    assert time.monotonic() - begun < 60
