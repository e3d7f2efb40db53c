"""Greedy validation on held-out rows or episodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from planarena.rows import TrainingRow
from planarena.trainers.config import RolloutConfig
from planarena.trainers.local.data import Prompt
from planarena.trainers.local.episodes import sample_episodes
from planarena.trainers.local.metrics import mean
from planarena.trainers.local.model import Policy
from planarena.trainers.local.rollout import Rollouts, sample_steps
from planarena.trainers.local.score import Scorer
from planarena.trainers.types import Step

__all__ = ["roll_out", "standing", "validate"]


def roll_out(
    policy: Policy,
    prompts: Sequence[Prompt],
    config: RolloutConfig,
    scorer: Scorer,
    *,
    temperature: float = 0.0,
    repeats: int = 1,
    seed: int = 0,
) -> Rollouts:
    """Sample responses to held-out prompts and score them; single decisions or episodes, as the rows are.

    Args:
        policy: The policy.
        prompts: Of one kind.
        config: Lengths, weights.
        scorer: The reward; judges are not asked.
        temperature: 0 is greedy.
        repeats: Samples per prompt.
        seed: Of the draws.
    """
    if prompts and not isinstance(prompts[0].row, TrainingRow):
        return sample_episodes(
            policy, prompts, config, scorer, seed=seed, temperature=temperature, repeats=repeats
        )
    return sample_steps(
        policy,
        prompts,
        config,
        scorer,
        step=Step(),
        seed=seed,
        temperature=temperature,
        repeats=repeats,
        judge=False,
    )


def validate(
    policy: Policy,
    prompts: Sequence[Prompt],
    config: RolloutConfig,
    scorer: Scorer,
    samples: int,
    *,
    roll: Callable[[Policy, Sequence[Prompt], RolloutConfig, Scorer], Rollouts],
) -> tuple[dict[str, float], list[dict[str, Any]]]:
    """Return validation metrics and a few outputs for people.

    Args:
        policy: The policy.
        prompts: Held-out prompts.
        config: Lengths, weights.
        scorer: The reward, without judges: a term that needs one counts as neutral.
        samples: Outputs to return.
        roll: `roll_out`, or what it is where the policy is elsewhere.
    """
    found = roll(policy, prompts, config, scorer)
    metrics = {
        "validation/success": mean(sample.success for sample in found.samples),
        "validation/reward": mean(sample.reward for sample in found.samples),
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
