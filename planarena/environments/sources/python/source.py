"""Other people's Python modules as sources: read, described and called inside the sandbox alone."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from planarena.environments.sandbox.bubblewrap import Limits
from planarena.environments.sandbox.worker import ReplyError, Worker, WorkerDiedError, WorkerTimeoutError
from planarena.environments.sources.session_unit import SessionUnit, ToolHints, effect_named, salt_number
from planarena.environments.sources.session_world import FAILED, Safety, failure, make_outcome
from planarena.environments.sources.source import SourceOptions
from planarena.environments.world import Outcome
from planarena.errors import SandboxError, SourceError
from planarena.records.canonical import CanonicalError, canonical_bytes, id_of_bytes
from planarena.tools.tool import Tool
from planarena.tools.validation import SchemaValidator
from planarena.tools.wire_names import with_wire_names

__all__ = ["PythonSession", "open_python", "python_limits"]

_SERVICE = Path(__file__).with_name("_service.py")


def python_limits() -> Limits:
    """What a Python source may use: 2 GiB, 32 processes, ten seconds a call, answers of 4 MiB."""
    return Limits(memory_bytes=2 << 30, scratch_bytes=64 << 20, file_bytes=16 << 20, processes=32, cpu_seconds=600, reply_bytes=4 << 20, start_seconds=20, call_seconds=10)  # fmt: skip


def _find(name: str) -> tuple[Path, str, Path]:
    """Return the module's file, its name and the folder that its package lives in; nothing is imported."""
    if name.endswith(".py"):
        file = Path(name).absolute()
        if not file.is_file():
            raise SourceError("there is no such file", where=f"python:{name}", fix="check the path")
        return file, file.stem, file.parent
    if re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", name) is None:
        raise SourceError(
            f"{name!r} is no module", where="python:", fix="write python:package.module or python:FILE.py"
        )
    for folder in dict.fromkeys([str(Path.cwd()), *sys.path]):
        base = Path(folder or ".").absolute().joinpath(*name.split("."))
        for file in (base.with_suffix(".py"), base / "__init__.py"):
            if file.is_file():
                return file, name, Path(folder or ".").absolute()
    raise SourceError(
        f"there is no module {name!r}", where=f"python:{name}", fix="install it, or give its file"
    )


def _packages() -> list[Path]:
    """Return the folders of installed packages: a module may import what it can import outside of the sandbox."""
    found = [Path(one) for one in sys.path if one.endswith(("site-packages", "dist-packages"))]
    return [one for one in found if one.is_dir()]


class PythonSession:
    """A module in a sandboxed worker.

    Args:
        name: `package.module` or a file.
        limits: What it may use.
        unsafe_no_sandbox: Run it unconfined.

    Raises:
        SourceError: There is no such module, or it cannot be imported.
        EnvironmentUnavailableError: There is no way to sandbox here.
    """

    def __init__(self, name: str, *, limits: Limits | None = None, unsafe_no_sandbox: bool = False) -> None:
        self.file, self.module, root = _find(name)
        package = root / self.module.split(".", maxsplit=1)[0]
        shown = package if package.is_dir() else self.file
        ours = Path(__file__).parents[3]
        self.owner: object = None
        self._worker = Worker(
            _SERVICE,
            readable=[shown, ours, *_packages()],
            variables={
                "PLANARENA_MODULE": self.module,
                "PLANARENA_ROOT": str(root),
                "PYTHONPATH": str(ours.parent),
            },
            limits=limits or python_limits(),
            unsafe_no_sandbox=unsafe_no_sandbox,
        )
        self.kind = self._worker.kind
        try:
            self.description: dict[str, Any] = self._worker.call("describe")
        except SandboxError as error:
            self.close()
            why = str(error)[:600]
            raise SourceError(
                f"the module cannot be read in the sandbox: {why}",
                where=f"python:{name}",
                fix="correct it; it sees no network and only its own folder",
            ) from error
        self.safety: Safety = self.description["safety"]
        self.observable = bool(self.description["observable"])
        self._state: tuple[Any] | None = None  # as last seen; None where it may have changed since

    def close(self) -> None:
        """End the worker."""
        self._state = None
        self._worker.close()

    def is_live(self, tool: Tool) -> bool:  # noqa: ARG002  nothing leaves the sandbox
        """Return False."""
        return False

    def call(self, tool: Tool, arguments: Mapping[str, Any]) -> Outcome:
        """Execute a call; what goes wrong inside is classified."""
        self._state = None
        try:
            # The state comes with the result: a call is one exchange, not three.
            result, state = self._worker.call("call", [tool.name, dict(arguments)])
            self._state = (state,)
        except ReplyError as error:
            return failure("tool_error", _code(error.kind), error.message or error.kind)
        except WorkerTimeoutError:
            return failure("timeout", "timeout", f"{tool.name} did not answer in time and was stopped.")
        except WorkerDiedError as error:
            too_long = "longer than" in str(error)
            code = "result_too_large" if too_long else "worker_died"
            # The state went with the process; the world starts it anew.
            return failure(
                "tool_error",
                code,
                "The answer was too long." if too_long else f"{tool.name} ended the process it ran in.",
            )
        if isinstance(result, str) and re.match(FAILED, result):
            return failure("tool_error", "tool_error", result)
        return make_outcome(result)

    def start_anew(self, salt: str) -> None:
        """Reset in place where the module can, else call a new copy of it, or start a new process."""
        self._state = None
        if not self._worker.call("start", salt_number(salt)) and self.safety != "read_only":
            self._worker.close()
            self._worker.call("start", salt_number(salt))

    def snapshot(self) -> Any:
        """Return the module's own snapshot."""
        return self.dump()

    def restore(self, token: Any) -> None:
        """Go to a snapshot."""
        self._state = None
        self._worker.call("restore", token)
        self._state = (token,)

    def dump(self) -> Any:
        """Return what the module shows of its state."""
        if self._state is None:
            self._state = (self._worker.call("state"),)
        return self._state[0]

    def digest(self) -> str:
        """Hash what the module shows of its state."""
        if self.safety == "read_only":
            return id_of_bytes(b"read only")
        try:
            return id_of_bytes(canonical_bytes(self.dump()))
        except CanonicalError as error:
            raise SandboxError(f"the module's state is no JSON value: {error}") from error


def _code(kind: str) -> str:
    word = re.sub(r"(Error|Exception)$", "", kind) or kind
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", word).lower()


def open_python(name: str, options: SourceOptions, limits: Limits | None = None) -> SessionUnit:
    """Open a module as a unit.

    Raises:
        SourceError: There is no such module, it cannot be imported, or it holds no tools.
        EnvironmentUnavailableError: There is no way to sandbox here.
    """
    session = PythonSession(name, limits=limits, unsafe_no_sandbox=options.unsafe_no_sandbox)
    told = session.description
    digest = sha256(session.file.read_bytes()).hexdigest()
    tools, hints = [], {}
    for entry in told["tools"]:
        try:
            tool = _tool(entry, session, told, digest)
        except (SourceError, CanonicalError, TypeError, ValueError, KeyError) as error:
            raise SourceError(
                f"a tool's description cannot be used: {error}", where=f"python:{name}", fix="correct it"
            ) from error
        tools.append(tool)
        hints[tool.name] = ToolHints(examples=[one for one in entry["examples"] if isinstance(one, dict)])
    if not tools:
        refused = told["refused"]
        why = f"; {refused[0][2]}: {refused[0][1]}" if refused else ""
        raise SourceError(
            f"holds no tools{why}",
            where=f"python:{name}",
            fix="define public functions with types and a docstring that describes every argument",
        )
    named = with_wire_names(tools)
    return SessionUnit(
        f"python {session.module}",
        session,
        {tool.wire_name: tool for tool in named},
        {tool.wire_name: hints[tool.name] for tool in named},
        told["facts"] if isinstance(told["facts"], dict) else {},
        str(told["summary"])[:500] or f"A user works with {session.module}.",
        allow_effects=options.allow_effects,
    )


def _tool(entry: dict[str, Any], session: PythonSession, told: dict[str, Any], digest: str) -> Tool:
    schema = json.loads(json.dumps(entry["input_schema"]))
    SchemaValidator(schema, entry["name"])
    effects = effect_named(str(entry["effects"])) or "unknown"
    tool = Tool(
        namespace=session.module,
        name=str(entry["name"]),
        wire_name=str(entry["name"]),
        description=str(entry["description"])[:4000],
        input_schema=schema,
        output_schema=entry["output_schema"],
        effects=effects,
        execution_kind="real",
        source_kind="python",
        source_ref=session.module,
        source_version=str(told["version"])[:64],
        source_sha256=digest,
    )
    tool.tool_id  # noqa: B018  computing it refuses what has no canonical JSON
    return tool
