"""SAPO: a sigmoid gate on the ratio in place of a clip, steeper for tokens of bad responses.

f(r) = 4 / tau sigmoid(tau (r - 1)), tau = tau_pos where A > 0, else tau_neg;
L = -mean_i mean_t f(r) A. At r = 1 the gradient is that of the ratio itself.
Source: arXiv 2511.20347.

Deviations: 1. degenerate groups give exactly 0.
"""

from __future__ import annotations

from typing import Annotated

import torch
from torch import Tensor

from planarena.trainers.algorithms.base import Ddof, StdEps, SurrogateConfig, SurrogatePolicy, standardised
from planarena.trainers.algorithms.surrogate import Aggregation
from planarena.trainers.types import Advantages, LossInputs, RolloutBatch, Step, option

__all__ = ["SAPO", "SAPOConfig"]


class SAPOConfig(SurrogateConfig, frozen=True, kw_only=True, tag="sapo"):
    """Options of SAPO."""

    aggregation: Annotated[Aggregation, option("SAPO's objective", "how the token losses become one")] = (
        "seq-mean-token-mean"
    )
    tau_pos: Annotated[float, option("verl's and TRL's 1.0", "steepness of the gate where A > 0", gt=0)] = 1.0
    tau_neg: Annotated[float, option("verl's and TRL's 1.05", "steepness elsewhere", gt=0)] = 1.05
    ddof: Ddof = 1
    std_eps: StdEps = 1e-6


class SAPO(SurrogatePolicy[SAPOConfig]):
    """Soft adaptive policy optimisation."""

    title = "SAPO"
    paper = "arXiv 2511.20347"

    def advantages(self, batch: RolloutBatch, step: Step) -> Advantages:  # noqa: ARG002
        """Return the standardised reward of each row at its tokens."""
        return standardised(batch, ddof=self.config.ddof, eps=self.config.std_eps)

    def token_losses(
        self,
        ratio_BT: Tensor,
        advantages_BT: Tensor,
        inputs: LossInputs,  # noqa: ARG002
    ) -> tuple[Tensor, Tensor]:
        """Return -f(r) A of each token; the gate cuts no gradient off."""
        # Numbers alone would make `where` choose float32.
        steep, steeper = ratio_BT.new_tensor(self.config.tau_pos), ratio_BT.new_tensor(self.config.tau_neg)
        tau_BT = torch.where(advantages_BT > 0, steep, steeper)
        gate_BT = torch.sigmoid(tau_BT * (ratio_BT.exp() - 1.0)) * (4.0 / tau_BT)
        return -gate_BT * advantages_BT, torch.zeros_like(ratio_BT, dtype=torch.bool)
