"""Sampling: one prefill per prompt, finished rows dropped, inverse-CDF draws that a seed fixes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad as widen

from planarena.trainers.local.cache import new_cache, repeat_caches
from planarena.trainers.local.model import Policy
from planarena.trainers.local.shared_prefix import can_share, share_caches, sharing
from planarena.trainers.loop.backend import Generated

__all__ = ["decode", "draw", "draws", "generate", "pad_left", "pad_right"]

# Rows are moved together once this share of them has ended: moving costs about as much as two steps.
_COMPACT_SHARE = 0.125
# Padded tokens of prompts in one pass on a CPU: what lies between two layers then stays in its cache, which halves the
# time of 256 prompts of 120 tokens with 128 hidden units.
_PREFILL_ON_CPU = 4096


def pad_left(rows: Sequence[Sequence[int]], pad: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return (N, L) ids and their validity, padded at the left."""
    return _padded(rows, pad, device, left=True)


def pad_right(rows: Sequence[Sequence[int]], pad: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return (N, T) ids and their validity, padded at the right."""
    return _padded(rows, pad, device, left=False)


def _padded(
    rows: Sequence[Sequence[int]], pad: int, device: torch.device, *, left: bool
) -> tuple[Tensor, Tensor]:
    width = max(max(map(len, rows), default=1), 1)
    ids = torch.full((len(rows), width), pad, dtype=torch.long)
    valid = torch.zeros((len(rows), width), dtype=torch.bool)
    for index, row in enumerate(rows):
        if row:
            place = slice(width - len(row), None) if left else slice(len(row))
            ids[index, place] = torch.tensor(row)
            valid[index, place] = True
    return ids.to(device), valid.to(device)


def draw(probs_BV: Tensor, uniform_B: Tensor) -> Tensor:
    """Return one index per row by inverting the cumulative distribution.

    Args:
        probs_BV: (B, V) probabilities, up to a factor.
        uniform_B: (B,) numbers in [0, 1).

    Returns:
        (B,) indices; one of probability 0 is never drawn.
    """
    # In float32 the tail of a vocabulary of 150,000 would be lost in the sum.
    exact = probs_BV.shape[1] > 16384
    cumulative_BV = probs_BV.cumsum(-1, dtype=torch.float64 if exact else None)
    threshold_B1 = uniform_B.to(cumulative_BV.dtype)[:, None] * cumulative_BV[:, -1:]
    index_B1 = torch.searchsorted(cumulative_BV, threshold_B1, right=True)
    return index_B1[:, 0].clamp_(max=probs_BV.shape[1] - 1)


def draws(seed: int, repeats: int, limit: int) -> Tensor:
    """Return the (K, T) uniform numbers that one prompt's continuations are drawn with.

    Args:
        seed: Of the prompt: in a batch, the batch's times 1,000,003 plus the prompt's number.
        repeats: K.
        limit: T.
    """
    generator = torch.Generator().manual_seed(seed % (2**63))
    return torch.rand((repeats, limit), generator=generator)


@torch.no_grad()
def generate(
    policy: Policy,
    prompts: Sequence[Sequence[int]],
    *,
    repeats: int = 1,
    limits: Sequence[int],
    temperature: float,
    seed: int,
    entropy: bool = False,
    rows: int = 512,
    ends: Sequence[int] | None = None,
    seeds: Sequence[int] | None = None,
    members: Sequence[int] | None = None,
) -> list[list[Generated]]:
    """Sample `repeats` continuations of each prompt.

    A row's draws depend on the seed and its place alone, not on how rows are batched.

    Args:
        policy: The model.
        prompts: P lists of ids.
        repeats: K.
        limits: P most tokens of a continuation.
        temperature: 0 takes the most probable token.
        seed: Of the draws.
        entropy: Record entropies.
        rows: Most rows decoded at once.
        ends: Ids that end a continuation; None takes the tokenizer's.
        seeds: P seeds of the draws, one a prompt; `seed` and the place are then not read.
        members: P places in a group, from 0: a prompt's first continuation draws what that row of a group would.

    Returns:
        P lists of K continuations.
    """
    policy.model.eval()
    end_ids = torch.tensor(list(policy.chat.ends if ends is None else ends), device=policy.device)
    order = sorted(range(len(prompts)), key=lambda index: (len(prompts[index]), index))
    found: list[list[Generated]] = [[] for _ in prompts]
    at_once = max(rows // repeats, 1)
    for start in range(0, len(order), at_once):
        chunk = order[start : start + at_once]
        longest = [max(limits[index], 1) for index in chunk]
        uniforms = torch.zeros((len(chunk), repeats, max(longest)))
        for place, (index, limit) in enumerate(zip(chunk, longest, strict=True)):
            own = seed * 1_000_003 + index if seeds is None else seeds[index]
            first = 0 if members is None else members[index]
            uniforms[place, :, :limit] = draws(own, first + repeats, limit)[first:]
        rolled = decode(
            policy,
            [prompts[index] for index in chunk],
            repeats,
            torch.tensor(longest).repeat_interleave(repeats),
            temperature,
            uniforms.flatten(0, 1).to(policy.device),
            entropy,
            end_ids,
        )
        for place, index in enumerate(chunk):
            found[index] = rolled[place * repeats : (place + 1) * repeats]
    return found


def _prefill(policy: Policy, prompts: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor, list[Any]]:
    """Return (P, V) logits after each prompt, (P, L) validity, and the filled caches of P rows in all."""
    width = max(max(map(len, prompts), default=1), 1)
    rows = len(prompts)
    if policy.device.type == "cpu" and policy.appendable:
        rows = max(_PREFILL_ON_CPU // width, 1)
    logits, valid, caches = [], [], []
    for start in range(0, len(prompts), rows):
        ids_RL, valid_RL = pad_left(prompts[start : start + rows], policy.chat.pad, policy.device)
        positions_RL = (valid_RL.long().cumsum(1) - 1).clamp_(min=0)
        cache = new_cache(policy)
        logits.append(policy.forward(ids_RL, valid_RL, positions_RL, cache=cache, keep=1)[:, -1])
        valid.append(widen(valid_RL, (width - valid_RL.shape[1], 0)))
        caches.append(cache)
    return torch.cat(logits), torch.cat(valid), caches


def decode(
    policy: Policy,
    prompts: Sequence[Sequence[int]],
    repeats: int,
    limits_B: Tensor,
    temperature: float,
    uniform_BT: Tensor,
    entropy: bool,
    end_ids: Tensor,
) -> list[Generated]:
    """Sample all rows in one pass over their prompts; the caller switches gradients off.

    Args:
        policy: The model, in evaluation mode.
        prompts: P lists of ids.
        repeats: K.
        limits_B: (P*K,) most tokens of each row.
        temperature: 0 takes the most probable token.
        uniform_BT: (P*K, T) numbers in [0, 1) to draw with, on the model's device.
        entropy: Record entropies.
        end_ids: Ids that end a continuation.

    Returns:
        P*K continuations, those of one prompt next to each other.
    """
    device = policy.device
    logits_PV, valid_PL, caches = _prefill(policy, prompts)
    length_P = valid_PL.sum(1)

    member_B = torch.arange(len(prompts), device=device).repeat_interleave(repeats)
    batch, width = uniform_BT.shape
    shared = can_share(policy, repeats)
    if shared:
        cache = share_caches(caches, member_B, valid_PL, room=width)
    else:
        cache = repeat_caches(policy, caches, member_B, room=width)
    del caches
    logits_BV = logits_PV[member_B]
    limits_B = limits_B.to(device)
    valid_BK = torch.cat(
        [valid_PL[member_B], torch.ones((batch, width), dtype=torch.bool, device=device)], dim=1
    )
    prompt_width = valid_PL.shape[1]
    next_B = length_P[member_B]
    record = _Record(batch, width, entropy=entropy, device=device)
    active_A = torch.arange(batch, device=device)
    running_A = torch.ones(batch, dtype=torch.bool, device=device)

    with sharing(policy) if shared else nullcontext():
        for position in range(width):
            logprobs_AV = torch.log_softmax(
                logits_BV if temperature in (0.0, 1.0) else logits_BV / temperature, -1
            )
            if temperature == 0.0:
                token_A = logprobs_AV.argmax(-1)
            else:
                token_A = draw(logprobs_AV.exp(), uniform_BT[active_A, position])
            ended_A = torch.isin(token_A, end_ids)
            record.note(position, active_A, running_A, token_A, logprobs_AV, ended_A)
            running_A = running_A & ~ended_A & (limits_B[active_A] > position + 1)
            alive = int(running_A.sum())
            if alive == 0 or position + 1 == width:
                break
            if running_A.numel() - alive >= _COMPACT_SHARE * running_A.numel():
                kept_A = torch.nonzero(running_A)[:, 0]
                cache.batch_select_indices(kept_A)
                active_A, token_A, running_A = active_A[kept_A], token_A[kept_A], running_A[kept_A]
                valid_BK, next_B = valid_BK[kept_A], next_B[kept_A]
            logits_BV = policy.forward(
                token_A[:, None],
                valid_BK[:, : prompt_width + position + 1],
                (next_B + position)[:, None],
                cache=cache,
                keep=1,
            )[:, -1]

    return record.read()


class _Record:
    """What was drawn of each row.

    Args:
        rows: B.
        width: T.
        entropy: Keep entropies.
        device: Of the tensors.
    """

    def __init__(self, rows: int, width: int, *, entropy: bool, device: torch.device) -> None:
        self.ids_BT = torch.zeros((rows, width), dtype=torch.long, device=device)
        self.logp_BT = torch.zeros((rows, width), device=device)
        self.entropy_BT = torch.zeros((rows, width if entropy else 0), device=device)
        self.count_B = torch.zeros(rows, dtype=torch.long, device=device)
        self.ended_B = torch.zeros(rows, dtype=torch.bool, device=device)

    def note(
        self,
        position: int,
        active_A: Tensor,
        running_A: Tensor,
        token_A: Tensor,
        logprobs_AV: Tensor,
        ended_A: Tensor,
    ) -> None:
        """Keep what the running ones of the active rows drew."""
        rows_A = active_A[running_A]
        self.ids_BT[rows_A, position] = token_A[running_A]
        chosen_A = logprobs_AV.gather(1, token_A[:, None])[:, 0]
        self.logp_BT[rows_A, position] = chosen_A[running_A]
        if self.entropy_BT.shape[1]:
            entropy_A = -(logprobs_AV.exp() * logprobs_AV.nan_to_num(neginf=0.0)).sum(-1)
            self.entropy_BT[rows_A, position] = entropy_A[running_A]
        self.count_B[rows_A] += 1
        self.ended_B[rows_A] |= ended_A[running_A]

    def read(self) -> list[Generated]:
        """Return the rows as lists."""
        ids, logp, entropy = self.ids_BT.tolist(), self.logp_BT.tolist(), self.entropy_BT.tolist()
        counts, ended = self.count_B.tolist(), self.ended_B.tolist()
        rows = zip(ids, logp, entropy, counts, ended, strict=True)
        return [Generated(i[:count], p[:count], e[:count], end) for i, p, e, count, end in rows]
