"""Starting the server: settings, the in-process job queue, migrations, accounts, the web application.

Usage: `main DATA_DIR --host HOST --port PORT [--stock] [--die-with-parent]`. Secrets come from
`DATA_DIR/credentials.json`, never from the command line, which other users of the machine can read.
"""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import fcntl
import json
import os
import shutil
import signal
import sqlite3
import sys
import threading
from pathlib import Path
from typing import Any

__all__ = ["main"]

# The page needs inline scripts and styles; it may talk to its own server and to nobody else.
_POLICY = (
    "default-src 'self'; img-src 'self' data: blob:; font-src 'self' data:; style-src 'self' 'unsafe-inline'; "
    "script-src 'self' 'unsafe-inline' 'unsafe-eval'; connect-src 'self'; frame-src 'self' blob: data:; "
    "object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


def main(arguments: list[str] | None = None) -> None:
    """Serve until a signal ends the process.

    Args:
        arguments: The command line; the process's own by default.
    """
    parser = argparse.ArgumentParser(prog="audit-server")
    parser.add_argument("data_dir", type=Path)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=6900)
    parser.add_argument("--stock", action="store_true", help="without our speed-ups, to compare")
    parser.add_argument("--die-with-parent", action="store_true")
    options = parser.parse_args(arguments)
    os.umask(0o077)
    if options.die_with_parent and sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG
    home: Path = options.data_dir.resolve()
    lock = _take_lock(home)
    secrets = json.loads((home / "credentials.json").read_text(encoding="utf-8"))
    _configure(home, secrets)
    _replace_redis()
    _migrate(home)
    from .accounts import ensure_accounts

    asyncio.run(ensure_accounts(secrets))
    _start_worker()
    if not options.stock:
        from .speed import apply_speedups

        apply_speedups()
    _serve(options.host, options.port)
    lock.close()


def _take_lock(home: Path) -> Any:
    """Hold the data directory: the system lets go when the process ends, however it ends."""
    handle = (home / "server.lock").open("a")
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit("another audit server holds this data directory")
    return handle


def _configure(home: Path, secrets: dict[str, Any]) -> None:
    """Set what the server reads when it is first imported; nothing of the caller's settings gets through."""
    for name in [name for name in os.environ if name.startswith(("ARGILLA_", "HF_", "OAUTH2_"))]:
        del os.environ[name]
    scratch = (
        home / "tmp"
    )  # the page's files are copied there at each start; the stock server leaves them behind
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(mode=0o700)
    os.environ.update(
        TMPDIR=str(scratch),
        ARGILLA_HOME_PATH=str(home),
        ARGILLA_DATABASE_URL=f"sqlite+aiosqlite:///{home / 'argilla.db'}?check_same_thread=False",
        ARGILLA_SEARCH_ENGINE="embedded",
        ARGILLA_AUTH_SECRET_KEY=secrets["secret_key"],
        ARGILLA_CORS_ORIGINS="[]",
        ARGILLA_SHOW_HUGGINGFACE_SPACE_PERSISTENT_STORAGE_WARNING="false",
        HF_HUB_DISABLE_TELEMETRY="1",
        HF_HUB_OFFLINE="1",
        HF_HOME=str(home / "tmp" / "huggingface"),
    )


def _replace_redis() -> None:
    """Keep the job queue inside the process: nothing listens, so nobody else can enqueue a pickled job."""
    import fakeredis
    import redis

    store = fakeredis.FakeServer()

    def connect(_url: str, **options: Any) -> Any:
        return fakeredis.FakeStrictRedis(server=store, **options)

    redis.from_url = connect


def _migrate(home: Path) -> None:
    import alembic.command
    import alembic.config
    from argilla_server.database import ALEMBIC_CONFIG_FILE

    alembic.command.upgrade(alembic.config.Config(ALEMBIC_CONFIG_FILE), "head")
    with sqlite3.connect(home / "argilla.db") as db:
        db.execute("PRAGMA journal_mode = WAL")  # a search then never waits for a push
        # What filters, sorts and the text index look at, without the records' long texts, which stand before it
        # in the table's rows and would be read for each of them.
        db.execute(
            "CREATE INDEX IF NOT EXISTS planarena_search ON records "
            "(dataset_id, inserted_at, id, status, external_id, updated_at, metadata)"
        )
    db.close()


def _start_worker() -> None:
    from argilla_server.jobs.queues import DEFAULT_QUEUE, HIGH_QUEUE, REDIS_CONNECTION
    from rq import SimpleWorker
    from rq.timeouts import TimerDeathPenalty

    class Worker(SimpleWorker):  # type: ignore[misc]  # the base is of the managed environment
        death_penalty_class = TimerDeathPenalty

        def _install_signal_handlers(self) -> None:
            """Leave the signals to the main thread."""

    worker = Worker([HIGH_QUEUE, DEFAULT_QUEUE], connection=REDIS_CONNECTION)
    threading.Thread(
        target=worker.work, kwargs={"logging_level": "WARNING"}, daemon=True, name="jobs"
    ).start()


def _serve(host: str, port: int) -> None:
    import uvicorn
    from argilla_server import app

    from . import engine  # noqa: F401  registers itself

    async def add_headers(request: Any, call_next: Any) -> Any:
        response = await call_next(request)
        for name, value in _HEADERS.items():
            response.headers[name] = value
        return response

    app.middleware("http")(add_headers)
    uvicorn.run(app, host=host, port=port, log_level="warning", access_log=False, server_header=False)
