"""Schedules of mixing coefficients, clip radii and hint lengths, as functions of the step alone."""

from __future__ import annotations

import math

import torch
from torch import Tensor

__all__ = [
    "adaptive_coefficient",
    "cyclic_triangle",
    "draw_hint_segments",
    "dynamic_upper_clip",
    "exponential_decay",
    "hint_length",
    "hint_probability",
    "variance_clip_radius",
    "warmup_cosine",
]


def warmup_cosine(step: int, *, warmup: int, decay: int, peak: float, valley: float) -> float:
    """Return CHORD's mu: linear warm-up from 0 to `peak`, then a cosine down to `valley`.

    Source: CHORD section 4.3 and appendix A.1 ("decreasing from 0.9 to 0.05"). Deviation: 1. the paper
    names no shape; the cosine is that of both public implementations.

    Args:
        step: Optimiser steps done, from 0.
        warmup: Steps of the warm-up.
        decay: Steps of the decay; 0 returns `valley` at once after the warm-up.
        peak: Value at the end of the warm-up.
        valley: Value from `warmup + decay` on.
    """
    if step < warmup:
        return peak * step / warmup
    if step >= warmup + decay:
        return valley
    return valley + (peak - valley) * 0.5 * (1.0 + math.cos(math.pi * (step - warmup) / decay))


def adaptive_coefficient(mean_reward: float, *, threshold: float) -> float:
    """Return CHORD's reward-driven mu = max(0, tau - mean reward), held inside [0, 1].

    Source: CHORD appendix B.1. Deviation: 1. clamped at 1, since a mean reward of -3 would give 3.5;
    2. a mean that is not finite (no reward at all) gives 0.
    """
    if not math.isfinite(mean_reward):
        return 0.0
    return min(1.0, max(0.0, threshold - mean_reward))


def exponential_decay(step: int, *, rate: float) -> float:
    """Return DUPO's gamma = exp(-zeta * t), t the 1-based step.

    Source: DUPO Eq. 13. No deviation.

    Args:
        step: The paper's t, from 1.
        rate: zeta in (0, 1].
    """
    return math.exp(-rate * step)


def cyclic_triangle(step: int, *, low: float, high: float, period: int, rise: float = 0.5) -> float:
    """Return ToolUPT's gamma: linear from `low` up to `high` and back, again and again.

    Source: ToolUPT section 3.4 (shape only). Deviation: 1. the numbers are ours.

    Args:
        step: Optimiser steps done, from 0.
        low: Value at the start of each period.
        high: Value at its top.
        period: Steps of one period.
        rise: Fraction of the period spent rising, in (0, 1).
    """
    position = (step % period) / period
    slope = position / rise if position < rise else (1.0 - position) / (1.0 - rise)
    return low + (high - low) * slope


def dynamic_upper_clip(average: Tensor, *, step: int, total_steps: int, floor: float) -> Tensor:
    """Return DUPO's upper clip radius eps_H = m * tau / (m + tau), tau = T - t + 1.

    Source: DUPO Eq. 12. Deviations: 1. a negative average counts as 0, because the formula then has a
    pole and an empty clip interval; 2. never below `floor` (0 gives the printed law for m >= 0).

    Args:
        average: Average past reward m, any shape.
        step: The paper's t, from 1.
        total_steps: The paper's T.
        floor: Smallest radius.

    Returns:
        The radius, in the shape and dtype of `average`, detached.
    """
    remaining = max(total_steps - step + 1, 1)
    gain = average.detach().clamp(min=0.0)
    # m / (m / tau + 1) is Eq. 12 without the product, which overflows for a large m.
    return (gain / (gain / remaining + 1.0)).clamp(min=floor)


def variance_clip_radius(mean_weight: float, *, smallest: float, largest: float) -> float:
    """Return AWPO's clip radius e_min + (1 - mean gate weight) * (e_max - e_min).

    Source: AWPO Eq. 29. No deviation.
    """
    return smallest + (1.0 - mean_weight) * (largest - smallest)


def hint_probability(step: int, *, horizon: int, low: float, high: float) -> float:
    """Return UFT's probability of keeping each demonstration segment in the prompt.

    Source: the UFT authors' code: a cosine from `high` to `low` over `horizon` steps, 0 afterwards.

    Args:
        step: Optimiser steps done, from 0.
        horizon: Last step with hints.
        low: Probability at `horizon`.
        high: Probability at step 0.
    """
    if step > horizon:
        return 0.0
    return low + 0.5 * (high - low) * (1.0 + math.cos(math.pi * step / horizon))


def draw_hint_segments(probability: float, segments: int, *, seed: int, row: int) -> int:
    """Draw UFT's number of hint segments ~ Binomial(segments, probability), repeatably.

    Args:
        probability: From `hint_probability`.
        segments: Number of segments that the demonstration was cut into.
        seed: Seed of this step.
        row: Index of the prompt in the batch.
    """
    generator = torch.Generator().manual_seed((seed * 1_000_003 + row) % (2**63))
    return int((torch.rand(segments, generator=generator) < probability).sum())


def hint_length(tokens: int, segments: int, kept: int) -> int:
    """Return how many tokens of a demonstration its first `kept` of `segments` equal parts hold (UFT).

    Args:
        tokens: Of the demonstration, its end excluded.
        segments: At most as many as tokens.
        kept: Shown parts.
    """
    segments = max(min(segments, tokens), 1)
    return tokens * min(kept, segments) // segments
