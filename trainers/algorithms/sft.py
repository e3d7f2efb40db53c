"""SFT: the token-mean cross-entropy on demonstrations, optionally with a token weight.

L = -sum(w log pi) / sum(mask). Source: CHORD Eq. 1, ToolUPT Eq. 1. With `weight: is` it is DFT.
No deviation.
"""

from __future__ import annotations

import math
from typing import Annotated, Protocol

from torch import Tensor

from planarena.trainers.algorithms import demonstrations
from planarena.trainers.algorithms.base import StatelessAlgorithm
from planarena.trainers.types import AlgorithmConfig, LossInputs, LossOutputs, Needs, Step, option

__all__ = [
    "SFT",
    "ClipAbove",
    "FocalGamma",
    "SFTConfig",
    "TopFraction",
    "configured_weights",
    "weight_scalars",
]


ClipAbove = Annotated[float, option("CHORD B.2", "probability above which is_clip gives 0", ge=0, le=1)]
FocalGamma = Annotated[float, option("ours: CHORD gives no exponent", "exponent of focal", ge=0)]
TopFraction = Annotated[float, option("CHORD B.2", "share of tokens of entropy_top", gt=0, le=1)]


class Weighted(Protocol):
    """Options of a weighted cross-entropy on demonstrations (CHORD appendix B.2)."""

    @property
    def weight(self) -> demonstrations.TokenWeight: ...
    @property
    def clip_above(self) -> float: ...
    @property
    def focal_gamma(self) -> float: ...
    @property
    def top_fraction(self) -> float: ...


class SFTConfig(AlgorithmConfig, frozen=True, kw_only=True, tag="sft"):
    """Options of SFT."""

    weight: Annotated[
        demonstrations.TokenWeight, option("CHORD Eq. 1", "token weight of the cross-entropy")
    ] = "none"
    clip_above: ClipAbove = 0.4
    focal_gamma: FocalGamma = 2.0
    top_fraction: TopFraction = 0.05


def configured_weights(config: Weighted, inputs: LossInputs) -> Tensor | None:
    """Return the (E, T') token weights that a configuration asks for, None where all are 1."""
    if config.weight == "none" or inputs.expert_logp_ET is None:
        return None
    return demonstrations.token_weights(
        config.weight,
        inputs.expert_logp_ET,
        inputs.require("expert_mask_ET"),
        entropy_ET=inputs.expert_entropy_ET,
        clip_above=config.clip_above,
        focal_gamma=config.focal_gamma,
        top_fraction=config.top_fraction,
        entropy_mean=inputs.scalars.get("expert_entropy_mean"),
        entropy_threshold=inputs.scalars.get("expert_entropy_threshold"),
    )


def weight_scalars(config: Weighted, entropy_ET: Tensor, mask_ET: Tensor) -> dict[str, float]:
    """Return the batch-wide numbers of the entropy weights, for `LossInputs.scalars`.

    Args:
        config: What is weighted.
        entropy_ET: (E, T') policy entropy of the whole expert batch, in nats.
        mask_ET: (E, T').
    """
    found = demonstrations.entropy_statistics(entropy_ET, mask_ET, top_fraction=config.top_fraction)
    # The update computes the same entropies in passes of other sizes: the token that sets the threshold, rounded
    # otherwise in its last bits, is to stay above it.
    threshold = found["expert_entropy_threshold"]
    if math.isfinite(threshold):
        found["expert_entropy_threshold"] = threshold - 1e-5 * abs(threshold)
    return found


class SFT(StatelessAlgorithm[SFTConfig]):
    """Supervised fine-tuning."""

    title = "SFT"
    paper = "CHORD Eq. 1; ToolUPT Eq. 1"

    def __init__(self, config: SFTConfig) -> None:
        super().__init__(config)
        self.needs = Needs(rollouts=False, experts=True, expert_entropy=config.weight.startswith("entropy"))

    def expert_scalars(self, entropy_ET: Tensor, mask_ET: Tensor) -> dict[str, float]:
        """Return the numbers of the entropy weights."""
        return weight_scalars(self.config, entropy_ET, mask_ET)

    def loss(self, inputs: LossInputs, step: Step) -> LossOutputs:
        """Return the weighted cross-entropy."""
        inputs.require("expert_logp_ET")
        loss = demonstrations.expert_loss(inputs, step, configured_weights(self.config, inputs))
        return LossOutputs(loss=loss, metrics={"loss/sft": loss.detach(), "loss/total": loss.detach()})
