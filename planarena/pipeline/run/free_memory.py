"""Giving memory back: what large sources and schemas took stays in the C library's heap, in pieces, after they are closed."""

from __future__ import annotations

import ctypes
import gc
import sys
import time
from functools import cache
from typing import Any

__all__ = ["give_back"]

# Looking through all that a worker holds takes longer the more it holds: so many times as long it works in between.
_WORK = 30.0


@cache
def _trim() -> Any:
    if sys.platform != "linux":
        return None
    return getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc has it, musl does not


_next = [0.0]


def give_back() -> None:
    """Collect cycles and give the heap's free pages back to the system, where the last time is long enough ago."""
    begun = time.monotonic()
    if begun < _next[0]:
        return
    gc.collect()
    if (trim := _trim()) is not None:
        trim(0)
    ended = time.monotonic()
    _next[0] = ended + _WORK * (ended - begun)
