"""The inside of an MCP source: the official client and one server, both in the sandbox.

The server's state is a folder of its own, so that it can be copied, restored and hashed between calls. Runs under
the managed environment `mcp`; imports nothing of planarena.
"""

import asyncio
import fnmatch
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

STATE = Path(tempfile.gettempdir()) / "state"  # the sandbox's own
_loop = asyncio.new_event_loop()
threading.Thread(target=_loop.run_forever, daemon=True).start()
_config: dict[str, Any] = {}
_client: Any = None
_stop: Any = None
_task: Any = None
_snapshots: list[dict[str, tuple[bytes, int]]] = []


def _run(work: Any) -> Any:
    return asyncio.run_coroutine_threadsafe(work, _loop).result()


async def _serve(ready: "asyncio.Future[Any]") -> None:
    """Hold the client open in one task, as its context asks."""
    global _stop
    from mcp import Client, StdioServerParameters

    _stop = asyncio.Event()
    try:
        if "url" in _config:
            import httpx2
            from mcp.client.streamable_http import streamable_http_client

            # A redirect could lead to a host that was not allowed: none is followed.
            http = httpx2.AsyncClient(headers=_config.get("headers", {}), follow_redirects=False, timeout=30)
            target: Any = streamable_http_client(_config["url"], http_client=http)
        else:
            target = StdioServerParameters(
                command=_config["command"],
                args=_config["args"],
                env=_variables(),
                cwd=str(STATE),
                encoding_error_handler="replace",
            )
        async with Client(target, read_timeout_seconds=_config["seconds"]) as client:
            ready.set_result(client)
            await _stop.wait()
    except BaseException as error:
        if not ready.done():
            ready.set_exception(RuntimeError(_deepest(error)))


def _deepest(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"


def _variables() -> dict[str, str]:
    fixed = {
        "PATH": os.environ["PATH"],
        "HOME": str(STATE.parent),
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "OPENSSL_CONF": "/dev/null",
    }
    # Whatever writes a date into its state must write the same one each time.
    date = "2026-03-02T09:00:00Z"
    fixed |= {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date, "GIT_CONFIG_NOSYSTEM": "1"}
    fixed |= {
        "NODE_OPTIONS": "--max-old-space-size=512",
        "GIT_AUTHOR_NAME": "Robin",
        "GIT_AUTHOR_EMAIL": "robin@example.com",
    }
    fixed |= {"GIT_COMMITTER_NAME": "Robin", "GIT_COMMITTER_EMAIL": "robin@example.com"}
    own: dict[str, str] = _config.get("env", {})
    return fixed | {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"} | own


async def _start_client() -> Any:
    global _task
    ready = _loop.create_future()
    _task = _loop.create_task(_serve(ready))
    return await asyncio.wait_for(ready, _config["start_seconds"])


async def _stop_client() -> None:
    if _stop is not None:
        _stop.set()
    if _task is not None:
        await asyncio.wait([_task], timeout=10)


def start(value: Any) -> dict[str, Any]:
    """Take the configuration, make the state folder and start the server."""
    global _client
    _config.update(_placed(value))
    _fill()
    _client = _run(_start_client())
    info = getattr(_client, "server_info", None)
    return {
        "server": getattr(info, "name", ""),
        "version": str(getattr(info, "version", "")),
        "state": str(STATE),
    }


def _placed(value: Any) -> Any:
    """Write the state folder's path where the configuration says {state}."""
    if isinstance(value, str):
        return value.replace("{state}", str(STATE))
    if isinstance(value, list):
        return [_placed(item) for item in value]
    return {key: _placed(item) for key, item in value.items()} if isinstance(value, dict) else value


def _fill() -> None:
    shutil.rmtree(STATE, ignore_errors=True)
    STATE.mkdir(parents=True)
    if folder := _config.get("folder"):
        shutil.copytree(folder, STATE, dirs_exist_ok=True, symlinks=True)
    for name, text in _config.get("files", {}).items():
        file = (STATE / name).resolve()
        if not file.is_relative_to(STATE):
            raise ValueError(f"the state file {name!r} leaves the state folder")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    for command in _config.get("init", []):
        done = subprocess.run(
            command, cwd=STATE, env=_variables(), capture_output=True, text=True, timeout=60, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{command}: {done.stderr[-500:]}")


def reset(value: Any) -> None:
    """Make the state folder as it was; with true, start the server again too."""
    global _client
    if value:
        _run(_stop_client())
    _fill()
    if value:
        _client = _run(_start_client())


def tools(_value: Any) -> list[dict[str, Any]]:
    """Return the server's tools as it describes them."""
    found: list[dict[str, Any]] = []
    cursor = None
    for _ in range(100):
        page = _run(_client.list_tools(cursor=cursor))
        found.extend(
            json.loads(tool.model_dump_json(by_alias=True, exclude_none=True)) for tool in page.tools
        )
        cursor = getattr(page, "next_cursor", None)
        if not cursor:
            break
    return found


def call(value: Any) -> list[Any]:
    """Call a tool and return its result as plain JSON, and the hash of the state then."""
    name, arguments = value
    result = _run(_client.call_tool(name, arguments, read_timeout_seconds=_config["seconds"]))
    return [json.loads(result.model_dump_json(by_alias=True, exclude_none=True)), digest(None)]


def _files() -> dict[str, tuple[bytes, int]]:
    found = {}
    for file in sorted(STATE.rglob("*")):
        name = file.relative_to(STATE).as_posix()
        if file.is_symlink():
            found[name] = (str(file.readlink()).encode(), 1)
        elif file.is_file():
            found[name] = (file.read_bytes(), file.stat().st_mode & 0o777)
        elif file.is_dir():
            found[name] = (b"", 0)
    return found


def _is_ignored(name: str) -> bool:
    return any(fnmatch.fnmatch(name, pattern) for pattern in _config.get("ignore", []))


def digest(_value: Any) -> str:
    """Hash the state folder but for what is ignored."""
    total = hashlib.blake2b(digest_size=16)
    for name, (data, mode) in _files().items():
        if not _is_ignored(name):
            total.update(json.dumps([name, mode, len(data)]).encode())
            total.update(data)
    return total.hexdigest()


def dump(_value: Any) -> dict[str, Any]:
    """Return the state folder's texts."""
    return {
        name: data.decode(errors="replace")[:20_000]
        for name, (data, mode) in _files().items()
        if mode > 1 and not _is_ignored(name)
    }


def snapshot(_value: Any) -> int:
    """Keep the state folder as it is and return its number."""
    _snapshots.append(_files())
    return len(_snapshots) - 1


def restore(number: Any) -> None:
    """Make the state folder as it was when it was kept."""
    wanted, present = _snapshots[number], _files()
    for name in sorted(present, reverse=True):
        if name not in wanted or (wanted[name][1] in {0, 1}) != (present[name][1] in {0, 1}):
            file = STATE / name
            shutil.rmtree(
                file, ignore_errors=True
            ) if file.is_dir() and not file.is_symlink() else file.unlink(missing_ok=True)
    for name, (data, mode) in wanted.items():
        file = STATE / name
        if present.get(name) == (data, mode) and file.exists():
            continue
        if mode == 0:
            file.mkdir(parents=True, exist_ok=True)
        elif mode == 1:
            file.unlink(missing_ok=True)
            file.symlink_to(data.decode())
        else:
            file.parent.mkdir(parents=True, exist_ok=True)
            if file.exists():
                file.unlink()
            file.write_bytes(data)
            file.chmod(mode)


sys.stdout = sys.stderr
METHODS = {
    "start": start,
    "reset": reset,
    "tools": tools,
    "call": call,
    "digest": digest,
    "dump": dump,
    "snapshot": snapshot,
    "restore": restore,
}
