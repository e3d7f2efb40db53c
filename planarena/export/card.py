"""The dataset card."""

from __future__ import annotations

from planarena.records.run import Run

__all__ = ["render_card"]


def render_card(run: Run) -> str:
    """Return the README of a run."""
    return f"# {run.info['counts']['gold']} gold trajectories\n"
