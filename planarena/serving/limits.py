"""What a server bears: sessions, their age and calls, and the size of a request."""

from __future__ import annotations

import msgspec

__all__ = ["Limits"]


class Limits(msgspec.Struct, frozen=True):
    """Limits of a server; the defaults are ours.

    Attributes:
        sessions: Open at a time.
        idle: Seconds without a request after which a session may be ended.
        age: Seconds after which one is ended.
        calls: Of one session.
        body: Bytes of a request.
        receive: Seconds in which all of a request has to be there, once its head is.
        concurrency: Requests at a time.
    """

    sessions: int = 2_000
    idle: float = 600.0
    age: float = 7_200.0
    calls: int = 1_000
    body: int = 1 << 20
    receive: float = 60.0
    concurrency: int = 4_096
