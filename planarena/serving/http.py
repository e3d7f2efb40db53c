"""What every HTTP server of ours shares: the guard before it, and the way it starts and says where it is."""

from __future__ import annotations

import asyncio
import hmac
import socket
import sys
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from typing import Any

import msgspec

from planarena.errors import EnvironmentUnavailableError, UserError
from planarena.serving.limits import Limits

__all__ = ["App", "Guard", "Receive", "Scope", "Send", "check_address", "need_extra", "run"]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


def need_extra(extra: str = "serve", names: Sequence[str] = ("starlette", "uvicorn")) -> None:
    """Say how to get what servers need, where it is not installed.

    Args:
        extra: The command that serves, and the extra that brings what it needs.
        names: The modules.

    Raises:
        EnvironmentUnavailableError: One of them is absent.
    """
    from importlib.util import find_spec

    absent = [name for name in names if find_spec(name) is None]
    if absent:
        raise EnvironmentUnavailableError(
            f"serving needs {' and '.join(absent)}",
            where=f"planarena {extra}",
            fix=f"pip install 'planarena[{extra}]'",
        )


def check_address(host: str, token: str, port: int = 0) -> None:
    """Refuse to listen beyond this machine without a token, and at what is no port.

    Args:
        host: An address of this machine.
        token: What clients must send; empty for none.
        port: 0 takes a free one.

    Raises:
        UserError: The host is not a loopback address, and there is no token; or the port is none.
    """
    if not 0 <= port < 1 << 16:
        raise UserError(
            f"{port} is no port", where="--port", fix="name a port up to 65535, or 0 for a free one"
        )
    if host not in _LOOPBACK and not token:
        raise UserError(
            f"{host} can be reached from other machines",
            where="--host",
            fix="leave --host out, or set a secret in PLANARENA_SERVE_TOKEN that clients send as `Authorization: Bearer`",
        )


class _GoneError(Exception):
    """The client left before its request was whole: nothing of it is done."""


class Guard:
    """Stands before an application: token, origin, size of the body, and an answer whatever happens.

    Args:
        app: The application.
        limits: Of which `body` counts.
        token: What clients must send; empty for none.
        loopback: The server listens on loopback: a browser's page of another host is refused.

    Attributes:
        faults: Errors that the application did not handle; also printed.
    """

    def __init__(self, app: App, limits: Limits, token: str = "", *, loopback: bool = True) -> None:
        self._app, self._limits, self._loopback = app, limits, loopback
        self._expected = f"Bearer {token}".encode() if token else b""
        self.faults: list[BaseException] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        refused = self._refusal(dict(scope["headers"]))
        if scope["type"] == "websocket":
            if refused is None:
                await self._app(scope, receive, send)
            else:
                await receive()
                await send({"type": "websocket.close", "code": 1008, "reason": refused[1]})
            return
        if refused is not None:
            await _answer(send, *refused)
            return
        try:
            async with asyncio.timeout(self._limits.receive):
                body = await self._read(receive)
        except TimeoutError:
            await _answer(send, 408, f"a request is sent within {self._limits.receive:g} seconds")
            return
        except _GoneError:
            return
        if body is None:
            await _answer(send, 413, f"a request has at most {self._limits.body} bytes")
            return
        if (unreadable := self._unreadable(body)) is not None:
            await _answer(send, *unreadable)
            return
        begun = False
        delivered = False

        async def once() -> MutableMapping[str, Any]:
            nonlocal delivered
            if delivered:
                return await receive()  # the client's end, which streams wait for
            delivered = True
            return {"type": "http.request", "body": body, "more_body": False}

        async def watch(message: MutableMapping[str, Any]) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, once, watch)
        except Exception as error:
            self.faults.append(error)
            sys.stderr.write(f"error: {type(error).__name__}: {error}\n")
            if not begun:
                await _answer(send, 500, "the server failed")

    def _unreadable(self, body: bytes) -> tuple[int, str] | None:
        """Refuse a body that the application cannot take; ours read theirs themselves."""
        del body
        return None

    def _refusal(self, headers: dict[bytes, bytes]) -> tuple[int, str] | None:
        if self._expected:
            given = headers.get(b"authorization", b"")
            if not hmac.compare_digest(given, self._expected):
                return 401, "send the server's token as `Authorization: Bearer`"
        elif (foreign := self._foreign(headers)) is not None:
            return foreign
        return self._too_long(headers)

    def _foreign(self, headers: dict[bytes, bytes]) -> tuple[int, str] | None:
        """Refuse what another site's page sends; it could reach this server under a name of its own."""
        for name in (b"origin", b"host") if self._loopback else ():
            given = headers.get(name, b"").removeprefix(b"http://").removeprefix(b"https://")
            host = given.decode("latin-1").rpartition(":")[0] if b":" in given else given.decode("latin-1")
            if given and host.strip("[]") not in _LOOPBACK and given.decode("latin-1") not in _LOOPBACK:
                return 403, f"requests of another {name.decode()} are refused"
        return None

    def _too_long(self, headers: dict[bytes, bytes]) -> tuple[int, str] | None:
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length) > self._limits.body:
            return 413, f"a request has at most {self._limits.body} bytes"
        return None

    async def _read(self, receive: Receive) -> bytes | None:
        parts: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise _GoneError
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > self._limits.body:
                return None
            if not message.get("more_body", False):
                return b"".join(parts)


async def _answer(send: Send, status: int, message: str) -> None:
    body = msgspec.json.encode(
        {"error": {"message": message, "type": "invalid_request_error", "code": status}}
    )
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def run(
    app: App,
    *,
    host: str,
    port: int,
    limits: Limits,
    token: str = "",
    say: Callable[[str], None],
    guard: type[Guard] = Guard,
) -> None:
    """Serve until the process is told to end.

    Args:
        app: The application, without the guard.
        host: An address of this machine.
        port: 0 takes a free one.
        limits: Sizes and numbers.
        token: What clients must send.
        say: Told the address once requests are taken.
        guard: What stands before the application.

    Raises:
        UserError: The address is taken, not of this machine, or none.
    """
    import uvicorn

    check_address(host, token, port)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except (OSError, TypeError, ValueError) as error:  # the latter two for what is no host name
        listener.close()
        raise UserError(
            f"cannot listen: {getattr(error, 'strerror', None) or error}",
            where=f"{host}:{port}",
            fix="choose another --port, or --port 0 for a free one",
        ) from error
    listener.listen(512)
    shown = f"[{host}]" if ":" in host else host
    guarded = guard(app, limits, token, loopback=host in _LOOPBACK)
    config = uvicorn.Config(
        guarded,
        log_level="error",
        access_log=False,
        lifespan="off",
        ws="none",
        limit_concurrency=limits.concurrency,
        timeout_keep_alive=75,
        server_header=False,
    )
    say(f"http://{shown}:{listener.getsockname()[1]}")
    try:
        uvicorn.Server(config).run(sockets=[listener])
    except KeyboardInterrupt:
        return
