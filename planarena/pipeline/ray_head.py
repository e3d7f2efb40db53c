"""A Ray head of our own for one build: loopback, no dashboard, its own ports and folder, gone with its parent."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from planarena.errors import EnvironmentUnavailableError

__all__ = ["RayHead"]

# At this very address every part of Ray listens to this machine alone.
_LOOPBACK = "127.0.0.1"
_GUARD = "import os, signal, sys; sys.stdin.buffer.read(); os.killpg(int(sys.argv[1]), signal.SIGKILL)"
_START_SECONDS = 60.0
# Chunks travel through the run directory; the object store carries jobs and replies of some kilobytes.
_OBJECT_STORE = 100 << 20


class RayHead:
    """Starts `ray start --head --block` in a session of its own, and a guard that ends it with its parent.

    The guard reads from a pipe that the parent alone holds; however the parent ends, the guard then ends the whole
    process group, and Ray's workers follow their node. A build that is killed leaves no process behind.

    Args:
        cpus: What the node offers.

    Attributes:
        address: For `ray.init`.
        credentials: Variables by which a driver shows that it belongs to it; nobody else on the machine has them.
        temporary: Its folder; short, for the paths of sockets are.

    Raises:
        EnvironmentUnavailableError: It does not come up.
    """

    def __init__(self, cpus: int) -> None:
        self.temporary = Path(tempfile.mkdtemp(prefix="paray-"))
        port = _free_port()
        self.credentials = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
        self.address = f"{_LOOPBACK}:{port}"
        command = [
            *(sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block"),
            *(f"--node-ip-address={_LOOPBACK}", f"--port={port}", f"--temp-dir={self.temporary}"),
            *("--include-dashboard=false", "--disable-usage-stats", f"--num-cpus={cpus}"),
            *(f"--object-store-memory={_OBJECT_STORE}", "--include-log-monitor=false"),
            # Their usual numbers belong to whoever else runs Ray here.
            *(f"--ray-client-server-port={_free_port()}", f"--dashboard-agent-listen-port={_free_port()}"),
        ]
        environment = {
            **os.environ,
            **self.credentials,
            "RAY_DISABLE_IMPORT_WARNING": "1",
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
            # A folder on a nearly full disk is the user's affair: the build says so itself.
            "RAY_local_fs_capacity_threshold": "1",
        }
        with (self.temporary / "start.log").open("wb") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            )
        self._guard = subprocess.Popen(
            [sys.executable, "-S", "-c", _GUARD, str(self._process.pid)],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            self._await(port)
        except BaseException:
            self.close()
            raise

    def _await(self, port: int) -> None:
        deadline = time.monotonic() + _START_SECONDS
        log = self.temporary / "start.log"
        while time.monotonic() < deadline:
            if not self.alive:
                break
            # The line comes when all parts are up; the port alone answers earlier.
            if b"--block" in log.read_bytes():
                with contextlib.suppress(OSError), socket.create_connection((_LOOPBACK, port), 1):
                    return
            time.sleep(0.1)
        said = log.read_text(errors="replace").strip().splitlines()[-3:]
        raise EnvironmentUnavailableError(
            f"Ray did not start: {' '.join(said)[-400:]}",
            where="--engine ray",
            fix="try again, or leave --engine out: the local runner gives the same bytes",
        )

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self._process.poll() is None

    @property
    def group(self) -> int:
        """Its process group."""
        return self._process.pid

    def close(self) -> None:
        """End every process of it and remove its folder."""
        for sign in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, sign)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(5 if sign == signal.SIGTERM else 10)
        self._guard.kill()
        self._guard.communicate()
        shutil.rmtree(self.temporary, ignore_errors=True)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((_LOOPBACK, 0))
        return int(probe.getsockname()[1])
