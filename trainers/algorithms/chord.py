"""CHORD: GRPO and a weighted cross-entropy on experts in one loss, under a global and a token-wise control.

L = (1 - mu) L_GRPO + mu L_SFT-phi (Eq. 3); L_GRPO is token-mean (Eq. 2);
L_SFT-phi = -sum(sg(w) log pi*) / sum(mask) with w by variant (Eq. 4-6, appendix B.2).
CHORD-mu: w = 1 and mu decays from 0.9 to 0.05; CHORD-phi: w = p (1 - p) and mu = 0.1.
Source: CHORD sections 3-4, appendix A.1, B.1, B.2, B.7.

Deviations: 1. Eq. 4 and 6 print a sum over tokens where Eq. 1 has a mean: the mean, over the global
token count; 2. the weights are detached (Eq. 6 does not print it); 3. the decay is a cosine, as in both
public implementations; 4. the adaptive mu is held inside [0, 1]; 5. without experts mu is 0, so that the
RL term keeps its size; 6. dual clip at 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

from torch import Tensor

from planarena.trainers import schedules
from planarena.trainers.algorithms import demonstrations
from planarena.trainers.algorithms.base import GroupConfig, GroupPolicy
from planarena.trainers.algorithms.sft import (
    ClipAbove,
    FocalGamma,
    TopFraction,
    configured_weights,
    weight_scalars,
)
from planarena.trainers.types import Advantages, LossInputs, LossOutputs, Needs, RolloutBatch, Step, option

__all__ = ["Chord", "ChordConfig", "ChordMuConfig", "ChordPhiConfig"]

MixingMode = Literal["schedule", "constant", "adaptive"]


class ChordConfig(GroupConfig, frozen=True, kw_only=True):
    """Options of both CHORDs."""

    weight: Annotated[
        demonstrations.TokenWeight, option("CHORD Eq. 1", "token weight of the cross-entropy")
    ] = "none"
    clip_above: ClipAbove = 0.4
    focal_gamma: FocalGamma = 2.0
    top_fraction: TopFraction = 0.05
    mixing: Annotated[MixingMode, option("CHORD section 4.2", "how mu is chosen")] = "schedule"
    mu: Annotated[
        float, option("CHORD section 4.3", "constant mu (CHORD Figure 7: 0.02, 0.1, 0.5)", ge=0, le=1)
    ] = 0.1
    mu_peak: Annotated[float, option("CHORD section 4.3", "mu after the warm-up", ge=0, le=1)] = 0.9
    mu_valley: Annotated[float, option("CHORD section 4.3", "mu after the decay", ge=0, le=1)] = 0.05
    mu_warmup: Annotated[int, option("CHORD section 4.3: none", "steps of the warm-up", ge=0)] = 0
    mu_decay: Annotated[
        int, option("CHORD appendix A.1: 30 for tool use; 200 for mathematics", "steps of the decay", ge=0)
    ] = 30
    mu_threshold: Annotated[float, option("CHORD appendix B.1", "tau of the adaptive mu")] = 0.5


class ChordMuConfig(ChordConfig, frozen=True, kw_only=True, tag="chord-mu"):
    """Options of CHORD-mu."""


class ChordPhiConfig(ChordConfig, frozen=True, kw_only=True, tag="chord-phi"):
    """Options of CHORD-phi."""

    weight: Annotated[
        demonstrations.TokenWeight, option("CHORD Eq. 5", "token weight of the cross-entropy")
    ] = "phi"
    mixing: Annotated[MixingMode, option("CHORD section 4.3", "how mu is chosen")] = "constant"


class Chord(GroupPolicy[ChordConfig]):
    """Controllable harmonisation of on- and off-policy learning."""

    title = "CHORD"
    paper = "CHORD Eq. 1-6, appendix B.1, B.2"

    def __init__(self, config: ChordConfig) -> None:
        super().__init__(config)
        self.title = "CHORD-phi" if isinstance(config, ChordPhiConfig) else "CHORD-mu"
        self._adaptive = 0.0

    def base_needs(self) -> Needs:
        """Add experts, and their entropy for the two entropy weights."""
        return replace(
            super().base_needs(), experts=True, expert_entropy=self.config.weight.startswith("entropy")
        )

    def coefficients(self, step: Step) -> dict[str, float]:
        """Return the weight of the supervised term."""
        return {"mixing": self.mixing(step)}

    def mixing(self, step: Step) -> float:
        """Return mu for this step, before empty batches are looked at."""
        config = self.config
        if config.mixing == "constant":
            return config.mu
        if config.mixing == "adaptive":
            return self._adaptive
        return schedules.warmup_cosine(
            step.step,
            warmup=config.mu_warmup,
            decay=config.mu_decay,
            peak=config.mu_peak,
            valley=config.mu_valley,
        )

    def advantages(self, batch: RolloutBatch, step: Step) -> Advantages:
        """Return GRPO's advantages, and mu where it follows the reward."""
        plain = super().advantages(batch, step)
        rewarded = plain.metrics["advantage/invalid_rewards"] < batch.rewards_B.numel()
        if self.config.mixing == "adaptive" and rewarded:
            mean = plain.metrics["advantage/mean_reward"]
            self._adaptive = schedules.adaptive_coefficient(mean, threshold=self.config.mu_threshold)
        mu = self.mixing(step)
        return Advantages(
            values_BT=plain.values_BT, scalars={"mu": mu}, metrics={**plain.metrics, "loss/mu": mu}
        )

    def expert_scalars(self, entropy_ET: Tensor, mask_ET: Tensor) -> dict[str, float]:
        """Return the numbers of the entropy weights."""
        return weight_scalars(self.config, entropy_ET, mask_ET)

    def loss(self, inputs: LossInputs, step: Step) -> LossOutputs:
        """Return (1 - mu) L_GRPO + mu L_SFT-phi."""
        mu = demonstrations.mixing_coefficient(inputs.scalars.get("mu", self.mixing(step)), inputs, step)
        sft = demonstrations.expert_loss(inputs, step, configured_weights(self.config, inputs))
        if inputs.logp_BT is None:
            loss = mu * sft
            return LossOutputs(loss=loss, metrics={"loss/sft": sft.detach(), "loss/total": loss.detach()})
        policy, metrics = self.policy_loss(inputs, step)
        metrics["loss/sft"] = sft.detach()
        return self.regularised((1.0 - mu) * policy + mu * sft, metrics, inputs, step)

    def state_dict(self) -> dict[str, Any]:
        """Return the last adaptive mu."""
        return {"adaptive_mu": self._adaptive}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the last adaptive mu."""
        self._adaptive = float(state["adaptive_mu"])
