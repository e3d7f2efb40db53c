"""The learning rate of an update: over the run, or over each of its stages."""

from __future__ import annotations

import math

from planarena.trainers.config import StageConfig, UpdateConfig
from planarena.trainers.types import Algorithm, Step

__all__ = ["learning_rate", "rate_of"]


def learning_rate(step: int, total: int, config: UpdateConfig | StageConfig) -> float:
    """Return the learning rate of a step: a linear warm-up, then constant or a cosine to `final_ratio`.

    Args:
        step: Optimiser steps done, from 0.
        total: Of the run.
        config: Peak, shape, warm-up.
    """
    peak = float(config.learning_rate or 0.0)
    if step < config.warmup:
        return peak * (step + 1) / config.warmup
    if config.schedule != "cosine":
        return peak
    progress = min((step - config.warmup) / max(total - config.warmup, 1), 1.0)
    low = peak * config.final_ratio
    return low + 0.5 * (peak - low) * (1.0 + math.cos(math.pi * progress))


def rate_of(algorithm: Algorithm, step: Step, config: UpdateConfig, *, supervised: bool) -> float:
    """Return the learning rate of an update.

    Where `update.sft` is given and the algorithm has phases of its own, its supervised updates follow that, and every
    stage warms up and decays over its own steps.

    Args:
        algorithm: Knows its stages.
        step: Where training stands.
        config: Rates.
        supervised: The update is on demonstrations alone.
    """
    if config.sft is None or not algorithm.needs.own_phases:
        return learning_rate(step.step, step.total_steps, config)
    done, total = algorithm.stage(step)
    return learning_rate(done, total, config.sft if supervised else config)
