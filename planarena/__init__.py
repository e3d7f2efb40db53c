"""planarena: build, audit, train on and evaluate multi-step tool-use data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planarena.version import __version__

__all__ = ["BuildConfig", "PlanArenaError", "Run", "UserError", "__version__", "build"]

if TYPE_CHECKING:
    from planarena.config import BuildConfig
    from planarena.errors import PlanArenaError, UserError
    from planarena.pipeline import build
    from planarena.records.run import Run

_HOMES = {
    "BuildConfig": "planarena.config",
    "PlanArenaError": "planarena.errors",
    "Run": "planarena.records.run",
    "UserError": "planarena.errors",
    "build": "planarena.pipeline",
}


def __getattr__(name: str) -> Any:
    """Import public names on first use, so that `import planarena` stays cheap (PEP 562)."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'planarena' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
