"""KTO's reference point: the engine takes it from the batch's prompts with each other's responses."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
import torch

from planarena.trainers import algorithms
from planarena.trainers.config import RolloutConfig, TrainConfig, UpdateConfig, complete
from planarena.trainers.local.backend import LocalBackend
from planarena.trainers.local.model import Policy
from planarena.trainers.loop.encoding import PairTokens
from planarena.trainers.loop.update import Updater

PAIRS = [PairTokens([7, 8, 9 + n][: 2 + n % 2], [20 + n, 21, 22 + n], [40 + n, 41]) for n in range(3)]


def _log_probability(policy: Policy, prompt: list[int], response: list[int]) -> float:
    ids = torch.tensor([[*prompt, *response]])
    with torch.no_grad():
        logprobs_LV = policy.model(ids).logits[0].log_softmax(-1)
    places = range(len(prompt) - 1, len(prompt) + len(response) - 1)
    return sum(float(logprobs_LV[place, token]) for place, token in zip(places, response, strict=True))


def _updater(policy: Policy, reference: Policy, *, budget: int = 1000) -> Updater:
    config = complete(
        TrainConfig(
            algorithm="kto",
            rollout=RolloutConfig(max_response_length=8),
            update=UpdateConfig(micro_batch_tokens=budget, learning_rate=1e-6),
        )
    )
    algorithm = algorithms.get("kto")
    backend = LocalBackend(config, algorithm).hold(policy)
    backend.start = reference
    return Updater(backend, algorithm, config, 10)


def test_z0_is_the_mean_log_ratio_of_mismatched_responses(make_policy: Callable[..., Policy]) -> None:
    plain = make_policy()
    moved = Policy(copy.deepcopy(plain.model), plain.chat)
    with torch.no_grad():
        moved.model.model.embed_tokens.weight[20:60] *= 1.5
    rows = [(pair.prompt_ids, response) for pair in PAIRS for response in (pair.chosen, pair.rejected)]
    # The response of the pair after this one: never one that belongs to the prompt.
    shifted = [(prompt, rows[(place + 2) % len(rows)][1]) for place, (prompt, _) in enumerate(rows)]
    difference = sum(
        _log_probability(moved, prompt, response) - _log_probability(plain, prompt, response)
        for prompt, response in shifted
    ) / len(shifted)
    assert abs(difference) > 0.05
    policy, reference = (moved, plain) if difference > 0 else (plain, moved)
    for budget in (1000, 12):
        own = Policy(copy.deepcopy(policy.model), policy.chat)
        found = _updater(own, reference, budget=budget).on_pairs(PAIRS, 0)
        # float32 sums of some thirty log-probabilities.
        assert found["preference/z0"] == pytest.approx(abs(difference), abs=1e-4)
    # The other way round the mean is below 0, and z0 is 0.
    other = _updater(Policy(copy.deepcopy(reference.model), plain.chat), policy).on_pairs(PAIRS, 0)
    assert other["preference/z0"] == 0.0
    # One pair has no other whose response it could take.
    assert _updater(own, reference).on_pairs(PAIRS[:1], 0)["preference/z0"] == 0.0


def test_z0_moves_the_loss(make_policy: Callable[..., Policy]) -> None:
    policy = make_policy()
    reference = Policy(copy.deepcopy(policy.model), policy.chat)
    updater = _updater(policy, reference)
    at_start = updater.on_pairs(PAIRS, 0)
    # Policy and reference are equal: every ratio and z0 are 0, and half of each row's weight is lost.
    assert at_start["preference/z0"] == pytest.approx(0.0, abs=1e-6)
    assert at_start["loss/kto"] == pytest.approx(0.5, abs=1e-6)
