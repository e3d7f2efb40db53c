"""Live HTTP APIs: the operations of a description sent to hosts on a list; nothing private is ever reached.

The connection is made to the address that was checked, so that a name that changes its mind between check and
request gains nothing; redirects are followed by hand and checked again; a secret is sent to its own host alone
and is never shown. An HTTP API cannot go back: unless it is declared to be only read it is `live`, no wrong choice calls it,
and its other operations run only where the user allows effects.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
import ssl
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urljoin, urlsplit

import msgspec

from planarena.environments.sources.addresses import AddressRefusedError, Endpoint, check_url
from planarena.environments.sources.session_unit import SessionUnit, ToolHints
from planarena.environments.sources.session_world import Safety, failure, make_outcome
from planarena.environments.sources.source import SourceOptions
from planarena.environments.world import Outcome
from planarena.errors import SourceError
from planarena.records.canonical import id_of_bytes
from planarena.tools.documents import read_document
from planarena.tools.openapi import RestOperation, convert_openapi
from planarena.tools.tool import Tool

__all__ = ["HttpConfig", "HttpSession", "open_http"]

MAX_BODY = 4 << 20
_MAX_REDIRECTS = 5
_SHOWN = 300


class HttpConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file of an `http:` source.

    Attributes:
        openapi: The description, beside this file.
        base: The base address; by default the description's first server.
        hosts: Hosts that may be spoken to; by default the base's own.
        secrets: Host -> header -> the name of the environment variable that holds its value.
        tools: Examples and phrases by wire name, as for MCP servers.
        allow_private: Let addresses be private, for servers of your own.
        read_only: Use its reading operations alone and let wrong choices call them too.
    """

    openapi: str
    base: str = ""
    hosts: list[str] = []
    secrets: dict[str, dict[str, str]] = {}
    tools: dict[str, ToolHints] = {}
    allow_private: bool = False
    read_only: bool = False


def open_http(file: Path, options: SourceOptions) -> SessionUnit:
    """Open a live API as a unit: its reading operations, and others only where effects are allowed.

    Raises:
        SourceError: The file or the description cannot be used, or a secret's variable is not set.
        AddressRefusedError: The base is not an address that may be spoken to.
    """
    value, _ = read_document(file)
    try:
        config = msgspec.convert(value, HttpConfig)
    except msgspec.ValidationError as error:
        raise SourceError(str(error), where=str(file), fix="correct the file; see docs/tools.md") from error
    conversion = convert_openapi(file.parent / config.openapi)
    base = config.base or next(iter(conversion.servers), "")
    secrets: dict[str, dict[str, str]] = {}
    for host, headers in config.secrets.items():
        for header, variable in headers.items():
            if variable not in os.environ:
                raise SourceError(
                    f"the variable {variable} is not set", where=str(file), fix="export it before the build"
                )
            secrets.setdefault(host, {})[header] = os.environ[variable]
    check_url(base, config.hosts or [base], allow_private=config.allow_private)
    operations = {operation.tool.wire_name: operation for operation in conversion.operations}
    session = HttpSession(
        base,
        operations,
        hosts=config.hosts,
        secrets=secrets,
        allow_private=config.allow_private,
        read_only=config.read_only,
    )
    tools = {
        name: msgspec.structs.replace(one.tool, execution_kind="real") for name, one in operations.items()
    }
    summary = f"A user works with {conversion.title}."
    return SessionUnit(
        f"http {conversion.namespace}",
        session,
        tools,
        config.tools,
        {},
        summary,
        allow_effects=options.allow_effects,
    )


class HttpSession:
    """A live API.

    Args:
        base: Its base address.
        operations: By wire name.
        hosts: Hosts that may be spoken to; by default the base's own.
        secrets: Host -> headers that only this host is sent.
        seconds: Wall time of one request.
        allow_private: Let addresses be private: for servers of one's own.
        read_only: See `HttpConfig`.
    """

    observable = False

    def __init__(
        self,
        base: str,
        operations: Mapping[str, RestOperation],
        *,
        hosts: Sequence[str] = (),
        secrets: Mapping[str, Mapping[str, str]] | None = None,
        seconds: float = 20.0,
        allow_private: bool = False,
        read_only: bool = False,
    ) -> None:
        self.owner: object = None
        self.safety: Safety = "read_only" if read_only else "live"
        self._base, self._operations = base.rstrip("/"), dict(operations)
        self._hosts = tuple(hosts) or (base,)
        self._secrets = {host.lower(): dict(headers) for host, headers in (secrets or {}).items()}
        self._seconds, self._private = seconds, allow_private

    def is_live(self, tool: Tool) -> bool:  # noqa: ARG002  one service has all of them
        """Say whether it cannot go back."""
        return self.safety == "live"

    def call(self, tool: Tool, arguments: Mapping[str, Any]) -> Outcome:
        """Send one request; a refusal, a failure and every status from 400 on are failed outcomes."""
        operation = self._operations[tool.wire_name]
        try:
            url, headers, body = _request_of(self._base, operation, arguments)
            status, data = self._send(operation.method.upper(), url, headers, body)
        except AddressRefusedError as error:
            return failure("tool_error", "address_refused", self._hidden(f"{error.where}: {error.what}"))
        except TimeoutError:
            return failure("timeout", "timeout", f"{tool.name} did not answer in time.")
        except (OSError, http.client.HTTPException, ValueError) as error:
            return failure("tool_error", "request_failed", self._hidden(f"{type(error).__name__}: {error}"))
        text = data.decode("utf-8", "replace")
        if status >= 400:
            return failure("tool_error", f"http_{status}", self._hidden(text[:_SHOWN]))
        try:
            value = json.loads(text) if text.strip() else {"status": status}
        except (ValueError, RecursionError):
            value = {"text": text}
        return make_outcome(value)

    def _hidden(self, text: str) -> str:
        for headers in self._secrets.values():
            for secret in headers.values():
                for word in {secret, *secret.split()}:
                    if len(word) >= 6:
                        text = text.replace(word, "***")
        return text

    def _send(self, method: str, url: str, headers: dict[str, str], body: bytes | None) -> tuple[int, bytes]:
        for _ in range(_MAX_REDIRECTS + 1):
            endpoint = check_url(url, self._hosts, allow_private=self._private)
            status, location, data = self._exchange(endpoint, method, headers, body)
            if status not in {301, 302, 303, 307, 308} or not location:
                return status, data
            following = urljoin(url, location)
            if urlsplit(url).scheme == "https" and urlsplit(following).scheme == "http":
                raise AddressRefusedError(
                    "a redirect leaves https", where=endpoint.host, fix="use the address it leads to"
                )
            if method not in {"GET", "HEAD"} and status in {301, 302, 303}:
                method, body = "GET", None
            url = following
        raise ValueError(f"more than {_MAX_REDIRECTS} redirects")

    def _exchange(
        self, endpoint: Endpoint, method: str, headers: dict[str, str], body: bytes | None
    ) -> tuple[int, str, bytes]:
        connection = _Pinned(endpoint, self._seconds)
        over = _Deadline(connection, self._seconds)
        own = {"Host": endpoint.host if endpoint.port in {80, 443} else f"{endpoint.host}:{endpoint.port}"}
        own |= {"User-Agent": "planarena", "Accept": "application/json, */*;q=0.5", **headers}
        own |= self._secrets.get(f"{endpoint.host}:{endpoint.port}", self._secrets.get(endpoint.host, {}))
        try:
            connection.request(method, endpoint.target, body=body, headers=own)
            response = connection.getresponse()
            data = response.read(MAX_BODY + 1)
            if over.passed:
                raise TimeoutError
            if len(data) > MAX_BODY:
                raise ValueError(f"the answer is longer than {MAX_BODY} bytes")
            return response.status, response.headers.get("Location", ""), data
        except (OSError, http.client.HTTPException, ValueError) as error:
            if over.passed:
                raise TimeoutError from error
            raise
        finally:
            over.lift()
            connection.close()

    def start_anew(self, salt: str) -> None:
        """Do nothing: a live service has no initial state."""

    def snapshot(self) -> Any:
        """Keep nothing."""
        return None

    def restore(self, token: Any) -> None:
        """Do nothing."""

    def digest(self) -> str:
        """Return a constant: nobody can see the state."""
        return id_of_bytes(b"live")

    def dump(self) -> Any:
        """Return nothing."""
        return None


class _Pinned(http.client.HTTPConnection):
    """A connection to the checked address, with the host's own name for TLS."""

    def __init__(self, endpoint: Endpoint, seconds: float) -> None:
        super().__init__(endpoint.address, endpoint.port, timeout=seconds)
        self._endpoint = endpoint
        # The client lets go of it when an answer begins that the server ends by closing.
        self.held: socket.socket | None = None

    def connect(self) -> None:
        super().connect()
        self.held = self.sock
        if self._endpoint.scheme == "https":
            context = ssl.create_default_context()
            # Apart from the wrapping, so that the deadline can end the handshake too.
            self.sock = context.wrap_socket(
                self.sock, server_hostname=self._endpoint.host, do_handshake_on_connect=False
            )
            self.held = self.sock
            self.sock.do_handshake()


class _Deadline:
    """Ends a connection after some seconds, whatever comes meanwhile: a socket's time-out begins anew with every byte.

    Attributes:
        passed: The time is over.
    """

    def __init__(self, connection: _Pinned, seconds: float) -> None:
        self.passed = False
        self._connection, self._seconds = connection, seconds
        self._lifted = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def lift(self) -> None:
        """The request is over."""
        self._lifted.set()

    def _watch(self) -> None:
        wait = self._seconds
        while not self._lifted.wait(wait):
            self.passed, wait = True, 0.2
            if self._connection.held is not None:
                with contextlib.suppress(OSError):
                    self._connection.held.shutdown(socket.SHUT_RDWR)


def _request_of(
    base: str, operation: RestOperation, arguments: Mapping[str, Any]
) -> tuple[str, dict[str, str], bytes | None]:
    """Put every argument where the description says."""
    path, query, headers = operation.path, [], {}
    fields: dict[str, Any] = {}
    whole: Any = None
    for key, value in arguments.items():
        place, name = operation.placement[key]
        if place == "path":
            path = path.replace(f"{{{name}}}", quote(_plain(value), safe=""))
        elif place == "query":
            query += [(name, _plain(item)) for item in (value if isinstance(value, list) else [value])]
        elif place == "header":
            text = _plain(value)
            if any(character in text + name for character in "\r\n\0"):
                raise ValueError("a header holds a line break")
            headers[name] = text
        elif place in {"field", "form"}:
            fields[name] = value
        elif place == "body":
            whole = value
    url = base + path + (f"?{urlencode(query)}" if query else "")
    if whole is None and not fields:
        return url, headers, None
    if "urlencoded" in operation.body_type:
        headers["Content-Type"] = "application/x-www-form-urlencoded"
        return url, headers, urlencode({name: _plain(value) for name, value in fields.items()}).encode()
    headers["Content-Type"] = "application/json"
    return url, headers, json.dumps(fields if whole is None else whole).encode()


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else json.dumps(value)
