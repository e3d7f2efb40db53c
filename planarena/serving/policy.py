"""A policy behind OpenAI's chat completions: `POST /v1/chat/completions`, `GET /v1/models`, `GET /health`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from itertools import count
from typing import Any

import msgspec

from planarena.bench import Asked, Reply
from planarena.serving.batching import Batcher, BusyError, CannotReadError
from planarena.serving.chat_request import BadRequestError, ChatRequest, Dialect, read_request
from planarena.serving.mcp_transport import encode

__all__ = ["PolicyServer", "policy_app"]

_PIECE = 64  # characters of a piece of a stream


class PolicyServer:
    """Answers requests.

    Args:
        batcher: Asks the policy.
        dialect: Its format.
        name: Of the model, for clients.
    """

    def __init__(self, batcher: Batcher, dialect: Dialect, name: str) -> None:
        self._batcher, self._dialect, self.name = batcher, dialect, name
        self._numbers = count()
        self._begun = int(time.time())

    async def complete(self, request: ChatRequest) -> dict[str, Any]:
        """Return a completion.

        Raises:
            BadRequestError: It cannot be answered.
            BusyError: Too many wait.
        """
        number = next(self._numbers)
        # The same seed and dialogue draw the same; without a seed no two requests do.
        key = f"seed {request.seed}" if request.seed is not None else f"request {self._begun}/{number}"
        asked = [self._dialect.asked(request, key, sample) for sample in range(request.n)]
        try:
            replies = await asyncio.gather(*(self._batcher.answer(one, request.temperature) for one in asked))
        except CannotReadError as error:
            raise BadRequestError(f"the chat template cannot write these messages: {error}") from error
        if any(reply.truncated and not reply.tokens for reply in replies):
            raise BadRequestError(
                "the messages are longer than the model's context length", "context_length_exceeded"
            )
        choices = [
            self._choice(place, one, reply, request)
            for place, (one, reply) in enumerate(zip(asked, replies, strict=True))
        ]
        prompt, completion = replies[0].prompt_tokens or 0, sum(reply.tokens or 0 for reply in replies)
        return {
            "id": f"chatcmpl-{self._begun:x}-{number}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": self.name,
            "choices": choices,
            "usage": {
                "prompt_tokens": prompt,
                "completion_tokens": completion,
                "total_tokens": prompt + completion,
            },
        }

    def _choice(self, place: int, asked: Asked, reply: Reply, request: ChatRequest) -> dict[str, Any]:
        message = self._dialect.message(reply.text, asked, tools=bool(request.tools))
        reason = "tool_calls" if message.get("tool_calls") else "length" if reply.truncated else "stop"
        content = message["content"]
        ends = [content.find(stop) for stop in request.stop if stop in content] if content else []
        if ends:
            message["content"] = content[: min(ends)]
            reason = reason if message.get("tool_calls") else "stop"
        return {"index": place, "message": message, "finish_reason": reason, "logprobs": None}

    def pieces(self, found: dict[str, Any], *, usage: bool) -> Iterator[dict[str, Any]]:
        """Yield a completion as the chunks of a stream."""
        shared = {key: found[key] for key in ("id", "created", "model")} | {"object": "chat.completion.chunk"}

        def chunk(place: int, delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
            choice = {"index": place, "delta": delta, "finish_reason": reason, "logprobs": None}
            return {**shared, "choices": [choice]}

        for choice in found["choices"]:
            place, message = choice["index"], choice["message"]
            yield chunk(place, {"role": "assistant", "content": "" if message["content"] else None})
            for key in ("reasoning_content", "content"):
                text = message.get(key) or ""
                for start in range(0, len(text), _PIECE):
                    yield chunk(place, {key: text[start : start + _PIECE]})
            for number, call in enumerate(message.get("tool_calls") or ()):
                yield chunk(place, {"tool_calls": [{"index": number, **call}]})
            yield chunk(place, {}, choice["finish_reason"])
        if usage:
            yield {**shared, "choices": [], "usage": found["usage"]}


def policy_app(server: PolicyServer) -> Any:
    """Return the application."""
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response, StreamingResponse
    from starlette.routing import Route

    def reply(body: Any, status: int = 200) -> Response:
        return Response(encode(body), status, media_type="application/json")

    def refuse(
        message: str, status: int, kind: str = "invalid_request_error", code: str | None = None
    ) -> Response:
        return reply({"error": {"message": message, "type": kind, "param": None, "code": code}}, status)

    async def complete(request: Request) -> Response:
        try:
            body = msgspec.json.decode(await request.body())
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError, ValueError):
            return refuse("the body is no JSON", 400)
        try:
            wanted = read_request(body)
            found = await server.complete(wanted)
        except BadRequestError as error:
            return refuse(str(error), 400, code=error.code)
        except RecursionError:
            return refuse("it is nested too deeply", 400)
        except BusyError:
            return refuse("too many requests wait; try again later", 429, "rate_limit_error")
        if not wanted.stream:
            return reply(found)

        async def events() -> AsyncIterator[bytes]:
            for piece in server.pieces(found, usage=wanted.usage):
                yield b"data: " + encode(piece) + b"\n\n"
            yield b"data: [DONE]\n\n"

        return StreamingResponse(events(), media_type="text/event-stream")

    async def models(_request: Request) -> Response:
        listed = {"id": server.name, "object": "model", "created": 0, "owned_by": "planarena"}
        return reply({"object": "list", "data": [listed]})

    async def health(_request: Request) -> Response:
        return reply({"status": "ok"})

    return Starlette(
        routes=[
            Route("/v1/chat/completions", complete, methods=["POST"]),
            Route("/v1/models", models, methods=["GET"]),
            Route("/health", health, methods=["GET"]),
        ]
    )
