"""Algorithms, rewards and engines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from planarena.trainers.algorithms import get, list_algorithms, names, preset_names

__all__ = ["get", "list_algorithms", "names", "preset_names"]


def __getattr__(name: str) -> Any:
    # Lazy, because the algorithms import torch and rewards, a subpackage of this one, must not.
    if name in __all__:
        from planarena.trainers import algorithms

        return getattr(algorithms, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
