"""KTO: prospect-theoretic losses on single rows, desirable or undesirable, against a reference policy.

lr = log pi(y) - log ref(y); desirable 1 - sigm(b (lr - z0)), undesirable 1 - sigm(b (z0 - lr)),
z0 = max(0, batch KL) detached; mean over rows. Source: arXiv 2402.01306 Eq. 8.
No deviation.
"""

from __future__ import annotations

from typing import Annotated

import torch
from torch import Tensor

from planarena.trainers.algorithms import surrogate
from planarena.trainers.algorithms.base import StatelessAlgorithm
from planarena.trainers.types import AlgorithmConfig, LossInputs, LossOutputs, Needs, Phase, Step, option

__all__ = ["KTO", "KTOConfig", "reference_point", "sequence_log_ratio"]


class KTOConfig(AlgorithmConfig, frozen=True, kw_only=True, tag="kto"):
    """Options of KTO."""

    beta: Annotated[float, option("KTO section 4.2; TRL", "scale of the implied reward", gt=0)] = 0.1
    desirable_weight: Annotated[float, option("TRL", "weight of desirable rows", ge=0)] = 1.0
    undesirable_weight: Annotated[float, option("TRL", "weight of undesirable rows", ge=0)] = 1.0


def sequence_log_ratio(logp_BT: Tensor, ref_logp_BT: Tensor, mask_BT: Tensor) -> Tensor:
    """Return (B,) sum over valid tokens of log pi - log ref; the reference is detached."""
    return torch.where(mask_BT.bool(), logp_BT - ref_logp_BT.detach(), 0.0).clamp(-1e4, 1e4).sum(1)


def reference_point(logp_BT: Tensor, ref_logp_BT: Tensor, mask_BT: Tensor) -> float:
    """Return z0 = max(0, mean log-ratio) over rows whose responses belong to other prompts (TRL's KL rows).

    Args:
        logp_BT: (B, T) of mismatched prompt and response.
        ref_logp_BT: (B, T).
        mask_BT: (B, T).
    """
    if mask_BT.shape[0] == 0:
        return 0.0
    return max(0.0, float(sequence_log_ratio(logp_BT.detach(), ref_logp_BT, mask_BT).mean()))


class KTO(StatelessAlgorithm[KTOConfig]):
    """Kahneman-Tversky optimisation."""

    title = "KTO"
    paper = "arXiv 2402.01306 Eq. 8"
    needs = Needs(rollouts=False, reference_policy=True, preferences=True, mismatched_pairs=True)

    def phase(self, step: Step) -> Phase:  # noqa: ARG002
        """Train on labelled rows alone."""
        return "preference"

    def mismatch_scalars(self, logp_NT: Tensor, ref_logp_NT: Tensor, mask_NT: Tensor) -> dict[str, float]:
        """Return z0."""
        return {"z0": reference_point(logp_NT, ref_logp_NT, mask_NT)}

    def loss(self, inputs: LossInputs, step: Step) -> LossOutputs:
        """Return the mean over rows; `scalars["z0"]` is the reference point of the whole batch."""
        config = self.config
        mask_BT = inputs.require("mask_BT")
        ratio_B = sequence_log_ratio(inputs.require("logp_BT"), inputs.require("ref_logp_BT"), mask_BT)
        desirable_B = inputs.require("preference_B") > 0
        shifted_B = ratio_B - inputs.scalars.get("z0", 0.0)
        loss_B = torch.where(
            desirable_B,
            config.desirable_weight * torch.sigmoid(-config.beta * shifted_B),
            config.undesirable_weight * torch.sigmoid(config.beta * shifted_B),
        )
        rows_B1 = surrogate.rows_with_tokens(mask_BT)[:, None]
        loss = surrogate.aggregate(loss_B[:, None], rows_B1, "token-mean", tokens=step.sequences)
        return LossOutputs(loss=loss, metrics={"loss/kto": loss.detach(), "loss/total": loss.detach()})
