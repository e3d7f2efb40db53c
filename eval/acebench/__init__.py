"""ACEBench: single calls and dialogues, requests that nobody can answer, and agents in a phone and a travel desk."""

from __future__ import annotations

from planarena.eval.acebench.suite import ask, describe, score, shown_calls

__all__ = ["ask", "describe", "score", "shown_calls"]
