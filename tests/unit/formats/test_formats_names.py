"""Names by which formats are chosen, the codes of token types, and what importing formats and rewards costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from planarena import formats


def test_names_and_codes_that_files_hold() -> None:
    assert formats.names() == (
        "planarena",
        "toolrl",
        "toolupt",
        "chord",
        "math",
        "hermes",
        "native",
        "think",
        "parameters",
        "params",
        "answer",
    )
    assert [(kind.name, int(kind)) for kind in formats.TokenType] == [
        *(("TAG_PLAN", 0), ("TAG_TOOL", 1), ("TAG_RESP", 2)),
        *(("PLAN", 3), ("TOOL", 4), ("RESP", 5), ("OTHER", 6), ("PAD", 7)),
    ]


@pytest.mark.parametrize("module", ["planarena.formats", "planarena.trainers.rewards"])
def test_importing_needs_no_torch(module: str) -> None:
    code = f"import sys, {module}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
