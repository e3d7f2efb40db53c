"""SFT and the unified algorithms against the float64 numpy oracles: given, fresh, float32, spoiled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from planarena.formats import TokenType
from planarena.trainers import schedules
from planarena.trainers.algorithms import demonstrations, get
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


VARIANTS = {
    "none": {"weight": "none"},
    "phi": {"weight": "phi"},
    "is": {"weight": "is"},
    "is_clip": {"weight": "is_clip"},
    "focal_gamma2": {"weight": "focal", "focal_gamma": 2.0},
    "entropy_top_q0.25": {"weight": "entropy_top", "top_fraction": 0.25},
    "entropy_norm": {"weight": "entropy_norm"},
}

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


@case("sft")
def sft(lab: Any, oracle: Oracle, dtype: torch.dtype) -> Checks:
    given = lab.experts(oracle, dtype)
    loss = get("sft").loss(LossInputs(**given), Step()).loss
    yield "loss", loss, oracle["expected"]["loss"]
    yield "gradient", lab.gradients(loss, given["expert_logp_ET"])[0], oracle["expected"]["grad_logp"]


@case("chord")
def chord(lab: Any, oracle: Oracle, dtype: torch.dtype) -> Checks:
    batch, given, expected = lab.rollout(oracle, dtype), oracle["inputs"], oracle["expected"]
    entropy = lab.tensor(given["expert_entropy"], dtype)
    for variant, wanted in expected["phi_variants"].items():
        expert = lab.experts(oracle, dtype)
        loss = (
            get("sft", **VARIANTS[variant]).loss(LossInputs(**expert, expert_entropy_ET=entropy), Step()).loss
        )
        yield f"sft {variant}", loss, wanted["sft_loss"]
        yield (
            f"gradient {variant}",
            lab.gradients(loss, expert["expert_logp_ET"])[0],
            wanted["grad_expert_logp"],
        )
    for variant, wanted in expected["hybrid"].items():
        for name in ("chord-mu", "chord-phi"):
            algorithm = get(name, mixing="constant", mu=given["mu"], **VARIANTS[variant])
            advantages = algorithm.advantages(batch, Step())
            expert, logp = lab.experts(oracle, dtype), lab.graph(given["logp"], batch.mask_BT, dtype)
            inputs = LossInputs(
                logp_BT=logp,
                mask_BT=batch.mask_BT,
                old_logp_BT=batch.old_logp_BT,
                advantages_BT=advantages.values_BT,
                scalars=advantages.scalars,
                **expert,
            )
            outputs = algorithm.loss(inputs, Step())
            on, off = lab.gradients(outputs.loss, logp, expert["expert_logp_ET"])
            yield f"hybrid {variant}", outputs.loss, wanted["loss"]
            yield f"hybrid {variant} policy", outputs.metrics["loss/policy"], expected["grpo_loss"]
            yield f"hybrid {variant} gradient", on, wanted["grad_logp"]
            yield f"hybrid {variant} expert gradient", off, wanted["grad_expert_logp"]


@case("dupo")
def dupo(lab: Any, oracle: Oracle, dtype: torch.dtype) -> Checks:
    given, expected = oracle["inputs"], oracle["expected"]
    mask = lab.tensor(given["mask"], dtype)
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
        rewards_B=lab.tensor(given["rewards"], dtype),
        mask_BT=mask,
        group_B=torch.zeros(len(mask), dtype=torch.long),
    )
    advantages = algorithm.advantages(batch, step)
    yield "advantages", advantages.values_BT[:, 0], expected["adv_seq"]
    yield "eps_high", advantages.eps_high_B, [expected["eps_high"]] * len(mask)
    expert, logp = lab.experts(oracle, dtype), lab.graph(given["logp"], mask, dtype)
    inputs = LossInputs(
        logp_BT=logp,
        mask_BT=mask,
        old_logp_BT=lab.poisoned(given["old_logp"], mask, dtype),
        advantages_BT=torch.where(mask > 0, advantages.values_BT, 7.0),
        eps_high_B=advantages.eps_high_B,
        token_type_BT=torch.tensor([[TYPES[kind] for kind in row] for row in given["token_type"]]),
        **expert,
    )
    outputs = algorithm.loss(inputs, step)
    on, off = lab.gradients(outputs.loss, logp, expert["expert_logp_ET"])
    yield "policy", outputs.metrics["loss/policy"], expected["rl_loss"]
    yield "sft", outputs.metrics["loss/sft"], expected["sft_loss"]
    yield "loss", outputs.loss, expected["loss"]
    yield "gradient", on, expected["grad_logp"]
    yield "expert gradient", off, expected["grad_expert_logp"]
    edges = [(edge["R"], edge["safe"]) for edge in expected["advantage_edge"]]
    for rewards, wanted in edges:
        values = algorithm.advantages(
            RolloutBatch(
                rewards_B=lab.tensor(rewards, dtype), mask_BT=torch.ones(len(rewards), 1, dtype=dtype),
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
def awpo(lab: Any, oracle: Oracle, dtype: torch.dtype) -> Checks:
    given, expected = oracle["inputs"], oracle["expected"]
    hyper = dict(given["hyper"])
    members = hyper.pop("K")
    hyper["reward_max"] = hyper.pop("R_out_max")
    outcome, reason = lab.tensor(given["R_out"], dtype), lab.tensor(given["R_reason"], dtype)
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
    mask = lab.tensor(given["mask"], dtype)
    values = lab.tensor(wanted["A_hyper"][given["loss_group"]], dtype)
    radius = torch.full((len(mask),), wanted["clip_radius"], dtype=dtype)
    for ratio, key in (("sequence", "loss_sequence_ratio"), ("token", "loss_token_ratio")):
        logp = lab.graph(given["logp"], mask, dtype)
        inputs = LossInputs(
            logp_BT=logp,
            mask_BT=mask,
            old_logp_BT=lab.poisoned(given["old_logp"], mask, dtype),
            advantages_BT=values[:, None].expand(mask.shape),
            eps_low_B=radius,
            eps_high_B=radius,
        )
        loss = get("awpo", ratio=ratio).loss(inputs, Step()).loss
        yield f"loss {ratio}", loss, expected[key]["loss"]
        yield f"gradient {ratio}", lab.gradients(loss, logp)[0], expected[key]["grad_logp"]


@case("toolupt")
def toolupt(lab: Any, oracle: Oracle, dtype: torch.dtype) -> Checks:
    given, expected = oracle["inputs"], oracle["expected"]
    mask = lab.tensor(given["mask"], dtype)
    batch = RolloutBatch(
        rewards_B=torch.zeros(len(mask), dtype=dtype),
        token_rewards_BT=lab.poisoned(given["token_rewards"], mask, dtype),
        mask_BT=mask,
        group_B=torch.zeros(len(mask), dtype=torch.long),
    )
    options = {"eps_low": given["eps"], "eps_high": given["eps"], "std_eps": given["eps_std"]}
    alone = get("fg-dapo", **options)
    advantages = alone.advantages(batch, Step()).values_BT
    yield "advantages", advantages, expected["advantages"]
    old = lab.poisoned(given["old_logp"], mask, dtype)
    logp = lab.graph(given["logp"], mask, dtype)
    filled = torch.where(mask > 0, advantages, -7.0)
    inputs = LossInputs(logp_BT=logp, mask_BT=mask, old_logp_BT=old, advantages_BT=filled)
    loss = alone.loss(inputs, Step()).loss
    yield "fg-dapo loss", loss, expected["fg_dapo_loss"]
    yield "fg-dapo gradient", lab.gradients(loss, logp)[0], expected["fg_dapo_grad"]

    full = get("toolupt", mixing="constant", gamma=given["gamma"], beta=given["beta"], **options)
    expert = lab.experts(oracle, dtype)
    inputs = LossInputs(
        logp_BT=logp,
        mask_BT=mask,
        old_logp_BT=old,
        advantages_BT=filled,
        expert_keep_ET=lab.tensor(given["preserve"], dtype),
        **expert,
    )
    outputs = full.loss(inputs, Step())
    on, off = lab.gradients(outputs.loss, logp, expert["expert_logp_ET"])
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


LOSSES = list(CASES)
ADVANTAGES = ["chord", "dupo", "awpo", "toolupt"]


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


def test_schedules_equal_the_oracle(lab: Any) -> None:
    chord, dupo, toolupt, uft = (
        lab.stored(name)["expected"] for name in ("chord", "dupo", "toolupt", "uft_relift")
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


def test_relift_buffers_what_no_rollout_solved(lab: Any) -> None:
    wanted = lab.stored("uft_relift")["expected"]["relift"]
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
