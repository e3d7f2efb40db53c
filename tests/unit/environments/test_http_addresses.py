"""Live HTTP: only listed hosts at public addresses, redirects checked again, secrets bound, nothing undone twice."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from planarena.environments.sources import SourceOptions, open_source
from planarena.environments.sources.addresses import AddressRefusedError, check_url, is_public
from planarena.environments.sources.http.source import HttpSession, open_http
from planarena.environments.sources.session_world import SessionWorld
from planarena.environments.world import Operation
from planarena.errors import SourceError
from planarena.tools import SchemaValidator
from planarena.tools.openapi import RestOperation, convert_openapi


class Recorder(ThreadingHTTPServer):
    """Answers by path and remembers every request."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str, dict[str, str], bytes]] = []
        super().__init__(("127.0.0.1", 0), _Handler)
        self.base = f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Recorder

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.seen.append((self.command, self.path, dict(self.headers), body))
        if self.path.startswith("/redirect"):
            self.send_response(302)
            self.send_header("Location", unquote(self.path.partition("to=")[2]))
            self.end_headers()
            return
        status = 418 if self.path == "/teapot" else 200
        data = json.dumps(
            {"path": self.path, "echo": self.headers.get("X-Key", ""), "made": self.command}
        ).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_DELETE = _answer

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Recorder]:
    with Recorder() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def operations(tmp_path: Path) -> dict[str, RestOperation]:
    path = [{"name": "to", "in": "query", "schema": {"type": "string"}}]
    paths = {
        "/things/{id}": {
            "get": {
                "operationId": "get",
                "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}],
                "responses": {},
            }
        },
        "/things": {
            "post": {
                "operationId": "make",
                "requestBody": {
                    "content": {
                        "application/json": {
                            "schema": {"type": "object", "properties": {"n": {"type": "integer"}}}
                        }
                    }
                },
                "responses": {},
            }
        },
        "/redirect": {"get": {"operationId": "go", "parameters": path, "responses": {}}},
        "/teapot": {
            "get": {
                "operationId": "teapot",
                "parameters": [{"name": "X-Key", "in": "header", "schema": {"type": "string"}}],
                "responses": {},
            }
        },
    }
    file = tmp_path / "api.json"
    file.write_text(json.dumps({"openapi": "3.0.0", "info": {}, "paths": paths}))
    return {operation.tool.wire_name: operation for operation in convert_openapi(file).operations}


def _world(
    session: HttpSession, operations: dict[str, RestOperation], *, allow: bool = False
) -> SessionWorld:
    ready = {
        name: Operation(one.tool, print, SchemaValidator(one.tool.input_schema), None)
        for name, one in operations.items()
    }
    return SessionWorld(session, ready, {}, {}, "s", allow_effects=allow)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.0.0.1", "172.16.5.5", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1", "255.255.255.255",
        "::1", "::", "fe80::1", "fc00::1", "fd00:ec2::254", "ff02::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "2002:7f00:1::", "64:ff9b::7f00:1",
        "198.18.0.1", "192.0.0.1", "240.0.0.1", "fe80::1%eth0",
    ],
)  # fmt: skip
def test_private_and_metadata_addresses_are_not_public(address: str) -> None:
    assert not is_public(address)


def test_public_addresses_are() -> None:
    assert is_public("93.184.216.34")
    assert is_public("2606:2800:220:1:248:1893:25c8:1946")


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/", "http://localhost/", "http://2130706433/", "http://0x7f000001/", "http://0177.0.0.1/", "http://127.1/", "http://[::1]/",
        "http://[::ffff:169.254.169.254]/latest/meta-data", "http://169.254.169.254/", "http://127.0.0.1./", "https://localhost:8443/x",
        "file:///etc/passwd", "ftp://127.0.0.1/", "gopher://127.0.0.1/", "http://user:word@127.0.0.1/", "http://", "http://[::1", "http://x:99999999/",
    ],
)  # fmt: skip
def test_private_urls_are_refused_even_on_the_list(url: str) -> None:
    with pytest.raises(AddressRefusedError):
        check_url(
            url,
            [
                url,
                "127.0.0.1",
                "localhost",
                "0x7f000001",
                "2130706433",
                "0177.0.0.1",
                "127.1",
                "::1",
                "::ffff:169.254.169.254",
                "169.254.169.254",
            ],
        )


def test_hosts_off_the_list_are_refused_before_they_are_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("looked up")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    for url in (
        "http://other.example/",
        "http://api.example.com.evil.test/",
        "http://api.example.com@evil.test/",
    ):
        with pytest.raises(AddressRefusedError):
            check_url(url, ["api.example.com"])


def test_a_name_that_leads_to_a_private_address_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 80))
        for address in ("93.184.216.34", "10.1.2.3")
    ]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: answers)
    with pytest.raises(AddressRefusedError, match=r"10\.1\.2\.3"):
        check_url("http://api.example.com/", ["api.example.com"])
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: answers[:1])
    assert check_url("http://api.example.com/a?b", ["https://API.example.com/v1"]).address == "93.184.216.34"


def test_requests_go_where_the_description_says(
    server: Recorder, operations: dict[str, RestOperation]
) -> None:
    session = HttpSession(server.base, operations, allow_private=True)
    world = _world(session, operations, allow=True)
    assert world.call("get", {"id": "a/../b c"}).result["path"] == "/things/a%2F..%2Fb%20c"
    with world.irreversibly():
        assert world.call("make", {"n": 3}).status == "ok"
    assert server.seen[-1][0] == "POST"
    assert json.loads(server.seen[-1][3]) == {"n": 3}
    outcome = world.call("teapot", {"X-Key": "k"})
    assert outcome.error is not None
    assert outcome.error["code"] == "http_418"
    assert world.call("teapot", {"X-Key": "k\r\nX-Other: 1"}).status == "tool_error"
    assert len(server.seen) == 3


def test_redirects_are_checked_again(server: Recorder, operations: dict[str, RestOperation]) -> None:
    world = _world(HttpSession(server.base, operations, allow_private=True), operations)
    assert world.call("go", {"to": "/things/1"}).result["path"] == "/things/1"
    other = socket.create_server(("127.0.0.1", 0))
    with other:
        for target in (
            f"http://localhost:{other.getsockname()[1]}/",
            "http://169.254.169.254/latest/",
            "file:///etc/passwd",
            "//evil.test/",
        ):
            outcome = world.call("go", {"to": target})
            assert outcome.error is not None
            assert outcome.error["code"] == "address_refused", target
        other.settimeout(0.05)
        with pytest.raises(TimeoutError):
            other.accept()  # nobody came
    assert (
        world.call(
            "go", {"to": "/redirect?to=/redirect?to=/redirect?to=/redirect?to=/redirect?to=/redirect?to=/x"}
        ).status
        == "tool_error"
    )


def test_without_leave_a_private_server_is_not_reached(
    server: Recorder, operations: dict[str, RestOperation]
) -> None:
    outcome = _world(HttpSession(server.base, operations), operations).call("get", {"id": "1"})
    assert outcome.error is not None
    assert outcome.error["code"] == "address_refused"
    assert server.seen == []


def test_secrets_go_to_their_own_host_and_into_no_message(
    server: Recorder, operations: dict[str, RestOperation]
) -> None:
    secrets = {
        f"127.0.0.1:{server.server_address[1]}": {"X-Key": "sk-secret-word"},
        "other.example": {"X-Key": "never-sent-word"},
    }
    session = HttpSession(server.base, operations, secrets=secrets, allow_private=True)
    world = _world(session, operations)
    outcome = world.call("teapot", {})
    assert server.seen[-1][2]["X-Key"] == "sk-secret-word"
    assert b"secret-word" not in outcome.payload
    assert all("never-sent" not in json.dumps(seen[2]) for seen in server.seen)


def test_a_live_tool_never_runs_what_it_cannot_undo(
    server: Recorder, operations: dict[str, RestOperation]
) -> None:
    careful = _world(HttpSession(server.base, operations, allow_private=True), operations)
    refused = careful.call("make", {"n": 1})
    assert refused.error is not None
    assert refused.error["code"] == "effects_not_allowed"
    assert server.seen == []
    assert careful.call("get", {"id": "1"}).status == "ok"

    with careful.irreversibly():  # nobody allowed effects
        assert careful.call("make", {"n": 1}).status == "tool_error"

    allowed = _world(HttpSession(server.base, operations, allow_private=True), operations, allow=True)
    start = allowed.mark()
    with allowed.irreversibly():
        assert allowed.call("make", {"n": 1}).status == "ok"
    assert allowed.digest() != _world(HttpSession(server.base, operations), operations).digest()
    allowed.rollback(start)
    for wrong in range(3):  # a wrong candidate, or the gold one again
        assert allowed.call("make", {"n": wrong}).status == "tool_error"
    assert [seen[0] for seen in server.seen] == ["GET", "POST"]


def test_a_source_of_a_live_api_offers_what_only_reads(
    server: Recorder, operations: dict[str, RestOperation], tmp_path: Path
) -> None:
    assert operations
    file = tmp_path / "live.json"
    config = {
        "openapi": "api.json",
        "base": server.base,
        "allow_private": True,
        "tools": {"get": {"examples": [{"id": "7"}]}},
    }
    file.write_text(json.dumps(config))
    (unit,) = open_source(f"http:{file}", SourceOptions(allow_effects=True)).units
    assert unit.safety == "live"
    assert "get" in unit.operations
    assert "make" not in unit.operations
    assert unit.open("s").world.call("get", {"id": "7"}).result["path"] == "/things/7"
    assert {seen[0] for seen in server.seen} == {"GET"}
    file.write_text(json.dumps({**config, "allow_private": False}))
    with pytest.raises(AddressRefusedError):
        open_http(file, SourceOptions())
    file.write_text(json.dumps({**config, "secrets": {"127.0.0.1": {"X-Key": "PLANARENA_NO_SUCH_VARIABLE"}}}))
    with pytest.raises(SourceError, match="not set"):
        open_http(file, SourceOptions())
