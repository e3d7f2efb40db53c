"""The sandbox: one process of third-party code, confined.

Bubblewrap gives the process its own mounts, process ids, network and host name; it sees the system's
libraries, the interpreter and the folders it was given, all read only, and one small writable /tmp. It
holds no capability and none of our environment variables, and calls that make namespaces or mounts are refused. Where we run as root the command is moved to
an unprivileged user id inside, because the kernel exempts root from the limit on processes, and that limit
is what stops a fork bomb. Without bubblewrap nothing runs, unless the caller passes `unsafe_no_sandbox`.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from planarena.environments.sandbox._seccomp import filter_descriptor
from planarena.errors import EnvironmentUnavailableError, SandboxError

__all__ = ["Limits", "Sandbox", "interpreter_paths", "missing"]

_INSTALL = "install bubblewrap (Debian, Ubuntu: apt-get install bubblewrap), or pass --unsafe-no-sandbox"
_SYSTEM = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc/alternatives",
    "/etc/ld.so.cache",
)
_NETWORK = (
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/nsswitch.conf",
    "/etc/ssl",
    "/etc/ca-certificates",
    "/etc/pki",
)
# Each sandbox of root gets a user id of its own: the limit on processes counts a user's, not a sandbox's.
# Several processes that start sandboxes begin at different ones.
_FIRST_ID = 61200 + os.getpid() % 3800
_USER_IDS = itertools.cycle((*range(_FIRST_ID, 65000), *range(61200, _FIRST_ID)))


@dataclass(frozen=True, slots=True)
class Limits:
    """What a sandbox may use.

    Attributes:
        memory_bytes: Address space of one process.
        scratch_bytes: Room in /tmp, which is memory too.
        file_bytes: The longest file that may be written.
        processes: Processes and threads in all.
        open_files: File descriptors of one process.
        cpu_seconds: CPU time of one process over its life.
        reply_bytes: The longest answer that is read; a longer one kills the worker.
        start_seconds: Wall time for the worker to say that it is ready.
        call_seconds: Wall time of one call.
    """

    memory_bytes: int = 4 << 30
    scratch_bytes: int = 256 << 20
    file_bytes: int = 64 << 20
    processes: int = 64
    open_files: int = 256
    cpu_seconds: int = 3600
    reply_bytes: int = 64 << 20
    start_seconds: float = 30.0
    call_seconds: float = 60.0


@functools.cache
def missing() -> str | None:
    """Say why this machine cannot sandbox, or None where it can; asks once a process."""
    if not sys.platform.startswith("linux"):
        return f"the sandbox needs Linux, and this is {sys.platform}"
    needed = ["bwrap", "prlimit", *(["setpriv"] if os.geteuid() == 0 else [])]
    if absent := [program for program in needed if shutil.which(program) is None]:
        return f"{' and '.join(absent)} cannot be found in PATH"
    try:
        with _filter() as (option, kept):
            command = _wrap(["true"], readable=(), writable=(), variables={}, limits=Limits(), network=False)
            command[1:1] = option
            tried = subprocess.run(
                command, capture_output=True, text=True, timeout=30, check=False, pass_fds=kept
            )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"bubblewrap does not start: {error}"
    if tried.returncode:
        return f"bubblewrap cannot make a sandbox here: {tried.stderr.strip()[-300:]}"
    return None


@contextlib.contextmanager
def _filter(wanted: bool = True) -> Iterator[tuple[list[str], tuple[int, ...]]]:
    """The option that gives bubblewrap the filter of system calls, and the descriptor to hand down."""
    descriptor = filter_descriptor() if wanted else None
    if descriptor is None:
        yield [], ()
        return
    try:
        yield ["--seccomp", str(descriptor)], (descriptor,)
    finally:
        os.close(descriptor)


def _wrap(
    command: Sequence[str],
    *,
    readable: Sequence[Path],
    writable: Sequence[Path],
    variables: Mapping[str, str],
    limits: Limits,
    network: bool,
) -> list[str]:
    """The command line that runs a command confined."""
    root = os.geteuid() == 0
    line = [shutil.which("bwrap") or "bwrap", "--die-with-parent", "--new-session", "--clearenv"]
    if root:
        # Without a user namespace, so that the mounts may show what only root can reach; the three
        # capabilities serve setpriv below, and are gone once the user id is no longer root's.
        line += ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
        line += [
            "--cap-drop",
            "ALL",
            "--cap-add",
            "CAP_SETUID",
            "--cap-add",
            "CAP_SETGID",
            "--cap-add",
            "CAP_SETPCAP",
        ]
        if network:
            line.remove("--unshare-net")
    else:
        line += ["--unshare-all", "--cap-drop", "ALL", *(["--share-net"] if network else [])]
    for name, value in _variables(variables).items():
        line += ["--setenv", name, value]
    for path in _SYSTEM:
        target = ["--symlink", os.readlink(path)] if Path(path).is_symlink() else ["--ro-bind-try", path]  # noqa: PTH115
        line += [*target, path]
    for path in _NETWORK if network else ():
        line += ["--ro-bind-try", path, path]
    line += ["--proc", "/proc", "--dev", "/dev", "--remount-ro", "/dev"]
    line += ["--perms", "1777", "--size", str(limits.scratch_bytes), "--tmpfs", "/tmp"]  # noqa: S108  its own
    for option, paths in (("--ro-bind", readable), ("--bind", writable)):
        for folder in _folders_above(paths):
            # Made by bubblewrap on its own they would shut the worker's user id out.
            line += ["--perms", "0755", "--dir", folder]
        for shown in _outermost(paths):
            line += [option, str(shown), str(shown)]
    line += ["--remount-ro", "/", "--chdir", "/tmp", "--"]  # noqa: S108  its own
    if root:
        user = str(next(_USER_IDS))
        line += ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "--inh-caps=-all"]
        line += ["--bounding-set=-all", "--no-new-privs", "--"]
    return [*line, *_limit(limits), *command]


def _outermost(paths: Sequence[Path]) -> list[Path]:
    """Leave out what another path shows already: inside a read-only mount no mount point can be made."""
    whole = sorted(set(paths), key=lambda path: len(path.parts))
    return [
        path for index, path in enumerate(whole) if not any(path.is_relative_to(up) for up in whole[:index])
    ]


def _folders_above(paths: Sequence[Path]) -> list[str]:
    above = {str(folder) for path in _outermost(paths) for folder in path.parents}
    return sorted(above - {"/", "/tmp"}, key=len)  # noqa: S108  the sandbox's


def _variables(own: Mapping[str, str]) -> dict[str, str]:
    fixed = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/tmp", "LANG": "C.UTF-8"}  # noqa: S108  the sandbox's
    return fixed | {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"} | dict(own)


def _limit(limits: Limits) -> list[str]:
    return [
        "prlimit",
        f"--as={limits.memory_bytes}",
        f"--fsize={limits.file_bytes}",
        f"--nproc={limits.processes}",
        f"--nofile={limits.open_files}",
        f"--cpu={limits.cpu_seconds}",
        "--core=0",
        "--",
    ]


def interpreter_paths(python: Path) -> list[Path]:
    """What must be seen for this interpreter to start: its environment, each link on the way, its base."""
    paths, hop = [], python.absolute()
    if (hop.parent.parent / "pyvenv.cfg").is_file():
        paths.append(hop.parent.parent)
    while hop.is_symlink():
        if not any(hop.is_relative_to(path) for path in (*paths, Path("/usr"))):
            paths.append(hop)
        hop = Path(os.path.normpath(hop.parent / hop.readlink()))
    base = python.resolve().parent.parent
    if not base.is_relative_to("/usr"):
        paths.append(base)
    return paths


_starter: ThreadPoolExecutor | None = None
_starter_lock = threading.Lock()


def _forget_starter() -> None:
    """Threads do not survive a fork."""
    global _starter
    _starter = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_starter)


def _start(
    line: Sequence[str], environ: Mapping[str, str], folder: str | None, *, confined: bool
) -> subprocess.Popen[bytes]:
    """Start from a thread that lives as long as we do.

    The kernel sends "your parent died" when the thread that started a process ends, and a sandbox may be
    asked for in a thread that ends at once.
    """
    global _starter
    with _starter_lock:
        if _starter is None:
            _starter = ThreadPoolExecutor(max_workers=1, thread_name_prefix="planarena-sandbox")
        starter = _starter

    def start() -> subprocess.Popen[bytes]:
        with _filter(confined) as (option, kept):
            return subprocess.Popen(
                [line[0], *option, *line[1:]],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=dict(environ),
                cwd=folder,
                bufsize=0,
                start_new_session=True,
                pass_fds=kept,
            )

    return starter.submit(start).result()


class Sandbox:
    """One confined process with pipes for its standard streams.

    Args:
        command: The program and its arguments, as seen inside.
        readable: Files and folders shown read only, at the same paths.
        writable: Folders it may write to, at the same paths; mind who owns them.
        variables: Environment variables; it gets no others of ours.
        limits: What it may use.
        network: Share the machine's network.
        unsafe_no_sandbox: Run the command without any confinement but the limits.

    Attributes:
        kind: "bubblewrap" or "none", for the provenance of what it computes.

    Raises:
        EnvironmentUnavailableError: There is no way to sandbox here.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        readable: Sequence[Path] = (),
        writable: Sequence[Path] = (),
        variables: Mapping[str, str] | None = None,
        limits: Limits | None = None,
        network: bool = False,
        unsafe_no_sandbox: bool = False,
    ) -> None:
        self.limits = limits or Limits()
        self.kind = "none" if unsafe_no_sandbox else "bubblewrap"
        self._scratch: str | None = None
        if unsafe_no_sandbox:
            self._scratch = tempfile.mkdtemp(prefix="planarena-unconfined-")
            own = {"HOME": self._scratch, "TMPDIR": self._scratch, **(variables or {})}
            line, environ = (
                [*(_limit(self.limits) if shutil.which("prlimit") else []), *command],
                _variables(own),
            )
        else:
            if (why := missing()) is not None:
                raise EnvironmentUnavailableError(
                    f"third-party code needs a sandbox, and {why}", fix=_INSTALL
                )
            for path in (*readable, *writable):
                if not path.exists():
                    raise SandboxError(f"the sandbox is to show {path}, which does not exist")
            line = _wrap(
                command,
                readable=readable,
                writable=writable,
                variables=variables or {},
                limits=self.limits,
                network=network,
            )
            environ = {"PATH": os.environ.get("PATH", "/usr/bin:/bin")}
        self.process = _start(line, environ, self._scratch, confined=not unsafe_no_sandbox)
        self._tail = bytearray()
        assert self.process.stderr is not None
        self._drain = threading.Thread(target=self._read_errors, args=(self.process.stderr,), daemon=True)
        self._drain.start()

    def _read_errors(self, stream: IO[bytes]) -> None:
        """Keep the last of what it complains about; a pipe that nobody reads would stop it."""
        with contextlib.suppress(OSError, ValueError):
            while chunk := stream.read(65536):
                self._tail += chunk
                del self._tail[:-4096]

    @property
    def complaint(self) -> str:
        """The last 4,096 bytes of its standard error."""
        return self._tail.decode(errors="replace")

    def kill(self) -> None:
        """End it and all it started; may be called twice."""
        process = self.process
        if process.poll() is None:
            # Its process namespace ends with it, and with the namespace every process inside.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self._drain.join(timeout=5)
        if process.stderr is not None and not self._drain.is_alive():
            process.stderr.close()
        if self._scratch is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)
