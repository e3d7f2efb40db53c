"""A persistent worker in the sandbox, called like a function, spoken to in JSON lines."""

from __future__ import annotations

import json
import os
import selectors
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from planarena.environments.sandbox.bubblewrap import Limits, Sandbox, interpreter_paths
from planarena.errors import SandboxError

__all__ = ["ReplyError", "Worker", "WorkerDiedError", "WorkerTimeoutError"]

_MAIN = Path(__file__).with_name("_worker_main.py")


class WorkerDiedError(SandboxError):
    """The worker ended, by itself or by a limit, before it answered."""


class WorkerTimeoutError(SandboxError):
    """The worker did not answer in time and was killed with all it had started."""


class ReplyError(SandboxError):
    """The worker answered that the call failed.

    Attributes:
        kind: The name of the exception's class in the worker.
        message: Its text, at most 2,000 characters.
    """

    def __init__(self, kind: str, message: str) -> None:
        self.kind, self.message = kind, message
        super().__init__(f"{kind}: {message}")


class Worker:
    """A persistent service in a sandbox: a Python file with functions, called by name.

    The file defines `METHODS`, a dictionary from names to functions that take one JSON value and return
    one. It is imported in the worker alone. A worker that dies or runs out of time is started again by
    the next call.

    Args:
        service: The Python file.
        python: The interpreter, usually of a managed environment; by default ours.
        readable: More files and folders that it may read.
        variables: Its environment variables.
        limits: What it may use.
        network: Share the machine's network.
        unsafe_no_sandbox: Run it unconfined.

    Raises:
        EnvironmentUnavailableError: There is no way to sandbox here.
        WorkerDiedError: The service does not start.
    """

    def __init__(
        self,
        service: Path,
        *,
        python: Path | None = None,
        readable: Sequence[Path] = (),
        variables: Mapping[str, str] | None = None,
        limits: Limits | None = None,
        network: bool = False,
        unsafe_no_sandbox: bool = False,
    ) -> None:
        self.limits = limits or Limits()
        self._python = python or Path(sys.executable)
        self._service = service.absolute()
        self._readable = [_MAIN, self._service, *interpreter_paths(self._python), *readable]
        self._variables = variables or {}
        self._network, self._unsafe = network, unsafe_no_sandbox
        self._sandbox: Sandbox | None = None
        self._rest = b""
        self._number = 0
        self.starts = 0
        self._start()

    @property
    def kind(self) -> str:
        """How it is confined: "bubblewrap" or "none"."""
        return "none" if self._unsafe else "bubblewrap"

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the worker."""
        if self._sandbox is not None:
            self._sandbox.kill()
            self._sandbox = None

    def call(self, method: str, value: Any = None, *, seconds: float | None = None) -> Any:
        """Call one method with one JSON value and return its JSON value.

        Args:
            method: A name in the service's METHODS.
            value: Its argument.
            seconds: Wall time for this call, where the limits' own does not fit.

        Raises:
            ReplyError: The method raised.
            WorkerTimeoutError: No answer in time; the worker was killed.
            WorkerDiedError: The worker ended without an answer, or its answer was none.
        """
        if self._sandbox is None:
            self._start()
        self._number += 1
        request = json.dumps([self._number, method, value], separators=(",", ":")).encode() + b"\n"
        reply = self._exchange(request, self.limits.call_seconds if seconds is None else seconds)
        if not isinstance(reply, dict) or reply.get("id") != self._number:
            raise self._fail("the worker's answer does not belong to the call")
        if (error := reply.get("error")) is not None:
            kind, message = error if isinstance(error, list) and len(error) == 2 else ("Error", error)
            raise ReplyError(str(kind)[:200], str(message)[:2000])
        return reply.get("result")

    def _start(self) -> None:
        command = [str(self._python), "-s", "-u", str(_MAIN), str(self._service)]
        self._sandbox = Sandbox(
            command,
            readable=self._readable,
            variables=self._variables,
            limits=self.limits,
            network=self._network,
            unsafe_no_sandbox=self._unsafe,
        )
        self._rest = b""
        self.starts += 1
        if self._exchange(b"", self.limits.start_seconds) != "ready":
            raise self._fail("the worker did not say that it is ready")

    def _fail(self, what: str, kind: type[SandboxError] = WorkerDiedError) -> SandboxError:
        assert self._sandbox is not None
        sandbox, self._sandbox = self._sandbox, None
        sandbox.kill()
        status = sandbox.process.returncode
        return kind(
            f"{what} (exit status {status}){': ' if sandbox.complaint else ''}{sandbox.complaint[-2000:]}"
        )

    def _exchange(self, request: bytes, seconds: float) -> Any:
        """Write a request while reading, so that neither side waits for the other's full pipe."""
        assert self._sandbox is not None
        deadline = time.monotonic() + seconds
        stdin, stdout = self._sandbox.process.stdin, self._sandbox.process.stdout
        assert stdin is not None
        assert stdout is not None
        os.set_blocking(stdin.fileno(), False)
        pending, parts, size = memoryview(request), [self._rest], len(self._rest)
        with selectors.DefaultSelector() as selector:
            selector.register(stdout, selectors.EVENT_READ)
            if pending:
                selector.register(stdin, selectors.EVENT_WRITE)
            while b"\n" not in parts[-1]:
                ready = selector.select(max(0.0, deadline - time.monotonic()))
                if not ready:
                    raise self._fail(
                        f"the worker did not answer within {seconds:g} s and was killed", WorkerTimeoutError
                    )
                for key, _ in ready:
                    if key.fileobj is stdin:
                        try:
                            pending = pending[os.write(stdin.fileno(), pending[:65536]) :]
                        except BlockingIOError:
                            continue
                        except BrokenPipeError:
                            pending = pending[:0]
                        if not pending:
                            selector.unregister(stdin)
                        continue
                    chunk = os.read(stdout.fileno(), 1 << 20)
                    parts.append(chunk)
                    size += len(chunk)
                    if not chunk:
                        raise self._fail("the worker ended before it answered")
                    if size > self.limits.reply_bytes:
                        raise self._fail(
                            f"the worker's answer is longer than {self.limits.reply_bytes} bytes"
                        )
        line, self._rest = b"".join(parts).split(b"\n", 1)
        try:
            return json.loads(line)
        except (ValueError, RecursionError) as error:
            raise self._fail("the worker's answer is not JSON") from error
