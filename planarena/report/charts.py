"""Charts as SVG: upright bars for a few ordered classes, lying bars for many named ones, curves over steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from planarena.export.escaping import escape_html, visible

__all__ = ["Line", "columns", "lines", "rows"]

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


class Line(NamedTuple):
    """One curve.

    Attributes:
        name: In the legend.
        points: (step, value) in order of steps.
    """

    name: str
    points: Sequence[tuple[int, float]]


_MOST_POINTS = 160
_FEW_POINTS = 40


def lines(curves: Sequence[Line], title: str) -> str:
    """Return curves over steps, at most four, with a legend below.

    Args:
        curves: The first one is drawn on top.
        title: What is drawn, for screen readers.
    """
    left, right, top, base = 52.0, _WIDTH - 6.0, 10.0, 160.0
    points = [point for curve in curves for point in curve.points]
    first, last = min(step for step, _ in points), max(step for step, _ in points)
    low, high = min(0.0, *(value for _, value in points)), max(value for _, value in points)
    wide, tall = max(last - first, 1), (high - low) or 1.0

    def place(step: int, value: float) -> tuple[float, float]:
        return left + (right - left) * (step - first) / wide, base - (base - top) * (value - low) / tall

    parts = []
    for share in (0.0, 0.5, 1.0):
        value = low + tall * share
        y = base - (base - top) * share
        parts.append(f'<line class="axis" x1="{left}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}"/>')
        parts.append(f'<text class="scale" x="{left - 6}" y="{y + 4:.1f}">{_scale(value)}</text>')
    parts.append(f'<text class="from" x="{left}" y="{base + 16}">{first}</text>')
    parts.append(f'<text class="unit" x="{(left + right) / 2:.1f}" y="{base + 16}">step</text>')
    parts.append(f'<text class="to" x="{right}" y="{base + 16}">{last}</text>')
    for number, curve in reversed(list(enumerate(curves))):
        placed = [place(*point) for point in _thinned(curve.points)]
        drawn = " ".join(f"{x:.1f},{y:.1f}" for x, y in placed)
        parts.append(f'<polyline class="curve c{number}" points="{drawn}"/>')
        if len(placed) <= _FEW_POINTS:
            parts += [
                f'<circle class="point c{number}" cx="{x:.1f}" cy="{y:.1f}" r="2.6"/>' for x, y in placed
            ]
    for number, curve in enumerate(curves):
        x, y = left + (number % 2) * 178.0, base + 36.0 + (number // 2) * 18.0
        end = curve.points[-1][1]
        parts.append(f'<line class="curve c{number}" x1="{x}" y1="{y - 4}" x2="{x + 20}" y2="{y - 4}"/>')
        parts.append(f'<text x="{x + 26}" y="{y}">{escape_html(_shorten(curve.name, 18))} {end:.3g}</text>')
    return _svg(_WIDTH, base + 44.0 + (len(curves) - 1) // 2 * 18.0, title, parts)


def _scale(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.2g}"


def _thinned(points: Sequence[tuple[int, float]]) -> Sequence[tuple[int, float]]:
    """Return means of runs of neighbours where there are more points than can be told apart."""
    size = -(-len(points) // _MOST_POINTS)
    if size <= 1:
        return points
    parts = [points[start : start + size] for start in range(0, len(points), size)]
    return [(part[len(part) // 2][0], sum(value for _, value in part) / len(part)) for part in parts]


def _svg(width: float, height: float, title: str, parts: Sequence[str]) -> str:
    return (
        f'<svg class="chart" role="img" viewBox="0 0 {width:.0f} {height:.0f}">'
        f"<title>{escape_html(title)}</title>{''.join(parts)}</svg>"
    )


def _shorten(text: str, most: int) -> str:
    text = visible(text)
    return text if len(text) <= most else text[: most - 1] + "…"
