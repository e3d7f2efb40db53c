"""Parquet files that are written row group by row group, so that no export holds all its rows in memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

__all__ = ["RowGroups"]

_GROUP_ROWS = 500


class RowGroups:
    """Writes rows to a file, or to one file after the other. Use it in `with`; after an error nothing is added.

    Args:
        new_file: Returns the path of the next file.
        schema: Of Arrow.
        table: Makes an Arrow table of rows; None takes `Table.from_pylist`.
        file_rows: Rows after which a new file begins; 0 for one file.

    Attributes:
        rows: Rows taken so far.
    """

    def __init__(
        self,
        new_file: Callable[[], Path],
        schema: Any,
        *,
        table: Callable[[list[dict[str, Any]]], Any] | None = None,
        file_rows: int = 0,
    ) -> None:
        self._new_file, self._schema, self._table, self._file_rows = new_file, schema, table, file_rows
        self._waiting: list[dict[str, Any]] = []
        self._writer: Any = None
        self._in_file = 0
        self.rows = 0

    def add(self, row: dict[str, Any]) -> None:
        """Take a row; a full group is written."""
        self._waiting.append(row)
        self.rows += 1
        if len(self._waiting) == _GROUP_ROWS:
            self._flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._flush()
        if self._writer is not None:
            self._writer.close()

    def _flush(self) -> None:
        import pyarrow
        import pyarrow.parquet

        if not self._waiting:
            return
        if self._writer is None or 0 < self._file_rows <= self._in_file:
            if self._writer is not None:
                self._writer.close()
            self._writer = pyarrow.parquet.ParquetWriter(
                self._new_file(), self._schema, compression="zstd", compression_level=3
            )
            self._in_file = 0
        if self._table is not None:
            table = self._table(self._waiting)
        else:
            table = pyarrow.Table.from_pylist(self._waiting, schema=self._schema)
        self._writer.write_table(table)
        self._in_file += len(self._waiting)
        self._waiting = []
