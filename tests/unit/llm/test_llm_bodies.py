"""How much of an HTTP answer is read: of a model, of the hub, of an Argilla, of a live HTTP tool."""

from __future__ import annotations

import contextlib
import gzip
import json
import resource
import socket
import threading
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from planarena.annotation.argilla import Argilla, Place
from planarena.environments.sources.http.source import HttpSession
from planarena.errors import PlanArenaError, UserError
from planarena.export.hub import check_repository
from planarena.llm import CallFailedError, ModelConfig, Request, SyncGateway
from planarena.llm.bodies import MAX_ANSWER, AnswerTooLargeError, bound_body
from planarena.tools.openapi import convert_openapi

GOOD = json.dumps(
    {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": "well"}, "finish_reason": "stop"}
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }
).encode()
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n"


def _parts(kind: str) -> Iterator[bytes]:
    """What a server sends."""
    if kind == "good":
        yield HEAD + b"\r\n" + GOOD
    elif kind == "packed":
        yield HEAD + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(GOOD)
    elif kind == "endless":
        yield HEAD + b"\r\n"
        while True:
            yield b" " * 65536
    elif kind == "bomb":
        yield HEAD + b"Content-Encoding: gzip\r\n\r\n"
        packer = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
        while True:
            yield packer.compress(b" " * (16 << 20)) + packer.flush(zlib.Z_SYNC_FLUSH)
    elif kind == "other packing":
        yield HEAD + b"Content-Encoding: br\r\n\r\n" + b"\x0b\x02\x80" * 20
    elif kind == "drip":
        yield HEAD + b"\r\n"
        while True:
            time.sleep(0.1)
            yield b" "
    elif kind == "dripping header":
        for letter in HEAD * 100:
            time.sleep(0.1)
            yield bytes([letter])


@contextlib.contextmanager
def serve(kind: str) -> Iterator[tuple[str, list[int]]]:
    """Answer every request so; yields the address, and how many bytes each answer came to."""
    sent: list[int] = []
    listener = socket.create_server(("127.0.0.1", 0))

    def one(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            connection.settimeout(20)
            connection.recv(65536)
            sent.append(0)
            place = len(sent) - 1
            for part in _parts(kind):
                connection.sendall(part)
                sent[place] += len(part)

    def listen() -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=one, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=listen, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", sent
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def _ask(url: str, cache: Path) -> str:
    model = ModelConfig(name="m", id="openai/m", base_url=f"{url}/v1", attempts=1, timeout=20.0)
    with SyncGateway([model], cache=cache) as gateway:
        return gateway.complete(Request(model="m", messages=[{"role": "user", "content": "well?"}])).text


@pytest.mark.parametrize("kind", ["good", "packed"])
def test_a_plain_and_a_packed_answer_are_read(kind: str, tmp_path: Path) -> None:
    with serve(kind) as (url, _):
        assert _ask(url, tmp_path / "c.sqlite") == "well"


@pytest.mark.parametrize(
    ("kind", "why"),
    [("endless", "larger than 16 MiB"), ("bomb", "larger than 16 MiB"), ("other packing", "only gzip")],
)
def test_no_answer_of_a_model_is_read_without_end(kind: str, why: str, tmp_path: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begun = time.monotonic()
    with serve(kind) as (url, sent), pytest.raises(CallFailedError, match=why):
        _ask(url, tmp_path / "c.sqlite")
    assert time.monotonic() - begun < 10
    # What waits in the buffers of both sides comes on top.
    assert max(sent) < 3 * MAX_ANSWER
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 250 << 10


@pytest.mark.parametrize("kind", ["endless", "bomb"])
def test_a_hook_bounds_what_a_client_reads(kind: str) -> None:
    hooks = {"response": [lambda response: bound_body(response, 1 << 20)]}
    with serve(kind) as (url, _), httpx.Client(event_hooks=hooks) as client:  # noqa: SIM117
        with pytest.raises(AnswerTooLargeError, match="larger than 1 MiB"):
            client.get(url)


def test_an_argilla_that_sends_without_end_is_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planarena.annotation.argilla._MOST_BYTES", 1 << 20)
    with serve("endless") as (url, _), Argilla(Place(url, "k", "w")) as argilla:  # noqa: SIM117
        with pytest.raises(UserError, match="larger than 1 MiB"):
            argilla.check()


def test_a_hub_that_sends_without_end_is_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setenv("HF_TOKEN", "hf_loopback")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr("planarena.export.hub._MOST_BYTES", 1 << 20)
    with serve("endless") as (url, _):
        monkeypatch.setattr(constants, "ENDPOINT", url)
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_HOME", url)
        with pytest.raises(PlanArenaError, match="larger than 1 MiB"):
            check_repository("me/data")


@pytest.mark.parametrize(
    ("kind", "code"),
    [("endless", "request_failed"), ("drip", "timeout"), ("dripping header", "timeout"), ("good", "")],
)
def test_a_live_tool_has_a_bound_and_a_deadline(kind: str, code: str, tmp_path: Path) -> None:
    file = tmp_path / "api.json"
    operation = {"get": {"operationId": "get", "responses": {}}}
    file.write_text(json.dumps({"openapi": "3.0.0", "info": {}, "paths": {"/a": operation}}))
    found = {one.tool.wire_name: one for one in convert_openapi(file).operations}
    with serve(kind) as (url, sent):
        session = HttpSession(url, found, seconds=1.0, allow_private=True)
        begun = time.monotonic()
        outcome = session.call(found["get"].tool, {})
        # A byte every tenth of a second never lets a socket's own time-out pass.
        assert time.monotonic() - begun < 3
        assert (outcome.error or {}).get("code", "") == code
        assert max(sent) < 64 << 20
