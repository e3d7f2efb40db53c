"""One optimiser update: micro-batches of rollouts, experts or pairs through the loss, gradients added up."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from planarena.trainers.algorithms import demonstrations
from planarena.trainers.algorithms.kto import KTO, reference_point
from planarena.trainers.config import TrainConfig
from planarena.trainers.local.data import PairTokens
from planarena.trainers.local.forward import Scored, plan_micro_batches, score_responses
from planarena.trainers.local.model import Policy
from planarena.trainers.local.optimiser import Optimiser, learning_rate
from planarena.trainers.types import Advantages, Algorithm, LossInputs, LossOutputs, RolloutBatch, Step
from planarena.trainers.update import (
    Expert,
    Sample,
    distributions_in_loss,
    expert_inputs,
    pad,
    rollout_inputs,
    step_of,
)

__all__ = ["Updater", "Work", "score_rows"]

Reference = Callable[..., Scored]


@dataclass(slots=True)
class Work:
    """A scored rollout batch on its way through its updates.

    Attributes:
        samples: B rows, groups whole.
        batch: The same as tensors.
        advantages: Of the whole batch.
        ref_logp_BT: Of the reference policy, where needed.
        teacher_prompts: Per row, where the loss reads the teacher's distributions.
        hints: Hint tokens of the batch's prompts as demonstrations (UFT).
        metrics: Of the rollouts and the advantages.
        fresh: No update since the rollout, so that the ratio is 1.
    """

    samples: list[Sample]
    batch: RolloutBatch
    advantages: Advantages
    ref_logp_BT: Tensor | None = None
    teacher_prompts: list[Sequence[int]] | None = None
    hints: list[Expert] = field(default_factory=list)
    metrics: dict[str, Any] = field(default_factory=dict)
    fresh: bool = True


class Updater:
    """Makes updates of one policy by one algorithm.

    Args:
        policy: The trained policy.
        algorithm: Its loss.
        optimiser: AdamW.
        config: Complete.
        total: Optimiser steps of the run.
        reference: Scores rows under the frozen reference policy, where there is one.
        teacher: Scores rows under the teacher, where there is one.
    """

    def __init__(
        self,
        policy: Policy,
        algorithm: Algorithm,
        optimiser: Optimiser,
        config: TrainConfig,
        total: int,
        *,
        reference: Reference | None = None,
        teacher: Reference | None = None,
    ) -> None:
        self.policy, self.algorithm, self.optimiser = policy, algorithm, optimiser
        self.config, self.total = config, total
        self.reference, self.teacher = reference, teacher
        self.budget = config.update.micro_batch_tokens
        self.temperature = float(config.rollout.temperature or 1.0)
        self.horizon = int(config.rollout.max_response_length or 1)

    def on_rollouts(
        self, work: Work, rows: Sequence[int], experts: Sequence[Expert], done: int
    ) -> dict[str, Any]:
        """Update on some rows of a rollout batch, and on experts where there are any.

        Args:
            work: The batch.
            rows: Rows of this update.
            experts: A fresh expert batch; ignored where hints are the experts.
            done: Optimiser steps done.

        Returns:
            Metrics of the update.
        """
        samples = [work.samples[row] for row in rows]
        hints = self._hints_of(work, samples) if self.algorithm.needs.prompt_hints else []
        experts = hints if self.algorithm.needs.prompt_hints else list(experts)
        step = step_of(done, self.total, samples=samples, experts=experts, horizon=self.horizon)
        tally = _Tally()
        self._start(done)
        needs = self.algorithm.needs
        in_loss = distributions_in_loss(self.algorithm)
        plans = plan_micro_batches(
            [len(sample.prompt_ids) for sample in samples],
            [len(sample.response_ids) for sample in samples],
            [sample.group for sample in samples],
            budget=self.budget,
        )
        for number, plan in enumerate(plans):
            chosen = [samples[place] for place in plan]
            scored = _score(
                self.policy, chosen, temperature=self.temperature, entropy=needs.entropy, distribution=in_loss
            )
            teacher = self._teacher(work, [rows[place] for place in plan]) if in_loss else None
            inputs = rollout_inputs(
                [rows[place] for place in plan],
                work.batch,
                work.advantages,
                scored.logp_BT,
                on_policy=work.fresh,
                ref_logp_BT=work.ref_logp_BT,
                entropy_BT=scored.entropy_BT,
                student_logprobs_BTV=scored.logprobs_BTV,
                teacher_logprobs_BTV=teacher,
            )
            if number == 0 and hints:
                # The hint loss stands beside the policy loss and is never called alone.
                inputs = self._with_hints(inputs, hints)
            tally.add(self.algorithm.loss(inputs, step))
        if experts and not needs.prompt_hints:
            self._experts(experts, step, tally, work.advantages.scalars)
        work.fresh = False
        return self._finish(tally, done, step)

    def on_experts(self, experts: Sequence[Expert], done: int) -> dict[str, Any]:
        """Update on demonstrations alone."""
        step = step_of(done, self.total, experts=experts, horizon=self.horizon)
        tally = _Tally()
        self._start(done)
        self._experts(experts, step, tally, {})
        return self._finish(tally, done, step)

    def on_pairs(self, pairs: Sequence[PairTokens], done: int) -> dict[str, Any]:
        """Update on preference pairs; KTO reads their members as single labelled rows."""
        assert self.reference is not None
        prompts = [pair.prompt_ids for pair in pairs for _ in range(2)]
        responses = [ids for pair in pairs for ids in (pair.chosen, pair.rejected)]
        ids = [number for number in range(len(pairs)) for _ in range(2)]
        samples = [
            Sample(
                prompt_ids=prompt,
                response_ids=list(response),
                mask=[1] * len(response),
                logp=[],
                group=number,
            )
            for prompt, response, number in zip(prompts, responses, ids, strict=True)
        ]
        step = step_of(done, self.total, samples=samples, horizon=self.horizon)
        tally = _Tally()
        self._start(done)
        scalars = {"z0": self._reference_point(samples)} if isinstance(self.algorithm, KTO) else {}
        plans = plan_micro_batches(
            [len(prompt) for prompt in prompts],
            [len(response) for response in responses],
            ids,
            budget=self.budget,
            together=True,
        )
        for plan in plans:
            chosen = [samples[place] for place in plan]
            scored = _score(self.policy, chosen)
            with torch.no_grad():
                reference = _score_by(self.reference, chosen)
            device = scored.logp_BT.device
            inputs = LossInputs(
                logp_BT=scored.logp_BT,
                mask_BT=scored.mask_BT,
                ref_logp_BT=reference.logp_BT,
                preference_B=torch.tensor([1 - 2 * (place % 2) for place in plan], device=device),
                pair_B=torch.tensor([ids[place] for place in plan], device=device),
                scalars=scalars,
            )
            tally.add(self.algorithm.loss(inputs, step))
        return self._finish(tally, done, step) | {
            f"preference/{key}": value for key, value in scalars.items()
        }

    # -- parts ---------------------------------------------------------------------------------------

    def _start(self, done: int) -> None:
        self.policy.model.train()
        self.optimiser.zero()
        # Dropout alone draws from the global generator; a resumed run draws the same.
        torch.manual_seed(self.config.seed * 1_000_003 + done)

    def _finish(self, tally: _Tally, done: int, step: Step) -> dict[str, Any]:
        rate = learning_rate(done, self.total, self.config.update)
        norm, made = self.optimiser.apply(rate, finite=tally.finite)
        self.algorithm.observe_gradient_norm(norm if math.isfinite(norm) else 0.0, step)
        metrics = dict(tally.metrics)
        metrics |= {"update/gradient_norm": norm, "update/learning_rate": rate}
        metrics |= {"update/skipped": 0.0 if made else 1.0, "update/micro_batches": float(tally.calls)}
        if step.expert_tokens:
            metrics["update/expert_tokens"] = float(step.expert_tokens)
        return metrics

    def _experts(
        self, experts: Sequence[Expert], step: Step, tally: _Tally, scalars: Mapping[str, float]
    ) -> None:
        needs = self.algorithm.needs
        plans = _expert_plans(experts, self.budget)
        extra = dict(scalars)
        if needs.expert_entropy and len(plans) > 1:
            extra |= self._entropy_statistics(experts, plans)
        for plan in plans:
            chosen = [experts[place] for place in plan]
            scored = _score_experts(self.policy, chosen, entropy=needs.expert_entropy)
            inputs = LossInputs(
                **expert_inputs(chosen, scored.logp_BT, entropy_ET=scored.entropy_BT, scalars=extra)
            )
            tally.add(self.algorithm.loss(inputs, step))

    def _with_hints(self, inputs: LossInputs, hints: Sequence[Expert]) -> LossInputs:
        scored = _score_experts(self.policy, hints, entropy=False)
        fields = expert_inputs(hints, scored.logp_BT)
        del fields["scalars"]
        return replace(inputs, **fields)

    def _hints_of(self, work: Work, samples: Sequence[Sample]) -> list[Expert]:
        wanted = {sample.key for sample in samples}
        return [hint for hint in work.hints if hint.key in wanted]

    def _entropy_statistics(self, experts: Sequence[Expert], plans: list[list[int]]) -> dict[str, float]:
        """Return the batch-wide numbers of the entropy weights, which no micro-batch could know."""
        config: Any = self.algorithm.config
        weighted = getattr(config, "sft", config)
        share = float(getattr(weighted, "top_fraction", 0.05))
        rows: list[list[float]] = [[] for _ in experts]
        with torch.no_grad():
            for plan in plans:
                scored = _score_experts(self.policy, [experts[place] for place in plan], entropy=True)
                assert scored.entropy_BT is not None
                for place, values in zip(plan, scored.entropy_BT.tolist(), strict=True):
                    rows[place] = values[: len(experts[place].mask)]
        return demonstrations.entropy_statistics(
            pad(rows), pad((e.mask for e in experts), dtype=torch.bool), top_fraction=share
        )

    def _teacher(self, work: Work, rows: Sequence[int]) -> Tensor:
        assert self.teacher is not None
        assert work.teacher_prompts is not None
        with torch.no_grad():
            scored = self.teacher(
                [work.teacher_prompts[row] for row in rows],
                [work.samples[row].response_ids for row in rows],
                [work.samples[row].group for row in rows],
                temperature=self.temperature,
                distribution=True,
            )
        self.policy.model.train()
        assert scored.logprobs_BTV is not None
        return scored.logprobs_BTV

    def _reference_point(self, samples: Sequence[Sample]) -> float:
        """Return KTO's z0 from the batch's prompts with each other's responses, as TRL does."""
        assert self.reference is not None
        if len(samples) < 4:
            return 0.0
        shifted = [
            replace(sample, response_ids=samples[(place + 2) % len(samples)].response_ids, group=place)
            for place, sample in enumerate(samples)
        ]
        ratios = torch.zeros(len(shifted), 1)
        plans = plan_micro_batches(
            [len(sample.prompt_ids) for sample in shifted],
            [len(sample.response_ids) for sample in shifted],
            list(range(len(shifted))),
            budget=self.budget,
        )
        with torch.no_grad():
            for plan in plans:
                chosen = [shifted[place] for place in plan]
                own = _score(self.policy, chosen)
                other = _score_by(self.reference, chosen)
                difference = torch.where(own.mask_BT, own.logp_BT - other.logp_BT, 0.0).sum(1)
                ratios[plan, 0] = difference.cpu()
        return reference_point(ratios, torch.zeros_like(ratios), torch.ones_like(ratios))


class _Tally:
    """Adds up micro-batches."""

    def __init__(self) -> None:
        self.metrics: dict[str, float] = {}
        self.finite = True
        self.calls = 0

    def add(self, out: LossOutputs) -> None:
        self.calls += 1
        if bool(torch.isfinite(out.loss.detach())):
            if out.loss.requires_grad and self.finite:
                out.loss.backward()  # type: ignore[no-untyped-call]
        else:
            self.finite = False
        for key, value in out.metrics.items():
            self.metrics[key] = self.metrics.get(key, 0.0) + float(value)


def _score(policy: Policy, samples: Sequence[Sample], **wanted: Any) -> Scored:
    return score_responses(
        policy,
        [sample.prompt_ids for sample in samples],
        [sample.response_ids for sample in samples],
        [sample.group for sample in samples],
        **wanted,
    )


def _score_by(reference: Reference, samples: Sequence[Sample]) -> Scored:
    return reference(
        [sample.prompt_ids for sample in samples],
        [sample.response_ids for sample in samples],
        [sample.group for sample in samples],
    )


def _score_experts(policy: Policy, experts: Sequence[Expert], *, entropy: bool) -> Scored:
    return score_responses(
        policy,
        [expert.prompt_ids for expert in experts],
        [expert.target_ids for expert in experts],
        list(range(len(experts))),
        entropy=entropy,
    )


def _expert_plans(experts: Sequence[Expert], budget: int) -> list[list[int]]:
    return plan_micro_batches(
        [len(expert.prompt_ids) for expert in experts],
        [len(expert.target_ids) for expert in experts],
        list(range(len(experts))),
        budget=budget,
    )


def score_rows(
    scorer: Reference,
    prompts: Sequence[Sequence[int]],
    samples: Sequence[Sample],
    budget: int,
    **wanted: Any,
) -> list[tuple[list[int], Scored]]:
    """Score all rows of a batch without gradient, pass by pass.

    Args:
        scorer: What `score_responses` is, with the policy bound.
        prompts: Per row; they need not be those that the rows were sampled from.
        samples: Rows.
        budget: Padded tokens of a pass.
        **wanted: Further arguments of `score_responses`.

    Returns:
        (rows, what was scored) of each pass.
    """
    plans = plan_micro_batches(
        [len(prompt) for prompt in prompts],
        [len(sample.response_ids) for sample in samples],
        [sample.group for sample in samples],
        budget=budget,
    )
    with torch.no_grad():
        return [
            (
                plan,
                scorer(
                    [prompts[row] for row in plan],
                    [samples[row].response_ids for row in plan],
                    [samples[row].group for row in plan],
                    **wanted,
                ),
            )
            for plan in plans
        ]
