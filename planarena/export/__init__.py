"""Hugging Face and OpenAI exports, the dataset card."""

from __future__ import annotations

from planarena.export.card import render_card
from planarena.export.exporting import FORMATS, Exported, export
from planarena.export.messages import render_messages, render_tool
from planarena.export.options import ExportOptions
from planarena.export.trajectories import JoinedTrajectory, join_trajectories

__all__ = [
    "FORMATS",
    "ExportOptions",
    "Exported",
    "JoinedTrajectory",
    "export",
    "join_trajectories",
    "render_card",
    "render_messages",
    "render_tool",
]
