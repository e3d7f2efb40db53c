"""The scorecard as a section of the report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planarena.export.escaping import escape_html
from planarena.quality.figures import PUBLISHED_NOTE, Figure, figures_of, refused_references, wrong_kinds
from planarena.report.page import table

__all__ = ["render_scorecard"]


def render_scorecard(info: Mapping[str, Any]) -> str:
    """Return the section as HTML; nothing for a run that was not measured."""
    scorecard: Mapping[str, Any] | None = info.get("scorecard")
    if scorecard is None:
        return ""
    refused = refused_references(info["counts"])
    cards = [
        '<section class="card"><h3>References with two meanings</h3><p>Refused where the answer has changed before its '
        "use or rests on a tie.</p>"
        + (
            table(("reason", "candidates refused"), list(refused.items()))
            if refused
            else "<p>None was found.</p>"
        )
        + "</section>"
    ]
    kinds = wrong_kinds(scorecard)
    if kinds:
        body = table(("kind", "share", ""), kinds)
        cards.insert(0, f'<section class="card"><h3>Wrong choices, by kind</h3>{body}</section>')
    return (
        '<h2 id="scorecard">Scorecard</h2><p class="soft">'
        f"What a strict reader would object to, measured on {scorecard['gold']:,} of the gold trajectories that call "
        "tools. <code>planarena inspect RUN --read 40</code> draws some at random for a person to pass or fail.</p>"
        f'<div class="card wide"><dl class="figures">{"".join(map(_line, figures_of(scorecard)))}</dl>'
        f'<p class="soft">{escape_html(PUBLISHED_NOTE)}</p></div><div class="pair">{"".join(cards)}</div>'
    )


def _line(figure: Figure) -> str:
    published = (
        f'<dd class="published">{escape_html(f"published: {figure.published}")}</dd>'
        if figure.published
        else ""
    )
    return (
        f'<div><dt>{escape_html(figure.name)}</dt><dd class="value">{escape_html(figure.value)}</dd>'
        f"<dd>{escape_html(figure.meaning)}</dd>{published}</div>"
    )
