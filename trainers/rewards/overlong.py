"""DAPO's soft overlong punishment (arXiv 2503.14476), alone or on top of another reward."""

from __future__ import annotations

from typing import Annotated, ClassVar

from planarena.formats import Gold, Parsed
from planarena.trainers.rewards.score import Context, Reward, Score, sourced

__all__ = ["Overlong", "WithOverlong", "overlong_penalty"]


def overlong_penalty(length: int, max_length: int, cache: int, factor: float = 1.0) -> float:
    """Return the penalty of a response of n tokens, in [-factor, 0].

    0 for n <= L_max - L_cache; factor (L_max - L_cache - n) / L_cache up to L_max; -factor beyond. No
    deviation; `factor` is verl's, whose own penalty goes on falling beyond L_max.

    Args:
        length: n, tokens.
        max_length: L_max, tokens.
        cache: L_cache, tokens; 0 makes it a step.
        factor: Greatest penalty.
    """
    free = max_length - cache
    if length <= free:
        return 0.0
    if length > max_length:
        return -factor
    return factor * (free - length) / cache


class Overlong(Reward, frozen=True, kw_only=True):
    """The penalty alone; text and gold are not read."""

    name: ClassVar[str] = "overlong"
    needs: ClassVar[tuple[str, ...]] = ("length",)

    max_length: Annotated[int, sourced("DAPO: 20480", "L_max, tokens", ge=1)] = 20480
    cache: Annotated[int, sourced("DAPO: 4096", "L_cache, tokens", ge=0)] = 4096
    factor: Annotated[float, sourced("DAPO: 1", "greatest penalty", ge=0)] = 1.0

    def penalty(self, context: Context) -> float:
        """Return the penalty for the length in the context, 0 without one."""
        if context.length is None:
            return 0.0
        return overlong_penalty(context.length, self.max_length, self.cache, self.factor)

    def _score(self, parsed: Parsed, gold: Gold, context: Context) -> Score:
        del parsed, gold
        penalty = self.penalty(context)
        missing = ("length",) if context.length is None else ()
        return Score(total=penalty, parts={"overlong": penalty}, missing=missing)


class WithOverlong(Reward, frozen=True, kw_only=True):
    """Another reward plus the penalty, as DAPO adds it; token rewards are shifted by it too."""

    name: ClassVar[str] = "with_overlong"

    reward: Annotated[Reward, sourced("DAPO", "the reward below")]
    overlong: Annotated[Overlong, sourced("DAPO", "the penalty")]

    @property
    def needed(self) -> tuple[str, ...]:
        """Fields of `Context` that the reward below reads, and the length."""
        return (*self.reward.needed, "length")

    def _score(self, parsed: Parsed, gold: Gold, context: Context) -> Score:
        base = self.reward.score(parsed, gold, context)
        penalty = self.overlong.penalty(context)
        return Score(
            total=base.total + penalty,
            parts={**base.parts, "overlong": penalty},
            token_rewards=None if base.token_rewards is None else base.token_rewards + penalty,
            missing=base.missing if context.length is not None else (*base.missing, "length"),
        )
