"""Two deliberate mistakes or more in every family of algorithms: the formulas of `algorithm_formulas` find each.

A mutant is the module's own source with one fragment replaced.
"""

from __future__ import annotations

import importlib
import inspect
import sys
import types
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from planarena.trainers.algorithms import get

sys.path.append(str(Path(__file__).resolve().parents[2]))
from algorithm_formulas import FORMULAS, TOLERANCE, compare

# formula: (module, what stands there, what stands there by mistake)
MUTANTS: list[tuple[str, str, str, str]] = [
    ("gspo", "gspo", "length_norm=True", "length_norm=False"),
    ("gspo", "gspo", "tokens=step.sequences", "tokens=step.tokens"),
    ("gspo", "gspo", "eps_high=self.config.eps_high", "eps_high=self.config.eps_low / 3"),
    ("gigpo", "gigpo", "episode_B[:, None] + ", "episode_B[:, None] - "),
    ("gigpo", "gigpo", "torch.unique(pair_S2, dim=0", "torch.unique(pair_S2[:, :1], dim=0"),
    ("gigpo", "gigpo", "self.config.step_weight * ", "0.5 * self.config.step_weight * "),
    ("dpo", "dpo", "step.sequences // 2", "step.sequences"),
    ("dpo", "dpo", "ratio_B * sign_B", "ratio_B * sign_B.abs()"),
    ("dpo", "dpo", "self.config.beta * margin_Q", "margin_Q"),
    ("sasr supervised", "sasr", "sft = demonstrations", "sft = 2 * demonstrations"),
    ("sasr", "sasr", "return super().loss(inputs, step)", "return super().loss(inputs, Step(tokens=7))"),
    ("cispo", "cispo", "ratio_BT.detach().exp()", "ratio_BT.exp()"),
    ("cispo with a narrow clip", "cispo", "1.0 + self.config.eps_high", "1.0 + self.config.eps_low"),
    ("sapo", "sapo", "advantages_BT > 0", "advantages_BT < 0"),
    ("sapo", "sapo", "4.0 / tau_BT", "4.0"),
    ("dppo", "dppo", "torch.where(outside_BT, 0.0, loss_BT)", "loss_BT"),
    ("dppo", "dppo", "advantages_BT > 0", "advantages_BT < 0"),
    ("gmpo", "gmpo", "advantage_B[:, None] > 0", "advantage_B[:, None] < 0"),
    ("gmpo", "gmpo", "/ length_B", "/ mask_BT.shape[1]"),
    ("gdpo", "gdpo", "batch.mask_BT.bool() & ~lost_B", "torch.ones_like(batch.mask_BT).bool() & ~lost_B"),
    ("gdpo", "gdpo", "batch.part_BN[:, batch.part_names.index(name)]", "batch.part_BN.sum(1)"),
    ("gtpo", "gtpo", "valid_BN.reshape(-1), group_BN", "valid_BN.reshape(-1), 0 * group_BN"),
    ("gtpo", "gtpo", "batch.step_return_BN.detach()", "-batch.step_return_BN.detach()"),
    ("gagpo", "gagpo", "alike.mean_P[alike.member_B]", "0.5 * alike.mean_P[alike.member_B]"),
    ("gagpo", "gagpo", 'action_means(ratio_BT, inputs.require("mask_BT"))', "ratio_BT"),
    ("opd", "opd", "batch.teacher_logp_BT.double() - ", "-batch.teacher_logp_BT.double() + "),
    ("opd with a reward", "opd", "clamp(-self.config.limit", "clamp(-2 * self.config.limit"),
    ("kto", "kto", "sigmoid(-config.beta", "sigmoid(config.beta"),
    ("luffy", "luffy", "self.config.shaping", "2 * self.config.shaping"),
    ("rlsd", "rlsd", "strength=self.config.strength", "strength=0.5 * self.config.strength"),
    ("dupo", "dupo", "step.step + 1", "step.step"),
    ("awpo with other gains", "awpo", "config.a_prio)", "config.a_base)"),
    ("toolupt", "toolupt", "torch.sigmoid(beta * logp_BT)", "torch.sigmoid(2 * beta * logp_BT)"),
    ("chord-mu", "chord", "1.0 - mu", "1.0"),
    ("fg-dapo", "fg_dapo", "ddof=self.config.ddof", "ddof=1 - self.config.ddof"),
    ("rloo", "rloo", "leave_one_out()", "centred()"),
    ("dr-grpo", "dr_grpo", "centred()", "standardised(ddof=1, eps=1e-6)"),
    ("kto", "kto", "tokens=step.sequences", "tokens=step.tokens"),
    ("awpo", "awpo", "deviation_out_P + deviation_mix_P", "deviation_out_P"),
    ("dupo", "dupo", "self.config.zeta)", "0.5 * self.config.zeta)"),
    ("gear", "gear", "kappa=self.config.kappa", "kappa=0.2 * self.config.kappa"),
    ("gear", "gear", ">= config.tau_onset", ">= 2 * config.tau_onset"),
    ("opsd", "opsd", "self.config.beta\n", "0.3\n"),
    (
        "srft clipped",
        "srft",
        "config.sft_entropy_sign * demo_entropy",
        "-config.sft_entropy_sign * demo_entropy",
    ),
    ("srft clipped", "srft", "config.self_weight * entropy.exp()", "entropy.exp()"),
    (
        "relift supervised",
        "relift",
        "sft - self.config.sft_entropy_coef",
        "sft + self.config.sft_entropy_coef",
    ),
    ("luffy", "luffy", "is_demo_B", "rewards_B"),
    ("sasr", "sasr", "if inputs.logp_BT is not None", "if inputs.logp_BT is None"),
]


def mutated(formula: str, module: str, old: str, new: str) -> Any:
    """The algorithm of a formula with one fragment of its module replaced."""
    name, options, _ = FORMULAS[formula]
    right = get(name, **options)
    original = importlib.import_module(f"planarena.trainers.algorithms.{module}")
    source = inspect.getsource(original)
    assert old in source, f"{module} no longer holds {old!r}"
    made = types.ModuleType(f"mutant_{module}")
    sys.modules[made.__name__] = made
    exec(compile(source.replace(old, new), f"mutant_{module}", "exec"), made.__dict__)
    return getattr(made, type(right).__name__)(right.config)


@pytest.fixture(autouse=True)
def no_mutants_left() -> Iterator[None]:
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.startswith("mutant_"):
            del sys.modules[name]


@pytest.mark.parametrize(("formula", "module", "old", "new"), MUTANTS)
def test_every_mistake_is_found(formula: str, module: str, old: str, new: str, lab: Any) -> None:
    same = mutated(formula, module, old, old)
    for counted in (False, True):
        assert lab.mismatches(compare(formula, algorithm=same, counted=counted), **TOLERANCE) == []
    found: list[str] = []
    for counted in (False, True):
        wrong = mutated(formula, module, old, new)
        try:
            found += lab.mismatches(compare(formula, algorithm=wrong, counted=counted), **TOLERANCE)
        except (RuntimeError, ValueError, TypeError) as error:
            found.append(str(error))
    assert found, f"{old} -> {new} in {module} goes unnoticed"


def test_there_are_two_mistakes_for_the_families_that_once_let_them_pass() -> None:
    counts = Counter(module for _, module, _, _ in MUTANTS)
    assert len(MUTANTS) >= 40
    assert all(counts[module] >= 2 for module in ("gspo", "gigpo", "dpo", "sasr", "kto", "gear", "srft"))
