"""DUPO's chain-aware semantic reward (paper DUPO section 4.3): structure, semantic, sequential decay."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Annotated, ClassVar, Literal, NamedTuple

from planarena import formats
from planarena.formats import Call, Gold, Parsed
from planarena.trainers.rewards.matching import multiset_iou, value_key
from planarena.trainers.rewards.score import Context, Reward, Score, finite, sourced

__all__ = ["DUPO", "Decay", "Structure", "one_scorer", "semantic", "sequential_decay", "structure"]

Decay = Literal["sequential", "linear", "discrete", "none"]

_DISCRETE = (2.0, 1.5, 1.0, 0.5, 0.4, 0.3, 0.2)


class Structure(NamedTuple):
    """The three terms of DUPO Eq. 16, each in [0, 1]."""

    name: float
    param: float
    format: float

    @property
    def total(self) -> float:
        """Eq. 16: their sum, in [0, 3]."""
        return self.name + self.param + self.format


def structure(predicted: Sequence[Call], gold: Sequence[Call], format_ok: bool) -> Structure:
    """Return r_name, r_param and r_format (DUPO Eqs. 16-17).

    Deviations: (1) the paper says IoU and not of what: names, and (name, key, canonical value) triples, as
    multisets. (2) Where no call has a parameter r_param is r_name, or g() would earn r_param for f().
    (3) Two empty multisets of names overlap by 1. (4) Whole actions are compared, not prefixes.

    Args:
        predicted: Predicted calls.
        gold: Reference calls.
        format_ok: The validity predicate of the format.
    """
    r_name = multiset_iou([call.name for call in predicted], [call.name for call in gold])
    triples = [
        (call.name, key, value_key(value)) for call in predicted for key, value in call.arguments.items()
    ]
    wanted = [(call.name, key, value_key(value)) for call in gold for key, value in call.arguments.items()]
    r_param = multiset_iou(triples, wanted) if triples or wanted else r_name
    return Structure(r_name, r_param, 1.0 if format_ok else 0.0)


def semantic(similarity: float, coefficient: float) -> float:
    """Return lambda (sim - 1) with sim clipped to [0, 1] (DUPO Eqs. 18-19), in [-lambda, 0]."""
    return coefficient * (min(max(similarity, 0.0), 1.0) - 1.0)


def sequential_decay(step: int, steps: int, kind: Decay = "sequential") -> float:
    """Return the weight of action n of N.

    sequential: exp(-ln(N + 1) n / N) (DUPO Eq. 20; Eq. 23's pi is N). linear: 2 / (c + 1) (Eq. 22).
    discrete: [2, 1.5, 1, .5, .4, .3, .2] for c <= 0, (0, 1], ... (4, 5], above 5 (Eq. 21). none: 1.
    Deviation: (1) c is n - 1, so that the first action falls into the first bin.

    Args:
        step: n, from 1.
        steps: N.
        kind: The law, a row of DUPO Table 7.

    Raises:
        ValueError: When n or N is below 1.
    """
    if step < 1 or steps < 1:
        raise ValueError(f"action {step} of {steps}: both count from 1")
    if kind == "sequential":
        return math.exp(-math.log(steps + 1) * step / steps)
    if kind == "linear":
        return linear_decay(step - 1)
    if kind == "discrete":
        return discrete_decay(step - 1)
    return 1.0


def linear_decay(c: float) -> float:
    """Return 2 / (c + 1) (DUPO Eq. 22), which is a hyperbola in spite of its name; c > -1."""
    return 2.0 / (c + 1.0)


def discrete_decay(c: float) -> float:
    """Return the step function of DUPO Eq. 21."""
    return _DISCRETE[min(max(math.ceil(c), 0), len(_DISCRETE) - 1)]


def one_scorer(scores: Sequence[float | None], fallback: Callable[[int], float]) -> list[float]:
    """Return the judge's scores of a group, or the fallback's for every member when one is missing.

    Two scorers in one group would turn their difference in scale into an advantage.

    Args:
        scores: The judge's scores of the K members; None, NaN or infinite where it failed.
        fallback: Index of a member -> its deterministic score.
    """
    if any(finite(score) is None for score in scores):
        return [fallback(index) for index in range(len(scores))]
    return [float(score) for score in scores if score is not None]


class DUPO(Reward, frozen=True, kw_only=True):
    """R = (R_struct + R_sem) R_decay (DUPO Eq. 15), in [-lambda, 3] times the decay.

    Deviations: those of `structure` and `sequential_decay`; (5) a broken call earns no r_name and r_param,
    also where the gold calls nothing; (6) without a similarity R_sem is 0 and `missing` says so;
    (7) `decay_application` "advantage" leaves the decay to the algorithm, since inside the
    reward it cancels in DUPO Eq. 11.
    """

    name: ClassVar[str] = "dupo"
    needs: ClassVar[tuple[str, ...]] = ("similarity", "step", "steps")

    lambda_sem: Annotated[float, sourced("DUPO Table 6", "weight of the semantic reward", ge=0)] = 0.5
    decay: Annotated[Decay, sourced("DUPO Eq. 20, Table 7", "law of the sequential decay")] = "sequential"
    decay_application: Annotated[
        Literal["reward", "advantage"],
        sourced("DUPO Eq. 15", "multiply the reward, or leave it to the advantage"),
    ] = "reward"

    @property
    def needed(self) -> tuple[str, ...]:
        """The similarity only where it has a weight (DUPO Table 6, lambda = 0)."""
        return self.needs if self.lambda_sem else self.needs[1:]

    def _score(self, parsed: Parsed, gold: Gold, context: Context) -> Score:
        if parsed.broken:
            terms = Structure(0.0, 0.0, 0.0)
        else:
            format_ok = not formats.get(parsed.format).check(parsed, gold.category)
            terms = structure(parsed.calls, gold.calls, format_ok)
        similarity = finite(context.similarity)
        r_sem = 0.0 if similarity is None else semantic(similarity, self.lambda_sem)
        decay = sequential_decay(context.step, context.steps, self.decay)
        total = terms.total + r_sem
        return Score(
            total=total * decay if self.decay_application == "reward" else total,
            parts={
                "name": terms.name,
                "param": terms.param,
                "format": terms.format,
                "structure": terms.total,
                "semantic": r_sem,
                "decay": decay,
            },
            missing=("similarity",) if similarity is None and self.lambda_sem else (),
        )
