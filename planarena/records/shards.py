"""Parquet shards: zstd, one row group, the same rows always the same bytes, written to disk before they count."""

from __future__ import annotations

import os
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from planarena.errors import RunError
from planarena.records.tables import FORMAT_VERSION, TABLES, TableRow, arrow_schema

__all__ = ["ShardInfo", "is_vacant", "read_columns", "read_rows", "write_durably", "write_shard"]


class ShardInfo(msgspec.Struct, frozen=True):
    """A written shard: its path within the run, size in bytes, number of rows and BLAKE2b-128."""

    path: str
    size: int
    rows: int
    digest: str


def write_durably(path: Path, data: bytes) -> None:
    """Write a file so that after a crash it is either whole or absent: temporary name, fsync, rename, fsync.

    Raises:
        OSError: No space, no permission.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # The process id keeps two writers of the same name apart; leftovers are ignored by every reader.
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as handle:
            handle.write(data)
            handle.flush()
            os.fsync(handle.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def is_vacant(folder: Path, *, besides: str = "") -> bool:
    """Say whether a folder holds nothing but what a killed `write_durably` left, empty folders, and a file that may be there.

    Raises:
        OSError: It cannot be read.
    """
    return all(
        path.is_dir() or path.name == besides or (path.name.startswith(".") and path.name.endswith(".tmp"))
        for path in folder.rglob("*")
    )


def write_shard(root: Path, table: str, shard: str, rows: Sequence[TableRow]) -> ShardInfo:
    """Write `root/tables/TABLE/SHARD.parquet`.

    Args:
        root: The run directory.
        table: A name of `TABLES`.
        shard: The shard's name without ending.
        rows: Rows of the table's type, in order; may be empty.

    Returns:
        What was written.

    Raises:
        OSError: No space, no permission.
    """
    import pyarrow
    import pyarrow.parquet

    schema = arrow_schema(table)
    columns: Sequence[Sequence[Any]]
    columns = list(zip(*map(msgspec.structs.astuple, rows), strict=True)) if rows else [() for _ in schema]
    arrays = [pyarrow.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    sink = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(
        pyarrow.Table.from_arrays(arrays, schema=schema),
        sink,
        compression="zstd",
        compression_level=3,
        row_group_size=max(1, len(rows)),
        write_statistics=True,
        store_schema=True,
    )
    data = sink.getvalue().to_pybytes()
    path = f"tables/{table}/{shard}.parquet"
    write_durably(root / path, data)
    return ShardInfo(path, len(data), len(rows), blake2b(data, digest_size=16).hexdigest())


def read_rows(path: Path, table: str) -> list[Any]:
    """Read a shard back as rows, checked strictly.

    Raises:
        RunError: The shard is damaged, of another format version, or holds rows that do not fit the table.
    """
    import pyarrow
    import pyarrow.parquet

    row_type, _ = TABLES[table]
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            read = file.read(use_threads=False)
        stated = (read.schema.metadata or {}).get(b"planarena")
        version = msgspec.json.decode(stated, type=dict[str, Any]).get("format_version") if stated else None
    except (pyarrow.ArrowException, OSError, msgspec.DecodeError) as error:
        raise _damaged(path, error) from error
    if version != FORMAT_VERSION:
        raise RunError(
            f"format version {version}, this planarena reads {FORMAT_VERSION}",
            where=str(path),
            fix="build it again, or use the planarena that wrote it",
        )
    try:
        return msgspec.convert(read.to_pylist(), list[row_type])  # type: ignore[valid-type]
    except (UnicodeDecodeError, pyarrow.ArrowException) as error:
        raise _damaged(path, error) from error
    except msgspec.ValidationError as error:
        raise RunError(
            f"rows do not fit the table {table}: {error}", where=str(path), fix="build it again"
        ) from error


def _defaults(table: str, names: set[str]) -> dict[str, Any]:
    """Return the defaults of those columns of a table that have one."""
    fields = msgspec.structs.fields(TABLES[table][0]) if table in TABLES and names else ()
    return {
        one.name: one.default for one in fields if one.name in names and one.default is not msgspec.NODEFAULT
    }


def _damaged(path: Path, error: Exception) -> RunError:
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    return RunError(f"the shard is damaged: {reason}", where=str(path), fix="build the run again")


def read_columns(path: Path, *names: str) -> list[list[Any]]:
    """Return columns of a shard; one that runs of before do not have holds its default.

    Raises:
        RunError: The shard is damaged or lacks a column.
    """
    import pyarrow
    import pyarrow.parquet

    # Arrow's own allocator keeps what a shard took, and so does the dataset reader behind `read_table`: the parent of a
    # build would hold a hundred megabytes for nothing. The reader also takes three to six times as long.
    usual = pyarrow.default_memory_pool()
    pyarrow.set_memory_pool(pyarrow.system_memory_pool())
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            lacking = _defaults(path.parent.name, set(names) - set(file.schema_arrow.names))
            read = file.read(columns=[name for name in names if name not in lacking], use_threads=False)
        size = read.num_rows
        return [
            [lacking[name]] * size if name in lacking else read.column(name).to_pylist() for name in names
        ]
    except (pyarrow.ArrowException, KeyError, OSError) as error:
        raise _damaged(path, error) from error
    finally:
        pyarrow.set_memory_pool(usual)
