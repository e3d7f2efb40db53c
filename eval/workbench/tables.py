"""The tables of WorkBench's office, row by row as the benchmark's own behave, because its verdicts depend on it.

A row keeps its label when another is deleted, a new e-mail takes the label that equals the number of rows (and replaces
the row that still has it), a new event has the label 0, new tasks and customers number all rows afresh.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from planarena.errors import UserError

__all__ = [
    "NOW",
    "OfficeError",
    "Row",
    "Table",
    "check_names",
    "load_tables",
    "matching",
    "read_csv",
    "within",
]

NOW = "2023-11-30 00:00:00"
_FILES = {
    "calendar": "calendar_events.csv",
    "email": "emails.csv",
    "tasks": "project_tasks.csv",
    "customers": "customer_relationship_manager_data.csv",
    "visits": "analytics_data.csv",
}
# The largest is a fifth of a megabyte; a row of one letter takes a hundred times its bytes.
_MOST_BYTES = 2 << 20
_KEEP_CASE = frozenset(("status", "list_name", "board"))

Row = dict[str, str | None]


class OfficeError(Exception):
    """A call that the benchmark's own tools do not survive; it changes nothing."""


class Table:
    """Rows with labels. Rows are replaced and never changed in place, so that a copy is two shallow ones."""

    def __init__(self, columns: tuple[str, ...], rows: list[tuple[int, Row]]) -> None:
        self.columns, self.rows = columns, rows

    def copy(self) -> Table:
        """Return a table that changes by itself."""
        return Table(self.columns, list(self.rows))

    def find(self, column: str, value: str) -> list[Row]:
        """Return the rows that have a value."""
        return [row for _, row in self.rows if row.get(column) == value]

    def greatest(self, column: str) -> int:
        """Return the number in the column's greatest text.

        Raises:
            OfficeError: It is no number, or there is none.
        """
        try:
            return int(max(str(row[column]) for _, row in self.rows))
        except (ValueError, KeyError) as error:
            raise OfficeError(f"no number in {column}") from error

    def change(self, column: str, value: str, changed: str, new: str | None) -> None:
        """Set a column of the rows that have a value; a column that is not there yet comes last."""
        if changed not in self.columns:
            self.columns = (*self.columns, changed)
            self.rows = [(label, {**row, changed: None}) for label, row in self.rows]
        self.rows = [
            (label, {**row, changed: new} if row.get(column) == value else row) for label, row in self.rows
        ]

    def delete(self, column: str, value: str) -> None:
        """Drop the rows that have a value."""
        self.rows = [(label, row) for label, row in self.rows if row.get(column) != value]

    def append(self, row: Row, label: int | None) -> None:
        """Add a row, which takes the place of one with its label; without a label all are numbered afresh."""
        if label is None:
            self.rows = list(enumerate([old for _, old in self.rows] + [row]))
            return
        places = [place for place, (taken, _) in enumerate(self.rows) if taken == label]
        for place in places:
            self.rows[place] = (label, row)
        if not places:
            self.rows.append((label, row))

    def content(self, *, folded: bool) -> tuple[Any, ...]:
        """Return all that two equal tables have in common, without regard to case where `folded`."""
        return (
            self.columns,
            tuple(
                (
                    label,
                    tuple(_fold(name, row.get(name)) if folded else row.get(name) for name in self.columns),
                )
                for label, row in self.rows
            ),
        )


def _fold(column: str, value: str | None) -> str | None:
    return value if value is None or column in _KEEP_CASE else value.lower()


def read_csv(path: Path) -> tuple[list[str], list[dict[str, Any]]]:
    """Read one of the repository's tables: its columns and its rows.

    Raises:
        UserError: It is missing, too large or cannot be read.
    """
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise OSError(f"larger than {_MOST_BYTES >> 20} MiB, which no table of the benchmark is")
        with path.open(encoding="utf-8", newline="") as source:
            reader = csv.DictReader(source)
            return list(reader.fieldnames or ()), list(reader)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(
            f"cannot be read: {error}", where=str(path), fix="planarena eval --fetch workbench"
        ) from error


def load_tables(folder: Path) -> dict[str, Table]:
    """Read the tables as the repository has them.

    Raises:
        UserError: A table is missing or cannot be read.
    """
    found = {}
    for name, file in _FILES.items():
        columns, read = read_csv(folder / "data" / "processed" / file)
        rows: list[Row] = [{key: value or None for key, value in row.items()} for row in read]
        found[name] = Table(tuple(columns), list(enumerate(rows)))
    found["plots"] = Table(("file_path",), [])
    return found


def check_names(given: dict[str, str], *names: str) -> None:
    """Refuse arguments that a tool does not take.

    Raises:
        OfficeError: There is one.
    """
    if unknown := sorted(set(given) - set(names)):
        raise OfficeError(f"there is no argument {unknown[0]!r}")


def matching(table: Table, *either: dict[str, str]) -> list[Row]:
    """Rows that hold all texts of one of the wishes, without regard to case."""
    return [
        row
        for _, row in table.rows
        if any(
            all(not text or text.lower() in (row.get(name) or "").lower() for name, text in wish.items())
            for wish in either
        )
    ]


def within(row: Row, column: str, least: str, most: str, length: int | None = None) -> bool:
    """Dates compare as text; a bound of a day alone is compared with as much of the value."""
    value = (row.get(column) or NOW)[:length]
    return (not least or value >= least[:length]) and (not most or value <= most[:length])
