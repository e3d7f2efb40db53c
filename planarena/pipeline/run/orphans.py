"""No worker outlives the process that started it, also where that was killed with -9."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

__all__ = ["die_with"]

_PR_SET_PDEATHSIG = 1


def die_with(parent: int) -> None:
    """Have this process killed when its parent ends (on Linux; elsewhere it ends at its next message).

    Args:
        parent: Process id of the parent, as the parent itself gave it.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before the line above
        os._exit(1)
