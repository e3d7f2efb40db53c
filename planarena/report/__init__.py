"""Static HTML reports."""

from __future__ import annotations

from planarena.report.build_report import render_report

__all__ = ["render_report"]
