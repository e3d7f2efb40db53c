"""Evaluation: scoring outputs on public benchmarks, and comparing what was scored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["SUITES", "Comparison", "EvalConfig", "Evaluation", "compare", "evaluate", "open_evaluation"]

if TYPE_CHECKING:
    from planarena.eval.comparison import Comparison, compare
    from planarena.eval.config import SUITES, EvalConfig
    from planarena.eval.run import Evaluation, evaluate, open_evaluation

_HOMES = {
    "SUITES": "planarena.eval.config",
    "Comparison": "planarena.eval.comparison",
    "EvalConfig": "planarena.eval.config",
    "Evaluation": "planarena.eval.run",
    "compare": "planarena.eval.comparison",
    "evaluate": "planarena.eval.run",
    "open_evaluation": "planarena.eval.run",
}


def __getattr__(name: str) -> Any:
    """Import public names on first use (PEP 562)."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'planarena.eval' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(home), name)
