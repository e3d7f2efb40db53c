"""Records of local files, with the place where each stands: JSON lines, a JSON list, Parquet, or a folder of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from planarena.errors import UserError
from planarena.records.foreign import ForeignError, Marks, decode_json, parquet_batches

__all__ = ["ENDINGS", "Record", "data_files", "read_records"]

ENDINGS = (".jsonl", ".ndjson", ".json", ".parquet")
_BATCH = 256
_DENSE = "more values than a file of its size may hold"
# What exports of planarena and data folders of LLaMA-Factory hold beside the data.
_BESIDE = ("export.json", "dataset_info.json", "dataset_dict.json", "state.json")


class Record(NamedTuple):
    """A record and where it stands: its file, and the line (of lines) or the row (of lists and Parquet), from 1."""

    path: Path
    number: int
    value: dict[str, Any]

    @property
    def where(self) -> str:
        """The place in words."""
        return f"{self.path}, {'line' if self.path.suffix in ('.jsonl', '.ndjson') else 'row'} {self.number}"


def data_files(path: Path) -> list[Path]:
    """Return the files to read: the file itself, or those of a folder and its folders, by name.

    Raises:
        UserError: There is no such path, or no file with a known ending.
    """
    if path.is_file():
        if path.suffix not in ENDINGS:
            raise UserError(
                f"has the ending {path.suffix or 'none'}, not one of {', '.join(ENDINGS)}",
                where=str(path),
                fix="give JSON lines, a JSON list or Parquet",
            )
        return [path]
    if not path.is_dir():
        raise UserError("there is no such file or folder", where=str(path), fix="check the path")
    # An export for datasets holds its rows twice: as objects in data/, and as text in text/.
    twice = (path / "export.json").is_file() and (path / "data").is_dir()
    found = sorted(
        inner
        for inner in path.rglob("*")
        if inner.is_file()
        and inner.suffix in ENDINGS
        and not any(part.startswith(".") for part in inner.relative_to(path).parts)
        and not (twice and inner.relative_to(path).parts[0] == "text")
        and inner.name not in _BESIDE
    )
    if not found:
        raise UserError(
            f"holds no file ending in {', '.join(ENDINGS)}",
            where=str(path),
            fix="give a folder with data files",
        )
    return found


def read_records(path: Path) -> Iterator[Record]:
    """Stream the records of a file; lines and Parquet are never held as a whole.

    Raises:
        UserError: A line or the file is damaged, or a record is no object; the message names the place.
    """
    if path.suffix == ".parquet":
        yield from _parquet(path)
    elif path.suffix == ".json":
        yield from _json(path)
    else:
        yield from _lines(path)


def _lines(path: Path) -> Iterator[Record]:
    budget = Marks(path.stat().st_size)
    with path.open("rb") as handle:
        for number, line in enumerate(handle, 1):
            budget.line(str(path))
            if not line.strip():
                continue
            if not budget.take(line):
                raise _damaged(path, f"line {number}", ForeignError(_DENSE))
            try:
                value = decode_json(line, strict=True)
            except ForeignError as error:
                raise _damaged(path, f"line {number}", error) from error
            yield _record(path, number, value, "line")


def _json(path: Path) -> Iterator[Record]:
    data = path.read_bytes()
    if not data.strip():
        return
    try:
        if not Marks(len(data)).take(data):
            raise ForeignError(_DENSE)
        value = decode_json(data, strict=True)
    except ForeignError as error:
        # Some sets call JSON lines .json.
        first = data.lstrip().split(b"\n", 1)[0]
        try:
            if not Marks(len(data)).take(first):
                raise ForeignError(_DENSE)
            decode_json(first, strict=True)
        except ForeignError:
            raise _damaged(path, "the file", error) from error
        yield from _lines(path)
        return
    if isinstance(value, dict):
        inner = value.get("data")
        value = inner if isinstance(inner, list) else [value]
    if not isinstance(value, list):
        raise UserError("is neither a list nor an object", where=str(path), fix="give a list of records")
    for number, entry in enumerate(value, 1):
        yield _record(path, number, entry, "row")


def _parquet(path: Path) -> Iterator[Record]:
    import pyarrow

    try:
        number = 0
        for batch in parquet_batches(path, _BATCH):
            for value in batch:
                number += 1
                yield Record(path, number, value)
    except (pyarrow.ArrowException, UnicodeDecodeError) as error:
        raise UserError(
            f"is no readable Parquet: {str(error).splitlines()[0]}",
            where=str(path),
            fix="fetch the file again",
        ) from error


def _record(path: Path, number: int, value: Any, unit: str) -> Record:
    if not isinstance(value, dict):
        raise UserError(
            f"is {type(value).__name__}, not an object",
            where=f"{path}, {unit} {number}",
            fix="write one JSON object per record",
        )
    return Record(path, number, value)


def _damaged(path: Path, place: str, error: Exception) -> UserError:
    return UserError(f"is no JSON: {error}", where=f"{path}, {place}", fix="mend or remove it")
