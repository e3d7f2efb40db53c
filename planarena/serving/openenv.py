"""`planarena serve openenv`: an export for OpenEnv, served in the managed environment that has OpenEnv."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import planarena
from planarena import managed
from planarena.export import export
from planarena.records import Run

__all__ = ["ENVIRONMENT", "paths", "serve_openenv"]

ENVIRONMENT = "openenv"
_LAUNCH = """
import ctypes, os, socket, sys
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, 15)  # PR_SET_PDEATHSIG: the server ends with the command, however that ended
    if os.getppid() != int(sys.argv[3]):
        sys.exit("the command that serves has ended")
import uvicorn
from server.app import app
host, port = sys.argv[1], int(sys.argv[2])
family = socket.AF_INET6 if ":" in host else socket.AF_INET
listener = socket.socket(family, socket.SOCK_STREAM)
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
try:
    listener.bind((host, port))
except (OSError, TypeError, ValueError) as error:
    why = getattr(error, "strerror", None) or error
    sys.exit(f"error: {host}:{port}: cannot listen: {why}\\n  fix: choose another --port, or --port 0 for a free one")
listener.listen(1024)
print(f"http://{host}:{listener.getsockname()[1]}", file=sys.stderr, flush=True)
config = uvicorn.Config(app, log_level="error", access_log=False, ws_max_size=1 << 20, ws_ping_interval=60)
try:
    uvicorn.Server(config).run(sockets=[listener])
except KeyboardInterrupt:
    pass
"""


def paths() -> str:
    """Return where the managed environment finds this package."""
    return str(Path(planarena.__file__).resolve().parent.parent)


def serve_openenv(
    run: Path, *, host: str, port: int, sessions: int, trusted: bool = False, unsafe: bool = False
) -> int:
    """Export a run into a folder for the time being and serve it; return the exit code of the server.

    Args:
        run: A run.
        host: An address of this machine.
        port: 0 takes a free one.
        sessions: Most sessions at a time.
        trusted: Run environment folders in process.
        unsafe: Run third-party code without a sandbox.

    Raises:
        EnvironmentUnavailableError: OpenEnv cannot be installed here.
        RunError: The run has no task that can be replayed.
    """
    found = managed.environment(ENVIRONMENT)
    with TemporaryDirectory(prefix="planarena-openenv-") as folder:
        project = export(Run.open(run), "openenv", Path(folder) / "planarena").path
        variables = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(project), paths()]),
            "PLANARENA_SERVE_SESSIONS": str(sessions),
            "PLANARENA_SERVE_TRUSTED": str(int(trusted)),
            "PLANARENA_SERVE_UNSAFE": str(int(unsafe)),
            "PLANARENA_SERVE_LOOPBACK": str(int(host in ("127.0.0.1", "localhost", "::1"))),
        }
        # Sources of a run may be named from the present folder, which must not be searched for modules (-P).
        command = [str(found.python), "-P", "-c", _LAUNCH, host, str(port), str(os.getpid())]
        with subprocess.Popen(command, env=variables) as process:
            # Ended from outside, the server ends too; Ctrl-C reaches both.
            before = signal.signal(signal.SIGTERM, lambda *_: process.terminate())
            try:
                code = process.wait()
            except KeyboardInterrupt:
                code = process.wait(timeout=20)
            finally:
                signal.signal(signal.SIGTERM, before)
    # What was told to end has ended well, as the other servers do.
    return 0 if code in (0, -signal.SIGINT, -signal.SIGTERM) else 1
