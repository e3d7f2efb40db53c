"""Giving memory back: what large sources and schemas took stays in the C library's heap, in pieces, after they are closed."""

from __future__ import annotations

import ctypes
import gc
import sys
import time
from functools import cache
from typing import Any

__all__ = ["trim_memory"]

# Looking through all that a worker holds takes longer the more it holds: so many times as long it works in between.
_WORK = 30.0


@cache
def _trim() -> Any:
    if sys.platform != "linux":
        return None
    return getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc has it, musl does not


def trim_memory(due: float) -> float:
    """Collect cycles and give the heap's free pages back to the system, if that is due.

    Args:
        due: The time before which nothing is done, as `time.monotonic` counts.

    Returns:
        When it is due next.
    """
    started = time.monotonic()
    if started < due:
        return due
    gc.collect()
    if (trim := _trim()) is not None:
        trim(0)
    ended = time.monotonic()
    return ended + _WORK * (ended - started)
