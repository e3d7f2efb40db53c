"""What an algorithm does to each token of a recorded rollout: its advantage, and the pull of its loss on it.

Nothing is computed here that training does not compute: the batch of rollouts.jsonl is made again, the algorithm's own
`advantages` and `loss` are called on it, and the pull is the gradient of that loss, -dL/dlog pi of each token times the
number of tokens. On a fresh batch the ratio is 1, so that with a token mean GRPO's pull is the advantage itself; DUPO's
is (1 - gamma) rho A, GEAR's the advantage as redistributed, ToolUPT's has the rejected half of its preference term,
CHORD's is (1 - mu) A, and mu times the weight of the token on a demonstration.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import torch

from planarena.errors import UserError
from planarena.trainers.algorithms import get
from planarena.trainers.loop.batches import Expert, Sample, expert_inputs, pad, rollout_batch, rollout_inputs
from planarena.trainers.types import Advantages, Algorithm, LossInputs, RolloutBatch, Step

__all__ = ["CHOICES", "TokenNumbers", "algorithm_of", "batch_of", "token_numbers"]

# What the papers draw beside each other.
CHOICES = ("grpo", "dupo", "awpo", "toolupt", "chord-mu", "chord-phi", "gear", "fg-dapo", "dapo")


class TokenNumbers(NamedTuple):
    """The numbers of a recorded batch.

    Attributes:
        advantages: By row and token.
        pull: Likewise; None where the loss needs what is not recorded.
        expert_pull: By demonstration and token; likewise.
        coefficients: The algorithm's own of this step.
        metrics: Of the advantages.
        note: What the numbers leave out; empty where nothing.
    """

    advantages: list[list[float]]
    pull: list[list[float]] | None
    expert_pull: list[list[float]] | None
    coefficients: dict[str, float]
    metrics: dict[str, float]
    note: str


def algorithm_of(config: Mapping[str, Any], name: str = "") -> Algorithm:
    """Return the algorithm of a run, or another one by name.

    Args:
        config: Of the run's run.json.
        name: Another algorithm, with its defaults; empty for the run's own with its options.

    Raises:
        ConfigError: There is none of that name, or an option that is not one.
    """
    own = str(config.get("algorithm", ""))
    if name and name != own:
        return get(name)
    options = config.get("options")
    return get(own, **(options if isinstance(options, dict) else {}))


def token_numbers(line: Mapping[str, Any], algorithm: Algorithm, *, own: bool) -> TokenNumbers:
    """Return what an algorithm makes of a recorded batch.

    Args:
        line: Of rollouts.jsonl.
        algorithm: Fresh.
        own: It is the one that trained: its advantages are those of the record, of the whole batch.

    Raises:
        UserError: The record lacks what the algorithm needs, or is damaged.
    """
    samples, experts, batch, step = batch_of(line, algorithm)
    if own:
        advantages = _recorded(line, batch)
    else:
        _refuse_missing(algorithm, batch, samples)
        try:
            advantages = algorithm.advantages(batch, step)
        except ValueError as error:
            raise UserError(str(error), where="rollouts.jsonl", fix="choose another algorithm") from error
    rows = [
        values[: len(sample.response_ids)]
        for values, sample in zip(advantages.values_BT.tolist(), samples, strict=True)
    ]
    pull, expert_pull, note = _pulls(line, algorithm, samples, experts, batch, advantages, step)
    with torch.no_grad():
        coefficients = {name: float(value) for name, value in algorithm.coefficients(step).items()}
    metrics = {name: float(value) for name, value in advantages.metrics.items()}
    return TokenNumbers(rows, pull, expert_pull, coefficients, metrics, note)


def batch_of(
    line: Mapping[str, Any], algorithm: Algorithm
) -> tuple[list[Sample], list[Expert], RolloutBatch, Step]:
    """Return a recorded batch as the algorithm's functions take it.

    Raises:
        UserError: The record is damaged.
    """
    try:
        samples = [_sample(row) for row in line["rows"]]
        experts = [
            Expert([], [0] * len(one["mask"]), one["mask"], one["keep"], str(one.get("key", "")))
            for one in line.get("experts", ())
            if len(one["logp"]) == len(one["mask"]) == len(one["keep"])
        ]
        batch = rollout_batch(samples, replace(algorithm.needs, **_filled(samples)))
        width = batch.mask_BT.shape[1]
        further: dict[str, Any] = {
            f"{name}_BT": _padded([row[name] for row in line["rows"]], width)
            for name in ("teacher_logp", "reverse_kl", "entropy")
            if all(name in row for row in line["rows"])
        }
        batch = replace(batch, **further)
        step = Step(step=int(line["step"]) - 1, total_steps=int(line["total"]))
    except (LookupError, TypeError, ValueError, AttributeError, RuntimeError, OverflowError) as error:
        raise UserError(
            f"a line of rollouts.jsonl is damaged: {error}",
            where="rollouts.jsonl",
            fix="look at another step",
        ) from error
    return samples, experts, batch, step


def _sample(row: Mapping[str, Any]) -> Sample:

    length = len(row["mask"])
    if not all(len(row[name]) in (0, length) for name in ("logp", "advantages", "types", "pieces")):
        raise ValueError("the tokens of a row have not all numbers")

    def floats(name: str) -> list[float]:
        return [_float(value) for value in row.get(name, ())]

    return Sample(
        prompt_ids=[],
        response_ids=[0] * length,
        mask=[int(one) for one in row["mask"]],
        logp=floats("logp"),
        group=int(row["group"]),
        key=str(row.get("key", "")),
        turn=[int(one) for one in row.get("turn", ())],
        is_demo=bool(row.get("demo")),
        token_types=[int(one) for one in row.get("types", ())],
        reward=_float(row.get("reward")),
        token_rewards=floats("token_rewards"),
        reason=_float(row.get("reason")),
        decay=_float(row.get("decay", 1.0)),
        anchors=[int(one) for one in row.get("anchors", ())],
        returns=floats("returns"),
        trajectory=int(row.get("trajectory", 0)),
        parts={str(name): _float(value) for name, value in row.get("parts", {}).items()},
    )


def _float(value: Any) -> float:
    return float("nan") if value is None else float(value)


def _filled(samples: Sequence[Sample]) -> dict[str, bool]:
    # A batch without samples' entropies is completed from the record; the types are there for all or for none.
    return {"entropy": False, "token_types": all(sample.token_types for sample in samples)}


def _padded(rows: Sequence[Sequence[float | None]], width: int) -> torch.Tensor:

    return pad(([_float(value) for value in row] for row in rows), width=width)


def _refuse_missing(algorithm: Algorithm, batch: RolloutBatch, samples: Sequence[Sample]) -> None:
    needs = algorithm.needs
    unjudged = all(math.isnan(sample.reason) for sample in samples)
    lacks = {
        "token rewards": needs.token_rewards and batch.token_rewards_BT is None,
        "token types": needs.token_types and batch.token_type_BT is None,
        "reasoning rewards": needs.reasoning_reward and unjudged,
        "divergence from a teacher": (needs.teacher_distribution or needs.teacher_logp)
        and batch.reverse_kl_BT is None
        and batch.teacher_logp_BT is None,
        "entropies": needs.entropy and batch.entropy_BT is None,
    }
    missing = [name for name, lacking in lacks.items() if lacking]
    if missing:
        raise UserError(
            f"this training recorded no {' and no '.join(missing)}, which the algorithm reads",
            where="rollouts.jsonl",
            fix="choose another algorithm",
        )


def _recorded(line: Mapping[str, Any], batch: RolloutBatch) -> Advantages:
    """Return the advantages that training used."""
    rows = line["rows"]
    radii: dict[str, Any] = {
        f"{name}_B": torch.tensor([_float(row[name]) for row in rows], dtype=batch.dtype)
        for name in ("eps_low", "eps_high")
        if all(name in row for row in rows)
    }
    scalars = {str(name): _float(value) for name, value in line.get("scalars", {}).items()}
    values_BT = _padded([row["advantages"] for row in rows], batch.mask_BT.shape[1])
    return Advantages(values_BT=values_BT.to(batch.dtype), scalars=scalars, **radii)


def _pulls(
    line: Mapping[str, Any],
    algorithm: Algorithm,
    samples: Sequence[Sample],
    experts: Sequence[Expert],
    batch: RolloutBatch,
    advantages: Advantages,
    step: Step,
) -> tuple[list[list[float]] | None, list[list[float]] | None, str]:
    """Return -dL/dlog pi times the tokens, of the rollouts and of the demonstrations, and what they leave out."""
    needs = algorithm.needs
    if needs.teacher_in_loss:
        return None, None, "Its loss reads the teacher's whole distributions, which are not recorded."
    if batch.old_logp_BT is None:
        return None, None, "No log-probabilities are recorded."
    logp_BT = batch.old_logp_BT.nan_to_num(0.0).clone().requires_grad_()
    ref = [row.get("ref_logp") for row in line["rows"]]
    if needs.reference_policy and not all(ref):
        return None, None, "Its loss reads a reference policy, which is not recorded."
    width = batch.mask_BT.shape[1]
    given = rollout_inputs(
        range(len(samples)),
        batch,
        advantages,
        logp_BT,
        on_policy=True,
        ref_logp_BT=_padded([one for one in ref if one], width) if all(ref) else None,
        entropy_BT=batch.entropy_BT,
    )
    inputs = {field: getattr(given, field) for field in LossInputs.__dataclass_fields__}
    logp_ET: torch.Tensor | None = None
    if needs.experts and experts:
        recorded = [
            one for one in line["experts"] if len(one["logp"]) == len(one["mask"]) == len(one["keep"])
        ]
        logp_ET = pad([_float(value) for value in one["logp"]] for one in recorded).nan_to_num(0.0)
        logp_ET.requires_grad_()
        entropy_ET = (
            _padded([one["entropy"] for one in recorded], logp_ET.shape[1])
            if all("entropy" in one for one in recorded)
            else None
        )
        scalars = dict(given.scalars)
        if needs.expert_entropy and entropy_ET is not None:
            mask_ET = pad((one.mask for one in experts), dtype=torch.bool, width=logp_ET.shape[1])
            scalars |= algorithm.expert_scalars(entropy_ET, mask_ET)
        inputs |= expert_inputs(experts, logp_ET, entropy_ET=entropy_ET, scalars=scalars)
    counted = replace(
        step,
        tokens=int(batch.mask_BT.sum()),
        sequences=int(batch.mask_BT.bool().any(1).sum()),
        demo_tokens=sum(sum(sample.mask) for sample in samples if sample.is_demo),
        expert_tokens=sum(sum(one.mask) for one in experts) if logp_ET is not None else 0,
        expert_sequences=len(experts) if logp_ET is not None else 0,
        horizon=width,
    )
    try:
        loss = algorithm.loss(LossInputs(**inputs), counted).loss
    except ValueError as error:
        return None, None, f"Its loss needs what is not recorded: {error}."
    wanted = [logp_BT] if logp_ET is None else [logp_BT, logp_ET]
    found = (
        torch.autograd.grad(loss, wanted, allow_unused=True) if loss.requires_grad else [None] * len(wanted)
    )
    tokens = (counted.tokens or 1, counted.expert_tokens or 1)
    lengths = ([len(sample.mask) for sample in samples], [len(one.mask) for one in experts])
    made = [
        _rows(-(gradient if gradient is not None else torch.zeros_like(place)) * count, long)
        for gradient, place, count, long in zip(found, wanted, tokens, lengths, strict=False)
    ]
    note = (
        ""
        if logp_ET is not None or not needs.experts
        else "No demonstration is recorded, so its weight is 0 here."
    )
    return made[0], made[1] if len(made) > 1 else None, note


def _rows(values: torch.Tensor, lengths: Sequence[int]) -> list[list[float]]:
    return [row[:length] for row, length in zip(values.tolist(), lengths, strict=True)]
