"""The study's page: what it can say, its tables, its curves; self-contained, every text escaped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from planarena.eval.algorithms.tables import Table, study_tables
from planarena.eval.page import page, text

__all__ = ["render_study"]

_COLOURS = (
    "#4078c0",
    "#c0392b",
    "#2e8b57",
    "#b8860b",
    "#7d3c98",
    "#16a085",
    "#d35400",
    "#5d6d7e",
    "#e84393",
    "#00695c",
)
_REGIMES = {
    "gold": "The start is taught from correct demonstrations and stopped early; rewards compare with the gold action, as in "
    "the papers. The claim is that each algorithm raises its start. It carries no ranking.",
    "scarce": "Few demonstrations, most of them of one errand, are all the supervision there is. Practised tasks have an "
    "environment and no gold: the reward is the goal predicate. They are those of a pool on which the start, in several "
    "tries, both succeeds and fails. The controls can use the demonstrations alone.",
    "repair": "An able model (the row able) is taught further from demonstrations of which most of several calls are faulty: "
    "they stop early or leave a call out. That is the start; audited gold of a few tasks is practised. This regime is made so that there is something to repair, and is said to be.",
    "conversations": "Conversations of two to six messages with a scripted user: something is missing and said only when "
    "asked for, a change of mind, a reference to an answer. The start is taught from demonstrations of a careless assistant, "
    "which often takes a value that nobody told and leaves corrections undone. Practised conversations have an environment, a "
    "user and no gold: the reward is the goal predicate. The controls can use the demonstrations alone.",
}


def render_study(scores: dict[str, Any]) -> str:
    """Return the page of a study."""
    config = scores["config"]
    title = f"Ablation {scores['ablation']['name']}" if "ablation" in scores else "Algorithms from one start"
    body = [f"<h1>{text(title)}</h1>", _plain_words(scores)]
    tables = study_tables(scores)
    for table in tables:
        if not any(table.title.startswith(f"{regime}:") for regime in scores["regimes"]):
            body.append(_table(table))
    for regime, part in scores["regimes"].items():
        body.append(f'<section id="{text(regime)}"><h2>{text(regime)}</h2><p>{text(_REGIMES[regime])}</p>')
        body += [_table(table) for table in tables if table.title.startswith(f"{regime}:")]
        for key, words in (
            ("reward/mean", "mean reward of a batch"),
            ("reward/success", "success in training"),
            ("length/mean", "response length, tokens"),
            ("policy/entropy", "entropy of the sampled tokens, nats"),
        ):
            body.append(_chart(part["curves"], key, words))
        body.append("</section>")
    shown = "".join(
        f"<tr><td>{text(key)}</td><td><code>{text(value)}</code></td></tr>"
        for key, value in sorted(config.items())
    )
    body.append(f"<details><summary>Configuration</summary><table>{shown}</table></details>")
    return page(title, "".join(body))


def _plain_words(scores: dict[str, Any]) -> str:
    config, sets = scores["config"], scores["sets"]
    sizes, overlap = sets["sizes"], sets["overlap"]
    lines = [
        f"{config['seeds']} trainings of each method, which differ in their seed alone; the start of a regime is the same for "
        "all of them, and so are the rows, the format and the number of optimiser steps. Every algorithm has the reward of its "
        "own paper where rewards compare with gold.",
        f"{sizes['seen'] + sizes['unseen']} held-out tasks: {sizes['seen']} of compositions that training has and "
        f"{sizes['unseen']} of compositions that it has not. Requests, initial states and compositions shared with training: "
        f"{sum(overlap.values())} (each counted, and refused if not 0).",
        *_practised(sets),
        "Success is the goal predicate of an episode in the environment, not a reward. An interval that holds 0 carries no "
        "claim, and neither does a table in which intervals overlap carry a ranking.",
        f"Model: {config['model']}; {scores['cpu_seconds'] / 60:.1f} minutes of CPU time in all, evaluation included.",
    ]
    return "".join(f"<p>{text(line)}</p>" for line in lines)


def _practised(sets: dict[str, Any]) -> list[str]:
    found = sets.get("practised")
    if not found:
        return []
    return [
        f"In the regime scarce the start now solved and now did not {found['mixed']} of {found['pool']} tasks; "
        f"{found['practised']} are practised."
    ]


def _table(table: Table) -> str:
    head = "".join(
        f"<th{'' if place == 0 else ' class=n'}>{text(cell)}</th>" for place, cell in enumerate(table.head)
    )
    rows = "".join(
        "<tr>"
        + "".join(
            f"<td{'' if place == 0 else ' class=n'}>{text(cell)}</td>" for place, cell in enumerate(row)
        )
        + "</tr>"
        for row in table.rows
    )
    return f'<h3>{text(table.title)}</h3><p class="quiet">{text(table.note)}</p><table><tr>{head}</tr>{rows}</table>'


def _chart(curves: dict[str, list[list[dict[str, Any]]]], key: str, words: str) -> str:
    """Draw the mean over seeds of each method as lines."""
    series = {method: found for method, seeds in curves.items() if len(found := _mean_curve(seeds, key)) > 1}
    if not series:
        return ""
    xs = [x for points in series.values() for x, _ in points]
    ys = [y for points in series.values() for _, y in points]
    low, high = min(ys), max(ys)
    low, high = (low - 0.5, high + 0.5) if high == low else (low, high)
    left, width, top, height = 46, 560, 8, 180
    span = max(max(xs) - min(xs), 1)
    parts = []
    for number, (method, points) in enumerate(series.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        path = " ".join(
            f"{left + width * (x - min(xs)) / span:.1f},{top + height * (1 - (y - low) / (high - low)):.1f}"
            for x, y in points
        )
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.6"/>')
        place = top + 12 + 15 * number
        parts.append(f'<rect x="{left + width + 14}" y="{place - 8}" width="10" height="4" fill="{colour}"/>')
        parts.append(
            f'<text x="{left + width + 30}" y="{place}" font-size="11" fill="currentColor">{text(method)}</text>'
        )
    for share in (0.0, 0.5, 1.0):
        y = top + height * (1 - share)
        parts.append(
            f'<line x1="{left}" x2="{left + width}" y1="{y}" y2="{y}" stroke="currentColor" stroke-opacity=".15"/>'
        )
        value = low + share * (high - low)
        parts.append(
            f'<text x="{left - 5}" y="{y + 4}" font-size="10" text-anchor="end" fill="currentColor">{value:.3g}</text>'
        )
    parts.append(
        f'<text x="{left}" y="{top + height + 14}" font-size="10" fill="currentColor">step {min(xs)}</text>'
        f'<text x="{left + width}" y="{top + height + 14}" font-size="10" text-anchor="end" fill="currentColor">{max(xs)}</text>'
    )
    tall = max(top + height + 20, top + 20 + 15 * len(series))
    return (
        f'<figure><figcaption class="quiet">{text(words)}</figcaption><svg viewBox="0 0 {left + width + 170} {tall}" '
        f'role="img" aria-label="{text(words)}" style="max-width:52rem">{"".join(parts)}</svg></figure>'
    )


def _mean_curve(seeds: Sequence[list[dict[str, Any]]], key: str) -> list[tuple[int, float]]:
    values: dict[int, list[float]] = {}
    for curve in seeds:
        for point in curve:
            if key in point:
                values.setdefault(int(point["step"]), []).append(float(point[key]))
    return [(step, sum(found) / len(found)) for step, found in sorted(values.items())]
