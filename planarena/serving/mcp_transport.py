"""The two ways to an MCP connection: lines over standard input and output, and streamable HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, BinaryIO

import msgspec

from planarena.environments import World
from planarena.serving.limits import Limits
from planarena.serving.mcp import Connection
from planarena.serving.pool import FullError, SessionPool
from planarena.session import SessionTask

__all__ = ["encode", "http_app", "serve_lines"]


def serve_lines(task: SessionTask, source: BinaryIO, sink: BinaryIO, limits: Limits | None = None) -> None:
    """Answer one client, line by line, until its end.

    Args:
        task: What it plays.
        source: Its messages, one JSON object a line.
        sink: Where answers go.
        limits: Length of a line, calls of an episode.
    """
    limits = limits or Limits()
    connection = Connection(task, limits.calls)
    while line := source.readline(limits.body + 1):
        if len(line) > limits.body:
            while line and not line.endswith(b"\n"):
                line = source.readline(limits.body)
            answer: dict[str, Any] | None = _bad("a message is too long")
        elif not line.strip():
            continue
        else:
            answer = _handle(connection, line)
        if answer is not None:
            sink.write(encode(answer) + b"\n")
            sink.flush()


def _handle(connection: Connection, text: bytes) -> dict[str, Any] | None:
    try:
        message = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError, ValueError):
        return {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "a message is JSON"}}
    return connection.handle(message)


def _bad(message: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": message}}


def encode(value: Any) -> bytes:
    """Return JSON, also of texts that UTF-8 cannot hold."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:  # half of a pair of surrogates, which JSON can escape and UTF-8 cannot hold
        import json

        return json.dumps(value).encode("ascii")


def http_app(task: SessionTask, limits: Limits) -> Any:
    """Return the application that speaks streamable HTTP at `/mcp`; every client has an episode of its own.

    Args:
        task: What is played.
        limits: Sessions and calls.
    """
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    pool: SessionPool[Connection] = SessionPool(limits)
    # Calls of our own environments take microseconds; others run in a thread, one at a time.
    in_process = isinstance(task.open().world, World)
    turn = asyncio.Lock()

    async def do(work: Callable[[], Any]) -> Any:
        if in_process:
            return work()
        async with turn:
            return await asyncio.to_thread(work)

    def reply(body: Any, status: int = 200, session: str = "") -> Response:
        headers = {"Mcp-Session-Id": session} if session else {}
        return Response(encode(body), status, headers=headers, media_type="application/json")

    async def post(request: Request) -> Response:
        text = await request.body()
        try:
            message = msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError, ValueError):
            return reply(_bad("a message is JSON"), 400)
        name = request.headers.get("mcp-session-id", "")
        session = ""
        if isinstance(message, dict) and message.get("method") == "initialize":
            connection = await do(lambda: Connection(task, limits.calls))
            try:
                name = session = pool.add(connection)
            except FullError as error:
                return reply(_bad(str(error)), 503)
        found = pool.get(name) if name else None
        if found is None:
            what = "the session has ended; initialize again" if name else "initialize first"
            return reply(_bad(what), 404 if name else 400)
        answer = await do(lambda: found.handle(message))
        return Response(status_code=202) if answer is None else reply(answer, session=session)

    async def delete(request: Request) -> Response:
        ended = pool.remove(request.headers.get("mcp-session-id", ""))
        return Response(status_code=204 if ended else 404)

    return Starlette(
        routes=[Route("/mcp", post, methods=["POST"]), Route("/mcp", delete, methods=["DELETE"])]
    )
