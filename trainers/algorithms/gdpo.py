"""GDPO: every term of the reward is standardised inside its group before they are added up.

A_i = whiten(sum_k w_k (r_ik - mean_k) / (std_k + 1e-6)) over the tokens of the batch; GRPO's clipped loss.
A term with a large scale does not drown the others, and rewards of the same sum stay apart.
Source: arXiv 2601.05242; the whitening over tokens is verl's.

Deviations: 1. a term in which the group does not differ adds exactly 0; 2. a term
that a row has not is left out of its group's statistics; 3. dual clip at 3.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import msgspec
import torch
from torch import Tensor

from planarena.errors import ConfigError
from planarena.trainers.algorithms import groups
from planarena.trainers.algorithms.base import GroupConfig, GroupPolicy, advantage_metrics, to_tokens
from planarena.trainers.types import Advantages, Needs, RolloutBatch, Step, option

__all__ = ["GDPO", "GDPOConfig"]


class GDPOConfig(GroupConfig, frozen=True, kw_only=True, tag="gdpo"):
    """Options of GDPO."""

    weights: Annotated[
        dict[str, float],
        option("ours: every term, by 1", "terms of the reward that count, with their weights; {} for all"),
    ] = msgspec.field(default_factory=dict)
    whiten: Annotated[bool, option("GDPO: batch-wise normalisation", "whiten the sum over the batch")] = True


class GDPO(GroupPolicy[GDPOConfig]):
    """Group reward-decoupled normalisation policy optimisation."""

    title = "GDPO"
    paper = "arXiv 2601.05242"

    def base_needs(self) -> Needs:
        """Add the terms of the reward."""
        return replace(super().base_needs(), reward_parts=True)

    def advantages(self, batch: RolloutBatch, step: Step) -> Advantages:  # noqa: ARG002
        """Return the sum of the standardised terms at each token; the reward itself where it has no terms.

        Raises:
            ValueError: If the terms are absent.
            ConfigError: If a weight names none of them.
        """
        if batch.part_BN is None:
            raise ValueError("gdpo needs RolloutBatch.part_BN")
        lost_B = ~torch.isfinite(batch.rewards_B)
        total_B = torch.zeros_like(batch.rewards_B, dtype=torch.float64)
        for weight, value_B in self._terms(batch):
            value_B = torch.where(lost_B, torch.nan, value_B)
            grouped = groups.group_rewards(value_B, batch.group_B, batch.mask_BT)
            total_B = total_B + weight * grouped.standardised(ddof=self.config.ddof, eps=self.config.std_eps)
        values_BT = to_tokens(total_B, replace(batch, old_logp_BT=None, rewards_B=total_B))
        if self.config.whiten:
            values_BT = groups.whiten(values_BT, batch.mask_BT.bool() & ~lost_B[:, None])
        grouped = groups.group_rewards(batch.rewards_B, batch.group_B, batch.mask_BT)
        return Advantages(values_BT=values_BT.to(batch.dtype), metrics=advantage_metrics(grouped))

    def _terms(self, batch: RolloutBatch) -> list[tuple[float, Tensor]]:
        """Return weight and (B,) values of each term that counts."""
        assert batch.part_BN is not None
        if not batch.part_names:
            return [(1.0, batch.rewards_B)]
        weights = self.config.weights or dict.fromkeys(batch.part_names, 1.0)
        unknown = sorted(set(weights) - set(batch.part_names))
        if unknown:
            raise ConfigError(
                f"the reward has no term {', '.join(unknown)}",
                where="options.weights of gdpo",
                fix=f"weigh some of {', '.join(batch.part_names)}",
            )
        return [(weight, batch.part_BN[:, batch.part_names.index(name)]) for name, weight in weights.items()]
