"""Strict frozen configuration from defaults, presets, YAML and `--set key=value`."""

from __future__ import annotations

from planarena.config.build import (
    PRESETS,
    AllowedConfig,
    BuildConfig,
    CallsConfig,
    CompositionConfig,
    ExecutionConfig,
    ModelsConfig,
    QuotaConfig,
    SplitConfig,
)
from planarena.config.contrast import TRIVIAL_KINDS, ContrastConfig
from planarena.config.reading import load_config, parse_settings

__all__ = [
    "PRESETS",
    "TRIVIAL_KINDS",
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
