"""A scripted OpenAI-compatible server on loopback: every fault a hosted model shows, drawn by seed, and counted.

What a request meets depends on the seed, the request and how often it was asked, never on arrival order.
As a fixture: `with ScriptedServer(Script(seed=1, faults={"server_error": 0.1})) as server: server.url`.
As a process (measurements that must not share an interpreter): `python tests/llm_server.py --reply-kb 2`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from aiohttp import web

FAULTS = (
    "wrong_json",
    "tool_call_in_text",
    "empty",
    "truncated",
    "rate_limit",
    "server_error",
    "hang",
    "drop",
    "half_body",
    "unknown_model",
    "revoked_key",
    "other_model",
)
CUT_OFF = '{"score": 0.'
ANSWERED = frozenset({"good", "wrong_json", "tool_call_in_text", "empty", "truncated", "other_model"})
Reply = str | dict[str, Any]


def digest_of(body: Mapping[str, Any]) -> str:
    """The identity of a request, as the server sees it."""
    return blake2b(json.dumps(body, sort_keys=True).encode(), digest_size=12).hexdigest()


def default_reply(body: dict[str, Any]) -> Reply:
    """Answer deterministically: a tool call where tools are offered, JSON where it is asked for, else a text."""
    digest = digest_of(body)
    if body.get("tools"):
        function = body["tools"][0]["function"]["name"]
        return {"calls": [{"name": function, "arguments": {"value": digest[:6]}}]}
    if "response_format" in body:
        return json.dumps({"score": int(digest[:2], 16) % 5 / 4})
    return f"answer {digest}"


class ObedientModel:
    """Obeys whoever tells it `OBEY: <answer>` last; `outside_data` makes it ignore what stands in quoted data.

    Args:
        otherwise: What it answers when nobody tells it anything.
        outside_data: Read only what lies outside of JSON strings, as a model that keeps to delimiters does.
    """

    def __init__(self, otherwise: Reply, *, outside_data: bool = False) -> None:
        self.otherwise, self.outside_data = otherwise, outside_data
        self.obeyed = 0

    def __call__(self, body: dict[str, Any]) -> Reply:
        text = "\n".join(
            message["content"] for message in body["messages"] if isinstance(message["content"], str)
        )
        if self.outside_data:
            text = re.sub(r'"(?:[^"\\]|\\.)*"', '""', text)
        _, found, rest = text.rpartition("OBEY:")
        if not found:
            return self.otherwise
        self.obeyed += 1
        order = rest.strip().split("\n")[0]
        if re.match(r"[\[{]+\"", order):
            return order
        # Inside of a JSON string: up to its end, read as what it says.
        quoted = re.match(r'(?:[^"\\]|\\.)*', order)
        return str(json.loads(f'"{quoted[0]}"')) if quoted else order


@dataclass
class Script:
    """What the server does.

    Attributes:
        seed: Of the faults.
        faults: Probability of each kind of fault; the rest is good.
        reply: Body of a request -> its good answer.
        delay: Seconds before an answer.
        hang: Seconds that a hanging request is held.
        retry_after: What a 429 says; a text is sent as it is, None sends none.
        keys: Keys that are accepted; None accepts all.
        models: Names that are known; None knows all.
        most_faults: After so many faults a request is answered well.
        echo_key: Repeat the key in the text of every error, as careless servers do.
        usage: Whether answers say how many tokens they took.
        takes_schema: Whether `response_format` is known; otherwise it is a bad request.
    """

    seed: int = 0
    faults: dict[str, float] = field(default_factory=dict)
    reply: Callable[[dict[str, Any]], Reply] = default_reply
    delay: float = 0.0
    hang: float = 30.0
    retry_after: float | str | None = 0.2
    keys: frozenset[str] | None = None
    models: frozenset[str] | None = None
    most_faults: int = 3
    echo_key: bool = False
    usage: bool = True
    takes_schema: bool = True

    def draw(self, digest: str, asked: int) -> str:
        """Return what the `asked`-th time of a request meets."""
        if asked >= self.most_faults:
            return "good"
        number = blake2b(f"{self.seed}:{digest}:{asked}".encode(), digest_size=7).digest()
        place = int.from_bytes(number) / 2**56
        for fault, share in self.faults.items():
            if place < share:
                return fault
            place -= share
        return "good"


@dataclass(frozen=True)
class Arrival:
    """One request: when it came (monotonic seconds), what it was, what it met, how many were being served."""

    at: float
    digest: str
    outcome: str
    in_flight: int
    model: str
    tokens: int


class ScriptedServer:
    """The server, in a thread of its own. `arrivals`, `sent` and `requests` say what happened."""

    def __init__(self, script: Script | None = None, port: int = 0) -> None:
        self.script = script or Script()
        self.port = port
        self.arrivals: list[Arrival] = []
        self.requests: dict[str, dict[str, Any]] = {}
        self.sent: Counter[str] = Counter()
        self.asked: Counter[str] = Counter()
        self.in_flight = 0
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._stop: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def max_in_flight(self) -> int:
        return max((arrival.in_flight for arrival in self.arrivals), default=0)

    def outcomes(self) -> Counter[str]:
        """How often each outcome was served."""
        return Counter(arrival.outcome for arrival in self.arrivals)

    def clear(self) -> None:
        """Forget what was counted; what a request meets next goes on where it was."""
        self.arrivals, self.sent = [], Counter()

    def busiest_second(self, weight: Callable[[Arrival], float] = lambda _: 1.0) -> float:
        """The largest sum of weights in any half-open second."""
        most = total = 0.0
        first = 0
        for arrival in self.arrivals:
            total += weight(arrival)
            while self.arrivals[first].at <= arrival.at - 1.0:
                total -= weight(self.arrivals[first])
                first += 1
            most = max(most, total)
        return most

    def __enter__(self) -> ScriptedServer:
        self._thread.start()
        if not self._ready.wait(10):
            raise RuntimeError("the scripted server did not start")
        return self

    def __exit__(self, *_: object) -> None:
        assert self._stop is not None
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self) -> None:
        self._stop = asyncio.Event()
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_post("/v1/chat/completions", self._complete)
        runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", self.port, reuse_address=True, backlog=1024)
        await site.start()
        self.port = runner.addresses[0][1]
        self._ready.set()
        await self._stop.wait()
        await runner.cleanup()

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        at = time.monotonic()
        self.in_flight += 1
        try:
            return await self._answer(request, at)
        finally:
            self.in_flight -= 1

    async def _answer(self, request: web.Request, at: float) -> web.StreamResponse:
        body = await request.json()
        script, digest, model = self.script, digest_of(body), body.get("model", "")
        key = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if script.keys is not None and key not in script.keys:
            outcome = "revoked_key"
        elif script.models is not None and model not in script.models:
            outcome = "unknown_model"
        elif "response_format" in body and not script.takes_schema:
            outcome = "bad_request"
        else:
            outcome = script.draw(digest, self.asked[digest])
        self.asked[digest] += 1
        self.requests[digest] = body
        tokens = len(json.dumps(body["messages"])) // 4
        self.arrivals.append(Arrival(at, digest, outcome, self.in_flight, model, tokens))
        if outcome == "hang":
            await asyncio.sleep(script.hang)
        elif script.delay:
            await asyncio.sleep(script.delay)
        if outcome in ANSWERED:
            payload = self._completion(body, outcome, tokens)
            self.sent[digest] += 1
            return web.Response(body=payload, content_type="application/json")
        return await self._fail(request, outcome, f" ({key})" if script.echo_key else "")

    def _completion(self, body: dict[str, Any], outcome: str, tokens: int) -> bytes:
        reply = self.script.reply(body)
        message: dict[str, Any] = {"role": "assistant", "content": reply if isinstance(reply, str) else None}
        finish = "stop"
        if isinstance(reply, dict):
            message["tool_calls"] = [
                {
                    "id": f"call_{place}",
                    "type": "function",
                    "function": {"name": call["name"], "arguments": json.dumps(call["arguments"])},
                }
                for place, call in enumerate(reply["calls"])
            ]
            finish = "tool_calls"
        if outcome == "wrong_json":
            message, finish = {"role": "assistant", "content": '{"score": 0.5, "why": '}, "stop"
        elif outcome == "tool_call_in_text":
            text = '<tool_call>\n{"name": "lookup", "arguments": {"value": 1}}\n</tool_call>'
            message, finish = {"role": "assistant", "content": text}, "stop"
        elif outcome == "empty":
            message, finish = {"role": "assistant", "content": ""}, "stop"
        elif outcome == "truncated":
            message, finish = {"role": "assistant", "content": CUT_OFF}, "length"
        completion = len(json.dumps(message)) // 4
        answer = {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": "another-model" if outcome == "other_model" else body.get("model", ""),
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": {
                "prompt_tokens": tokens,
                "completion_tokens": completion,
                "total_tokens": tokens + completion,
            },
        }
        if not self.script.usage:
            del answer["usage"]
        return json.dumps(answer).encode()

    async def _fail(self, request: web.Request, outcome: str, key: str) -> web.StreamResponse:
        if outcome == "half_body":
            response = web.StreamResponse(
                headers={"Content-Type": "application/json", "Content-Length": "4096"}
            )
            await response.prepare(request)
            await response.write(b'{"id": "chatcmpl-1", "choices": [{"index": 0, "mess')
        if outcome in {"half_body", "drop", "hang"}:
            if request.transport is not None:
                request.transport.abort()
            return web.Response(status=500)
        status, kind, code, text = {
            "rate_limit": (429, "requests", "rate_limit_exceeded", "Rate limit reached"),
            "server_error": (500, "server_error", None, "The server had an error"),
            "unknown_model": (404, "invalid_request_error", "model_not_found", "The model does not exist"),
            "revoked_key": (401, "invalid_request_error", "invalid_api_key", "Incorrect API key provided"),
            "bad_request": (400, "invalid_request_error", None, "Unknown parameter: response_format"),
        }[outcome]
        headers = {}
        if outcome == "rate_limit" and self.script.retry_after is not None:
            headers["Retry-After"] = str(self.script.retry_after)
        body = {"error": {"message": text + key, "type": kind, "param": None, "code": code}}
        return web.json_response(body, status=status, headers=headers)


def main() -> None:
    """Serve good answers of one size until standard input closes; print the URL."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--reply-kb", type=float, default=2.0)
    parser.add_argument("--delay", type=float, default=0.0)
    options = parser.parse_args()
    text = ("word " * 410)[: int(options.reply_kb * 1024)]
    with ScriptedServer(Script(reply=lambda _: text, delay=options.delay)) as server:
        print(server.url, flush=True)
        while input_line():
            pass


def input_line() -> str:
    """Wait for a line of standard input; empty at its end."""
    import sys

    return sys.stdin.readline()


if __name__ == "__main__":
    main()
