"""Algorithms, rewards and engines."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from planarena.trainers.algorithms import get, list_algorithms, names, preset_names
    from planarena.trainers.types import (
        Advantages,
        Algorithm,
        AlgorithmConfig,
        LossInputs,
        LossOutputs,
        Needs,
        RolloutBatch,
        Step,
    )

__all__ = [
    "Advantages",
    "Algorithm",
    "AlgorithmConfig",
    "LossInputs",
    "LossOutputs",
    "Needs",
    "RolloutBatch",
    "Step",
    "get",
    "list_algorithms",
    "names",
    "preset_names",
]

_REGISTRY = frozenset({"get", "list_algorithms", "names", "preset_names"})


def __getattr__(name: str) -> Any:
    # Lazy, because the algorithms import torch and rewards, a subpackage of this one, must not.
    if name in __all__:
        module = "algorithms" if name in _REGISTRY else "types"
        return getattr(import_module(f"planarena.trainers.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
