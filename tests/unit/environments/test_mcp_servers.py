"""Real MCP servers, each in its sandbox: trajectories across them, states that go back, failures that say so."""

from __future__ import annotations

import json
import shutil
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from planarena import managed
from planarena.config import BuildConfig, CompositionConfig
from planarena.environments import Seed, sandbox
from planarena.environments.sources import Source
from planarena.environments.sources.mcp.config import read_servers
from planarena.environments.sources.mcp.packages import npm_environment, resolve_command
from planarena.environments.sources.mcp.source import open_servers
from planarena.environments.sources.session_unit import SessionUnit
from planarena.environments.sources.session_world import SessionWorld
from planarena.errors import EnvironmentUnavailableError, SourceError
from planarena.pipeline.execute.scenarios import Scenario
from planarena.pipeline.products import Executed
from planarena.records.canonical import canonical_json

pytestmark = pytest.mark.skipif(sandbox.missing() is not None, reason=f"no sandbox here: {sandbox.missing()}")

GIT = [
    ["git", "init", "-q", "--template=", "-b", "main", "{state}"],
    ["git", "add", "-A"],
    ["git", "commit", "-q", "-m", "start"],
]
SERVERS: dict[str, dict[str, Any]] = {
    "clock": {
        "command": "uvx", "args": ["mcp-server-time", "--local-timezone", "Europe/Lisbon"],
        # The present time differs from call to call; converting is of the day alone.
        "planarena": {"read_only": True, "without": ["get_current_time"], "tools": {"convert_time": {"outputs": ["/time_difference"], "examples": [
            {"source_timezone": "Europe/Lisbon", "time": "09:30", "target_timezone": "Asia/Tokyo"},
            {"source_timezone": "Europe/Oslo", "time": "16:30", "target_timezone": "America/Lima"}]}}},
    },
    "repository": {
        "command": "uvx", "args": ["mcp-server-git", "--repository", "{state}"],
        "planarena": {"state": {"files": {"notes.txt": "one\n"}, "init": GIT, "ignore": [".git/index", ".git/logs/*"]},
                      "only": ["git_status", "git_create_branch", "git_branch"], "tools": {
            "git_status": {"effects": "read", "examples": [{"repo_path": "{state}"}]},
            "git_branch": {"effects": "read", "examples": [{"repo_path": "{state}", "branch_type": "local"}]},
            "git_create_branch": {"effects": "create", "examples": [{"repo_path": "{state}", "branch_name": "spring"}]}}},
    },
    "files": {
        "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "{state}"],
        "planarena": {"state": {"files": {"a.txt": "alpha\n"}}, "only": ["read_text_file", "write_file", "list_directory"], "tools": {
            "read_text_file": {"examples": [{"path": "{state}/a.txt"}]}, "list_directory": {"examples": [{"path": "{state}"}]},
            "write_file": {"effects": "create", "examples": [{"path": "{state}/c.txt", "content": "gamma"}]}}},
    },
    "memory": {
        "command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory"], "env": {"MEMORY_FILE_PATH": "{state}/memory.jsonl"},
        "planarena": {"state": {"files": {"memory.jsonl": '{"type":"entity","name":"Ada","entityType":"person","observations":["likes tea"]}\n'}},
                      "only": ["search_nodes", "read_graph", "create_entities"], "tools": {"search_nodes": {"examples": [{"query": "Ada"}]}}},
    },
    "everything": {
        "command": "npx", "args": ["-y", "@modelcontextprotocol/server-everything"],
        "planarena": {"only": ["echo", "get-sum"], "read_only": True, "tools": {
            "echo": {"examples": [{"message": "hello there"}]}, "get-sum": {"examples": [{"a": 3, "b": 4}, {"a": 10, "b": 5}]}}},
    },
}  # fmt: skip


def _installed() -> None:
    try:
        for name in ("mcp", "mcp-server-time", "mcp-server-git"):
            managed.environment(name, progress=lambda *_: None)
        npm_environment()
    except EnvironmentUnavailableError as error:
        pytest.skip(f"the servers cannot be installed here: {error.what}")
    if shutil.which("git") is None:
        pytest.skip("no git here")


def _file(folder: Path, servers: dict[str, Any]) -> Path:
    file = folder / "servers.json"
    file.write_text(json.dumps({"mcpServers": servers}))
    return file


@pytest.fixture(scope="module")
def unit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SessionUnit]:
    _installed()
    made = open_servers(_file(tmp_path_factory.mktemp("mcp"), SERVERS))
    yield made
    for server in made.session._servers.values():  # type: ignore[attr-defined]
        server.close()


def _world(unit: SessionUnit) -> SessionWorld:
    return unit._world({name: unit._operation(tool) for name, tool in unit._given.items()}, "w")


def test_five_servers_prove_trajectories_of_several_steps_across_servers(unit: SessionUnit) -> None:
    assert {operation.tool.namespace for operation in unit.operations.values()} == set(SERVERS)
    config = BuildConfig(
        sources=("mcp:x",), composition=CompositionConfig(budget=25, per_scenario=10, max_actions=4)
    )
    drawn = Source("mcp:x", [unit]).draw(0, 0, (11, 11))
    seed = Seed({}, drawn.title, drawn.description, drawn.facts)
    scenario = Scenario(0, "s", ("travel",), drawn.tools, seed, drawn.world, drawn.offers)  # type: ignore[arg-type]
    proven = _prove(config, scenario, drawn)
    across = [
        names for names in proven if len(names) >= 2 and len({namespace for namespace, _ in names}) >= 2
    ]
    assert across, proven


def _prove(config: BuildConfig, scenario: Scenario, drawn: Any) -> list[list[tuple[str, str]]]:
    import planarena.pipeline.execute.scenario_run as scenario_run

    known = scenario_run.wording_of
    scenario_run.wording_of = lambda _: drawn.wording  # type: ignore[assignment]
    try:
        result = scenario_run.execute_scenario(config, scenario)
    finally:
        scenario_run.wording_of = known
    spaces = {name: operation.tool.namespace for name, operation in drawn.world.operations.items()}
    return [
        [(spaces[result.atoms[step.atom].tool], result.atoms[step.atom].tool) for step in item.steps]
        for item in result.items
        if isinstance(item, Executed)
    ]


def test_every_server_goes_back(unit: SessionUnit) -> None:
    world = _world(unit)
    start, digest = world.mark(), world.digest()
    folder = unit.session._servers["files"].info["state"]  # type: ignore[attr-defined]
    changes: list[tuple[str, dict[str, Any]]] = [
        ("write_file", {"path": f"{folder}/new.txt", "content": "new"}),
        ("git_create_branch", {"repo_path": folder, "branch_name": "autumn"}),
        ("create_entities", {"entities": [{"name": "Bo", "entityType": "person", "observations": []}]}),
    ]
    seen = {digest}
    for tool, arguments in changes:
        assert world.call(tool, arguments).status == "ok"
        assert world.footprint().writes
        seen.add(world.digest())
    assert len(seen) == 4
    assert "Bo" in canonical_json(world.call("read_graph", {}).result)
    world.rollback(start)
    assert world.digest() == digest == world.recompute_digest()
    assert "Bo" not in canonical_json(world.call("read_graph", {}).result)
    assert "autumn" not in canonical_json(
        world.call("git_branch", {"repo_path": folder, "branch_type": "local"}).result
    )
    assert world.call("read_text_file", {"path": f"{folder}/new.txt"}).status == "tool_error"
    assert not world.footprint().writes


def test_a_dead_server_is_started_again_in_the_same_state(unit: SessionUnit) -> None:
    world = _world(unit)
    folder = unit.session._servers["files"].info["state"]  # type: ignore[attr-defined]
    world.call("write_file", {"path": f"{folder}/kept.txt", "content": "kept"})
    digest = world.digest()
    unit.session._servers["files"].close()  # type: ignore[attr-defined]
    world._applied = -1
    assert "kept" in canonical_json(world.call("read_text_file", {"path": f"{folder}/kept.txt"}).result)
    assert world.digest() == digest


def test_failures_are_failures_also_where_the_server_says_otherwise(tmp_path: Path) -> None:
    _installed()
    echo = {
        **SERVERS["everything"],
        "planarena": {"only": ["echo"], "read_only": True, "tools": {"echo": {"error": "^Echo: no"}}},
    }
    made = open_servers(_file(tmp_path, {"everything": echo}))
    try:
        world = _world(made)
        assert world.call("echo", {"message": "yes"}).status == "ok"
        refused = world.call("echo", {"message": "no"})
        assert refused.error is not None
        assert refused.error["code"] == "failed_by_rule"
        assert world.call("echo", {}).status == "schema_error"
        assert made.safety == "read_only"
    finally:
        made.session._servers["everything"].close()  # type: ignore[attr-defined]


def test_servers_see_neither_our_files_nor_our_variables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _installed()
    monkeypatch.setenv("PLANARENA_TEST_SECRET", "hunter2")
    witness = tmp_path / "witness.txt"
    witness.write_text("hunter2")
    servers = {
        "wide": {
            "command": "npx",
            "args": ["-y", "@modelcontextprotocol/server-filesystem", "{state}", "/"],
            "planarena": {"state": {}},
        },
        "everything": {
            "command": "npx",
            "args": ["-y", "@modelcontextprotocol/server-everything"],
            "planarena": {"only": ["get-env"], "read_only": True},
        },
    }
    made = open_servers(_file(tmp_path, servers))
    try:
        world = _world(made)
        for path in (str(witness), "/etc/passwd", "/etc/shadow"):
            assert world.call("read_text_file", {"path": path}).status == "tool_error"
        assert (
            world.call("write_file", {"path": str(tmp_path / "new.txt"), "content": "x"}).status
            == "tool_error"
        )
        assert "hunter2" not in canonical_json(world.call("get-env", {}).result)
    finally:
        for server in made.session._servers.values():  # type: ignore[attr-defined]
            server.close()
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["servers.json", "witness.txt"]


@pytest.mark.parametrize(
    ("entry", "match"),
    [
        ({}, "a command or a url"),
        ({"command": "x", "url": "http://y"}, "one of the two"),
        ({"command": "echo", "planarena": {"stat": {}}}, "stat"),
        ({"command": "echo", "args": "no list"}, "array"),
    ],
)
def test_entries_that_are_no_server(tmp_path: Path, entry: dict[str, Any], match: str) -> None:
    with pytest.raises(SourceError, match=match):
        read_servers(_file(tmp_path, {"x": entry}))


def test_programs_that_are_not_there_or_not_locked() -> None:
    for command, args in (
        ("no-such-program", []),
        ("uvx", ["some-package"]),
        ("npx", ["-y", "some-package"]),
        ("npx", []),
    ):
        with pytest.raises(SourceError, match="no program|no lock"):
            resolve_command(command, args, "x")


def test_a_private_url_is_refused_before_anything_is_sent(tmp_path: Path) -> None:
    _installed()
    for url in ("http://127.0.0.1:9/mcp", "http://169.254.169.254/mcp"):
        with pytest.raises(Exception, match="no public address"):
            open_servers(_file(tmp_path, {"x": {"url": url}}))


def test_a_server_over_streamable_http(tmp_path: Path) -> None:
    _installed()
    program = resolve_command("npx", ["-y", "@modelcontextprotocol/server-everything", "streamableHttp"], "x")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    limits = sandbox.Limits(memory_bytes=1 << 46, processes=128)
    variables = {"PORT": str(port), "OPENSSL_CONF": "/dev/null"}
    box = sandbox.Sandbox(
        [program.command, *program.args],
        readable=program.readable,
        variables=variables,
        limits=limits,
        network=True,
    )
    try:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                time.sleep(0.05)
        extension = {
            "allow_private": True,
            "only": ["echo"],
            "tools": {"echo": {"effects": "read", "examples": [{"message": "hi"}]}},
        }
        made = open_servers(
            _file(tmp_path, {"web": {"url": f"http://127.0.0.1:{port}/mcp", "planarena": extension}})
        )
        try:
            assert _world(made).call("echo", {"message": "over there"}).result == {"text": "Echo: over there"}
        finally:
            made.session._servers["web"].close()  # type: ignore[attr-defined]
    finally:
        box.kill()


_DYING = """import json, os, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    result = {}
    if asked["method"] == "initialize":
        result = {"protocolVersion": asked["params"]["protocolVersion"], "capabilities": {"tools": {}},
                  "serverInfo": {"name": "dying", "version": "1"}}
    elif asked["method"] == "tools/list":
        schema = {"type": "object", "properties": {"a": {"type": "string"}}}
        result = {"tools": [{"name": "get", "inputSchema": schema, "annotations": {"readOnlyHint": True}}]}
    elif asked["method"] == "tools/call":
        print("first\\nthe disk \\x1b[31mis on fire", file=sys.stderr, flush=True)
        os._exit(3)
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""


def test_the_last_words_of_a_server_that_dies_are_said_once(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    _installed()
    script = tmp_path / "dying.py"
    script.write_text(_DYING)
    entry = {
        "command": sys.executable,
        "args": [str(script)],
        "planarena": {"tools": {"get": {"examples": [{"a": "x"}]}}},
    }
    made = open_servers(_file(tmp_path, {"mine": entry}))
    try:
        world = _world(made)
        outcomes = [world.call("get", {"a": "x"}) for _ in range(3)]
        assert {outcome.status for outcome in outcomes} <= {"tool_error", "timeout"}
        assert all(b"on fire" not in outcome.payload for outcome in outcomes)
    finally:
        made.session._servers["mine"].close()  # type: ignore[attr-defined]
    said = capfd.readouterr().err
    assert said.count("note: the server 'mine' failed in a call") == 1
    assert "the disk  [31mis on fire" in said
