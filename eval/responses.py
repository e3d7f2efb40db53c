"""Reading outputs to score: our JSON lines, a benchmark's own result files, whole or damaged.

A line that cannot be read costs its own item and nothing else.
"""

from __future__ import annotations

import gzip
import json
import math
import re
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from planarena.errors import UserError

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

ENDINGS = (".json", ".jsonl", ".jsonl.gz", ".json.gz", ".zip")
_ID = re.compile(r'"(?:id|question_id)"\s*:\s*(?:"([^"\\]{1,200})"|(\d{1,18}))')
_KEYS = ("id", "question_id", "sample", "suite")
_WORD = re.compile(r"\w+|[^\w\s]")
_MAX_BYTES = 4 << 30
# RuntimeError: an encrypted archive; NotImplementedError: a way of packing that Python does not know.
_UNREADABLE = (OSError, EOFError, zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError)
# Deeper values would lean on the interpreter's stack wherever they are walked, compared or written.
MAX_DEPTH = 100


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


# --- files -> rows -----------------------------------------------------------------------------------


def read_rows(path: Path) -> Iterator[tuple[dict[str, Any] | None, str]]:
    """Yield (row, problem) for each row of a file or folder; a row that cannot be read keeps what id it shows."""
    if path.suffix == ".parquet" and path.is_file():
        yield from map(_bounded, _table_rows(path))
        return
    for name, content in _contents(path):
        start = content[:64].lstrip(b"\xef\xbb\xbf \t\r\n")
        if start.startswith(b"["):
            yield from map(_bounded, _list_rows(name, content))
        else:
            for line in content.split(b"\n"):
                if line.strip():
                    # Brackets are counted in a tenth of the time that walking the value takes.
                    shallow = line.count(b"[") + line.count(b"{") <= MAX_DEPTH
                    yield _row(line) if shallow else _bounded(_row(line))


def _table_rows(path: Path) -> Iterator[tuple[dict[str, Any] | None, str]]:
    """Rows of a Parquet file, as benchmarks publish their questions."""
    import polars

    try:
        table = polars.read_parquet(path)
    except (polars.exceptions.PolarsError, OSError) as error:
        raise UserError(f"cannot be read: {error}", where=str(path), fix="check the file") from error
    for row in table.iter_rows(named=True):
        yield row, ""


def _bounded(found: tuple[dict[str, Any] | None, str]) -> tuple[dict[str, Any] | None, str]:
    row, problem = found
    if row is None or not nests_deeper(row, MAX_DEPTH):
        return row, problem
    return {key: row[key] for key in _KEYS if isinstance(row.get(key), (str, int))}, "nested too deep"


def nests_deeper(value: Any, limit: int) -> bool:
    """Say whether lists and objects of a JSON value nest deeper than the limit, without recursion."""
    level = [value] if isinstance(value, (dict, list)) else []
    for _ in range(limit):
        level = [
            item
            for outer in level
            for item in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(item, (dict, list))
        ]
    return bool(level)


def _contents(path: Path) -> Iterator[tuple[str, bytes]]:
    if not path.exists():
        raise UserError("there is no such file or folder", where=str(path), fix="check the path")
    files = (
        [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.name.endswith(ENDINGS))
    )
    if not files:
        raise UserError("holds no result file", where=str(path), fix=f"files end in {', '.join(ENDINGS)}")
    for file in files:
        try:
            if file.suffix == ".zip":
                with zipfile.ZipFile(file) as archive:
                    for info in archive.infolist():
                        if (
                            not info.is_dir()
                            and info.file_size <= _MAX_BYTES
                            and not info.filename.startswith("__MACOSX")
                        ):
                            yield f"{file}:{info.filename}", archive.read(info)
            elif file.suffix == ".gz":
                with gzip.open(file) as stream:
                    yield str(file), stream.read(_MAX_BYTES)
            else:
                yield str(file), file.read_bytes()
        except _UNREADABLE as error:
            raise UserError(f"cannot be read: {error}", where=str(file), fix="check the file") from error


def _list_rows(name: str, content: bytes) -> Iterator[tuple[dict[str, Any] | None, str]]:
    try:
        rows = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise UserError(
            f"is not JSON: {error}", where=name, fix="one damaged line costs one item in JSON lines"
        ) from error
    for row in rows:
        yield (row, "") if isinstance(row, dict) else (None, "not an object")


def _row(line: bytes) -> tuple[dict[str, Any] | None, str]:
    try:
        row = orjson.loads(line)
    except ValueError:
        row, problem = _damaged(line)
        return row, problem
    return (row, "") if isinstance(row, dict) else (None, "not an object")


def _damaged(line: bytes) -> tuple[dict[str, Any] | None, str]:
    try:
        text = line.decode()
    except UnicodeDecodeError:
        return _only_id(line, "not UTF-8")
    try:
        row = json.loads(text)  # takes what orjson refuses: NaN, half of a surrogate pair
    except RecursionError:
        return _only_id(line, "nested too deep")
    except ValueError:
        return _only_id(line, "not JSON, or cut off")
    return (row, "") if isinstance(row, dict) else (None, "not an object")


def _only_id(line: bytes, problem: str) -> tuple[dict[str, Any] | None, str]:
    match = _ID.search(line[:4096].decode(errors="replace"))
    return ({"id": match.group(1) or match.group(2)}, problem) if match else (None, problem)
