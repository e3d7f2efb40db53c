"""Advantages and losses equal verl's and TRL's own functions on random batches, gradients included."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from planarena.trainers.algorithms import get, opsd, surrogate
from planarena.trainers.algorithms.correction import correction_weights
from planarena.trainers.types import LossInputs, RolloutBatch, Step

# Third-party modules warn while they are imported (deprecated typing, optional packages); not ours to mend.
pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning"
)

B, T, K = 12, 9, 4
# verl adds 1e-8 to lengths and 1e-6 to deviations that it computes itself; TRL's sums run in another order.
CLOSE = {"rtol": 1e-8, "atol": 1e-9}


@pytest.fixture(params=[0, 1, 2])
def batch(request: pytest.FixtureRequest) -> RolloutBatch:
    generator = torch.Generator().manual_seed(request.param)
    lengths = torch.randint(1, T + 1, (B, 1), generator=generator)
    lengths[0], lengths[1] = T, 1
    mask = (torch.arange(T) < lengths).double()
    return RolloutBatch(
        rewards_B=torch.randn(B, generator=generator, dtype=torch.float64) * 2,
        mask_BT=mask,
        group_B=(torch.arange(B) // K)[torch.randperm(B, generator=generator)],
        old_logp_BT=-torch.rand(B, T, generator=generator, dtype=torch.float64) * 3 * mask,
    )


def policy(batch: RolloutBatch, spread: float = 0.5) -> Tensor:
    assert batch.old_logp_BT is not None
    generator = torch.Generator().manual_seed(7)
    shift = spread * torch.randn(B, T, generator=generator, dtype=torch.float64)
    return (batch.old_logp_BT + shift * batch.mask_BT).requires_grad_()


def outcome(batch: RolloutBatch) -> Tensor:
    """The reward on the last valid token, as verl has it."""
    rewards = torch.zeros(B, T, dtype=torch.float64)
    rewards[torch.arange(B), batch.mask_BT.sum(1).long() - 1] = batch.rewards_B
    return rewards


def assert_same(ours: tuple[Tensor, Tensor], theirs: tuple[Tensor, Tensor]) -> None:
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine.detach(), other.detach(), **CLOSE)


def with_gradient(loss: Tensor, logp: Tensor) -> tuple[Tensor, Tensor]:
    return loss, torch.autograd.grad(loss, logp)[0]


@pytest.mark.parametrize(
    ("name", "options", "function", "arguments"),
    [
        ("grpo", {}, "compute_grpo_outcome_advantage", {}),
        ("grpo", {}, "compute_grpo_vectorized_outcome_advantage", {}),
        ("dapo", {}, "compute_grpo_outcome_advantage", {}),
        ("dr-grpo", {}, "compute_grpo_outcome_advantage", {"norm_adv_by_std_in_grpo": False}),
        ("rloo", {}, "compute_rloo_outcome_advantage", {}),
        ("reinforce-pp", {"baseline": True}, "compute_reinforce_plus_plus_baseline_outcome_advantage", {}),
    ],
)
def test_advantages_equal_verls(
    name: str, options: dict[str, Any], function: str, arguments: dict[str, Any], batch: RolloutBatch
) -> None:
    from verl.trainer.ppo import core_algos

    theirs, _ = getattr(core_algos, function)(
        token_level_rewards=outcome(batch),
        response_mask=batch.mask_BT,
        index=batch.group_B.numpy(),
        **arguments,
    )
    # verl's vectorised estimator computes in float32 whatever it is given.
    close = {"rtol": 2e-5, "atol": 1e-6} if "vectorized" in function else CLOSE
    torch.testing.assert_close(
        get(name, **options).advantages(batch, Step()).values_BT, theirs, check_dtype=False, **close
    )


@pytest.mark.parametrize("gamma", [1.0, 0.9])
def test_reinforce_pp_equals_verls(gamma: float, batch: RolloutBatch) -> None:
    from verl.trainer.ppo import core_algos

    # A gap inside the response stands for a tool observation: returns must pass over it.
    mask = batch.mask_BT.clone()
    mask[0, 3:5] = 0
    generator = torch.Generator().manual_seed(3)
    dense = torch.randn(B, T, generator=generator, dtype=torch.float64)
    theirs, _ = core_algos.compute_reinforce_plus_plus_outcome_advantage(
        dense, mask, config=SimpleNamespace(gamma=gamma)
    )
    ours = get("reinforce-pp", gamma=gamma, dense=True).advantages(
        RolloutBatch(
            rewards_B=batch.rewards_B,
            mask_BT=mask,
            group_B=batch.group_B,
            token_rewards_BT=dense,
            old_logp_BT=batch.old_logp_BT,
        ),
        Step(),
    )
    torch.testing.assert_close(ours.values_BT, theirs, **CLOSE)


def verl_config(low: float, high: float, mode: str) -> Any:
    from verl.workers.config import ActorConfig

    return ActorConfig(
        strategy="fsdp",
        rollout_n=K,
        ppo_micro_batch_size_per_gpu=1,
        clip_ratio=low,
        clip_ratio_low=low,
        clip_ratio_high=high,
        loss_agg_mode=mode,
    )


@pytest.mark.parametrize(
    "mode", ["token-mean", "seq-mean-token-mean", "seq-mean-token-sum", "seq-mean-token-sum-norm"]
)
@pytest.mark.parametrize("spread", [0.3, 2.0])
def test_clipped_loss_equals_verls_vanilla(mode: str, spread: float, batch: RolloutBatch) -> None:
    from verl.trainer.ppo import core_algos

    algorithm = get("grpo", aggregation=mode, eps_low=0.15, eps_high=0.3)
    values = algorithm.advantages(batch, Step()).values_BT
    # A spread of 2 reaches ratios above 3, where the dual clip acts.
    logp = policy(batch, spread)
    theirs, _ = core_algos.compute_policy_loss_vanilla(
        batch.old_logp_BT, logp, values, batch.mask_BT, mode, verl_config(0.15, 0.3, mode)
    )
    ours = algorithm.loss(
        LossInputs(logp_BT=logp, mask_BT=batch.mask_BT, old_logp_BT=batch.old_logp_BT, advantages_BT=values),
        Step(),
    ).loss
    assert_same(with_gradient(ours, logp), with_gradient(theirs, logp))


def test_gspo_equals_verls(batch: RolloutBatch) -> None:
    from verl.trainer.ppo import core_algos

    algorithm = get("gspo", eps_low=0.05, eps_high=0.08)
    values, logp = algorithm.advantages(batch, Step()).values_BT, policy(batch, 0.2)
    theirs, _ = core_algos.compute_policy_loss_gspo(
        batch.old_logp_BT,
        logp,
        values,
        batch.mask_BT,
        "seq-mean-token-mean",
        verl_config(0.05, 0.08, "token-mean"),
    )
    ours = algorithm.loss(
        LossInputs(logp_BT=logp, mask_BT=batch.mask_BT, old_logp_BT=batch.old_logp_BT, advantages_BT=values),
        Step(),
    ).loss
    assert_same(with_gradient(ours, logp), with_gradient(theirs, logp))


@pytest.mark.parametrize(
    ("name", "options", "function", "low", "high", "mode"),
    [
        ("cispo", {"eps_low": 0.1, "eps_high": 0.3}, "cispo", 0.1, 0.3, "token-mean"),
        ("sapo", {}, "sapo", 0.2, 0.2, "seq-mean-token-mean"),
        ("gmpo", {"eps_low": 0.3, "eps_high": 0.5}, "geo_mean", 0.3, 0.5, "token-mean"),
        ("dppo", {"limit_low": 0.05, "limit_high": 0.1, "truncation": 3.0}, "dppo_tv", 0.05, 0.1, "token-mean"),
        (
            "dppo",
            {"divergence": "kl", "limit_low": 0.02, "limit_high": 0.04, "truncation": 3.0},
            "dppo_kl", 0.02, 0.04, "token-mean",
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("spread", [0.3, 2.0])
def test_recent_losses_equal_verls(
    name: str, options: dict[str, Any], function: str, low: float, high: float, mode: Any, spread: float,
    batch: RolloutBatch,
) -> None:  # fmt: skip
    from verl.trainer.ppo import core_algos

    assert batch.old_logp_BT is not None
    algorithm = get(name, **options)
    values = algorithm.advantages(batch, Step()).values_BT
    # Probabilities stay below 1, as those of a policy do; a spread of 2 reaches every bound.
    logp = policy(batch, spread).detach().clamp(max=-1e-3).requires_grad_()
    old = batch.old_logp_BT.clamp(max=-1e-3)
    theirs, _ = getattr(core_algos, f"compute_policy_loss_{function}")(
        old, logp, values, batch.mask_BT, mode, verl_config(low, high, mode)
    )
    ours = algorithm.loss(
        LossInputs(logp_BT=logp, mask_BT=batch.mask_BT, old_logp_BT=old, advantages_BT=values), Step()
    ).loss
    if name == "gmpo":
        # verl divides twice by the length plus 1e-8: 2e-8 of a row with one token.
        for mine, other in zip(with_gradient(ours, logp), with_gradient(theirs, logp), strict=True):
            torch.testing.assert_close(mine.detach(), other.detach(), rtol=3e-8, atol=1e-8)
        return
    assert_same(with_gradient(ours, logp), with_gradient(theirs, logp))


def test_gmpo_equals_trls(batch: RolloutBatch) -> None:
    from trl.experimental.gmpo.gmpo_trainer import GMPOTrainer

    algorithm = get("gmpo", eps_low=0.3, eps_high=0.5)
    values, logp = algorithm.advantages(batch, Step()).values_BT, policy(batch)
    me = trainer(
        beta=0.0,
        epsilon_low=0.3,
        epsilon_high=0.5,
        top_entropy_quantile=1.0,
        current_gradient_accumulation_steps=1,
        _get_per_token_logps_and_entropies=lambda *_, **__: (logp, torch.zeros_like(logp), None),
    )
    given = {
        "prompt_ids": torch.zeros(B, 1, dtype=torch.long),
        "prompt_mask": torch.ones(B, 1, dtype=torch.long),
        "completion_ids": torch.zeros(B, T, dtype=torch.long),
        "completion_mask": batch.mask_BT,
        "advantages": values[:, 0],
        "old_per_token_logps": batch.old_logp_BT,
    }
    theirs = GMPOTrainer._compute_loss(me, None, given)
    ours = algorithm.loss(
        LossInputs(logp_BT=logp, mask_BT=batch.mask_BT, old_logp_BT=batch.old_logp_BT, advantages_BT=values),
        Step(),
    ).loss
    assert_same(with_gradient(ours, logp), with_gradient(theirs, logp))


def test_gdpo_equals_verls(batch: RolloutBatch) -> None:
    from verl.trainer.ppo import core_algos

    generator = torch.Generator().manual_seed(9)
    # verl reads the terms in float32.
    parts = torch.randn(B, 2, generator=generator).double()
    parts[batch.group_B == 1, 0] = 0.7
    rows = replace(batch, part_BN=parts, part_names=("correct", "format"))
    theirs, _ = core_algos.compute_gdpo_outcome_advantage(
        token_level_rewards=outcome(batch),
        response_mask=batch.mask_BT,
        index=batch.group_B.numpy(),
        config=SimpleNamespace(
            get={"gdpo_reward_keys": ["correct", "format"], "gdpo_reward_weights": [2.0, 0.5]}.get
        ),
        non_tensor_batch={"correct": parts[:, 0].numpy(), "format": parts[:, 1].numpy()},
        batch={
            "prompts": torch.zeros(B, 1),
            "attention_mask": torch.cat([torch.ones(B, 1), batch.mask_BT], 1).long(),
        },
    )
    ours = get("gdpo", weights={"correct": 2.0, "format": 0.5}).advantages(rows, Step()).values_BT
    torch.testing.assert_close(ours, theirs, check_dtype=False, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("level", ["token", "sequence"])
@pytest.mark.parametrize(("upper", "lower"), [(2.0, None), (1.1, None), (2.0, 0.5), (1.5, 0.9)])
def test_importance_correction_equals_verls(
    level: Any, upper: float, lower: float | None, batch: RolloutBatch
) -> None:
    from verl.trainer.ppo.rollout_corr_helper import compute_rollout_correction_weights

    assert batch.old_logp_BT is not None
    logp = policy(batch, 0.4).detach()
    theirs, _ = compute_rollout_correction_weights(
        logp - batch.old_logp_BT,
        batch.mask_BT,
        rollout_is=level,
        rollout_is_threshold=upper if lower is None else f"{lower}_{upper}",
    )
    ours = correction_weights(logp, batch.old_logp_BT, batch.mask_BT, level=level, upper=upper, lower=lower)
    torch.testing.assert_close(ours, theirs, **CLOSE)
    assert 0 < float((ours == upper).sum() if lower is None else (ours == 0).sum()) < ours.numel()


def test_a_correction_of_the_advantages_is_one_of_the_losses(batch: RolloutBatch) -> None:
    from verl.trainer.ppo import core_algos

    assert batch.old_logp_BT is not None
    sampler = policy(batch, 0.3).detach()
    weights = correction_weights(batch.old_logp_BT, sampler, batch.mask_BT)
    algorithm = get("grpo", aggregation="token-mean")
    values, logp = algorithm.advantages(batch, Step()).values_BT, policy(batch, 0.5)
    theirs, _ = core_algos.compute_policy_loss_vanilla(
        batch.old_logp_BT,
        logp,
        values,
        batch.mask_BT,
        "token-mean",
        verl_config(0.2, 0.2, "token-mean"),
        weights,
    )
    given = LossInputs(
        logp_BT=logp, mask_BT=batch.mask_BT, old_logp_BT=batch.old_logp_BT, advantages_BT=values * weights
    )
    ours = algorithm.loss(given, Step()).loss
    assert_same(with_gradient(ours, logp), with_gradient(theirs, logp))
    with pytest.raises(ValueError, match="lower <= upper"):
        correction_weights(sampler, sampler, batch.mask_BT, upper=0.5, lower=2.0)


@pytest.mark.parametrize("kind", ["k1", "k2", "k3"])
def test_kl_estimates_equal_verls(kind: Any, batch: RolloutBatch) -> None:
    from verl.trainer.ppo import core_algos

    assert batch.old_logp_BT is not None
    logp = policy(batch)
    theirs = core_algos.kl_penalty(logp, batch.old_logp_BT, kind) * batch.mask_BT
    ours = surrogate.kl_estimate(logp, batch.old_logp_BT, batch.mask_BT, kind)
    assert_same(with_gradient(ours.sum(), logp), with_gradient(theirs.sum(), logp))
    torch.testing.assert_close(ours, theirs, **CLOSE)


def trainer(**settings: Any) -> SimpleNamespace:
    """What TRL's loss methods read from their trainer; the methods themselves are TRL's own."""
    from accelerate import Accelerator

    return SimpleNamespace(
        accelerator=Accelerator(cpu=True),
        model=SimpleNamespace(training=False),
        aux_loss_enabled=False,
        precompute_ref_logps=True,
        _metrics={"eval": defaultdict(list)},
        _total_train_tokens=0,
        _tp_size=1,
        **settings,
    )


def forward(logp: Tensor, mask: Tensor | None = None) -> Any:
    """A model that answers with given log-probabilities, 0 at padding as TRL's fused head does."""
    outputs = SimpleNamespace(
        log_probs=logp,
        entropy=torch.zeros_like(logp),
        mean_logits=torch.zeros_like(logp),
        is_top1=torch.zeros_like(logp, dtype=torch.bool),
        label_mask=mask,
    )
    return lambda **_: outputs


def tokens(mask: Tensor) -> dict[str, Tensor]:
    """TRL's sequences carry one prompt token in front of the completion."""
    ahead = torch.zeros(mask.shape[0], 1, dtype=torch.long)
    return {
        "input_ids": torch.zeros(mask.shape[0], mask.shape[1] + 1, dtype=torch.long),
        "attention_mask": torch.ones(mask.shape[0], mask.shape[1] + 1, dtype=torch.long),
        "completion_mask": torch.cat([ahead, mask.long()], 1),
    }


def test_kto_equals_trls(batch: RolloutBatch) -> None:
    from trl.trainer.kto_trainer import KTOTrainer

    assert batch.old_logp_BT is not None
    logp, labels, mismatch = policy(batch), batch.rewards_B > 0, 0.4
    me = trainer(
        beta=0.1,
        loss_type="kto",
        calculate_KL=True,
        desirable_weight=1.3,
        undesirable_weight=0.7,
        _compute_kl_logps=lambda *_: torch.full((B,), mismatch, dtype=torch.float64),
    )
    given = {
        **tokens(batch.mask_BT),
        "label": labels,
        "ref_logps": batch.old_logp_BT.sum(1),
        "ref_KL_logps": torch.zeros(B, dtype=torch.float64),
    }
    theirs = KTOTrainer._compute_loss(me, forward(logp * batch.mask_BT), given, return_outputs=False)
    ours = get("kto", desirable_weight=1.3, undesirable_weight=0.7).loss(
        LossInputs(
            logp_BT=logp,
            mask_BT=batch.mask_BT,
            ref_logp_BT=batch.old_logp_BT,
            preference_B=torch.where(labels, 1, -1),
            scalars={"z0": mismatch},
        ),
        Step(),
    )
    assert_same(with_gradient(ours.loss, logp), with_gradient(theirs, logp))


def test_dpo_equals_trls(batch: RolloutBatch) -> None:
    from trl.trainer.dpo_trainer import DPOTrainer

    assert batch.old_logp_BT is not None
    logp, reference = policy(batch), batch.old_logp_BT
    me = trainer(
        beta=0.1, ld_alpha=None, f_divergence_type="reverse_kl", loss_types=["sigmoid"], loss_weights=[1.0],
        use_weighting=False,
    )  # fmt: skip
    chosen, rejected = reference.sum(1).chunk(2)
    given = {**tokens(batch.mask_BT), "ref_chosen_logps": chosen, "ref_rejected_logps": rejected}
    theirs = DPOTrainer._compute_loss(me, forward(logp * batch.mask_BT), given, return_outputs=False)
    ours = get("dpo").loss(
        LossInputs(
            logp_BT=logp,
            mask_BT=batch.mask_BT,
            ref_logp_BT=reference,
            preference_B=torch.tensor([1] * (B // 2) + [-1] * (B // 2)),
            pair_B=torch.arange(B // 2).repeat(2),
        ),
        Step(),
    )
    assert_same(with_gradient(ours.loss, logp), with_gradient(theirs, logp))


@pytest.mark.parametrize(
    ("name", "loss_type", "level", "options"),
    [
        ("grpo", "grpo", "token", {"kl_coef": 0.05}),
        ("dapo", "dapo", "token", {}),
        ("dr-grpo", "dr_grpo", "token", {}),
        ("gspo", "grpo", "sequence", {}),
        ("cispo", "cispo", "token", {}),
        ("sapo", "sapo", "token", {"kl_coef": 0.05, "tau_neg": 1.25}),
    ],
)
def test_policy_losses_equal_trls(
    name: str, loss_type: str, level: str, options: dict[str, Any], batch: RolloutBatch
) -> None:
    from trl.trainer.grpo_trainer import GRPOTrainer

    assert batch.old_logp_BT is not None
    low, high, beta = 0.2, 0.28, options.get("kl_coef", 0.0)
    clips: dict[str, Any] = {"eps_low": low, "eps_high": high, "dual_clip": None}
    # TRL's CISPO has no lower bound, and its upper one is the weight itself.
    clips = {"cispo": {"eps_low": 1.0, "eps_high": 0.28}, "sapo": {}}.get(name, clips)
    algorithm = get(name, **clips, **options)
    values, logp = algorithm.advantages(batch, Step()).values_BT, policy(batch)
    reference = batch.old_logp_BT - 0.3 * batch.mask_BT
    me = trainer(
        beta=beta,
        loss_type=loss_type,
        importance_sampling_level=level,
        epsilon_low=low,
        epsilon_high=1 + high if name == "cispo" else high,
        max_completion_length=T,
        top_entropy_quantile=1.0,
        off_policy_mask_threshold=None,
        use_vllm=False,
        _entropy_bonus_enabled=False,
        current_gradient_accumulation_steps=1,
        args=SimpleNamespace(
            delta=None,
            use_bias_correction_kl=False,
            steps_per_generation=1,
            sapo_temperature_pos=1.0,
            # TRL chooses between the two in float32, which 1.05 is not exactly.
            sapo_temperature_neg=1.25,
        ),
        _get_per_token_logps_and_entropies=lambda *_, **__: (logp, torch.zeros_like(logp), None),
    )
    given = {
        "prompt_ids": torch.zeros(B, 1, dtype=torch.long),
        "prompt_mask": torch.ones(B, 1, dtype=torch.long),
        "completion_ids": torch.zeros(B, T, dtype=torch.long),
        "completion_mask": batch.mask_BT,
        "advantages": values[:, 0],
        "old_per_token_logps": batch.old_logp_BT,
        "ref_per_token_logps": reference,
        "num_items_in_batch": batch.mask_BT.sum(),
    }
    theirs = GRPOTrainer._compute_loss(me, None, given)
    ours = algorithm.loss(
        LossInputs(
            logp_BT=logp,
            mask_BT=batch.mask_BT,
            old_logp_BT=batch.old_logp_BT,
            advantages_BT=values,
            ref_logp_BT=reference,
        ),
        Step(),
    )
    assert_same(with_gradient(ours.loss, logp), with_gradient(theirs, logp))


@pytest.mark.parametrize(("name", "loss_type"), [("sft", "nll"), ("dft", "dft")])
def test_sft_and_dft_equal_trls(name: str, loss_type: str, batch: RolloutBatch) -> None:
    from trl.trainer.sft_trainer import SFTTrainer

    logp = policy(batch)
    me = trainer(
        compute_loss_func=None,
        label_smoother=None,
        args=SimpleNamespace(loss_type=loss_type, average_tokens_across_devices=False, max_length=None),
    )
    given = {**tokens(batch.mask_BT), "labels": torch.zeros(B, T + 1, dtype=torch.long)}
    model = forward(logp * batch.mask_BT, batch.mask_BT.bool())
    theirs = SFTTrainer.compute_loss(me, model, given)
    ours = get(name).loss(LossInputs(expert_logp_ET=logp, expert_mask_ET=batch.mask_BT), Step()).loss
    assert_same(with_gradient(ours, logp), with_gradient(theirs, logp))


@pytest.mark.parametrize("beta", [0.0, 0.3, 1.0])
def test_generalised_jsd_equals_trls(beta: float) -> None:
    from trl.experimental.gold.gold_trainer import GOLDTrainer

    generator = torch.Generator().manual_seed(5)
    student = torch.randn(3, 4, 7, generator=generator, dtype=torch.float64).requires_grad_()
    teacher = torch.randn(3, 4, 7, generator=generator, dtype=torch.float64)
    theirs = GOLDTrainer.generalized_jsd_loss(student, teacher, beta=beta, reduction="sum")
    ours = opsd.generalised_jsd(student.log_softmax(-1), teacher.log_softmax(-1), beta).sum()
    assert_same(with_gradient(ours, student), with_gradient(theirs, student))


def test_saturated_groups_give_zero_where_verl_gives_noise() -> None:
    from verl.trainer.ppo import core_algos

    rewards = torch.full((7, 1), 2.7)
    mask = torch.ones(7, 1)
    theirs, _ = core_algos.compute_grpo_outcome_advantage(rewards.clone(), mask, np.zeros(7, dtype=np.int64))
    ours = get("grpo").advantages(
        RolloutBatch(rewards_B=rewards[:, 0], mask_BT=mask, group_B=torch.zeros(7, dtype=torch.long)), Step()
    )
    assert float(theirs.abs().max()) > 0.1
    assert torch.equal(ours.values_BT, torch.zeros(7, 1))
