"""A Ray head for one command alone: loopback, no dashboard, its own ports and folder, gone with its parent."""

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
from typing import Any

from planarena.errors import EnvironmentUnavailableError

__all__ = ["RayHead", "expect_tokens", "import_ray"]

# At this very address every part of Ray listens to this machine alone.
_LOOPBACK = "127.0.0.1"
# Ends what is left of Ray when its parent is gone, and removes the folder that it wrote to meanwhile.
_GUARD = """
import os, shutil, signal, sys, time
sys.stdin.buffer.read()
try:
    os.killpg(int(sys.argv[1]), signal.SIGKILL)
except ProcessLookupError:
    pass
for _ in range(60):
    shutil.rmtree(sys.argv[2], ignore_errors=True)
    time.sleep(0.5)
    if not os.path.exists(sys.argv[2]):
        break
"""
_START_SECONDS = 60.0
_TOKENS = {"RAY_AUTH_MODE": "token"}


class RayHead:
    """Starts `ray start --head --block` in a session of its own, and a guard that ends it with its parent.

    The guard reads from a pipe that the parent alone holds; however the parent ends, the guard then ends the whole
    process group, and Ray's workers follow their node. A build that is killed leaves no process behind.

    Args:
        cpus: What the node offers; None: what the machine has.
        gpus: Likewise.
        object_store: Bytes of shared memory; None: Ray's own share.
        where: What an error names.

    Attributes:
        address: For `ray.init`.
        credentials: Variables by which a driver shows that it belongs to it; nobody else on the machine has them.
            None in a program that imported Ray before, without `expect_tokens`.
        temporary: Its folder; short, for the paths of sockets are.

    Raises:
        EnvironmentUnavailableError: It does not come up.
    """

    def __init__(
        self,
        cpus: int | None,
        *,
        gpus: int | None = None,
        object_store: int | None = None,
        where: str = "--engine ray",
    ) -> None:
        self.where = where
        self.temporary = Path(tempfile.mkdtemp(prefix="paray-"))
        port = _free_port()
        self.credentials = dict(_TOKENS, RAY_AUTH_TOKEN=secrets.token_hex(32)) if _shows_tokens() else {}
        self.address = f"{_LOOPBACK}:{port}"
        command = [
            *(sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block"),
            *(f"--node-ip-address={_LOOPBACK}", f"--port={port}", f"--temp-dir={self.temporary}"),
            *("--include-dashboard=false", "--disable-usage-stats", "--include-log-monitor=false"),
            *([] if cpus is None else [f"--num-cpus={cpus}"]),
            *([] if gpus is None else [f"--num-gpus={gpus}"]),
            *([] if object_store is None else [f"--object-store-memory={object_store}"]),
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
            [sys.executable, "-S", "-c", _GUARD, str(self._process.pid), str(self.temporary)],
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
        text = log.read_text(errors="replace").strip()
        said = text.splitlines()[-3:]
        if "address already in use" in text.lower() or f"specified port is {port}" in text:
            raise EnvironmentUnavailableError(
                f"port {port}, free a moment ago, is in use",
                where=self.where,
                fix="run the same command again: it takes other ports",
            )
        raise EnvironmentUnavailableError(
            f"Ray did not start: {' '.join(said)[-400:]}",
            where=self.where,
            fix="try again, or leave --engine out: one process does the same",
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


def expect_tokens() -> None:
    """Let Ray show tokens; to be said before it is imported, when it decides for the life of a process."""
    os.environ.update(_TOKENS)


def _shows_tokens() -> bool:
    if "ray._raylet" not in sys.modules:
        return True
    from ray._raylet import AuthenticationMode, get_authentication_mode  # type: ignore[attr-defined]

    return bool(get_authentication_mode() == AuthenticationMode.TOKEN)


def import_ray(head: RayHead | None) -> Any:
    """Import Ray.

    With such a head it gets that head's token, and is kept from replacing 127.0.0.1 by an address that others
    can reach; it may have been imported, and have read other variables, before.

    Args:
        head: For this command alone; None for a cluster that runs already.
    """
    if head is not None:
        os.environ.update(head.credentials, RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER="0")
    import ray

    if head is not None:
        from ray._private import ray_constants
        from ray._raylet import AuthenticationTokenLoader  # type: ignore[attr-defined]

        ray_constants.ENABLE_RAY_CLUSTER = False
        AuthenticationTokenLoader.instance().reset_cache()
    return ray


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((_LOOPBACK, 0))
        return int(probe.getsockname()[1])
