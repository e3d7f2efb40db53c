"""From prompts to a rollout batch ready for its updates: sampling, filtering, teacher, reference, advantages."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from planarena.rows import TrainingRow
from planarena.trainers.algorithms.gear import reverse_kl
from planarena.trainers.config import TrainConfig
from planarena.trainers.local.data import Order, Prompt
from planarena.trainers.local.episodes import sample_episodes
from planarena.trainers.local.metrics import rollout_metrics
from planarena.trainers.local.model import Policy
from planarena.trainers.local.rollout import Rollouts, sample_steps
from planarena.trainers.local.score import Scorer
from planarena.trainers.local.update import Reference, Work, score_rows
from planarena.trainers.types import Algorithm, RolloutBatch, Step
from planarena.trainers.update import Sample, conditioned_messages, distributions_in_loss, rollout_batch

__all__ = ["Collector"]


class Collector:
    """Draws rollout batches.

    Args:
        config: Complete.
        algorithm: What it needs is supplied.
        scorer: The reward.
        prompts: All prompts of the run.
        order: In which they come.
        reference: Scores rows under the reference policy, where there is one.
        teacher: Scores rows under the teacher, where there is one.
    """

    def __init__(
        self,
        config: TrainConfig,
        algorithm: Algorithm,
        scorer: Scorer,
        prompts: Sequence[Prompt],
        order: Order,
        *,
        reference: Reference | None = None,
        teacher: Reference | None = None,
    ) -> None:
        self.config, self.algorithm, self.scorer = config, algorithm, scorer
        self.prompts, self.order = prompts, order
        self.reference, self.teacher = reference, teacher
        self.budget = config.update.micro_batch_tokens
        self.temperature = float(config.rollout.temperature or 1.0)
        self.longest_teacher = 0

    def collect(self, policy: Policy, step: Step, number: int) -> Work:
        """Return the next batch.

        Args:
            policy: The rollout policy.
            step: Where training stands.
            number: Of the batch, from 0; with the seed it fixes the draws.
        """
        started = time.perf_counter()
        wanted = int(self.config.rollout.batch_size or 1)
        found = self._roll(policy, self._take(wanted), step, number * 16)
        filtered = 0
        if self.algorithm.needs.group_filter:
            found, filtered = self._refill(policy, found, step, number, wanted)
        samples = found.samples
        self._rolled()
        if policy.bfloat16:
            # Decoding rounds otherwise than the update does, and the ratio would see it.
            self._recompute(policy, samples)
        batch = rollout_batch(samples, self.algorithm.needs, policy.device)
        rolled = time.perf_counter()
        teacher_prompts = self._teacher_prompts(policy, found) if self._wants_teacher() else None
        if teacher_prompts is not None and not distributions_in_loss(self.algorithm):
            batch = self._with_teacher(policy, batch, samples, teacher_prompts)
        ref_logp_BT = self._reference(batch, samples) if self.algorithm.needs.reference_policy else None
        advantages = self.algorithm.advantages(batch, step)
        metrics: dict[str, Any] = rollout_metrics(samples)
        metrics |= {key: float(value) for key, value in advantages.metrics.items()}
        metrics |= {"rollout/filtered_groups": float(filtered)} if self.algorithm.needs.group_filter else {}
        if found.tool_calls or found.observation_tokens:
            metrics["rollout/tool_calls"] = found.tool_calls / max(len(samples), 1)
            metrics["rollout/observation_tokens"] = float(found.observation_tokens)
        metrics["time/rollout"] = rolled - started
        metrics["time/second_passes"] = time.perf_counter() - rolled
        return Work(
            samples=samples,
            batch=batch,
            advantages=advantages,
            ref_logp_BT=ref_logp_BT,
            teacher_prompts=teacher_prompts if distributions_in_loss(self.algorithm) else None,
            hints=found.hints,
            metrics=metrics,
        )

    def _rolled(self) -> None:
        """Do what comes between the rollouts and the second passes; here both use one model."""

    def _take(self, number: int) -> list[Prompt]:
        return [self.prompts[index] for index in self.order.take(number)]

    def _roll(self, policy: Policy, prompts: Sequence[Prompt], step: Step, draw: int) -> Rollouts:
        rollout = self.config.rollout
        needs = self.algorithm.needs
        seed = self.config.seed * 1_000_003 + draw
        repeats = int(rollout.group_size or 1)
        if self.config.data.mode == "episodes":
            return sample_episodes(
                policy,
                prompts,
                rollout,
                self.scorer,
                seed=seed,
                temperature=self.temperature,
                repeats=repeats,
                demonstrations=needs.demonstrations,
                gamma=float(getattr(self.algorithm.config, "gamma", 1.0)) if needs.step_anchors else 1.0,
            )
        return sample_steps(
            policy,
            prompts,
            rollout,
            self.scorer,
            step=step,
            seed=seed,
            temperature=self.temperature,
            repeats=repeats,
            demonstrations=needs.demonstrations,
            draw_hints=getattr(self.algorithm, "draw_hint_segments", None) if needs.prompt_hints else None,
        )

    def _refill(
        self, policy: Policy, found: Rollouts, step: Step, number: int, wanted: int
    ) -> tuple[Rollouts, int]:
        """Drop groups that the algorithm does not keep and draw others in their place (DAPO).

        Where too few are kept after all draws the batch is smaller; where none is, the first draw is used and its
        advantages are zero.
        """
        kept = self._kept(found)
        dropped = len(found.prompts) - len(kept.prompts)
        for attempt in range(self.config.rollout.refills):
            missing = wanted - len(kept.prompts)
            if missing <= 0:
                break
            more = self._roll(policy, self._take(missing), step, number * 16 + attempt + 1)
            chosen = self._kept(more)
            dropped += len(more.prompts) - len(chosen.prompts)
            kept = _joined(kept, chosen)
        return (kept if kept.samples else found), dropped

    def _kept(self, found: Rollouts) -> Rollouts:
        flags = self.algorithm.keep_groups(rollout_batch(found.samples, self.algorithm.needs)).tolist()
        groups = sorted({sample.group for sample, flag in zip(found.samples, flags, strict=True) if flag})
        return _chosen(found, groups)

    def _recompute(self, policy: Policy, samples: Sequence[Sample]) -> None:
        policy.model.eval()
        own = [sample for sample in samples if not sample.is_demo]
        passes = score_rows(
            bound(policy),
            [sample.prompt_ids for sample in own],
            own,
            self.budget,
            temperature=self.temperature,
        )
        for rows, scored in passes:
            for row, values in zip(rows, scored.logp_BT.tolist(), strict=True):
                own[row].logp = values[: len(own[row].response_ids)]

    # -- second passes -------------------------------------------------------------------------------

    def _wants_teacher(self) -> bool:
        needs = self.algorithm.needs
        return needs.teacher_logp or needs.teacher_distribution

    def _teacher_prompts(self, policy: Policy, found: Rollouts) -> list[Sequence[int]]:
        """Return each row's prompt with the ground truth in it; its own where that is longer than the context."""
        by_group: dict[int, Sequence[int]] = {}
        for group, prompt in enumerate(found.prompts):
            row = prompt.row
            gold = row.target if isinstance(row, TrainingRow) else "\n".join(row.targets)
            messages = conditioned_messages(row.prompt, gold, self.config.data.conditioned)
            ids = policy.chat.prompt(messages, row.tools if row.format == "native" else None)
            longest = max(len(sample.response_ids) for sample in found.samples if sample.group == group)
            by_group[group] = ids if len(ids) + longest <= policy.context else prompt.ids
        return [by_group[sample.group] for sample in found.samples]

    def _with_teacher(
        self, policy: Policy, batch: RolloutBatch, samples: Sequence[Sample], prompts: list[Sequence[int]]
    ) -> RolloutBatch:
        assert self.teacher is not None
        full = self.algorithm.needs.teacher_distribution
        policy.model.eval()
        value_BT = torch.full_like(batch.mask_BT, float("nan"), dtype=torch.float32)
        student = bound(policy)
        with torch.no_grad():
            passes = score_rows(
                self.teacher, prompts, samples, self.budget, temperature=self.temperature, distribution=full
            )
            for rows, theirs in passes:
                if full:
                    own = student(
                        [samples[row].prompt_ids for row in rows],
                        [samples[row].response_ids for row in rows],
                        [samples[row].group for row in rows],
                        temperature=self.temperature,
                        distribution=True,
                    )
                    assert own.logprobs_BTV is not None
                    assert theirs.logprobs_BTV is not None
                    found_BT = reverse_kl(own.logprobs_BTV, theirs.logprobs_BTV)
                else:
                    found_BT = theirs.logp_BT
                value_BT[rows, : found_BT.shape[1]] = found_BT.to(value_BT.dtype)
        return replace(batch, reverse_kl_BT=value_BT) if full else replace(batch, teacher_logp_BT=value_BT)

    def _reference(self, batch: RolloutBatch, samples: Sequence[Sample]) -> Tensor:
        assert self.reference is not None
        found_BT = torch.zeros_like(batch.mask_BT, dtype=torch.float32)
        prompts = [sample.prompt_ids for sample in samples]
        for rows, scored in score_rows(
            self.reference, prompts, samples, self.budget, temperature=self.temperature
        ):
            found_BT[rows, : scored.logp_BT.shape[1]] = scored.logp_BT
        return found_BT


def bound(policy: Policy) -> Reference:
    """Return `score_responses` of one policy in evaluation mode."""
    from planarena.trainers.local.forward import Scored, score_responses

    def score(prompts: Any, responses: Any, groups: Any, **wanted: Any) -> Scored:
        policy.model.eval()
        return score_responses(policy, prompts, responses, groups, **wanted)

    return score


def _chosen(found: Rollouts, groups: Sequence[int]) -> Rollouts:
    """Return some groups, numbered anew from 0."""
    place = {group: number for number, group in enumerate(groups)}
    samples = [
        replace(sample, group=place[sample.group]) for sample in found.samples if sample.group in place
    ]
    kept = [found.prompts[group] for group in groups]
    keys = {prompt.row.row_id for prompt in kept}
    return replace(
        found, samples=samples, prompts=kept, hints=[hint for hint in found.hints if hint.key in keys]
    )


def _joined(left: Rollouts, right: Rollouts) -> Rollouts:
    offset, rows = len(left.prompts), len(left.samples)
    moved = [
        replace(sample, group=sample.group + offset, trajectory=sample.trajectory + rows)
        for sample in right.samples
    ]
    return Rollouts(
        samples=[*left.samples, *moved],
        prompts=[*left.prompts, *right.prompts],
        hints=[*left.hints, *right.hints],
        observation_tokens=left.observation_tokens + right.observation_tokens,
        tool_calls=left.tool_calls + right.tool_calls,
    )
