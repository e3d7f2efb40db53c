"""Newer algorithms against formulas written again in numpy: masks with holes, groups, turns, every option."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from planarena.errors import ConfigError
from planarena.trainers.algorithms import get, groups
from planarena.trainers.algorithms.gagpo import grouped_gae
from planarena.trainers.types import LossInputs, RolloutBatch, Step

Array = np.ndarray[Any, Any]
ROWS, T, N = 9, 11, 4


def drawn(seed: int) -> dict[str, Array]:
    """A batch of three prompts with groups of different sizes; masks have holes where observations stood."""
    rng = np.random.default_rng(seed)
    mask = (rng.random((ROWS, T)) < 0.7) & (np.arange(T) < rng.integers(3, T + 1, (ROWS, 1)))
    mask[:, 0] = True
    old = np.minimum(-3 * rng.random((ROWS, T)), -1e-3)
    turn = np.sort(rng.integers(0, N, (ROWS, T)), 1)
    steps = turn.max(1) + 1
    return {
        "mask": mask,
        "old": old,
        "logp": np.minimum(old + rng.normal(0, 0.8, (ROWS, T)), -1e-3),
        "group": np.array([0, 0, 1, 1, 1, 2, 2, 2, 2])[rng.permutation(ROWS)],
        "reward": rng.normal(0, 2, ROWS),
        "parts": rng.normal(0, [1.0, 30.0], (ROWS, 2)),
        "turn": turn,
        "steps": steps,
        "returns": rng.normal(0, 1, (ROWS, N)),
    }


def batch_of(case: dict[str, Array]) -> RolloutBatch:
    """The batch as an engine would give it; padding and observations hold NaN."""
    return RolloutBatch(
        rewards_B=torch.tensor(case["reward"]),
        mask_BT=torch.tensor(case["mask"]),
        group_B=torch.tensor(case["group"]),
        old_logp_BT=torch.tensor(np.where(case["mask"], case["old"], np.nan)),
        part_BN=torch.tensor(case["parts"]),
        part_names=("correct", "length"),
        turn_BT=torch.tensor(case["turn"]),
        anchor_BN=torch.tensor(np.where(np.arange(N) < case["steps"][:, None], case.get("anchor", 5), -1)),
        step_return_BN=torch.tensor(case["returns"]),
    )


def standard(values: Array, group: Array, ddof: int) -> Array:
    """(v - mean) / (std + 1e-6) inside each group."""
    out = np.zeros_like(values)
    for name in np.unique(group):
        inside = group == name
        if inside.sum() > 1:
            out[inside] = (values[inside] - values[inside].mean()) / (values[inside].std(ddof=ddof) + 1e-6)
    return out


def cispo(case: dict[str, Array], A: Array, o: dict[str, Any]) -> tuple[Array, Array]:
    w = np.clip(np.exp(case["logp"] - case["old"]), 1 - o["eps_low"], 1 + o["eps_high"])
    return -w * A * case["logp"], -w * A


def sapo(case: dict[str, Array], A: Array, o: dict[str, Any]) -> tuple[Array, Array]:
    r = np.exp(case["logp"] - case["old"])
    tau = np.where(A > 0, o["tau_pos"], o["tau_neg"])
    s = 1 / (1 + np.exp(-tau * (r - 1)))
    return -4 / tau * s * A, -4 * s * (1 - s) * r * A


def dppo(case: dict[str, Array], A: Array, o: dict[str, Any]) -> tuple[Array, Array]:
    p, q = np.exp(case["logp"]), np.exp(case["old"])
    w = np.minimum(p / q, o["truncation"])
    if o["divergence"] == "tv":
        size, up, down = np.abs(p - q), p > q, p < q
    else:
        rest = np.log((1 - q + 1e-8) / (1 - p + 1e-8))
        size, up, down = q * np.log(q / p) + (1 - q) * rest, p > q, p < q
    out = np.where(A > 0, up & (size > o["limit_high"]), down & (size > o["limit_low"]))
    return np.where(out, 0, -A * w * case["logp"]), np.where(out, 0, -A * w)


TOKEN_LOSSES: dict[str, Callable[..., tuple[Array, Array]]] = {"cispo": cispo, "sapo": sapo, "dppo": dppo}
CASES: list[tuple[str, dict[str, Any]]] = [
    ("cispo", {"eps_low": 1.0, "eps_high": 4.0}),
    ("cispo", {"eps_low": 0.2, "eps_high": 0.3}),
    ("sapo", {"tau_pos": 1.0, "tau_neg": 1.05}),
    ("sapo", {"tau_pos": 0.7, "tau_neg": 2.5}),
    ("dppo", {"divergence": "tv", "limit_low": 0.1, "limit_high": 0.15, "truncation": 20.0}),
    ("dppo", {"divergence": "tv", "limit_low": 0.01, "limit_high": 0.3, "truncation": 1.2}),
    ("dppo", {"divergence": "kl", "limit_low": 0.02, "limit_high": 0.05, "truncation": 20.0}),
    ("dppo", {"divergence": "kl", "limit_low": 0.2, "limit_high": 0.001, "truncation": 2.0}),
]


def weights_of(mask: Array, mode: str) -> Array:
    """The weight of each token in the reduction."""
    if mode == "token-mean":
        return mask / mask.sum()
    weights: Array = mask / mask.sum(1, keepdims=True) / len(mask)
    return weights


def ours(name: str, case: dict[str, Array], **options: Any) -> tuple[float, Array, Array]:
    """Loss, gradient and advantages of ours."""
    algorithm, batch = get(name, **options), batch_of(case)
    values = algorithm.advantages(batch, Step()).values_BT
    logp = torch.tensor(np.where(case["mask"], case["logp"], np.nan)).requires_grad_()
    inputs = LossInputs(
        logp_BT=logp,
        mask_BT=batch.mask_BT,
        old_logp_BT=batch.old_logp_BT,
        # Padding must be cut by the mask and not by an advantage that happens to be 0 there.
        advantages_BT=torch.where(batch.mask_BT, values, 7.0),
    )
    loss = algorithm.loss(inputs, Step()).loss
    (gradient,) = torch.autograd.grad(loss, logp)
    return float(loss.detach()), gradient.numpy(), values.numpy()


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("ddof", [0, 1])
@pytest.mark.parametrize("mode", ["token-mean", "seq-mean-token-mean"])
@pytest.mark.parametrize(("name", "options"), CASES)
def test_token_losses_equal_numpy(
    name: str, options: dict[str, Any], mode: str, ddof: int, seed: int
) -> None:
    case = drawn(seed)
    loss, gradient, values = ours(name, case, aggregation=mode, ddof=ddof, **options)
    A = np.where(case["mask"], standard(case["reward"], case["group"], ddof)[:, None], 0)
    np.testing.assert_allclose(values, A, rtol=1e-9, atol=1e-12)
    wanted, slope = TOKEN_LOSSES[name](case, A, options)
    weight = weights_of(case["mask"], mode)
    np.testing.assert_allclose(loss, (wanted * weight).sum(), rtol=1e-9)
    np.testing.assert_allclose(gradient, slope * weight, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(("low", "high"), [(0.4, 0.4), (0.1, 0.9)])
def test_gmpo_equals_numpy(low: float, high: float, seed: int) -> None:
    case = drawn(seed)
    loss, gradient, _ = ours("gmpo", case, eps_low=low, eps_high=high)
    A, mask = standard(case["reward"], case["group"], 1), case["mask"]
    logs = np.where(mask, case["logp"] - case["old"], 0)
    bounded = np.where(A[:, None] > 0, np.minimum(logs, high), np.maximum(logs, -low))
    ratio = np.exp(bounded.sum(1) / mask.sum(1))
    np.testing.assert_allclose(loss, -(ratio * A).mean(), rtol=1e-9)
    slope = -(ratio * A / mask.sum(1) / ROWS)[:, None] * (mask & (bounded == logs))
    np.testing.assert_allclose(gradient, slope, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("weights", [{}, {"correct": 2.0}, {"correct": 0.5, "length": 3.0}])
@pytest.mark.parametrize("whiten", [True, False])
def test_gdpo_equals_numpy(weights: dict[str, float], whiten: bool, seed: int) -> None:
    case = drawn(seed)
    _, _, values = ours("gdpo", case, weights=weights, whiten=whiten)
    named = weights or {"correct": 1.0, "length": 1.0}
    columns = {"correct": 0, "length": 1}
    total = sum(
        weight * standard(case["parts"][:, columns[name]], case["group"], 1) for name, weight in named.items()
    )
    wanted = np.where(case["mask"], np.asarray(total)[:, None], 0)
    if whiten:
        inside = wanted[case["mask"]]
        wanted = np.where(case["mask"], (wanted - inside.mean()) / np.sqrt(inside.var(ddof=1) + 1e-8), 0)
    np.testing.assert_allclose(values, wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("across", ["turn", "turns"])
def test_gtpo_equals_numpy(across: str, seed: int) -> None:
    case = drawn(seed)
    _, _, values = ours("gtpo", case, across=across)
    wanted = np.zeros((ROWS, N))
    reached = np.arange(N) < case["steps"][:, None]
    for name in np.unique(case["group"]):
        for turns in [[n] for n in range(N)] if across == "turn" else [list(range(N))]:
            chosen = reached & (case["group"] == name)[:, None] & np.isin(np.arange(N), turns)
            found = case["returns"][chosen]
            if found.size > 1:
                wanted[chosen] = (found - found.mean()) / (found.std(ddof=1) + 1e-6)
    wanted = np.where(case["mask"], np.take_along_axis(wanted, case["turn"], 1), 0)
    np.testing.assert_allclose(values, wanted, rtol=1e-9, atol=1e-12)


def gagpo(case: dict[str, Array], gamma: float, lam: float) -> Array:
    """By the sums of its definition: no recursion."""
    reached = np.arange(N) < case["steps"][:, None]
    G, V, A = np.where(reached, case["returns"], 0), np.zeros((ROWS, N + 1)), np.zeros((ROWS, N))
    G = np.concatenate([G, np.zeros((ROWS, 1))], 1)
    for b, n in zip(*np.nonzero(reached), strict=True):
        like = (
            reached & (case["group"] == case["group"][b])[:, None] & (case["anchor"] == case["anchor"][b, n])
        )
        V[b, n] = G[:, :N][like].mean()
    for b, n in zip(*np.nonzero(reached), strict=True):
        for k in range(n, case["steps"][b]):
            reward = G[b, k] - gamma * G[b, k + 1]
            A[b, n] += (gamma * lam) ** (k - n) * (reward + gamma * V[b, k + 1] - V[b, k])
    for name in np.unique(case["group"]):
        chosen = reached & (case["group"] == name)[:, None]
        A[chosen] = (A[chosen] - A[chosen].mean()) / (A[chosen].std(ddof=1) + 1e-6)
    return A


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("mode", ["token-mean", "seq-mean-token-mean"])
@pytest.mark.parametrize(("gamma", "lam"), [(0.95, 0.95), (1.0, 0.3), (0.6, 1.0), (0.9, 0.0)])
def test_gagpo_equals_numpy(gamma: float, lam: float, mode: str, seed: int) -> None:
    case = drawn(seed)
    case["anchor"] = np.random.default_rng(seed).integers(0, 3, (ROWS, N))
    loss, gradient, values = ours("gagpo", case, gamma=gamma, lam=lam, aggregation=mode)
    mask = case["mask"]
    wanted = np.where(mask, np.take_along_axis(gagpo(case, gamma, lam), case["turn"], 1), 0)
    np.testing.assert_allclose(values, wanted, rtol=1e-9, atol=1e-12)
    logs, slope, losses = (
        np.where(mask, case["logp"] - case["old"], 0),
        np.zeros((ROWS, T)),
        np.zeros((ROWS, T)),
    )
    weight = weights_of(mask, mode)
    for b in range(ROWS):
        stretches = np.split(np.arange(T), np.flatnonzero(np.diff(mask[b].astype(int))) + 1)
        for places in (one for one in stretches if mask[b, one[0]]):
            ratio, A = np.exp(logs[b, places].mean()), values[b, places]
            losses[b, places] = -np.minimum(ratio * A, np.clip(ratio, 0.8, 1.2) * A)
            losses[b, places] = np.where(A < 0, np.minimum(losses[b, places], -3 * A), losses[b, places])
            follows = np.where(A > 0, ratio < 1.2, (ratio > 0.8) & (ratio < 3))
            slope[b, places] = -(ratio * A * follows * weight[b, places]).sum() / len(places)
    np.testing.assert_allclose(loss, (losses * weight).sum(), rtol=1e-9)
    np.testing.assert_allclose(gradient, slope, rtol=1e-9, atol=1e-12)


def test_gagpo_without_decay_is_gigpos_step_advantage() -> None:
    case = drawn(5)
    case["anchor"] = np.random.default_rng(5).integers(0, 3, (ROWS, N))
    batch = batch_of(case)
    found, valid = grouped_gae(batch.step_return_BN, batch.anchor_BN, batch.group_B, gamma=0.7, lam=1.0)
    other = get("gigpo").step_advantage(batch)
    torch.testing.assert_close(found[valid], other[valid], rtol=1e-9, atol=1e-12)


def test_gdpo_tells_rewards_of_the_same_sum_apart_and_refuses_a_term_that_is_not_there() -> None:
    case = drawn(4)
    case["parts"] = np.stack([np.arange(9.0), -np.arange(9.0)], 1)
    assert np.abs(ours("gdpo", case, weights={"correct": 2.0, "length": 1.0})[2]).max() > 0
    with pytest.raises(ConfigError, match="no term leng"):
        ours("gdpo", case, weights={"leng": 1.0})


@pytest.mark.parametrize("name", ["cispo", "sapo", "dppo", "gmpo", "gdpo", "gtpo", "gagpo"])
def test_a_wrong_statistic_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = drawn(1)
    right = ours(name, case)[0]
    original = groups.group_values

    def spoiled(rewards: torch.Tensor, valid: torch.Tensor, group_B: torch.Tensor) -> groups.Grouped:
        return original(rewards * rewards.sign(), valid, group_B)

    monkeypatch.setattr(groups, "group_values", spoiled)
    assert abs(ours(name, case)[0] - right) > 1e-6
