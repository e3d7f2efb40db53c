"""Edges of the shared parts: schedules, surrogate, aggregation, groups, token weights, missing inputs."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from planarena.trainers import schedules
from planarena.trainers.algorithms import demonstrations, get, gigpo, groups, kto, reinforce_pp, surrogate
from planarena.trainers.types import LossInputs, RolloutBatch, Step


def test_warmup_cosine_edges() -> None:
    at = lambda step, **changes: schedules.warmup_cosine(  # noqa: E731
        step, **({"warmup": 0, "decay": 30, "peak": 0.9, "valley": 0.05} | changes)
    )
    assert at(0) == 0.9
    assert at(30) == at(10_000) == 0.05
    assert at(0, decay=0) == 0.05
    assert at(0, warmup=10) == 0.0
    assert at(10, warmup=10) == 0.9
    values = [at(step) for step in range(31)]
    assert values == sorted(values, reverse=True)


def test_adaptive_coefficient_stays_inside_its_range() -> None:
    assert schedules.adaptive_coefficient(-3.0, threshold=0.5) == 1.0
    assert schedules.adaptive_coefficient(2.0, threshold=0.5) == 0.0
    assert schedules.adaptive_coefficient(math.nan, threshold=0.5) == 0.0


def test_the_dynamic_clip_is_bounded_and_anneals() -> None:
    means = torch.tensor([0.5, 2.0, 3.0])
    early = schedules.dynamic_upper_clip(means, step=1, total_steps=100, floor=0.0)
    late = schedules.dynamic_upper_clip(means, step=100, total_steps=100, floor=0.0)
    assert (late < early).all()
    assert (early <= means).all()
    # At the last step tau is 1: m / (m + 1).
    torch.testing.assert_close(late, means / (means + 1))
    assert schedules.dynamic_upper_clip(torch.tensor([1e30]), step=1, total_steps=10, floor=0.2) == 10.0


def test_hints_are_drawn_repeatably_and_fade() -> None:
    algorithm: Any = get("uft", seed=3)
    draws = [algorithm.draw_hint_segments(Step(step=0), row, 9) for row in range(200)]
    assert draws == [algorithm.draw_hint_segments(Step(step=0), row, 9) for row in range(200)]
    # Binomial(5, 0.95) has mean 4.75 and deviation 0.49; five standard errors of 200 draws.
    assert abs(sum(draws) / 200 - 4.75) < 0.18
    assert {algorithm.draw_hint_segments(Step(step=301), row, 9) for row in range(50)} == {0}
    assert max(algorithm.draw_hint_segments(Step(step=0), row, 2) for row in range(50)) == 2


@pytest.mark.parametrize(
    ("advantage", "ratio", "gradient"),
    [
        (2.0, 1.1, -2.2),
        (2.0, 1.3, 0.0),
        (2.0, 0.5, -1.0),
        (-2.0, 0.9, 1.8),
        (-2.0, 0.7, 0.0),
        (-2.0, 2.5, 5.0),
        (-2.0, 3.5, 0.0),
    ],
)
def test_the_clip_stops_the_gradient_where_it_should(advantage: float, ratio: float, gradient: float) -> None:
    log = torch.tensor([ratio], dtype=torch.float64).log().requires_grad_()
    low = torch.tensor([0.2], dtype=torch.float64)
    for eps in (0.2, low):
        loss = surrogate.clipped_loss(
            log, torch.tensor([advantage], dtype=torch.float64), eps_low=eps, eps_high=eps, dual_clip=3.0
        )
        (found,) = torch.autograd.grad(loss.sum(), log)
        assert float(found) == pytest.approx(gradient)


def test_without_a_dual_clip_the_ratio_of_bad_tokens_is_free() -> None:
    log = torch.tensor([5.0], dtype=torch.float64)
    for eps in (0.2, torch.tensor([0.2], dtype=torch.float64)):
        loss = surrogate.clipped_loss(log, -torch.ones(1), eps_low=eps, eps_high=0.2, dual_clip=None)
        assert float(loss) == pytest.approx(math.exp(5.0))


def test_aggregations_divide_by_what_they_say() -> None:
    loss = torch.tensor([[1.0, 2.0, 3.0], [4.0, 9.0, 9.0], [9.0, 9.0, 9.0]])
    mask = torch.tensor([[1, 1, 1], [1, 0, 0], [0, 0, 0]])
    found = {
        mode: float(surrogate.aggregate(loss, mask, mode))
        for mode in (
            "token-mean",
            "seq-mean-token-mean",
            "seq-mean-token-sum",
            "seq-mean-token-sum-norm",
            "token-sum-norm",
        )
    }
    assert found == pytest.approx(
        {
            "token-mean": 10 / 4,
            "seq-mean-token-mean": (2 + 4) / 2,
            "seq-mean-token-sum": (6 + 4) / 2,
            "seq-mean-token-sum-norm": (6 + 4) / 2 / 3,
            "token-sum-norm": 10 / 3,
        }
    )
    assert float(surrogate.aggregate(loss, mask, "token-mean", tokens=20)) == pytest.approx(0.5)
    assert float(surrogate.aggregate(loss, mask, "seq-mean-token-sum", sequences=5)) == pytest.approx(2.0)
    assert float(surrogate.aggregate(loss, mask, "token-sum-norm", horizon=100)) == pytest.approx(0.1)
    with pytest.raises(ValueError, match="unknown aggregation"):
        surrogate.aggregate(loss, mask, "mean")  # type: ignore[arg-type]


def test_on_policy_updates_need_no_old_log_probabilities() -> None:
    logp = torch.tensor([[-1.0, -2.0]], dtype=torch.float64, requires_grad=True)
    mask = torch.ones(1, 2)
    inputs = LossInputs(
        logp_BT=logp, mask_BT=mask, advantages_BT=torch.tensor([[1.0, -2.0]], dtype=torch.float64)
    )
    for name in ("grpo", "gspo", "dapo"):
        loss = get(name).loss(inputs, Step()).loss
        assert float(loss.detach()) == pytest.approx(0.5)
        (gradient,) = torch.autograd.grad(loss, logp)
        # d/dlogp is -A r / N with r = 1; GSPO's sequence shares its mean advantage among the tokens.
        wanted = [[0.25, 0.25]] if name == "gspo" else [[-0.5, 1.0]]
        torch.testing.assert_close(gradient, torch.tensor(wanted, dtype=torch.float64))


@pytest.mark.parametrize("value", [2.7, 3.7, 0.1, 1 / 3, 0.7, 1e6])
@pytest.mark.parametrize("count", [1, 2, 3, 5, 7, 8])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_equal_rewards_are_degenerate_whatever_their_rounding(
    value: float, count: int, dtype: torch.dtype
) -> None:
    grouped = groups.group_rewards(
        torch.full((count,), value, dtype=dtype), torch.zeros(count, dtype=torch.long), torch.ones(count, 1)
    )
    assert bool(grouped.degenerate_P)
    assert not grouped.standardised(ddof=1, eps=1e-6).any()
    assert not grouped.leave_one_out().any()


def test_a_small_real_difference_is_not_degenerate() -> None:
    rewards = torch.tensor([1.0, 1.0 + 1e-5], dtype=torch.float64)
    grouped = groups.group_rewards(rewards, torch.zeros(2, dtype=torch.long), torch.ones(2, 1))
    assert not bool(grouped.degenerate_P)


def test_rows_without_tokens_do_not_count_as_members() -> None:
    rewards = torch.tensor([1.0, 3.0, 100.0])
    mask = torch.tensor([[1.0], [1.0], [0.0]])
    grouped = groups.group_rewards(rewards, torch.zeros(3, dtype=torch.long), mask)
    assert grouped.mean_P.tolist() == [2.0]
    assert grouped.centred().tolist() == [-1.0, 1.0, 0.0]


def test_whitening_of_equal_or_lonely_values_is_zero() -> None:
    assert not groups.whiten(torch.full((2, 3), 0.1), torch.ones(2, 3)).any()
    assert not groups.whiten(torch.tensor([[5.0]]), torch.ones(1, 1)).any()
    values = groups.whiten(torch.tensor([[1.0, 2.0, 9.0]]), torch.tensor([[1, 1, 0]]))
    torch.testing.assert_close(
        values, torch.tensor([[-1.0, 1.0, 0.0]], dtype=torch.float64) / math.sqrt(2), rtol=1e-6, atol=0
    )


def test_spoiled_whitening_is_caught_by_its_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three mutants of REINFORCE++'s normalisation, against mean 0 and variance 1 over valid tokens."""
    batch = RolloutBatch(
        rewards_B=torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64),
        mask_BT=torch.tensor([[1.0, 1.0, 1.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0]], dtype=torch.float64),
        group_B=torch.zeros(3, dtype=torch.long),
    )

    def holds() -> bool:
        values = get("reinforce-pp").advantages(batch, Step()).values_BT
        inside = values[batch.mask_BT > 0]
        ordered = bool(values[0, 0] > values[2, 0] > values[1, 0])
        # 1e-8 inside the root moves the variance by as much.
        return ordered and abs(float(inside.mean())) < 1e-9 and abs(float(inside.var()) - 1) < 1e-7

    original = groups.whiten
    assert holds()
    mutants = {
        "sign": lambda values, mask: -original(values, mask),
        "mask": lambda values, mask: original(values, torch.ones_like(mask)) * mask,
        "normaliser": lambda values, mask: original(values, mask) * 0.9,
    }
    for kind, mutant in mutants.items():
        monkeypatch.setattr(groups, "whiten", mutant)
        assert not holds(), kind


def test_discounted_returns_pass_over_observations() -> None:
    rewards = torch.tensor([[1.0, 99.0, 2.0, 4.0]], dtype=torch.float64)
    mask = torch.tensor([[1, 0, 1, 1]])
    found = reinforce_pp.discounted_returns(rewards, mask, 0.5)
    assert found.tolist() == [[1 + 0.5 * 4.0, 0.0, 4.0, 4.0]]
    assert reinforce_pp.discounted_returns(rewards, mask, 1.0).tolist() == [[7.0, 0.0, 6.0, 4.0]]


def test_step_returns_discount_backwards() -> None:
    assert gigpo.step_returns([0.0, 0.0, 1.0], 0.5) == [0.25, 0.5, 1.0]
    assert gigpo.step_returns([], 0.5) == []


def test_entropy_weights_ask_for_the_entropy() -> None:
    with pytest.raises(ValueError, match="expert_entropy_ET"):
        demonstrations.token_weights("entropy_top", torch.zeros(1, 1), torch.ones(1, 1))
    assert demonstrations.entropy_statistics(torch.zeros(1, 1), torch.zeros(1, 1), top_fraction=0.05) == {
        "expert_entropy_mean": 0.0,
        "expert_entropy_threshold": math.inf,
    }
    flat = demonstrations.token_weights(
        "entropy_norm", torch.zeros(1, 2), torch.ones(1, 2), entropy_ET=torch.zeros(1, 2)
    )
    assert flat.tolist() == [[1.0, 1.0]]


@pytest.mark.parametrize(
    ("name", "options", "missing"),
    [
        ("awpo", {}, "reason_B"),
        ("rlsd", {}, "teacher_logp_BT"),
        ("gear", {}, "reverse_kl_BT"),
        ("gigpo", {}, "anchor_BN"),
        ("gagpo", {}, "anchor_BN"),
        ("gtpo", {}, "anchor_BN"),
        ("gdpo", {}, "part_BN"),
        ("opd", {}, "teacher_logp_BT"),
        ("reinforce-pp", {"dense": True}, "token_rewards_BT"),
        ("dupo", {"decay_application": "advantage"}, "decay_B"),
        ("dupo", {"normalise_rho": True}, "token_type_BT"),
    ],
)
def test_a_missing_field_is_named(name: str, options: dict[str, Any], missing: str) -> None:
    batch = RolloutBatch(
        rewards_B=torch.tensor([0.0, 1.0]), mask_BT=torch.ones(2, 2), group_B=torch.zeros(2).long()
    )
    with pytest.raises(ValueError, match=missing):
        get(name, **options).advantages(batch, Step())


def test_a_missing_input_is_named() -> None:
    with pytest.raises(ValueError, match="logp_BT"):
        get("grpo").loss(LossInputs(), Step())
    for name in ("gspo", "gmpo"):
        algorithm: Any = get(name)
        with pytest.raises(ValueError, match="token weights"):
            algorithm.policy_loss(LossInputs(), Step(), torch.ones(1, 1))


def test_pairs_must_be_whole() -> None:
    inputs = LossInputs(
        logp_BT=torch.zeros(2, 1),
        mask_BT=torch.ones(2, 1),
        ref_logp_BT=torch.zeros(2, 1),
        preference_B=torch.tensor([1, 1]),
        pair_B=torch.tensor([0, 0]),
    )
    with pytest.raises(ValueError, match="one chosen and one rejected"):
        get("dpo").loss(inputs, Step())


def test_dpo_equals_its_formula_and_prefers_the_chosen() -> None:
    logp = torch.tensor([[-1.0, -0.5], [-2.0, -0.1]], dtype=torch.float64, requires_grad=True)
    inputs = LossInputs(
        logp_BT=logp,
        mask_BT=torch.tensor([[1, 1], [1, 0]]),
        ref_logp_BT=torch.tensor([[-1.2, -0.4], [-1.5, 0.0]], dtype=torch.float64),
        preference_B=torch.tensor([1, -1]),
        pair_B=torch.tensor([7, 7]),
    )
    margin = 0.1 * ((-1.5 + 1.6) - (-2.0 + 1.5))
    for smoothing in (0.0, 0.2):
        outputs = get("dpo", label_smoothing=smoothing).loss(inputs, Step())
        wanted = (1 - smoothing) * math.log1p(math.exp(-margin)) + smoothing * math.log1p(math.exp(margin))
        assert float(outputs.loss.detach()) == pytest.approx(wanted, rel=1e-12)
        (gradient,) = torch.autograd.grad(outputs.loss, logp)
        assert (gradient[0] < 0).all()
        assert gradient[1, 0] > 0
        assert gradient[1, 1] == 0
    assert float(outputs.metrics["preference/accuracy"]) == 1.0


def test_ktos_reference_point_is_never_negative() -> None:
    logp, mask = torch.tensor([[-3.0], [-1.0]]), torch.ones(2, 1)
    assert kto.reference_point(logp, torch.tensor([[-4.0], [-1.5]]), mask) == pytest.approx(0.75)
    assert kto.reference_point(logp, torch.tensor([[-1.0], [-0.5]]), mask) == 0.0
    assert kto.reference_point(logp[:0], logp[:0], mask[:0]) == 0.0


def test_uft_adds_a_small_cross_entropy_on_hints() -> None:
    logp = torch.tensor([[-1.0, -2.0]], dtype=torch.float64)
    given = {
        "logp_BT": logp,
        "mask_BT": torch.ones(1, 2),
        "advantages_BT": torch.ones(1, 2, dtype=torch.float64),
    }
    hints = {
        "expert_logp_ET": torch.tensor([[-3.0, -5.0]], dtype=torch.float64),
        "expert_mask_ET": torch.tensor([[1, 0]]),
    }
    algorithm = get("uft", entropy_coef=0.0)
    plain = algorithm.loss(LossInputs(**given), Step()).loss
    assert float(plain) == pytest.approx(-1.0)
    assert float(algorithm.loss(LossInputs(**given, **hints), Step()).loss) == pytest.approx(
        -1.0 + 0.001 * 3.0
    )


def test_relift_supervises_with_an_entropy_bonus_and_takes_the_newest() -> None:
    algorithm = get("relift", buffer_size=2)
    experts = {
        "expert_logp_ET": torch.tensor([[-3.0, -1.0]], dtype=torch.float64),
        "expert_mask_ET": torch.ones(1, 2),
    }
    entropy = torch.tensor([[0.5, 1.5]], dtype=torch.float64)
    loss = algorithm.loss(LossInputs(**experts, expert_entropy_ET=entropy), Step()).loss
    assert float(loss) == pytest.approx(2.0 - 0.001 * 1.0)
    for key in ("old", "new", "newest"):
        batch = RolloutBatch(
            rewards_B=torch.zeros(2), mask_BT=torch.ones(2, 1), group_B=torch.zeros(2).long(), keys=(key, key)
        )
        algorithm.advantages(batch, Step())
    assert algorithm.state_dict() == {"buffer": ["newest", "new", "old"]}
    assert algorithm.pending_experts() == ("newest", "new")
    assert algorithm.state_dict() == {"buffer": ["old"]}


def test_relift_and_luffy_do_not_clip() -> None:
    old = torch.tensor([[0.0]], dtype=torch.float64)
    inputs = LossInputs(
        logp_BT=old + 1.0,
        old_logp_BT=old,
        mask_BT=torch.ones(1, 1),
        advantages_BT=torch.ones(1, 1, dtype=torch.float64),
    )
    for name in ("relift", "luffy"):
        assert float(get(name, entropy_coef=0.0).loss(inputs, Step()).loss) == pytest.approx(-math.e)
    clipped = get("luffy", clip_on_policy=True, entropy_coef=0.0)
    assert float(clipped.loss(inputs, Step()).loss) == pytest.approx(-1.2)


def test_the_demonstration_below_its_group_is_counted() -> None:
    batch = RolloutBatch(
        rewards_B=torch.tensor([1.0, 1.0, 0.0]),
        mask_BT=torch.ones(3, 1),
        group_B=torch.zeros(3).long(),
        is_demo_B=torch.tensor([False, False, True]),
    )
    assert get("luffy").advantages(batch, Step()).metrics["advantage/unlearned_demonstrations"] == 1.0


def test_dupos_moving_average_looks_back() -> None:
    algorithm = get("dupo", clip_average="moving", moving_rate=0.5, eps_high_floor=0.0)
    eps = []
    for reward in (1.0, 3.0, 3.0):
        batch = RolloutBatch(
            rewards_B=torch.tensor([reward - 0.5, reward + 0.5], dtype=torch.float64),
            mask_BT=torch.ones(2, 1),
            group_B=torch.zeros(2).long(),
        )
        result = algorithm.advantages(batch, Step(step=0, total_steps=10**9))
        assert result.eps_high_B is not None
        eps.append(float(result.eps_high_B[0]))
    # tau is a billion: eps_H is the average itself: the first batch, then the past alone.
    assert eps == pytest.approx([1.0, 1.0, 2.0], rel=1e-6)


def test_dupo_as_printed_divides_by_any_mean() -> None:
    batch = RolloutBatch(
        rewards_B=torch.tensor([-0.5, -0.5, -0.5, -0.1], dtype=torch.float64),
        mask_BT=torch.ones(4, 1),
        group_B=torch.zeros(4).long(),
    )
    printed = get("dupo", advantage="literal").advantages(batch, Step()).values_BT[:, 0]
    # A negative mean turns the order round: the best rollout is pushed down.
    torch.testing.assert_close(
        printed, torch.tensor([0.25, 0.25, 0.25, -0.75]), rtol=1e-6, atol=1e-7, check_dtype=False
    )


def test_gigpo_reads_the_steps_of_a_whole_episode_by_turn() -> None:
    batch = RolloutBatch(
        rewards_B=torch.tensor([1.0, 0.0], dtype=torch.float64),
        mask_BT=torch.tensor([[1.0, 0.0, 1.0], [1.0, 0.0, 1.0]], dtype=torch.float64),
        group_B=torch.zeros(2).long(),
        turn_BT=torch.tensor([[0, 0, 1], [0, 0, 1]]),
        anchor_BN=torch.tensor([[4, 7], [4, 8]]),
        step_return_BN=torch.tensor([[0.9, 1.0], [0.1, 0.0]], dtype=torch.float64),
    )
    values = get("gigpo").advantages(batch, Step()).values_BT
    torch.testing.assert_close(
        values,
        torch.tensor([[0.5 + 0.4, 0.0, 0.5], [-0.5 - 0.4, 0.0, -0.5]]),
        rtol=1e-6,
        atol=1e-7,
        check_dtype=False,
    )
    scaled = get("gigpo", normalise="mean_std").advantages(batch, Step()).values_BT
    assert float(scaled[0, 2]) == pytest.approx(math.sqrt(0.5), rel=1e-4)


def test_srft_signs_and_cap() -> None:
    inputs = {
        "logp_BT": torch.tensor([[-1.0]], dtype=torch.float64),
        "mask_BT": torch.ones(1, 1),
        "advantages_BT": torch.zeros(1, 1, dtype=torch.float64),
        "is_demo_B": torch.tensor([True]),
    }
    for sign, entropy, factor in ((-1, 2.0, math.exp(-2)), (1, 2.0, math.exp(2)), (1, 12.0, math.exp(3))):
        loss = (
            get("srft", sft_entropy_sign=sign)
            .loss(LossInputs(**inputs, scalars={"entropy": entropy}), Step())
            .loss
        )
        assert float(loss) == pytest.approx(0.5 * factor)


def test_regularisers_pull_the_right_way() -> None:
    logp = torch.tensor([[-1.0]], dtype=torch.float64, requires_grad=True)
    entropy = torch.tensor([[0.7]], dtype=torch.float64, requires_grad=True)
    inputs = LossInputs(
        logp_BT=logp,
        mask_BT=torch.ones(1, 1),
        advantages_BT=torch.zeros(1, 1, dtype=torch.float64),
        ref_logp_BT=torch.tensor([[-2.0]], dtype=torch.float64),
        entropy_BT=entropy,
    )
    loss = get("grpo", kl_coef=0.5, entropy_coef=0.1).loss(inputs, Step()).loss
    toward, bonus = torch.autograd.grad(loss, (logp, entropy))
    # k3 of log-ratio 1 is e^-1 + 1 - 1, with slope 1 - e^-1; descent lowers logp towards the reference.
    assert float(loss.detach()) == pytest.approx(0.5 * math.exp(-1) - 0.1 * 0.7)
    assert float(toward) == pytest.approx(0.5 * (1 - math.exp(-1)))
    assert float(bonus) == pytest.approx(-0.1)


def test_gear_falls_back_to_the_sampled_divergence() -> None:
    batch = RolloutBatch(
        rewards_B=torch.tensor([1.0, 0.0], dtype=torch.float64),
        mask_BT=torch.ones(2, 3),
        group_B=torch.zeros(2).long(),
        old_logp_BT=torch.tensor([[-0.1, -0.5, -0.2], [-0.1, -0.5, -0.2]], dtype=torch.float64),
        # More likely to the teacher at token 0: a negative estimate counts as no divergence.
        teacher_logp_BT=torch.tensor([[-0.05, -2.5, -0.2], [-0.05, -2.5, -0.2]], dtype=torch.float64),
    )
    advantage = math.sqrt(0.5)
    values = get("gear", segmentation="token").advantages(batch, Step()).values_BT
    # u = [0, 1, 0]: raw is 1 -+ kappa at token 1, and the mean of the weights is 1.
    for row, (sign, raw) in enumerate(((1, [1.0, 0.5, 1.0]), (-1, [1.0, 1.5, 1.0]))):
        wanted = [sign * advantage * weight * 3 / sum(raw) for weight in raw]
        assert values[row].tolist() == pytest.approx(wanted, rel=1e-5)
    with pytest.raises(ValueError, match="entropy_BT"):
        get("gear").advantages(batch, Step())


def test_a_two_stage_run_takes_any_of_its_rl_algorithms() -> None:
    batch = RolloutBatch(
        rewards_B=torch.tensor([1.0, 0.0, 0.5]), mask_BT=torch.ones(3, 2), group_B=torch.zeros(3).long()
    )
    for name in ("grpo", "dr-grpo", "dapo", "fg-dapo"):
        both = get("sft-rl", rl={"algorithm": name}).advantages(batch, Step()).values_BT
        assert torch.equal(both, get(name).advantages(batch, Step()).values_BT)


def test_awpos_gains_are_not_rounded_to_float32() -> None:
    batch = RolloutBatch(
        rewards_B=torch.tensor([0.1, 1.7, 0.4, 2.0], dtype=torch.float64),
        mask_BT=torch.ones(4, 2),
        group_B=torch.tensor([0, 0, 1, 1]),
        old_logp_BT=torch.zeros(4, 2, dtype=torch.float64),
        reason_B=torch.tensor([0.2, 0.3, 0.9, 0.1], dtype=torch.float64),
    )
    plain, gained = (
        get("awpo", a_prio=gain, a_base=gain).advantages(batch, Step()).values_BT for gain in (1.0, 1.3)
    )
    assert float(plain.abs().max()) > 0.5
    # One multiplication in float64; 1.3 in float32 would be off by 4e-8.
    assert torch.allclose(gained, 1.3 * plain, rtol=1e-15, atol=0.0)
