"""The scorecard as a section of the dataset card."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from planarena.export.escaping import escape_markdown
from planarena.quality.figures import PUBLISHED_NOTE, figures_of, refused_references, wrong_kinds

__all__ = ["render_scorecard"]


def render_scorecard(info: Mapping[str, Any]) -> str:
    """Return the section's body.

    Args:
        info: A `run.json` with a scorecard.
    """
    scorecard, counts = info["scorecard"], info["counts"]
    parts = [
        f"What a strict reader would object to, measured on {scorecard['gold']:,} of the gold trajectories that call "
        "tools (whole chunks, taken evenly from all of the run). Figures are no proof that a conversation reads well: "
        "`planarena inspect RUN --read 40 --out reading.html` draws some at random for a person to pass or fail.",
        _table(("figure", "this run", "published", "meaning"), figures_of(scorecard)),
        escape_markdown(PUBLISHED_NOTE),
    ]
    refused = refused_references(counts)
    once = ", save of live tools that were executed once" if counts.get("gold_unproven") else ""
    parts.append(
        "References with two meanings: the build resolves every reference again at the moment of its use and refuses the "
        "candidate where the answer has changed or rests on a tie, so none is in the tables"
        + once
        + ". Refused: "
        + (", ".join(f"{escape_markdown(reason)} {number:,}" for reason, number in refused.items()) or "none")
        + "."
    )
    kinds = wrong_kinds(scorecard)
    if kinds:
        parts.append(_table(("wrong choices, by kind", "share", ""), kinds))
    return "\n\n".join(parts)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(map(escape_markdown, row)) + " |" for row in rows]
    return "\n".join(lines)
