"""The gradient of one update: micro-batches of rollouts, experts or pairs through the loss, added up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from planarena.trainers.config import TrainConfig
from planarena.trainers.local.forward import Scored, plan_micro_batches, score_responses
from planarena.trainers.local.model import Policy
from planarena.trainers.loop.backend import Job
from planarena.trainers.loop.batches import Expert, Sample, expert_inputs, rollout_inputs
from planarena.trainers.types import Algorithm, LossInputs, LossOutputs

__all__ = ["Tally", "accumulate"]

# What `score_responses` is, with the policy bound.
Teacher = Callable[..., Scored]


class Tally:
    """Adds up micro-batches.

    Attributes:
        metrics: Of the loss.
        finite: Every loss was.
        calls: Micro-batches.
    """

    def __init__(self) -> None:
        self.metrics: dict[str, float] = {}
        self.finite = True
        self.calls = 0

    def add(self, out: LossOutputs) -> None:
        """Take the loss of a micro-batch and let its gradient flow."""
        self.calls += 1
        if bool(torch.isfinite(out.loss.detach())):
            if out.loss.requires_grad and self.finite:
                out.loss.backward()  # type: ignore[no-untyped-call]
        else:
            self.finite = False
        for key, value in out.metrics.items():
            self.metrics[key] = self.metrics.get(key, 0.0) + float(value)


def accumulate(
    job: Job, policy: Policy, algorithm: Algorithm, config: TrainConfig, teacher: Teacher
) -> Tally:
    """Add up the gradients of an update in the policy.

    Args:
        job: The update.
        policy: Trained here.
        algorithm: Its loss.
        config: Temperature and the size of micro-batches.
        teacher: Where the loss reads distributions of one.
    """
    tally = Tally()
    policy.model.train()
    passes = _Passes(policy, config)
    if job.work is not None:
        _rollouts(job, algorithm, passes, teacher, tally)
    if job.pairs:
        _pairs(job, algorithm, passes, tally)
    if job.experts and not algorithm.needs.prompt_hints:
        for rows in passes.plan_experts(job.experts):
            chosen = [job.experts[row] for row in rows]
            scored = passes.experts(chosen, entropy=algorithm.needs.expert_entropy)
            inputs = expert_inputs(chosen, scored.logp_BT, entropy_ET=scored.entropy_BT, scalars=job.scalars)
            tally.add(algorithm.loss(LossInputs(**inputs), job.step))
    return tally


class _Passes:
    """Forward passes of the policy with gradient.

    Args:
        policy: The policy.
        config: Temperature and budget.
    """

    def __init__(self, policy: Policy, config: TrainConfig) -> None:
        self.policy = policy
        self.temperature = float(config.rollout.temperature or 1.0)
        self.budget = int(config.update.micro_batch_tokens or 16384)

    def plan(self, samples: Sequence[Sample], *, together: bool = False) -> list[list[int]]:
        return plan_micro_batches(
            [len(sample.prompt_ids) for sample in samples],
            [len(sample.response_ids) for sample in samples],
            [sample.group for sample in samples],
            budget=self.budget,
            together=together,
        )

    def plan_experts(self, experts: Sequence[Expert]) -> list[list[int]]:
        lengths = [len(one.prompt_ids) for one in experts], [len(one.target_ids) for one in experts]
        return plan_micro_batches(*lengths, range(len(experts)), budget=self.budget)

    def samples(self, samples: Sequence[Sample], **wanted: Any) -> Scored:
        return score_responses(
            self.policy,
            [sample.prompt_ids for sample in samples],
            [sample.response_ids for sample in samples],
            [sample.group for sample in samples],
            **wanted,
        )

    def experts(self, experts: Sequence[Expert], *, entropy: bool = False) -> Scored:
        rows = [one.prompt_ids for one in experts], [one.target_ids for one in experts]
        return score_responses(self.policy, *rows, range(len(experts)), entropy=entropy)


def _rollouts(job: Job, algorithm: Algorithm, passes: _Passes, teacher: Teacher, tally: Tally) -> None:
    work, needs = job.work, algorithm.needs
    assert work is not None
    samples = [work.samples[row] for row in job.rows]
    for number, places in enumerate(passes.plan(samples)):
        chosen, rows = [samples[place] for place in places], [job.rows[place] for place in places]
        scored = passes.samples(
            chosen,
            temperature=passes.temperature,
            entropy=needs.entropy,
            distribution=needs.teacher_in_loss,
        )
        taught = None
        if needs.teacher_in_loss:
            assert work.teacher_prompts is not None
            prompts = [work.teacher_prompts[row] for row in rows]
            taught = _taught(teacher, prompts, chosen, passes.temperature)
            passes.policy.model.train()
        inputs = rollout_inputs(
            rows,
            work.batch,
            work.advantages,
            scored.logp_BT,
            on_policy=work.fresh,
            scalars=job.scalars,
            ref_logp_BT=work.ref_logp_BT,
            entropy_BT=scored.entropy_BT,
            student_logprobs_BTV=scored.logprobs_BTV,
            teacher_logprobs_BTV=taught,
        )
        if number == 0 and job.experts and needs.prompt_hints:
            # The hint loss stands beside the policy loss and is never called alone.
            hints = expert_inputs(job.experts, passes.experts(job.experts).logp_BT)
            del hints["scalars"]
            inputs = replace(inputs, **hints)
        tally.add(algorithm.loss(inputs, job.step))


def _taught(
    teacher: Teacher, prompts: Sequence[Sequence[int]], samples: Sequence[Sample], temperature: float
) -> Tensor:
    """Return the teacher's (rows, T, V) log-distributions."""
    rows = [sample.response_ids for sample in samples], [sample.group for sample in samples]
    with torch.no_grad():
        found = teacher(prompts, *rows, temperature=temperature, distribution=True).logprobs_BTV
    assert found is not None
    return found


def _pairs(job: Job, algorithm: Algorithm, passes: _Passes, tally: Tally) -> None:
    assert job.pair_ref_logp_NT is not None
    for places in passes.plan(job.pairs, together=True):
        scored = passes.samples([job.pairs[place] for place in places])
        device, width = scored.logp_BT.device, scored.logp_BT.shape[1]
        inputs = LossInputs(
            logp_BT=scored.logp_BT,
            mask_BT=scored.mask_BT,
            ref_logp_BT=job.pair_ref_logp_NT[places][:, :width],
            preference_B=torch.tensor([1 - 2 * (place % 2) for place in places], device=device),
            pair_B=torch.tensor([job.pairs[place].group for place in places], device=device),
            scalars=job.scalars,
        )
        tally.add(algorithm.loss(inputs, job.step))
