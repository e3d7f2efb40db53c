"""The embedded server from outside: credentials, starting, stopping, asking how it is.

The server holds a lock on its data directory as long as it lives, so whether it runs is never guessed from a
process id alone.
"""

from __future__ import annotations

import contextlib
import fcntl
import ipaddress
import json
import os
import re
import secrets
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from http import HTTPStatus
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec

from planarena import managed
from planarena.errors import EnvironmentUnavailableError, PlanArenaError, UserError
from planarena.records.shards import write_durably

__all__ = [
    "WORKSPACE",
    "Credentials",
    "ServerState",
    "default_data_directory",
    "ensure_credentials",
    "is_loopback",
    "read_credentials",
    "server_state",
    "start_server",
    "stop_server",
]

WORKSPACE = "planarena"
_START_SECONDS = 120.0  # a first start migrates a database: 13 s on a quiet machine
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{1,39}")
# The server's package must not see planarena's folders, and runs without the user's own site packages.
_BOOT = """
import importlib.util, sys
folder = sys.argv.pop(1)
spec = importlib.util.spec_from_file_location(
    "planarena_audit_server", folder + "/__init__.py", submodule_search_locations=[folder])
package = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = package
spec.loader.exec_module(package)
from planarena_audit_server.main import main
main()
"""


class _Account(msgspec.Struct):
    username: str
    password: str
    api_key: str


class Credentials(msgspec.Struct):
    """What `credentials.json` holds; made at random, readable by its owner alone.

    Attributes:
        workspace: Where the datasets live.
        secret_key: Signs the server's session tokens.
        owner: The account that pushes and pulls.
        annotators: The people's accounts by name.
    """

    workspace: str
    secret_key: str
    owner: _Account
    annotators: dict[str, _Account]


class ServerState(NamedTuple):
    """How a server is.

    Attributes:
        running: Somebody holds the data directory.
        url: Where its page is; empty when it is not running.
        pid: Its process, or 0.
        data_dir: Its data directory.
        answers: It answers at its address.
    """

    running: bool
    url: str
    pid: int
    data_dir: Path
    answers: bool


def default_data_directory() -> Path:
    """The folder of the server that commands mean when none is named."""
    from platformdirs import user_data_path

    return user_data_path("planarena") / "audit"


def is_loopback(host: str) -> bool:
    """Say whether an address is reachable from this machine alone."""
    if host == "localhost":
        return True
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False


def ensure_credentials(data_dir: Path, annotators: Sequence[str] = ()) -> Credentials:
    """Return the credentials of a data directory; make them, and accounts for new annotators, at random.

    Args:
        data_dir: Made with mode 0700 where it is absent.
        annotators: Names that shall have an account; those who have one keep it.

    Raises:
        UserError: A name that the server would refuse, or a damaged file.
    """
    for name in annotators:
        if _NAME.fullmatch(name) is None or name == "owner":
            raise UserError(
                f"{name!r} cannot be an annotator's name",
                where="--annotators",
                fix="use 2 to 40 small letters, digits, dots, dashes and underscores, and not `owner`",
            )
    data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    data_dir.chmod(0o700)
    path = data_dir / "credentials.json"
    found = read_credentials(data_dir) if path.is_file() else None
    held = found or Credentials(WORKSPACE, secrets.token_hex(32), _account("owner"), {})
    new = [name for name in annotators if name not in held.annotators]
    held.annotators.update({name: _account(name) for name in new})
    if new or found is None:
        before = os.umask(0o177)  # the file is never readable by others, not even before a chmod
        try:
            write_durably(path, msgspec.json.format(msgspec.json.encode(held), indent=2) + b"\n")
        finally:
            os.umask(before)
    path.chmod(0o600)
    return held


def _account(name: str) -> _Account:
    return _Account(name, secrets.token_urlsafe(18), secrets.token_urlsafe(48))


def read_credentials(data_dir: Path) -> Credentials:
    """Read the credentials of a data directory.

    Raises:
        UserError: There are none, or the file is damaged.
    """
    path = data_dir / "credentials.json"
    try:
        return msgspec.json.decode(path.read_bytes(), type=Credentials)
    except FileNotFoundError as error:
        raise UserError(
            "no audit server has been started here",
            where=str(data_dir),
            fix="`planarena audit up --detach`, or set ARGILLA_API_URL and ARGILLA_API_KEY for an Argilla elsewhere",
        ) from error
    except msgspec.MsgspecError as error:
        raise UserError(
            "the credentials file is damaged",
            where=str(path),
            fix="delete it and start the server again: accounts get new passwords, answers stay",
        ) from error


def server_state(data_dir: Path) -> ServerState:
    """Say how the server of a data directory is."""
    if not _is_held(data_dir):
        return ServerState(False, "", 0, data_dir, False)
    try:
        noted = msgspec.json.decode((data_dir / "server.json").read_bytes(), type=_Noted)
    except (OSError, msgspec.MsgspecError):
        return ServerState(True, "", 0, data_dir, False)
    url = f"http://{_bracketed(noted.host)}:{noted.port}"
    pid = noted.pid if _serves(noted.pid, data_dir) else 0
    return ServerState(True, url, pid, data_dir, _answers(noted.host, noted.port))


class _Noted(msgspec.Struct):
    """What `server.json` holds of a server that runs."""

    pid: Annotated[int, msgspec.Meta(gt=1)]
    host: str
    port: Annotated[int, msgspec.Meta(gt=0, lt=1 << 16)]


def _serves(pid: int, data_dir: Path) -> bool:
    """Whether a process is the server of a data directory: a damaged note must not have another one ended."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return not Path("/proc/self").exists()  # where processes cannot be looked at, the note is believed
    return os.fsencode(data_dir.resolve()) in words


def _is_held(data_dir: Path) -> bool:
    try:
        with (data_dir / "server.lock").open("r+") as handle:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _answers(host: str, port: int) -> bool:
    from http.client import HTTPConnection, HTTPException

    reach = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104  where to ask, not where to listen
    connection = HTTPConnection(reach, port, timeout=5)
    try:
        connection.request("GET", "/api/v1/version")
        return connection.getresponse().status == HTTPStatus.OK
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def start_server(
    data_dir: Path,
    *,
    host: str = "127.0.0.1",
    port: int = 6900,
    annotators: Sequence[str] = (),
    detach: bool = False,
    stock: bool = False,
    progress: managed.Progress | None = None,
) -> tuple[ServerState, subprocess.Popen[bytes]]:
    """Start the server and wait until its page answers.

    Args:
        data_dir: Where its database and credentials live.
        host: The address to listen on.
        port: The port to listen on.
        annotators: Names that shall have an account.
        detach: Leave it running when this process ends; its output goes to `server.log`.
        stock: Without our speed-ups, to compare.
        progress: Told while the managed environment is built.

    Returns:
        How it is, and its process.

    Raises:
        UserError: One runs already, the port is taken or none, or a name is refused.
        EnvironmentUnavailableError: The managed environment cannot be built.
        PlanArenaError: The server ended before it answered.
    """
    state = server_state(data_dir)
    if state.running:
        raise UserError(
            f"the server runs already: {state.url}",
            where=str(data_dir),
            fix="`planarena audit down` stops it",
        )
    _check_port(host, port)
    ensure_credentials(data_dir, annotators)
    environment = managed.environment("argilla", progress=progress)
    folder = files("planarena.annotation") / "server"
    if not isinstance(folder, Path):
        raise EnvironmentUnavailableError(
            "planarena is imported from an archive", where=str(folder), fix="install it as a folder"
        )
    command = [str(environment.python), "-I", "-c", _BOOT, str(folder.resolve()), str(data_dir.resolve())]
    command += ["--host", host, "--port", str(port)]
    command += [*(["--stock"] if stock else []), *([] if detach else ["--die-with-parent"])]
    with _open_log(data_dir) as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=data_dir,
            start_new_session=detach,
        )
    noted = {"pid": process.pid, "host": host, "port": port}
    write_durably(data_dir / "server.json", json.dumps(noted).encode())
    try:
        _await(process, data_dir)
    except BaseException:
        process.terminate()
        raise
    return server_state(data_dir), process


def _open_log(data_dir: Path) -> Any:
    descriptor = os.open(data_dir / "server.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    return os.fdopen(descriptor, "wb")


def _check_port(host: str, port: int) -> None:
    """Refuse an address that the server could not take, before anything is written or installed.

    Raises:
        UserError: Likewise; port 0 too, since the server is found again by the port that was asked for.
    """
    if not 0 < port < 1 << 16:
        raise UserError(
            f"{port} is no port of a server", where="--port", fix="name a port from 1 to 65535, such as 6900"
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except (OSError, TypeError, ValueError) as error:  # the latter two for what is no host name
            raise UserError(
                f"cannot listen there: {getattr(error, 'strerror', None) or error}",
                where=f"{host}:{port}",
                fix="name another port with --port, or stop what uses this one",
            ) from error


def _await(process: subprocess.Popen[bytes], data_dir: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        if server_state(data_dir).answers:
            return
        time.sleep(0.2)
    log = (data_dir / "server.log").read_text(encoding="utf-8", errors="replace").strip()
    raise PlanArenaError(
        f"the audit server did not start; its log {data_dir / 'server.log'} ends:\n{log[-2000:]}"
    )


def stop_server(data_dir: Path, seconds: float = 20.0) -> bool:
    """Stop the server of a data directory.

    Args:
        data_dir: Where it runs.
        seconds: How long it may take to finish what it does before it is killed.

    Returns:
        Whether one was running.

    Raises:
        PlanArenaError: It runs, but who it is cannot be told.
    """
    state = server_state(data_dir)
    if not state.running:
        return False
    if not state.pid:
        raise PlanArenaError(
            f"a server holds {data_dir}, but its process id is not noted there; end it by hand"
        )
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.kill(state.pid, number)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if not _is_held(data_dir):
                return True
            time.sleep(0.1)
    raise PlanArenaError(f"the server (process {state.pid}) does not end")
