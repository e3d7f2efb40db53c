"""Every loss as a formula in numpy, written once more from the papers, and a comparison with ours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from planarena.trainers.algorithms import get
from planarena.trainers.types import LossInputs, RolloutBatch, Step

Array = np.ndarray[Any, np.dtype[np.float64]]
RNG = np.random.default_rng(2)
B, T, E = 8, 5, 3
GROUP = np.repeat([0, 1], 4)
MASK = (np.arange(T) < np.array([[5], [3], [4], [1], [5], [2], [4], [3]])).astype(float)
EMASK = (np.arange(T) < np.array([[5], [2], [4]])).astype(float)
OLD = -RNG.uniform(0.1, 2.5, (B, T))
LOGP = np.minimum(OLD + RNG.uniform(-0.5, 0.5, (B, T)), -0.01)
EXPERT = -RNG.uniform(0.1, 2.5, (E, T))
REF = -RNG.uniform(0.1, 2.5, (B, T))
TEACHER = -RNG.uniform(0.1, 2.5, (B, T))
ENTROPY, EENTROPY = RNG.uniform(0.1, 1.5, (B, T)), RNG.uniform(0.1, 1.5, (E, T))
REWARD = RNG.normal(0.4, 1.0, B)
REASON = RNG.uniform(0, 1, B)
TOKEN_REWARD = np.where(RNG.uniform(0, 1, (B, T)) < 0.4, 4.0, REWARD[:, None])
DEMO = np.arange(B) % 4 == 3
ANCHOR, RETURN = np.array([0, 0, 1, 1, 2, 2, 2, 5]), RNG.uniform(0, 1, B)
SIGN = np.array([1, -1] * 4)


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def standard(rewards: Array, ddof: int = 1, scaled: bool = True) -> Array:
    out = np.zeros_like(rewards)
    for group in np.unique(GROUP):
        inside = group == GROUP
        out[inside] = rewards[inside] - rewards[inside].mean()
        if scaled:
            out[inside] /= rewards[inside].std(ddof=ddof) + 1e-6
    return out


def clipped(logp: Array, values: Array, low: float = 0.2, high: float = 0.2) -> Array:
    ratio = np.exp(logp - OLD)
    return -np.minimum(ratio * values, np.clip(ratio, 1 - low, 1 + high) * values)


def mean(matrix: Array, mask: Array = MASK) -> float:
    return float((matrix * mask).sum() / mask.sum())


def row_mean(matrix: Array) -> float:
    return float(((matrix * MASK).sum(1) / MASK.sum(1)).mean())


def nll(expert: Array) -> float:
    return mean(-expert, EMASK)


def per_token(rewards: Array) -> Array:
    """ToolUPT Eq. 15-17: statistics over all tokens of a group."""
    out = np.zeros_like(rewards)
    for group in np.unique(GROUP):
        inside = (group == GROUP)[:, None] & (MASK > 0)
        out[inside] = (rewards[inside] - rewards[inside].mean()) / (rewards[inside].std() + 1e-6)
    return out


def whitened(rewards: Array) -> Array:
    inside = np.broadcast_to(rewards[:, None], (B, T))[MASK > 0]
    return (rewards[:, None] - inside.mean()) / np.sqrt(inside.var(ddof=1) + 1e-8)


COLUMN = standard(REWARD)[:, None]
CENTRED = standard(REWARD, scaled=False)[:, None]
FINE = per_token(TOKEN_REWARD)
STEP = np.array([RETURN[i] - RETURN[ANCHOR[i] == ANCHOR].mean() for i in range(B)])
GIGPO = (standard(REWARD, scaled=False) + STEP)[:, None]
BENT = COLUMN * (0.5 + 0.5 * np.clip(np.exp(np.sign(COLUMN) * (TEACHER - OLD)), 0.8, 1.2))
KL = lambda logp: np.exp(REF - logp) - 1 - (REF - logp)  # noqa: E731


def sequence(logp: Array, power: Array, values: Array, radius: float) -> float:
    ratio = np.exp(((logp - OLD) * MASK).sum(1) * power)
    return float(-np.minimum(ratio * values, np.clip(ratio, 1 - radius, 1 + radius) * values).mean())


def by_action(logp: Array, values: Array) -> Array:
    """A row without holes is one action."""
    ratio = np.exp(((logp - OLD) * MASK).sum(1) / MASK.sum(1))[:, None] * np.ones((1, T))
    return -np.minimum(ratio * values, np.clip(ratio, 0.8, 1.2) * values)


def srft_clipped(logp: Array, expert: Array) -> float:
    on, off, entropy = MASK * ~DEMO[:, None], MASK * DEMO[:, None], mean(ENTROPY, MASK * ~DEMO[:, None])
    weight = np.where(COLUMN > 0, 0.1 * np.exp(entropy), 1.0)
    return (
        0.5 * np.exp(-entropy) * mean(-logp, off)
        + mean(-np.exp(logp) * COLUMN, off)
        + mean(weight * clipped(logp, COLUMN), on)
    )


def kto(logp: Array, expert: Array) -> float:
    return float((1 - sigmoid(0.1 * SIGN * ((logp - REF) * MASK).sum(1))).mean())


def luffy(logp: Array, expert: Array) -> float:
    shaped = -CENTRED * np.exp(logp) / (np.exp(logp) + 0.1)
    matrix = np.where(DEMO[:, None], shaped, -CENTRED * np.exp(logp - OLD))
    return float((matrix * MASK).sum() / T - 0.001 * mean(ENTROPY))


def phi(logp: Array) -> Array:
    return np.exp(logp) * (1 - np.exp(logp))


def toolupt(logp: Array, expert: Array) -> float:
    chosen = mean(phi(EXPERT) * (1 - sigmoid(0.1 * expert)), EMASK)
    rejected = mean(phi(LOGP) * (FINE < 0) * (1 - sigmoid(-0.1 * logp)))
    return 0.3 * (chosen + rejected) + 0.7 * mean(clipped(logp, FINE))


def dupo(logp: Array, expert: Array) -> float:
    values, average = np.zeros(B), np.zeros(B)
    for group in np.unique(GROUP):
        inside = group == GROUP
        average[inside] = REWARD[inside].mean()
        values[inside] = np.clip(
            (REWARD[inside] - average[inside]) / max(abs(average[inside][0]), 0.1), -3, 3
        )
    # The fourth of seven steps: tau is 4.
    above = np.maximum(average, 0)
    radius = np.maximum(above * 4 / (above + 4), 0.2)[:, None]
    weight = np.exp(-0.02 * 4)
    return weight * nll(expert) + (1 - weight) * mean(0.5 * clipped(logp, values[:, None], 0.2, radius))


def awpo(
    logp: Array, expert: Array, medium: float = 1.5, other: float = 1.0, low: float = 0.5, high: float = 1.5
) -> float:
    values, shares = np.zeros(B), []
    for group in np.unique(GROUP):
        inside = group == GROUP
        spread, mixed = REWARD[inside].std(), (REWARD + REASON)[inside].std()
        share = mixed / (spread + mixed + 1e-6)
        priority = medium if low < REWARD[inside].mean() < high else other
        blend = (1 - share) * standard(REWARD, 0) + share * standard(REWARD + REASON, 0)
        values[inside], shares = priority * blend[inside], [*shares, share]
    radius = 0.1 + (1 - np.mean(shares)) * 0.1
    return mean(clipped(logp, values[:, None], radius, radius))


def gear() -> Array:
    """Advantages of the reconstruction: segments by a scan, row by row."""
    out = np.zeros((B, T))
    for row in range(B):
        length = int(MASK[row].sum())
        signal, entropy = np.maximum(OLD - TEACHER, 0)[row, :length], ENTROPY[row, :length]
        if np.ptp(signal) < 1e-8:
            out[row, :length] = COLUMN[row]
            continue
        signal = (signal - signal.min()) / np.ptp(signal)
        entropy = (entropy - entropy.min()) / np.ptp(entropy)
        carried, onset = signal.copy(), -1
        for token in range(length):
            if signal[token] >= 0.5:
                onset = token
            elif entropy[token] >= 0.8:
                onset = -1
            carried[token] = signal[onset] if onset >= 0 else signal[token]
        raw = 1 - np.sign(COLUMN[row]) * 0.5 * carried
        out[row, :length] = COLUMN[row] * raw / raw.mean()
    return out


def two_sided(logp: Array) -> Array:
    """A vocabulary of the sampled token and everything else."""
    return np.stack([logp, np.log1p(-np.exp(logp))], -1)


def opsd(logp: Array, expert: Array) -> float:
    student, teacher = np.exp(two_sided(logp)), np.exp(two_sided(TEACHER))
    middle = (student + teacher) / 2
    terms = teacher * np.log(teacher / middle) + student * np.log(student / middle)
    return mean(terms.sum(-1) / 2)


def dpo(logp: Array, expert: Array) -> float:
    ratio = ((logp - REF) * MASK).sum(1) * SIGN
    return float(-np.log(sigmoid(0.1 * ratio.reshape(-1, 2).sum(1))).mean())


def sapo(logp: Array, expert: Array) -> float:
    tau = np.where(COLUMN > 0, 1.0, 1.05)
    return row_mean(-4 / tau * sigmoid(tau * (np.exp(logp - OLD) - 1)) * COLUMN)


def dppo(logp: Array, expert: Array) -> float:
    """The trust region and the weight are those of the given policy; only log pi moves."""
    rise, weight = np.exp(LOGP) - np.exp(OLD), np.exp(LOGP - OLD)
    kept = np.where(COLUMN > 0, rise <= 0.05, rise >= -0.04)
    return mean(-1.0 * kept * weight * COLUMN * logp)


def gmpo(logp: Array, expert: Array) -> float:
    logs = np.where(COLUMN > 0, np.minimum(logp - OLD, 0.3), np.maximum(logp - OLD, -0.2))
    return float(-(np.exp((logs * MASK).sum(1) / LENGTH) * COLUMN[:, 0]).mean())


# Between the mean rewards of the two groups.
BETWEEN = float(REWARD.mean())
Formula = Callable[[Array, Array], float]
AWPO_ONLY_OUTCOME = {"eps_mix": 0.0, "difficulty": False, "dynamic_clip": False}
LENGTH = MASK.sum(1)
POPULATION = standard(REWARD, ddof=0)
FORMULAS: dict[str, tuple[str, dict[str, Any], Formula]] = {
    "sft supervised": ("sft", {}, lambda x, e: nll(e)),
    "grpo": ("grpo", {}, lambda x, e: row_mean(clipped(x, COLUMN))),
    "dr-grpo": ("dr-grpo", {}, lambda x, e: float((clipped(x, CENTRED) * MASK).sum() / B / T)),
    "dapo": ("dapo", {}, lambda x, e: mean(clipped(x, COLUMN, 0.2, 0.28))),
    "rloo": ("rloo", {}, lambda x, e: mean(clipped(x, CENTRED * 4 / 3))),
    "reinforce-pp": ("reinforce-pp", {}, lambda x, e: mean(clipped(x, whitened(REWARD)))),
    "gspo": (
        "gspo",
        {"eps_low": 0.05, "eps_high": 0.05},
        lambda x, e: sequence(x, 1 / LENGTH, COLUMN[:, 0], 0.05),
    ),
    "cispo": ("cispo", {}, lambda x, e: mean(-np.clip(np.exp(LOGP - OLD), 0, 5) * COLUMN * x)),
    "cispo with a narrow clip": (
        "cispo",
        {"eps_low": 0.1, "eps_high": 0.2},
        lambda x, e: mean(-np.clip(np.exp(LOGP - OLD), 0.9, 1.2) * COLUMN * x),
    ),
    "sapo": ("sapo", {}, sapo),
    "dppo": ("dppo", {"limit_low": 0.04, "limit_high": 0.05}, dppo),
    "gmpo": ("gmpo", {"eps_low": 0.2, "eps_high": 0.3}, gmpo),
    "gdpo": (
        "gdpo",
        {},
        lambda x, e: mean(clipped(x, whitened(standard(REWARD) + standard(REASON)))),
    ),
    "gtpo": ("gtpo", {}, lambda x, e: mean(clipped(x, standard(RETURN)[:, None]))),
    "gagpo": ("gagpo", {}, lambda x, e: mean(by_action(x, standard(STEP)[:, None]))),
    "opd": ("opd", {}, lambda x, e: mean(clipped(x, TEACHER - OLD))),
    "opd with a reward": (
        "opd",
        {"limit": 0.5, "reward_weight": 0.3},
        lambda x, e: mean(clipped(x, np.clip(TEACHER - OLD, -0.5, 0.5) + 0.3 * COLUMN)),
    ),
    "kto": ("kto", {}, kto),
    "luffy": ("luffy", {}, luffy),
    "opsd": ("opsd", {}, opsd),
    "gear": ("gear", {}, lambda x, e: mean(clipped(x, GEAR))),
    "fg-dapo": ("fg-dapo", {}, lambda x, e: mean(clipped(x, FINE))),
    "toolupt": ("toolupt", {"mixing": "constant", "gamma": 0.3}, toolupt),
    "chord-mu": (
        "chord-mu",
        {"mu_decay": 6},
        lambda x, e: 0.525 * mean(clipped(x, COLUMN)) + 0.475 * nll(e),
    ),
    "chord-phi": (
        "chord-phi",
        {},
        lambda x, e: 0.9 * mean(clipped(x, COLUMN)) + 0.1 * mean(-e * phi(EXPERT), EMASK),
    ),
    "dupo": ("dupo", {}, dupo),
    "awpo": ("awpo", {}, awpo),
    "uft": ("uft", {}, lambda x, e: mean(clipped(x, COLUMN)) - 0.001 * mean(ENTROPY) + 0.001 * nll(e)),
    "relift": (
        "relift",
        {},
        lambda x, e: float((-np.exp(x - OLD) * standard(REWARD, scaled=False)[:, None] * MASK).sum() / T),
    ),
    "relift supervised": ("relift", {}, lambda x, e: nll(e) - 0.001 * mean(EENTROPY, EMASK)),
    "sasr": ("sasr", {}, lambda x, e: mean(clipped(x, COLUMN))),
    "sasr supervised": ("sasr", {}, lambda x, e: nll(e)),
    "sft-rl supervised": ("sft-rl", {"sft_steps": 9}, lambda x, e: nll(e)),
    "sft-rl": ("sft-rl", {"sft_steps": 0}, lambda x, e: row_mean(clipped(x, COLUMN))),
    "dpo": ("dpo", {}, dpo),
    "rlsd": ("rlsd", {}, lambda x, e: mean(clipped(x, BENT))),
    "gigpo": ("gigpo", {}, lambda x, e: mean(clipped(x, GIGPO))),
    "srft clipped": ("srft", {}, srft_clipped),
    "grpo with KL and entropy": (
        "grpo",
        {"kl_coef": 0.3, "entropy_coef": 0.2},
        lambda x, e: row_mean(clipped(x, COLUMN)) + 0.3 * row_mean(KL(x)) - 0.2 * row_mean(ENTROPY),
    ),
    "toolupt without FGAE and SPO": (
        "toolupt",
        {"fgae": False, "spo": False, "mixing": "constant", "gamma": 0.3},
        lambda x, e: 0.3 * nll(e) + 0.7 * mean(clipped(x, COLUMN)),
    ),
    "toolupt without phi": (
        "toolupt",
        {"fgae": False, "phi": False, "mixing": "constant", "gamma": 0.3},
        lambda x, e: (
            0.3 * (mean(1 - sigmoid(0.1 * e), EMASK) + mean((COLUMN < 0) * (1 - sigmoid(-0.1 * x))))
            + 0.7 * mean(clipped(x, COLUMN))
        ),
    ),
    # Neither gain is a float32 number, and only one of the groups is of medium difficulty.
    "awpo with other gains": (
        "awpo",
        {"a_prio": 1.3, "a_base": 0.7, "tau_low": BETWEEN, "tau_high": 9.0},
        lambda x, e: awpo(x, e, medium=1.3, other=0.7, low=BETWEEN, high=9.0),
    ),
    "awpo sequence": (
        "awpo",
        AWPO_ONLY_OUTCOME | {"ratio": "sequence"},
        lambda x, e: sequence(x, np.ones(B), POPULATION, 0.2),
    ),
    "awpo geometric": (
        "awpo",
        AWPO_ONLY_OUTCOME | {"ratio": "sequence_geo"},
        lambda x, e: sequence(x, 1 / LENGTH, POPULATION, 0.2),
    ),
    "awpo without gate": (
        "awpo",
        {"gating": False, "difficulty": False, "dynamic_clip": False},
        lambda x, e: mean(clipped(x, standard(REWARD + REASON, ddof=0)[:, None])),
    ),
    "dupo with a static clip": (
        "dupo",
        {
            "clip": "static",
            "mixing": "constant",
            "gamma": 0.25,
            "rho": dict.fromkeys(("tag_plan", "tag_tool", "tag_resp", "plan", "tool", "resp", "other"), 2.0),
            "advantage": "literal",
        },
        lambda x, e: 0.25 * nll(e) + 0.75 * 2.0 * mean(clipped(x, LITERAL[:, None], 0.2, 0.28)),
    ),
}
GEAR = gear()
LITERAL = np.concatenate([REWARD[g == GROUP] / REWARD[g == GROUP].mean() - 1 for g in (0, 1)])


def difference(function: Callable[[Array], float], at: Array) -> Array:
    """Central differences; the error is about 1e-10 at a step of 1e-6."""
    slope = np.zeros_like(at)
    for index in np.ndindex(*at.shape):
        up, down = at.copy(), at.copy()
        up[index] += 1e-6
        down[index] -= 1e-6
        slope[index] = (function(up) - function(down)) / 2e-6
    return slope


def compare(name: str, *, algorithm: Any = None, counted: bool = False) -> Any:
    """Yield (label, ours, the formula's).

    Args:
        name: Of the formula.
        algorithm: In place of the registered one.
        counted: The loss is told the global counts, as engines tell it.
    """
    algorithm_name, options, formula = FORMULAS[name]
    tensor = torch.from_numpy
    algorithm = algorithm or get(algorithm_name, **options)
    batch = RolloutBatch(
        rewards_B=tensor(REWARD),
        mask_BT=tensor(MASK),
        group_B=tensor(GROUP),
        old_logp_BT=tensor(OLD),
        reason_B=tensor(REASON),
        part_BN=tensor(np.stack([REWARD, REASON], 1)),
        part_names=("correct", "reasoning"),
        token_rewards_BT=tensor(TOKEN_REWARD),
        teacher_logp_BT=tensor(TEACHER),
        entropy_BT=tensor(ENTROPY),
        is_demo_B=tensor(DEMO),
        anchor_BN=tensor(ANCHOR)[:, None],
        step_return_BN=tensor(RETURN)[:, None],
    )
    step = Step(step=3, total_steps=7)
    advantages = algorithm.advantages(batch, step)
    logp, expert = tensor(LOGP.copy()).requires_grad_(), tensor(EXPERT.copy()).requires_grad_()
    supervised = name.endswith("supervised")
    inputs = LossInputs(
        logp_BT=None if supervised else logp,
        mask_BT=batch.mask_BT,
        old_logp_BT=batch.old_logp_BT,
        advantages_BT=torch.where(batch.mask_BT > 0, advantages.values_BT, 5.0),
        eps_low_B=advantages.eps_low_B,
        eps_high_B=advantages.eps_high_B,
        scalars=advantages.scalars,
        rewards_B=batch.rewards_B,
        token_type_BT=torch.zeros(B, T, dtype=torch.long),
        is_demo_B=batch.is_demo_B,
        entropy_BT=batch.entropy_BT,
        ref_logp_BT=tensor(REF),
        preference_B=tensor(SIGN),
        pair_B=torch.arange(B) // 2,
        student_logprobs_BTV=torch.stack([logp, torch.log1p(-logp.exp())], -1),
        teacher_logprobs_BTV=tensor(two_sided(TEACHER)),
        expert_logp_ET=expert,
        expert_mask_ET=tensor(EMASK),
        expert_entropy_ET=tensor(EENTROPY),
    )
    if counted:
        step = replace(
            step,
            tokens=int(MASK.sum()),
            sequences=B,
            demo_tokens=int(MASK[DEMO].sum()),
            expert_tokens=int(EMASK.sum()),
            expert_sequences=E,
            horizon=T,
        )
    loss = algorithm.loss(inputs, step).loss
    on, off = torch.autograd.grad(loss, (logp, expert), allow_unused=True)
    yield "loss", loss, formula(LOGP, EXPERT)
    if on is not None:
        yield "gradient", on, difference(lambda x: formula(x, EXPERT), LOGP)
    if off is not None:
        yield "expert gradient", off, difference(lambda e: formula(LOGP, e), EXPERT)


# Central differences are good to about 1e-9; the deviation's 1e-6 is in both.
TOLERANCE = {"rtol": 1e-6, "atol": 1e-8}
