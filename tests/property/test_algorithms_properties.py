"""What must hold of every algorithm for any batch: zeros, permutations, limits, descent, no gradient leaks, no NaN."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from planarena.formats import TokenType
from planarena.trainers.algorithms import demonstrations, gear, get, groups, names
from planarena.trainers.algorithms.toolupt import chosen_loss, rejected_loss
from planarena.trainers.types import Advantages, Algorithm, LossInputs, RolloutBatch, Step


def for_all(**strategies: st.SearchStrategy[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """`given` with the same draws on every run and no deadline on a shared machine."""

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        return settings(deadline=None, max_examples=20, derandomize=True)(given(**strategies)(test))

    return decorate


T, V, E = 6, 5, 3
# Values are computed in float64; sums of a few dozen terms in another order differ by a few ulps.
CLOSE = {"rtol": 1e-10, "atol": 1e-12}
GROUPED = [name for name in names() if name not in ("sft", "kto", "dpo", "opd", "opsd", "reinforce-pp")]
ROLLOUT = [name for name in names() if name not in ("sft", "kto", "dpo", "opsd", "sft-rl")]


def make_batch(
    seed: int, *, prompts: int = 3, members: int = 4, dtype: torch.dtype = torch.float64, scale: float = 2.0
) -> RolloutBatch:
    """Return a batch with everything that any algorithm may ask for; lengths and turns vary."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Tensor:
        return torch.rand(*shape, generator=generator, dtype=torch.float64)

    rows = prompts * members
    mask = torch.arange(T) < torch.randint(1, T + 1, (rows, 1), generator=generator)
    rewards = (draw(rows) * 2 - 1) * scale
    demo = torch.zeros(rows, dtype=torch.bool)
    demo[members - 1 :: members] = True
    return RolloutBatch(
        rewards_B=rewards.to(dtype),
        mask_BT=mask.to(dtype),
        group_B=torch.arange(prompts).repeat_interleave(members),
        old_logp_BT=(-3 * draw(rows, T)).to(dtype),
        part_BN=torch.stack([rewards, draw(rows)], 1).to(dtype),
        part_names=("correct", "format"),
        token_rewards_BT=torch.maximum(rewards[:, None], 4 * (draw(rows, T) > 0.6)).to(dtype),
        reason_B=draw(rows).to(dtype),
        token_type_BT=torch.randint(0, len(TokenType), (rows, T), generator=generator),
        turn_BT=(torch.arange(T) // 3).expand(rows, T).clone(),
        decay_B=draw(rows).to(dtype),
        is_demo_B=demo,
        trajectory_B=torch.arange(rows),
        anchor_BN=torch.randint(0, 3, (rows, 2), generator=generator),
        step_return_BN=draw(rows, 2).to(dtype),
        entropy_BT=draw(rows, T).to(dtype),
        teacher_logp_BT=(-3 * draw(rows, T)).to(dtype),
        reverse_kl_BT=draw(rows, T).to(dtype),
        keys=tuple(f"row {row}" for row in range(rows)),
    )


def make_inputs(batch: RolloutBatch, advantages: Advantages, seed: int, *, shift: float = 0.4) -> LossInputs:
    generator = torch.Generator().manual_seed(seed + 1)
    rows, dtype = batch.rewards_B.shape[0], batch.dtype

    def draw(*shape: int) -> Tensor:
        return torch.rand(*shape, generator=generator, dtype=torch.float64).to(dtype)

    assert batch.old_logp_BT is not None
    logp = (batch.old_logp_BT + shift * (2 * draw(rows, T) - 1)).clamp(max=-1e-3)
    pairs = rows // 2
    return LossInputs(
        logp_BT=logp.requires_grad_(),
        mask_BT=batch.mask_BT,
        old_logp_BT=batch.old_logp_BT,
        advantages_BT=advantages.values_BT,
        eps_low_B=advantages.eps_low_B,
        eps_high_B=advantages.eps_high_B,
        scalars=advantages.scalars,
        rewards_B=batch.rewards_B,
        token_type_BT=batch.token_type_BT,
        is_demo_B=batch.is_demo_B,
        entropy_BT=batch.entropy_BT,
        ref_logp_BT=batch.teacher_logp_BT,
        preference_B=torch.tensor([1, -1] * pairs),
        pair_B=torch.arange(pairs).repeat_interleave(2),
        student_logprobs_BTV=draw(rows, T, V).log_softmax(-1).requires_grad_(),
        teacher_logprobs_BTV=draw(rows, T, V).log_softmax(-1),
        expert_logp_ET=(-3 * draw(E, T)).requires_grad_(),
        expert_mask_ET=(torch.arange(T) < torch.tensor([[T], [2], [4]])).to(dtype),
        expert_entropy_ET=draw(E, T),
        expert_keep_ET=(draw(E, T) > 0.3).to(dtype),
    )


def mid(algorithm: Algorithm) -> Step:
    """A step at which every part of the loss counts."""
    return Step(step=getattr(algorithm.config, "sft_steps", 0) + 3, total_steps=5000)


def shuffled(batch: RolloutBatch, order: Tensor) -> RolloutBatch:
    changed: dict[str, Any] = {
        name: getattr(batch, name)[order]
        for name in RolloutBatch.__dataclass_fields__
        if isinstance(getattr(batch, name), Tensor)
    }
    return replace(batch, **changed)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", [name for name in ROLLOUT if name != "opd"])
@for_all(value=st.floats(-100, 100, width=32), members=st.integers(1, 9))
def test_equal_rewards_give_exactly_zero(name: str, dtype: torch.dtype, value: float, members: int) -> None:
    batch = make_batch(0, members=members, dtype=dtype)
    rows = batch.rewards_B.shape[0]
    batch = replace(
        batch,
        rewards_B=torch.full((rows,), value, dtype=dtype),
        part_BN=torch.full((rows, 2), value, dtype=dtype),
        token_rewards_BT=torch.full((rows, T), value, dtype=dtype),
        reason_B=torch.full((rows,), 0.75, dtype=dtype),
        step_return_BN=torch.full((rows, 2), value, dtype=dtype),
    )
    values = get(name).advantages(batch, Step()).values_BT
    assert values.dtype == dtype
    assert torch.equal(values, torch.zeros_like(values))


@pytest.mark.parametrize("name", GROUPED)
def test_a_group_of_one_gives_exactly_zero(name: str) -> None:
    batch = make_batch(1, prompts=5, members=1)
    algorithm = get(name)
    if algorithm.needs.token_rewards:
        # A group is then its tokens: one rollout of one token is the singleton.
        batch = replace(batch, mask_BT=(torch.arange(T) < 1).double().expand(5, T).clone())
    if algorithm.needs.step_anchors:
        batch = replace(batch, anchor_BN=torch.arange(10).reshape(5, 2))
    assert not algorithm.advantages(batch, Step()).values_BT.any()


@pytest.mark.parametrize("name", ROLLOUT)
@for_all(seed=st.integers(0, 10_000))
def test_the_order_of_rows_does_not_matter(name: str, seed: int) -> None:
    batch = make_batch(seed)
    order = torch.randperm(batch.rewards_B.shape[0], generator=torch.Generator().manual_seed(seed))
    moved = get(name).advantages(shuffled(batch, order), Step()).values_BT
    torch.testing.assert_close(moved, get(name).advantages(batch, Step()).values_BT[order], **CLOSE)


@pytest.mark.parametrize("name", ROLLOUT)
def test_a_lost_reward_touches_its_own_row_alone(name: str) -> None:
    batch = make_batch(3)
    lost = batch.rewards_B.clone()
    lost[0] = torch.nan
    token_rewards = batch.token_rewards_BT
    assert token_rewards is not None
    spoiled = replace(
        batch, rewards_B=lost, token_rewards_BT=torch.where(lost.isnan()[:, None], torch.nan, token_rewards)
    )
    result = get(name).advantages(spoiled, Step())
    assert torch.isfinite(result.values_BT).all()
    # Returns of steps and a teacher's word are signals of their own.
    if not (get(name).needs.step_anchors or get(name).needs.plain_teacher):
        assert not result.values_BT[0].any()
    assert result.metrics["advantage/invalid_rewards"] > 0


@pytest.mark.parametrize("name", [name for name in names() if name != "sft-rl"])
@for_all(seed=st.integers(0, 10_000))
def test_gradients_reach_the_policy_alone(name: str, seed: int) -> None:
    algorithm = get(name)
    batch = make_batch(seed)
    step = mid(algorithm)
    inputs = make_inputs(batch, algorithm.advantages(batch, step), seed)
    watched = {
        field: getattr(inputs, field).clone().requires_grad_()
        for field in (
            "old_logp_BT",
            "advantages_BT",
            "ref_logp_BT",
            "rewards_B",
            "teacher_logprobs_BTV",
            "expert_keep_ET",
        )
    }
    for field in ("eps_low_B", "eps_high_B"):
        if getattr(inputs, field) is not None:
            watched[field] = getattr(inputs, field).clone().requires_grad_()
    loss = algorithm.loss(replace(inputs, **watched), step).loss
    found = torch.autograd.grad(loss, list(watched.values()), allow_unused=True)
    leaks = [field for field, leak in zip(watched, found, strict=True) if leak is not None and leak.any()]
    # `keep` is data: its gradient exists in form, and no engine asks for it.
    assert [field for field in leaks if field != "expert_keep_ET"] == []


@pytest.mark.parametrize("kind", ["phi", "is", "is_clip", "focal", "entropy_top", "entropy_norm"])
def test_token_weights_carry_no_gradient(kind: Any) -> None:
    logp = torch.tensor([[-3.0, -0.7]], dtype=torch.float64, requires_grad=True)
    entropy = torch.tensor([[0.2, 0.9]], dtype=torch.float64, requires_grad=True)
    mask = torch.ones(1, 2)
    weight = demonstrations.token_weights(kind, logp, mask, entropy_ET=entropy, top_fraction=0.5)
    assert not weight.requires_grad
    inputs = LossInputs(expert_logp_ET=logp, expert_mask_ET=mask, expert_entropy_ET=entropy)
    loss = get("sft", weight=kind, top_fraction=0.5).loss(inputs, Step()).loss
    # Undetached, phi would push down the token of p = 0.05: the gradient there would be positive.
    (pull,) = torch.autograd.grad(loss, logp)
    torch.testing.assert_close(pull, -weight / 2)
    assert (pull <= 0).all()


@pytest.mark.parametrize("name", [name for name in names() if name != "sft-rl"])
@for_all(
    seed=st.integers(0, 1_000),
    scale=st.sampled_from([0.0, 1e-30, 1e-7, 1.0, 1e6, 3e38]),
    shift=st.sampled_from([0.0, 1e-8, 1.0, 40.0, 1e4, 1e30]),
    dtype=st.sampled_from([torch.float32, torch.float64]),
)
def test_finite_inputs_never_give_nan(
    name: str, seed: int, scale: float, shift: float, dtype: torch.dtype
) -> None:
    algorithm = get(name)
    batch = make_batch(seed, scale=scale, dtype=dtype)
    step = mid(algorithm)
    advantages = algorithm.advantages(batch, step)
    assert torch.isfinite(advantages.values_BT).all()
    inputs = make_inputs(batch, advantages, seed)
    assert inputs.logp_BT is not None
    assert inputs.expert_logp_ET is not None
    far = inputs.logp_BT.detach() - shift
    inputs = replace(
        inputs,
        # Log-probabilities are at most 0; a policy may have left a token completely.
        logp_BT=far.clamp(max=0.0).requires_grad_(),
        expert_logp_ET=(inputs.expert_logp_ET.detach() - shift).requires_grad_(),
    )
    loss = algorithm.loss(inputs, step).loss
    assert not loss.isnan()
    assert loss.dtype == dtype
    leaves = [inputs.logp_BT, inputs.expert_logp_ET, inputs.student_logprobs_BTV]
    for gradient in torch.autograd.grad(loss, leaves, allow_unused=True):  # type: ignore[arg-type]
        assert gradient is None or not gradient.isnan().any()


@for_all(seed=st.integers(0, 10_000))
def test_chord_without_experts_in_the_mix_is_grpo(seed: int) -> None:
    batch = make_batch(seed)
    plain = get("grpo", aggregation="token-mean")
    inputs = make_inputs(batch, plain.advantages(batch, Step()), seed)
    wanted = plain.loss(inputs, Step()).loss
    for name in ("chord-mu", "chord-phi"):
        zero = get(name, mixing="constant", mu=0.0)
        assert torch.equal(zero.advantages(batch, Step()).values_BT, inputs.advantages_BT)
        torch.testing.assert_close(zero.loss(inputs, Step()).loss, wanted, **CLOSE)
        empty = replace(inputs, expert_logp_ET=None, expert_mask_ET=None)
        torch.testing.assert_close(get(name).loss(empty, Step()).loss, wanted, **CLOSE)


@for_all(seed=st.integers(0, 10_000))
@pytest.mark.parametrize("weight", ["none", "phi", "is", "focal"])
def test_chord_of_experts_alone_is_weighted_sft(weight: str, seed: int) -> None:
    batch = make_batch(seed)
    one = get("chord-phi", mixing="constant", mu=1.0, weight=weight)
    inputs = make_inputs(batch, one.advantages(batch, Step()), seed)
    torch.testing.assert_close(
        one.loss(inputs, Step()).loss, get("sft", weight=weight).loss(inputs, Step()).loss, **CLOSE
    )


@for_all(seed=st.integers(0, 10_000))
def test_awpo_without_reasoning_is_difficulty_times_grpo(seed: int) -> None:
    batch = replace(make_batch(seed), reason_B=torch.zeros(12, dtype=torch.float64))
    ours = get("awpo").advantages(batch, Step()).values_BT
    plain = get("grpo", ddof=0).advantages(batch, Step()).values_BT
    mean = batch.rewards_B.reshape(3, 4).mean(1).repeat_interleave(4)[:, None]
    factor = torch.where((mean > 0.5) & (mean < 1.5), 1.5, 1.0)
    torch.testing.assert_close(ours, factor * plain, **CLOSE)


@for_all(seed=st.integers(0, 10_000))
def test_awpo_falls_back_to_the_outcome_where_the_judge_failed(seed: int) -> None:
    batch = make_batch(seed)
    assert batch.reason_B is not None
    broken = batch.reason_B.clone()
    broken[1] = torch.nan
    ours = get("awpo", difficulty=False).advantages(replace(batch, reason_B=broken), Step()).values_BT
    plain = get("grpo", ddof=0).advantages(batch, Step()).values_BT
    torch.testing.assert_close(ours[:4], plain[:4], **CLOSE)


@for_all(seed=st.integers(0, 10_000))
def test_fine_grained_advantages_without_process_reward_and_equal_lengths_are_grpo(seed: int) -> None:
    batch = replace(make_batch(seed), mask_BT=torch.ones(12, T, dtype=torch.float64))
    outcome = replace(batch, token_rewards_BT=batch.rewards_B[:, None].expand(12, T))
    wanted = get("grpo", ddof=0).advantages(batch, Step()).values_BT
    for name in ("fg-dapo", "toolupt"):
        for given_batch in (outcome, replace(batch, token_rewards_BT=None)):
            torch.testing.assert_close(get(name).advantages(given_batch, Step()).values_BT, wanted, **CLOSE)


@for_all(seed=st.integers(0, 10_000), beta=st.floats(0.01, 5.0), phi=st.booleans())
def test_descent_on_spo_raises_experts_and_lowers_rejected_tokens(seed: int, beta: float, phi: bool) -> None:
    batch = make_batch(seed)
    algorithm = get("toolupt")
    inputs = make_inputs(batch, algorithm.advantages(batch, Step()), seed)
    assert inputs.expert_keep_ET is not None
    assert inputs.expert_mask_ET is not None
    assert inputs.advantages_BT is not None
    (expert,) = torch.autograd.grad(chosen_loss(inputs, Step(), beta=beta, phi=phi), inputs.expert_logp_ET)  # type: ignore[arg-type]
    (rejected,) = torch.autograd.grad(rejected_loss(inputs, Step(), beta=beta, phi=phi), inputs.logp_BT)  # type: ignore[arg-type]
    kept = (inputs.expert_keep_ET * inputs.expert_mask_ET) > 0
    assert (expert[kept] < 0).all()
    assert not expert[~kept].any()
    negative = (inputs.advantages_BT < 0) & (batch.mask_BT > 0)
    assert (rejected[negative] > 0).all()
    assert not rejected[~negative].any()


@for_all(
    seed=st.integers(0, 10_000),
    mode=st.sampled_from(["outcome", "magnitude"]),
    kind=st.sampled_from(["adaptive", "token", "random", "fixed"]),
)
def test_gear_keeps_sign_and_total(seed: int, mode: str, kind: str) -> None:
    batch = make_batch(seed)
    plain = get("grpo").advantages(batch, Step()).values_BT
    ours = (
        get("gear", sign_mode=mode, segmentation=kind, segment_length=2).advantages(batch, Step()).values_BT
    )
    assert torch.equal(ours.sign(), plain.sign())
    torch.testing.assert_close(ours.sum(1), plain.sum(1), **CLOSE)


@for_all(seed=st.integers(0, 10_000), scale=st.floats(0.01, 100))
def test_gear_limits(seed: int, scale: float) -> None:
    batch = make_batch(seed)
    assert batch.reverse_kl_BT is not None
    plain = get("grpo").advantages(batch, Step()).values_BT
    assert torch.equal(get("gear", kappa=0.0).advantages(batch, Step()).values_BT, plain)
    flat = replace(batch, reverse_kl_BT=torch.full((12, T), 0.3, dtype=torch.float64))
    assert torch.equal(get("gear").advantages(flat, Step()).values_BT, plain)
    unknown = replace(batch, reverse_kl_BT=torch.full((12, T), torch.nan, dtype=torch.float64))
    assert torch.equal(get("gear").advantages(unknown, Step()).values_BT, plain)
    scaled = replace(batch, reverse_kl_BT=batch.reverse_kl_BT * scale)
    torch.testing.assert_close(
        get("gear").advantages(scaled, Step()).values_BT,
        get("gear").advantages(batch, Step()).values_BT,
        rtol=1e-7,
        atol=1e-9,
    )


@for_all(
    onset=st.lists(st.booleans(), min_size=8, max_size=8),
    stop=st.lists(st.booleans(), min_size=8, max_size=8),
    turns=st.lists(st.integers(0, 1), min_size=8, max_size=8),
    length=st.integers(1, 8),
)
def test_segments_equal_a_scan_from_left_to_right(
    onset: list[bool], stop: list[bool], turns: list[int], length: int
) -> None:
    turns = sorted(turns)
    wanted, origins, running, at = [], [], -1, None
    for position in range(8):
        if position < length and onset[position]:
            running, at = running + 1, position
        elif at is not None and (position >= length or stop[position] or turns[position] != turns[at]):
            at = None
        wanted.append(running if at is not None else -1)
        origins.append(at if at is not None else position)
    segment, origin = gear.find_segments(
        torch.tensor([onset]), torch.tensor([stop]), torch.tensor([turns]), torch.arange(8)[None] < length
    )
    assert segment[0].tolist() == wanted
    assert origin[0].tolist() == origins


@for_all(seed=st.integers(0, 10_000))
def test_dupo_of_plain_weights_late_in_training_is_a_mean_normalised_ppo(seed: int) -> None:
    batch = replace(make_batch(seed), rewards_B=make_batch(seed).rewards_B.abs() + 0.2)
    ones = dict.fromkeys(("tag_plan", "tag_tool", "tag_resp", "plan", "tool", "resp", "other"), 1.0)
    algorithm = get("dupo", rho=ones, zeta=1.0, clip="static", eps_high=0.2)
    step = Step(step=1_000, total_steps=1_001)
    types = torch.full((12, T), int(TokenType.TOOL))
    advantages = algorithm.advantages(batch, step)
    rewards = batch.rewards_B.reshape(3, 4)
    mean = rewards.mean(1, keepdim=True)
    wanted = ((rewards - mean) / mean).flatten()[:, None] * batch.mask_BT
    torch.testing.assert_close(advantages.values_BT, wanted, **CLOSE)
    inputs = replace(make_inputs(batch, advantages, seed), token_type_BT=types)
    plain = get("grpo", aggregation="token-mean")
    torch.testing.assert_close(algorithm.loss(inputs, step).loss, plain.loss(inputs, step).loss, **CLOSE)


@for_all(rewards=st.lists(st.floats(-3, 3), min_size=2, max_size=8))
def test_dupo_keeps_the_order_of_any_rewards(rewards: list[float]) -> None:
    count = len(rewards)
    values = torch.tensor(rewards, dtype=torch.float64)
    batch = RolloutBatch(
        rewards_B=values, mask_BT=torch.ones(count, 1), group_B=torch.zeros(count, dtype=torch.long)
    )
    ours = get("dupo").advantages(batch, Step()).values_BT[:, 0]
    assert (ours[values.argsort()].diff() >= 0).all()
    assert ours.abs().max() <= count - 1 + 1e-6  # returned in the batch's dtype


@for_all(seed=st.integers(0, 10_000))
def test_grouped_statistics_are_those_of_each_group(seed: int) -> None:
    batch = make_batch(seed)
    grouped = groups.group_rewards(batch.rewards_B, batch.group_B, batch.mask_BT)
    for prompt in range(3):
        inside = batch.rewards_B[batch.group_B == prompt]
        torch.testing.assert_close(grouped.mean_P[prompt], inside.mean(), **CLOSE)
        for ddof in (0, 1):
            torch.testing.assert_close(
                grouped.deviation_P(ddof)[prompt], inside.std(correction=ddof), **CLOSE
            )
