"""Tables that set runs side by side, as terminal text, Markdown, HTML and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from planarena.export.escaping import escape_html, escape_markdown, visible
from planarena.report.page import render_page

__all__ = ["Comparison", "ComparisonLine", "ComparisonTable", "Value", "name_folders"]

Value = float | int | str | None


class ComparisonLine(msgspec.Struct, frozen=True):
    """One thing compared.

    Attributes:
        name: What it is.
        values: One of each run, in order; None where a run has none.
    """

    name: str
    values: tuple[Value, ...]


class ComparisonTable(msgspec.Struct, frozen=True):
    """Things of one sort.

    Attributes:
        title: What they are.
        lines: In the order to show.
        unit: `%` for shares, in percent; empty for counts, words and plain numbers.
        notes: What to know about it.
    """

    title: str
    lines: tuple[ComparisonLine, ...]
    unit: str = ""
    notes: tuple[str, ...] = ()


class Comparison(msgspec.Struct, frozen=True):
    """Runs side by side; differences are taken from the first.

    Attributes:
        title: Of the page.
        names: Of the runs.
        tables: Those that have lines.
    """

    title: str
    names: tuple[str, ...]
    tables: tuple[ComparisonTable, ...]

    def text(self) -> str:
        """For a terminal: columns padded with blanks, control codes written out."""
        parts = []
        for table in self.tables:
            head, rows = self._cells(table)
            shown = [[visible(cell).replace("\n", " ") for cell in row] for row in (head, *rows)]
            widths = [max(len(row[at]) for row in shown) for at in range(len(head))]
            lines = [
                "  ".join(
                    cell.ljust(width) if not at else cell.rjust(width)
                    for at, (cell, width) in enumerate(zip(row, widths, strict=True))
                ).rstrip()
                for row in shown
            ]
            parts.append("\n".join((*lines, *(visible(note) for note in table.notes))))
        return "\n\n".join(parts) + "\n"

    def markdown(self) -> str:
        """As Markdown tables."""
        parts = [f"# {escape_markdown(self.title)}"]
        for table in self.tables:
            head, rows = self._cells(table)
            rule = "| --- |" + " ---: |" * (len(head) - 1)
            body = "\n".join(
                f"| {' | '.join(escape_markdown(cell) for cell in row)} |" for row in (("", *head[1:]), *rows)
            ).split("\n", 1)
            parts.append(f"## {escape_markdown(table.title)}\n\n{body[0]}\n{rule}\n{body[1]}")
            parts += [escape_markdown(note) for note in table.notes]
        return "\n\n".join(parts) + "\n"

    def html(self) -> str:
        """As one self-contained page without scripts."""
        parts = [f"<h1>{escape_html(self.title)}</h1>"]
        if len(self.names) > 1:
            parts.append('<p class="soft">Differences are taken from the first.</p>')
        for table in self.tables:
            head, rows = self._cells(table)
            top = _row(("", *head[1:]), "th")
            body = "".join(_row(row, "td") for row in rows)
            notes = "".join(f'<p class="soft">{escape_html(note)}</p>' for note in table.notes)
            parts.append(
                f'<section class="card wide"><h3>{escape_html(table.title)}</h3><div class="scroll"><table><thead>'
                f"{top}</thead><tbody>{body}</tbody></table></div>{notes}</section>"
            )
        return render_page(self.title, "\n".join(parts))

    def json(self) -> dict[str, Any]:
        """As JSON values: the names, and by table's title the values by line's name."""
        return {
            "runs": list(self.names),
            "tables": {
                table.title: {line.name: list(line.values) for line in table.lines} for table in self.tables
            },
        }

    def _cells(self, table: ComparisonTable) -> tuple[list[str], list[list[str]]]:
        """Return head and rows as text, with a column of differences for each run but the first."""
        numeric = any(isinstance(value, int | float) for line in table.lines for value in line.values)
        others = range(1, len(self.names)) if numeric else range(0)
        points = ", points" if table.unit == "%" else ""
        head = [table.title, *self.names, *(f"{self.names[at]} - {self.names[0]}{points}" for at in others)]
        show = _percent if table.unit == "%" else _plain
        rows = []
        for line in table.lines:
            first = line.values[0]
            row = [line.name, *(show(value) for value in line.values)]
            for at in others:
                value = line.values[at]
                known = isinstance(first, int | float) and isinstance(value, int | float)
                row.append(_signed(value - first, bool(points)) if known else "")  # type: ignore[operator]
            rows.append(row)
        return head, rows


def _plain(value: Value) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _percent(value: Value) -> str:
    return f"{value:.1f} %" if isinstance(value, int | float) else _plain(value)


def _signed(value: float, points: bool) -> str:
    shown = f"{value:+.1f}" if points else f"{value:+d}" if isinstance(value, int) else f"{value:+.4g}"
    return "0" if not float(shown) else shown


def _row(cells: Sequence[str], tag: str) -> str:
    mark = ' class="n"'
    inside = "".join(
        f"<{tag}{mark if at else ''}>{escape_html(cell)}</{tag}>" for at, cell in enumerate(cells)
    )
    return f"<tr>{inside}</tr>"


def name_folders(folders: Sequence[Path]) -> tuple[str, ...]:
    """Return the folders' names, longer where two are the same."""
    short = [folder.resolve().name for folder in folders]
    return tuple(
        name if short.count(name) == 1 else str(folder) for name, folder in zip(short, folders, strict=True)
    )
