"""A worker process: receives jobs over an inherited pipe, answers them, and dies with its parent."""

from __future__ import annotations

import gc
import os
import signal
import sys
from contextlib import closing
from multiprocessing.connection import Connection

from planarena.pipeline.run.jobs import Worker
from planarena.pipeline.run.orphans import die_with

__all__ = ["main"]


def main() -> None:
    """Serve jobs until the pipe closes: `python -m planarena.pipeline.run.worker FD PARENT`."""
    descriptor, parent = int(sys.argv[1]), int(sys.argv[2])
    die_with(parent)
    # Ctrl-C reaches the whole process group: stopping is the parent's decision.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    connection = Connection(descriptor)
    # A job makes millions of objects and hardly a cycle: between jobs, `trim_memory` looks for them as often as it pays.
    gc.freeze()
    gc.disable()
    try:
        worker = Worker(*connection.recv())
        with closing(worker):
            while (job := connection.recv()) is not None:
                connection.send(worker.answer(job))
    except (EOFError, OSError):
        pass
    # Nothing is left to write: taking the last products apart would only keep the build waiting.
    os._exit(0)


if __name__ == "__main__":
    main()
