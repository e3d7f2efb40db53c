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
from typing import Any, NoReturn, get_args

import msgspec

from planarena.environments.contract import BOUND, SEEDS, WORDS, Environment
from planarena.environments.folders import open_folder
from planarena.environments.sandbox.bubblewrap import Limits
from planarena.environments.sandbox.worker import ReplyError, Worker, WorkerDiedError, WorkerTimeoutError
from planarena.environments.sources.session_world import failure, make_outcome
from planarena.environments.sources.source import Opened, SourceOptions
from planarena.environments.state import Footprint
from planarena.environments.wording import Offer, ToolWording, load_wording, offers_in
from planarena.environments.world import Operation, Outcome, Status, World, operations
from planarena.errors import SandboxError, SourceError
from planarena.tools.tool import Tool
from planarena.tools.validation import SchemaValidator

__all__ = ["FolderUnit", "folder_limits", "open_folder_source"]

_SERVICE = Path(__file__).with_name("_service.py")
_FILES = ("environment.py", "world.py", SEEDS, WORDS)


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
        self._host: _Host | None = None
        self._environment: type[Environment] | None = None
        if options.trusted:
            self._environment = open_folder(folder)
            self.name, self.summary = self._environment.domain, self._environment.summary
            found = operations(self._environment)
            tools = [one.tool for one in found.values()]
            proposing = {name for name, one in found.items() if one.propose is not None}
        else:
            self._host = _Host(folder, text, limits, options.unsafe_no_sandbox)
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
            return Opened(_TrustedWorld([self._environment], [seed]), seed.title, seed.description)
        assert self._host is not None
        try:
            world = FolderWorld(self._host, self._known, ["start", salt])
        except ReplyError as error:
            raise SourceError(
                f"its seed fails: {error}",
                where=self.text,
                fix="correct `seed`; `planarena env check` runs it",
            ) from error
        return Opened(world, world.title, world.description)

    def restore(self, tables: Mapping[str, Any], facts: Mapping[str, Any]) -> World | FolderWorld:
        """Return the world of a stored scenario."""
        if self._environment is not None:
            return _TrustedWorld.restore([self._environment], tables, facts)
        assert self._host is not None
        return FolderWorld(self._host, self._known, ["restore", [dict(tables), dict(facts)]])

    def close(self) -> None:
        """End the sandbox."""
        if self._host is not None:
            self._host.worker.close()


class _TrustedWorld(World):
    """A world whose tools may fail in ways that were not foreseen: that is a failed call, not the build's end."""

    def _run(self, name: str, arguments: Mapping[str, Any]) -> Outcome:
        mark = self.store.mark()
        try:
            return super()._run(name, arguments)
        except Exception as error:
            self.store.rollback(mark)
            return failure("tool_error", type(error).__name__, str(error))


class _Host:
    """The sandbox of a folder, shared by its worlds."""

    def __init__(self, folder: Path, text: str, limits: Limits, unsafe_no_sandbox: bool) -> None:
        ours = Path(__file__).parents[3]
        self.worker = Worker(
            _SERVICE,
            readable=[folder, ours, *(item.resolve() for item in (ours / "data",) if item.is_symlink())],
            variables={"PLANARENA_FOLDER": str(folder), "PYTHONPATH": str(ours.parent)},
            limits=limits,
            unsafe_no_sandbox=unsafe_no_sandbox,
        )
        try:
            self.description: dict[str, Any] = self.worker.call("describe", seconds=limits.start_seconds)
        except SandboxError as error:
            self.worker.close()
            raise SourceError(
                f"cannot be opened in the sandbox: {str(error)[:600]}",
                where=text,
                fix="correct it; it sees no network and only its own folder. `planarena env check` says more",
            ) from error


class FolderWorld:
    """A world that lives in a folder's sandbox; when the sandbox ends, it is made again and its calls repeated.

    Args:
        host: The sandbox.
        known: The operations.
        opening: The method and value that make the world.
    """

    execution_kind = "real"
    safety = "snapshot"
    live_tools: frozenset[str] = frozenset()

    def __init__(self, host: _Host, known: dict[str, Operation], opening: list[Any]) -> None:
        self.operations = known
        self._host, self._opening = host, opening
        self._changes: list[tuple[str, dict[str, Any]]] = []  # the calls that changed the state
        self._marks: list[int] = []  # before the first of them, and after each
        self._digests: list[str] = []  # likewise
        self._touched = Footprint(frozenset(), frozenset())
        told = self._open()
        self.facts: dict[str, Any] = told["facts"]
        self.title, self.description = str(told.get("title", "")), str(told.get("description", ""))

    def _open(self) -> dict[str, Any]:
        told: dict[str, Any] = self._host.worker.call(*self._opening)
        self._number, self._start = told["world"], self._host.worker.starts
        self._marks, self._digests = [self._ask("mark", self._number)], [str(told["digest"])]
        for name, arguments in self._changes:
            reply = self._ask("call", [self._number, name, arguments])
            self._marks.append(self._ask("mark", self._number))
            self._digests.append(str(reply[3]))
        return told

    def _ask(self, method: str, value: Any) -> Any:
        return self._host.worker.call(method, value)

    def _ask_world(self, method: str, *more: Any) -> Any:
        """Ask of this world, which is made again where the sandbox no longer has it."""
        if self._start != self._host.worker.starts:
            self._open()
        try:
            return self._ask(method, [self._number, *more] if more else self._number)
        except ReplyError as error:
            if error.kind != "LookupError" or "given up" not in error.message:
                raise
            self._open()
            return self._ask(method, [self._number, *more] if more else self._number)

    @property
    def store(self) -> FolderWorld:
        """Itself: it can be dumped and hashed as a store can."""
        return self

    def dump(self) -> Any:
        """Return the tables."""
        return self._ask_world("dump")

    def recompute_digest(self) -> str:
        """Return the hash of the state, computed from its records."""
        return str(self._ask_world("recompute"))

    def remember(self, on: bool) -> bool:
        """Remember nothing: every call runs. Returns False."""
        del on
        return False

    def propose(self, name: str, rng: Random) -> list[dict[str, Any]]:
        """Return the arguments that the tool's environment proposes in the present state."""
        version, state, gauss = rng.getstate()
        try:
            found, after = self._ask_world("propose", name, [version, list(state), gauss])
        except ReplyError as error:
            raise SourceError(
                f"the proposals of {name} fail: {error}",
                where=str(self._opening[0]),
                fix="correct them; `planarena env check` runs them",
            ) from error
        rng.setstate((after[0], tuple(after[1]), after[2]))
        return [{**one, **dict.fromkeys(bound, BOUND)} for one, bound in found]

    def call(self, name: str, arguments: Mapping[str, Any]) -> Outcome:
        """Execute one call; a failed one leaves the state as it was."""
        self._touched = Footprint(frozenset(), frozenset())
        operation = self.operations.get(name)
        if operation is None:
            return failure("schema_error", "unknown_tool", f"There is no tool named {name}.")
        if not operation.validator.is_valid(arguments):
            return failure(
                "schema_error", "invalid_arguments", str(operation.validator.first_error(arguments))
            )
        try:
            reply = self._ask_world("call", name, dict(arguments))
            outcome, reads, writes, digest, changed = _read_reply(reply)
        except ReplyError as error:
            return failure("tool_error", error.kind, error.message)
        except WorkerTimeoutError:
            return failure("timeout", "timeout", f"{name} did not answer in time and was stopped.")
        except WorkerDiedError:
            return failure("tool_error", "worker_died", f"{name} ended the process it ran in.")
        self._touched = Footprint(reads, writes)
        if changed:
            self._changes.append((name, dict(arguments)))
            self._digests.append(digest)
            self._marks.append(self._ask_world("mark"))
        return outcome

    def footprint(self) -> Footprint:
        """Return what the last call read and wrote."""
        return self._touched

    def mark(self) -> int:
        """Return a point to roll back to."""
        return len(self._changes)

    def rollback(self, mark: int) -> None:
        """Undo every call since `mark`."""
        if mark == len(self._changes):
            return
        del self._changes[mark:]
        if self._start == self._host.worker.starts:
            self._ask_world("rollback", self._marks[mark])
        del self._marks[mark + 1 :]
        del self._digests[mark + 1 :]

    def digest(self) -> str:
        """Return the hash of the state."""
        return self._digests[-1]


def _read_reply(reply: Any) -> tuple[Outcome, frozenset[Any], frozenset[Any], str, bool]:
    """Read what the sandbox says of a call; what it says is data, and may be nonsense.

    Raises:
        ReplyError: It is not what the service sends.
    """
    try:
        (status, result, error), reads, writes, digest, changed = reply
        touched = [frozenset((str(table), None if key is None else str(key)) for table, key in found)
                   for found in (reads, writes)]  # fmt: skip
        if status not in get_args(Status):
            raise ValueError(f"no such status: {status!r}")
    except (TypeError, ValueError) as problem:
        raise ReplyError("no_answer", f"the environment's answer cannot be read: {problem}") from problem
    if status == "ok":
        outcome = make_outcome(result)
    else:
        told = error if isinstance(error, dict) else {}
        outcome = failure(status, str(told.get("code", "error")), str(told.get("message", "")))
    return outcome, touched[0], touched[1], str(digest), bool(changed)


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
