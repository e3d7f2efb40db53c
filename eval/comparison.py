"""Comparing evaluations: one table a suite, the papers' rows beside ours and marked as published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

import msgspec

from planarena.errors import UserError
from planarena.eval.bfcl.formulas import covered, weights
from planarena.eval.compared import ComparisonRow, ComparisonTable
from planarena.eval.published import published_for
from planarena.eval.results import SuiteResult
from planarena.eval.run import Evaluation, open_evaluation
from planarena.eval.statistics import bootstrap_difference, holm, paired_difference
from planarena.eval.summary import summary_latex, summary_markdown
from planarena.eval.tables import item_means

__all__ = ["Comparison", "ComparisonRow", "ComparisonTable", "compare"]


class Comparison(msgspec.Struct, frozen=True):
    """The tables of a comparison, with their exports."""

    tables: list[ComparisonTable]

    def markdown(self) -> str:
        """As Markdown tables; a published row says so."""
        return "\n".join(_markdown(table) for table in self.tables)

    def summary(self) -> str:
        """One Markdown table: a row for each evaluation, a column for each suite."""
        return summary_markdown(self.tables)

    def latex(self) -> str:
        """The same table in LaTeX (booktabs)."""
        return summary_latex(self.tables)

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
    return Comparison(_corrected(tables))


def _corrected(tables: list[ComparisonTable]) -> list[ComparisonTable]:
    """Correct each evaluation's tests for the number of suites that it is compared on."""
    values: dict[str, dict[str, float]] = {}
    for table in tables:
        for row in table.rows:
            if row.difference is not None and row.difference["items"]:
                values.setdefault(row.name, {})[table.suite] = float(row.difference["p"])
    fair = {name: holm(listed) for name, listed in values.items()}
    return [
        msgspec.structs.replace(
            table,
            rows=[
                msgspec.structs.replace(row, p=fair[row.name][table.suite])
                if row.difference is not None and table.suite in fair.get(row.name, {})
                else row
                for row in table.rows
            ],
        )
        for table in tables
    ]


def _names(opened: Sequence[Evaluation]) -> list[str]:
    """Folder names; longer where two are the same."""
    short = [item.path.name for item in opened]
    return [
        name if short.count(name) == 1 else str(item.path) for name, item in zip(short, opened, strict=True)
    ]


def _row(name: str, result: SuiteResult, formula: str, first: SuiteResult) -> ComparisonRow:
    known = {value.name: value for value in result.overall}
    overall = known.get(formula)
    notes = []
    if overall is None and formula == first.headline:  # avg@8 beside avg@1: the same value of more samples
        overall = known.get(result.headline)
        notes.append(f"by {result.headline}")
    values: dict[str, float] = {}
    low = high = None
    if overall is not None and overall.value is not None:
        values["Overall"], low, high = overall.value, overall.low, overall.high
        notes += [f"not run: {', '.join(overall.not_run)}"] if overall.not_run else []
    if result.part:
        notes.append(f"a part: {result.part}")
    inside = covered(result.columns) if result.columns else set()
    values |= result.columns
    values |= {
        row.category: row.accuracy
        for row in result.categories
        if row.accuracy is not None and row.category not in inside
    }
    difference = points = None
    if result is not first:
        difference = paired_difference(item_means(result.verdicts), item_means(first.verdicts))
        points = _points(result, first, formula)
    return ComparisonRow(name, values, low, high, points, difference, note="; ".join(notes))


def _points(ours: SuiteResult, first: SuiteResult, formula: str) -> tuple[float, float, float] | None:
    """The difference of the overall value on common items, under its own formula, with its interval."""
    mine, theirs = item_means(ours.verdicts), item_means(first.verdicts)
    pairs: dict[str, list[tuple[float, float]]] = {}
    for verdict in ours.verdicts:
        if verdict.sample == 0 and verdict.id in theirs:
            pairs.setdefault(verdict.category, []).append((mine[verdict.id], theirs[verdict.id]))
    if ours.suite.startswith("bfcl"):
        shares: Mapping[str, float] = weights(formula)
    elif formula == first.headline:
        total = sum(map(len, pairs.values()))
        shares = {name: len(items) / total for name, items in pairs.items()}
    else:
        return None

    def value(means: Mapping[str, float]) -> float | None:
        return sum(shares.get(name, 0.0) * mean for name, mean in means.items())

    pairs = {name: items for name, items in pairs.items() if name in shares}
    interval = bootstrap_difference(pairs, value)
    if interval is None:
        return None
    means = [
        {name: sum(item[side] for item in items) / len(items) for name, items in pairs.items()}
        for side in (0, 1)
    ]
    return (value(means[0]) or 0.0) - (value(means[1]) or 0.0), *interval


def _published_rows(suite: str, formula: str) -> list[ComparisonRow]:
    rows = []
    for table in published_for(suite):
        if table.formula != formula:
            continue
        source = f"published: {table.paper}, table {table.table}"
        for name, printed in table.rows:
            values = {column: value / 100 for column, value in zip(table.columns, printed, strict=True)}
            rows.append(ComparisonRow(name, values, source=source))
    return rows


def _cells(table: ComparisonTable, row: ComparisonRow) -> list[str]:
    values = [f"{100 * row.values[column]:.2f}" if column in row.values else "" for column in table.columns]
    interval = (
        f"{100 * row.low:.2f} to {100 * row.high:.2f}" if row.low is not None and row.high is not None else ""
    )
    points = change = p = ""
    if row.points is not None:
        points = "{:+.2f} ({:+.2f} to {:+.2f})".format(*(100 * value for value in row.points))
    if row.difference is not None:
        change = (
            f"{100 * row.difference['difference']:+.2f} ({100 * row.difference['low']:+.2f} to "
            f"{100 * row.difference['high']:+.2f}, {row.difference['items']} items, {row.difference['gained']} gained, "
            f"{row.difference['lost']} lost)"
        )
    if row.p is not None:
        p = f"{row.p:.3g}"
    return [
        row.name, *values, interval, points, change, p, "; ".join(part for part in (row.source, row.note) if part),
    ]  # fmt: skip


# Of the cells behind the columns: intervals stay on one line, and what is told item by item has room.
_KINDS = (' class="keep"', "", ' class="wide"', "", "")


def _head(table: ComparisonTable) -> list[str]:
    ends = [
        "95 % interval",
        "Overall from the first",
        "Item by item from the first",
        "p (Holm)",
        "Source and notes",
    ]
    return ["Model", *table.columns, *ends]


def _markdown(table: ComparisonTable) -> str:
    def line(cells: Sequence[str]) -> str:
        clean = [" ".join(cell.replace("\\", "\\\\").replace("|", "\\|").split()) for cell in cells]
        return "| " + " | ".join(escape(cell, quote=False) for cell in clean) + " |"

    head = _head(table)
    lines = [f"## {table.suite}, overall by {table.formula}", "", line(head)]
    lines.append("|" + "|".join([" --- "] + [" ---: "] * len(table.columns) + [" --- "] * 5) + "|")
    lines += [line(_cells(table, row)) for row in table.rows]
    return "\n".join(lines) + "\n"


def _html(table: ComparisonTable) -> str:
    from planarena.eval.page import text

    rows = [_cells(table, row) for row in table.rows]
    kinds = ["", *[' class="n"'] * len(table.columns), *_KINDS]
    # What no row says anything of needs no column.
    shown = [
        place
        for place, _ in enumerate(kinds)
        if place <= len(table.columns) or any(row[place] for row in rows)
    ]
    head = "".join(f"<th{kinds[place]}>{text(_head(table)[place])}</th>" for place in shown)
    lines = []
    for row, cells in zip(table.rows, rows, strict=True):
        style = ' class="quiet"' if row.source else ""
        lines.append(
            f"<tr{style}>{''.join(f'<td{kinds[place]}>{text(cells[place])}</td>' for place in shown)}</tr>"
        )
    return f"<h2>{text(table.suite)}, overall by {text(table.formula)}</h2><table><tr>{head}</tr>{''.join(lines)}</table>"
