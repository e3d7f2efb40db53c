"""From prompts to a rollout batch ready for its updates: sampling, filtering, teacher, reference, advantages."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from planarena.rows import TrainingRow
from planarena.trainers.algorithms.correction import correction_weights
from planarena.trainers.config import TrainConfig
from planarena.trainers.loop.backend import Backend, Rollouts, Sampling, Work, teacher_name
from planarena.trainers.loop.batches import Sample, conditioned_messages, pad, rollout_batch
from planarena.trainers.loop.encoding import Order, Prompt
from planarena.trainers.loop.metrics import rollout_metrics
from planarena.trainers.loop.score import Scorer
from planarena.trainers.types import Advantages, Algorithm, RolloutBatch, Step

__all__ = ["Collector"]


class Collector:
    """Draws rollout batches.

    Args:
        backend: What samples and scores.
        config: Complete.
        algorithm: What it needs is supplied.
        scorer: The reward.
        prompts: All prompts of the run.
        order: In which they come.
    """

    def __init__(
        self,
        backend: Backend,
        config: TrainConfig,
        algorithm: Algorithm,
        scorer: Scorer,
        prompts: Sequence[Prompt],
        order: Order,
    ) -> None:
        self.backend, self.config, self.algorithm, self.scorer = backend, config, algorithm, scorer
        self.prompts, self.order = prompts, order
        self.temperature = float(config.rollout.temperature or 1.0)

    def collect(self, step: Step, number: int, *, renew: bool) -> Work:
        """Return the next batch.

        Args:
            step: Where training stands.
            number: Of the batch, from 0; with the seed it fixes the draws.
            renew: Sample from the trained weights of now.
        """
        started = time.perf_counter()
        wanted, needs = int(self.config.rollout.batch_size or 1), self.algorithm.needs
        with self.backend.sampling(step.step, renew=renew) as fresh:
            found = self._roll(self._take(wanted), step, number * 16)
            filtered = 0
            if needs.group_filter:
                found, filtered = self._refill(found, step, number, wanted)
        samples = found.samples
        sampler = [sample.logp for sample in samples]
        self._rescore(samples, fresh=fresh)
        batch = rollout_batch(samples, needs, self.backend.device)
        rolled = time.perf_counter()
        teacher_prompts = None
        if needs.teacher_logp or needs.teacher_distribution:
            teacher_prompts = self._teacher_prompts(found)
            if not needs.teacher_in_loss:
                batch = self._with_teacher(batch, samples, teacher_prompts)
        ref_logp_BT = None
        if needs.reference_policy:
            scores = self.backend.score(samples, by="start", temperature=self.temperature)
            ref_logp_BT = scores.logp_NT.nan_to_num(0.0)
        advantages = self._corrected(self.algorithm.advantages(batch, step), batch, sampler)
        metrics: dict[str, Any] = rollout_metrics(samples)
        metrics |= {key: float(value) for key, value in advantages.metrics.items()}
        metrics |= {"rollout/filtered_groups": float(filtered)} if needs.group_filter else {}
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
            teacher_prompts=teacher_prompts if needs.teacher_in_loss else None,
            hints=found.hints,
            metrics=metrics,
            fresh=fresh,
        )

    def _take(self, number: int) -> list[Prompt]:
        return [self.prompts[index] for index in self.order.take(number)]

    def _roll(self, prompts: Sequence[Prompt], step: Step, draw: int) -> Rollouts:
        needs = self.algorithm.needs
        how = Sampling(
            seed=self.config.seed * 1_000_003 + draw,
            temperature=self.temperature,
            repeats=int(self.config.rollout.group_size or 1),
            step=step,
            demonstrations=needs.demonstrations,
            hint_tokens=self.algorithm.hint_tokens if needs.prompt_hints else None,
            judge=True,
            discount=self.algorithm.step_discount,
        )
        return self.backend.rollout(prompts, self.config.rollout, self.scorer, how)

    def _refill(self, found: Rollouts, step: Step, number: int, wanted: int) -> tuple[Rollouts, int]:
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
            more = self._roll(self._take(missing), step, number * 16 + attempt + 1)
            chosen = self._kept(more)
            dropped += len(more.prompts) - len(chosen.prompts)
            kept = _joined(kept, chosen)
        return (kept if kept.samples else found), dropped

    def _kept(self, found: Rollouts) -> Rollouts:
        flags = self.algorithm.keep_groups(rollout_batch(found.samples, self.algorithm.needs)).tolist()
        groups = sorted({sample.group for sample, flag in zip(found.samples, flags, strict=True) if flag})
        return _chosen(found, groups)

    # -- second passes -------------------------------------------------------------------------------

    def _rescore(self, samples: Sequence[Sample], *, fresh: bool) -> None:
        """Take log-probabilities and entropies from the update's own arithmetic where the rollout's do not serve."""
        corrected = self.config.rollout.correction != "none"
        again = self.backend.rescores == "always" or (
            fresh and (self.backend.rescores == "fresh" or corrected)
        )
        entropy = self.algorithm.needs.entropy and not self.backend.gives_entropy
        own = [sample for sample in samples if not sample.is_demo]
        if not own or not (again or entropy):
            return
        scores = self.backend.score(own, by="sampled", temperature=self.temperature, entropy=entropy)
        for sample, values in zip(own, scores.logp_NT.tolist(), strict=True):
            sample.logp = values[: len(sample.response_ids)] if again else sample.logp
        if scores.entropy_NT is not None:
            for sample, values in zip(own, scores.entropy_NT.tolist(), strict=True):
                sample.entropy = values[: len(sample.response_ids)]

    def _corrected(
        self, advantages: Advantages, batch: RolloutBatch, sampler: Sequence[Sequence[float]]
    ) -> Advantages:
        """Weigh the advantages by how much likelier the policy is than the sampler to have written each token."""
        how = self.config.rollout
        if how.correction == "none" or batch.old_logp_BT is None:
            return advantages
        sampler_BT = pad(sampler, width=batch.mask_BT.shape[1]).to(batch.old_logp_BT)
        weight_BT = correction_weights(
            batch.old_logp_BT,
            sampler_BT,
            batch.mask_BT,
            level=how.correction_level,
            upper=how.correction_upper,
            lower=how.correction_lower if how.correction == "mask" else None,
        )
        valid_BT = batch.mask_BT.bool()
        inside = weight_BT[valid_BT].double()
        metrics = {
            "correction/mean_weight": float(inside.mean()) if inside.numel() else 1.0,
            "correction/dropped": float((inside == 0).double().mean()) if inside.numel() else 0.0,
            "correction/kl_to_sampler": float((sampler_BT - batch.old_logp_BT)[valid_BT].double().mean())
            if inside.numel()
            else 0.0,
        }
        return replace(
            advantages,
            values_BT=advantages.values_BT * weight_BT.to(advantages.values_BT.dtype),
            metrics={**advantages.metrics, **metrics},
        )

    def _teacher_prompts(self, found: Rollouts) -> list[Sequence[int]]:
        """Return each row's prompt with the ground truth in it; its own where that is longer than the context.

        A teacher that is not to see the ground truth reads the policy's own.
        """
        if self.algorithm.needs.plain_teacher:
            return [sample.prompt_ids for sample in found.samples]
        by_group: dict[int, Sequence[int]] = {}
        for group, prompt in enumerate(found.prompts):
            row = prompt.row
            gold = row.target if isinstance(row, TrainingRow) else "\n".join(row.targets)
            messages = conditioned_messages(row.prompt, gold, self.config.data.conditioned)
            ids = self.backend.chat.prompt(messages, row.tools if row.format == "native" else None)
            longest = max(len(sample.response_ids) for sample in found.samples if sample.group == group)
            by_group[group] = ids if len(ids) + longest <= self.backend.context else prompt.ids
        return [by_group[sample.group] for sample in found.samples]

    def _with_teacher(
        self, batch: RolloutBatch, samples: Sequence[Sample], prompts: Sequence[Sequence[int]]
    ) -> RolloutBatch:
        whole = self.algorithm.needs.teacher_distribution
        scores = self.backend.score(
            samples,
            by=teacher_name(self.config, self.algorithm.needs),
            prompts=prompts,
            temperature=self.temperature,
            reverse_kl=whole,
        )
        if whole:
            return replace(batch, reverse_kl_BT=scores.reverse_kl_NT)
        return replace(batch, teacher_logp_BT=scores.logp_NT)


def _chosen(found: Rollouts, groups: Sequence[int]) -> Rollouts:
    """Return some groups, numbered from 0 again."""
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
