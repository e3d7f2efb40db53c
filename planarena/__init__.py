"""planarena: build, audit, train on and evaluate multi-step tool-use data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planarena.lazy import on_first_use
from planarena.version import __version__

__all__ = ["BuildConfig", "PlanArenaError", "Run", "UserError", "__version__", "build"]

if TYPE_CHECKING:
    from planarena.config import BuildConfig
    from planarena.errors import PlanArenaError, UserError
    from planarena.pipeline import build
    from planarena.records.run import Run

_HOMES = {
    "BuildConfig": "config",
    "PlanArenaError": "errors",
    "Run": "records.run",
    "UserError": "errors",
    "build": "pipeline",
}

__getattr__, __dir__ = on_first_use(__name__, __all__, _HOMES)
