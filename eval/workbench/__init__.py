"""WorkBench: tasks of an office in five databases, scored by the tables that are left."""

from __future__ import annotations

from planarena.eval.workbench.suite import ask, describe, read_given, score, shown_calls

__all__ = ["ask", "describe", "read_given", "score", "shown_calls"]
