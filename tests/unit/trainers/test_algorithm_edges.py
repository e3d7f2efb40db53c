"""Edges of single algorithms: the token at the mean, banned tokens, batches without rows, lost rewards."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import torch

from planarena.trainers.algorithms import get, names
from planarena.trainers.types import LossInputs, RolloutBatch, Step


def test_a_token_at_the_mean_is_not_rejected_in_any_order() -> None:
    # The rounded sum of .1, .2, .3 depends on the order, so .2 lies once below and once above the mean.
    rewards = torch.tensor([0.1, 0.2, 0.3], dtype=torch.float64)
    logp = torch.tensor([-0.3, -0.9, -2.0], dtype=torch.float64)
    algorithm = get("toolupt", mixing="constant", gamma=1.0)
    losses, signs = [], set()
    for order in ([0, 1, 2], [2, 1, 0], [1, 0, 2]):
        batch = RolloutBatch(
            rewards_B=rewards[order],
            token_rewards_BT=rewards[order][:, None],
            mask_BT=torch.ones(3, 1),
            group_B=torch.zeros(3).long(),
            old_logp_BT=logp[order][:, None],
        )
        advantages = algorithm.advantages(batch, Step()).values_BT
        signs.add(float(advantages[order.index(1), 0].sign()))
        inputs = LossInputs(logp_BT=logp[order][:, None], mask_BT=batch.mask_BT, advantages_BT=advantages)
        losses.append(float(algorithm.loss(inputs, Step()).loss))
    assert len(signs) > 1
    # Three equal terms in another order.
    assert losses == pytest.approx([losses[0]] * 3, rel=1e-14)
    p = math.exp(-0.3)
    assert losses[0] == pytest.approx(p * (1 - p) / (1 + math.exp(0.03)) / 3, rel=1e-12)


@pytest.mark.parametrize("beta", [0.0, 0.3, 1.0])
def test_tokens_banned_on_both_sides_add_nothing(beta: float) -> None:
    free = torch.tensor([[[0.2, -0.4, 1.0]]], dtype=torch.float64)
    algorithm, mask = get("opsd", beta=beta), torch.ones(1, 1)
    teacher = torch.log_softmax(free.flip(-1), -1)
    banned = torch.full((1, 1, 1), -math.inf, dtype=torch.float64)

    def loss_and_pull(logits: torch.Tensor, teacher: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        logits = logits.clone().requires_grad_()
        inputs = LossInputs(
            mask_BT=mask, student_logprobs_BTV=torch.log_softmax(logits, -1), teacher_logprobs_BTV=teacher
        )
        loss = algorithm.loss(inputs, Step()).loss
        return loss, torch.autograd.grad(loss, logits)[0]

    wanted, pull = loss_and_pull(free, teacher)
    found, wider = loss_and_pull(torch.cat([free, banned], -1), torch.cat([teacher, banned], -1))
    torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(wider[..., :3], pull)
    assert wider[..., 3].abs().max() == 0


def test_luffys_entropy_bonus_is_a_mean_over_tokens_beside_the_summed_loss() -> None:
    mask = torch.tensor([[1.0, 1.0, 1.0], [1.0, 0.0, 0.0]])
    entropy = torch.tensor([[0.2, 0.4, 0.6], [0.8, 9.0, 9.0]])
    inputs = LossInputs(
        logp_BT=torch.zeros(2, 3), mask_BT=mask, advantages_BT=torch.ones(2, 3), entropy_BT=entropy
    )
    step = Step(horizon=10, tokens=4)
    plain = get("luffy", entropy_coef=0.0).loss(inputs, step).loss
    assert float(plain) == pytest.approx(-4 / 10)
    assert float(get("luffy", entropy_coef=0.1).loss(inputs, step).loss - plain) == pytest.approx(-0.05)
    pulled = replace(inputs, ref_logp_BT=torch.full((2, 3), -1.0))
    both = get("luffy", entropy_coef=0.0, kl_coef=0.1, kl_estimator="k1").loss(pulled, step).loss
    assert float(both - plain) == pytest.approx(0.1)


def lost(**fields: Any) -> RolloutBatch:
    return RolloutBatch(
        rewards_B=torch.full((2,), math.nan),
        mask_BT=torch.ones(2, 1),
        group_B=torch.zeros(2).long(),
        token_type_BT=torch.zeros(2, 1).long(),
        **fields,
    )


def test_a_step_without_any_reward_does_not_move_what_follows_the_reward() -> None:
    chord = get("chord-mu", mixing="adaptive", mu_threshold=0.5)
    solved = replace(lost(), rewards_B=torch.tensor([1.0, 0.8]))
    half = replace(lost(), rewards_B=torch.tensor([0.0, 0.4]))
    assert chord.advantages(solved, Step()).scalars["mu"] == 0.0
    assert chord.advantages(lost(), Step()).scalars["mu"] == 0.0
    assert chord.advantages(half, Step()).scalars["mu"] == pytest.approx(0.3)
    assert chord.advantages(lost(), Step()).scalars["mu"] == pytest.approx(0.3)
    dupo = get("dupo", clip_average="moving", moving_rate=0.5)
    dupo.advantages(solved, Step(total_steps=9))
    before = dupo.state_dict()
    dupo.advantages(lost(), Step(total_steps=9))
    assert dupo.state_dict() == before


@pytest.mark.parametrize(("rows", "width"), [(0, 3), (4, 0), (0, 0)])
@pytest.mark.parametrize("name", [name for name in names() if name not in ("sft", "sft-rl")])
def test_batches_without_rows_or_tokens_cost_nothing(name: str, rows: int, width: int) -> None:
    tokens = torch.zeros(rows, width)
    algorithm = get(name)
    batch = RolloutBatch(
        rewards_B=torch.arange(float(rows)),
        mask_BT=tokens,
        group_B=torch.arange(rows) // 2,
        old_logp_BT=tokens,
        part_BN=torch.zeros(rows, 2),
        part_names=("format", "correct"),
        token_rewards_BT=tokens,
        reason_B=torch.zeros(rows),
        token_type_BT=tokens.long(),
        anchor_BN=torch.zeros(rows, 1).long(),
        step_return_BN=torch.zeros(rows, 1),
        entropy_BT=tokens,
        teacher_logp_BT=tokens,
        reverse_kl_BT=tokens,
    )
    advantages = algorithm.advantages(batch, Step())
    assert advantages.values_BT.shape == (rows, width)
    logp = tokens.clone().requires_grad_()
    inputs = LossInputs(
        logp_BT=logp,
        mask_BT=tokens,
        advantages_BT=advantages.values_BT,
        scalars=advantages.scalars,
        token_type_BT=tokens.long(),
        entropy_BT=tokens,
        ref_logp_BT=tokens,
        preference_B=torch.ones(rows),
        pair_B=torch.zeros(rows).long(),
        student_logprobs_BTV=logp[..., None],
        teacher_logprobs_BTV=tokens[..., None],
    )
    outputs = algorithm.loss(inputs, Step())
    assert float(outputs.loss.detach()) == 0.0
    assert all(math.isfinite(float(value)) for value in {**advantages.metrics, **outputs.metrics}.values())
