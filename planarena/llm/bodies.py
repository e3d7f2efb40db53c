"""How much of an HTTP answer is read: so many bytes unpacked, and no more, whoever sends them.

A time-out bounds how long a body is read, not how much comes meanwhile: a loopback server sends gigabytes in a second,
and a packed body of some kilobytes may unpack to as much.
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextvars import ContextVar
from typing import Any

__all__ = ["ANSWERED", "MAX_ANSWER", "AnswerTooLargeError", "bound_body", "bounded_transport"]

# A list that an attempt gives to hold the status of each answer that came whole: it is paid for, whatever it holds.
ANSWERED: ContextVar[list[int] | None] = ContextVar("ANSWERED", default=None)

# An answer of a model: four million tokens of text. As JSON it may take some thirty times that in memory.
MAX_ANSWER = 16 << 20
# How much is unpacked at a time.
_STEP = 1 << 20
# What a body that is unpacked already is no longer described by.
_GONE = frozenset({b"content-encoding", b"content-length", b"transfer-encoding"})


class AnswerTooLargeError(OSError):
    """More came than is read of one answer, or it is packed in a way that was not asked for."""


class _Counter:
    """Unpacks the parts of a body, and counts what they become."""

    def __init__(self, encoding: str, most: int) -> None:
        self._encoding, self._left, self._most = encoding.strip().lower(), most, most
        self._unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16) if "gzip" in self._encoding else None

    def take(self, part: bytes) -> Iterator[bytes]:
        if self._encoding not in {"", "identity", "gzip", "x-gzip"}:
            raise AnswerTooLargeError(
                f"the answer is packed as {self._encoding[:20]!r}, and only gzip was asked for"
            )
        if self._unpacker is None:
            yield self._counted(part)
            return
        while part:
            try:
                piece = self._unpacker.decompress(part, _STEP)
            except zlib.error as error:
                raise OSError(f"the answer is no gzip: {error}") from error
            yield self._counted(piece)
            part = self._unpacker.unconsumed_tail

    def _counted(self, data: bytes) -> bytes:
        self._left -= len(data)
        if self._left < 0:
            raise AnswerTooLargeError(f"the answer is larger than {self._most >> 20} MiB")
        return data


def bound_body(response: Any, most: int, whole: list[int] | None = None) -> None:
    """Bound what is read of the body of a response of httpx, before it is read: the hook `response` of a client.

    Reading then raises AnswerTooLargeError, or OSError where it is no gzip though it says so. Requests are to ask for
    gzip or nothing (`Accept-Encoding`), since what other packings become cannot be stopped midway. `whole` gets the
    status once all of the body was read.
    """
    import httpx

    counter = _Counter(response.headers.get("Content-Encoding", ""), most)
    stream = response.stream

    class Body(httpx.SyncByteStream, httpx.AsyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            for part in stream:
                yield from counter.take(part)

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for part in stream:
                for piece in counter.take(part):
                    yield piece
            if whole is not None:
                whole.append(response.status_code)

        def close(self) -> None:
            stream.close()

        async def aclose(self) -> None:
            await stream.aclose()

    response.stream = Body()
    left = [(name, value) for name, value in response.headers.raw if name.lower() not in _GONE]
    response.headers = httpx.Headers(left)


def bounded_transport(
    handle: Callable[[Any, Any], Awaitable[Any]], most: int = MAX_ANSWER
) -> Callable[[Any, Any], Awaitable[Any]]:
    """Return `handle_async_request` of a transport of httpx with a bound on the bodies of its answers."""

    async def bounded(self: Any, request: Any) -> Any:
        request.headers["Accept-Encoding"] = "gzip"
        response = await handle(self, request)
        bound_body(response, most, ANSWERED.get())
        return response

    return bounded
