"""Speeds of tool sources: gold a second in-process, in the sandboxed worker, over MCP stdio, emulated; conversion.

`python tests/bench/bench_tools.py [SECONDS]`. Gold is proven tasks of executing and proving (phase 1, without words
and Parquet), sources already open. Each rate is given over wall time, which asks for a quiet machine, and over the
CPU time of this process and all below it (sandboxes, servers), which does not; the worker and the servers are
also given in calls.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from planarena.config import BuildConfig, CompositionConfig
from planarena.environments import sandbox
from planarena.environments.sources import open_source
from planarena.errors import PlanArenaError
from planarena.pipeline.execute.scenario_run import execute_scenario
from planarena.pipeline.execute.scenarios import draw_scenario
from planarena.pipeline.products import Executed
from planarena.tools.openapi import convert_openapi

sys.path.append(str(Path(__file__).resolve().parents[1]))
from python_scaffold import SCAFFOLD

MEMORY = {
    "mcpServers": {
        "memory": {
            "command": "npx",
            "args": ["-y", "@modelcontextprotocol/server-memory"],
            "env": {"MEMORY_FILE_PATH": "{state}/memory.jsonl"},
            "planarena": {
                "state": {
                    "files": {
                        "memory.jsonl": '{"type":"entity","name":"Ada","entityType":"person","observations":["likes tea"]}\n'
                    }
                },
                "only": ["search_nodes", "open_nodes", "read_graph"],
                "tools": {
                    "search_nodes": {"examples": [{"query": "Ada"}]},
                    "open_nodes": {"examples": [{"names": ["Ada"]}]},
                },
            },
        },
        "everything": {
            "command": "npx",
            "args": ["-y", "@modelcontextprotocol/server-everything"],
            "planarena": {
                "only": ["echo", "get-sum"],
                "read_only": True,
                "tools": {
                    "echo": {"examples": [{"message": "hello there"}]},
                    "get-sum": {"examples": [{"a": 3, "b": 4}, {"a": 10, "b": 5}]},
                },
            },
        },
    }
}


def shop_description(resources: int) -> dict[str, Any]:
    """Return an API with so many resources of five operations each."""
    paths: dict[str, Any] = {}
    schemas: dict[str, Any] = {}
    for number in range(resources):
        name = f"Thing{number}"
        fields = {
            "name": {"type": "string"},
            "status": {"type": "string", "enum": ["open", "sent"]},
            "size": {"type": "integer", "minimum": 1},
        }
        schemas[name] = {
            "type": "object",
            "required": ["id"],
            "properties": {"id": {"type": "string"}, **fields},
        }
        schemas[f"New{name}"] = {"type": "object", "required": ["name"], "properties": fields}
        reference = {"$ref": f"#/components/schemas/{name}"}
        answer = {"200": {"description": "", "content": {"application/json": {"schema": reference}}}}
        body = {
            "required": True,
            "content": {"application/json": {"schema": {"$ref": f"#/components/schemas/New{name}"}}},
        }
        listed = {
            "200": {
                "description": "",
                "content": {"application/json": {"schema": {"type": "array", "items": reference}}},
            }
        }
        paths[f"/thing{number}s"] = {
            "post": {"requestBody": body, "responses": answer},
            "get": {"responses": listed},
        }
        paths[f"/thing{number}s/{{id}}"] = {
            "get": {"responses": answer},
            "patch": {"requestBody": body, "responses": answer},
            "delete": {"responses": {"204": {"description": ""}}},
        }
    return {
        "openapi": "3.0.0",
        "info": {"title": "Bench"},
        "paths": paths,
        "components": {"schemas": schemas},
    }


class Rate(NamedTuple):
    """How many of something, in how many seconds of wall and of CPU time."""

    number: int
    wall: float
    cpu: float

    def line(self, unit: str) -> str:
        """Return both rates as text."""
        return f"{self.number / self.wall:9.1f} {unit}/s {self.number / self.cpu:9.1f} {unit}/CPU-s   ({self.number})"


def cpu_seconds() -> float:
    """Return the CPU time of this process and of all processes below it that live."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has just ended
                continue
            parents[int(entry.name)] = int(fields[1])
            ticks[int(entry.name)] = int(fields[11]) + int(fields[12])
    mine, found = os.getpid(), 0
    for process in ticks:
        above = process
        while above not in {0, mine}:
            above = parents.get(above, 0)
        found += ticks[process] if above == mine else 0
    return found / os.sysconf("SC_CLK_TCK")


def measure(work: Callable[[], int], seconds: float) -> Rate:
    """Do work for so many seconds and return how much came of it."""
    cpu, begun, number = cpu_seconds(), time.perf_counter(), 0
    while time.perf_counter() - begun < seconds:
        number += work()
    return Rate(number, time.perf_counter() - begun, max(cpu_seconds() - cpu, 0.01))


def gold_rate(source: str, seconds: float) -> Rate:
    """Return how many tasks of a source are proven."""
    config = BuildConfig(sources=(source,), composition=CompositionConfig(mixed_share=0.0))
    execute_scenario(config, draw_scenario(config, 0))  # warm: imports, validators, processes
    numbers = iter(range(1, 1 << 30))

    def prove() -> int:
        result = execute_scenario(config, draw_scenario(config, next(numbers)))
        return sum(isinstance(item, Executed) for item in result.items)

    return measure(prove, seconds)


def call_rate(source: str, tool: str, arguments: dict[str, Any], seconds: float) -> Rate:
    """Return how often one tool is called."""
    world = open_source(source).draw(0, 0).world

    def call() -> int:
        assert world.call(tool, arguments).status == "ok"
        return 1

    call()
    return measure(call, seconds)


def main() -> None:
    """Print all of it."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 5.0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        api, module, servers = folder / "api.json", folder / "bench_shed.py", folder / "servers.json"
        api.write_text(json.dumps(shop_description(4)))
        module.write_text(SCAFFOLD.replace("@TITLE@", "Bench"))
        module.chmod(0o644)
        servers.write_text(json.dumps(MEMORY))
        rows: list[tuple[str, str]] = []
        plan = [("in-process (banking)", "builtin:banking"), ("emulator", f"openapi:{api}")]
        if sandbox.missing() is None:
            plan += [("sandboxed worker", f"python:{module}"), ("MCP stdio", f"mcp:{servers}")]
        for label, source in plan:
            try:
                rows.append((label, gold_rate(source, seconds).line("gold")))
            except PlanArenaError as error:
                rows.append((label, f"not measured: {error}"))
        if sandbox.missing() is None:
            for label, source, tool, arguments in (
                ("sandboxed worker", f"python:{module}", "get_item", {"item_id": "item-desk"}),
                ("MCP stdio", f"mcp:{servers}", "get-sum", {"a": 3, "b": 4}),
            ):
                try:
                    rows.append((label, call_rate(source, tool, arguments, seconds).line("calls")))
                except PlanArenaError as error:
                    rows.append((label, f"not measured: {error}"))
        api.write_text(json.dumps(shop_description(400)))
        rows.append(
            ("conversion", measure(lambda: len(convert_openapi(api).operations), 0.1).line("operations"))
        )
    for label, value in rows:
        print(f"{label:24} {value}")


if __name__ == "__main__":
    main()
