"""Where an MCP server's program is: commands that would download one become programs installed from our locks."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import subprocess
import tempfile
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from planarena import managed
from planarena.environments.sandbox.bubblewrap import interpreter_paths
from planarena.errors import EnvironmentUnavailableError, SourceError

__all__ = ["Program", "npm_environment", "resolve_command"]

_PYTHON_RUNNERS = ("uvx", "pipx")
_NPM_LOCK = "locks/mcp-servers-npm/package-lock.json"


class Program(NamedTuple):
    """A command that can be run in the sandbox.

    Attributes:
        command: An absolute path.
        args: Its arguments.
        readable: What it must see.
    """

    command: str
    args: tuple[str, ...]
    readable: tuple[Path, ...]


def resolve_command(command: str, args: list[str], where: str) -> Program:
    """Return the program that a configuration means.

    `uvx PACKAGE`, `pipx run PACKAGE` and `npx -y PACKAGE` install nothing unlocked: the package must be one that
    we have a lock for. Everything else must be installed and is looked up.

    Raises:
        SourceError: There is no such program, or a package without a lock.
        EnvironmentUnavailableError: The locked package cannot be installed here.
    """
    name = Path(command).name
    if name in _PYTHON_RUNNERS or (name == "uv" and args[:2] == ["tool", "run"]):
        words = [
            word for word in (args[2:] if name == "uv" else args) if word not in {"run", "-y", "--quiet"}
        ]
        return _python_server(words, where)
    if name == "npx":
        return _npm_server([word for word in args if word not in {"-y", "--yes"}], where)
    found = command if Path(command).is_absolute() else shutil.which(command)
    if found is None or not Path(found).exists():
        raise SourceError(
            f"there is no program {command!r}", where=where, fix="install it, or write its absolute path"
        )
    readable = [Path(found)] if not Path(found).is_relative_to("/usr") else []
    root = Path(found).parent.parent
    if (root / "pyvenv.cfg").is_file():
        readable = [root, *interpreter_paths(root / "bin" / "python")]
    readable += [
        Path(word)
        for word in args
        if word.startswith("/") and Path(word).exists() and len(Path(word).parts) > 2
    ]
    return Program(str(found), tuple(args), tuple(readable))


def _python_server(words: list[str], where: str) -> Program:
    package = words[0].split("==")[0].split("@")[0] if words else ""
    if package not in managed.names():
        raise SourceError(
            f"there is no lock for the package {package!r}",
            where=where,
            fix="install it into an environment of its own and write the path of its program as the command",
        )
    environment = managed.environment(package)
    program = environment.path / "bin" / package
    return Program(str(program), tuple(words[1:]), (environment.path, *interpreter_paths(environment.python)))


def _npm_server(words: list[str], where: str) -> Program:
    package = words[0] if words else ""
    bare = package if package.rfind("@") <= 0 else package[: package.rfind("@")]
    lock = json.loads((files("planarena.data") / _NPM_LOCK).read_text())
    if bare not in lock["packages"][""]["dependencies"]:
        raise SourceError(
            f"there is no lock for the package {package!r}",
            where=where,
            fix="install it with npm into a folder of its own and write: node PATH_OF_ITS_SCRIPT",
        )
    root = npm_environment()
    folder = root / "node_modules" / bare
    entry = json.loads((folder / "package.json").read_text())["bin"]
    script = folder / (entry if isinstance(entry, str) else next(iter(entry.values())))
    node = shutil.which("node")
    if node is None:
        raise EnvironmentUnavailableError(
            "node cannot be found", where=where, fix="install Node.js 20 or later"
        )
    readable = (
        [root] if Path(node).resolve().is_relative_to("/usr") else [root, Path(node).resolve().parent.parent]
    )
    return Program(node, (str(script), *words[1:]), tuple(readable))


def npm_environment() -> Path:
    """Return the folder with the locked npm servers; install them first where it does not exist yet.

    No install script runs, and every package must have the hash that the lock names.

    Raises:
        EnvironmentUnavailableError: npm is absent, or fails.
    """
    text = (files("planarena.data") / _NPM_LOCK).read_bytes()
    folder = managed.cache_directory() / "environments"
    place = folder / f"mcp-servers-npm-{hashlib.sha256(text).hexdigest()[:24]}"
    if place.is_dir():
        return place
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        raise EnvironmentUnavailableError(
            "npm cannot be found", where="mcp-servers-npm", fix="install Node.js 20 or later with npm"
        )
    folder.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=".mcp-servers-npm-", dir=folder))
    try:
        lock = json.loads(text)
        (work / "package-lock.json").write_bytes(text)
        (work / "package.json").write_text(json.dumps(lock["packages"][""]))
        done = subprocess.run(
            [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"],
            cwd=work, capture_output=True, text=True, check=False, umask=0o022, timeout=600,
        )  # fmt: skip
        if done.returncode:
            raise EnvironmentUnavailableError(
                f"npm cannot install the servers: {done.stderr.strip()[-300:]}",
                where="mcp-servers-npm",
                fix="connect to a package registry and run the command again",
            )
        work.chmod(0o755)
        with contextlib.suppress(OSError):  # another process was first
            work.rename(place)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return place
