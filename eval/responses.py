"""Reading outputs to score: our JSON lines, a benchmark's own result files, whole or damaged.

A line that cannot be read costs its own item and nothing else.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from planarena.errors import UserError
from planarena.records.foreign import ENDINGS, MAX_DEPTH, nests_deeper
from planarena.records.foreign import read_foreign as read_rows

__all__ = [
    "ENDINGS",
    "MAX_DEPTH",
    "Response",
    "Responses",
    "count_tokens",
    "nests_deeper",
    "read_responses",
    "read_rows",
]

_WORD = re.compile(r"\w+|[^\w\s]")
_MAX_BYTES = 4 << 30


@dataclass(slots=True)
class Response:
    """One output.

    Attributes:
        value: Text, or a benchmark's own structure (a list of calls, a list of turns); None where unreadable.
        tokens: Its length.
        counted: Whether the file says the length; otherwise it is our count of words and signs.
        problem: Why it cannot be scored; empty where it can.
    """

    value: Any
    tokens: int = 0
    counted: bool = False
    problem: str = ""


@dataclass(slots=True)
class Responses:
    """All outputs of one file or folder.

    Attributes:
        by_id: An item's outputs, in order of their samples.
        rows: The rows as read, by id, for benchmarks whose result files carry the questions.
        unreadable: Lines without even an id.
        repeated: Outputs that a later one of the same item and sample replaced.
    """

    by_id: dict[str, list[Response]] = field(default_factory=dict)
    rows: dict[str, dict[str, Any]] = field(default_factory=dict)
    unreadable: int = 0
    repeated: int = 0


def read_responses(path: Path, suite: str, samples: int = 1) -> Responses:
    """Read outputs.

    A row has `id` (or `question_id`), the output under `response`, `result` or `model_outputs`, and optionally
    `sample`, `suite` (rows of other suites are passed over), `tokens` and `error`. Without `sample` the later
    of two rows of an item wins where one sample is scored, and is the next sample where more are.

    Args:
        path: A file or a folder of files: JSON lines, a JSON list, either one with gzip or in a zip.
        suite: The suite that they are for.
        samples: Outputs wanted of each item.

    Raises:
        UserError: No such file, or nothing in it that could be an output.
    """
    found = Responses()
    slots: dict[tuple[str, int], Response] = {}
    counts: dict[str, int] = {}
    for row, problem in read_rows(path):
        if row is None:
            found.unreadable += 1
            continue
        if row.get("suite", suite) != suite:
            continue
        key = str(row.get("id", row.get("question_id", "")))
        if not key:
            found.unreadable += 1
            continue
        response = _response(row, problem)
        sample = row.get("sample")
        if not isinstance(sample, int):
            sample = counts.get(key, 0) if samples > 1 else 0
            counts[key] = sample + 1
        if (key, sample) in slots:
            found.repeated += 1
        slots[key, sample] = response
        found.rows[key] = row
    if not slots:
        raise UserError(
            "holds no output of this suite" if not found.unreadable else "holds no line that can be read",
            where=f"{path} ({suite})",
            fix='give JSON lines of {"id": ..., "response": ...}, or the benchmark\'s own result files',
        )
    for (key, sample), response in sorted(slots.items(), key=lambda entry: entry[0][1]):
        if sample < samples:
            found.by_id.setdefault(key, []).append(response)
    return found


def _response(row: dict[str, Any], problem: str) -> Response:
    value = None
    for name in ("response", "result", "model_outputs"):
        if name in row:
            value = row[name]
            break
    else:
        problem = problem or ("the request failed" if row.get("error") else "the row has no output")
    if problem:
        return Response(None, problem=problem)
    for name in ("tokens", "response_tokens", "output_token_count"):
        if (stated := _sum(row.get(name))) is not None:
            return Response(value, stated, counted=True)
    return Response(value, count_tokens(value))


def _sum(value: Any) -> int | None:
    """Token counts of turns come as lists of lists; what is no count is passed over."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, (int, float)):
        return int(value) if math.isfinite(value) and 0 <= value <= _MAX_BYTES else None
    if isinstance(value, list):
        parts = [_sum(item) for item in value]
        return (
            sum(part for part in parts if part is not None)
            if any(part is not None for part in parts)
            else None
        )
    return None


def count_tokens(value: Any) -> int:
    """Words and signs of an output, where nobody counted a tokenizer's tokens; long ones are extrapolated."""
    text = value if isinstance(value, str) else json.dumps(value)
    sample = text[:100_000]
    words = len(_WORD.findall(sample))
    return words if len(sample) == len(text) else round(words * len(text) / len(sample))
