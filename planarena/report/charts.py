"""Histograms as SVG: upright bars for a few ordered classes, lying bars for many named ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from planarena.export.escaping import escape_html, visible

__all__ = ["columns", "rows"]

_WIDTH = 400.0
_LONGEST_NAME = 34


def columns(values: Mapping[str, int], title: str, unit: str) -> str:
    """Return a histogram with one upright bar a class, in the order given.

    Args:
        values: Count by class.
        title: What is counted, for screen readers.
        unit: What the classes are, written below them.
    """
    height, base, top = 190.0, 150.0, 22.0
    most = max(values.values(), default=0) or 1
    step = _WIDTH / max(1, len(values))
    bar = min(step * 0.72, 56.0)
    parts = [f'<line class="axis" x1="0" y1="{base}" x2="{_WIDTH}" y2="{base}"/>']
    for place, (name, number) in enumerate(values.items()):
        tall = (base - top) * number / most
        x = step * (place + 0.5)
        parts.append(
            f'<rect class="bar" x="{x - bar / 2:.1f}" y="{base - tall:.1f}" width="{bar:.1f}" height="{tall:.1f}" rx="2"/>'
            f'<text class="value" x="{x:.1f}" y="{base - tall - 6:.1f}">{number}</text>'
            f'<text class="class" x="{x:.1f}" y="{base + 17:.1f}">{escape_html(_shorten(name, 10))}</text>'
        )
    parts.append(f'<text class="unit" x="{_WIDTH / 2}" y="{height - 5:.1f}">{escape_html(unit)}</text>')
    return _svg(_WIDTH, height, title, parts)


def rows(values: Sequence[tuple[str, int]], title: str, total: int | None = None) -> str:
    """Return lying bars with the names above them, in the order given.

    Args:
        values: (name, count).
        title: What is counted, for screen readers.
        total: What shares are taken of; the sum of the counts by default.
    """
    line = 36.0
    most = max((number for _, number in values), default=0) or 1
    if total is None:
        total = sum(number for _, number in values)
    counts = [f"{number} · {100 * number / total:.1f} %" if total else f"{number} · " for _, number in values]
    # The longest label must find room beside the longest bar.
    room = _WIDTH - max(92.0, 7.2 * max(map(len, counts), default=0) + 8)
    parts = []
    for place, ((name, number), count) in enumerate(zip(values, counts, strict=True)):
        y = place * line
        wide = max(room * number / most, 1.0)
        parts.append(
            f"<g><title>{escape_html(name)}</title>"
            f'<text class="row" x="0" y="{y + 13:.1f}">{escape_html(_shorten(name, _LONGEST_NAME))}</text>'
            f'<rect class="bar" x="0" y="{y + 18:.1f}" width="{wide:.1f}" height="10" rx="2"/>'
            f'<text class="count" x="{wide + 6:.1f}" y="{y + 27:.1f}">{count}</text></g>'
        )
    return _svg(_WIDTH, max(line * len(values), 1.0), title, parts)


def _svg(width: float, height: float, title: str, parts: Sequence[str]) -> str:
    return (
        f'<svg class="chart" role="img" viewBox="0 0 {width:.0f} {height:.0f}">'
        f"<title>{escape_html(title)}</title>{''.join(parts)}</svg>"
    )


def _shorten(text: str, most: int) -> str:
    text = visible(text)
    return text if len(text) <= most else text[: most - 1] + "…"
