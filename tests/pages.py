"""Pages whose commands are run: blocks that open with ```sh runnable or ```python runnable, in the page's order.

`runnable file=NAME` is a file that the reader writes; `runnable full` belongs to the long suite. A ```text block after a runnable one shows what that prints: each of its
lines must stand in the output, where digits may differ.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

_BLOCK = re.compile(
    r"^```(\w+) runnable( full)?(?: file=(\S+))?\n(.*?)^```$(?:\n\n^```text\n(.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)


class Block(NamedTuple):
    """One runnable block."""

    kind: str
    full: bool
    file: str
    body: str
    shown: tuple[str, ...]


def blocks_of(page: Path) -> list[Block]:
    """Return the runnable blocks of a page."""
    return [
        Block(
            kind, bool(full), file, body, tuple(line.strip() for line in shown.splitlines() if line.strip())
        )
        for kind, full, file, body, shown in _BLOCK.findall(page.read_text(encoding="utf-8"))
    ]


def run_blocks(blocks: list[Block], folder: Path, **variables: str) -> list[str]:
    """Run blocks in a folder, one after the other; return what each printed, errors included."""
    # One BLAS thread, the width of a page, and the command beside this interpreter.
    here = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": here, "COLUMNS": "160", **variables}
    printed = []
    for block in blocks:
        if block.file:
            (folder / block.file).write_text(block.body, encoding="utf-8")
            continue
        command = (
            ["bash", "-euo", "pipefail", "-c", block.body]
            if block.kind == "sh"
            else [sys.executable, "-c", block.body]
        )
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        output = done.stdout + done.stderr
        assert done.returncode == 0, f"{block.body}\n{output}"
        plain = _without_numbers(output)
        missing = [line for line in block.shown if _without_numbers(line) not in plain]
        assert missing == [], f"{block.body}\nprinted:\n{output}"
        printed.append(output)
    return printed


def _without_numbers(text: str) -> str:
    return re.sub(r"\d+(\.\d+)?", "#", " ".join(text.split()))
