"""Rows that the papers print, for reference beside rows of our own; nobody here measured them.

Values are percentages as printed. Two cells of AWPO's API-Bank table cannot be (the overall value of
ToolRL 1.7B, level 2 of SFT+GRPO 8B), and the overall value of SFT 14B in ToolUPT does not follow from its
columns (47.77 printed, 44.77 from them): likely misprints, kept as printed.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["PUBLISHED", "PublishedTable", "published_for"]


class PublishedTable(NamedTuple):
    """One table of a paper.

    Attributes:
        paper: Its short name.
        table: Its number there.
        suite: The suite it belongs beside.
        formula: The overall value's name among ours.
        columns: The names of the values.
        rows: (model, values) as printed.
    """

    paper: str
    table: str
    suite: str
    formula: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[float, ...]], ...]


def _rows(prefix: str, text: str) -> tuple[tuple[str, tuple[float, ...]], ...]:
    """Read lines of `name | values`."""
    found = []
    for line in text.strip().splitlines():
        name, _, values = line.partition("|")
        found.append((f"{prefix}{name.strip()}", tuple(float(value) for value in values.split())))
    return tuple(found)


_BFCL_DUPO = """
Qwen2.5-3B (Raw) | 33.04 42.52 53.96 1.00 64.71 56.01
Qwen2.5-3B (SFT) | 47.82 66.67 67.75 2.38 77.78 100.00
Qwen2.5-3B (ToolRL) | 52.98 81.58 73.78 3.75 88.24 84.85
Qwen2.5-3B (AC-Planner) | 52.10 81.29 65.57 10.12 83.33 69.34
Qwen2.5-7B (Raw) | 41.97 66.02 53.51 4.25 76.47 62.66
Qwen2.5-7B (SFT) | 43.05 51.35 65.53 4.62 50 86.86
Qwen2.5-7B (ToolRL) | 58.38 86.17 74.9 18.12 83.33 76.68
Qwen2.5-7B (AC-Planner) | 59.91 83.62 72.55 24.63 83.33 71.99
Qwen2.5-14B (Raw) | 56.32 83.38 74.01 14.75 83.33 70.09
Qwen2.5-14B (SFT) | 56.89 81.65 75.92 11.50 72.22 86.70
Qwen2.5-14B (ToolRL) | 62.40 88.48 75.97 23.87 72.22 79.16
Qwen2.5-14B (AC-Planner) | 64.79 86.29 74.68 34.00 66.67 78.00
"""
_API_DUPO = """
Qwen2.5-3B (Raw) | 35.68 43.36 22.39 19.08
Qwen2.5-3B (SFT) | 57.12 61.15 49.25 48.85
Qwen2.5-3B (ToolRL) | 67.00 73.43 67.16 47.33
Qwen2.5-3B (AC-Planner) | 65.33 71.18 62.69 48.85
Qwen2.5-7B (Raw) | 58.29 65.66 41.79 44.27
Qwen2.5-7B (SFT) | 59.63 66.67 53.73 41.22
Qwen2.5-7B (ToolRL) | 64.66 73.93 61.19 38.17
Qwen2.5-7B (AC-Planner) | 67.84 72.93 65.67 53.44
Qwen2.5-14B (Raw) | 45.56 51.88 31.34 33.59
Qwen2.5-14B (SFT) | 64.82 72.43 62.69 42.75
Qwen2.5-14B (ToolRL) | 66.16 71.93 62.69 50.38
Qwen2.5-14B (AC-Planner) | 68.01 74.19 62.69 51.91
"""
_BFCL_AWPO = {
    "Qwen3-1.7B ": """
Base | 54.70 83.27 72.95 8.62
SFT | 57.07 82.90 74.06 14.25
SFT+GRPO | 57.19 85.31 72.10 14.88
ToolRL | 56.78 85.52 71.35 15.50
Dr.GRPO | 57.55 84.06 73.66 15.25
DAPO | 57.53 84.52 71.92 17.12
AWPO | 57.61 85.52 70.28 18.62
""",
    "Qwen3-8B ": """
Base | 66.34 88.81 78.54 33.00
SFT | 61.39 82.58 73.70 28.00
SFT+GRPO | 64.40 85.90 75.70 32.38
ToolRL | 68.22 88.50 80.85 36.00
Dr.GRPO | 68.15 88.00 79.25 38.12
DAPO | 67.41 88.27 79.21 35.75
AWPO | 69.37 89.73 79.16 40.50
""",
    "Qwen3-4B-2507 ": """
Base | 71.63 87.98 79.52 48.00
SFT | 71.99 87.31 80.63 48.25
SFT+GRPO | 69.74 89.46 80.36 40.38
ToolRL | 70.40 89.40 80.63 41.62
Dr.GRPO | 71.97 87.62 80.19 48.62
DAPO | 71.15 89.33 79.16 46.25
AWPO | 73.20 87.90 80.32 52.12
""",
}
_API_AWPO = {
    "Qwen3-1.7B ": """
Base | 47.57 53.38 28.36 39.69
SFT | 58.96 66.92 52.24 38.17
SFT+GRPO | 59.46 65.91 58.21 40.46
ToolRL | 63.65 70.68 61.19 41.22
Dr.GRPO | 54.77 62.66 38.81 38.93
DAPO | 63.48 69.67 59.7 46.56
AWPO | 65.16 71.93 61.19 46.56
""",
    "Qwen3-8B ": """
Base | 63.32 70.68 53.73 45.80
SFT | 60.64 69.17 56.72 36.64
SFT+GRPO | 63.82 72.18 52.22 42.75
ToolRL | 66.50 75.44 64.18 40.46
Dr.GRPO | 62.48 71.18 49.25 42.75
DAPO | 62.98 71.18 52.24 43.51
AWPO | 67.67 72.68 61.19 55.73
""",
    "Qwen3-4B-2507 ": """
Base | 66.33 72.68 64.18 48.09
SFT | 60.30 67.92 59.70 37.40
SFT+GRPO | 68.51 74.44 65.67 51.91
ToolRL | 65.33 71.93 62.69 46.56
Dr.GRPO | 65.66 71.68 61.19 49.62
DAPO | 67.34 73.43 65.67 49.62
AWPO | 68.51 73.93 65.67 53.44
""",
}
_BFCL_TOOLUPT = {
    "Llama3.1-8B ": """
Zero Shot | 17.03 27.21 36.79 0.00 56.25 38.16
SFT | 26.84 55.98 36.49 0.88 62.50 65.94
Naive GRPO | 27.96 40.35 31.01 0.00 25.00 96.39
DAPO | 25.58 41.56 26.65 0.00 25.00 85.26
DAPO* | 30.54 62.33 49.22 1.37 62.50 67.56
FG-DAPO* | 37.92 75.90 60.40 0.62 68.75 89.33
SFT+DAPO* | 39.79 86.31 63.51 0.25 75.00 88.17
SFT+FG-DAPO* | 40.32 84.33 66.10 3.75 81.25 80.22
LUFFY | 22.94 23.54 28.28 0.75 43.75 83.59
SRFT | 38.38 80.90 62.62 0.00 68.75 86.77
CHORD | 33.48 72.25 56.40 1.00 75.00 69.20
ToolUPT | 42.66 85.90 73.95 5.88 81.25 78.50
""",
    "Qwen2.5-7B ": """
Zero Shot | 28.87 35.79 61.81 2.75 87.50 67.39
SFT | 44.59 85.10 70.74 7.75 68.75 88.67
Naive GRPO | 40.84 84.88 71.80 0.00 56.25 88.26
DAPO | 41.62 85.71 71.50 0.87 62.50 89.89
DAPO* | 41.89 88.25 75.94 4.62 87.50 73.27
FG-DAPO* | 45.11 85.54 73.87 8.00 62.50 87.27
SFT+DAPO* | 46.06 85.71 70.91 9.38 62.50 91.59
SFT+FG-DAPO* | 46.99 86.52 73.58 13.12 75.00 82.45
LUFFY | 43.13 88.42 76.83 3.12 81.25 84.15
SRFT | 44.69 87.69 69.58 6.38 50.00 91.74
CHORD | 44.25 81.83 74.76 8.38 75.00 83.80
ToolUPT | 48.65 86.19 73.87 16.25 87.50 83.11
""",
    "Qwen2.5-14B ": """
Zero Shot | 30.01 28.71 43.15 8.25 56.25 83.43
SFT | 47.77 84.40 72.83 7.62 68.75 88.51
Naive GRPO | 42.40 86.73 75.43 2.12 62.50 85.86
DAPO | 45.64 88.48 74.39 8.50 68.75 85.49
DAPO* | 46.67 86.90 75.13 11.25 56.25 84.26
FG-DAPO* | 50.22 88.10 76.46 16.88 68.75 86.15
SFT+DAPO* | 49.08 86.27 72.32 19.25 81.25 78.13
SFT+FG-DAPO* | 51.61 88.58 72.98 19.62 62.50 89.19
LUFFY | 52.20 89.67 77.65 22.00 87.50 79.91
SRFT | 46.29 86.04 69.80 9.12 37.50 94.52
CHORD | 51.04 91.38 73.80 18.38 68.75 85.94
ToolUPT | 54.92 87.79 74.76 27.50 75.00 84.47
""",
    "Qwen2.5-32B ": """
Zero Shot | 43.59 82.69 77.05 8.00 93.75 77.81
SFT | 52.35 88.23 76.17 20.13 81.25 89.34
Naive GRPO | 50.39 88.83 76.76 15.12 68.75 91.40
DAPO | 47.77 88.08 77.79 10.38 68.75 89.61
DAPO* | 55.73 87.81 76.17 26.75 75.00 90.14
FG-DAPO* | 58.03 88.27 73.72 31.37 75.00 92.05
SFT+DAPO* | 59.29 89.50 76.24 35.25 81.25 84.22
SFT+FG-DAPO* | 60.92 88.40 76.24 37.12 87.50 89.51
LUFFY | 58.15 84.44 75.94 31.63 75.00 93.67
SRFT | 45.70 87.77 72.98 6.38 43.75 94.33
CHORD | 60.46 89.65 79.20 36.88 81.25 83.28
ToolUPT | 62.32 88.13 76.68 40.88 87.50 86.47
""",
}
_BFCL_CHORD = """
LLaMA3.2-3B-Instruct | 46.2 50.9 39.9
SFT-light | 34.0 30.8 38.4
SFT-best | 69.8 59.2 84.2
SFT-light + RL | 77.2 68.2 89.4
SFT-best + RL | 76.1 67.4 87.9
SASR | 74.7 66.0 86.5
CHORD-mu | 77.6 69.4 88.6
GRPO (Pure RL) | 77.1 68.5 88.8
LUFFY | 76.1 67.2 88.0
CHORD-phi | 78.5 69.9 90.2
"""
_MMLU_AWPO = """
Qwen3-1.7B Base | 48.60
Qwen3-1.7B AWPO | 50.07
Qwen3-8B Base | 72.10
Qwen3-8B AWPO | 72.67
Qwen3-4B-2507 Base | 72.37
Qwen3-4B-2507 AWPO | 73.43
"""
_MMLU_CHORD = """
Qwen2.5-7B-Instruct | 24.71
SFT-light | 28.01
SFT-best | 38.42
SFT-light + RL | 44.61
SFT-best + RL | 51.29
SASR | 45.09
CHORD-mu | 43.28
GRPO (Pure RL) | 45.77
LUFFY | 43.97
CHORD-phi | 56.22
"""


def _join(tables: dict[str, str]) -> tuple[tuple[str, tuple[float, ...]], ...]:
    return tuple(row for prefix, text in tables.items() for row in _rows(prefix, text))


_SIX = ("Overall", "Non-Live (AST)", "Live", "Multi-Turn", "Relevance", "Irrelevance")
_LEVELS = ("Overall", "level-1", "level-2", "level-3")

PUBLISHED = (
    PublishedTable("DUPO", "1", "bfcl-v3", "v3", _SIX, _rows("", _BFCL_DUPO)),
    PublishedTable("AWPO", "2", "bfcl-v3", "v3", ("Overall", "Non-Live (AST)", "Live", "Multi-Turn"), _join(_BFCL_AWPO)),
    PublishedTable(
        "ToolUPT", "2 to 5", "bfcl-v3", "v4-without-agentic",
        ("Overall", "Non-Live (AST)", "Live (AST)", "Multi-Turn", "Relevance", "Irrelevance"), _join(_BFCL_TOOLUPT),
    ),
    PublishedTable("CHORD", "1", "bfcl-v3", "by-instance", ("Overall", "Live (AST)", "Non-Live (by instance)"), _rows("", _BFCL_CHORD)),
    PublishedTable("DUPO", "2", "api-bank", "soft", _LEVELS, _rows("", _API_DUPO)),
    PublishedTable("AWPO", "3", "api-bank", "soft", _LEVELS, _join(_API_AWPO)),
    PublishedTable("AWPO", "4", "mmlu-pro", "micro", ("Overall",), _rows("", _MMLU_AWPO)),
    PublishedTable("CHORD", "11", "mmlu-pro", "micro", ("Overall",), _rows("", _MMLU_CHORD)),
)  # fmt: skip


def published_for(suite: str) -> list[PublishedTable]:
    """The tables that belong beside a suite; BFCL v4 has none of its own."""
    return [table for table in PUBLISHED if table.suite == suite]
