"""CISPO: the importance weight is clipped and detached, so that every token keeps a gradient.

L = -token-mean of sg(clip(r, 1 - eps_low, 1 + eps_high)) A log pi, with GRPO's advantage.
Source: MiniMax-M1, arXiv 2506.13585, Eq. 4-5.

Deviations: 1. degenerate groups give exactly 0.
"""

from __future__ import annotations

from typing import Annotated

import torch
from torch import Tensor

from planarena.trainers.algorithms.base import Ddof, StdEps, SurrogateConfig, SurrogatePolicy, standardised
from planarena.trainers.types import Advantages, LossInputs, RolloutBatch, Step, option

__all__ = ["CISPO", "CISPOConfig"]


class CISPOConfig(SurrogateConfig, frozen=True, kw_only=True, tag="cispo"):
    """Options of CISPO."""

    eps_low: Annotated[
        float, option("MiniMax-M1 section 3.1: no lower bound", "1 - the smallest weight", ge=0, le=1)
    ] = 1.0
    eps_high: Annotated[
        float, option("ours: TRL's documentation bounds the weight at 5", "the largest weight - 1", ge=0)
    ] = 4.0
    ddof: Ddof = 1
    std_eps: StdEps = 1e-6


class CISPO(SurrogatePolicy[CISPOConfig]):
    """Clipped importance-sampling policy optimisation."""

    title = "CISPO"
    paper = "arXiv 2506.13585 Eq. 4-5"

    def advantages(self, batch: RolloutBatch, step: Step) -> Advantages:  # noqa: ARG002
        """Return the standardised reward of each row at its tokens."""
        return standardised(batch, ddof=self.config.ddof, eps=self.config.std_eps)

    def token_losses(
        self, ratio_BT: Tensor, advantages_BT: Tensor, inputs: LossInputs
    ) -> tuple[Tensor, Tensor]:
        """Return -weight A log pi of each token, and whether its weight was clipped."""
        ratio = ratio_BT.detach().exp()
        weight_BT = ratio.clamp(1.0 - self.config.eps_low, 1.0 + self.config.eps_high)
        logp_BT = torch.where(inputs.require("mask_BT").bool(), inputs.require("logp_BT"), 0.0)
        return -weight_BT * advantages_BT * logp_BT, weight_BT != ratio
