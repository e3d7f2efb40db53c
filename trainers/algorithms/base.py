"""What every algorithm shares: defaults of the protocol, the clipped policy loss, KL and entropy terms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Generic, Literal, TypeVar

import torch
from torch import Tensor

from planarena.trainers.algorithms import groups, surrogate
from planarena.trainers.types import (
    Advantages,
    AlgorithmConfig,
    LossInputs,
    LossOutputs,
    Needs,
    Phase,
    RolloutBatch,
    Step,
    option,
)

__all__ = [
    "ADVANTAGE_LIMIT",
    "ClippedPolicy",
    "Ddof",
    "GroupConfig",
    "GroupPolicy",
    "PolicyConfig",
    "StatelessAlgorithm",
    "StdEps",
    "SurrogateConfig",
    "SurrogatePolicy",
    "advantage_metrics",
    "standardised",
    "to_tokens",
    "token_mean",
]


class SurrogateConfig(AlgorithmConfig, frozen=True, kw_only=True):
    """Options of every algorithm that updates a policy on rollouts."""

    aggregation: Annotated[
        surrogate.Aggregation, option("CHORD Eq. 2", "how the token losses become one")
    ] = "token-mean"
    kl_coef: Annotated[
        float, option("ours: the papers train without a KL term", "weight of the KL to the reference", ge=0)
    ] = 0.0
    kl_estimator: Annotated[surrogate.KLEstimator, option("DeepSeekMath Eq. 4", "estimator of that KL")] = (
        "k3"
    )
    entropy_coef: Annotated[
        float, option("ours: no bonus unless a paper says so", "weight of the entropy bonus", ge=0)
    ] = 0.0


class PolicyConfig(SurrogateConfig, frozen=True, kw_only=True):
    """Options of the algorithms with PPO's clip."""

    eps_low: Annotated[
        float, option("PPO's 0.2; CHORD trains on-policy, where it is inert", "lower clip radius", ge=0, le=1)
    ] = 0.2
    eps_high: Annotated[float, option("PPO's 0.2", "upper clip radius", ge=0)] = 0.2
    dual_clip: (
        Annotated[float, option("verl's 3.0; no paper here has it", "bound on the ratio where A < 0", gt=1)]
        | None
    ) = 3.0


Ddof = Annotated[
    Literal[0, 1], option("verl and TRL: unbiased", "degrees of freedom of the group's deviation")
]
StdEps = Annotated[float, option("verl's 1e-6", "added to the deviation", ge=0)]


class GroupConfig(PolicyConfig, frozen=True, kw_only=True):
    """Options of algorithms whose advantage compares the rollouts of one prompt."""

    ddof: Ddof = 1
    std_eps: StdEps = 1e-6


# Times the largest ratio, exp(20), over a billion tokens this is still finite in float32.
ADVANTAGE_LIMIT = 1e20

C = TypeVar("C", bound=AlgorithmConfig)
S = TypeVar("S", bound=SurrogateConfig)
P = TypeVar("P", bound=PolicyConfig)
G = TypeVar("G", bound=GroupConfig)


def to_tokens(values_B: Tensor, batch: RolloutBatch) -> Tensor:
    """Return (B, T) in the batch's dtype: each row's value at its valid tokens, 0 elsewhere."""
    values_B = values_B.clamp(-ADVANTAGE_LIMIT, ADVANTAGE_LIMIT)
    return torch.where(batch.mask_BT.bool(), values_B.to(batch.dtype)[:, None], 0.0)


def advantage_metrics(grouped: groups.Grouped) -> dict[str, float]:
    """Return what to watch in every group-relative algorithm: wasted groups and lost rewards."""
    return {
        "advantage/degenerate_groups": float(grouped.degenerate_P.double().mean())
        if grouped.count_P.numel()
        else 0.0,
        "advantage/invalid_rewards": float((~grouped.valid).sum()) if grouped.rewards.dim() == 1 else 0.0,
        "advantage/mean_reward": float(grouped.rewards.sum() / grouped.count_P.sum().clamp(min=1.0)),
    }


class StatelessAlgorithm(Generic[C]):
    """Defaults of the `Algorithm` protocol for algorithms that keep no state and train on rollouts.

    Args:
        config: The options.

    Attributes:
        title: The algorithm's name in prose.
        paper: Where its equations are.
        approximate: Some formula of it is not in the sources here.
    """

    title = ""
    paper = ""
    approximate = False
    needs = Needs()
    step_discount = 1.0

    def __init__(self, config: C) -> None:
        self.config = config

    def advantages(self, batch: RolloutBatch, step: Step) -> Advantages:  # noqa: ARG002
        """Return zeros: the loss uses no advantage."""
        return Advantages(values_BT=torch.zeros_like(batch.mask_BT, dtype=batch.dtype))

    def loss(self, inputs: LossInputs, step: Step) -> LossOutputs:
        """Return the scalar loss of one micro-batch."""
        raise NotImplementedError

    def phase(self, step: Step) -> Phase:  # noqa: ARG002
        """Say which batches the update of this step uses."""
        if not self.needs.rollouts:
            return "sft"
        return "both" if self.needs.experts else "rl"

    def stage(self, step: Step) -> tuple[int, int]:
        """Return the run: it is one stage."""
        return step.step, step.total_steps

    def coefficients(self, step: Step) -> dict[str, float]:  # noqa: ARG002
        """Return none."""
        return {}

    def hint_tokens(self, step: Step, row: int, length: int) -> int:  # noqa: ARG002
        """Return 0: prompts show no hint."""
        return 0

    def expert_scalars(self, entropy_ET: Tensor, mask_ET: Tensor) -> dict[str, float]:  # noqa: ARG002
        """Return none."""
        return {}

    def mismatch_scalars(self, logp_NT: Tensor, ref_logp_NT: Tensor, mask_NT: Tensor) -> dict[str, float]:  # noqa: ARG002
        """Return none."""
        return {}

    def keep_groups(self, batch: RolloutBatch) -> Tensor:
        """Return (B,) bool: every row trains."""
        return torch.ones(batch.mask_BT.shape[0], dtype=torch.bool, device=batch.mask_BT.device)

    def pending_experts(self) -> tuple[str, ...]:
        """Return no keys."""
        return ()

    def observe_gradient_norm(self, norm: float, step: Step) -> None:
        """Ignore it."""

    def state_dict(self) -> dict[str, Any]:
        """Return an empty state."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Accept an empty state.

        Raises:
            ValueError: If the state holds anything.
        """
        if state:
            raise ValueError(
                f"{type(self).__name__} keeps no state, but the checkpoint holds {sorted(state)}"
            )


class SurrogatePolicy(StatelessAlgorithm[S]):
    """A policy loss per token on given advantages; subclasses choose the advantages and the loss of a token."""

    def __init__(self, config: S) -> None:
        super().__init__(config)
        self.needs = self.base_needs()

    def base_needs(self) -> Needs:
        """Return what the common terms need under this configuration."""
        return Needs(reference_policy=self.config.kl_coef > 0, entropy=self.config.entropy_coef > 0)

    def loss(self, inputs: LossInputs, step: Step) -> LossOutputs:
        """Return the policy loss plus the KL and entropy terms."""
        loss, metrics = self.policy_loss(inputs, step)
        return self.regularised(loss, metrics, inputs, step)

    def policy_loss(
        self, inputs: LossInputs, step: Step, weight_BT: Tensor | None = None
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the aggregated surrogate and its metrics.

        Args:
            inputs: `logp_BT`, `mask_BT`, `advantages_BT`.
            step: Global counts.
            weight_BT: (B, T) weight of each token's loss, detached here; the divisor does not change.
        """
        logp_BT, mask_BT = inputs.require("logp_BT"), inputs.require("mask_BT")
        advantages_BT = inputs.require("advantages_BT").detach()
        ratio_BT = surrogate.log_ratio(logp_BT, inputs.old_logp_BT, mask_BT)
        loss_BT, clipped_BT = self.token_losses(ratio_BT, advantages_BT, inputs)
        if weight_BT is not None:
            loss_BT = loss_BT * weight_BT.detach()
        loss = self.aggregate(loss_BT, mask_BT, step)
        with torch.no_grad():
            metrics = {
                "loss/policy": loss.detach(),
                "policy/clip_fraction": token_mean(clipped_BT.to(ratio_BT.dtype), mask_BT, step),
                "policy/kl_to_rollout": token_mean(-ratio_BT.detach(), mask_BT, step),
            }
        return loss, metrics

    def token_losses(
        self, ratio_BT: Tensor, advantages_BT: Tensor, inputs: LossInputs
    ) -> tuple[Tensor, Tensor]:
        """Return the loss of each token, and whether the trust region cut its gradient off; both (B, T).

        Args:
            ratio_BT: Log-ratio with gradient, 0 at masked tokens.
            advantages_BT: Detached.
            inputs: The micro-batch.
        """
        raise NotImplementedError

    def aggregate(self, loss_BT: Tensor, mask_BT: Tensor, step: Step) -> Tensor:
        """Reduce a loss matrix by the configured aggregation and the global counts."""
        return surrogate.aggregate(
            loss_BT,
            mask_BT,
            self.config.aggregation,
            tokens=step.tokens,
            sequences=step.sequences,
            horizon=step.horizon,
        )

    def regularised(
        self, loss: Tensor, metrics: dict[str, Tensor], inputs: LossInputs, step: Step
    ) -> LossOutputs:
        """Add the KL and entropy terms, where their weights are not 0.

        They are reduced like the policy loss; beside `token-sum-norm` they are means over tokens, as in the
        code of LUFFY, whose coefficients are relative to that.
        """
        summed = self.config.aggregation == "token-sum-norm"
        if self.config.kl_coef > 0 and inputs.logp_BT is not None:
            mask_BT = inputs.require("mask_BT")
            kl_BT = surrogate.kl_estimate(
                inputs.logp_BT, inputs.require("ref_logp_BT"), mask_BT, self.config.kl_estimator
            )
            kl = token_mean(kl_BT, mask_BT, step) if summed else self.aggregate(kl_BT, mask_BT, step)
            loss = loss + self.config.kl_coef * kl
            metrics["loss/kl"] = kl.detach()
        if self.config.entropy_coef > 0 and inputs.logp_BT is not None:
            entropy_BT, mask_BT = inputs.require("entropy_BT"), inputs.require("mask_BT")
            entropy = (
                token_mean(entropy_BT, mask_BT, step) if summed else self.aggregate(entropy_BT, mask_BT, step)
            )
            loss = loss - self.config.entropy_coef * entropy
            metrics["policy/entropy"] = entropy.detach()
        metrics["loss/total"] = loss.detach()
        return LossOutputs(loss=loss, metrics=metrics)


class ClippedPolicy(SurrogatePolicy[P]):
    """PPO's clipped loss on given advantages."""

    def clip_radii(self, inputs: LossInputs) -> tuple[float | Tensor, float | Tensor]:
        """Return lower and upper radius: those of the rows where the advantages set them, else the options."""
        low: float | Tensor = self.config.eps_low
        high: float | Tensor = self.config.eps_high
        if inputs.eps_low_B is not None:
            low = inputs.eps_low_B[:, None]
        if inputs.eps_high_B is not None:
            high = inputs.eps_high_B[:, None]
        return low, high

    def token_losses(
        self, ratio_BT: Tensor, advantages_BT: Tensor, inputs: LossInputs
    ) -> tuple[Tensor, Tensor]:
        """Return the clipped loss of each token, and whether the clip acts."""
        low, high = self.clip_radii(inputs)
        loss_BT = surrogate.clipped_loss(
            ratio_BT, advantages_BT, eps_low=low, eps_high=high, dual_clip=self.config.dual_clip
        )
        with torch.no_grad():
            return loss_BT, surrogate.clipped_tokens(ratio_BT, advantages_BT, eps_low=low, eps_high=high)


def token_mean(values_BT: Tensor, mask_BT: Tensor, step: Step) -> Tensor:
    """Return the mean over valid tokens, by the global count where it is known."""
    return surrogate.aggregate(values_BT, mask_BT, "token-mean", tokens=step.tokens)


class GroupPolicy(ClippedPolicy[G]):
    """The clipped policy loss on (R - mean) / (std + eps) of the group: GRPO and what builds on it."""

    def advantages(self, batch: RolloutBatch, step: Step) -> Advantages:  # noqa: ARG002
        """Return the standardised reward of each row at its tokens."""
        return standardised(batch, ddof=self.config.ddof, eps=self.config.std_eps)


def standardised(batch: RolloutBatch, *, ddof: int, eps: float) -> Advantages:
    """Return (R - mean) / (std + eps) of the group at each token (DeepSeekMath Eq. 3)."""
    grouped = groups.group_rewards(batch.rewards_B, batch.group_B, batch.mask_BT)
    values_B = grouped.standardised(ddof=ddof, eps=eps)
    return Advantages(values_BT=to_tokens(values_B, batch), metrics=advantage_metrics(grouped))
