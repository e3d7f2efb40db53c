"""FG-DAPO: token rewards standardised over all tokens of a group, in a token-mean clipped surrogate.

mean and std over all tokens of the K rollouts (Eq. 15-16, population); A = (R_tok - mean) / (std + 1e-6)
(Eq. 17); L = token-mean clipped surrogate (Eq. 18). Source: ToolUPT section 3.2.

Deviations: 1. the epsilons of Eq. 17 and Eq. 18 are two constants; 2. the clip is symmetric as printed
(`eps_high: 0.28` is DAPO's); 3. dual clip at 3; 4. a batch without token rewards takes each row's
outcome at every token.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from planarena.trainers.algorithms import groups
from planarena.trainers.algorithms.base import ClippedPolicy, PolicyConfig
from planarena.trainers.types import Advantages, Needs, RolloutBatch, Step, option

__all__ = ["FGDAPO", "FGDAPOConfig", "FineGrainedConfig", "fine_grained_advantages"]


class FineGrainedConfig(PolicyConfig, frozen=True, kw_only=True):
    """Options of the fine-grained advantage."""

    ddof: Annotated[Literal[0, 1], option("ToolUPT Eq. 16", "degrees of freedom of the deviation")] = 0
    std_eps: Annotated[
        float, option("ours: ToolUPT Eq. 17 gives no value", "added to the deviation", ge=0)
    ] = 1e-6


class FGDAPOConfig(FineGrainedConfig, frozen=True, kw_only=True, tag="fg-dapo"):
    """Options of FG-DAPO."""


def fine_grained_advantages(batch: RolloutBatch, *, ddof: int, eps: float) -> Advantages:
    """Return token rewards standardised over all tokens of their group (ToolUPT Eq. 15-17).

    Args:
        batch: `token_rewards_BT`, or `rewards_B` at every token where that is absent.
        ddof: Degrees of freedom of the deviation, counted in tokens.
        eps: Added to the deviation.
    """
    rewards_BT = batch.token_rewards_BT
    if rewards_BT is None:
        rewards_BT = batch.rewards_B[:, None].expand(batch.mask_BT.shape)
    grouped = groups.group_token_rewards(rewards_BT, batch.group_B, batch.mask_BT)
    values_BT = grouped.standardised(ddof=ddof, eps=eps)
    tokens = grouped.count_P.sum().clamp(min=1.0)
    metrics = {
        "advantage/degenerate_groups": float(grouped.degenerate_P.double().mean())
        if grouped.count_P.numel()
        else 0.0,
        "advantage/mean_token_reward": float(grouped.rewards.sum() / tokens),
        "advantage/invalid_rewards": float((batch.mask_BT.bool() & ~grouped.valid).sum()),
        "advantage/negative_tokens": float((values_BT < 0).sum() / tokens),
    }
    return Advantages(values_BT=values_BT.to(batch.dtype), metrics=metrics)


class FGDAPO(ClippedPolicy[FGDAPOConfig]):
    """Fine-grained DAPO, the RL half of ToolUPT alone."""

    title = "FG-DAPO"
    paper = "ToolUPT Eq. 13-18"

    def base_needs(self) -> Needs:
        """Add token rewards."""
        return replace(super().base_needs(), token_rewards=True)

    def advantages(self, batch: RolloutBatch, step: Step) -> Advantages:  # noqa: ARG002
        """Return the fine-grained advantages."""
        return fine_grained_advantages(batch, ddof=self.config.ddof, eps=self.config.std_eps)
