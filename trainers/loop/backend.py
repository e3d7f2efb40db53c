"""What the loop asks of an engine: rollout, score, update, save; and what passes between the two.

The loop decides what is sampled, scored and trained on and when; a backend holds the weights and computes. Neither
backend knows the other, and none looks at which algorithm runs: it reads `Needs` and calls hooks of the protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

import torch
from torch import Tensor

from planarena.trainers.config import RolloutConfig, TrainConfig
from planarena.trainers.loop.batches import Expert, Sample
from planarena.trainers.loop.encoding import Prompt
from planarena.trainers.loop.score import Scorer
from planarena.trainers.loop.tokenizer import ChatTokenizer
from planarena.trainers.types import Advantages, Needs, RolloutBatch, Step

__all__ = [
    "Backend",
    "Generate",
    "Generated",
    "Job",
    "Made",
    "Rollouts",
    "Sampling",
    "Scores",
    "Speaker",
    "Work",
    "frozen_teacher",
    "outside_teacher",
    "teacher_name",
]

# (step, row of the batch, tokens of the demonstration) -> tokens that the prompt shows
HintTokens = Callable[[Step, int, int], int]


@dataclass(slots=True)
class Generated:
    """One sampled continuation.

    Attributes:
        ids: Sampled ids, the ending one included.
        logp: Log-probability of each under the distribution it was drawn from.
        entropy: Entropy of that distribution in nats at each; empty unless asked for.
        ended: An end token was drawn; else the limit cut it.
    """

    ids: list[int]
    logp: list[float]
    entropy: list[float]
    ended: bool


# (prompts, repeats, limits, temperature, seed, ...) -> P lists of K continuations
Generate = Callable[..., list[list[Generated]]]


_AT_START = Step()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How prompts are sampled; the defaults are those of validation.

    Attributes:
        seed: Of the draws.
        temperature: 0 is greedy.
        repeats: K; with a demonstration in the group, K - 1 are sampled.
        step: Where training stands.
        demonstrations: Put each prompt's demonstration into its group, where there is one.
        hint_tokens: How many tokens of its demonstration a prompt shows (UFT).
        judge: Ask judges.
        discount: Of the returns from each step of an episode (GiGPO).
    """

    seed: int = 0
    temperature: float = 0.0
    repeats: int = 1
    step: Step = _AT_START
    demonstrations: bool = False
    hint_tokens: HintTokens | None = None
    judge: bool = False
    discount: float = 1.0


@dataclass(slots=True)
class Rollouts:
    """A rollout batch before it becomes tensors.

    Attributes:
        samples: All rows, groups one after the other.
        prompts: The prompt of each group.
        hints: Hint tokens of each prompt as demonstrations (UFT).
        observation_tokens: Tokens that the environment wrote.
        tool_calls: Calls made in environments.
    """

    samples: list[Sample] = field(default_factory=list)
    prompts: list[Prompt] = field(default_factory=list)
    hints: list[Expert] = field(default_factory=list)
    observation_tokens: int = 0
    tool_calls: int = 0


@dataclass(slots=True)
class Scores:
    """What a pass without gradient says of N rows; NaN where there is no token.

    Attributes:
        logp_NT: Log-probabilities.
        entropy_NT: Entropies in nats, where asked for.
        reverse_kl_NT: KL(policy || scorer), where asked for.
    """

    logp_NT: Tensor
    entropy_NT: Tensor | None = None
    reverse_kl_NT: Tensor | None = None


@dataclass(slots=True)
class Work:
    """A scored rollout batch on its way through its updates.

    Attributes:
        samples: B rows, groups whole.
        batch: The same as tensors.
        advantages: Of the whole batch.
        ref_logp_BT: Of the reference policy, where needed.
        teacher_prompts: Per row, where the loss reads the teacher's distributions.
        hints: Hint tokens of the batch's prompts as demonstrations (UFT).
        metrics: Of the rollouts and the advantages.
        fresh: No update since the rollout, so that the ratio is 1.
    """

    samples: list[Sample]
    batch: RolloutBatch
    advantages: Advantages
    ref_logp_BT: Tensor | None = None
    teacher_prompts: list[Sequence[int]] | None = None
    hints: list[Expert] = field(default_factory=list)
    metrics: dict[str, Any] = field(default_factory=dict)
    fresh: bool = True


@dataclass(slots=True, kw_only=True)
class Job:
    """One optimiser update: what it trains on, and the numbers that no micro-batch could know.

    Attributes:
        step: Where training stands, with the global counts.
        rate: Learning rate.
        scalars: `LossInputs.scalars` of every call.
        work: The rollout batch, where rollouts train.
        rows: Its rows of this update.
        experts: Demonstrations; hints of the prompts where the algorithm needs those.
        pairs: Chosen and rejected responses in turn.
        pair_ref_logp_NT: Of the reference policy for them.
    """

    step: Step
    rate: float
    scalars: dict[str, float] = field(default_factory=dict)
    work: Work | None = None
    rows: Sequence[int] = ()
    experts: Sequence[Expert] = ()
    pairs: Sequence[Sample] = ()
    pair_ref_logp_NT: Tensor | None = None


@dataclass(frozen=True, slots=True)
class Made:
    """What became of an update.

    Attributes:
        metrics: Of the loss.
        norm: Of the gradient before clipping.
        done: The step was made; else loss or gradient were not finite.
        micro_batches: Passes.
    """

    metrics: Mapping[str, float]
    norm: float
    done: bool
    micro_batches: float


class Speaker(Protocol):
    """A policy as far as text and tokens go, wherever its weights are."""

    @property
    def chat(self) -> ChatTokenizer:
        """The tokenizer."""
        ...

    @property
    def context(self) -> int:
        """Most positions it has."""
        ...


class Backend(Speaker, Protocol):
    """An engine: it holds the policy and computes.

    Attributes:
        rescores: When the log-probabilities of samples are computed again before their update: where the update
            would find others than the rollout said. `fresh`: unless the rollout's weights are older.
        gives_entropy: Rollouts bring the entropies that were asked for.
    """

    rescores: Literal["never", "fresh", "always"]
    gives_entropy: bool

    @property
    def device(self) -> torch.device:
        """Of the batches that the loop makes."""
        ...

    def open(self, checkpoint: Path | None, known: Mapping[str, Any]) -> dict[str, Any]:
        """Hold the policy as it is at the start, or as a checkpoint has it with all that goes on from there.

        Args:
            checkpoint: Written by `save`.
            known: What run.json holds.

        Returns:
            Facts for run.json.

        Raises:
            UserError: A model that cannot be used.
            RunError: A damaged checkpoint.
        """
        ...

    def sampling(
        self, done: int, *, renew: bool = False, validation: bool = False
    ) -> AbstractContextManager[bool]:
        """Return the context in which `rollout` and `generate` are called.

        Args:
            done: Optimiser steps done.
            renew: Take the trained weights first.
            validation: Sample from the trained weights.

        Returns:
            Whether what samples has the weights of now.
        """
        ...

    def rollout(
        self, prompts: Sequence[Prompt], config: RolloutConfig, scorer: Scorer, how: Sampling
    ) -> Rollouts:
        """Sample responses or episodes, as the prompts are, and score them with the reward."""
        ...

    def generate(self, prompts: Sequence[Sequence[int]], **wanted: Any) -> list[list[Generated]]:
        """Continue lists of ids (`local.generate.generate`)."""
        ...

    def score(
        self,
        samples: Sequence[Sample],
        *,
        by: Literal["sampled", "policy", "start", "teacher"],
        prompts: Sequence[Sequence[int]] | None = None,
        temperature: float = 1.0,
        entropy: bool = False,
        reverse_kl: bool = False,
        together: bool = False,
    ) -> Scores:
        """Score responses without gradient.

        Args:
            samples: Rows; those of one group have the same prompt.
            by: The policy that sampled (where its weights are gone: the trained one), the trained one, or that of
                the start.
            prompts: Per row, where it is not the row's own.
            temperature: Divides the logits.
            entropy: Give entropies.
            reverse_kl: Give KL(sampled policy on the row's own prompt || `by` on `prompts`), and no more.
            together: Never divide a group over passes.
        """
        ...

    def update(self, job: Job) -> Made:
        """Make one optimiser step, or skip it where loss or gradient are not finite."""
        ...

    def save(self, folder: Path, done: int) -> None:
        """Write weights, tokenizer and moments into an empty folder: what transformers loads, and what `open` reads."""
        ...

    def note(self, line: Mapping[str, Any], done: int) -> None:
        """Take note of a line of metrics."""
        ...


def frozen_teacher(config: TrainConfig, needs: Needs) -> bool:
    """Say whether the teacher of GEAR, RLSD, OPSD and OPD is the policy as it was at the start."""
    chosen = config.rollout.teacher
    return chosen == "start" or (chosen == "auto" and (needs.teacher_in_loss or needs.plain_teacher))


def outside_teacher(config: TrainConfig, needs: Needs) -> str:
    """Return the folder of a teacher that is another model; empty where there is none."""
    chosen = config.rollout.teacher
    named = chosen not in ("auto", "current", "start")
    return chosen if named and (needs.teacher_logp or needs.teacher_distribution) else ""


def teacher_name(config: TrainConfig, needs: Needs) -> Literal["policy", "start", "teacher"]:
    """Return what scores as the teacher."""
    if outside_teacher(config, needs):
        return "teacher"
    return "start" if frozen_teacher(config, needs) else "policy"
