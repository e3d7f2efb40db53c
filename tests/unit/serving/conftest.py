"""Requests that nobody meant, and a client that needs no socket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from copy import deepcopy
from random import Random
from typing import Any

import httpx
import pytest

from planarena import Run
from planarena.serving import Limits
from planarena.serving.http import Guard
from planarena.session import TaskSet, read_tasks

VALUES: list[Any] = [
    None, True, 0, -1, 2**63, 2**80, 1e308, "", "x", "\x00", "\ud800", "é" * 40, "../../etc/passwd", [], {}, [[]],
    {"a": {"b": [1]}}, [1, "2", None], "A" * 3000, "{{goal}}", "final_state_hash",
]  # fmt: skip
HEADERS = [
    "content-type",
    "authorization",
    "mcp-session-id",
    "mcp-protocol-version",
    "accept",
    "origin",
    "x-y",
]


def nested(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


class Fuzzer:
    """Draws requests around valid ones.

    Args:
        seed: Of the draws.
        paths: To go to.
        bodies: Valid bodies, which are changed.
    """

    def __init__(self, seed: int, paths: Sequence[str], bodies: Sequence[Any]) -> None:
        self.rng, self.paths, self.bodies = Random(seed), paths, bodies

    def request(self) -> tuple[str, str, dict[str, str], bytes]:
        rng = self.rng
        method = rng.choice(["POST"] * 8 + ["GET", "DELETE", "PUT", "OPTIONS", "PATCH"])
        path = rng.choice([*self.paths] * 6 + ["/", "/../", "/%00", "/admin", "/tasks", "/goal", "/docs"])
        headers = {
            rng.choice(HEADERS): rng.choice(
                ["", "x", "application/json", "Bearer x", "0", "é".encode().hex()]
            )
            for _ in range(rng.randrange(3))
        }
        return method, path, headers, self.body()

    def body(self) -> bytes:
        rng = self.rng
        kind = rng.random()
        if kind < 0.08:
            return bytes(rng.randrange(256) for _ in range(rng.randrange(60)))
        if kind < 0.12:
            return nested(rng.choice([10, 1000, 200_000]))
        value = json.loads(json.dumps(rng.choice(self.bodies)))
        for _ in range(rng.randrange(4)):
            value = self.change(value)
        text = json.dumps(value).encode()
        return text[: rng.randrange(len(text) + 1)] if kind > 0.95 else text

    def change(self, value: Any) -> Any:
        rng = self.rng
        if isinstance(value, dict) and value and rng.random() < 0.85:
            key = rng.choice(sorted(value))
            if rng.random() < 0.2:
                del value[key]
            elif rng.random() < 0.1:
                value[str(rng.choice(VALUES))] = deepcopy(rng.choice(VALUES))
            else:
                value[key] = self.change(value[key])
            return value
        if isinstance(value, list) and value and rng.random() < 0.85:
            place = rng.randrange(len(value))
            value[place] = self.change(value[place])
            return value
        return deepcopy(rng.choice(VALUES))


class Client:
    """Requests to a guarded application, in this process.

    Args:
        app: The application.
        limits: Of the guard.
        token: Of the guard.
    """

    def __init__(self, app: Any, limits: Limits | None = None, token: str = "") -> None:
        self.guard = Guard(app, limits or Limits(), token)
        self._loop = asyncio.new_event_loop()
        self._client = httpx.AsyncClient(
            transport=httpx.ASGITransport(self.guard), base_url="http://127.0.0.1", timeout=60
        )

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        return self._loop.run_until_complete(self._client.request(method, path, **options))

    def many(self, requests: Sequence[dict[str, Any]]) -> list[httpx.Response]:
        async def send() -> list[httpx.Response]:
            return await asyncio.gather(*(self._client.request(**one) for one in requests))

        return self._loop.run_until_complete(send())

    def post(self, path: str, body: Any, **headers: str) -> httpx.Response:
        return self.request("POST", path, json=body, headers=headers)

    def close(self) -> None:
        self._loop.run_until_complete(self._client.aclose())
        self._loop.close()

    def fuzz(self, fuzzer: Fuzzer, number: int, session: str = "") -> dict[int, int]:
        """Send requests; return how many there were of each status. Every one has an answer, no fault is left."""
        found: dict[int, int] = {}
        for _ in range(number):
            method, path, headers, body = fuzzer.request()
            if session and method != "DELETE" and fuzzer.rng.random() < 0.8:
                headers["mcp-session-id"] = session
            answer = self.request(method, path, headers=headers, content=body)
            found[answer.status_code] = found.get(answer.status_code, 0) + 1
            assert answer.status_code < 500 or answer.status_code == 503, (method, path, headers, body)
        assert not self.guard.faults
        return found


@pytest.fixture(scope="package")
def tasks(built_run: Run) -> TaskSet:
    return read_tasks(built_run.path)


@pytest.fixture
def client() -> Any:
    """Makes clients and closes them."""
    made: list[Client] = []

    def make(app: Any, limits: Limits | None = None, token: str = "") -> Client:
        made.append(Client(app, limits, token))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def fuzzer() -> Callable[..., Fuzzer]:
    """Makes a source of requests."""
    return Fuzzer


def secrets_of(tasks: TaskSet) -> list[str]:
    """What no route may show: the hash of each final state, and the gold's answers."""
    found = []
    for task in tasks:
        found.append(task.open().goal.final_state_hash)
        found += [answer for answer in task.answers if len(answer) > 20]
    return found


@pytest.fixture(scope="package")
def hidden(tasks: TaskSet) -> list[str]:
    """What no route may show."""
    return secrets_of(tasks)
