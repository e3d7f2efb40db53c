"""What an algorithm needs, arranged once: samples become batches, counts, hints and teacher prompts.

Nothing here runs a model or knows an engine. An engine samples (`Sample`), fills in scores, asks for a
`RolloutBatch`, hands micro-batches to the loss and adds up their gradients.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from planarena import formats
from planarena.formats import Parsed, TokenType
from planarena.trainers.types import Advantages, LossInputs, Needs, RolloutBatch, Step

__all__ = [
    "Expert",
    "Sample",
    "conditioned_messages",
    "demonstration_sample",
    "expert_inputs",
    "mini_batches",
    "pad",
    "rollout_batch",
    "rollout_inputs",
    "step_of",
    "token_type_codes",
]


@dataclass(slots=True)
class Sample:
    """One response: sampled, or a demonstration placed in a group.

    Attributes:
        prompt_ids: L tokens.
        response_ids: T tokens, observations between turns included.
        mask: T flags; 1 where the policy wrote the token.
        logp: T log-probabilities under the rollout policy; 0 where masked.
        group: Its prompt in the batch.
        key: What the engine looks the row up by.
        entropy: T entropies in nats, or empty.
        turn: T numbers of the assistant turn, or empty for one turn.
        is_demo: A demonstration.
        truncated: Cut at the limit.
        text: What the policy wrote, read by `parsed`.
        parsed: The reading of `text` (of the last turn in an episode).
        token_types: T codes, or empty.
        reward: The outcome reward; NaN before it is scored.
        token_rewards: T rewards, or empty.
        reason: The reasoning reward; NaN where the judge failed or nobody asked.
        decay: Sequential importance weight (DUPO Eq. 20).
        anchors: N ids of the observation before each step.
        returns: N discounted returns from each step.
        trajectory: Id of the episode.
        parts: Terms of the reward, for metrics.
        success: 1 for a correct action, or for an episode that reaches its goal.
    """

    prompt_ids: Sequence[int]
    response_ids: list[int]
    mask: list[int]
    logp: list[float]
    group: int
    key: str = ""
    entropy: list[float] = field(default_factory=list)
    turn: list[int] = field(default_factory=list)
    is_demo: bool = False
    truncated: bool = False
    text: str = ""
    parsed: Parsed | None = None
    token_types: list[int] = field(default_factory=list)
    reward: float = float("nan")
    token_rewards: list[float] = field(default_factory=list)
    reason: float = float("nan")
    decay: float = 1.0
    anchors: list[int] = field(default_factory=list)
    returns: list[float] = field(default_factory=list)
    trajectory: int = 0
    parts: dict[str, float] = field(default_factory=dict)
    success: float = 0.0


@dataclass(frozen=True, slots=True)
class Expert:
    """A demonstration: T target tokens after a prompt.

    Attributes:
        prompt_ids: L tokens.
        target_ids: T tokens, the end included.
        mask: T flags; 0 on observations inside an imitated episode.
        keep: T flags of the selective loss (ToolUPT Eq. 19).
        key: What the engine looks the row up by.
    """

    prompt_ids: Sequence[int]
    target_ids: list[int]
    mask: list[int]
    keep: list[int]
    key: str = ""


def demonstration_sample(
    expert: Expert, prompt_ids: Sequence[int], group: int, key: str, needs: Needs
) -> Sample:
    """Return a demonstration as a row of a group; its behaviour policy is taken to be 1 (LUFFY)."""
    length = len(expert.target_ids)
    return Sample(
        prompt_ids=prompt_ids,
        response_ids=list(expert.target_ids),
        mask=list(expert.mask),
        logp=[0.0] * length,
        group=group,
        key=key,
        entropy=[0.0] * length if needs.entropy else [],
        is_demo=True,
    )


def pad(
    rows: Iterable[Sequence[float]], *, value: float = 0.0, dtype: torch.dtype = torch.float32, width: int = 0
) -> Tensor:
    """Return (N, T) of rows padded at the right, T at least `width`."""
    listed = list(rows)
    out = torch.full((len(listed), max([width, 1, *map(len, listed)])), value, dtype=dtype)
    for index, row in enumerate(listed):
        if len(row):
            out[index, : len(row)] = torch.tensor(row, dtype=dtype)
    return out


def rollout_batch(
    samples: Sequence[Sample], needs: Needs, device: torch.device | str = "cpu"
) -> RolloutBatch:
    """Return the samples of one step as the tensors that `advantages` reads; only what is needed is filled in.

    Teacher values are not known here; an engine adds them with `dataclasses.replace`.
    """
    width = max((len(sample.response_ids) for sample in samples), default=1)

    def tokens(
        rows: Iterable[Sequence[float]], value: float = 0.0, dtype: torch.dtype = torch.float32
    ) -> Tensor:
        return pad(rows, value=value, dtype=dtype, width=width).to(device)

    def numbers(values: Iterable[float], dtype: torch.dtype) -> Tensor:
        return torch.tensor(list(values), dtype=dtype, device=device)

    names = tuple(sorted({name for sample in samples for name in sample.parts})) if needs.reward_parts else ()
    dense = bool(samples) and all(sample.token_rewards for sample in samples)
    turns = any(sample.turn for sample in samples)
    return RolloutBatch(
        rewards_B=numbers((sample.reward for sample in samples), torch.float64),
        mask_BT=tokens((sample.mask for sample in samples), dtype=torch.bool),
        group_B=numbers((sample.group for sample in samples), torch.long),
        old_logp_BT=tokens(sample.logp for sample in samples),
        part_BN=torch.tensor(
            [[sample.parts.get(name, float("nan")) for name in names] for sample in samples],
            dtype=torch.float64,
            device=device,
        ).reshape(len(samples), len(names))
        if needs.reward_parts
        else None,
        part_names=names,
        token_rewards_BT=tokens((sample.token_rewards for sample in samples), dtype=torch.float64)
        if needs.token_rewards and dense
        else None,
        reason_B=numbers((sample.reason for sample in samples), torch.float64)
        if needs.reasoning_reward
        else None,
        token_type_BT=tokens((sample.token_types for sample in samples), TokenType.PAD, torch.long)
        if needs.token_types
        else None,
        turn_BT=tokens(
            (sample.turn or [0] * len(sample.response_ids) for sample in samples), dtype=torch.long
        )
        if turns
        else None,
        decay_B=numbers((sample.decay for sample in samples), torch.float64),
        is_demo_B=numbers((sample.is_demo for sample in samples), torch.bool)
        if needs.demonstrations
        else None,
        trajectory_B=numbers((sample.trajectory for sample in samples), torch.long),
        anchor_BN=pad((sample.anchors for sample in samples), value=-1, dtype=torch.long).to(device)
        if needs.step_anchors
        else None,
        step_return_BN=pad((sample.returns for sample in samples), dtype=torch.float64).to(device)
        if needs.step_anchors
        else None,
        entropy_BT=tokens(sample.entropy for sample in samples) if needs.entropy else None,
        keys=tuple(sample.key for sample in samples),
    )


def step_of(
    done: int,
    total: int,
    *,
    samples: Sequence[Sample] = (),
    experts: Sequence[Expert] = (),
    horizon: int | None = None,
) -> Step:
    """Return the step with the global counts that losses divide by.

    Args:
        done: Optimiser steps done.
        total: Optimiser steps of the run.
        samples: All rollout rows of this update.
        experts: All expert rows of this update.
        horizon: The constant length of aggregations that divide by one.
    """
    return Step(
        step=done,
        total_steps=total,
        tokens=sum(sum(sample.mask) for sample in samples),
        sequences=sum(1 for sample in samples if any(sample.mask)),
        demo_tokens=sum(sum(sample.mask) for sample in samples if sample.is_demo),
        expert_tokens=sum(sum(expert.mask) for expert in experts),
        expert_sequences=sum(1 for expert in experts if any(expert.mask)),
        horizon=horizon,
    )


def rollout_inputs(
    rows: Sequence[int],
    batch: RolloutBatch,
    advantages: Advantages,
    logp_BT: Tensor,
    *,
    on_policy: bool,
    scalars: Mapping[str, float] | None = None,
    ref_logp_BT: Tensor | None = None,
    entropy_BT: Tensor | None = None,
    student_logprobs_BTV: Tensor | None = None,
    teacher_logprobs_BTV: Tensor | None = None,
) -> LossInputs:
    """Return the loss's view of some rows of a batch.

    Args:
        rows: Indices into the batch.
        batch: The whole batch.
        advantages: Of the whole batch.
        logp_BT: (rows, T') of the policy now; T' is the longest response among the rows.
        on_policy: Nothing changed since the rollout, so the ratio is 1.
        scalars: Further numbers for the loss.
        ref_logp_BT: (B, T) of the reference policy, for the whole batch.
        entropy_BT: (rows, T').
        student_logprobs_BTV: (rows, T', V).
        teacher_logprobs_BTV: (rows, T', V).
    """
    index = torch.tensor(list(rows), device=logp_BT.device)
    width = logp_BT.shape[1]

    def tokens(values: Tensor | None) -> Tensor | None:
        return None if values is None else values.index_select(0, index)[:, :width]

    def per_row(values: Tensor | None) -> Tensor | None:
        return None if values is None else values.index_select(0, index)

    return LossInputs(
        logp_BT=logp_BT,
        mask_BT=tokens(batch.mask_BT),
        old_logp_BT=None if on_policy else tokens(batch.old_logp_BT),
        advantages_BT=tokens(advantages.values_BT),
        eps_low_B=per_row(advantages.eps_low_B),
        eps_high_B=per_row(advantages.eps_high_B),
        scalars={**advantages.scalars, **(scalars or {})},
        rewards_B=per_row(batch.rewards_B),
        token_type_BT=tokens(batch.token_type_BT),
        is_demo_B=per_row(batch.is_demo_B),
        entropy_BT=entropy_BT,
        ref_logp_BT=tokens(ref_logp_BT),
        student_logprobs_BTV=student_logprobs_BTV,
        teacher_logprobs_BTV=teacher_logprobs_BTV,
    )


def expert_inputs(
    experts: Sequence[Expert],
    logp_ET: Tensor,
    *,
    entropy_ET: Tensor | None = None,
    scalars: Mapping[str, float] | None = None,
) -> dict[str, Any]:
    """Return the expert fields of `LossInputs` for some expert rows.

    Args:
        experts: E rows.
        logp_ET: (E, T') of the policy.
        entropy_ET: (E, T'), where needed.
        scalars: Numbers for the loss.
    """
    width, device = logp_ET.shape[1], logp_ET.device
    return {
        "expert_logp_ET": logp_ET,
        "expert_mask_ET": pad((e.mask for e in experts), dtype=torch.bool, width=width).to(device),
        "expert_keep_ET": pad((e.keep for e in experts), dtype=torch.bool, width=width).to(device),
        "expert_entropy_ET": entropy_ET,
        "scalars": dict(scalars or {}),
    }


def mini_batches(
    groups: Sequence[int], updates: int, seed: int, *, mini_batch_size: int | None = None
) -> list[list[int]]:
    """Divide the rows of a batch into those of its updates; groups stay whole.

    Without a size each of the updates gets an equal part of the prompts (each prompt once). With a size, or with
    more updates than prompts, prompts are shuffled and passed over as often as it takes.

    Args:
        groups: B ids.
        updates: Updates of the batch.
        seed: Of the shuffles.
        mini_batch_size: Prompts of one update.

    Returns:
        `updates` lists of row indices.
    """
    members: dict[int, list[int]] = {}
    for row, group in enumerate(groups):
        members.setdefault(group, []).append(row)
    names = list(members)
    size = mini_batch_size or max(-(-len(names) // updates), 1)
    if size >= len(names):
        return [list(range(len(groups))) for _ in range(updates)]
    rng = random.Random(seed)
    parts: list[list[int]] = []
    while len(parts) < updates:
        rng.shuffle(names)
        for start in range(0, len(names), size):
            chosen = names[start : start + size]
            parts.append(sorted(row for name in chosen for row in members[name]))
    return parts[:updates]


def token_type_codes(parsed: Parsed, offsets: Sequence[tuple[int, int]]) -> list[int]:
    """Return the type of each token as a code (DUPO section 4.1)."""
    return [int(kind) for kind in formats.token_types(parsed, offsets)]


def conditioned_messages(
    messages: Sequence[Mapping[str, Any]], target: str, words: str
) -> list[dict[str, Any]]:
    """Return a prompt that shows the ground truth, for the teacher of GEAR, RLSD and OPSD.

    Source: GEAR's abstract and OPSD: the same model, conditioned on the ground truth. The wording is ours.

    Args:
        messages: The prompt.
        target: The gold action in the format.
        words: With the slot {target}.
    """
    shown = words.replace("{target}", target)
    copied = [dict(message) for message in messages]
    for message in reversed(copied):
        if message["role"] in ("user", "tool", "system"):
            message["content"] = f"{message.get('content') or ''}\n\n{shown}"
            return copied
    return [{"role": "user", "content": shown}, *copied]
