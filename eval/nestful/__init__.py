"""NESTFUL: sequences of calls whose arguments are results of earlier ones."""

from __future__ import annotations

from planarena.eval.nestful.suite import ask, describe, score

__all__ = ["ask", "describe", "score"]
