"""Giving memory back: what large sources and schemas took stays in the C library's heap, in pieces, after they are closed."""

from __future__ import annotations

import ctypes
import gc
import sys
from functools import cache
from typing import Any

__all__ = ["give_back"]

# Looking through all of it takes some twenty milliseconds: about a hundredth of the jobs in between.
_EVERY = 4


@cache
def _trim() -> Any:
    if sys.platform != "linux":
        return None
    return getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc has it, musl does not


_JOBS = [0]


def give_back() -> None:
    """Collect cycles, and give the heap's free pages back to the system, every few calls."""
    _JOBS[0] += 1
    if _JOBS[0] % _EVERY == 0:
        gc.collect()
        if (trim := _trim()) is not None:
            trim(0)
