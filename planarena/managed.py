"""Managed environments: a venv built once from a hashed lock, for tools whose pins cannot join ours.

An environment is addressed by its content (the bytes of its lock, the Python that builds it, the
machine), lives in the user's cache directory and is shared by every project of that user. It is built
beside its final place and renamed into it, so that a build that dies leaves nothing that anybody uses.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from planarena.errors import EnvironmentUnavailableError, UserError

__all__ = ["ManagedEnvironment", "Progress", "cache_directory", "environment", "is_built", "names"]

Progress = Callable[[str, int, int], None]
"""Called with a sentence, the packages installed so far and the packages in all."""

_LAYOUT = 1  # raised when the way of building changes, so that older builds are not taken for current ones
_MARKER = "planarena-environment.json"
_SCRUBBED = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PIP_REQUIRE_VIRTUALENV", "PIP_TARGET", "PIP_USER",
             "PIP_PREFIX", "PIP_ROOT", "PIP_PYTHON", "PIP_REQUIREMENT", "PIP_CONSTRAINT")  # fmt: skip


@dataclass(frozen=True, slots=True)
class ManagedEnvironment:
    """A finished environment.

    Attributes:
        name: The name of its lock.
        path: Its root; read only by convention.
        key: The content address, 24 hexadecimal digits.
    """

    name: str
    path: Path
    key: str

    @property
    def python(self) -> Path:
        """The interpreter that sees the environment's packages and no others."""
        return self.path / ("Scripts/python.exe" if os.name == "nt" else "bin/python")

    @property
    def site_packages(self) -> Path:
        """The folder that holds the installed packages."""
        if os.name == "nt":
            return self.path / "Lib" / "site-packages"
        return (
            self.path / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
        )


def cache_directory() -> Path:
    """The folder of everything that can be made again: PLANARENA_CACHE, else the user's cache directory."""
    if chosen := os.environ.get("PLANARENA_CACHE"):
        return Path(chosen).expanduser().absolute()
    from platformdirs import user_cache_path

    return user_cache_path("planarena")


def names() -> list[str]:
    """The environments that this installation has a lock for."""
    folder = files("planarena.data") / "locks"
    if not folder.is_dir():
        return []
    return sorted(
        entry.name.removesuffix(".lock") for entry in folder.iterdir() if entry.name.endswith(".lock")
    )


def is_built(name: str) -> bool:
    """Say whether `environment(name)` would return at once, without the network."""
    return _is_usable(_place(name, _read_lock(name)))


def environment(
    name: str, *, lock: Path | None = None, progress: Progress | None = None
) -> ManagedEnvironment:
    """Return the environment of a lock; build it first where it does not exist yet.

    Processes that ask at the same time wait for one build. A build that is killed is begun again by the
    next caller.

    Args:
        name: A name from `names()`, or any plain name together with `lock`.
        lock: A lock file of your own: pip's requirements format, every line with `--hash`.
        progress: Told what happens; by default lines on standard error.

    Raises:
        UserError: There is no such lock, or it holds an unhashed line or an index address.
        EnvironmentUnavailableError: It cannot be built here: no network, a full disk, no `venv`.
    """
    text = _read_lock(name) if lock is None else lock.read_bytes()
    packages = _check_lock(name, text)
    found = _place(name, text)
    if _is_usable(found):
        return found
    report = progress or _print_progress
    try:
        found.path.parent.mkdir(parents=True, exist_ok=True)
        with _exclusive(found, report):
            if not _is_usable(found):
                _build(found, text, packages, report)
    except OSError as error:
        raise EnvironmentUnavailableError(
            f"the environment {name!r} cannot be written: {error.strerror or error}",
            where=str(found.path),
            fix="free some space there, or name another folder in PLANARENA_CACHE",
        ) from error
    return found


def _read_lock(name: str) -> bytes:
    resource = files("planarena.data") / "locks" / f"{name}.lock"
    if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name) is None or not resource.is_file():
        raise UserError(
            "there is no such managed environment", where=repr(name), fix=f"name one of: {', '.join(names())}"
        )
    return resource.read_bytes()


def _check_lock(name: str, lock: bytes) -> int:
    """Count the packages of a lock; refuse lines that would install something unhashed."""
    lines = [line.strip() for line in lock.decode().replace("\\\n", " ").splitlines()]
    pinned = [line for line in lines if line and not line.startswith("#")]
    for line in pinned:
        if line.startswith("-") or "--hash=sha256:" not in line or "==" not in line.split()[0]:
            raise UserError(
                f"the lock holds a line that is not a pinned and hashed package: {line[:80]!r}",
                where=f"{name}.lock",
                fix="write `name==version --hash=sha256:...` lines alone, without options or addresses",
            )
    return len(pinned)


def _place(name: str, lock: bytes) -> ManagedEnvironment:
    identity = "\n".join(
        [
            str(_LAYOUT),
            sys.implementation.cache_tag or "",
            platform.python_version(),
            sys.platform,
            platform.machine(),
        ]
    )
    key = hashlib.sha256(identity.encode() + b"\0" + lock).hexdigest()[:24]
    return ManagedEnvironment(name, cache_directory() / "environments" / f"{name}-{key}", key)


def _is_usable(found: ManagedEnvironment) -> bool:
    """A finished build whose base interpreter is still there (an upgrade of Python may remove it)."""
    return (found.path / _MARKER).is_file() and found.python.exists()


@contextlib.contextmanager
def _exclusive(found: ManagedEnvironment, report: Progress) -> Iterator[None]:
    """Hold the build of one environment; the system lets go of the lock when its holder dies."""
    if os.name == "nt":  # renaming onto a finished build fails there, which is all the safety that is needed
        yield
        return
    import fcntl

    with (found.path.parent / f".{found.path.name}.lock").open("a") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report(f"{found.name}: another process builds it; waiting", 0, 0)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _build(found: ManagedEnvironment, lock: bytes, packages: int, report: Progress) -> None:
    folder = found.path.parent
    for leftover in folder.glob(
        f".{found.path.name}.build-*"
    ):  # of builds that were killed: we hold the lock
        shutil.rmtree(leftover, ignore_errors=True)
    report(f"{found.name}: building a managed environment of {packages} packages, once", 0, packages)
    work = Path(tempfile.mkdtemp(prefix=f".{found.path.name}.build-", dir=folder))
    try:
        place = work / "env"
        has_pip = find_spec("pip") is not None
        _run([sys.executable, "-m", "venv", *(["--without-pip"] if has_pip else []), str(place)], found.name)
        draft = ManagedEnvironment(found.name, place, found.key)
        wanted = work / "requirements.txt"
        wanted.write_bytes(lock)
        _install(
            draft, wanted, packages, report, [sys.executable, "-m", "pip", "--python"] if has_pip else None
        )
        _make_movable(place, found.path)
        (place / _MARKER).write_text(json.dumps({"lock_sha256": hashlib.sha256(lock).hexdigest()}))
        if found.path.exists():  # its interpreter went away
            found.path.rename(work / "unusable")
        with contextlib.suppress(OSError) if os.name == "nt" else contextlib.nullcontext():
            place.rename(found.path)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    report(f"{found.name}: ready", packages, packages)


def _install(
    draft: ManagedEnvironment, wanted: Path, packages: int, report: Progress, outside_pip: list[str] | None
) -> None:
    """Run pip; without `--only-binary` it would run build scripts whose own requirements carry no hash."""
    pip = [*outside_pip, str(draft.python)] if outside_pip else [str(draft.python), "-m", "pip"]
    command = [*pip, "install", "--no-deps", "--require-hashes", "--only-binary", ":all:", "--no-compile",
               "--no-input", "--disable-pip-version-check", "--progress-bar", "off", "-r", str(wanted)]  # fmt: skip
    variables = {key: value for key, value in os.environ.items() if key not in _SCRUBBED}
    variables.setdefault("PIP_RETRIES", "2")  # offline, the default of five takes a minute to say so
    variables["PIP_QUIET"] = variables["PIP_VERBOSE"] = "0"  # its lines are read below
    seen, said = 0, []
    with subprocess.Popen(
        command,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        umask=0o022,  # a sandboxed worker of another user id must be able to read it
    ) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                said.append(line.rstrip())
                if line.startswith(("Collecting ", "Processing ")):
                    seen += 1
                    report(f"{draft.name}: {Path(line.split()[1]).name}", seen, packages)
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        _explain(draft.name, said)


def _explain(name: str, said: list[str]) -> None:
    text = "\n".join(said)
    errors = [line.removeprefix("ERROR: ") for line in said if line.startswith("ERROR")] or said[-1:]
    cause = errors[0][:300] if errors else "pip failed and said nothing"
    if "DO NOT MATCH THE HASHES" in text:
        raise EnvironmentUnavailableError(
            "a downloaded package does not have the hash that the lock names; nothing of it was installed",
            where=name,
            fix="use a package index that serves the published files unchanged",
        )
    if "No space left" in text:
        raise EnvironmentUnavailableError(
            "the disk is full", where=name, fix="free some space, or name another folder in PLANARENA_CACHE"
        )
    raise EnvironmentUnavailableError(
        f"the managed environment cannot be installed: {cause}",
        where=name,
        fix="connect to a package index (or name one of yours in pip's configuration) and run the command again; "
        "or build it on a connected machine of the same kind and copy the folder that PLANARENA_CACHE names",
    )


def _make_movable(place: Path, final: Path) -> None:
    """Write the final path into scripts and bytecode, which would otherwise name the temporary one."""
    for script in (place / "bin").glob("*") if os.name != "nt" else ():
        if script.is_symlink() or not script.is_file():
            continue
        content = script.read_bytes()
        if content.startswith(b"#!") or script.name.startswith("activate"):
            script.write_bytes(content.replace(os.fsencode(place), os.fsencode(final)))
    library = place / ("Lib" if os.name == "nt" else "lib")
    # Compiled ahead because a sandbox sees the environment read only; a file that does not compile is not
    # imported by anybody, so the exit status says nothing.
    subprocess.run(
        [
            sys.executable,
            "-m",
            "compileall",
            "-q",
            "-j",
            "0",
            "-s",
            str(place),
            "-p",
            str(final),
            str(library),
        ],
        check=False,
        capture_output=True,
        umask=0o022,
    )


def _run(command: list[str], name: str) -> None:
    done = subprocess.run(command, check=False, capture_output=True, text=True, umask=0o022)
    if done.returncode:
        raise EnvironmentUnavailableError(
            f"`python -m venv` failed: {(done.stderr or done.stdout).strip()[-300:]}",
            where=name,
            fix="install the venv module of this Python (on Debian and Ubuntu: the package python3-venv)",
        )


def _print_progress(sentence: str, done: int, total: int) -> None:
    counts = f" ({done}/{total})" if total else ""
    sys.stderr.write(f"{sentence}{counts}\n")
    sys.stderr.flush()
