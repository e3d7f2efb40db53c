"""One file per algorithm: its advantage, its loss, its options and its deviations from the paper."""

from __future__ import annotations

from planarena.trainers.algorithms.ablations import Ablation, Variant, ablation, ablation_names
from planarena.trainers.algorithms.registry import (
    AnyAlgorithmConfig,
    build_config,
    describe_options,
    get,
    list_algorithms,
    names,
    preset_names,
    recipe,
)

__all__ = [
    "Ablation",
    "AnyAlgorithmConfig",
    "Variant",
    "ablation",
    "ablation_names",
    "build_config",
    "describe_options",
    "get",
    "list_algorithms",
    "names",
    "preset_names",
    "recipe",
]
