"""Static HTML reports and comparisons of runs."""

from __future__ import annotations

from planarena.report.build_comparison import compare_builds
from planarena.report.build_report import render_report, write_report
from planarena.report.comparison import Comparison
from planarena.report.training import render_training
from planarena.report.training_comparison import compare_trainings

__all__ = [
    "Comparison",
    "compare_builds",
    "compare_trainings",
    "render_report",
    "render_training",
    "write_report",
]
