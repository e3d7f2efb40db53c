"""DUPO: token-type weights, a mean-normalised advantage, a dynamic upper clip, and SFT annealed away.

A = (R - mean) / mean (Eq. 11); eps_H = m tau / (m + tau), tau = T - t + 1 (Eq. 12);
L_RL = -avg[rho(type) min(r A, clip(r, 1 - eps_L, 1 + eps_H) A)] (Eq. 8-9);
L = gamma L_SFT + (1 - gamma) L_RL, gamma = exp(-zeta t), t from 1 (Eq. 13-14).
Source: DUPO section 4.2.

Deviations: 1. the objective of Eq. 8-9 is negated, since Eq. 13 adds it to a loss; 2. L_SFT uses the
current policy (Eq. 14 prints theta_old, whose gradient is zero); 3. the advantage divides by
max(|mean|, `mean_floor`) and is bounded by K - 1, which is Eq. 11 wherever all rewards are >= 0 and the
mean is at least the floor (`advantage: literal` prints Eq. 11); 4. eps_H is never below `eps_high_floor`
and a negative average counts as 0; 5. the average reward m is that of the current group, or a moving
average of batches; 6. K candidates are rollouts of an action, not tokens at a position, and the ratio
conditions on the rollout's own prefix; 7. the sequential decay cancels in Eq. 11, so
`decay_application: advantage` multiplies it in after normalisation; 8. the average divides by tokens,
never by the sum of rho; 9. dual clip at 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

import msgspec
import torch
from torch import Tensor

from planarena.formats import TokenType
from planarena.trainers import schedules
from planarena.trainers.algorithms import demonstrations, groups
from planarena.trainers.algorithms.base import ClippedPolicy, PolicyConfig, advantage_metrics, to_tokens
from planarena.trainers.types import (
    Advantages,
    LossInputs,
    LossOutputs,
    Needs,
    Phase,
    RolloutBatch,
    Step,
    option,
)

__all__ = ["DUPO", "DUPOConfig", "TypeWeights"]


class TypeWeights(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """rho: the weight of each token type (DUPO Eq. 8, Figure 5); the values are ours."""

    tag_plan: Annotated[
        float, option("ours: tags saturate early (DUPO Figure 5)", "<plan> and </plan>", ge=0)
    ] = 0.5
    tag_tool: Annotated[
        float, option("ours: tags saturate early (DUPO Figure 5)", "the tool-call tags", ge=0)
    ] = 0.5
    tag_resp: Annotated[
        float, option("ours: tags saturate early (DUPO Figure 5)", "the response tags", ge=0)
    ] = 0.5
    plan: Annotated[float, option("ours", "tokens of the plan", ge=0)] = 1.0
    tool: Annotated[
        float, option("ours: content matters most (DUPO Figure 5)", "tokens of the calls", ge=0)
    ] = 1.5
    resp: Annotated[float, option("ours", "tokens of the response", ge=0)] = 1.0
    other: Annotated[
        float, option("ours: text outside the tags must cost something", "any other token", ge=0)
    ] = 1.0


class DUPOConfig(PolicyConfig, frozen=True, kw_only=True, tag="dupo"):
    """Options of DUPO."""

    rho: Annotated[TypeWeights, option("DUPO Eq. 8; values ours", "weight of each token type")] = (
        TypeWeights()
    )
    normalise_rho: Annotated[
        bool, option("DUPO section 4.2: optional", "scale rho to mean 1 over the batch")
    ] = False
    advantage: Annotated[
        Literal["safe", "literal"], option("DUPO Eq. 11", "safe form or the printed one")
    ] = "safe"
    mean_floor: Annotated[float, option("ours", "smallest divisor of the advantage", gt=0)] = 0.1
    decay_application: Annotated[
        Literal["reward", "advantage"], option("DUPO Eq. 15", "where the sequential decay acts")
    ] = "reward"
    clip: Annotated[Literal["dynamic", "static"], option("DUPO Eq. 12, Table 4", "upper clip radius")] = (
        "dynamic"
    )
    eps_high: Annotated[
        float, option("DAPO's 0.28 (DUPO Table 4 compares with it)", "static upper radius", ge=0)
    ] = 0.28
    eps_high_floor: Annotated[
        float, option("ours: never tighter than PPO", "smallest dynamic radius", ge=0)
    ] = 0.2
    clip_average: Annotated[
        Literal["group", "moving"], option("ours: DUPO does not define the past average", "the m of Eq. 12")
    ] = "group"
    moving_rate: Annotated[
        float, option("ours", "share of the newest batch in the moving average", gt=0, le=1)
    ] = 0.1
    mixing: Annotated[
        Literal["exponential", "constant"], option("DUPO Eq. 13", "gamma = exp(-zeta t), or constant")
    ] = "exponential"
    zeta: Annotated[
        float, option("ours, for about 500 steps (DUPO Figure 6 sweeps it)", "decay rate", gt=0, le=1)
    ] = 0.02
    gamma: Annotated[float, option("DUPO Table 5: 0 is Cold Start", "constant weight of SFT", ge=0, le=1)] = (
        0.0
    )


class DUPO(ClippedPolicy[DUPOConfig]):
    """Decoupled unified policy optimisation."""

    title = "DUPO"
    paper = "DUPO Eq. 8-14"

    def __init__(self, config: DUPOConfig) -> None:
        super().__init__(config)
        self._moving: float | None = None

    def base_needs(self) -> Needs:
        """Add experts, token types and the decay."""
        return replace(
            super().base_needs(),
            experts=self.config.mixing == "exponential" or self.config.gamma > 0,
            token_types=True,
            step_decay=self.config.decay_application == "advantage",
        )

    def phase(self, step: Step) -> Phase:  # noqa: ARG002
        """Use experts as long as their weight is not 0."""
        return "both" if self.needs.experts else "rl"

    def coefficients(self, step: Step) -> dict[str, float]:
        """Return the weight of the supervised term."""
        return {"mixing": self.mixing(step)}

    def mixing(self, step: Step) -> float:
        """Return gamma for this step; the paper's t is the 1-based step."""
        if self.config.mixing == "constant":
            return self.config.gamma
        return schedules.exponential_decay(step.step + 1, rate=self.config.zeta)

    def advantages(self, batch: RolloutBatch, step: Step) -> Advantages:
        """Return mean-normalised advantages and the upper clip radius of each row.

        Raises:
            ValueError: If the decay is to act on the advantage and is absent, or types are absent and
                rho is to be normalised.
        """
        config = self.config
        grouped = groups.group_rewards(batch.rewards_B, batch.group_B, batch.mask_BT)
        values_B = self._normalised(grouped)
        if config.decay_application == "advantage":
            if batch.decay_B is None:
                raise ValueError("dupo with `decay_application: advantage` needs RolloutBatch.decay_B")
            values_B = values_B * batch.decay_B.double()
        metrics = advantage_metrics(grouped)
        eps_high_B = None
        if config.clip == "dynamic":
            eps_high_B = schedules.dynamic_upper_clip(
                self._average(grouped, metrics["advantage/mean_reward"]),
                step=step.step + 1,
                total_steps=step.total_steps,
                floor=config.eps_high_floor,
            )
            metrics["policy/eps_high"] = (
                float(eps_high_B.mean()) if eps_high_B.numel() else config.eps_high_floor
            )
            eps_high_B = eps_high_B.to(batch.dtype)
        scalars: dict[str, float] = {}
        if config.normalise_rho:
            if batch.token_type_BT is None:
                raise ValueError("dupo with `normalise_rho` needs RolloutBatch.token_type_BT")
            present = self._rho(batch.token_type_BT, torch.float64)[batch.mask_BT.bool()]
            scalars["rho_mean"] = float(present.mean()) if present.numel() else 1.0
        return Advantages(
            values_BT=to_tokens(values_B, batch), eps_high_B=eps_high_B, scalars=scalars, metrics=metrics
        )

    def loss(self, inputs: LossInputs, step: Step) -> LossOutputs:
        """Return gamma L_SFT + (1 - gamma) L_RL."""
        gamma = demonstrations.mixing_coefficient(self.mixing(step), inputs, step)
        sft = demonstrations.expert_loss(inputs, step)
        if inputs.logp_BT is None:
            return LossOutputs(
                loss=gamma * sft, metrics={"loss/sft": sft.detach(), "loss/total": (gamma * sft).detach()}
            )
        rho_BT = self._rho(inputs.require("token_type_BT"), inputs.logp_BT.dtype)
        policy, metrics = self.policy_loss(inputs, step, rho_BT / inputs.scalars.get("rho_mean", 1.0))
        metrics["loss/sft"] = sft.detach()
        return self.regularised(gamma * sft + (1.0 - gamma) * policy, metrics, inputs, step)

    def state_dict(self) -> dict[str, Any]:
        """Return the moving average of the reward."""
        return {"moving_reward": self._moving}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the moving average of the reward."""
        self._moving = state["moving_reward"]

    def _normalised(self, grouped: groups.Grouped) -> Tensor:
        mean_P = grouped.mean_P
        if self.config.advantage == "literal":
            divisor_P = torch.where(mean_P == 0, 1.0, mean_P)
            return grouped.centred() / grouped.expand(divisor_P)
        divisor_P = mean_P.abs().clamp(min=self.config.mean_floor)
        bound_B = grouped.expand((grouped.count_P - 1.0).clamp(min=0.0))
        return torch.minimum(torch.maximum(grouped.centred() / grouped.expand(divisor_P), -bound_B), bound_B)

    def _average(self, grouped: groups.Grouped, batch_mean: float) -> Tensor:
        if self.config.clip_average == "group":
            return grouped.expand(grouped.mean_P)
        past = batch_mean if self._moving is None else self._moving
        if bool(grouped.valid.any()):
            self._moving = past + self.config.moving_rate * (batch_mean - past)
        return torch.full_like(grouped.rewards, past)

    def _rho(self, token_type_BT: Tensor, dtype: torch.dtype) -> Tensor:
        weights = msgspec.structs.asdict(self.config.rho)
        values = [weights.get(kind.name.lower(), 0.0) for kind in TokenType]
        return torch.tensor(values, dtype=dtype, device=token_type_BT.device)[token_type_BT.long()]
