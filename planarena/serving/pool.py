"""Open sessions of a server by an id that nobody can guess, within limits."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from planarena.errors import PlanArenaError
from planarena.serving.limits import Limits

__all__ = ["FullError", "SessionPool"]

_T = TypeVar("_T")


class FullError(PlanArenaError):
    """There is no room for another session."""


class _Entry(Generic[_T]):
    __slots__ = ("begun", "used", "value")

    def __init__(self, value: _T, now: float) -> None:
        self.value, self.begun, self.used = value, now, now


class SessionPool(Generic[_T]):
    """What a server holds for its clients, one value per session; used from one thread.

    Args:
        limits: Number, idle time and age.
        clock: Seconds; replaced in tests.
    """

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits, self._clock = limits, clock
        self._entries: dict[str, _Entry[_T]] = {}  # the one used last stands last

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, value: _T) -> str:
        """Keep a value under a new id.

        Raises:
            FullError: There are too many sessions, and none is old or idle enough to be ended.
        """
        now = self._clock()
        self._sweep(now)
        if len(self._entries) >= self._limits.sessions:
            raise FullError("no session is free; end one, or try again later")
        name = secrets.token_urlsafe(18)
        self._entries[name] = _Entry(value, now)
        return name

    def get(self, name: str) -> _T | None:
        """Return the value of an id; None where it was never given out, or its session has ended."""
        entry = self._entries.pop(name, None)
        if entry is None:
            return None
        now = self._clock()
        if now - entry.begun > self._limits.age:
            return None
        entry.used = now
        self._entries[name] = entry
        return entry.value

    def remove(self, name: str) -> bool:
        """End a session; return whether there was one."""
        return self._entries.pop(name, None) is not None

    def _sweep(self, now: float) -> None:
        """End what is too old; where there is no room, end what is idle."""
        limits = self._limits
        if len(self._entries) < limits.sessions:
            return
        for name in [
            name
            for name, entry in self._entries.items()
            if now - entry.begun > limits.age or now - entry.used > limits.idle
        ]:
            del self._entries[name]
