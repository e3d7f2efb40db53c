"""Log-probabilities of given responses: prompts shared by a group are computed once, with their gradient."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from planarena.trainers.local.cache import new_cache
from planarena.trainers.local.generate import pad_left, pad_right
from planarena.trainers.local.model import Policy

__all__ = ["Scored", "plan_micro_batches", "score_responses"]


@dataclass(slots=True)
class Scored:
    """What a pass over responses gives; gradients flow unless they are switched off outside.

    Attributes:
        logp_BT: (B, T) log-probability of each response token.
        mask_BT: (B, T) bool, tokens that are there.
        entropy_BT: (B, T) entropy in nats, where asked for.
        logprobs_BTV: (B, T, V) log-distributions, where asked for.
    """

    logp_BT: Tensor
    mask_BT: Tensor
    entropy_BT: Tensor | None = None
    logprobs_BTV: Tensor | None = None


def plan_micro_batches(
    prompt_lengths: Sequence[int],
    response_lengths: Sequence[int],
    groups: Sequence[int],
    *,
    budget: int,
    together: bool = False,
) -> list[list[int]]:
    """Divide rows into forward passes of similar lengths.

    Rows of one group stay together as long as they fit; a pass costs its padded prompts, once per group, plus its
    padded responses.

    Args:
        prompt_lengths: B tokens.
        response_lengths: B tokens.
        groups: B ids; rows of one id have the same prompt.
        budget: Most padded tokens of a pass; one row is never divided.
        together: Never divide a group (pairs of a preference loss).

    Returns:
        Lists of row indices.
    """
    members: dict[int, list[int]] = {}
    for index, group in enumerate(groups):
        members.setdefault(group, []).append(index)
    blocks: list[list[int]] = []
    for rows in members.values():
        rows.sort(key=lambda index: (response_lengths[index], index))
        block: list[int] = []
        for index in rows:
            cost = prompt_lengths[index] + (len(block) + 1) * response_lengths[index]
            if block and cost > budget and not together:
                blocks.append(block)
                block = []
            block.append(index)
        blocks.append(block)
    blocks.sort(key=lambda rows: (prompt_lengths[rows[0]] + response_lengths[rows[-1]], rows[0]))
    plans: list[list[int]] = []
    current: list[int] = []
    prompts = responses = width = length = 0
    for block in blocks:
        new_length = max(length, prompt_lengths[block[0]])
        new_width = max(width, response_lengths[block[-1]])
        cost = (prompts + 1) * new_length + (responses + len(block)) * new_width
        if current and cost > budget:
            plans.append(current)
            current, prompts, responses = [], 0, 0
            new_length, new_width = prompt_lengths[block[0]], response_lengths[block[-1]]
        current = current + block
        prompts, responses, length, width = prompts + 1, responses + len(block), new_length, new_width
    return [*plans, current] if current else plans


def score_responses(
    policy: Policy,
    prompts: Sequence[Sequence[int]],
    responses: Sequence[Sequence[int]],
    groups: Sequence[int],
    *,
    temperature: float = 1.0,
    entropy: bool = False,
    distribution: bool = False,
) -> Scored:
    """Return the log-probabilities of responses under the policy.

    Args:
        policy: The model; its mode (train, eval) is the caller's.
        prompts: B lists of ids.
        responses: B lists of ids.
        groups: B ids; rows of one id have the same prompt.
        temperature: Divides the logits.
        entropy: Give entropies.
        distribution: Give whole distributions.
    """
    ids_BT, mask_BT = pad_right(responses, policy.chat.pad, policy.device)
    first: dict[int, int] = {}
    members = [first.setdefault(group, len(first)) for group in groups]
    if policy.appendable and len(first) < len(groups):
        logits_BTV = _shared(policy, prompts, members, ids_BT, mask_BT)
    else:
        logits_BTV = _joined(policy, prompts, ids_BT, mask_BT)
    if temperature != 1.0:
        logits_BTV = logits_BTV / temperature
    chosen_BT = logits_BTV.gather(2, ids_BT[:, :, None])[:, :, 0]
    if not (entropy or distribution):
        return Scored(chosen_BT - torch.logsumexp(logits_BTV, -1), mask_BT)
    logprobs_BTV = torch.log_softmax(logits_BTV, -1)
    return Scored(
        logprobs_BTV.gather(2, ids_BT[:, :, None])[:, :, 0],
        mask_BT,
        -(logprobs_BTV.exp() * logprobs_BTV).sum(-1) if entropy else None,
        logprobs_BTV if distribution else None,
    )


def _shared(
    policy: Policy, prompts: Sequence[Sequence[int]], members: list[int], ids_BT: Tensor, mask_BT: Tensor
) -> Tensor:
    """Return (B, T, V) logits; each prompt is computed once and its keys and values serve all its rows."""
    place: dict[int, int] = {}
    for row, member in enumerate(members):
        place.setdefault(member, row)
    ids_PL, valid_PL = pad_left([prompts[row] for row in place.values()], policy.chat.pad, policy.device)
    member_B = torch.tensor(members, device=policy.device)
    positions_PL = (valid_PL.long().cumsum(1) - 1).clamp_(min=0)
    cache = new_cache(policy)
    first_P1V = policy.forward(ids_PL, valid_PL, positions_PL, cache=cache, keep=1)
    first_B1V = first_P1V.index_select(0, member_B)
    if ids_BT.shape[1] == 1:
        return first_B1V
    cache.batch_select_indices(member_B)
    valid_BK = torch.cat([valid_PL.index_select(0, member_B), mask_BT[:, :-1]], dim=1)
    length_B1 = valid_PL.sum(1).index_select(0, member_B)[:, None]
    positions_BT = length_B1 + torch.arange(ids_BT.shape[1] - 1, device=policy.device)[None, :]
    rest_BTV = policy.forward(ids_BT[:, :-1], valid_BK, positions_BT, cache=cache)
    return torch.cat([first_B1V, rest_BTV], dim=1)


def _joined(policy: Policy, prompts: Sequence[Sequence[int]], ids_BT: Tensor, mask_BT: Tensor) -> Tensor:
    """Return (B, T, V) logits of prompts padded at the left and responses at the right, in one pass."""
    ids_BL, valid_BL = pad_left(prompts, policy.chat.pad, policy.device)
    ids_BK = torch.cat([ids_BL, ids_BT[:, :-1]], dim=1)
    valid_BK = torch.cat([valid_BL, mask_BT[:, :-1]], dim=1)
    positions_BK = (valid_BK.long().cumsum(1) - 1).clamp_(min=0)
    return policy.forward(ids_BK, valid_BK, positions_BK, keep=ids_BT.shape[1])
