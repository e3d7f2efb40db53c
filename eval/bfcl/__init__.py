"""BFCL: the Berkeley Function-Calling Leaderboard, versions 3 and 4."""

from planarena.eval.bfcl.asking import ask
from planarena.eval.bfcl.formulas import FORMULAS, overall, weights
from planarena.eval.bfcl.suite import describe, score

__all__ = ["FORMULAS", "ask", "describe", "overall", "score", "weights"]
