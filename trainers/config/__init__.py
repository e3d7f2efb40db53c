"""The settings of a training run, and how recipes and defaults complete it."""

from __future__ import annotations

from planarena.trainers.config.completing import complete
from planarena.trainers.config.sections import (
    CheckpointConfig,
    DataConfig,
    ExpertsConfig,
    JudgeConfig,
    LogConfig,
    LoraConfig,
    ModelConfig,
    RewardConfig,
    RolloutConfig,
    StageConfig,
    TinyConfig,
    TrainConfig,
    UpdateConfig,
    ValidationConfig,
)

__all__ = [
    "CheckpointConfig",
    "DataConfig",
    "ExpertsConfig",
    "JudgeConfig",
    "LogConfig",
    "LoraConfig",
    "ModelConfig",
    "RewardConfig",
    "RolloutConfig",
    "StageConfig",
    "TinyConfig",
    "TrainConfig",
    "UpdateConfig",
    "ValidationConfig",
    "complete",
]
