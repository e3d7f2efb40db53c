"""The loss of a batch does not depend on how it is padded, cut into micro-batches, or masked by garbage."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from planarena.formats import TokenType
from planarena.trainers.algorithms import get, names
from planarena.trainers.algorithms.demonstrations import entropy_statistics
from planarena.trainers.types import Advantages, Algorithm, LossInputs, RolloutBatch, Step

P, K, T, V, E = 3, 4, 6, 5, 4
B = P * K
# Sums of a hundred float64 terms in another order.
CLOSE = {"rtol": 1e-11, "atol": 1e-13}
VARIANTS: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in names()),
    *(
        ("grpo", {"aggregation": mode, "kl_coef": 0.1, "entropy_coef": 0.05})
        for mode in ("token-mean", "seq-mean-token-sum", "seq-mean-token-sum-norm", "token-sum-norm")
    ),
    ("awpo", {"ratio": "sequence"}),
    ("awpo", {"ratio": "sequence_geo"}),
    ("chord-phi", {"weight": "entropy_norm"}),
    ("chord-phi", {"weight": "entropy_top", "top_fraction": 0.3}),
    ("chord-mu", {"mixing": "adaptive", "mu_threshold": 0.9}),
    ("dupo", {"normalise_rho": True, "decay_application": "advantage"}),
    ("srft", {"self_term": "literal"}),
    ("srft", {"entropy_scope": "token"}),
    ("toolupt", {"spo": False}),
    ("toolupt", {"fgae": False}),
]
IDS = [" ".join([name, *(f"{key}={value}" for key, value in options.items())]) for name, options in VARIANTS]


def make_batch() -> RolloutBatch:
    generator = torch.Generator().manual_seed(4)

    def draw(*shape: int) -> Tensor:
        return torch.rand(*shape, generator=generator, dtype=torch.float64)

    lengths = torch.randint(1, T + 1, (B, 1), generator=generator)
    lengths[0] = T
    rewards = draw(B) * 3 - 1
    return RolloutBatch(
        rewards_B=rewards,
        mask_BT=(torch.arange(T) < lengths).double(),
        group_B=torch.arange(P).repeat_interleave(K),
        old_logp_BT=-3 * draw(B, T),
        token_rewards_BT=torch.maximum(rewards[:, None], 4 * (draw(B, T) > 0.6)),
        part_BN=torch.stack([rewards, rewards.flip(0)], 1),
        part_names=("correct", "format"),
        reason_B=draw(B),
        token_type_BT=torch.randint(0, len(TokenType), (B, T), generator=generator),
        turn_BT=torch.zeros(B, T, dtype=torch.long),
        decay_B=draw(B),
        is_demo_B=torch.arange(B) % K == 0,
        anchor_BN=torch.randint(0, 2, (B, 1), generator=generator),
        step_return_BN=draw(B, 1),
        entropy_BT=draw(B, T),
        teacher_logp_BT=-3 * draw(B, T),
        reverse_kl_BT=draw(B, T),
        keys=tuple(str(row) for row in range(B)),
    )


def make_inputs(batch: RolloutBatch, advantages: Advantages) -> LossInputs:
    generator = torch.Generator().manual_seed(5)

    def draw(*shape: int) -> Tensor:
        return torch.rand(*shape, generator=generator, dtype=torch.float64)

    assert batch.old_logp_BT is not None
    expert_mask = (torch.arange(T) < torch.tensor([[T], [2], [4], [1]])).double()
    expert_entropy = draw(E, T)
    return LossInputs(
        logp_BT=(batch.old_logp_BT + 0.8 * draw(B, T) - 0.4).requires_grad_(),
        mask_BT=batch.mask_BT,
        old_logp_BT=batch.old_logp_BT,
        advantages_BT=advantages.values_BT,
        eps_low_B=advantages.eps_low_B,
        eps_high_B=advantages.eps_high_B,
        scalars={
            **advantages.scalars,
            "z0": 0.3,
            **entropy_statistics(expert_entropy, expert_mask, top_fraction=0.3),
        },
        rewards_B=batch.rewards_B,
        token_type_BT=batch.token_type_BT,
        is_demo_B=batch.is_demo_B,
        entropy_BT=batch.entropy_BT,
        ref_logp_BT=batch.teacher_logp_BT,
        preference_B=torch.tensor([1, -1] * (B // 2)),
        pair_B=torch.arange(B // 2).repeat_interleave(2),
        student_logprobs_BTV=draw(B, T, V).log_softmax(-1).requires_grad_(),
        teacher_logprobs_BTV=draw(B, T, V).log_softmax(-1),
        expert_logp_ET=(-3 * draw(E, T)).requires_grad_(),
        expert_mask_ET=expert_mask,
        expert_entropy_ET=expert_entropy,
        expert_keep_ET=(draw(E, T) > 0.3).double(),
    )


def counted(algorithm: Algorithm, batch: RolloutBatch, inputs: LossInputs) -> Step:
    assert batch.is_demo_B is not None
    assert inputs.expert_mask_ET is not None
    return Step(
        step=getattr(algorithm.config, "sft_steps", 0) + 3,
        total_steps=5000,
        tokens=int(batch.mask_BT.sum()),
        sequences=B,
        demo_tokens=int(batch.mask_BT[batch.is_demo_B].sum()),
        expert_tokens=int(inputs.expert_mask_ET.sum()),
        expert_sequences=E,
        horizon=T,
    )


def narrowed(inputs: LossInputs, rows: slice, expert_rows: slice) -> LossInputs:
    changed = {}
    for name in LossInputs.__dataclass_fields__:
        value = getattr(inputs, name)
        if isinstance(value, Tensor):
            changed[name] = value[expert_rows if name.endswith("_ET") else rows]
    return replace(inputs, **changed)


def widened(value: Tensor, filler: float) -> Tensor:
    """Three columns of padding to the right, holding garbage."""
    if value.dim() < 2:
        return value
    garbage = torch.full((value.shape[0], 3, *value.shape[2:]), filler, dtype=value.dtype)
    return torch.cat([value, garbage], 1)


def leaves(inputs: LossInputs) -> list[Tensor]:
    found = [inputs.logp_BT, inputs.expert_logp_ET, inputs.student_logprobs_BTV]
    return [leaf for leaf in found if leaf is not None]


def gradients(loss: Tensor, inputs: LossInputs) -> list[Tensor]:
    found = torch.autograd.grad(loss, leaves(inputs), allow_unused=True)
    return [
        torch.zeros_like(leaf) if gradient is None else gradient
        for leaf, gradient in zip(leaves(inputs), found, strict=True)
    ]


@pytest.mark.parametrize(("name", "options"), VARIANTS, ids=IDS)
@pytest.mark.parametrize("cuts", [(2, 12), (4, 6, 12), (2, 4, 6, 8, 10, 12)])
def test_micro_batches_add_up(name: str, options: dict[str, Any], cuts: tuple[int, ...]) -> None:
    algorithm, batch = get(name, **options), make_batch()
    advantages = algorithm.advantages(batch, Step(total_steps=5000))
    inputs = make_inputs(batch, advantages)
    step = counted(algorithm, batch, inputs)
    whole = algorithm.loss(inputs, step)
    total, start, expert_start = torch.zeros((), dtype=torch.float64), 0, 0
    sums = dict.fromkeys(whole.metrics, 0.0)
    for index, end in enumerate(cuts):
        # The experts fall unevenly: all in the first micro-batches, none in the last.
        expert_end = min(E, expert_start + 2 + index)
        part = algorithm.loss(narrowed(inputs, slice(start, end), slice(expert_start, expert_end)), step)
        total = total + part.loss
        for key, value in part.metrics.items():
            sums[key] += float(value)
        start, expert_start = end, expert_end
    torch.testing.assert_close(total, whole.loss, **CLOSE)
    for mine, wanted in zip(gradients(total, inputs), gradients(whole.loss, inputs), strict=True):
        torch.testing.assert_close(mine, wanted, **CLOSE)
    for key, value in whole.metrics.items():
        assert sums[key] == pytest.approx(float(value), rel=1e-9, abs=1e-12), key


@pytest.mark.parametrize(("name", "options"), VARIANTS, ids=IDS)
@pytest.mark.parametrize("filler", [torch.nan, -torch.inf, 1e30])
def test_padding_does_not_matter(name: str, options: dict[str, Any], filler: float) -> None:
    batch = make_batch()
    algorithm = get(name, **options)
    step = Step(total_steps=5000)
    narrow = algorithm.advantages(batch, step)
    token_fields = ("old_logp_BT", "token_rewards_BT", "entropy_BT", "teacher_logp_BT", "reverse_kl_BT")
    wider_batch = replace(
        batch,
        mask_BT=widened(batch.mask_BT, 0.0),
        token_type_BT=widened(batch.token_type_BT, TokenType.PAD),  # type: ignore[arg-type]
        turn_BT=widened(batch.turn_BT, 0),  # type: ignore[arg-type]
        **{field: widened(getattr(batch, field), filler) for field in token_fields},
    )
    wide = get(name, **options).advantages(wider_batch, step)
    torch.testing.assert_close(wide.values_BT[:, :T], narrow.values_BT, **CLOSE)
    assert not wide.values_BT[:, T:].any()
    assert wide.scalars == pytest.approx(narrow.scalars)

    inputs = make_inputs(batch, narrow)
    step = counted(algorithm, batch, inputs)
    changed: dict[str, Any] = {}
    for field in LossInputs.__dataclass_fields__:
        value = getattr(inputs, field)
        if isinstance(value, Tensor) and value.dim() > 1:
            harmless = field in ("mask_BT", "expert_mask_ET", "token_type_BT", "expert_keep_ET")
            changed[field] = widened(value, 0 if harmless else filler)
    wider = replace(inputs, **changed)
    wanted = algorithm.loss(inputs, step).loss
    found = algorithm.loss(wider, step).loss
    torch.testing.assert_close(found, wanted, **CLOSE)
    for mine, other in zip(gradients(found, inputs), gradients(wanted, inputs), strict=True):
        torch.testing.assert_close(mine, other, **CLOSE)


@pytest.mark.parametrize(("name", "options"), VARIANTS, ids=IDS)
def test_a_batch_without_valid_tokens_costs_nothing(name: str, options: dict[str, Any]) -> None:
    algorithm = get(name, **options)
    batch = make_batch()
    batch = replace(batch, mask_BT=torch.zeros(B, T, dtype=torch.float64))
    advantages = algorithm.advantages(batch, Step())
    assert not advantages.values_BT.any()
    inputs = replace(
        make_inputs(batch, advantages), expert_mask_ET=torch.zeros(E, T, dtype=torch.float64),
    )  # fmt: skip
    step = Step(step=getattr(algorithm.config, "sft_steps", 0) + 3, total_steps=5000)
    loss = algorithm.loss(inputs, step).loss
    assert float(loss.detach()) == 0.0
    assert loss.requires_grad
    assert not any(gradient.any() for gradient in gradients(loss, inputs))


@pytest.mark.parametrize("name", ["dupo", "chord-mu", "chord-phi", "toolupt"])
def test_without_rollouts_the_experts_keep_their_full_weight(name: str) -> None:
    algorithm, batch = get(name, spo=False) if name == "toolupt" else get(name), make_batch()
    inputs = make_inputs(batch, algorithm.advantages(batch, Step()))
    alone = LossInputs(expert_logp_ET=inputs.expert_logp_ET, expert_mask_ET=inputs.expert_mask_ET)
    weight = "phi" if name == "chord-phi" else "none"
    wanted = get("sft", weight=weight).loss(alone, Step()).loss
    torch.testing.assert_close(algorithm.loss(alone, Step(step=50)).loss, wanted, **CLOSE)


@pytest.mark.parametrize("name", ["dupo", "chord-mu", "chord-phi"])
def test_without_experts_the_rollouts_keep_their_full_weight(name: str) -> None:
    algorithm, batch = get(name), make_batch()
    inputs = make_inputs(batch, algorithm.advantages(batch, Step()))
    inputs = replace(inputs, expert_logp_ET=None, expert_mask_ET=None)
    outputs = algorithm.loss(inputs, Step())
    torch.testing.assert_close(outputs.loss, outputs.metrics["loss/policy"], **CLOSE)


def test_state_survives_a_checkpoint() -> None:
    batch = make_batch()
    for name, options in (
        ("dupo", {"clip_average": "moving"}),
        ("chord-mu", {"mixing": "adaptive"}),
        ("relift", {"solved_above": 10.0, "buffer_size": 3}),
        ("sasr", {"warmup_steps": 1}),
    ):
        first = get(name, **options)
        for step in range(3):
            first.advantages(batch, Step(step=step))
            first.observe_gradient_norm(2.0 + step, Step(step=0))
        second = get(name, **options)
        second.load_state_dict(first.state_dict())
        assert second.state_dict() == first.state_dict() != get(name, **options).state_dict()
        later = [algorithm.advantages(batch, Step(step=4, total_steps=9)) for algorithm in (first, second)]
        torch.testing.assert_close(later[0].values_BT, later[1].values_BT, rtol=0, atol=0)
        if later[0].eps_high_B is not None:
            torch.testing.assert_close(later[0].eps_high_B, later[1].eps_high_B, rtol=0, atol=0)
        assert first.pending_experts() == second.pending_experts()
        assert [first.phase(Step(step=s)) for s in range(50)] == [
            second.phase(Step(step=s)) for s in range(50)
        ]
