"""Reading outputs to score: our JSON lines, a benchmark's own result files, whole or damaged.

A line that cannot be read costs its own item and nothing else.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from planarena.errors import UserError
from planarena.records.foreign import ENDINGS, MAX_DEPTH, nests_deeper, read_foreign_files
from planarena.records.foreign import read_foreign as read_rows

__all__ = [
    "ENDINGS",
    "ID_FIELDS",
    "MAX_DEPTH",
    "OUTPUT_FIELDS",
    "Response",
    "Responses",
    "count_tokens",
    "nests_deeper",
    "read_responses",
    "read_rows",
    "refuse_unreadable",
]

_WORD = re.compile(r"\w+|[^\w\s]")
_MAX_BYTES = 4 << 30
# Where published result files keep the text or the calls of a model; the first that a row has is its output.
OUTPUT_FIELDS = (
    "response", "result", "model_outputs", "generated_text", "model_output", "model_response", "output", "outputs",
    "completion", "generation", "prediction", "raw_output", "resps", "choices", "message",
)  # fmt: skip
ID_FIELDS = ("id", "question_id", "task_id", "item_id", "sample_id", "test_case_id")


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
        fields: Names of the fields of rows that hold no output, with their counts.
        model: Who wrote them, where the rows say so.
    """

    by_id: dict[str, list[Response]] = field(default_factory=dict)
    rows: dict[str, dict[str, Any]] = field(default_factory=dict)
    unreadable: int = 0
    repeated: int = 0
    fields: Counter[str] = field(default_factory=Counter)
    model: str = ""


def read_responses(path: Path, suite: str, samples: int = 1) -> Responses:
    """Read outputs.

    A row has an id and the output under one of `OUTPUT_FIELDS`, and optionally `sample`, `suite` (rows of other
    suites are passed over), `tokens` and `error`. Without `sample` the later of two rows of an item wins where one
    sample is scored, and is the next sample where more are.

    Args:
        path: A file or a folder of files: JSON lines, a JSON list, either one with gzip or in a zip.
        suite: The suite that they are for.
        samples: Outputs wanted of each item.

    Raises:
        UserError: No such file, nothing in it that could be an output, or outputs of two models.
    """
    found = Responses()
    slots: dict[tuple[str, int], Response] = {}
    counts: Counter[str] = Counter()
    origins = _Origins(path, samples)
    for name, row, problem in _named_rows(path):
        if row is None:
            found.unreadable += 1
            continue
        if row.get("suite", suite) != suite:
            continue
        key = _id_of(row)
        if not key:
            found.unreadable += 1
            found.fields.update(map(str, row))
            continue
        response = _response(row, problem)
        if response.problem == _ABSENT:
            found.fields.update(map(str, row))
        stated = row.get("sample")
        sample: int = stated if type(stated) is int else counts[key] if samples > 1 else 0
        counts[key] = sample + 1
        origins.take(name, row, key, sample)
        if (key, sample) in slots:
            found.repeated += 1
        slots[key, sample] = response
        found.rows[key] = row
    found.model = origins.check()
    if not slots:
        seen = f"; its fields: {', '.join(sorted(found.fields)[:20])}" if found.fields else ""
        raise UserError(
            f"holds no output of this suite{seen}"
            if not found.unreadable or found.fields
            else "holds no line that can be read",
            where=f"{path} ({suite})",
            fix='give JSON lines of {"id": ..., "response": ...}, or the benchmark\'s own result files',
        )
    for (key, sample), response in sorted(slots.items(), key=lambda entry: entry[0][1]):
        if sample < samples:
            found.by_id.setdefault(key, []).append(response)
    return found


def _named_rows(path: Path) -> Iterator[tuple[str, dict[str, Any] | None, str]]:
    if path.suffix == ".parquet":
        return ((str(path), row, problem) for row, problem in read_rows(path))
    return read_foreign_files(path)


def _id_of(row: dict[str, Any]) -> str:
    for key in ID_FIELDS:
        if key in row:
            return str(row[key]) if isinstance(row[key], (str, int)) else ""
    inner = row.get("doc")  # rows of lm-evaluation-harness hold the question inside
    return _id_of(inner) if isinstance(inner, dict) and "doc" not in inner else ""


class _Origins:
    """Where outputs come from: two models must not become one."""

    def __init__(self, path: Path, samples: int) -> None:
        self._path, self._samples = path, samples
        self._files: dict[str, set[tuple[str, int]]] = {}
        self._models: Counter[str] = Counter()

    def take(self, name: str, row: dict[str, Any], key: str, sample: int) -> None:
        self._files.setdefault(name, set()).add((key, sample))
        model = row.get("model", row.get("model_name"))
        if isinstance(model, str) and model:
            self._models[model] += 1

    def check(self) -> str:
        """Return the model that the rows name.

        Raises:
            UserError: Rows name two models, or two files hold outputs of the same items.
        """
        if len(self._models) > 1:
            first, second = (name for name, _ in self._models.most_common(2))
            raise UserError(
                f"holds outputs of more than one model: {first!r} and {second!r}",
                where=str(self._path),
                fix="score each by itself, with another --out",
            )
        owners: dict[tuple[str, int], str] = {}
        shared: Counter[tuple[str, str]] = Counter()
        for name, keys in self._files.items():
            for key in keys:
                if (owner := owners.setdefault(key, name)) != name:
                    shared[owner, name] += 1
        for (one, other), count in shared.most_common(1):
            if 2 * count > min(len(self._files[one]), len(self._files[other])):
                raise UserError(
                    f"two files hold outputs of the same {count} items: {one} and {other}",
                    where=str(self._path),
                    fix="name one model's file or folder; files that are samples of one model need `sample` in their "
                    "rows, or --samples",
                )
        return next(iter(self._models), "")


_ABSENT = "the row has no output"


def _response(row: dict[str, Any], problem: str) -> Response:
    value = None
    for name in OUTPUT_FIELDS:
        if name in row:
            value = _unwrapped(name, row[name])
            break
    else:
        problem = problem or ("the request failed" if row.get("error") else _ABSENT)
    if problem:
        return Response(None, problem=problem)
    for name in ("tokens", "response_tokens", "output_token_count"):
        if (stated := _sum(row.get(name))) is not None:
            return Response(value, stated, counted=True)
    return Response(value, count_tokens(value))


def _unwrapped(name: str, value: Any) -> Any:
    """The output itself where a field wraps it: a server's choices, the samples of an lm-evaluation-harness."""
    if name == "choices" and isinstance(value, list) and value and isinstance(value[0], dict):
        return value[0].get("message", value[0].get("text"))
    if name in ("resps", "outputs"):
        while isinstance(value, list) and len(value) == 1:
            value = value[0]
    return value


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


def refuse_unreadable(
    path: str, suite: str, found: Responses, problems: list[tuple[str, str]], total: int
) -> None:
    """Refuse outputs of which more than half cannot be read, instead of scoring them 0.

    Args:
        path: Where they are.
        suite: What they are for.
        found: As read.
        problems: The id of each unreadable output and why.
        total: Outputs of the suite's items in all.

    Raises:
        UserError: More than half; examples and the fields seen are named.
    """
    count = len(problems) + found.unreadable
    if 2 * count <= total + found.unreadable:
        return
    examples = "; ".join(f"{key}: {problem}" for key, problem in problems[:3])
    seen = (
        f". Fields seen: {', '.join(name for name, _ in found.fields.most_common(20))}"
        if found.fields
        else ""
    )
    raise UserError(
        f"{count} of {total + found.unreadable} outputs cannot be read ({examples}){seen}",
        where=f"{path} ({suite})",
        fix=f"the output stands under one of {', '.join(OUTPUT_FIELDS[:6])}, ...; --format names how its calls are "
        "written; --set unreadable=count scores them as wrong",
    )


def count_tokens(value: Any) -> int:
    """Words and signs of an output, where nobody counted a tokenizer's tokens; long ones are extrapolated."""
    text = value if isinstance(value, str) else json.dumps(value)
    sample = text[:100_000]
    words = len(_WORD.findall(sample))
    return words if len(sample) == len(text) else round(words * len(text) / len(sample))
