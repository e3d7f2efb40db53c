"""Hugging Face and OpenAI exports, the dataset card."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planarena.lazy import on_first_use

if TYPE_CHECKING:
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

_HOMES = {
    "ExportOptions": "options",
    "Exported": "exporting",
    "FORMATS": "exporting",
    "JoinedTrajectory": "trajectories",
    "export": "exporting",
    "join_trajectories": "trajectories",
    "render_card": "card",
    "render_messages": "messages",
    "render_tool": "messages",
}

# Pages escape text through this package and export nothing.
__getattr__, __dir__ = on_first_use(__name__, __all__, _HOMES)
