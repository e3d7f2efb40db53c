"""OPSD: distil a ground-truth-conditioned teacher into the policy on the policy's own rollouts.

D = beta KL(T || M) + (1 - beta) KL(S || M), M = (1 - beta) S + beta T; beta = 0 is KL(T || S),
beta = 1 is KL(S || T). L = token-mean of D. Source: arXiv 2601.18734, authors' code.

Deviations: 1. the sum over the vocabulary is in the dtype of the log-probabilities, without top-k.
"""

from __future__ import annotations

import math
from typing import Annotated

import torch
from torch import Tensor

from planarena.trainers.algorithms import surrogate
from planarena.trainers.algorithms.base import StatelessAlgorithm
from planarena.trainers.types import AlgorithmConfig, LossInputs, LossOutputs, Needs, Step, option

__all__ = ["OPSD", "OPSDConfig", "generalised_jsd"]

FLOOR = -1e4  # its exponential is 0 in every dtype, and sums of it overflow in none


class OPSDConfig(AlgorithmConfig, frozen=True, kw_only=True, tag="opsd"):
    """Options of OPSD."""

    beta: Annotated[
        float, option("OPSD's run_opsd.sh", "0 forward KL, 1 reverse KL, between: JSD", ge=0, le=1)
    ] = 0.5


def generalised_jsd(student_logprobs: Tensor, teacher_logprobs: Tensor, beta: float) -> Tensor:
    """Return the generalised Jensen-Shannon divergence over the last dimension, in nats.

    Args:
        student_logprobs: (..., V) log-distribution with gradient.
        teacher_logprobs: (..., V) log-distribution, detached here.
        beta: As above.
    """
    teacher = teacher_logprobs.detach()
    # A token banned on both sides adds nothing, and its -inf would make the gradient NaN.
    banned = teacher.isneginf() & student_logprobs.isneginf()
    teacher, student_logprobs = (torch.where(banned, FLOOR, logp) for logp in (teacher, student_logprobs))
    if beta == 0:
        return divergence(teacher, student_logprobs)
    if beta == 1:
        return divergence(student_logprobs, teacher)
    mixture = torch.logaddexp(student_logprobs + math.log1p(-beta), teacher + math.log(beta))
    return beta * divergence(teacher, mixture) + (1.0 - beta) * divergence(student_logprobs, mixture)


def divergence(p_logprobs: Tensor, q_logprobs: Tensor) -> Tensor:
    """Return KL(p || q) over the last dimension; a token with p = 0 adds nothing."""
    absent = p_logprobs.isneginf()
    difference = torch.where(absent, 0.0, p_logprobs - q_logprobs)
    return (p_logprobs.exp() * difference).sum(-1)


class OPSD(StatelessAlgorithm[OPSDConfig]):
    """On-policy self-distillation."""

    title = "OPSD"
    paper = "arXiv 2601.18734"
    needs = Needs(teacher_distribution=True, teacher_in_loss=True)

    def loss(self, inputs: LossInputs, step: Step) -> LossOutputs:
        """Return the token-mean divergence."""
        mask_BT = inputs.require("mask_BT")
        jsd_BT = generalised_jsd(
            inputs.require("student_logprobs_BTV"), inputs.require("teacher_logprobs_BTV"), self.config.beta
        )
        loss = surrogate.aggregate(jsd_BT, mask_BT, "token-mean", tokens=step.tokens)
        return LossOutputs(
            loss=loss, metrics={"loss/distillation": loss.detach(), "loss/total": loss.detach()}
        )
