"""Greedy validation on held-out rows or episodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from planarena.rows import TrainingRow
from planarena.trainers.config import RolloutConfig
from planarena.trainers.loop.backend import Backend, Sampling
from planarena.trainers.loop.encoding import Prompt
from planarena.trainers.loop.metrics import mean
from planarena.trainers.loop.score import Scorer

__all__ = ["standing", "validate"]


def validate(
    backend: Backend, prompts: Sequence[Prompt], config: RolloutConfig, scorer: Scorer, samples: int
) -> tuple[dict[str, float], list[dict[str, Any]]]:
    """Return validation metrics and a few outputs for people.

    Args:
        backend: What samples.
        prompts: Held-out prompts, of one kind.
        config: Lengths, weights.
        scorer: The reward, without judges: a term that needs one counts as neutral.
        samples: Outputs to return.
    """
    found = backend.rollout(prompts, config, scorer, Sampling())
    # What the user spoiled says nothing of the policy.
    shown_by = [sample for sample in found.samples if not sample.parts.get("discarded")]
    metrics = {
        "validation/success": mean(sample.success for sample in shown_by),
        "validation/reward": mean(sample.reward for sample in shown_by),
        "validation/length": mean(float(sum(sample.mask)) for sample in found.samples),
        "validation/truncated": mean(float(sample.truncated) for sample in found.samples),
    }
    shown = [
        {
            "row": sample.key,
            "last_message": str(prompt.row.prompt[-1].get("content") or "") if prompt.row.prompt else "",
            "output": sample.text,
            "target": prompt.row.target
            if isinstance(prompt.row, TrainingRow)
            else "\n".join(prompt.row.targets),
            "reward": sample.reward,
            "success": sample.success,
            "parts": dict(sample.parts),
        }
        for prompt, sample in list(zip(found.prompts, found.samples, strict=True))[:samples]
    ]
    return metrics, shown


def standing(metrics: Mapping[str, float], select: str) -> tuple[float, float] | None:
    """Return what makes a checkpoint the best, and what decides between equals; None where it was not measured.

    Args:
        metrics: Of a validation.
        select: `success` or `reward` on the rows, or `bench`.
    """
    first, second = f"validation/{select}", "validation/reward"
    if select == "bench":
        first, second = "bench/success", "bench/steps_done"
    return (float(metrics[first]), float(metrics.get(second, 0.0))) if first in metrics else None
