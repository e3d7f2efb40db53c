"""RL losses and advantages against the float64 numpy oracles: given, fresh, float32, spoiled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from planarena.trainers.algorithms import gear, get, groups, opsd, rlsd, surrogate
from planarena.trainers.types import LossInputs, RolloutBatch, Step

Oracle = dict[str, Any]
Checks = Iterator[tuple[str, Any, Any]]
Case = Callable[[Any, Oracle, torch.dtype], Checks]
CASES: dict[str, tuple[str, Case]] = {}


def case(file: str) -> Callable[[Case], Case]:
    """Register a comparison under its own name."""

    def register(function: Case) -> Case:
        CASES[function.__name__] = (file, function)
        return function

    return register


@case("grpo")
def grpo(lab: Any, oracle: Oracle, dtype: torch.dtype) -> Checks:
    batch = lab.rollout(oracle, dtype)
    grouped = groups.group_rewards(batch.rewards_B, batch.group_B, batch.mask_BT)
    for ddof in (0, 1):
        yield (
            f"ddof {ddof}",
            grouped.standardised(ddof=ddof, eps=1e-6),
            oracle["expected"][f"adv_seq_ddof{ddof}"],
        )
    yield from lab.clipped_case("grpo", oracle, dtype)


@case("dapo")
def dapo(lab: Any, oracle: Oracle, dtype: torch.dtype) -> Checks:
    yield "kept", get("dapo").keep_groups(lab.rollout(oracle, dtype)), oracle["expected"]["keep_group_mask"]
    sampled = oracle["expected"]["dynamic_sampling"]
    rewards = lab.tensor(sampled["groups"], dtype)
    batch = RolloutBatch(
        rewards_B=rewards.flatten(),
        mask_BT=torch.ones(rewards.numel(), 1),
        group_B=torch.arange(rewards.shape[0]).repeat_interleave(rewards.shape[1]),
    )
    yield "sampled", get("dapo").keep_groups(batch)[:: rewards.shape[1]], sampled["keep"]
    yield from lab.clipped_case("dapo", oracle, dtype)


@case("dr_grpo")
def dr_grpo(lab: Any, oracle: Oracle, dtype: torch.dtype) -> Checks:
    yield from lab.clipped_case("dr-grpo", oracle, dtype)


@case("rloo")
def rloo(lab: Any, oracle: Oracle, dtype: torch.dtype) -> Checks:
    yield from lab.clipped_case("rloo", oracle, dtype)


@case("reinforce_pp")
def reinforce_pp(lab: Any, oracle: Oracle, dtype: torch.dtype) -> Checks:
    baseline = get("reinforce-pp", baseline=True).advantages(lab.rollout(oracle, dtype), Step())
    yield "baseline", baseline.values_BT, oracle["expected"]["baseline_variant"]
    yield from lab.clipped_case("reinforce-pp", oracle, dtype)


@case("gspo")
def gspo(lab: Any, oracle: Oracle, dtype: torch.dtype) -> Checks:
    batch, given, expected = lab.rollout(oracle, dtype), oracle["inputs"], oracle["expected"]
    algorithm = get("gspo", eps_low=given["eps_low"], eps_high=given["eps_high"])
    advantages = algorithm.advantages(batch, Step()).values_BT
    yield "advantages", advantages[:, 0], given["adv_seq"]
    logp = lab.graph(given["logp"], batch.mask_BT, dtype)
    inputs = LossInputs(
        logp_BT=logp, mask_BT=batch.mask_BT, old_logp_BT=batch.old_logp_BT, advantages_BT=advantages
    )
    loss = algorithm.loss(inputs, Step()).loss
    yield "loss", loss, expected["loss"]
    yield "gradient", lab.gradients(loss, logp)[0], expected["grad_logp"]
    ratio = surrogate.mean_log_ratio(logp, batch.old_logp_BT, batch.mask_BT, length_norm=True).exp()
    yield "ratio", ratio, expected["seq_ratio"]


@case("luffy")
def luffy(lab: Any, oracle: Oracle, dtype: torch.dtype) -> Checks:
    given, expected = oracle["inputs"], oracle["expected"]
    mask = lab.tensor(given["mask"], dtype)
    demo = torch.tensor(given["is_offpolicy"]) > 0
    for mode, wanted in expected["by_agg"].items():
        aggregation = {"official_sum_over_T": "token-sum-norm"}.get(mode, mode)
        algorithm = get("luffy", aggregation=aggregation, entropy_coef=0.0)
        batch = RolloutBatch(
            rewards_B=lab.tensor(given["rewards"], dtype),
            mask_BT=mask,
            group_B=torch.zeros(4, dtype=torch.long),
            is_demo_B=demo,
        )
        advantages = algorithm.advantages(batch, Step()).values_BT
        yield "advantages", advantages[:, 0], expected["adv_seq"]
        logp = lab.graph(given["logp"], mask, dtype)
        inputs = LossInputs(
            logp_BT=logp,
            mask_BT=mask,
            old_logp_BT=lab.poisoned(given["old_logp"], mask, dtype),
            advantages_BT=advantages,
            is_demo_B=demo,
        )
        loss = algorithm.loss(inputs, Step()).loss
        yield f"loss {mode}", loss, wanted["loss"]
        yield f"gradient {mode}", lab.gradients(loss, logp)[0], wanted["grad_logp"]


@case("srft")
def srft(lab: Any, oracle: Oracle, dtype: torch.dtype) -> Checks:
    given, expected = oracle["inputs"], oracle["expected"]
    mask = lab.tensor(given["mask"], dtype)
    demo = torch.tensor(given["is_demo"]) > 0
    rewards = lab.tensor(given["rewards_binary"], dtype)
    # The oracle divides by the bare deviation.
    algorithm = get("srft", self_term="literal", std_eps=0.0)
    entropy = lab.poisoned(torch.full(mask.shape, given["policy_entropy"], dtype=dtype).tolist(), mask, dtype)
    batch = RolloutBatch(
        rewards_B=rewards,
        mask_BT=mask,
        group_B=torch.zeros(4, dtype=torch.long),
        is_demo_B=demo,
        entropy_BT=entropy,
    )
    advantages = algorithm.advantages(batch, Step())
    yield "advantages", advantages.values_BT[:, 0], expected["adv_seq_ddof1"]
    logp = lab.graph(given["logp"], mask, dtype)
    for scalars in (advantages.scalars, {}):
        inputs = LossInputs(
            logp_BT=logp,
            mask_BT=mask,
            advantages_BT=advantages.values_BT,
            is_demo_B=demo,
            rewards_B=rewards,
            entropy_BT=entropy,
            scalars=scalars,
        )
        outputs = algorithm.loss(inputs, Step())
        for part, key in (("sft", "loss_sft"), ("guided", "loss_demo_rl"), ("self", "loss_self")):
            yield part, outputs.metrics[f"loss/{part}"], expected[key]
        yield "loss", outputs.loss, expected["loss"]
        yield "gradient", lab.gradients(outputs.loss, logp)[0], expected["grad_logp"]


@case("kto")
def kto(lab: Any, oracle: Oracle, dtype: torch.dtype) -> Checks:
    given, expected = oracle["inputs"], oracle["expected"]
    chosen, rejected = given["chosen_logp"], given["rejected_logp"]
    logp = lab.tensor([*chosen, *rejected], dtype)[:, None].requires_grad_()
    inputs = LossInputs(
        logp_BT=logp,
        mask_BT=torch.ones_like(logp),
        ref_logp_BT=lab.tensor([*given["ref_chosen"], *given["ref_rejected"]], dtype)[:, None],
        preference_B=torch.tensor([1] * len(chosen) + [-1] * len(rejected)),
        scalars={"z0": given["z0"]},
    )
    loss = get("kto", beta=given["beta"]).loss(inputs, Step()).loss
    yield "loss", loss, expected["loss"]
    yield "gradient", lab.gradients(loss, logp)[0].flatten(), expected["grad_seq_logp"]


@case("gear")
def gear_reconstruction(lab: Any, oracle: Oracle, dtype: torch.dtype) -> Checks:
    given, expected = oracle["inputs"], oracle["expected"]
    student, teacher = (
        lab.tensor(given["student_probs"], dtype).log(),
        lab.tensor(given["teacher_probs"], dtype).log(),
    )
    divergence = gear.reverse_kl(student[None], teacher[None])
    entropy = -(student.exp() * student).sum(-1)[None]
    yield "reverse KL", divergence[0], expected["reverse_kl"]
    yield "entropy", entropy[0], expected["entropy"]
    mask, turn = torch.ones_like(divergence), torch.tensor([given["turn_id"]])
    scaled, spread = gear.min_max(divergence, mask), gear.min_max(entropy, mask)
    onset, stop = scaled >= given["tau_onset"], spread >= given["tau_entropy"]
    segment, origin = gear.find_segments(onset, stop, turn, mask)
    signal = scaled.gather(1, origin)
    for key, advantage in (("A_pos", given["A_pos"]), ("A_neg", given["A_neg"]), ("A_zero", 0.0)):
        weight = gear.redistribute(
            lab.tensor([advantage], dtype), signal, mask, kappa=given["kappa"], sign_mode="outcome"
        )
        wanted = expected[key]
        yield f"{key} scaled", scaled[0], wanted["kl_norm"]
        yield f"{key} entropy", spread[0], wanted["ent_norm"]
        yield f"{key} segment", segment[0], wanted["segment"]
        yield f"{key} signal", signal[0], wanted["signal"]
        yield f"{key} weight", weight[0], wanted["weight"]
        yield f"{key} advantage", advantage * weight[0], wanted["advantage"]
    old, logp = lab.tensor(given["old_logp"], dtype), lab.tensor(given["logp"], dtype).requires_grad_()
    values = lab.tensor(expected["A_neg"]["advantage"], dtype)[None]
    inputs = LossInputs(logp_BT=logp, mask_BT=mask, old_logp_BT=old, advantages_BT=values)
    loss = get("gear").loss(inputs, Step()).loss
    yield "loss", loss, expected["loss_A_neg"]
    yield "gradient", lab.gradients(loss, logp)[0], expected["grad_logp_A_neg"]


@case("rlsd")
def rlsd_weights(lab: Any, oracle: Oracle, dtype: torch.dtype) -> Checks:
    given = oracle["inputs"]
    teacher, student = lab.tensor(given["teacher_logp"], dtype), lab.tensor(given["student_logp"], dtype)
    for key in ("A_pos", "A_neg"):
        values = torch.full_like(teacher, given[key])
        factor = rlsd.teacher_weights(
            values, teacher, student, strength=given["lam"], eps_weight=given["eps_w"]
        )
        yield key, values * factor, oracle["expected"]["advantages"][key]


@case("opsd")
def opsd_divergence(lab: Any, oracle: Oracle, dtype: torch.dtype) -> Checks:
    given = oracle["inputs"]
    for key, wanted in oracle["expected"].items():
        student = lab.tensor(given["student_probs"], dtype).log()[None].requires_grad_()
        teacher = lab.tensor(given["teacher_probs"], dtype).log()[None]
        beta = float(key.removeprefix("beta_"))
        yield f"{key} token", opsd.generalised_jsd(student, teacher, beta)[0].detach(), wanted["per_token"]
        # A row of padding beside the oracle's: its divergence must not count.
        wider = [torch.cat([t, t.flip(-1).roll(1, 1)]) for t in (student, teacher)]
        mask = torch.tensor([[1] * student.shape[1], [0] * student.shape[1]])
        inputs = LossInputs(mask_BT=mask, student_logprobs_BTV=wider[0], teacher_logprobs_BTV=wider[1])
        yield f"{key} loss", get("opsd", beta=beta).loss(inputs, Step()).loss, wanted["mean"]


@case("gigpo")
def gigpo(lab: Any, oracle: Oracle, dtype: torch.dtype) -> Checks:
    given, expected = oracle["inputs"], oracle["expected"]
    names = sorted(set(given["anchor"]))
    trajectory = torch.tensor(given["step_traj"])
    batch = RolloutBatch(
        rewards_B=lab.tensor(given["episode_reward"], dtype)[trajectory],
        mask_BT=torch.ones(len(trajectory), 2, dtype=dtype),
        group_B=torch.zeros(len(trajectory), dtype=torch.long),
        trajectory_B=trajectory,
        anchor_BN=torch.tensor([[names.index(anchor)] for anchor in given["anchor"]]),
        step_return_BN=lab.tensor(given["discounted_step_return"], dtype)[:, None],
    )
    algorithm = get("gigpo")
    yield "episode", algorithm.episode_advantage(batch)[0], expected["A_episode"]  # type: ignore[attr-defined]
    yield "step", algorithm.step_advantage(batch)[:, 0], expected["A_step"]  # type: ignore[attr-defined]
    yield "both", algorithm.advantages(batch, Step()).values_BT[:, 1], expected["A"]


LOSSES = [name for name in CASES if name not in ("rlsd_weights", "gigpo")]
ADVANTAGES = ["grpo", "dapo", "dr_grpo", "rloo", "gspo", "luffy", "srft", "gigpo"]


@pytest.mark.parametrize("name", CASES)
def test_float64_equals_the_oracle(name: str, lab: Any) -> None:
    file, compare = CASES[name]
    assert lab.mismatches(compare(lab, lab.stored(file), torch.float64)) == []


@pytest.mark.parametrize("name", CASES)
def test_float32_is_close_to_the_oracle(name: str, lab: Any) -> None:
    file, compare = CASES[name]
    # Inputs are rounded to 6e-8 relative and pass one exponential of |x| < 3 and sums of < 30 terms:
    # about 1e-6 in all, and differences of nearly equal numbers (losses near 0) lose another digit.
    assert lab.mismatches(compare(lab, lab.stored(file), torch.float32), rtol=2e-5, atol=1e-6) == []


@pytest.mark.parametrize("seed", [11, 12, 13])
@pytest.mark.parametrize("name", CASES)
def test_fresh_inputs_equal_a_fresh_oracle(name: str, seed: int, lab: Any) -> None:
    file, compare = CASES[name]
    assert lab.mismatches(compare(lab, lab.fresh(file, seed), torch.float64)) == []


@pytest.mark.parametrize("kind", ["sign", "mask", "normaliser"])
@pytest.mark.parametrize("name", LOSSES)
def test_every_spoiled_loss_is_caught(
    name: str, kind: str, lab: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, compare = CASES[name]
    with monkeypatch.context() as patch:
        calls = lab.spoil_loss(patch, kind, target=-1)
        assert lab.mismatches(compare(lab, lab.stored(file), torch.float64)) == []
    assert calls[0] > 0
    for target in range(calls[0]):
        with monkeypatch.context() as patch:
            lab.spoil_loss(patch, kind, target)
            wrong = lab.mismatches(compare(lab, lab.stored(file), torch.float64))
        assert wrong, f"a wrong {kind} in reduction {target} of {name} goes unnoticed"


@pytest.mark.parametrize("kind", ["sign", "mask", "normaliser"])
@pytest.mark.parametrize("name", ADVANTAGES)
def test_every_spoiled_advantage_is_caught(
    name: str, kind: str, lab: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, compare = CASES[name]
    lab.spoil_statistics(monkeypatch, kind)
    assert lab.mismatches(compare(lab, lab.stored(file), torch.float64))
