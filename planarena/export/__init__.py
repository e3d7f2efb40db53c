"""Hugging Face and OpenAI exports, the dataset card."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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


def __getattr__(name: str) -> Any:
    # Lazy: pages escape text through this package and export nothing.
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
