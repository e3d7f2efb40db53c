"""What passes between an engine and an algorithm: batches, advantages, losses, needs, configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, Protocol, runtime_checkable

import msgspec
import torch
from torch import Tensor

__all__ = [
    "Advantages",
    "Algorithm",
    "AlgorithmConfig",
    "LossInputs",
    "LossOutputs",
    "Needs",
    "Phase",
    "RolloutBatch",
    "Step",
    "option",
]

Phase = Literal["rl", "sft", "both", "preference"]


def option(source: str, about: str, **bounds: Any) -> msgspec.Meta:
    """Describe one option of a configuration: where its default comes from, what it does, its range.

    Args:
        source: The paper and place that fixes the default (`DUPO Eq. 13`), or `ours` with the reason.
        about: One clause on what the option changes.
        **bounds: `ge`, `gt`, `le`, `lt` as msgspec understands them.

    Returns:
        The annotation; `planarena train --list` and the recipes' test read it back.
    """
    return msgspec.Meta(description=about, extra={"source": source}, **bounds)


class AlgorithmConfig(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="algorithm"
):
    """Base of every algorithm's options; the field `algorithm` in a file names the subclass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Where training stands, and the global counts that losses divide by.

    A loss that sees one micro-batch of many divides by the counts given here, so that the sum over
    micro-batches and data-parallel ranks equals the loss of the whole batch. A count of None means
    that the tensors at hand are the whole batch.

    Args:
        step: Number of optimiser steps done before this one, from 0.
        total_steps: Number of optimiser steps of the run.
        tokens: Valid tokens of all rows of the rollout batch, demonstration rows included.
        sequences: Rows of the rollout batch with at least one valid token.
        demo_tokens: Valid tokens of the demonstration rows inside the groups.
        expert_tokens: Valid tokens of the separate expert batch.
        expert_sequences: Rows of the expert batch with at least one valid token.
        horizon: Constant length in tokens for aggregations that divide by one (default: the width T
            of the mask, which depends on padding; give it wherever padding may vary).
    """

    step: int = 0
    total_steps: int = 1
    tokens: int | None = None
    sequences: int | None = None
    demo_tokens: int | None = None
    expert_tokens: int | None = None
    expert_sequences: int | None = None
    horizon: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What an engine must supply for an algorithm; everything defaults to not needed but rollouts.

    Args:
        rollouts: Sampled responses with rewards.
        experts: A separate expert batch with teacher-forced log-probabilities.
        expert_entropy: The policy's entropy at the expert tokens.
        expert_keep: The mask of expert tokens that stay in the selective loss (ToolUPT Eq. 19).
        demonstrations: One demonstration row inside each group, flagged in `is_demo_B`.
        prompt_hints: Prefixes of demonstrations in the prompt, whose tokens form the expert batch.
        teacher_logp: Log-probabilities of the sampled tokens under the teacher.
        teacher_distribution: Full teacher distributions (or the reverse KL that they give).
        plain_teacher: The teacher reads the policy's own prompt, without the ground truth.
        teacher_in_loss: The loss itself reads those distributions; else `advantages` reads the reverse KL.
        reasoning_reward: A second reward channel on the reasoning.
        reward_parts: The terms of the reward by name.
        token_rewards: Rewards per token.
        token_types: The type of each token (DUPO section 4.1).
        step_decay: The sequential importance weight of each row (DUPO Eq. 20).
        entropy: The policy's entropy at each sampled token.
        step_anchors: Anchor observations and discounted returns of the steps.
        reference_policy: Log-probabilities under a frozen reference policy.
        preferences: Rows labelled chosen or rejected, in pairs where `pairs` is set.
        pairs: Chosen and rejected rows come in pairs of one context.
        mismatched_pairs: Log-ratios of the batch's prompts with each other's responses (`mismatch_scalars`).
        group_filter: Groups without any difference in reward are dropped and refilled.
        gradient_norm: The engine reports the gradient norm after each update.
        own_phases: The algorithm decides from step to step between supervised and RL updates.
    """

    rollouts: bool = True
    experts: bool = False
    expert_entropy: bool = False
    expert_keep: bool = False
    demonstrations: bool = False
    prompt_hints: bool = False
    teacher_logp: bool = False
    teacher_distribution: bool = False
    plain_teacher: bool = False
    teacher_in_loss: bool = False
    reasoning_reward: bool = False
    reward_parts: bool = False
    token_rewards: bool = False
    token_types: bool = False
    step_decay: bool = False
    entropy: bool = False
    step_anchors: bool = False
    reference_policy: bool = False
    preferences: bool = False
    pairs: bool = False
    mismatched_pairs: bool = False
    group_filter: bool = False
    gradient_norm: bool = False
    own_phases: bool = False

    def names(self) -> list[str]:
        """Return the names of everything that is needed, in the order above."""
        return [f.name for f in fields(self) if getattr(self, f.name)]


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutBatch:
    """The whole rollout batch of one step, as advantages see it: B = P * K rows, T response tokens.

    Nothing here carries a gradient. Groups must be whole; statistics that span the batch (AWPO's clip
    radius, REINFORCE++'s whitening) are those of the rows given.

    Args:
        rewards_B: (B,) outcome reward. A row whose reward is not finite is left out of its group.
        mask_BT: (B, T) 1 on tokens that the policy generated; 0 on padding and on tool observations.
        group_B: (B,) integer id of the prompt.
        old_logp_BT: (B, T) log-probability under the rollout policy; fixes the dtype of the advantages.
        part_BN: (B, N) terms of the reward (GDPO); NaN where a row has none of that name.
        part_names: Their N names.
        token_rewards_BT: (B, T) reward per token (ToolUPT Eq. 14; REINFORCE++ with dense rewards).
        reason_B: (B,) reasoning reward; NaN where the judge failed.
        token_type_BT: (B, T) integer codes of `planarena.formats.TokenType`.
        turn_BT: (B, T) integer id of the assistant turn of each token, 0-based within the row.
        decay_B: (B,) sequential importance weight of the row's action (DUPO Eq. 20).
        is_demo_B: (B,) bool; the row is a demonstration placed in the group.
        trajectory_B: (B,) integer id of the episode that the row is a step of.
        anchor_BN: (B, N) integer id of the observation before each of the row's N steps, -1 for none.
        step_return_BN: (B, N) discounted return from each step.
        entropy_BT: (B, T) entropy of the policy at each token, in nats.
        teacher_logp_BT: (B, T) log-probability of the sampled token under the teacher.
        reverse_kl_BT: (B, T) KL(student || teacher) over the vocabulary at each token, in nats.
        keys: One name per row for what the engine can look up again (ReLIFT's demonstrations).
    """

    rewards_B: Tensor
    mask_BT: Tensor
    group_B: Tensor
    old_logp_BT: Tensor | None = None
    part_BN: Tensor | None = None
    part_names: tuple[str, ...] = ()
    token_rewards_BT: Tensor | None = None
    reason_B: Tensor | None = None
    token_type_BT: Tensor | None = None
    turn_BT: Tensor | None = None
    decay_B: Tensor | None = None
    is_demo_B: Tensor | None = None
    trajectory_B: Tensor | None = None
    anchor_BN: Tensor | None = None
    step_return_BN: Tensor | None = None
    entropy_BT: Tensor | None = None
    teacher_logp_BT: Tensor | None = None
    reverse_kl_BT: Tensor | None = None
    keys: tuple[str, ...] | None = None

    @property
    def dtype(self) -> torch.dtype:
        """The dtype that advantages are returned in."""
        if self.old_logp_BT is not None:
            return self.old_logp_BT.dtype
        return self.rewards_B.dtype if self.rewards_B.is_floating_point() else torch.float32


@dataclass(frozen=True, slots=True, kw_only=True)
class Advantages:
    """What `Algorithm.advantages` returns; detached, in the dtype of the batch.

    Args:
        values_BT: (B, T) advantages, 0 wherever the mask is.
        eps_low_B: (B,) lower clip radius of each row, where the algorithm sets one.
        eps_high_B: (B,) upper clip radius of each row, where the algorithm sets one.
        scalars: Numbers of the whole batch that the loss needs (`mu`, `entropy`).
        metrics: Numbers to log.
    """

    values_BT: Tensor
    eps_low_B: Tensor | None = None
    eps_high_B: Tensor | None = None
    scalars: Mapping[str, float] = field(default_factory=dict)
    metrics: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class LossInputs:
    """One micro-batch, as losses see it. Gradients flow to `logp_BT`, `expert_logp_ET`, `entropy_BT`,
    `expert_entropy_ET` and `student_logprobs_BTV` alone; everything else is detached on use.

    Args:
        logp_BT: (B, T) log-probability of the response tokens under the policy.
        mask_BT: (B, T) as in `RolloutBatch`.
        old_logp_BT: (B, T) as in `RolloutBatch`; None on a strictly on-policy update, where it equals
            `logp_BT` detached.
        advantages_BT: (B, T) `Advantages.values_BT`.
        eps_low_B: (B,) `Advantages.eps_low_B`.
        eps_high_B: (B,) `Advantages.eps_high_B`.
        scalars: `Advantages.scalars`, and the expert statistics of algorithms that ask for them.
        rewards_B: (B,) outcome reward.
        token_type_BT: (B, T) as in `RolloutBatch`.
        is_demo_B: (B,) bool, as in `RolloutBatch`.
        entropy_BT: (B, T) entropy of the policy in nats; a weight detaches it, a bonus does not.
        ref_logp_BT: (B, T) log-probability under the reference policy.
        preference_B: (B,) +1 chosen or desirable, -1 rejected or undesirable.
        pair_B: (B,) integer id of the pair; both members must be in one micro-batch.
        student_logprobs_BTV: (B, T, V) log-distribution of the policy.
        teacher_logprobs_BTV: (B, T, V) log-distribution of the teacher.
        expert_logp_ET: (E, T') log-probability of the expert tokens under the policy.
        expert_mask_ET: (E, T') 1 on valid expert tokens.
        expert_entropy_ET: (E, T') entropy of the policy at the expert tokens, in nats.
        expert_keep_ET: (E, T') 1 on expert tokens that stay in the selective loss (ToolUPT Eq. 19).
    """

    logp_BT: Tensor | None = None
    mask_BT: Tensor | None = None
    old_logp_BT: Tensor | None = None
    advantages_BT: Tensor | None = None
    eps_low_B: Tensor | None = None
    eps_high_B: Tensor | None = None
    scalars: Mapping[str, float] = field(default_factory=dict)
    rewards_B: Tensor | None = None
    token_type_BT: Tensor | None = None
    is_demo_B: Tensor | None = None
    entropy_BT: Tensor | None = None
    ref_logp_BT: Tensor | None = None
    preference_B: Tensor | None = None
    pair_B: Tensor | None = None
    student_logprobs_BTV: Tensor | None = None
    teacher_logprobs_BTV: Tensor | None = None
    expert_logp_ET: Tensor | None = None
    expert_mask_ET: Tensor | None = None
    expert_entropy_ET: Tensor | None = None
    expert_keep_ET: Tensor | None = None

    def require(self, name: str) -> Tensor:
        """Return the tensor of that name.

        Raises:
            ValueError: If the engine did not supply it.
        """
        value: Tensor | None = getattr(self, name)
        if value is None:
            raise ValueError(f"the loss needs LossInputs.{name}, which the engine did not supply")
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class LossOutputs:
    """What `Algorithm.loss` returns.

    Args:
        loss: Scalar in the dtype of the log-probabilities, to be minimised.
        metrics: Detached scalars; each adds up over the micro-batches of a step to its global value.
    """

    loss: Tensor
    metrics: Mapping[str, Tensor] = field(default_factory=dict)


@runtime_checkable
class Algorithm(Protocol):
    """One algorithm: pure tensor functions plus the little state that training must not lose.

    `advantages` runs once per rollout batch on whole groups; `loss` runs once per micro-batch. `StatelessAlgorithm`
    has a default for every hook but `loss`.

    Attributes:
        config: The options.
        needs: What an engine must supply.
        step_discount: Discount of the returns from each step of an episode.
    """

    config: Any
    needs: Needs
    step_discount: float

    def advantages(self, batch: RolloutBatch, step: Step) -> Advantages:
        """Return detached (B, T) advantages and what the loss needs besides."""
        ...

    def loss(self, inputs: LossInputs, step: Step) -> LossOutputs:
        """Return the scalar loss of one micro-batch, normalised by the counts in `step`."""
        ...

    def phase(self, step: Step) -> Phase:
        """Say which batches this update uses: rollouts, experts, both, or labelled preference rows."""
        ...

    def stage(self, step: Step) -> tuple[int, int]:
        """Return the steps done and the steps in all of the stage that this update belongs to."""
        ...

    def coefficients(self, step: Step) -> dict[str, float]:
        """Return the scheduled coefficients of this step by name, for metrics and plots."""
        ...

    def hint_tokens(self, step: Step, row: int, length: int) -> int:
        """Return how many of the first `length` tokens of a demonstration the prompt of a row shows."""
        ...

    def expert_scalars(self, entropy_ET: Tensor, mask_ET: Tensor) -> dict[str, float]:
        """Return the numbers of a whole expert batch that `loss` needs, where `expert_entropy` is needed."""
        ...

    def mismatch_scalars(self, logp_NT: Tensor, ref_logp_NT: Tensor, mask_NT: Tensor) -> dict[str, float]:
        """Return the numbers of a whole preference batch that `loss` needs, where `mismatched_pairs` are."""
        ...

    def keep_groups(self, batch: RolloutBatch) -> Tensor:
        """Return (B,) bool: rows that train; the engine refills the rest where `group_filter` is set."""
        ...

    def pending_experts(self) -> tuple[str, ...]:
        """Return, and forget, the keys of demonstrations that are due for a supervised update now."""
        ...

    def observe_gradient_norm(self, norm: float, step: Step) -> None:
        """Take note of the gradient norm of the update just done."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """Return the state as JSON-compatible values; saved with every checkpoint."""
        ...

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        ...
