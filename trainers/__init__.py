"""Algorithms, rewards and engines."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from planarena.trainers.algorithms import get, list_algorithms, names, preset_names
    from planarena.trainers.config import TrainConfig
    from planarena.trainers.launch import TrainResult, train
    from planarena.trainers.local.decode import DecodingConfig, LoadedPolicy, Response, open_policy
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
    "DecodingConfig",
    "LoadedPolicy",
    "LossInputs",
    "LossOutputs",
    "Needs",
    "Response",
    "RolloutBatch",
    "Step",
    "TrainConfig",
    "TrainResult",
    "get",
    "list_algorithms",
    "names",
    "open_policy",
    "preset_names",
    "train",
]

_HOMES = {
    "DecodingConfig": "local.decode",
    "LoadedPolicy": "local.decode",
    "Response": "local.decode",
    "TrainConfig": "config",
    "TrainResult": "launch",
    "get": "algorithms",
    "list_algorithms": "algorithms",
    "names": "algorithms",
    "open_policy": "local.decode",
    "preset_names": "algorithms",
    "train": "launch",
}


def __getattr__(name: str) -> Any:
    # Lazy, because the algorithms import torch and rewards, a subpackage of this one, must not.
    if name in __all__:
        return getattr(import_module(f"planarena.trainers.{_HOMES.get(name, 'types')}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
