"""Curves as SVG: several runs over each other, panel by panel, from what stands in metrics.jsonl now."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from planarena.export.escaping import escape_html

__all__ = ["PANELS", "Series", "draw", "panels_of"]

PANELS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("reward", ("reward/mean", "validation/reward")),
    ("success", ("reward/success", "validation/success", "bench/success")),
    ("loss", ("loss/total", "loss/sft", "loss/policy")),
    ("entropy, nats", ("policy/entropy",)),
    ("response length, tokens", ("length/mean",)),
    ("clip fraction", ("policy/clip_fraction",)),
    ("KL to the rollout", ("policy/kl_to_rollout",)),
    ("gradient norm", ("update/gradient_norm",)),
    ("groups without a difference", ("advantage/degenerate_groups",)),
    ("preference accuracy", ("preference/accuracy",)),
)
_WIDE, _HIGH = 460, 210
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 10, 12, 26
_MOST_POINTS = 600
_MOST_LINES = 24
# Beyond it (and of nan and inf) a curve says nothing, and differences would not be finite.
_LARGEST = 1e150
# Dashes tell the metrics of a panel apart, colours the runs.
_DASHES = ("", "6 3", "2 3", "8 3 2 3")


class Series(NamedTuple):
    """A line of a panel: whose it is, which metric, and its points (step, value)."""

    run: int
    metric: str
    points: list[tuple[float, float]]


def panels_of(
    runs: Sequence[Sequence[Mapping[str, Any]]], wanted: str = ""
) -> list[tuple[str, list[Series]]]:
    """Return the panels that have a point.

    Args:
        runs: The lines of each run's metrics.
        wanted: Metrics that start so get a panel each instead; empty for the usual panels.
    """
    names = dict.fromkeys(name for lines in runs for line in lines[-50:] for name in line)
    if wanted:
        panels: list[tuple[str, tuple[str, ...]]] = [
            (name, (name,)) for name in names if name.startswith(wanted)
        ]
    else:
        own = tuple(sorted(name for name in names if name.startswith("coefficient/")))
        panels = [*PANELS, *((name.removeprefix("coefficient/"), (name,)) for name in own)]
    found = []
    for title, metrics in panels[:_MOST_LINES]:
        series = [
            Series(number, metric, points)
            for number, lines in enumerate(runs)
            for metric in metrics
            if (points := _points(lines, metric))
        ]
        if series:
            found.append((title, series))
    return found


def _points(lines: Sequence[Mapping[str, Any]], metric: str) -> list[tuple[float, float]]:
    found = [
        (float(line["step"]), float(line[metric]))
        for line in lines
        if isinstance(line.get(metric), int | float)
        and abs(line[metric]) < _LARGEST
        and abs(line["step"]) < 2**53
    ]
    if len(found) <= _MOST_POINTS:
        return found
    size = -(-len(found) // _MOST_POINTS)
    parts = (found[start : start + size] for start in range(0, len(found), size))
    return [(part[-1][0], sum(value for _, value in part) / len(part)) for part in parts]


def draw(title: str, series: Sequence[Series], names: Sequence[str]) -> Markup:
    """Return a panel as a figure."""
    xs = [x for one in series for x, _ in one.points]
    ys = [y for one in series for _, y in one.points]
    left, right = min(xs), max(xs)
    ticks = _ticks(min(ys), max(ys))
    low, high = min([ticks[0], *ys]), max([ticks[-1], *ys])
    wide, tall = _WIDE - _LEFT - _RIGHT, _HIGH - _TOP - _BOTTOM

    def place(x: float, y: float) -> tuple[float, float]:
        return (
            _LEFT + wide * ((x - left) / (right - left) if right > left else 0.5),
            _TOP + tall * (1 - (y - low) / (high - low if high > low else 1.0)),
        )

    parts = [
        f'<line class="axis" x1="{_LEFT}" x2="{_WIDE - _RIGHT}" y1="{place(left, tick)[1]:.1f}" y2="{place(left, tick)[1]:.1f}"/>'
        f'<text class="tick" x="{_LEFT - 6}" y="{place(left, tick)[1] + 4:.1f}">{tick:.4g}</text>'
        for tick in ticks
    ]
    metrics = list(dict.fromkeys(one.metric for one in series))
    for one in series:
        dash = _DASHES[metrics.index(one.metric) % len(_DASHES)]
        drawn = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*point) for point in one.points))
        told = escape_html(
            f"{names[one.run]}: {one.metric}, {one.points[-1][1]:.4g} at step {one.points[-1][0]:.0f}"
        )
        shape = (
            f'<polyline points="{drawn}"' + (f' stroke-dasharray="{dash}"' if dash else "") + "/>"
            if len(one.points) > 1
            else '<circle cx="{:.1f}" cy="{:.1f}" r="3"/>'.format(*place(*one.points[0]))
        )
        parts.append(f'<g class="line run-{one.run % 8}"><title>{told}</title>{shape}</g>')
    parts.append(
        f'<text class="step" x="{_LEFT}" y="{_HIGH - 6}">{left:.0f}</text>'
        f'<text class="step end" x="{_WIDE - _RIGHT}" y="{_HIGH - 6}">step {right:.0f}</text>'
    )
    key = "".join(
        f'<span><svg width="26" height="8" aria-hidden="true"><line x1="0" x2="26" y1="4" y2="4" class="sample" stroke-dasharray="{_DASHES[at % len(_DASHES)]}"/></svg>{escape_html(metric)}</span>'
        for at, metric in enumerate(metrics)
    )
    label = escape_html(f"{title} by step")
    # Numbers are formatted and names escaped above.
    return Markup(  # noqa: S704
        f'<figure class="card v-panel"><figcaption>{escape_html(title)}</figcaption><svg class="v-curve" role="img" '
        f'aria-label="{label}" viewBox="0 0 {_WIDE} {_HIGH}">{"".join(parts)}</svg><p class="legend">{key}</p></figure>'
    )


def _ticks(low: float, high: float) -> list[float]:
    """Return three to six round numbers that enclose a range, or nearly."""
    if high - low < 1e-300:
        pad = abs(low) * 0.1 or 0.5
        low, high = low - pad, high + pad
    rough = (high - low) / 4
    power = 10.0 ** math.floor(math.log10(rough))
    size = next(one * power for one in (1, 2, 5, 10) if one * power >= rough)
    first = math.floor(low / size)
    return [round((first + at) * size, 12) for at in range(math.ceil(high / size) - first + 1)]
