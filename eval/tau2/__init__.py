"""tau2-bench, and tau-bench before it: agents that talk with a user and change a business's database."""

from __future__ import annotations

from planarena.eval.tau2.suite import ask, describe, read_given, score

__all__ = ["ask", "describe", "read_given", "score"]
