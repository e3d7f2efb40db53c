"""An environment folder as a source: `env:PATH`. Its code runs in the sandbox, or in this process where it is trusted.

Both ways give the same scenarios, results, state hashes and proposals; only the speed differs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any, NoReturn

import msgspec

from planarena.environments.contract import WORDS, Environment
from planarena.environments.folders import open_folder
from planarena.environments.sandbox.bubblewrap import Limits
from planarena.environments.sources.folder.guarded import GuardedWorld
from planarena.environments.sources.folder.world import FolderWorld, Host
from planarena.environments.sources.source import Opened, SourceOptions
from planarena.environments.wording import Offer, ToolWording, load_wording, offers_in
from planarena.environments.world import Operation, World, operations
from planarena.errors import SandboxError, SourceError
from planarena.tools.tool import Tool
from planarena.tools.validation import SchemaValidator

__all__ = ["FolderUnit", "folder_limits", "open_folder_source"]


def folder_limits() -> Limits:
    """What an environment folder may use: 2 GiB, 16 processes, five seconds a call, answers of 16 MiB."""
    return Limits(memory_bytes=2 << 30, scratch_bytes=16 << 20, file_bytes=4 << 20, processes=16, cpu_seconds=1800, reply_bytes=16 << 20, start_seconds=30, call_seconds=5)  # fmt: skip


def open_folder_source(name: str, options: SourceOptions, limits: Limits | None = None) -> FolderUnit:
    """Open an environment folder as a unit.

    Args:
        name: The folder.
        options: `trusted` runs it in this process.
        limits: What the sandbox may use.

    Raises:
        SourceError: It is no environment folder, or what it holds cannot be used.
        EnvironmentUnavailableError: There is no way to sandbox here.
    """
    folder = Path(name).absolute()
    if not (folder / "environment.py").is_file():
        raise SourceError(
            "is no environment folder: it has no environment.py",
            where=f"env:{name}",
            fix="name the folder that holds environment.py, or write one with `planarena env new NAME`",
        )
    if not (folder / WORDS).is_file():
        raise SourceError(
            f"has no {WORDS}, so nothing can be asked for in words",
            where=f"env:{name}",
            fix=f"write {WORDS}; docs/wording.md describes it, `planarena env check` says what is missing",
        )
    return FolderUnit(folder, f"env:{name}", options, limits or folder_limits())


class FolderUnit:
    """The tools of an environment folder: see `planarena.environments.sources.source.Unit`.

    Args:
        folder: The folder.
        text: How it is called in messages.
        options: Whether it is trusted, or may run unconfined.
        limits: What the sandbox may use.
    """

    execution_kind = "real"
    safety = "snapshot"
    observable = True

    def __init__(self, folder: Path, text: str, options: SourceOptions, limits: Limits) -> None:
        self.folder, self.text = folder, text
        self._host: Host | None = None
        self._environment: type[Environment] | None = None
        if options.trusted:
            self._environment = open_folder(folder)
            self.name, self.summary = self._environment.domain, self._environment.summary
            found = operations(self._environment)
            tools = [one.tool for one in found.values()]
            proposing = {name for name, one in found.items() if one.propose is not None}
        else:
            self._host = Host(folder, text, limits, options.unsafe_no_sandbox)
            told = self._host.description
            self.name, self.summary = str(told["domain"]), str(told["summary"])[:500]
            tools, proposing = _read_tools(told, text), {str(name) for name in told["proposing"]}
        digest = sha256(b"\0".join(_contents(folder))).hexdigest()
        self._known: dict[str, Operation] = {}
        for one in tools:
            record = msgspec.structs.replace(
                one, source_kind="env", source_ref=folder.name, source_sha256=digest, licence=""
            )
            validator = SchemaValidator(record.input_schema, f"{self.name}.{record.name}")
            propose = _elsewhere if record.wire_name in proposing else None
            self._known[record.wire_name] = Operation(record, _elsewhere, validator, propose)
        missing = sorted(self._known.keys() - self.wording.keys())
        if missing:
            raise SourceError(
                f"has no words for {', '.join(missing[:5])}",
                where=f"{text}/{WORDS}",
                fix="write `ask`, `plan`, `outputs` and `report` for every tool",
            )

    @property
    def operations(self) -> dict[str, Operation]:
        """The operations by wire name."""
        return self._known

    @cached_property
    def wording(self) -> dict[str, ToolWording]:
        """The words of the folder."""
        return load_wording(self.folder / WORDS)

    @cached_property
    def offers(self) -> dict[str, tuple[Offer, ...]]:
        """What results offer for binding."""
        tools = {name: one.tool for name, one in self._known.items()}
        return offers_in(tools, self.wording, str(self.folder / WORDS))

    def open(self, salt: str) -> Opened:
        """Return the world that a salt decides."""
        if self._environment is not None:
            try:
                seed = self._environment.seed(Random(int(salt, 16)))
            except Exception as error:
                raise SourceError(
                    f"its seed fails: {type(error).__name__}: {error}",
                    where=self.text,
                    fix="correct `seed`; `planarena env check` runs it",
                ) from error
            return Opened(GuardedWorld([self._environment], [seed]), seed.title, seed.description)
        assert self._host is not None
        try:
            world = FolderWorld(self._host, self._known, ["start", salt])
        except SandboxError as error:
            raise SourceError(
                f"its seed fails: {error}",
                where=self.text,
                fix="correct `seed`; `planarena env check` runs it",
            ) from error
        return Opened(world, world.title, world.description)

    def restore(self, tables: Mapping[str, Any], facts: Mapping[str, Any]) -> World | FolderWorld:
        """Return the world of a stored scenario."""
        if self._environment is not None:
            return GuardedWorld.restore([self._environment], tables, facts)
        assert self._host is not None
        return FolderWorld(self._host, self._known, ["restore", [dict(tables), dict(facts)]])

    def close(self) -> None:
        """End the sandbox."""
        if self._host is not None:
            self._host.worker.close()


def _read_tools(told: dict[str, Any], text: str) -> list[Tool]:
    try:
        tools = [msgspec.convert(json.loads(json.dumps(one)), type=Tool) for one in told["tools"]]
        for tool in tools:
            tool.tool_id  # noqa: B018  computing it refuses what has no canonical JSON
    except (msgspec.ValidationError, TypeError, ValueError, KeyError) as error:
        raise SourceError(
            f"a tool's description cannot be used: {error}", where=text, fix="correct it"
        ) from error
    return tools


def _contents(folder: Path) -> list[bytes]:
    """Return the files that decide what an environment does."""
    files = sorted(item for item in folder.rglob("*") if item.suffix in {".py", ".yaml"} and item.is_file())
    return [part for file in files for part in (str(file.relative_to(folder)).encode(), file.read_bytes())]


def _elsewhere(*_: Any, **__: Any) -> NoReturn:
    raise RuntimeError("the tools of a folder are called by their world")
