"""One table of a comparison that can be pasted into a paper: evaluations down, suites across."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from planarena.eval.compared import ComparisonRow, ComparisonTable

__all__ = ["summary_latex", "summary_markdown"]

_SPECIAL = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}  # fmt: skip
_CAPTION = (
    "Overall values in percent with the half width of their 95 % interval; in brackets the difference from the first "
    "row on common items. * p < .05, ** p < .01, *** p < .001 (exact McNemar test, Holm-corrected for the suites)."
)


def _rows(tables: Sequence[ComparisonTable]) -> list[str]:
    return list(dict.fromkeys(row.name for table in tables for row in table.rows if not row.source))


def _cell(row: ComparisonRow | None, minus: str, plus_minus: str) -> str:
    if row is None or "Overall" not in row.values:
        return ""
    shown = f"{100 * row.values['Overall']:.2f}"
    if row.low is not None and row.high is not None:
        shown += f" {plus_minus} {50 * (row.high - row.low):.2f}"
    if row.points is not None:
        shown += f" ({100 * row.points[0]:+.2f}{_stars(row.p)})"
    return shown.replace("-", minus)


def _stars(p: float | None) -> str:
    return "" if p is None else "*" * sum(p < limit for limit in (0.05, 0.01, 0.001))


def _grid(tables: Sequence[ComparisonTable], minus: str, plus_minus: str) -> list[list[str]]:
    grid = []
    for name in _rows(tables):
        cells = [name]
        for table in tables:
            row = next((row for row in table.rows if row.name == name and not row.source), None)
            cells.append(_cell(row, minus, plus_minus))
        grid.append(cells)
    return grid


def summary_markdown(tables: Sequence[ComparisonTable]) -> str:
    """Return the table as Markdown, with what its signs mean below it."""

    def line(cells: Sequence[str]) -> str:
        clean = [
            " ".join(cell.replace("\\", "\\\\").replace("|", "\\|").replace("*", "\\*").split())
            for cell in cells
        ]
        return "| " + " | ".join(escape(cell, quote=False) for cell in clean) + " |"

    head = ["Model", *(f"{table.suite} ({table.formula})" for table in tables)]
    lines = [line(head), "|" + " --- |" + " ---: |" * len(tables)]
    lines += [line(cells) for cells in _grid(tables, "-", "±")]
    return "\n".join([*lines, "", _CAPTION.replace("*", "\\*")]) + "\n"


def summary_latex(tables: Sequence[ComparisonTable]) -> str:
    """Return the table as LaTeX; it needs the package booktabs."""

    def clean(text: str) -> str:
        visible = re.sub(r"[\x00-\x1f\x7f]+", " ", text)
        return "".join(_SPECIAL.get(sign, sign) for sign in visible)

    def math(text: str) -> str:
        return text.replace("±", r"$\pm$").replace("−", "$-$")

    head = " & ".join(["Model", *(clean(f"{table.suite} ({table.formula})") for table in tables)])
    lines = [r"\begin{table}", r"\centering", rf"\begin{{tabular}}{{l{'r' * len(tables)}}}", r"\toprule"]
    lines += [head + r" \\", r"\midrule"]
    for name, *cells in _grid(tables, "−", "±"):
        lines.append(" & ".join([clean(name), *(math(clean(cell)) for cell in cells)]) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}", rf"\caption{{{clean(_CAPTION)}}}", r"\end{table}"]
    return "\n".join(lines) + "\n"
