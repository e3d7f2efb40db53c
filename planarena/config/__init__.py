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
from planarena.config.conversations import CONVERSATION_KINDS, PLAIN, ConversationConfig
from planarena.config.reading import load_config, merge_settings, parse_settings

__all__ = [
    "CONVERSATION_KINDS",
    "PLAIN",
    "PRESETS",
    "TRIVIAL_KINDS",
    "AllowedConfig",
    "BuildConfig",
    "CallsConfig",
    "CompositionConfig",
    "ContrastConfig",
    "ConversationConfig",
    "ExecutionConfig",
    "ModelsConfig",
    "QuotaConfig",
    "SplitConfig",
    "load_config",
    "merge_settings",
    "parse_settings",
]
