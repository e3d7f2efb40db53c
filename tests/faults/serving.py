"""The servers that planarena starts, and what comes over the wire to them: tables. A new one is one line of SERVERS or WIRE."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from asking import Materials

__all__ = ["HELD", "SERVERS", "TOKEN", "WIRE", "Reply", "Running", "Served"]

TOKEN = "a-token-of-the-fault-suite"
_ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)")
_PATIENCE = 20.0


class Reply(NamedTuple):
    """An answer: its status (0 where the connection was closed without one), headers and body."""

    status: int
    head: str
    body: bytes


class Asked(NamedTuple):
    """A request that is well."""

    method: str
    path: str
    body: bytes = b""
    headers: tuple[str, ...] = ()

    def wire(self, *headers: str) -> bytes:
        """Return the bytes that are sent."""
        lines = [
            f"{self.method} {self.path} HTTP/1.1",
            "Host: 127.0.0.1",
            f"Authorization: Bearer {TOKEN}",
            *self.headers,
            *headers,
        ]
        if self.body or self.method == "POST":
            lines += [f"Content-Length: {len(self.body)}", "Content-Type: application/json"]
        return (
            "\r\n".join([*lines, "Connection: close", "", ""]).encode("utf-8", "surrogateescape") + self.body
        )


class Served(NamedTuple):
    """A command that serves.

    Attributes:
        words: (materials, folder of checkpoints and evaluations) -> the command's words.
        asks: (server) -> requests that it answers with 200 or 202, the last of them always anew.
        trains: Whether a checkpoint is needed.
    """

    words: Callable[[Materials, Path], list[str]]
    asks: Callable[[Running], list[Asked]]
    trains: bool = False


class Running:
    """A server in a process of its own.

    Args:
        words: What stands after `planarena`.
        folder: Where it runs, and where what it says is kept.
    """

    def __init__(self, words: list[str], folder: Path) -> None:
        self.folder, self.words = folder, words
        self.said = folder / "said"
        variables = {
            **os.environ,
            "PLANARENA_VIEW_TOKEN": TOKEN,
            "PLANARENA_SERVE_TOKEN": TOKEN,
            "PLANARENA_CACHE": str(folder / "cache"),
        }
        with self.said.open("ab") as said:
            at = said.tell()
            self.process = subprocess.Popen(
                [sys.executable, "-m", "planarena", *words], cwd=folder, env=variables, stdin=subprocess.DEVNULL,
                stdout=said, stderr=said, start_new_session=True,
            )  # fmt: skip
        self.port = self._port(at)

    def _port(self, at: int) -> int:
        for _ in range(1200):
            found = _ADDRESS.search(self.said.read_text(errors="replace")[at:])
            if found:
                return int(found[1])
            assert self.process.poll() is None, self.said.read_text(errors="replace")
            time.sleep(0.1)
        raise AssertionError(f"{self.words} says no address")

    def connect(self) -> socket.socket:
        """Return a connection."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=_PATIENCE)

    def send(self, data: bytes, *, patience: float = _PATIENCE) -> Reply:
        """Send bytes and read until the server closes.

        Raises:
            TimeoutError: It neither answers nor closes.
        """
        with self.connect() as connection:
            connection.settimeout(patience)
            found = bytearray()
            # It may refuse before it has read all; what it says of that is there all the same.
            with suppress(BrokenPipeError, ConnectionResetError):
                connection.sendall(data)
            with suppress(ConnectionResetError):
                while not _whole(found) and (part := connection.recv(1 << 16)):
                    found += part
        head, _, body = bytes(found).partition(b"\r\n\r\n")
        first = re.match(rb"HTTP/1\.[01] (\d{3})", head)
        return Reply(int(first[1]) if first else 0, head.decode("latin-1"), body)

    def ask(self, asked: Asked) -> Reply:
        """Send a request."""
        return self.send(asked.wire())

    @property
    def peak(self) -> int:
        """Its most memory in bytes, so far."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(text.partition("VmHWM:")[2].split()[0]) << 10

    @property
    def handles(self) -> int:
        """How many files and sockets it holds."""
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))

    def kill(self, number: int = signal.SIGKILL) -> int:
        """Send a signal and return the exit code; what does not end within 20 seconds is killed, and that is an error."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            return self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise
        finally:
            self.process.wait(20)


def _whole(found: bytearray) -> bool:
    """Whether an answer that says its length is there; the server may keep the connection."""
    head, end, body = bytes(found).partition(b"\r\n\r\n")
    length = re.search(rb"\r\ncontent-length: (\d+)", head, re.I)
    return bool(end) and length is not None and len(body) >= int(length[1])


def _crawl(server: Running) -> list[Asked]:
    """Return addresses that pages name, a few of each form; the last one is the first page."""
    found: dict[str, list[str]] = {}
    left = ["/"]
    for _ in range(60):
        if not left:
            break
        path = left.pop(0)
        page = server.ask(Asked("GET", path))
        assert page.status in (200, 409), (path, page)
        for name, link in re.findall(r'(href|action)="(/[^"#]*)', page.body.decode(errors="replace")):
            link = link.replace("&amp;", "&")
            form = re.sub(r"[0-9a-f]{6,}", "N", link.partition("?")[0]) + f" {name}"
            if link not in found.setdefault(form, []) and len(found[form]) < 2:
                found[form].append(link)
                if name == "href" and not link.startswith("/static"):
                    left.append(link)
    asked = [
        Asked("POST" if link.partition("?")[0].endswith(("/act", "/step", "/mark")) else "GET", link,
              b"tool=x&answer=y&verdict=1" if link.partition("?")[0].endswith(("/act", "/step", "/mark")) else b"")
        for links in found.values() for link in links
    ]  # fmt: skip
    # A form's address without its fields is no page.
    return [*(one for one in asked if server.ask(one).status in (200, 303, 409)), Asked("GET", "/")]


def _rpc(method: str, number: int = 1, **params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()


_HELLO = _rpc(
    "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "t", "version": "1"}
)


def _mcp(server: Running) -> list[Asked]:
    hello = server.ask(Asked("POST", "/mcp", _HELLO))
    assert hello.status == 200, hello
    session = re.search(r"mcp-session-id: (\S+)", hello.head, re.I)
    assert session, hello
    listed = [_rpc("tools/list"), _rpc("prompts/list"), _rpc("prompts/get", name="task"), _rpc("ping")]
    call = _rpc("tools/call", name="list_emails", arguments={"folder": "inbox"})
    inner = [Asked("POST", "/mcp", one, (f"Mcp-Session-Id: {session[1]}",)) for one in (*listed, call)]
    return [*inner, Asked("POST", "/mcp", _HELLO)]


def _policy(_: Running) -> list[Asked]:
    tool = {
        "type": "function",
        "function": {
            "name": "get",
            "parameters": {"type": "object", "properties": {"a": {"type": "string"}}},
        },
    }
    asked = {
        "model": "m", "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "Hello"}],
        "tools": [tool], "max_tokens": 2, "temperature": 0.0, "n": 1, "stop": ["x"], "seed": 1,
    }  # fmt: skip
    path = "/v1/chat/completions"
    return [
        Asked(
            "POST",
            path,
            json.dumps({**asked, "stream": True, "stream_options": {"include_usage": True}}).encode(),
        ),
        Asked("GET", "/v1/models"),
        Asked("POST", path, json.dumps(asked).encode()),
    ]


def _openenv(server: Running) -> list[Asked]:
    return [
        Asked("GET", "/health"),
        Asked("GET", "/schema"),
        Asked("POST", "/step", json.dumps({"action": {"type": "list_tools"}}).encode()),
        Asked("POST", "/reset", b'{"seed": 1}'),
    ]


SERVERS: dict[str, Served] = {
    "view": Served(lambda materials, more: ["view", str(materials.run), str(more), "--port", "0"], _crawl, trains=True),
    "serve mcp --http": Served(lambda materials, _: ["serve", "mcp", str(materials.run), "--http", "--port", "0"], _mcp),
    "serve policy": Served(lambda _, more: ["serve", "policy", str(more / "trained"), "--port", "0", "--max-tokens", "2"], _policy, trains=True),
    "serve openenv": Served(lambda materials, _: ["serve", "openenv", str(materials.run), "--port", "0"], _openenv),
}  # fmt: skip


def _head(*lines: str, body: bytes = b"", first: str = "POST {path} HTTP/1.1") -> Callable[[str], bytes]:
    def make(path: str) -> bytes:
        shared = ["Host: 127.0.0.1", f"Authorization: Bearer {TOKEN}"]
        return (
            "\r\n".join([first.format(path=path), *shared, *lines, "", ""]).encode("latin-1", "replace")
            + body
        )

    return make


# Name -> (path of a good request) -> what is sent. Each ends in an answer below 500 or in a closed connection.
WIRE: dict[str, Callable[[str], bytes]] = {
    "zeros": lambda _: b"\x00" * 4096 + b"\r\n\r\n",
    "noise": lambda _: bytes((7 * n * n + 13 * n) % 256 for n in range(65536)) + b"\r\n\r\n",
    "a TLS client": lambda _: b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x55" * 500,
    "HTTP/2": lambda _: b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00",
    "a version of its own": _head(first="GET {path} HTTP/9.9"),
    "no version": lambda path: f"GET {path}\r\n\r\n".encode(),
    "a method of its own": _head(first="FRobnICATE {path} HTTP/1.1"),
    "TRACE": _head("Connection: close", first="TRACE {path} HTTP/1.1"),
    "CONNECT": _head("Connection: close", first="CONNECT example.com:443 HTTP/1.1"),
    "an address of another": _head("Connection: close", first="GET http://example.com/ HTTP/1.1"),
    "an asterisk": _head("Connection: close", first="OPTIONS * HTTP/1.1"),
    "a path of a megabyte": _head("Connection: close", first="GET /" + "a" * (1 << 20) + " HTTP/1.1"),
    "a query of many fields": _head("Connection: close", first="GET {path}?" + "&".join(f"a{n}=1" for n in range(6000)) + " HTTP/1.1"),
    "a path out of the folder": _head("Connection: close", first="GET /../../../../etc/passwd HTTP/1.1"),
    "a path out of it, escaped": _head("Connection: close", first="GET /static/..%2f..%2f..%2f..%2f..%2fetc%2fpasswd HTTP/1.1"),
    "zeros in a path": _head("Connection: close", first="GET /run/%00/%00%ff%fe HTTP/1.1"),
    "no UTF-8 in a path": lambda _: b"GET /run/\xff\xfe\xfd HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
    "a header of a megabyte": _head("X: " + "a" * (1 << 20)),
    "thousands of headers": _head(*(f"X{n}: a" for n in range(20_000))),
    "a line end in a header": _head("X: a\r\n\tfolded", "Connection: close", "Content-Length: 0"),
    "a length below zero": _head("Content-Length: -5", "Connection: close"),
    "a length in words": _head("Content-Length: many", "Connection: close"),
    "two lengths": _head("Content-Length: 2", "Content-Length: 30", "Connection: close", body=b"{}"),
    "a length beyond all": _head("Content-Length: 9999999999999999999", "Connection: close", body=b"{}"),
    "a body of 64 MiB": _head(f"Content-Length: {64 << 20}", "Connection: close", body=b"[" * (64 << 20)),
    "64 MiB in chunks": _head("Transfer-Encoding: chunked", "Connection: close", body=(b"100000\r\n" + b"[" * (1 << 20) + b"\r\n") * 64 + b"0\r\n\r\n"),
    "chunks of no size": _head("Transfer-Encoding: chunked", "Connection: close", body=b"zz\r\n{}\r\n0\r\n\r\n"),
    "length and chunks": _head("Content-Length: 4", "Transfer-Encoding: chunked", "Connection: close", body=b"0\r\n\r\nGET /x HTTP/1.1\r\n\r\n"),
    "packed": _head("Content-Encoding: gzip", "Content-Length: 30", "Connection: close", body=b"\x1f\x8b\x08" + b"\x00" * 27),
    "a web socket": _head("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: eA==", first="GET {path} HTTP/1.1"),
    "another kind of body": _head("Content-Type: multipart/form-data; boundary=x", "Content-Length: 12", "Connection: close", body=b"--x\r\n\r\n--x--"),
}  # fmt: skip
# What a client sends and then waits: it holds its own connection, and nobody else's.
HELD: dict[str, Callable[[str], bytes]] = {
    "nothing": lambda _: b"",
    "half a line": lambda _: b"GET / HT",
    "half a head": lambda path: f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ".encode(),
    "half a body": _head("Content-Length: 500", body=b"{"),
    "a chunk beyond all": _head("Transfer-Encoding: chunked", body=b"ffffffffffffffff\r\n{}"),
}
