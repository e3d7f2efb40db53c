"""Comparing evaluations: one table a suite, the papers' rows beside ours and marked as published."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

import msgspec

from planarena.errors import UserError
from planarena.eval.published import published_for
from planarena.eval.results import SuiteResult
from planarena.eval.run import Evaluation, open_evaluation
from planarena.eval.statistics import paired_difference
from planarena.eval.tables import item_means

__all__ = ["Comparison", "ComparisonRow", "ComparisonTable", "compare"]


class ComparisonRow(msgspec.Struct, frozen=True):
    """One model's values.

    Attributes:
        name: The evaluation's folder, or the model as a paper prints it.
        values: In [0, 1] by column; absent where it was not run or not printed.
        low: Lower end of the headline's 95 % interval.
        high: Upper end.
        difference: Item by item from the first evaluation (see `paired_difference`).
        source: Empty for ours, "published: paper 001, table 2" for a paper's.
        note: What the value leaves out.
    """

    name: str
    values: dict[str, float]
    low: float | None = None
    high: float | None = None
    difference: dict[str, float | int] | None = None
    source: str = ""
    note: str = ""


class ComparisonTable(msgspec.Struct, frozen=True):
    """One suite under one overall formula."""

    suite: str
    formula: str
    columns: list[str]
    rows: list[ComparisonRow]


class Comparison(msgspec.Struct, frozen=True):
    """The tables of a comparison, with their exports."""

    tables: list[ComparisonTable]

    def markdown(self) -> str:
        """As Markdown tables; a published row says so."""
        return "\n".join(_markdown(table) for table in self.tables)

    def html(self) -> str:
        """As one self-contained page, every text escaped."""
        from planarena.eval.page import page

        return page("Comparison", "<h1>Comparison</h1>" + "".join(_html(table) for table in self.tables))


def compare(
    evaluations: Sequence[Path | str | Evaluation], *, formula: str | None = None, published: bool = True
) -> Comparison:
    """Compare evaluations suite by suite.

    Args:
        evaluations: Folders that `planarena eval` wrote, or evaluations; the first is the one that differences
            are taken from.
        formula: The overall value to compare by; by default each suite's headline. A published table is shown
            under its own formula alone.
        published: Add the papers' rows.

    Raises:
        UserError: Nothing to compare, or no such formula.
    """
    opened = [item if isinstance(item, Evaluation) else open_evaluation(Path(item)) for item in evaluations]
    if not opened:
        raise UserError("nothing to compare", where="report", fix="name the folders of evaluations")
    names = _names(opened)
    suites = dict.fromkeys(suite for evaluation in opened for suite in evaluation.suites)
    tables = []
    for suite in suites:
        present = [
            (name, item.suites[suite])
            for name, item in zip(names, opened, strict=True)
            if suite in item.suites
        ]
        chosen = formula or present[0][1].headline
        known = [value.name for value in present[0][1].overall]
        if chosen not in known:
            if formula is not None and len(suites) > 1:
                chosen = present[0][1].headline
            else:
                raise UserError(
                    f"{suite} has no overall value {chosen!r}",
                    where="formula",
                    fix=f"one of: {', '.join(known)}",
                )
        rows = [_row(name, result, chosen, present[0][1]) for name, result in present]
        if published:
            rows += _published_rows(suite, chosen)
        columns = list(dict.fromkeys(column for row in rows for column in row.values))
        tables.append(ComparisonTable(suite, chosen, columns, rows))
    return Comparison(tables)


def _names(opened: Sequence[Evaluation]) -> list[str]:
    """Folder names; longer where two are the same."""
    short = [item.path.name for item in opened]
    return [
        name if short.count(name) == 1 else str(item.path) for name, item in zip(short, opened, strict=True)
    ]


def _row(name: str, result: SuiteResult, formula: str, first: SuiteResult) -> ComparisonRow:
    overall = next((value for value in result.overall if value.name == formula), None)
    values: dict[str, float] = {}
    low = high = None
    note = ""
    if overall is not None and overall.value is not None:
        values["Overall"], low, high = overall.value, overall.low, overall.high
        note = f"not run: {', '.join(overall.not_run)}" if overall.not_run else ""
    if result.columns:
        values |= result.columns
    else:
        values |= {row.category: row.accuracy for row in result.categories if row.accuracy is not None}
    difference = None
    if result is not first:
        difference = paired_difference(item_means(result.verdicts), item_means(first.verdicts))
    return ComparisonRow(name, values, low, high, difference, note=note)


def _published_rows(suite: str, formula: str) -> list[ComparisonRow]:
    rows = []
    for table in published_for(suite):
        if table.formula != formula:
            continue
        source = f"published: paper {table.paper}, table {table.table}"
        for name, printed in table.rows:
            values = {column: value / 100 for column, value in zip(table.columns, printed, strict=True)}
            rows.append(ComparisonRow(name, values, source=source))
    return rows


def _cells(table: ComparisonTable, row: ComparisonRow) -> list[str]:
    values = [f"{100 * row.values[column]:.2f}" if column in row.values else "" for column in table.columns]
    interval = (
        f"{100 * row.low:.2f} to {100 * row.high:.2f}" if row.low is not None and row.high is not None else ""
    )
    change = ""
    if row.difference is not None:
        change = (
            f"{100 * row.difference['difference']:+.2f} ({100 * row.difference['low']:+.2f} to "
            f"{100 * row.difference['high']:+.2f}, {row.difference['items']} items)"
        )
    return [row.name, *values, interval, change, "; ".join(part for part in (row.source, row.note) if part)]


def _head(table: ComparisonTable) -> list[str]:
    return ["Model", *table.columns, "95 % interval", "Difference from the first", "Source and notes"]


def _markdown(table: ComparisonTable) -> str:
    def line(cells: Sequence[str]) -> str:
        clean = [" ".join(cell.replace("\\", "\\\\").replace("|", "\\|").split()) for cell in cells]
        return "| " + " | ".join(escape(cell, quote=False) for cell in clean) + " |"

    head = _head(table)
    lines = [f"## {table.suite}, overall by {table.formula}", "", line(head)]
    lines.append("|" + "|".join([" --- "] + [" ---: "] * len(table.columns) + [" --- "] * 3) + "|")
    lines += [line(_cells(table, row)) for row in table.rows]
    return "\n".join(lines) + "\n"


def _html(table: ComparisonTable) -> str:
    from planarena.eval.page import text

    head = "".join(f"<th>{text(cell)}</th>" for cell in _head(table))
    lines = []
    for row in table.rows:
        style = ' class="quiet"' if row.source else ""
        lines.append(f"<tr{style}>{''.join(f'<td>{text(cell)}</td>' for cell in _cells(table, row))}</tr>")
    return f"<h2>{text(table.suite)}, overall by {text(table.formula)}</h2><table><tr>{head}</tr>{''.join(lines)}</table>"
