"""Checks that settings share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planarena.errors import ConfigError

__all__ = ["are_weights", "require"]


def are_weights(weights: Mapping[str, float]) -> bool:
    """Say whether numbers can be weights: finite, none negative, not all 0."""
    return all(0 <= weight < float("inf") for weight in weights.values()) and sum(weights.values()) > 0


def require(good: bool, key: str, value: Any, wanted: str) -> None:
    """Refuse a setting that is out of range.

    Raises:
        ConfigError: It is not good.
    """
    if not good:
        raise ConfigError(f"{value!r} is out of range", where=key, fix=f"give {wanted}")
