"""Step-wise DPO: chosen against rejected action at one decision point, relative to a reference policy.

L = -mean over pairs of log sigm(b [(log pi - log ref)(chosen) - (log pi - log ref)(rejected)]).
Source: arXiv 2305.18290 Eq. 7; step-wise: a pair shares the history up to its step, and only the
tokens of that step's action are valid.

Deviations: 1. optional label smoothing (conservative DPO), off by default.
"""

from __future__ import annotations

from typing import Annotated

import torch
from torch import Tensor

from planarena.trainers.algorithms import surrogate
from planarena.trainers.algorithms.base import StatelessAlgorithm
from planarena.trainers.algorithms.kto import sequence_log_ratio
from planarena.trainers.types import AlgorithmConfig, LossInputs, LossOutputs, Needs, Phase, Step, option

__all__ = ["DPO", "DPOConfig"]


class DPOConfig(AlgorithmConfig, frozen=True, kw_only=True, tag="dpo"):
    """Options of step-wise DPO."""

    beta: Annotated[float, option("DPO section 6; TRL", "scale of the implied reward", gt=0)] = 0.1
    label_smoothing: Annotated[float, option("TRL", "share of labels taken to be flipped", ge=0, lt=0.5)] = (
        0.0
    )


class DPO(StatelessAlgorithm[DPOConfig]):
    """Direct preference optimisation on the steps of a trajectory."""

    title = "step-wise DPO"
    paper = "arXiv 2305.18290 Eq. 7"
    needs = Needs(rollouts=False, reference_policy=True, preferences=True, pairs=True)

    def phase(self, step: Step) -> Phase:  # noqa: ARG002
        """Train on labelled pairs alone."""
        return "preference"

    def loss(self, inputs: LossInputs, step: Step) -> LossOutputs:
        """Return the mean over pairs; `step.sequences` counts rows, two to a pair.

        Raises:
            ValueError: If a pair has not one chosen and one rejected row with valid tokens.
        """
        margin_Q = self.margins(inputs)
        smoothing = self.config.label_smoothing
        scaled_Q = self.config.beta * margin_Q
        loss_Q = -torch.nn.functional.logsigmoid(scaled_Q)
        if smoothing > 0:
            loss_Q = (1.0 - smoothing) * loss_Q - smoothing * torch.nn.functional.logsigmoid(-scaled_Q)
        pairs = None if step.sequences is None else step.sequences // 2
        present_Q1 = torch.ones_like(loss_Q, dtype=torch.bool)[:, None]
        loss = surrogate.aggregate(loss_Q[:, None], present_Q1, "token-mean", tokens=pairs)
        right = surrogate.aggregate(
            (margin_Q > 0).to(loss_Q.dtype)[:, None], present_Q1, "token-mean", tokens=pairs
        )
        metrics = {"loss/dpo": loss.detach(), "preference/accuracy": right, "loss/total": loss.detach()}
        return LossOutputs(loss=loss, metrics=metrics)

    def margins(self, inputs: LossInputs) -> Tensor:
        """Return (Q,) log-ratio of the chosen minus that of the rejected row of each pair.

        Raises:
            ValueError: As `loss`.
        """
        mask_BT = inputs.require("mask_BT")
        rows_B = surrogate.rows_with_tokens(mask_BT)
        ratio_B = sequence_log_ratio(inputs.require("logp_BT"), inputs.require("ref_logp_BT"), mask_BT)[
            rows_B
        ]
        sign_B = inputs.require("preference_B")[rows_B].sign()
        ids_Q, pair_B = torch.unique(inputs.require("pair_B")[rows_B], return_inverse=True)
        for side in (1, -1):
            members_Q = torch.bincount(pair_B[sign_B == side], minlength=ids_Q.numel())
            if bool((members_Q != 1).any()):
                raise ValueError("each pair needs exactly one chosen and one rejected row in one micro-batch")
        return ratio_B.new_zeros(ids_Q.numel()).index_add(0, pair_B, ratio_B * sign_B.to(ratio_B.dtype))
