"""The report of a build."""

from __future__ import annotations

from planarena.records.run import Run

__all__ = ["render_report"]


def render_report(run: Run) -> str:
    """Return the report of a run as HTML."""
    return f"<p>{run.info['counts']['gold']}</p>"
