"""Opening sources by their text: what a process allows, which sources it holds open, where it keeps conversions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from planarena.environments.sources.own.probing import Probe
from planarena.environments.sources.recognising import recognise
from planarena.environments.sources.session_unit import SessionUnit
from planarena.environments.sources.source import Source, SourceOptions, Unit
from planarena.errors import SourceError

if TYPE_CHECKING:
    from planarena.llm import CallRecord, SyncGateway
    from planarena.tools.tool import Tool

__all__ = [
    "OpenSources",
    "allow",
    "close_descriptions",
    "keep_conversions",
    "may_simulate",
    "open_source",
    "save_probes",
    "split_source",
    "take_paid_calls",
    "use_probes",
    "using",
]

KINDS = ("builtin", "json", "openapi", "mcp", "python", "http", "env")
# Some 50 KB each with schemas, validators and samples; those that reach half of a large model take more.
_MOST_OPEN_OPERATIONS = 4000
_MOST_LASTING = 32


def split_source(text: str) -> tuple[str, str]:
    """Split a source as the command line writes it into its kind and the rest.

    Raises:
        SourceError: The kind is unknown.
    """
    if text == "builtin" or text.startswith("builtin:"):
        return "builtin", text.partition(":")[2]
    kind, colon, rest = text.partition(":")
    if colon and kind in KINDS:
        return kind, rest
    if (found := recognise(text)) is not None:
        return found.kind, found.rest
    if text.endswith(".json") or Path(text).is_file():
        return "json", text
    raise SourceError(
        f"there is no source of the kind {kind!r}" if colon else f"there is no source {text!r}",
        where="SOURCE",
        fix="give a file (mytools.py, api.yaml, servers.json), builtin[:DOMAIN], openapi:FOLDER, python:module or env:FOLDER",
    )


class OpenSources:
    """Sources held open for one user of them: an open source is shared by all that ask for it here.

    Single API descriptions are kept while few operations are open: a build over thousands of them must not
    hold them all.

    Args:
        options: What the user allows.

    Attributes:
        kept: Where converted descriptions are kept; None for nowhere.
    """

    def __init__(self, options: SourceOptions | None = None) -> None:
        self.options = options or SourceOptions()
        self.kept: Path | None = None
        self._descriptions: dict[str, Source] = {}
        self._lasting: dict[tuple[str, SourceOptions], Source] = {}
        self._gateways: list[SyncGateway] = []
        self._probes: dict[str, Probe] = {}

    def open(self, text: str, options: SourceOptions | None = None) -> Source:
        """Open a source: see `open_source`."""
        kind, rest = split_source(text)
        if kind == "openapi" and Path(rest).is_file():
            return self._open_description(text, Path(rest))
        key = (text, options or self.options)
        found = self._lasting.pop(key, None)
        if found is None:
            found = Source(text, *self._open(kind, rest, key[1]))
            for unit in found.units:
                if isinstance(unit, SessionUnit):
                    unit.given_probe = self._probes.get(f"{text}#{unit.name}")
            if len(self._lasting) >= _MOST_LASTING:
                del self._lasting[next(iter(self._lasting))]
        self._lasting[key] = found  # the one used last stands last
        return found

    def _open_description(self, text: str, file: Path) -> Source:
        from planarena.environments.sources.openapi.source import families
        from planarena.tools.conversion_store import convert_once
        from planarena.tools.openapi import convert_openapi

        found = self._descriptions.pop(text, None)
        if found is None:
            found = Source(
                text, families(convert_openapi(file) if self.kept is None else convert_once(file, self.kept))
            )
            room = _MOST_OPEN_OPERATIONS - _size_of(found)
            while self._descriptions and sum(map(_size_of, self._descriptions.values())) > room:
                del self._descriptions[next(iter(self._descriptions))]
        self._descriptions[text] = found  # the one used last stands last
        return found

    def _open(self, kind: str, rest: str, options: SourceOptions) -> tuple[list[Unit], list[Tool]]:
        """Return the units of a source and, where more are listed than can be executed, all its tools."""
        if kind == "openapi":
            from planarena.environments.sources.openapi.source import families, openapi_tools

            apis = [families(found) for _, found in openapi_tools(Path(rest))]
            # In turns: a small build over many descriptions sees all of them, not the first one alone.
            turns = zip_longest(*apis)
            return [unit for turn in turns for unit in turn if unit is not None], []
        if kind == "python":
            from planarena.environments.sources.python.source import open_python

            return _with_all([open_python(rest, options)])
        if kind == "mcp":
            from planarena.environments.sources.mcp.source import open_servers

            return _with_all([open_servers(Path(rest), options)])
        if kind == "env":
            from planarena.environments.sources.folder.source import open_folder_source

            return [open_folder_source(rest, options)], []
        if kind == "http":
            from planarena.environments.sources.http.source import open_http

            return _with_all([open_http(Path(rest), options)])
        if kind == "json":
            return self._open_list(rest, options)
        raise SourceError(
            "builtin domains are opened by name", where=kind, fix="use planarena.environments.domains"
        )

    def _open_list(self, rest: str, options: SourceOptions) -> tuple[list[Unit], list[Tool]]:
        from planarena.tools import read_tool_list

        tools = list(read_tool_list(rest))
        if not options.model:
            return [], tools
        from planarena.environments.sources.json.simulated import ask_gateway, open_simulated

        gateway, complete = ask_gateway(options.model, options.calls)
        self._gateways.append(gateway)
        return [open_simulated(Path(rest).stem, tools, complete)], []

    def save_probes(self, file: Path) -> None:
        """Keep what was found by looking for values that work, so that all processes of a build use the same."""
        found = {
            f"{text}#{unit.name}": unit.probe
            for (text, _), source in self._lasting.items()
            for unit in source.units
            if isinstance(unit, SessionUnit) and unit.execution_kind != "simulated"
        }
        if found:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(msgspec.json.encode(found, order="sorted"))

    def use_probes(self, file: Path) -> None:
        """Take what `save_probes` kept, where it did."""
        if file.is_file():
            self._probes = msgspec.json.decode(file.read_bytes(), type=dict[str, Probe])

    def close_descriptions(self) -> None:
        """Close the single API descriptions that are open; whoever needs one again opens it again."""
        self._descriptions.clear()

    def close(self) -> None:
        """Forget every source, and what was allowed."""
        self.options = SourceOptions()
        self._descriptions.clear()
        self._lasting.clear()
        self._gateways.clear()

    def take_paid_calls(self) -> list[CallRecord]:
        """Take the records of the answers that were paid for since the last time."""
        return [record for gateway in self._gateways for record in gateway.drain_calls()]


def _with_all(units: list[SessionUnit]) -> tuple[list[Unit], list[Tool]]:
    """Return units with all their tools, also those that turn out to be of no use."""
    return list(units), [tool for unit in units for tool in unit.given]


def _size_of(source: Source) -> int:
    return len(source.units[0].conversion.operations) if source.units else 0  # type: ignore[attr-defined]


_SHARED = OpenSources()
_CURRENT: ContextVar[OpenSources | None] = ContextVar("open_sources", default=None)


def _current() -> OpenSources:
    return _CURRENT.get() or _SHARED


@contextmanager
def using(sources: OpenSources) -> Iterator[OpenSources]:
    """Open sources here, and nowhere else, as `sources` says; outside of it a process shares one."""
    token = _CURRENT.set(sources)
    try:
        yield sources
    finally:
        _CURRENT.reset(token)


def open_source(text: str, options: SourceOptions | None = None) -> Source:
    """Open a source; an open one is shared by all that ask for it under the same `using`.

    Args:
        text: `openapi:FILE_OR_FOLDER`, `mcp:servers.json`, `python:module` or a JSON list of tools.
        options: What the user allows; None for what `allow` set.

    Raises:
        SourceError: It cannot be read, or holds no tools.
        EnvironmentUnavailableError: It needs a sandbox or a package that is not here.
    """
    return _current().open(text, options)


def allow(options: SourceOptions) -> None:
    """Set what is allowed where `open_source` is not told."""
    _current().options = options


def may_simulate() -> bool:
    """Say whether a model may make up results."""
    return bool(_current().options.model)


def keep_conversions(folder: Path | None) -> None:
    """Keep the descriptions that are converted in a folder, and take them from there.

    Args:
        folder: Of one version of this package; None for nowhere.
    """
    _current().kept = folder


def save_probes(file: Path) -> None:
    """Keep what was found by looking for values that work: see `OpenSources.save_probes`."""
    _current().save_probes(file)


def use_probes(file: Path) -> None:
    """Take what another process of the same build found: see `OpenSources.use_probes`."""
    _current().use_probes(file)


def close_descriptions() -> None:
    """Close the single API descriptions that are open: see `OpenSources.close_descriptions`."""
    _current().close_descriptions()


def take_paid_calls() -> list[CallRecord]:
    """Take the records of the answers that a model gave as results, and that were paid for since the last time."""
    return _current().take_paid_calls()
