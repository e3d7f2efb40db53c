"""Every loss and advantage against the float64 numpy oracles: given inputs, fresh inputs, float32, mutants."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from planarena.formats import TokenType
from planarena.trainers import schedules
from planarena.trainers.algorithms import demonstrations, gear, get, groups, opsd, rlsd, surrogate
from planarena.trainers.types import LossInputs, RolloutBatch, Step

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT.parent / "shared" / "oracles" / "algorithms"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="no ../shared/oracles beside this checkout")

Oracle = dict[str, Any]
Checks = Iterator[tuple[str, Any, Any]]
Case = Callable[[Oracle, torch.dtype], Checks]
CASES: dict[str, tuple[str, Case]] = {}


def case(file: str) -> Callable[[Case], Case]:
    """Register a comparison under its own name; it yields (label, ours, expected)."""

    def register(function: Case) -> Case:
        CASES[function.__name__] = (file, function)
        return function

    return register


def tensor(values: Any, dtype: torch.dtype) -> Tensor:
    return torch.tensor(values, dtype=dtype)


def poisoned(values: Any, mask: Tensor, dtype: torch.dtype) -> Tensor:
    """Padding holds NaN: a loss that looks at it cannot hide."""
    return torch.where(mask > 0, tensor(values, dtype), torch.nan)


def graph(values: Any, mask: Tensor, dtype: torch.dtype) -> Tensor:
    return poisoned(values, mask, dtype).requires_grad_()


def gradients(loss: Tensor, *leaves: Tensor) -> tuple[Tensor, ...]:
    return torch.autograd.grad(loss, leaves)


def rollout(oracle: Oracle, dtype: torch.dtype) -> RolloutBatch:
    given = oracle["inputs"]
    mask = tensor(given["mask"], dtype)
    return RolloutBatch(
        rewards_B=tensor(given["rewards"], dtype),
        mask_BT=mask,
        group_B=torch.tensor(given["group_id"]),
        old_logp_BT=poisoned(given["old_logp"], mask, dtype),
    )


def clipped_case(name: str, oracle: Oracle, dtype: torch.dtype, **options: Any) -> Checks:
    batch, given = rollout(oracle, dtype), oracle["inputs"]
    radii = {"eps_low": given["eps_low"], "eps_high": given["eps_high"]}
    expected = oracle["expected"]
    for mode, wanted in expected["by_agg"].items():
        algorithm = get(name, aggregation=mode, **radii, **options)
        advantages = algorithm.advantages(batch, Step())
        yield "advantages", advantages.values_BT, expected["advantages"]
        logp = graph(given["logp"], batch.mask_BT, dtype)
        outputs = algorithm.loss(
            LossInputs(
                logp_BT=logp,
                mask_BT=batch.mask_BT,
                old_logp_BT=batch.old_logp_BT,
                # Padding must be cut by the mask and not by an advantage that happens to be 0 there.
                advantages_BT=torch.where(batch.mask_BT > 0, advantages.values_BT, 7.0),
            ),
            Step(),
        )
        yield f"loss {mode}", outputs.loss, wanted["loss"]
        yield f"gradient {mode}", gradients(outputs.loss, logp)[0], wanted["grad_logp"]
        clipped = np.sum(expected["clipped"]) / np.sum(given["mask"])
        yield "clip fraction", outputs.metrics["policy/clip_fraction"], clipped


@case("grpo")
def grpo(oracle: Oracle, dtype: torch.dtype) -> Checks:
    batch = rollout(oracle, dtype)
    grouped = groups.group_rewards(batch.rewards_B, batch.group_B, batch.mask_BT)
    for ddof in (0, 1):
        yield (
            f"ddof {ddof}",
            grouped.standardised(ddof=ddof, eps=1e-6),
            oracle["expected"][f"adv_seq_ddof{ddof}"],
        )
    yield from clipped_case("grpo", oracle, dtype)


@case("dapo")
def dapo(oracle: Oracle, dtype: torch.dtype) -> Checks:
    yield "kept", get("dapo").keep_groups(rollout(oracle, dtype)), oracle["expected"]["keep_group_mask"]
    sampled = oracle["expected"]["dynamic_sampling"]
    rewards = tensor(sampled["groups"], dtype)
    batch = RolloutBatch(
        rewards_B=rewards.flatten(),
        mask_BT=torch.ones(rewards.numel(), 1),
        group_B=torch.arange(rewards.shape[0]).repeat_interleave(rewards.shape[1]),
    )
    yield "sampled", get("dapo").keep_groups(batch)[:: rewards.shape[1]], sampled["keep"]
    yield from clipped_case("dapo", oracle, dtype)


@case("dr_grpo")
def dr_grpo(oracle: Oracle, dtype: torch.dtype) -> Checks:
    yield from clipped_case("dr-grpo", oracle, dtype)


@case("rloo")
def rloo(oracle: Oracle, dtype: torch.dtype) -> Checks:
    yield from clipped_case("rloo", oracle, dtype)


@case("reinforce_pp")
def reinforce_pp(oracle: Oracle, dtype: torch.dtype) -> Checks:
    baseline = get("reinforce-pp", baseline=True).advantages(rollout(oracle, dtype), Step())
    yield "baseline", baseline.values_BT, oracle["expected"]["baseline_variant"]
    yield from clipped_case("reinforce-pp", oracle, dtype)


@case("gspo")
def gspo(oracle: Oracle, dtype: torch.dtype) -> Checks:
    batch, given, expected = rollout(oracle, dtype), oracle["inputs"], oracle["expected"]
    algorithm = get("gspo", eps_low=given["eps_low"], eps_high=given["eps_high"])
    advantages = algorithm.advantages(batch, Step()).values_BT
    yield "advantages", advantages[:, 0], given["adv_seq"]
    logp = graph(given["logp"], batch.mask_BT, dtype)
    inputs = LossInputs(
        logp_BT=logp, mask_BT=batch.mask_BT, old_logp_BT=batch.old_logp_BT, advantages_BT=advantages
    )
    loss = algorithm.loss(inputs, Step()).loss
    yield "loss", loss, expected["loss"]
    yield "gradient", gradients(loss, logp)[0], expected["grad_logp"]
    ratio = surrogate.mean_log_ratio(logp, batch.old_logp_BT, batch.mask_BT, length_norm=True).exp()
    yield "ratio", ratio, expected["seq_ratio"]


def experts(oracle: Oracle, dtype: torch.dtype) -> dict[str, Tensor]:
    mask = tensor(oracle["inputs"]["expert_mask"], dtype)
    return {"expert_logp_ET": graph(oracle["inputs"]["expert_logp"], mask, dtype), "expert_mask_ET": mask}


@case("sft")
def sft(oracle: Oracle, dtype: torch.dtype) -> Checks:
    given = experts(oracle, dtype)
    loss = get("sft").loss(LossInputs(**given), Step()).loss
    yield "loss", loss, oracle["expected"]["loss"]
    yield "gradient", gradients(loss, given["expert_logp_ET"])[0], oracle["expected"]["grad_logp"]


VARIANTS = {
    "none": {"weight": "none"},
    "phi": {"weight": "phi"},
    "is": {"weight": "is"},
    "is_clip": {"weight": "is_clip"},
    "focal_gamma2": {"weight": "focal", "focal_gamma": 2.0},
    "entropy_top_q0.25": {"weight": "entropy_top", "top_fraction": 0.25},
    "entropy_norm": {"weight": "entropy_norm"},
}


@case("chord")
def chord(oracle: Oracle, dtype: torch.dtype) -> Checks:
    batch, given, expected = rollout(oracle, dtype), oracle["inputs"], oracle["expected"]
    entropy = tensor(given["expert_entropy"], dtype)
    for variant, wanted in expected["phi_variants"].items():
        expert = experts(oracle, dtype)
        loss = (
            get("sft", **VARIANTS[variant]).loss(LossInputs(**expert, expert_entropy_ET=entropy), Step()).loss
        )
        yield f"sft {variant}", loss, wanted["sft_loss"]
        yield f"gradient {variant}", gradients(loss, expert["expert_logp_ET"])[0], wanted["grad_expert_logp"]
    for variant, wanted in expected["hybrid"].items():
        for name in ("chord-mu", "chord-phi"):
            algorithm = get(name, mixing="constant", mu=given["mu"], **VARIANTS[variant])
            advantages = algorithm.advantages(batch, Step())
            expert, logp = experts(oracle, dtype), graph(given["logp"], batch.mask_BT, dtype)
            inputs = LossInputs(
                logp_BT=logp,
                mask_BT=batch.mask_BT,
                old_logp_BT=batch.old_logp_BT,
                advantages_BT=advantages.values_BT,
                scalars=advantages.scalars,
                **expert,
            )
            outputs = algorithm.loss(inputs, Step())
            on, off = gradients(outputs.loss, logp, expert["expert_logp_ET"])
            yield f"hybrid {variant}", outputs.loss, wanted["loss"]
            yield f"hybrid {variant} policy", outputs.metrics["loss/policy"], expected["grpo_loss"]
            yield f"hybrid {variant} gradient", on, wanted["grad_logp"]
            yield f"hybrid {variant} expert gradient", off, wanted["grad_expert_logp"]


@case("luffy")
def luffy(oracle: Oracle, dtype: torch.dtype) -> Checks:
    given, expected = oracle["inputs"], oracle["expected"]
    mask = tensor(given["mask"], dtype)
    demo = torch.tensor(given["is_offpolicy"]) > 0
    for mode, wanted in expected["by_agg"].items():
        aggregation = {"official_sum_over_T": "token-sum-norm"}.get(mode, mode)
        algorithm = get("luffy", aggregation=aggregation, entropy_coef=0.0)
        batch = RolloutBatch(
            rewards_B=tensor(given["rewards"], dtype),
            mask_BT=mask,
            group_B=torch.zeros(4, dtype=torch.long),
            is_demo_B=demo,
        )
        advantages = algorithm.advantages(batch, Step()).values_BT
        yield "advantages", advantages[:, 0], expected["adv_seq"]
        logp = graph(given["logp"], mask, dtype)
        inputs = LossInputs(
            logp_BT=logp,
            mask_BT=mask,
            old_logp_BT=poisoned(given["old_logp"], mask, dtype),
            advantages_BT=advantages,
            is_demo_B=demo,
        )
        loss = algorithm.loss(inputs, Step()).loss
        yield f"loss {mode}", loss, wanted["loss"]
        yield f"gradient {mode}", gradients(loss, logp)[0], wanted["grad_logp"]


@case("srft")
def srft(oracle: Oracle, dtype: torch.dtype) -> Checks:
    given, expected = oracle["inputs"], oracle["expected"]
    mask = tensor(given["mask"], dtype)
    demo = torch.tensor(given["is_demo"]) > 0
    rewards = tensor(given["rewards_binary"], dtype)
    # The oracle divides by the bare deviation.
    algorithm = get("srft", self_term="literal", std_eps=0.0)
    entropy = poisoned(torch.full(mask.shape, given["policy_entropy"], dtype=dtype).tolist(), mask, dtype)
    batch = RolloutBatch(
        rewards_B=rewards,
        mask_BT=mask,
        group_B=torch.zeros(4, dtype=torch.long),
        is_demo_B=demo,
        entropy_BT=entropy,
    )
    advantages = algorithm.advantages(batch, Step())
    yield "advantages", advantages.values_BT[:, 0], expected["adv_seq_ddof1"]
    logp = graph(given["logp"], mask, dtype)
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
        yield "gradient", gradients(outputs.loss, logp)[0], expected["grad_logp"]


TYPES = {
    "TP": TokenType.TAG_PLAN, "TT": TokenType.TAG_TOOL, "TR": TokenType.TAG_RESP, "P": TokenType.PLAN,
    "T": TokenType.TOOL, "R": TokenType.RESP, "OUT": TokenType.OTHER, "PAD": TokenType.PAD,
}  # fmt: skip
RHO = {
    "TP": "tag_plan",
    "TT": "tag_tool",
    "TR": "tag_resp",
    "P": "plan",
    "T": "tool",
    "R": "resp",
    "OUT": "other",
}


@case("dupo")
def dupo(oracle: Oracle, dtype: torch.dtype) -> Checks:
    given, expected = oracle["inputs"], oracle["expected"]
    mask = tensor(given["mask"], dtype)
    algorithm = get(
        "dupo",
        zeta=given["zeta"],
        eps_low=given["eps_low"],
        mean_floor=given["delta_adv"],
        eps_high_floor=given["eps_high_floor"],
        rho={RHO[kind]: weight for kind, weight in given["rho"].items() if kind in RHO},
        # The fresh oracles have ratios above 3 where A < 0; the paper has no dual clip.
        dual_clip=None,
    )
    step = Step(step=given["t"] - 1, total_steps=given["T"])
    batch = RolloutBatch(
        rewards_B=tensor(given["rewards"], dtype),
        mask_BT=mask,
        group_B=torch.zeros(len(mask), dtype=torch.long),
    )
    advantages = algorithm.advantages(batch, step)
    yield "advantages", advantages.values_BT[:, 0], expected["adv_seq"]
    yield "eps_high", advantages.eps_high_B, [expected["eps_high"]] * len(mask)
    expert, logp = experts(oracle, dtype), graph(given["logp"], mask, dtype)
    inputs = LossInputs(
        logp_BT=logp,
        mask_BT=mask,
        old_logp_BT=poisoned(given["old_logp"], mask, dtype),
        advantages_BT=torch.where(mask > 0, advantages.values_BT, 7.0),
        eps_high_B=advantages.eps_high_B,
        token_type_BT=torch.tensor([[TYPES[kind] for kind in row] for row in given["token_type"]]),
        **expert,
    )
    outputs = algorithm.loss(inputs, step)
    on, off = gradients(outputs.loss, logp, expert["expert_logp_ET"])
    yield "policy", outputs.metrics["loss/policy"], expected["rl_loss"]
    yield "sft", outputs.metrics["loss/sft"], expected["sft_loss"]
    yield "loss", outputs.loss, expected["loss"]
    yield "gradient", on, expected["grad_logp"]
    yield "expert gradient", off, expected["grad_expert_logp"]
    edges = [(edge["R"], edge["safe"]) for edge in expected["advantage_edge"]]
    for rewards, wanted in edges:
        values = algorithm.advantages(
            RolloutBatch(
                rewards_B=tensor(rewards, dtype), mask_BT=torch.ones(len(rewards), 1, dtype=dtype),
                group_B=torch.zeros(len(rewards), dtype=torch.long),
            ),
            step,
        ).values_BT  # fmt: skip
        yield f"edge {rewards}", values[:, 0], wanted
    decayed = get("dupo", mean_floor=0.01).advantages(
        RolloutBatch(
            rewards_B=expected["decay_cancels"]["scale"] * batch.rewards_B,
            mask_BT=mask,
            group_B=batch.group_B,
        ),
        step,
    )
    yield "decay cancels", decayed.values_BT[:, 0], expected["decay_cancels"]["adv"]


@case("awpo")
def awpo(oracle: Oracle, dtype: torch.dtype) -> Checks:
    given, expected = oracle["inputs"], oracle["expected"]
    hyper = dict(given["hyper"])
    members = hyper.pop("K")
    hyper["reward_max"] = hyper.pop("R_out_max")
    outcome, reason = tensor(given["R_out"], dtype), tensor(given["R_reason"], dtype)
    batch = RolloutBatch(
        rewards_B=outcome.flatten(),
        reason_B=reason.flatten(),
        mask_BT=torch.ones(outcome.numel(), 1, dtype=dtype),
        group_B=torch.arange(outcome.shape[0]).repeat_interleave(members),
    )
    for eps_mix, key in ((0.9, "eps_mix_0_9"), (1.0, "eps_mix_1_0")):
        advantages = get("awpo", **hyper | {"eps_mix": eps_mix}).advantages(batch, Step())
        wanted = expected[key]
        yield f"advantages {key}", advantages.values_BT.reshape(outcome.shape), wanted["A_hyper"]
        yield f"weight {key}", advantages.metrics["advantage/mixed_weight"], wanted["w_bar"]
        yield f"radius {key}", advantages.eps_low_B, [wanted["clip_radius"]] * outcome.numel()
        yield f"upper radius {key}", advantages.eps_high_B, [wanted["clip_radius"]] * outcome.numel()
    wanted = expected["eps_mix_1_0"]
    mask = tensor(given["mask"], dtype)
    values = tensor(wanted["A_hyper"][given["loss_group"]], dtype)
    radius = torch.full((len(mask),), wanted["clip_radius"], dtype=dtype)
    for ratio, key in (("sequence", "loss_sequence_ratio"), ("token", "loss_token_ratio")):
        logp = graph(given["logp"], mask, dtype)
        inputs = LossInputs(
            logp_BT=logp,
            mask_BT=mask,
            old_logp_BT=poisoned(given["old_logp"], mask, dtype),
            advantages_BT=values[:, None].expand(mask.shape),
            eps_low_B=radius,
            eps_high_B=radius,
        )
        loss = get("awpo", ratio=ratio).loss(inputs, Step()).loss
        yield f"loss {ratio}", loss, expected[key]["loss"]
        yield f"gradient {ratio}", gradients(loss, logp)[0], expected[key]["grad_logp"]


@case("toolupt")
def toolupt(oracle: Oracle, dtype: torch.dtype) -> Checks:
    given, expected = oracle["inputs"], oracle["expected"]
    mask = tensor(given["mask"], dtype)
    batch = RolloutBatch(
        rewards_B=torch.zeros(len(mask), dtype=dtype),
        token_rewards_BT=poisoned(given["token_rewards"], mask, dtype),
        mask_BT=mask,
        group_B=torch.zeros(len(mask), dtype=torch.long),
    )
    options = {"eps_low": given["eps"], "eps_high": given["eps"], "std_eps": given["eps_std"]}
    alone = get("fg-dapo", **options)
    advantages = alone.advantages(batch, Step()).values_BT
    yield "advantages", advantages, expected["advantages"]
    old = poisoned(given["old_logp"], mask, dtype)
    logp = graph(given["logp"], mask, dtype)
    filled = torch.where(mask > 0, advantages, -7.0)
    inputs = LossInputs(logp_BT=logp, mask_BT=mask, old_logp_BT=old, advantages_BT=filled)
    loss = alone.loss(inputs, Step()).loss
    yield "fg-dapo loss", loss, expected["fg_dapo_loss"]
    yield "fg-dapo gradient", gradients(loss, logp)[0], expected["fg_dapo_grad"]

    full = get("toolupt", mixing="constant", gamma=given["gamma"], beta=given["beta"], **options)
    expert = experts(oracle, dtype)
    inputs = LossInputs(
        logp_BT=logp,
        mask_BT=mask,
        old_logp_BT=old,
        advantages_BT=filled,
        expert_keep_ET=tensor(given["preserve"], dtype),
        **expert,
    )
    outputs = full.loss(inputs, Step())
    on, off = gradients(outputs.loss, logp, expert["expert_logp_ET"])
    yield "chosen", outputs.metrics["loss/chosen"], expected["spo_chosen"]
    yield "rejected", outputs.metrics["loss/rejected"], expected["spo_rejected"]
    spo = outputs.metrics["loss/chosen"] + outputs.metrics["loss/rejected"]
    yield "spo", spo, expected["spo_loss"]
    yield "printed sign", -spo, expected["printed_eq22_value"]
    yield "loss", outputs.loss, expected["loss"]
    yield "gradient", on, expected["grad_logp"]
    yield "expert gradient", off, expected["grad_expert_logp"]
    phi = demonstrations.uncertainty(torch.where(expert["expert_mask_ET"] > 0, expert["expert_logp_ET"], 0.0))
    yield "phi", phi, expected["phi_expert"]


@case("kto")
def kto(oracle: Oracle, dtype: torch.dtype) -> Checks:
    given, expected = oracle["inputs"], oracle["expected"]
    chosen, rejected = given["chosen_logp"], given["rejected_logp"]
    logp = tensor([*chosen, *rejected], dtype)[:, None].requires_grad_()
    inputs = LossInputs(
        logp_BT=logp,
        mask_BT=torch.ones_like(logp),
        ref_logp_BT=tensor([*given["ref_chosen"], *given["ref_rejected"]], dtype)[:, None],
        preference_B=torch.tensor([1] * len(chosen) + [-1] * len(rejected)),
        scalars={"z0": given["z0"]},
    )
    loss = get("kto", beta=given["beta"]).loss(inputs, Step()).loss
    yield "loss", loss, expected["loss"]
    yield "gradient", gradients(loss, logp)[0].flatten(), expected["grad_seq_logp"]


@case("gear")
def gear_reconstruction(oracle: Oracle, dtype: torch.dtype) -> Checks:
    given, expected = oracle["inputs"], oracle["expected"]
    student, teacher = (
        tensor(given["student_probs"], dtype).log(),
        tensor(given["teacher_probs"], dtype).log(),
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
            tensor([advantage], dtype), signal, mask, kappa=given["kappa"], sign_mode="outcome"
        )
        wanted = expected[key]
        yield f"{key} scaled", scaled[0], wanted["kl_norm"]
        yield f"{key} entropy", spread[0], wanted["ent_norm"]
        yield f"{key} segment", segment[0], wanted["segment"]
        yield f"{key} signal", signal[0], wanted["signal"]
        yield f"{key} weight", weight[0], wanted["weight"]
        yield f"{key} advantage", advantage * weight[0], wanted["advantage"]
    old, logp = tensor(given["old_logp"], dtype), tensor(given["logp"], dtype).requires_grad_()
    values = tensor(expected["A_neg"]["advantage"], dtype)[None]
    inputs = LossInputs(logp_BT=logp, mask_BT=mask, old_logp_BT=old, advantages_BT=values)
    loss = get("gear").loss(inputs, Step()).loss
    yield "loss", loss, expected["loss_A_neg"]
    yield "gradient", gradients(loss, logp)[0], expected["grad_logp_A_neg"]


@case("rlsd")
def rlsd_weights(oracle: Oracle, dtype: torch.dtype) -> Checks:
    given = oracle["inputs"]
    teacher, student = tensor(given["teacher_logp"], dtype), tensor(given["student_logp"], dtype)
    for key in ("A_pos", "A_neg"):
        values = torch.full_like(teacher, given[key])
        factor = rlsd.teacher_weights(
            values, teacher, student, strength=given["lam"], eps_weight=given["eps_w"]
        )
        yield key, values * factor, oracle["expected"]["advantages"][key]


@case("opsd")
def opsd_divergence(oracle: Oracle, dtype: torch.dtype) -> Checks:
    given = oracle["inputs"]
    for key, wanted in oracle["expected"].items():
        student = tensor(given["student_probs"], dtype).log()[None].requires_grad_()
        teacher = tensor(given["teacher_probs"], dtype).log()[None]
        beta = float(key.removeprefix("beta_"))
        yield f"{key} token", opsd.generalised_jsd(student, teacher, beta)[0].detach(), wanted["per_token"]
        # A row of padding beside the oracle's: its divergence must not count.
        wider = [torch.cat([t, t.flip(-1).roll(1, 1)]) for t in (student, teacher)]
        mask = torch.tensor([[1] * student.shape[1], [0] * student.shape[1]])
        inputs = LossInputs(mask_BT=mask, student_logprobs_BTV=wider[0], teacher_logprobs_BTV=wider[1])
        yield f"{key} loss", get("opsd", beta=beta).loss(inputs, Step()).loss, wanted["mean"]


@case("gigpo")
def gigpo(oracle: Oracle, dtype: torch.dtype) -> Checks:
    given, expected = oracle["inputs"], oracle["expected"]
    names = sorted(set(given["anchor"]))
    trajectory = torch.tensor(given["step_traj"])
    batch = RolloutBatch(
        rewards_B=tensor(given["episode_reward"], dtype)[trajectory],
        mask_BT=torch.ones(len(trajectory), 2, dtype=dtype),
        group_B=torch.zeros(len(trajectory), dtype=torch.long),
        trajectory_B=trajectory,
        anchor_BN=torch.tensor([[names.index(anchor)] for anchor in given["anchor"]]),
        step_return_BN=tensor(given["discounted_step_return"], dtype)[:, None],
    )
    algorithm = get("gigpo")
    yield "episode", algorithm.episode_advantage(batch)[0], expected["A_episode"]  # type: ignore[attr-defined]
    yield "step", algorithm.step_advantage(batch)[:, 0], expected["A_step"]  # type: ignore[attr-defined]
    yield "both", algorithm.advantages(batch, Step()).values_BT[:, 1], expected["A"]


def mismatches(checks: Checks, *, rtol: float, atol: float) -> list[str]:
    wrong = []
    for label, ours, expected in checks:
        given = (
            ours.detach().double().numpy() if isinstance(ours, Tensor) else np.asarray(ours, dtype=np.float64)
        )
        wanted = np.asarray(expected, dtype=np.float64)
        if given.shape != wanted.shape or not np.allclose(given, wanted, rtol=rtol, atol=atol):
            wrong.append(f"{label}: ours {given.tolist()}, oracle {wanted.tolist()}")
    return wrong


@cache
def stored(name: str) -> Oracle:
    oracle: Oracle = json.loads((FOLDER / f"{name}.json").read_text())
    return oracle


@pytest.mark.parametrize("name", CASES)
def test_float64_equals_the_oracle(name: str) -> None:
    file, compare = CASES[name]
    # The tolerance that the oracles state; 1e-12 is for their exact zeros.
    assert mismatches(compare(stored(file), torch.float64), rtol=1e-9, atol=1e-12) == []


@pytest.mark.parametrize("name", CASES)
def test_float32_is_close_to_the_oracle(name: str) -> None:
    file, compare = CASES[name]
    # Inputs are rounded to 6e-8 relative and pass one exponential of |x| < 3 and sums of < 30 terms:
    # about 1e-6 in all, and differences of nearly equal numbers (losses near 0) lose another digit.
    assert mismatches(compare(stored(file), torch.float32), rtol=2e-5, atol=1e-6) == []


FRESH = {
    "LP = OLD + DELTA": "DELTA = RNG.uniform(-.6, .6, DELTA.shape) * MASK\nLP = OLD + DELTA",
    "R = A_([4.0, -3.0, 1.0, 2.0, 2.0, 0.5])": "R = RNG.normal(0, 3, 6)",
    "ELP = np.log(EP) * EM": "EP = np.where(EM > 0, RNG.uniform(.02, .99, EP.shape), 1)\nELP = np.log(EP) * EM",
    "ent = A_([[0.3,0.69,0.4,0.9,0.05],[0.6,0.5,0.8,0,0]])": "ent = RNG.uniform(.01, 1.2, EM.shape) * EM",
    "mu = 0.1\n": "mu = 0.37\n",
    "RL = A_([0, 0, 1, 1]);": "newL = np.log(RNG.uniform(.05, .95, OFFM.shape)) * OFFM; RL = A_([1, 0, 0, 1]);",
    "H = 0.8;": "H = 1.9;",
    "Rd = A_([2.4, 0.3, 1.5, 0.0])": "Rd = RNG.uniform(.1, 3, 4)",
    "dlp = dold + dd;": "dd = RNG.uniform(-.9, 1.3, dd.shape) * DM; dlp = dold + dd;",
    "t, T, zeta = 40, 100, .02": "t, T, zeta = 93, 97, .013",
    "Ro = A_([[2., 1., .5, 1.5],[1., 1., 1., 1.],[2., 2., 2., 2.],[.2, .1, .3, 0.]])": (
        "Ro = RNG.uniform(0, 2, (4, 4)); Ro[2] = 2.0"
    ),
    "Rr = A_([[.9, .5, .25, .75],[1., .5, 0., .75],[1., .9, .5, .75],[.25, 0., .5, 0.]])": (
        "Rr = RNG.choice([1, .9, .75, .5, .25, 0], (4, 4))"
    ),
    "OUTC = [4.0, 1.0, -0.5]": "OUTC = list(RNG.uniform(-3, 4, 3))",
    "beta = .1\n": "beta = .7\n",
    "gmm = .1;": "gmm = .63;",
    "KL = (PS": "PS, PT = RNG.dirichlet([1, 1, 1], 6), RNG.dirichlet([1, 1, 1], 6)\nKL = (PS",
    "yc, rc = A_([-3.0, -1.2]), A_([-3.5, -1.0])": "yc, rc = RNG.uniform(-4, 0, 2), RNG.uniform(-4, 0, 2)",
}


@pytest.fixture(scope="module", params=[11, 12, 13])
def fresh(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Oracles of other inputs, by the oracles' own script with its constants replaced."""
    folder = tmp_path_factory.mktemp(f"oracles_{request.param}")
    script = (FOLDER / "make_oracles.py").read_text()
    start = "HERE = os.path.dirname(os.path.abspath(__file__))"
    replaced = {start: f"HERE = {str(folder)!r}\nRNG = np.random.default_rng({request.param})", **FRESH}
    for old, new in replaced.items():
        assert old in script, f"the oracle script no longer holds {old!r}"
        script = script.replace(old, new, 1)
    exec(compile(script, "make_oracles.py", "exec"), {"__name__": "oracles"})
    return folder


@pytest.mark.parametrize("name", CASES)
def test_fresh_inputs_equal_a_fresh_oracle(name: str, fresh: Path) -> None:
    file, compare = CASES[name]
    oracle = json.loads((fresh / f"{file}.json").read_text())
    assert mismatches(compare(oracle, torch.float64), rtol=1e-9, atol=1e-12) == []


def test_schedules_equal_the_oracle() -> None:
    chord, dupo, toolupt, uft = (
        stored(name)["expected"] for name in ("chord", "dupo", "toolupt", "uft_relift")
    )
    for row in chord["mu_schedule"]:
        for step, wanted in row["table"].items():
            given = schedules.warmup_cosine(
                int(step), warmup=row["warmup"], decay=row["decay"], peak=row["peak"], valley=row["valley"]
            )
            assert given == pytest.approx(wanted, rel=1e-9)
    for row in chord["adaptive_mu"]:
        given = schedules.adaptive_coefficient(row["reward_mean"], threshold=row["tau"])
        assert given == pytest.approx(row.get("mu", row.get("mu_clamped")), rel=1e-9)
    for row in dupo["eps_high_table"] + dupo["eps_high_nonpositive"]:
        average = torch.tensor([row["avg"]], dtype=torch.float64)
        given = schedules.dynamic_upper_clip(average, step=row["t"], total_steps=row["T"], floor=0.2)
        assert float(given) == pytest.approx(row["safe"], rel=1e-9)
        if "literal" in row:
            printed = schedules.dynamic_upper_clip(average, step=row["t"], total_steps=row["T"], floor=0.0)
            assert float(printed) == pytest.approx(row["literal"], rel=1e-9)
    assert schedules.exponential_decay(40, rate=0.02) == pytest.approx(dupo["gamma"], rel=1e-9)
    for step, wanted in toolupt["gamma_schedule"].items():
        given = schedules.cyclic_triangle(int(step), low=0.02, high=0.2, period=200)
        assert given == pytest.approx(wanted, rel=1e-9)
    for step, wanted in uft["uft_segment_prob"].items():
        given = get("uft").hint_probability(Step(step=int(step)))  # type: ignore[attr-defined]
        assert given == pytest.approx(wanted, rel=1e-9)
        if step in uft["uft_expected_segments_of_5"]:
            assert 5 * given == pytest.approx(uft["uft_expected_segments_of_5"][step], rel=1e-9)


def test_relift_buffers_what_no_rollout_solved() -> None:
    wanted = stored("uft_relift")["expected"]["relift"]
    rewards = torch.tensor(wanted["rewards_by_prompt"], dtype=torch.float64)
    prompts, members = rewards.shape
    algorithm = get("relift", buffer_size=2)
    batch = RolloutBatch(
        rewards_B=rewards.flatten(),
        mask_BT=torch.ones(rewards.numel(), 2),
        group_B=torch.arange(prompts).repeat_interleave(members),
        keys=tuple(str(prompt) for prompt in range(prompts) for _ in range(members)),
    )
    algorithm.advantages(batch, Step())
    assert algorithm.pending_experts() == tuple(str(prompt) for prompt in wanted["buffered_prompts"])
    assert algorithm.pending_experts() == ()
    assert get("relift").config.buffer_size == wanted["sft_step_when_buffer_at_least"]


LOSSES = [name for name in CASES if name not in ("rlsd_weights", "gigpo")]
ADVANTAGES = ["grpo", "dapo", "dr_grpo", "rloo", "gspo", "luffy", "srft", "dupo", "awpo", "toolupt", "gigpo"]


def mutate_reduction(monkeypatch: pytest.MonkeyPatch, kind: str, target: int) -> list[int]:
    """Spoil the target-th reduction that carries a gradient, in every loss computed from now on."""
    original, calls = surrogate.aggregate, [0]

    def spoiled(loss_BT: Tensor, mask_BT: Tensor, mode: Any, **counts: Any) -> Tensor:
        right = original(loss_BT, mask_BT, mode, **counts)
        if not loss_BT.requires_grad:
            return right
        calls[0] += 1
        if calls[0] - 1 != target:
            return right
        if kind == "sign":
            return -right
        if kind == "mask":
            short = mask_BT.bool().clone()
            short.view(-1)[torch.nonzero(short.view(-1))[0]] = False
            return original(loss_BT, short, mode, **counts)
        valid, size = int(mask_BT.bool().sum()), mask_BT.numel()
        return right * valid / (size if size != valid else valid + 1)

    monkeypatch.setattr(surrogate, "aggregate", spoiled)
    return calls


@pytest.mark.parametrize("kind", ["sign", "mask", "normaliser"])
@pytest.mark.parametrize("name", LOSSES)
def test_every_spoiled_loss_is_caught(name: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    file, compare = CASES[name]
    with monkeypatch.context() as patch:
        calls = mutate_reduction(patch, kind, target=-1)
        assert mismatches(compare(stored(file), torch.float64), rtol=1e-9, atol=1e-12) == []
    assert calls[0] > 0
    for target in range(calls[0]):
        with monkeypatch.context() as patch:
            mutate_reduction(patch, kind, target)
            wrong = mismatches(compare(stored(file), torch.float64), rtol=1e-9, atol=1e-12)
        assert wrong, f"a wrong {kind} in reduction {target} of {name} goes unnoticed"


@pytest.mark.parametrize("kind", ["sign", "mask", "normaliser"])
@pytest.mark.parametrize("name", ADVANTAGES)
def test_every_spoiled_advantage_is_caught(name: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    file, compare = CASES[name]
    original = groups.group_values

    def spoiled(rewards: Tensor, valid: Tensor, group_B: Tensor) -> groups.Grouped:
        if kind == "mask":
            valid = valid.clone()
            valid.view(-1)[torch.nonzero(valid.view(-1))[0]] = False
            return original(rewards, valid, group_B)
        right = original(rewards, valid, group_B)
        if kind == "sign":
            return original(-rewards, valid, group_B)
        # One member too many: what a wrong divisor of the mean does to every statistic after it.
        shifted = right.mean_P * right.count_P / (right.count_P + 1)
        return groups.Grouped(
            rewards=right.rewards, valid=right.valid, member_B=right.member_B, count_P=right.count_P,
            mean_P=shifted, spread_P=right.spread_P, degenerate_P=right.degenerate_P,
        )  # fmt: skip

    monkeypatch.setattr(groups, "group_values", spoiled)
    assert mismatches(compare(stored(file), torch.float64), rtol=1e-9, atol=1e-12)
