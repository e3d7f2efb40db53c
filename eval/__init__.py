"""Evaluation: scoring outputs on public benchmarks, and comparing what was scored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planarena.lazy import on_first_use

__all__ = ["SUITES", "Comparison", "EvalConfig", "Evaluation", "compare", "evaluate", "open_evaluation"]

if TYPE_CHECKING:
    from planarena.eval.comparison import Comparison, compare
    from planarena.eval.config import SUITES, EvalConfig
    from planarena.eval.run import Evaluation, evaluate, open_evaluation

_HOMES = {
    "SUITES": "config",
    "Comparison": "comparison",
    "EvalConfig": "config",
    "Evaluation": "run",
    "compare": "comparison",
    "evaluate": "run",
    "open_evaluation": "run",
}

__getattr__, __dir__ = on_first_use(__name__, __all__, _HOMES)
