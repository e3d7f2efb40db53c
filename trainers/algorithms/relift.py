"""ReLIFT: RL on rollouts, and a supervised update on demonstrations of prompts that no rollout solved.

RL: A = R - mean, -A r without clip, sum / T. Prompts whose K rollouts all fail go to a buffer with
their demonstration; once it holds 128 rows, one supervised update on the newest 128:
token-mean cross-entropy - 0.001 entropy. Source: authors' code.

Deviations: 1. rows left in the buffer at the end of training are discarded; 2. sum / T over the global
batch, as in LUFFY; 3. the engine runs the supervised update with the optimiser it has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

import torch
from torch import Tensor

from planarena.trainers.algorithms import demonstrations, groups, surrogate
from planarena.trainers.algorithms.base import (
    ClippedPolicy,
    PolicyConfig,
    advantage_metrics,
    to_tokens,
    token_mean,
)
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

__all__ = ["ReLIFT", "ReLIFTConfig"]


class ReLIFTConfig(PolicyConfig, frozen=True, kw_only=True, tag="relift"):
    """Options of ReLIFT."""

    aggregation: Annotated[
        surrogate.Aggregation, option("ReLIFT: no token mean", "reduction of the RL loss")
    ] = "token-sum-norm"
    buffer_size: Annotated[int, option("ReLIFT trainer.py", "rows of one supervised update", ge=1)] = 128
    solved_above: Annotated[
        float, option("ReLIFT: rewards 0 and 1", "a rollout with more reward is solved")
    ] = 0.0
    sft_entropy_coef: Annotated[
        float, option("ReLIFT trainer.py", "entropy bonus of the supervised loss", ge=0)
    ] = 0.001


class ReLIFT(ClippedPolicy[ReLIFTConfig]):
    """Reinforcement learning interleaved with online fine-tuning."""

    title = "ReLIFT"
    paper = "ReLIFT, authors' code"

    def __init__(self, config: ReLIFTConfig) -> None:
        super().__init__(config)
        self._buffer: list[str] = []

    def base_needs(self) -> Needs:
        """Add experts on demand."""
        return replace(
            super().base_needs(),
            experts=True,
            expert_entropy=self.config.sft_entropy_coef > 0,
            own_phases=True,
        )

    def phase(self, step: Step) -> Phase:  # noqa: ARG002
        """Train on rollouts; `pending_experts` says when a supervised update follows."""
        return "rl"

    def advantages(self, batch: RolloutBatch, step: Step) -> Advantages:  # noqa: ARG002
        """Return R - mean; remember the prompts that no rollout solved."""
        grouped = groups.group_rewards(batch.rewards_B, batch.group_B, batch.mask_BT)
        unsolved = self._remember(grouped, batch.keys)
        metrics = advantage_metrics(grouped) | {
            "buffer/unsolved_prompts": float(unsolved),
            "buffer/rows": float(len(self._buffer)),
        }
        return Advantages(values_BT=to_tokens(grouped.centred(), batch), metrics=metrics)

    def loss(self, inputs: LossInputs, step: Step) -> LossOutputs:
        """Return the RL loss, or the supervised loss where only experts are given."""
        if inputs.logp_BT is not None:
            return super().loss(inputs, step)
        inputs.require("expert_logp_ET")
        sft = demonstrations.expert_loss(inputs, step)
        loss = sft
        if self.config.sft_entropy_coef > 0:
            entropy = surrogate.aggregate(
                inputs.require("expert_entropy_ET"),
                inputs.require("expert_mask_ET"),
                "token-mean",
                tokens=step.expert_tokens,
            )
            loss = sft - self.config.sft_entropy_coef * entropy
        return LossOutputs(loss=loss, metrics={"loss/sft": sft.detach(), "loss/total": loss.detach()})

    def policy_loss(
        self, inputs: LossInputs, step: Step, weight_BT: Tensor | None = None
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Return -A r, aggregated."""
        logp_BT, mask_BT = inputs.require("logp_BT"), inputs.require("mask_BT")
        ratio_BT = surrogate.log_ratio(logp_BT, inputs.old_logp_BT, mask_BT)
        loss_BT = surrogate.unclipped_loss(ratio_BT, inputs.require("advantages_BT"))
        if weight_BT is not None:
            loss_BT = loss_BT * weight_BT.detach()
        loss = self.aggregate(loss_BT, mask_BT, step)
        return loss, {
            "loss/policy": loss.detach(),
            "policy/kl_to_rollout": token_mean(-ratio_BT.detach(), mask_BT, step),
        }

    def pending_experts(self) -> tuple[str, ...]:
        """Return the newest `buffer_size` keys once there are as many, and forget them."""
        size = self.config.buffer_size
        if len(self._buffer) < size:
            return ()
        taken, self._buffer = tuple(self._buffer[:size]), self._buffer[size:]
        return taken

    def state_dict(self) -> dict[str, Any]:
        """Return the buffered keys, newest first."""
        return {"buffer": list(self._buffer)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the buffered keys."""
        self._buffer = [str(key) for key in state["buffer"]]

    def _remember(self, grouped: groups.Grouped, keys: tuple[str, ...] | None) -> int:
        solved_B = grouped.valid & (grouped.rewards > self.config.solved_above)
        solved_P = torch.zeros_like(grouped.mean_P).index_add_(0, grouped.member_B, solved_B.double()) > 0
        failed = {int(group) for group in torch.nonzero((grouped.count_P > 0) & ~solved_P).flatten()}
        if keys is not None:
            fresh: dict[str, None] = {}
            for row, group in enumerate(grouped.member_B.tolist()):
                if group in failed:
                    fresh.setdefault(keys[row])
            self._buffer = [*fresh, *self._buffer]
        return len(failed)
