"""What a reward is given and what it returns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from planarena import formats
from planarena.formats import Gold, Parsed

__all__ = ["Context", "Reward", "Score", "finite", "sourced"]


def sourced(source: str, about: str, **bounds: Any) -> msgspec.Meta:
    """Describe one option of a reward: the place that fixes its default (or `ours`), its meaning, its range."""
    return msgspec.Meta(description=about, extra={"source": source}, **bounds)


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """What a reward needs beside the output and the gold; nothing here is computed by a reward.

    Attributes:
        similarity: DUPO Eq. 18, in [0, 1]; None or NaN when the judge failed.
        reasoning: AWPO appendix B, in [0, 1]; likewise.
        rubric: Share of a rubric that the output meets, in [0, 1]; likewise.
        step: n, number of the action within its trajectory, 1..steps.
        steps: N, number of actions of the trajectory.
        training_step: Number of optimiser steps done, for scheduled rewards.
        length: Response length in tokens.
        truncated: The response was cut at the token limit.
        tokens: Token ids of the response, length T.
        gold_tokens: Token ids of the gold response.
    """

    similarity: float | None = None
    reasoning: float | None = None
    rubric: float | None = None
    step: int = 1
    steps: int = 1
    training_step: int = 0
    length: int | None = None
    truncated: bool = False
    tokens: Sequence[int] | None = None
    gold_tokens: Sequence[int] | None = None


class Score(msgspec.Struct, frozen=True):
    """A reward.

    Attributes:
        total: The scalar outcome reward.
        parts: Its terms by name; they are metrics, and some algorithms read them.
        token_rewards: (T,) float64 reward per response token, or None.
        missing: Context that the reward needed and did not get; it then counted as neutral. Whoever holds
            the group must treat all its members alike (see `one_scorer`).
    """

    total: float
    parts: dict[str, float]
    token_rewards: NDArray[np.float64] | None = None
    missing: tuple[str, ...] = ()


_NOTHING = Context()


class Reward(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of every reward: its options, and `score`. A pure function that never raises on any text.

    Attributes:
        format: Name of the format that predictions and golds given as text are read in.
    """

    name: ClassVar[str] = ""
    needs: ClassVar[tuple[str, ...]] = ()

    format: str = "planarena"

    @property
    def needed(self) -> tuple[str, ...]:
        """Fields of `Context` that this reward reads, so that an engine fetches no score in vain."""
        return self.needs

    def score(self, prediction: str | Parsed, gold: str | Gold, context: Context = _NOTHING) -> Score:
        """Score one output.

        Args:
            prediction: The output as text, or read already.
            gold: The reference action as text in the same format, or as a structure.
            context: Scores and counts passed in.
        """
        if isinstance(prediction, str):
            prediction = formats.get(self.format).parse(prediction)
        if isinstance(gold, str):
            gold = Gold.of(formats.get(self.format).parse(gold))
        return self._score(prediction, gold, context)

    def _score(self, parsed: Parsed, gold: Gold, context: Context) -> Score:
        raise NotImplementedError


def finite(value: float | None) -> float | None:
    """Return a judge's number, or None when there is none: None, NaN or infinite."""
    return value if value is not None and math.isfinite(value) else None
