"""What tests of builds share: a hash of all that may not differ, and a build in a process that is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path

import msgspec

from planarena.config import BuildConfig

_SCRIPT = (
    "import sys, msgspec, planarena\n"
    "from planarena.config import BuildConfig\n"
    "planarena.build(msgspec.json.decode(sys.argv[1], type=BuildConfig))\n"
)


def contents(root: Path | str) -> dict[str, str]:
    """Hash everything of a run that must not differ: tables, card, report, run.json."""
    root = Path(root)
    files = [root / "run.json", root / "README.md", root / "report.html"]
    files += [path for path in root.glob("tables/*/*") if not path.name.endswith(".tmp")]
    return {str(path.relative_to(root)): blake2b(path.read_bytes()).hexdigest() for path in sorted(files)}


def command_of(config: BuildConfig) -> list[str]:
    """Return a command that builds a configuration in a process of its own."""
    return [sys.executable, "-c", _SCRIPT, msgspec.json.encode(config).decode()]


def kill_when(config: BuildConfig, reached: Callable[[], bool], patience: float = 240.0) -> None:
    """Start a build and kill -9 it and its workers once something is reached, which must be before its end."""
    process = subprocess.Popen(command_of(config), start_new_session=True)
    deadline = time.monotonic() + patience
    while not reached():
        assert process.poll() is None, "the build ended before it was killed"
        assert time.monotonic() < deadline, "the build got nowhere"
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL


def shards(root: Path | str) -> int:
    """Return how many chunks of a run are written."""
    return len(list(Path(root).glob("tables/scenarios/*.parquet")))
