"""Speeds of tool sources: gold a second in-process, in the sandboxed worker, over MCP stdio, emulated; conversion.

Run it alone on a quiet machine: `python tests/bench/bench_tools.py`. Gold a second is proven tasks over the wall
time of executing and proving (phase 1, without words and Parquet), sources already open; the worker and the
servers are also given in calls a second.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from planarena.cli._tool_scaffold import SCAFFOLD
from planarena.config import BuildConfig, CompositionConfig
from planarena.environments import sandbox
from planarena.environments.sources import open_source
from planarena.errors import PlanArenaError
from planarena.pipeline.products import Executed
from planarena.pipeline.scenario_run import execute_scenario
from planarena.pipeline.scenarios import draw_scenario
from planarena.tools.openapi import convert_openapi

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


def gold_per_second(source: str, seconds: float) -> tuple[float, int]:
    """Return proven tasks a second of a source, and how many there were."""
    config = BuildConfig(sources=(source,), composition=CompositionConfig(mixed_share=0.0))
    execute_scenario(config, draw_scenario(config, 0))  # warm: imports, validators, processes
    begun, number, gold = time.perf_counter(), 1, 0
    while time.perf_counter() - begun < seconds:
        result = execute_scenario(config, draw_scenario(config, number))
        gold += sum(isinstance(item, Executed) for item in result.items)
        number += 1
    return gold / (time.perf_counter() - begun), gold


def calls_per_second(source: str, tool: str, arguments: dict[str, Any], seconds: float) -> float:
    """Return calls a second of one tool."""
    world = open_source(source).draw(0, 0).world
    call: Callable[..., Any] = world.call
    assert call(tool, arguments).status == "ok"
    begun, calls = time.perf_counter(), 0
    while time.perf_counter() - begun < seconds:
        call(tool, arguments)
        calls += 1
    return calls / (time.perf_counter() - begun)


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
                rate, gold = gold_per_second(source, seconds)
                rows.append((label, f"{rate:8.1f} gold/s   ({gold} proven)"))
            except PlanArenaError as error:
                rows.append((label, f"not measured: {error}"))
        if sandbox.missing() is None:
            for label, source, tool, arguments in (
                ("sandboxed worker", f"python:{module}", "get_item", {"item_id": "item-desk"}),
                ("MCP stdio", f"mcp:{servers}", "get-sum", {"a": 3, "b": 4}),
            ):
                try:
                    rows.append((label, f"{calls_per_second(source, tool, arguments, seconds):8.1f} calls/s"))
                except PlanArenaError as error:
                    rows.append((label, f"not measured: {error}"))
        api.write_text(json.dumps(shop_description(400)))
        begun = time.perf_counter()
        operations = len(convert_openapi(api).operations)
        rows.append(("conversion", f"{operations / (time.perf_counter() - begun):8.1f} operations/s"))
    for label, value in rows:
        print(f"{label:24} {value}")


if __name__ == "__main__":
    main()
