"""Strict frozen configuration from defaults, presets, YAML and `--set key=value`."""

from __future__ import annotations

from planarena.config.build import (
    PRESETS,
    AllowedConfig,
    BuildConfig,
    CallsConfig,
    CompositionConfig,
    ContrastConfig,
    ExecutionConfig,
    ModelsConfig,
    QuotaConfig,
    SplitConfig,
)
from planarena.config.reading import load_config, parse_settings

__all__ = [
    "PRESETS",
    "AllowedConfig",
    "BuildConfig",
    "CallsConfig",
    "CompositionConfig",
    "ContrastConfig",
    "ExecutionConfig",
    "ModelsConfig",
    "QuotaConfig",
    "SplitConfig",
    "load_config",
    "parse_settings",
]
