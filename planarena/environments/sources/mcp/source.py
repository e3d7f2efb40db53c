"""MCP servers as sources: the usual `mcpServers` JSON, each server in its own sandbox, one world over all.

A server's entry may hold a `planarena` object that says what the protocol does not: where its state is, how its
tools fail, what sensible arguments are. See docs/tools.md.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from planarena import managed
from planarena.environments.sandbox.bubblewrap import Limits
from planarena.environments.sandbox.worker import ReplyError, Worker, WorkerDiedError, WorkerTimeoutError
from planarena.environments.sources.addresses import check_url
from planarena.environments.sources.mcp.config import ServerConfig, read_servers
from planarena.environments.sources.mcp.packages import resolve_command
from planarena.environments.sources.session_unit import SessionUnit, ToolHints, effect_named
from planarena.environments.sources.session_world import (
    FAILED,
    Safety,
    SnapshotLostError,
    failure,
    make_outcome,
)
from planarena.environments.sources.source import SourceOptions
from planarena.environments.world import Outcome
from planarena.errors import SandboxError, SchemaError, SourceError
from planarena.records.canonical import id_of_bytes
from planarena.tools.repair import Repairer
from planarena.tools.tool import Effect, Tool
from planarena.tools.validation import SchemaValidator
from planarena.tools.wire_names import with_wire_names

__all__ = ["ServerSession", "open_servers"]

_SERVICE = Path(__file__).with_name("_service.py")

# Of what a server writes on its stderr: letters of a line, and lines.
_REPEATED, _MOST_REPEATED = 300, 3


class ServerSession:
    """One server in its sandbox.

    Args:
        name: As the file calls it.
        config: Its entry.
        options: What the user allows.

    Raises:
        SourceError: It does not start.
        EnvironmentUnavailableError: No sandbox, or a package that cannot be installed.
    """

    def __init__(self, name: str, config: ServerConfig, options: SourceOptions) -> None:
        self.name, self.config = name, config
        extension = config.planarena
        where = f"server {name!r}"
        readable: list[Path] = []
        told: dict[str, Any] = {"seconds": 20, "start_seconds": 30}
        if config.url:
            check_url(config.url, [config.url], allow_private=extension.allow_private)
            told |= {"url": config.url, "headers": config.headers}
        else:
            program = resolve_command(config.command, config.args, where)
            readable += program.readable
            told |= {"command": program.command, "args": list(program.args)}
            told["env"] = config.env
        if extension.state is not None:
            state = extension.state
            told |= {"files": state.files, "ignore": state.ignore}
            told["init"] = state.init
            if state.folder:
                readable.append(Path(state.folder).absolute())
                told["folder"] = str(Path(state.folder).absolute())
        self._told = told
        self._worker = Worker(
            _SERVICE,
            python=managed.environment("mcp").python,
            readable=readable,
            # A JavaScript engine reserves address space by the terabyte without using it: its heap is limited below.
            # Of a server elsewhere only the client runs here: this bounds what it reads of an answer without end.
            limits=Limits(
                memory_bytes=2 << 30 if config.url else 1 << 46,
                processes=128,
                cpu_seconds=1200,
                reply_bytes=4 << 20,
                call_seconds=40,
                start_seconds=40,
            ),
            network=bool(config.url) or extension.network,
            unsafe_no_sandbox=options.unsafe_no_sandbox,
        )
        self._kept: dict[str, int] = {}
        self._digest: str | None = None
        self._said: set[str] = set()
        try:
            self.info: dict[str, Any] = self._worker.call("start", told)
            self.listed: list[dict[str, Any]] = self._worker.call("tools")
        except SandboxError as error:
            sandbox = self._worker._sandbox
            time.sleep(0.2 if sandbox is not None else 0)  # its last words are still on their way
            said = sandbox.complaint.strip()[-1500:] if sandbox is not None else ""
            self._worker.close()
            raise SourceError(
                f"the server does not start: {str(error)[:500]}{f'; it wrote: {said}' if said else ''}",
                where=where,
                fix="run its command by hand; in the sandbox it sees no network and no files but its own",
            ) from error
        self.safety: Safety = self._safety()

    def _safety(self) -> Safety:
        if self.config.planarena.read_only or all(_is_read_only(tool) for tool in self.listed):
            return "read_only"
        if self.config.url or self.config.planarena.network:
            return "live"
        if self.config.planarena.state is not None and not self.config.planarena.restart:
            return "snapshot"
        return "reset"

    def close(self) -> None:
        """End the server."""
        self._worker.close()

    def _alive(self) -> Worker:
        """Return the worker; after a death the server is started again in its initial state."""
        worker = self._worker
        if worker._sandbox is None:
            worker.call("start", self._told)
            self._kept.clear()
            self._digest = None
        return worker

    def call(self, tool: Tool, arguments: Mapping[str, Any], rule: str) -> Outcome:
        """Call a tool; what the server, the protocol or the rule calls a failure is one."""
        try:
            worker = self._alive()
            self._digest = None
            # The hash comes with the result: a call is one exchange, not two.
            result, self._digest = worker.call("call", [tool.name, dict(arguments)])
        except ReplyError as error:
            if worker._sandbox is not None:
                time.sleep(0.05)  # its last words are still on their way
                self._repeat(worker._sandbox.complaint)
            return failure("tool_error", "protocol_error", error.message)
        except WorkerTimeoutError as error:
            self._repeat(str(error))
            return failure(
                "timeout", "timeout", f"{tool.name} did not answer in time and its server was stopped."
            )
        except WorkerDiedError as error:
            self._repeat(str(error))
            return failure(
                "tool_error",
                "result_too_large" if "longer than" in str(error) else "worker_died",
                "The server ended.",
            )
        text = "\n".join(part.get("text", "") for part in result.get("content", ()) if isinstance(part, dict))
        if result.get("isError"):
            return failure("tool_error", "tool_error", text or "The server says that the call failed.")
        if re.search(rule, text):
            return failure("tool_error", "failed_by_rule", text)
        return make_outcome(_value_of(result, text))

    def _repeat(self, text: str) -> None:
        """Say on our own stderr what the server wrote on its, once: it differs from run to run, so no outcome holds it."""
        words = ([line for line in text.splitlines() if line.strip()] or [""])[-1].strip()[-_REPEATED:]
        if not words or words in self._said or len(self._said) == _MOST_REPEATED:
            return
        self._said.add(words)
        plain = "".join(letter if letter.isprintable() else " " for letter in words)
        sys.stderr.write(
            f"note: the server {self.name!r} failed in a call; the last that it wrote: {plain}\n"
        )
        sys.stderr.flush()

    def start_anew(self) -> None:
        """Go to the initial state."""
        if self.safety in {"snapshot", "reset"}:
            self._alive().call("reset", self.safety == "reset")
            self._digest = None

    def snapshot(self) -> str | None:
        """Keep the present state; equal states are kept once."""
        if self.safety != "snapshot":
            return None
        now = self.digest()
        if now not in self._kept:
            self._kept[now] = self._alive().call("snapshot")
        return now

    def restore(self, token: str | None) -> bool:
        """Go to a state that was kept; False where it was lost with its server."""
        if token is None or self.digest() == token:
            return True
        if token not in self._kept:
            return False
        self._alive().call("restore", self._kept[token])
        self._digest = token
        return True

    def digest(self) -> str:
        """Hash the state folder; a server that only reads has none."""
        if self.safety not in {"snapshot", "reset"}:
            return ""
        worker = self._alive()
        if self._digest is None:
            self._digest = str(worker.call("digest"))
        return self._digest

    def dump(self) -> Any:
        """Return the texts of the state folder."""
        return self._alive().call("dump") if self.config.planarena.state is not None else None


def _is_read_only(tool: Mapping[str, Any]) -> bool:
    annotations = tool.get("annotations")
    return isinstance(annotations, dict) and annotations.get("readOnlyHint") is True


def _value_of(result: Mapping[str, Any], text: str) -> Any:
    """Return the structured content, else the text as JSON, else the text."""
    structured = result.get("structuredContent")
    if structured is not None:
        return structured
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        return {"text": text}
    return parsed if isinstance(parsed, dict | list) else {"text": text}


class _Servers:
    """The session over all servers of a file."""

    def __init__(self, servers: dict[str, ServerSession], rules: dict[tuple[str, str], str]) -> None:
        self._servers, self._rules = servers, rules
        self.owner: object = None
        kinds = {server.safety for server in servers.values()}
        # Beside servers that go back, a live one does not keep them from it: its own calls are refused below.
        order: tuple[Safety, ...] = ("reset", "snapshot", "live", "read_only")
        self.safety: Safety = next(kind for kind in order if kind in kinds)
        self.observable = self.safety != "live" and all(
            server.safety != "reset" or server.config.planarena.state is not None
            for server in servers.values()
        )

    def is_live(self, tool: Tool) -> bool:
        return self._servers[tool.namespace].safety == "live"

    def call(self, tool: Tool, arguments: Mapping[str, Any]) -> Outcome:
        server = self._servers[tool.namespace]
        # Where all is live, the world knows when a change is allowed.
        may_change = server.safety in {"snapshot", "reset"} or (server.safety == self.safety == "live")
        if tool.effects != "read" and not may_change:
            message = f"{tool.name} may change things and its server cannot go back: it was not called."
            return failure("tool_error", "effects_not_allowed", message)
        return server.call(tool, arguments, self._rules.get((tool.namespace, tool.name)) or FAILED)

    def start_anew(self, salt: str) -> None:  # noqa: ARG002  servers have one initial state
        for server in self._servers.values():
            server.start_anew()

    def snapshot(self) -> Any:
        return {name: server.snapshot() for name, server in self._servers.items()}

    def restore(self, token: Any) -> None:
        found = [server.restore(token[name]) for name, server in self._servers.items()]
        if not all(found):
            raise SnapshotLostError

    def digest(self) -> str:
        return id_of_bytes(
            "\n".join(f"{name} {server.digest()}" for name, server in sorted(self._servers.items())).encode()
        )

    def dump(self) -> Any:
        return {name: server.dump() for name, server in self._servers.items()}


def open_servers(file: Path, options: SourceOptions = SourceOptions()) -> SessionUnit:
    """Start every server of a file and open them as one unit.

    Raises:
        SourceError: The file cannot be read, a server does not start, or none offers a tool.
        EnvironmentUnavailableError: No sandbox, or a package that cannot be installed.
    """
    configs = read_servers(file)
    digest = sha256(file.read_bytes()).hexdigest()
    servers: dict[str, ServerSession] = {}
    tools: list[Tool] = []
    try:
        for name, config in configs.items():
            servers[name] = ServerSession(name, config, options)
            tools += _tools_of(name, servers[name], digest)
    except BaseException:
        for server in servers.values():
            server.close()
        raise
    if not tools:
        raise SourceError(
            "no server offers a tool that can be used",
            where=str(file),
            fix="`planarena tools check` says why",
        )
    named = with_wire_names(tools)
    hints = {
        tool.wire_name: _placed(
            configs[tool.namespace].planarena.tools.get(tool.name, ToolHints()),
            str(servers[tool.namespace].info["state"]),
        )
        for tool in named
    }
    rules = {(tool.namespace, tool.name): hints[tool.wire_name].error for tool in named}
    facts: dict[str, Any] = {"now": "2026-03-02T09:00"}  # as the servers are told
    facts |= {key: value for config in configs.values() for key, value in config.planarena.facts.items()}
    return SessionUnit(
        " ".join(["mcp", *sorted(configs)]),
        _Servers(servers, rules),
        {tool.wire_name: tool for tool in named},
        hints,
        facts,
        f"A user works with {', '.join(sorted(configs))}.",
        allow_effects=options.allow_effects,
    )


def _placed(hints: ToolHints, folder: str) -> ToolHints:
    """Write the state folder's path where the examples say {state}."""
    text = json.dumps(hints.examples).replace("{state}", folder)
    return msgspec.structs.replace(hints, examples=json.loads(text))


def _tools_of(name: str, server: ServerSession, digest: str) -> list[Tool]:
    extension = server.config.planarena
    found = []
    for entry in server.listed:
        tool_name = entry.get("name")
        if (
            not isinstance(tool_name, str)
            or (extension.only and tool_name not in extension.only)
            or tool_name in extension.without
        ):
            continue
        hints = extension.tools.get(tool_name, ToolHints())
        repairer = Repairer(nullable=False)
        schema = repairer.schema(entry.get("inputSchema", {}))
        if not isinstance(schema, dict):
            schema = {}
        schema = {"type": "object", **schema}
        output = entry.get("outputSchema")
        try:
            SchemaValidator(schema, tool_name)
            output = repairer.schema(output) if isinstance(output, dict) else None
        except SchemaError:
            continue
        effects: Effect = "read" if extension.read_only or _is_read_only(entry) else "unknown"
        effects = effect_named(hints.effects) or effects
        found.append(
            Tool(
                namespace=name,
                name=tool_name,
                wire_name=tool_name,
                description=str(entry.get("description", ""))[:8000],
                input_schema=schema,
                output_schema=output,
                effects=effects,
                execution_kind="real",
                source_kind="mcp",
                source_ref=str(server.info.get("server", name)),
                source_version=str(server.info.get("version", ""))[:64],
                source_sha256=digest,
                schema_repairs=repairer.take_repairs(),
            )
        )
    return found
