"""Algorithms, rewards and engines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planarena.lazy import on_first_use

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
    "Advantages": "types",
    "Algorithm": "types",
    "AlgorithmConfig": "types",
    "LossInputs": "types",
    "LossOutputs": "types",
    "Needs": "types",
    "RolloutBatch": "types",
    "Step": "types",
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

# The algorithms import torch, and rewards, a subpackage of this one, must not.
__getattr__, __dir__ = on_first_use(__name__, __all__, _HOMES)
