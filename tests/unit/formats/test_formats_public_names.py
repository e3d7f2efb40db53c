"""Public names of formats and rewards, and what importing them costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from planarena import formats
from planarena.trainers import rewards


def test_public_names_of_formats() -> None:
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
    assert sorted(formats.__all__) == sorted(
        [
            "BlockError",
            "Call",
            "Category",
            "Format",
            "Gold",
            "Native",
            "Parsed",
            "Segment",
            "SegmentKind",
            "Span",
            "TokenType",
            "decode_with_offsets",
            "get",
            "names",
            "read_json",
            "selective_keep",
            "token_types",
        ]
    )
    assert [(kind.name, int(kind)) for kind in formats.TokenType] == [
        *(("TAG_PLAN", 0), ("TAG_TOOL", 1), ("TAG_RESP", 2)),
        *(("PLAN", 3), ("TOOL", 4), ("RESP", 5), ("OTHER", 6), ("PAD", 7)),
    ]


def test_public_names_of_rewards() -> None:
    assert sorted(rewards.__all__) == sorted(
        [
            "JUDGE_WEIGHTS",
            "TIERS",
            "Context",
            "Reward",
            "Score",
            "WithOverlong",
            "answers_equal",
            "calls_equal",
            "get",
            "lcs_flags",
            "names",
            "one_scorer",
            "overlong_penalty",
            "positional_flags",
            "rubric_share",
            "sequential_decay",
            "snap",
        ]
    )


@pytest.mark.parametrize("module", ["planarena.formats", "planarena.trainers.rewards"])
def test_importing_needs_no_torch(module: str) -> None:
    code = f"import sys, {module}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
