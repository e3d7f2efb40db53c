"""SFT, then RL: supervised updates for a number of steps, an RL algorithm from that checkpoint on.

CHORD section 3.2 calls it CHORD with a binary mu: 1, then 0. Source: AWPO, ToolUPT, CHORD baselines.

Deviations: 1. one run does both; SFT-light is one epoch of the expert data and SFT-best the best
validated checkpoint, which the trainer selects.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

from torch import Tensor

from planarena.trainers.algorithms.base import StatelessAlgorithm
from planarena.trainers.algorithms.dapo import DAPO, DAPOConfig
from planarena.trainers.algorithms.dr_grpo import DrGRPO, DrGRPOConfig
from planarena.trainers.algorithms.fg_dapo import FGDAPO, FGDAPOConfig
from planarena.trainers.algorithms.grpo import GRPO, GRPOConfig
from planarena.trainers.algorithms.sft import SFT, SFTConfig
from planarena.trainers.types import (
    Advantages,
    Algorithm,
    AlgorithmConfig,
    LossInputs,
    LossOutputs,
    Phase,
    RolloutBatch,
    Step,
    option,
)

__all__ = ["SFTThenRL", "SFTThenRLConfig"]

RLConfig = GRPOConfig | DrGRPOConfig | DAPOConfig | FGDAPOConfig


class SFTThenRLConfig(AlgorithmConfig, frozen=True, kw_only=True, tag="sft-rl"):
    """Options of the two-stage pipeline."""

    sft_steps: Annotated[int, option("ToolUPT Table 7: 3000", "supervised steps before RL", ge=0)] = 3000
    sft: Annotated[SFTConfig, option("CHORD Eq. 1", "the supervised stage")] = SFTConfig()
    rl: Annotated[RLConfig, option("AWPO, CHORD: GRPO; ToolUPT: DAPO*, FG-DAPO", "the RL stage")] = (
        GRPOConfig()
    )


class SFTThenRL(StatelessAlgorithm[SFTThenRLConfig]):
    """Two stages behind one interface."""

    title = "SFT+RL"
    paper = "AWPO section 4.1; ToolUPT section 4.3; CHORD section 3.2"

    def __init__(self, config: SFTThenRLConfig) -> None:
        super().__init__(config)
        self.supervised = SFT(config.sft)
        self.reinforced: Algorithm
        if isinstance(config.rl, GRPOConfig):
            self.reinforced = GRPO(config.rl)
        elif isinstance(config.rl, DrGRPOConfig):
            self.reinforced = DrGRPO(config.rl)
        elif isinstance(config.rl, DAPOConfig):
            self.reinforced = DAPO(config.rl)
        else:
            self.reinforced = FGDAPO(config.rl)
        supervised, reinforced = self.supervised.needs, self.reinforced.needs
        self.needs = replace(
            reinforced, experts=True, expert_entropy=supervised.expert_entropy, own_phases=True
        )

    def phase(self, step: Step) -> Phase:
        """Supervised first, then RL."""
        return "sft" if step.step < self.config.sft_steps else "rl"

    def stage(self, step: Step) -> tuple[int, int]:
        """Return the place in the supervised stage, or in that of RL."""
        if self.phase(step) == "sft":
            return step.step, min(self.config.sft_steps, step.total_steps)
        moved = self._rl_step(step)
        return moved.step, moved.total_steps

    def expert_scalars(self, entropy_ET: Tensor, mask_ET: Tensor) -> dict[str, float]:
        """Return what the supervised loss needs."""
        return self.supervised.expert_scalars(entropy_ET, mask_ET)

    def advantages(self, batch: RolloutBatch, step: Step) -> Advantages:
        """Return the RL algorithm's advantages."""
        return self.reinforced.advantages(batch, self._rl_step(step))

    def loss(self, inputs: LossInputs, step: Step) -> LossOutputs:
        """Return the loss of the stage that `step` is in."""
        if self.phase(step) == "sft":
            return self.supervised.loss(inputs, step)
        return self.reinforced.loss(inputs, self._rl_step(step))

    def keep_groups(self, batch: RolloutBatch) -> Tensor:
        """Return the RL algorithm's choice."""
        return self.reinforced.keep_groups(batch)

    def state_dict(self) -> dict[str, Any]:
        """Return the RL algorithm's state."""
        return self.reinforced.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the RL algorithm's state."""
        self.reinforced.load_state_dict(state)

    def _rl_step(self, step: Step) -> Step:
        offset = self.config.sft_steps
        return replace(step, step=max(step.step - offset, 0), total_steps=max(step.total_steps - offset, 1))
