"""A process that has everything imported and forks once a command: thousands of commands, each a process of its own.

`with Zygote() as zygote: zygote.run(["build", "builtin", "--out", "run"], cwd=folder)` runs the command line as
`planarena build ...` would, in a new session, and tells how it ended. What a command leaves behind is looked for.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Ended", "Zygote"]

# What the command line imports when it is needed: here before the fork, or each case would take seconds.
_PRELOAD = (
    "planarena.cli",
    *(f"planarena.cli.{name}" for name in ("audit", "bench", "build", "doctor", "env", "eval", "export")),
    *(f"planarena.cli.{name}" for name in ("import_", "inspect", "report", "tools", "train", "_evaluation")),
    *(
        "planarena.pipeline",
        "planarena.pipeline.run.build",
        "planarena.eval",
        "planarena.environments.domains",
    ),
    *(
        "planarena.pipeline.models.phase",
        "planarena.pipeline.run.outputs",
        "planarena.rows",
        "planarena.bench",
    ),
)
_MOST_OUTPUT = 4 << 20


@dataclass
class Ended:
    """How a command ended.

    Attributes:
        words: Its arguments.
        code: Its exit code; minus the signal's number where one ended it.
        out: What it printed.
        err: What it printed to stderr.
        seconds: How long it took.
        peak: Its most memory in bytes, with that of its children.
        timed_out: It did not end by itself.
        left: Processes that outlived it by a second.
    """

    words: list[str]
    code: int
    out: str = ""
    err: str = ""
    seconds: float = 0.0
    peak: int = 0
    timed_out: bool = False
    left: list[str] = field(default_factory=list)

    @property
    def traceback(self) -> bool:
        """Whether a traceback or the note of a fault of the program stands in what was printed."""
        said = self.out + self.err
        return "Traceback (most recent call last)" in said or "fault of planarena" in said

    def __str__(self) -> str:
        return f"planarena {' '.join(self.words)} -> {self.code} in {self.seconds:.1f} s\n{self.err[-3000:]}"


class Zygote:
    """The client: starts the process, sends commands, reads how they ended.

    Args:
        preload: Further modules to import before the first fork, as `litellm` or `torch`.
        root: The checkout whose code runs; this one by default.
    """

    def __init__(self, *preload: str, root: Path | None = None) -> None:
        path = os.environ.get("PYTHONPATH", "")
        self._environment = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
        if root is not None:
            self._environment["PYTHONPATH"] = f"{root}{os.pathsep}{path}" if path else str(root)
        self._preload = preload

    def __enter__(self) -> Zygote:
        self._process = subprocess.Popen(
            [sys.executable, "-u", __file__, *self._preload],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=self._environment,
            text=True,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n", "the zygote did not start"
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()

    def run(
        self,
        words: list[str],
        *,
        cwd: Path,
        env: dict[str, str] | None = None,
        timeout: float = 60.0,
        signal_after: float | None = None,
        number: int = signal.SIGKILL,
        group: bool = True,
        limits: dict[str, int] | None = None,
        wrap: str = "",
    ) -> Ended:
        """Run one command.

        Args:
            words: What stands after `planarena`.
            cwd: The folder to run in; files for what it prints are written into it, named `.faults-*`.
            env: Variables to add.
            timeout: Seconds after which it counts as hanging, and is killed.
            signal_after: Send a signal after so many seconds, unless it has ended.
            number: That signal.
            group: To its whole process group; otherwise to the process alone.
            limits: Resource limits by name, as `{"RLIMIT_FSIZE": 8192}`.
            wrap: Python to execute in the child before the command, with `main` as the command line's function.
        """
        request = {
            "words": words,
            "cwd": str(cwd),
            "env": env or {},
            "timeout": timeout,
            "signal_after": signal_after,
            "number": int(number),
            "group": group,
            "limits": limits or {},
            "wrap": wrap,
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, f"the zygote died of {words}"
        return Ended(words=words, **json.loads(line))


def _serve() -> None:
    import importlib

    for name in (*_PRELOAD, *sys.argv[1:]):
        importlib.import_module(name)
    if "litellm" in sys.argv[1:]:
        import litellm

        litellm.ModelResponse()
    real = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    real.write("ready\n")
    real.flush()
    for line in sys.stdin:
        real.write(json.dumps(_one(json.loads(line))) + "\n")
        real.flush()


def _one(request: dict[str, Any]) -> dict[str, Any]:
    folder = Path(request["cwd"])
    outputs = [folder / f".faults-{name}-{os.getpid()}" for name in ("out", "err")]
    started = time.monotonic()
    child = os.fork()
    if child == 0:
        _be_the_command(request, outputs)
    status, usage, timed_out, signalled = None, None, False, False
    while True:
        pid, status, usage = os.wait4(child, os.WNOHANG)
        if pid:
            break
        now = time.monotonic() - started
        if request["signal_after"] is not None and now >= request["signal_after"] and not signalled:
            signalled = True
            _send(child, request["number"], request["group"])
        if now > request["timeout"]:
            timed_out = True
            _send(child, signal.SIGKILL, True)
        time.sleep(0.002)
    seconds = time.monotonic() - started
    left = _outlived(child)
    _send(child, signal.SIGKILL, True)
    said = [
        path.read_bytes()[-_MOST_OUTPUT:].decode(errors="replace") if path.is_file() else ""
        for path in outputs
    ]
    for path in outputs:
        path.unlink(missing_ok=True)
    return {
        "code": os.waitstatus_to_exitcode(status),
        "out": said[0],
        "err": said[1],
        "seconds": seconds,
        "peak": usage.ru_maxrss * 1024,
        "timed_out": timed_out,
        "left": left,
    }


def _send(child: int, number: int, group: bool) -> None:
    try:
        if group:
            os.killpg(child, number)
        else:
            os.kill(child, number)
    except ProcessLookupError:
        pass


def _outlived(session: int) -> list[str]:
    """Return the commands of processes of a session that are still there after two seconds."""
    found: list[str] = []
    for _ in range(40):
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(fields[3]) == session and fields[0] != "Z":
                    found.append(
                        (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[:200]
                    )
            except (OSError, ValueError, IndexError):
                continue
        if not found:
            return []
        time.sleep(0.05)
    return found


def _be_the_command(request: dict[str, Any], outputs: list[Path]) -> None:
    code = 70
    try:
        os.setsid()
        for descriptor, path in zip((1, 2), outputs, strict=True):
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
            os.dup2(handle, descriptor)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.chdir(request["cwd"])
        os.environ.update(request["env"])
        for name, most in request["limits"].items():
            resource.setrlimit(getattr(resource, name), (most, most))
        sys.argv = ["planarena", *request["words"]]
        from planarena.cli import main

        if request["wrap"]:
            exec(request["wrap"], {"main": main})
        code = main(request["words"])
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 1
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError):
                code = code or 1
        os._exit(code)


if __name__ == "__main__":
    _serve()
