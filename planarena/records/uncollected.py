"""Work without the collector of cycles."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["uncollected"]


@contextmanager
def uncollected() -> Iterator[None]:
    """Hold the collector of cycles off while a chunk is worked on.

    What is made there is freed without it as soon as the chunk is done, and looking for cycles in all that a chunk
    holds until then takes a fifth of the time.
    """
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()
