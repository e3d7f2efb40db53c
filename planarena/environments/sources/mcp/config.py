"""The `mcpServers` file: what each server is, and what its `planarena` object says that the protocol does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from planarena.environments.sources.session_unit import ToolHints
from planarena.errors import SourceError
from planarena.tools.documents import read_document

__all__ = ["Extension", "ServerConfig", "StateConfig", "read_servers"]


class StateConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a server keeps, if it keeps it in files.

    Attributes:
        files: Initial texts by path.
        folder: A folder that is copied in.
        init: Commands run in the state folder, before the server starts.
        ignore: Patterns of paths that do not count as state.
    """

    files: dict[str, str] = {}
    folder: str = ""
    init: list[list[str]] = []
    ignore: list[str] = []


class Extension(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The `planarena` object of a server.

    Attributes:
        state: Where a server keeps its state; `{state}` in arguments and variables names the folder.
        tools: By the server's own name.
        only: The tools to use; empty for all.
        without: Tools to leave out, as those that tell the time.
        restart: Start the server again to go back, as it remembers things itself.
        network: Let the server reach the network.
        allow_private: For a URL: let it be a private or loopback address.
        read_only: Every tool of this server only reads.
        facts: What the user knows.
    """

    state: StateConfig | None = None
    tools: dict[str, ToolHints] = {}
    only: list[str] = []
    without: list[str] = []
    restart: bool = False
    network: bool = False
    allow_private: bool = False
    read_only: bool = False
    facts: dict[str, Any] = {}


class ServerConfig(msgspec.Struct, frozen=True):
    """One server: a command, or a URL."""

    command: str = ""
    args: list[str] = []
    env: dict[str, str] = {}
    url: str = ""
    headers: dict[str, str] = {}
    planarena: Extension = Extension()


def read_servers(file: Path) -> dict[str, ServerConfig]:
    """Read an `mcpServers` file.

    Raises:
        SourceError: It cannot be read, or an entry is no server.
    """
    value, _ = read_document(file)
    listed = value.get("mcpServers") if isinstance(value, dict) else None
    if not isinstance(listed, dict) or not listed:
        raise SourceError(
            "names no servers",
            where=str(file),
            fix='write {"mcpServers": {"NAME": {"command": ..., "args": [...]}}}',
        )
    found = {}
    for name, entry in listed.items():
        try:
            config = msgspec.convert(entry, ServerConfig)
        except msgspec.ValidationError as error:
            raise SourceError(
                str(error), where=f"{file}: {name}", fix="correct the entry; see docs/tools.md"
            ) from error
        if bool(config.command) == bool(config.url):
            raise SourceError(
                "needs a command or a url, one of the two", where=f"{file}: {name}", fix="write one"
            )
        found[name] = config
    return found
