"""Files that others wrote: JSON lines, JSON lists, gzip, zip and Parquet, within limits on size, expansion and depth.

A line that cannot be read costs its own row; a file that is a bomb is one error. What a small file may become in
memory is bounded by what it holds on disk, so that a few megabytes cannot take the machine.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

import msgspec
import orjson

from planarena.errors import UserError

__all__ = [
    "ENDINGS",
    "MAX_DEPTH",
    "ForeignError",
    "ForeignRow",
    "Marks",
    "decode_json",
    "fits",
    "nests_deeper",
    "parquet_batches",
    "read_foreign",
    "read_foreign_files",
    "read_json",
    "result_files",
]

ENDINGS = (".json", ".jsonl", ".ndjson", ".jsonl.gz", ".json.gz", ".zip")
# Deeper values would lean on the interpreter's stack wherever they are walked, compared or written.
MAX_DEPTH = 100
MAX_LINE = 64 << 20
MAX_LIST = 1 << 30
# A file that is packed may become so many times its size; results of models pack to a fifth or a tenth.
MAX_RATIO = 100
_FREE_BYTES = 64 << 20
# Each bracket or comma of a row may cost some sixty bytes of memory: so many are free, and a quarter of the file's size.
_FREE_MARKS = 2_000_000
_MARKS_SHARE = 4
_LINE_MARKS = 8
# What is read as one value, a list or a row, lies in memory at once. An object takes 208 bytes, a list 88, and what
# stands before a comma up to 96: a short text or a key, and its place. A file below 100 MB is to stay below 1 GiB.
_WHOLE_BYTES = 500 << 20
_WHOLE_SHARE = 5
_ROW = 400
# Rows of a table that are unpacked at once; one text may stand in every row of a block, and take its space once.
_BATCH_BYTES = 128 << 20
_MAX_MEMBERS = 20_000
MAX_FILE = 512 << 20
_KEYS = ("id", "question_id", "task_id", "item_id", "sample_id", "test_case_id", "sample", "suite")
_ID = re.compile(r'"(?:id|question_id|task_id)"\s*:\s*(?:"([^"\\]{1,200})"|(\d{1,18}))')
# RuntimeError: an encrypted archive; NotImplementedError: a way of packing that Python does not know.
_UNREADABLE = (OSError, EOFError, zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError)
_DEEP = f"nests deeper than {MAX_DEPTH}"

ForeignRow = tuple[dict[str, Any] | None, str]
"""A row, or None where not even an id can be read, and why it cannot be used (empty where it can)."""


class ForeignError(ValueError):
    """Bytes that are no JSON, or JSON beyond the limits; the message says why in one clause."""


class _BombError(OSError):
    """A packed file becomes too many times its size."""


def decode_json(data: bytes | str, *, strict: bool = False) -> Any:
    """Read one JSON value.

    Args:
        data: UTF-8.
        strict: Refuse NaN and halves of surrogate pairs, which Python's own reader takes.

    Raises:
        ForeignError: No JSON, or nested deeper than MAX_DEPTH.
    """
    try:
        value = msgspec.json.decode(data) if strict else _lenient(data)
    except RecursionError:
        raise ForeignError(_DEEP) from None
    except UnicodeDecodeError:
        raise ForeignError("not UTF-8") from None
    except ValueError as error:  # msgspec's own error is one, too
        raise ForeignError(str(error)) from None
    if nests_deeper(value, MAX_DEPTH):
        raise ForeignError(_DEEP)
    return value


def read_json(path: Path) -> Any:
    """Read a file that is one JSON value, as benchmarks and evaluations are kept, within the limits.

    Raises:
        OSError: It cannot be read.
        ForeignError: No JSON, or beyond the limits on size, values and depth.
    """
    size = path.stat().st_size
    if size > MAX_FILE:
        raise ForeignError(f"larger than {MAX_FILE >> 20} MiB")
    data = path.read_bytes()
    if not fits(data):
        raise ForeignError("it holds more values than a file of its size may hold")
    return decode_json(data)


def fits(data: bytes, *, table: bool = False) -> bool:
    """Say whether a JSON value, or a table of comma-separated values, lies within the limits on what is read at once.

    Args:
        data: The bytes.
        table: Each line becomes an object.
    """
    rows = data.count(b"\n") if table else 0
    return rows * _ROW <= _WHOLE_BYTES and Marks(len(data)).take(data)


def _lenient(data: bytes | str) -> Any:
    try:
        return orjson.loads(data)
    except ValueError:
        return json.loads(data)


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
        if not level:
            return False
    return bool(level)


def result_files(path: Path) -> list[Path]:
    """The file itself, or a folder's files with a known ending, by name.

    Raises:
        UserError: No such path, or a folder without such a file.
    """
    if not path.exists():
        raise UserError("there is no such file or folder", where=str(path), fix="check the path")
    if path.is_file():
        return [path]
    files = sorted(file for file in path.rglob("*") if file.is_file() and file.name.endswith(ENDINGS))
    if not files:
        raise UserError("holds no result file", where=str(path), fix=f"files end in {', '.join(ENDINGS)}")
    return files


def read_foreign(path: Path) -> Iterator[ForeignRow]:
    """Yield each row of a file or folder: JSON lines, a JSON list, either of them packed, or Parquet.

    Args:
        path: A file or a folder of files.

    Raises:
        UserError: No such file, a damaged archive, a list that is no JSON, or a file that expands beyond the limits.
    """
    if path.suffix == ".parquet" and path.is_file():
        for entry in _table_rows(path):
            yield _bounded(entry, "")
        return
    for _, row, problem in read_foreign_files(path):
        yield row, problem


def read_foreign_files(path: Path) -> Iterator[tuple[str, dict[str, Any] | None, str]]:
    """Yield each row of a file or folder behind the name of the file (or member of an archive) that holds it.

    Raises:
        UserError: See `read_foreign`.
    """
    for file in result_files(path):
        budget = Marks(file.stat().st_size)
        try:
            for name, stream in _streams(file):
                for row, problem in _rows(name, stream, budget):
                    yield name, row, problem
        except _UNREADABLE as error:
            raise UserError(f"cannot be read: {error}", where=str(file), fix="check the file") from error


class Marks:
    """How many brackets and commas the rows of one file may still hold together."""

    def __init__(self, size: int) -> None:
        self.left = _FREE_MARKS + size // _MARKS_SHARE
        self._whole = max(_WHOLE_BYTES, _WHOLE_SHARE * size)

    def line(self, name: str) -> None:
        """Pay for one line, whatever it holds."""
        self.left -= _LINE_MARKS
        if self.left < 0:
            raise UserError(
                "unpacked it holds more lines than a file of its size may hold",
                where=name,
                fix="check the file; one output stands in one line",
            )

    def take(self, data: bytes, *, part: bool = False) -> bool:
        """Pay for the values of a row; False where they are too many.

        Args:
            data: The row.
            part: It is a part of one value: what the parts take lies in memory together.
        """
        lists, objects, commas = data.count(b"["), data.count(b"{"), data.count(b",")
        marks, whole = lists + objects + commas, 88 * lists + 208 * objects + 96 * commas
        if marks > self.left or whole > self._whole:
            return False
        self.left -= marks
        if part:
            self._whole -= whole
        return True


class _Counted(io.RawIOBase):
    """A stream of unpacked bytes that stops where they outgrow what the packed file may become."""

    def __init__(self, stream: BinaryIO, limit: int) -> None:
        self._stream, self._left, self._limit = stream, limit, limit

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        self._left -= len(data)
        if self._left < 0:
            raise _BombError(f"unpacked it is more than {MAX_RATIO} times its size")
        buffer[: len(data)] = data
        return len(data)


def _streams(file: Path) -> Iterator[tuple[str, io.BufferedReader]]:
    limit = max(_FREE_BYTES, MAX_RATIO * file.stat().st_size)
    if file.suffix == ".zip":
        with zipfile.ZipFile(file) as archive:
            members = [info for info in archive.infolist() if not info.is_dir()]
            if len(members) > _MAX_MEMBERS:
                raise _BombError(f"it holds more than {_MAX_MEMBERS} files")
            for info in members:
                if info.filename.startswith("__MACOSX"):
                    continue
                with archive.open(info) as stream:
                    yield (
                        f"{file}:{info.filename}",
                        io.BufferedReader(_Counted(cast(BinaryIO, stream), limit)),
                    )
                limit -= info.file_size
    elif file.suffix == ".gz":
        with gzip.open(file) as packed:
            yield str(file), io.BufferedReader(_Counted(cast(BinaryIO, packed), limit))
    else:
        with file.open("rb") as plain:
            yield str(file), plain


def _rows(name: str, stream: io.BufferedReader, budget: Marks) -> Iterator[ForeignRow]:
    start = stream.peek(64)[:64].lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith(b"["):
        yield from _list_rows(name, stream, budget)
        return
    first = True
    while line := stream.readline(MAX_LINE + 1):
        if len(line) > MAX_LINE and not line.endswith(b"\n"):
            yield _only_id(line, f"longer than {MAX_LINE >> 20} MiB")
            while (rest := stream.readline(1 << 20)) and not rest.endswith(b"\n"):
                pass
            continue
        if first:
            line, first = line.removeprefix(b"\xef\xbb\xbf"), False
        budget.line(name)
        if line.strip():
            yield _row(line, budget)


def _row(line: bytes, budget: Marks) -> ForeignRow:
    if not budget.take(line):
        return _only_id(line, "more values than a file of this size may hold")
    row, problem = _parsed(line.strip())
    # Brackets are counted in a tenth of the time that walking the value takes.
    shallow = line.count(b"[") + line.count(b"{") <= MAX_DEPTH
    return (row, problem) if shallow else _bounded(row, problem)


def _bounded(row: dict[str, Any] | None, problem: str) -> ForeignRow:
    if row is None or not nests_deeper(row, MAX_DEPTH):
        return row, problem
    return {key: row[key] for key in _KEYS if isinstance(row.get(key), (str, int))}, "nested too deep"


def _list_rows(name: str, stream: io.BufferedReader, budget: Marks) -> Iterator[ForeignRow]:
    blocks, size = [], 0
    while block := stream.read(1 << 20):
        size += len(block)
        if size > MAX_LIST or not budget.take(block, part=True):
            raise UserError(
                "is a list of more values than a file of its size may hold",
                where=name,
                fix="write JSON lines, one object a line",
            )
        blocks.append(block)
    content = b"".join(blocks)
    blocks.clear()
    try:
        rows = orjson.loads(content)
    except ValueError:
        rows = _list_by_python(name, content)
    for row in rows:
        yield _bounded(row, "") if isinstance(row, dict) else (None, "not an object")


def _list_by_python(name: str, content: bytes) -> Any:
    fix = "one damaged line costs one item in JSON lines"
    try:
        return json.loads(content.decode("utf-8-sig", "replace"))
    except RecursionError:
        raise UserError(f"is not JSON that can be read: it {_DEEP}", where=name, fix=fix) from None
    except ValueError as error:
        raise UserError(f"is not JSON: {error}", where=name, fix=fix) from error


def _parsed(line: bytes) -> ForeignRow:
    try:
        row = orjson.loads(line)
    except ValueError:
        return _damaged(line)
    return (row, "") if isinstance(row, dict) else (None, "not an object")


def _damaged(line: bytes) -> ForeignRow:
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


def _only_id(line: bytes, problem: str) -> ForeignRow:
    match = _ID.search(line[:4096].decode(errors="replace"))
    return ({"id": match.group(1) or match.group(2)}, problem) if match else (None, problem)


def _table_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Rows of a Parquet file, as benchmarks publish their questions."""
    import pyarrow

    try:
        for batch in parquet_batches(path, kept=True):
            yield from batch
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot be read: {error}", where=str(path), fix="check the file") from error


def parquet_batches(path: Path, rows: int = 256, *, kept: bool = False) -> Iterator[list[dict[str, Any]]]:
    """Yield the rows of a Parquet file, some at a time; what it may become is bounded by its size on disk.

    Args:
        path: The file.
        rows: The most rows at a time.
        kept: The rows are kept, so that all of them lie in memory together.

    Raises:
        UserError: It holds more rows or bytes than a file of its size may hold.
        pyarrow.ArrowException: It is damaged.
    """
    import pyarrow.parquet

    size = path.stat().st_size
    most = max(_WHOLE_BYTES, _WHOLE_SHARE * size)
    with pyarrow.parquet.ParquetFile(path) as file:
        held = file.metadata
        groups = [held.row_group(group).total_byte_size for group in range(held.num_row_groups)]
        # A column of one value repeated takes next to nothing on disk: rows are counted, too.
        if (
            sum(groups) > max(_FREE_BYTES, MAX_RATIO * size)
            or held.num_rows * _LINE_MARKS > _FREE_MARKS + size // _MARKS_SHARE
        ):
            raise _large_table(path, held.num_rows, sum(groups))
        at_once = min(rows, max(1, _BATCH_BYTES // max([1, *groups])))
        taken = 0
        for batch in file.iter_batches(batch_size=at_once):
            listed = batch.to_pylist()
            # Arrow counts a text that stands in every row once, Python keeps it as often.
            taken += _text_bytes(listed) if kept else 0
            if taken > most:
                raise _large_table(path, held.num_rows, taken)
            yield listed


def _text_bytes(value: Any) -> int:
    """How long the texts of a value are together."""
    total, open_values = 0, [value]
    while open_values:
        one = open_values.pop()
        if isinstance(one, dict):
            open_values.extend(one.values())
        elif isinstance(one, list):
            open_values.extend(one)
        elif isinstance(one, (str, bytes)):
            total += len(one)
    return total


def _large_table(path: Path, rows: int, unpacked: int) -> UserError:
    return UserError(
        f"holds {rows:,} rows and {unpacked >> 20:,} MiB, more than a file of its size may hold",
        where=str(path),
        fix="write it again in several files, or without packing",
    )
