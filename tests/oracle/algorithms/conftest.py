"""The oracles, fresh ones by the same script, spoiled primitives, and what comparisons have in common."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from planarena.trainers.algorithms import get, groups, surrogate
from planarena.trainers.types import LossInputs, RolloutBatch, Step

Oracle = dict[str, Any]
Checks = Iterator[tuple[str, Any, Any]]

# What the oracles' script is told instead of its own constants.
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


class Lab:
    """Tools of the comparisons; a comparison yields (label, ours, expected)."""

    def __init__(self, folder: Path, scratch: Path) -> None:
        self.folder = folder
        self.scratch = scratch

    def skip_without_oracles(self) -> None:
        if not self.folder.is_dir():
            pytest.skip("no ../shared/oracles/algorithms beside this checkout")

    def stored(self, file: str) -> Oracle:
        self.skip_without_oracles()
        oracle: Oracle = json.loads((self.folder / f"{file}.json").read_text())
        return oracle

    def fresh(self, file: str, seed: int) -> Oracle:
        """An oracle of other inputs, by the oracles' own script."""
        self.skip_without_oracles()
        made = self.scratch / str(seed)
        if not made.is_dir():
            made.mkdir()
            script = (self.folder / "make_oracles.py").read_text()
            start = "HERE = os.path.dirname(os.path.abspath(__file__))"
            changes = {start: f"HERE = {str(made)!r}\nRNG = np.random.default_rng({seed})", **FRESH}
            for old, new in changes.items():
                assert old in script, f"the oracle script no longer holds {old!r}"
                script = script.replace(old, new, 1)
            exec(compile(script, "make_oracles.py", "exec"), {"__name__": "oracles"})
        oracle: Oracle = json.loads((made / f"{file}.json").read_text())
        return oracle

    @staticmethod
    def mismatches(checks: Checks, *, rtol: float = 1e-9, atol: float = 1e-12) -> list[str]:
        """The tolerance is the one that the oracles state; 1e-12 is for their exact zeros."""
        wrong = []
        for label, ours, expected in checks:
            given = (
                ours.detach().double().numpy() if isinstance(ours, Tensor) else np.asarray(ours, np.float64)
            )
            wanted = np.asarray(expected, dtype=np.float64)
            if given.shape != wanted.shape or not np.allclose(given, wanted, rtol=rtol, atol=atol):
                wrong.append(f"{label}: ours {given.tolist()}, oracle {wanted.tolist()}")
        return wrong

    @staticmethod
    def tensor(values: Any, dtype: torch.dtype) -> Tensor:
        return torch.tensor(values, dtype=dtype)

    @staticmethod
    def poisoned(values: Any, mask: Tensor, dtype: torch.dtype) -> Tensor:
        """Padding holds NaN: a loss that looks at it cannot hide."""
        return torch.where(mask > 0, torch.tensor(values, dtype=dtype), torch.nan)

    def graph(self, values: Any, mask: Tensor, dtype: torch.dtype) -> Tensor:
        return self.poisoned(values, mask, dtype).requires_grad_()

    @staticmethod
    def gradients(loss: Tensor, *leaves: Tensor) -> tuple[Tensor, ...]:
        return torch.autograd.grad(loss, leaves)

    def rollout(self, oracle: Oracle, dtype: torch.dtype) -> RolloutBatch:
        given = oracle["inputs"]
        mask = self.tensor(given["mask"], dtype)
        return RolloutBatch(
            rewards_B=self.tensor(given["rewards"], dtype),
            mask_BT=mask,
            group_B=torch.tensor(given["group_id"]),
            old_logp_BT=self.poisoned(given["old_logp"], mask, dtype),
        )

    def experts(self, oracle: Oracle, dtype: torch.dtype) -> dict[str, Tensor]:
        mask = self.tensor(oracle["inputs"]["expert_mask"], dtype)
        logp = self.graph(oracle["inputs"]["expert_logp"], mask, dtype)
        return {"expert_logp_ET": logp, "expert_mask_ET": mask}

    def clipped_case(self, name: str, oracle: Oracle, dtype: torch.dtype, **options: Any) -> Checks:
        batch, given = self.rollout(oracle, dtype), oracle["inputs"]
        radii = {"eps_low": given["eps_low"], "eps_high": given["eps_high"]}
        expected = oracle["expected"]
        for mode, wanted in expected["by_agg"].items():
            algorithm = get(name, aggregation=mode, **radii, **options)
            advantages = algorithm.advantages(batch, Step())
            yield "advantages", advantages.values_BT, expected["advantages"]
            logp = self.graph(given["logp"], batch.mask_BT, dtype)
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
            yield f"gradient {mode}", self.gradients(outputs.loss, logp)[0], wanted["grad_logp"]
            clipped = np.sum(expected["clipped"]) / np.sum(given["mask"])
            yield "clip fraction", outputs.metrics["policy/clip_fraction"], clipped

    @staticmethod
    def spoil_loss(monkeypatch: pytest.MonkeyPatch, kind: str, target: int) -> list[int]:
        """Spoil the target-th reduction that carries a gradient; returns the running count of them."""
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

    @staticmethod
    def spoil_statistics(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
        """Spoil the statistics of every group."""
        original = groups.group_values

        def spoiled(rewards: Tensor, valid: Tensor, group_B: Tensor) -> groups.Grouped:
            if kind == "mask":
                valid = valid.clone()
                valid.view(-1)[torch.nonzero(valid.view(-1))[0]] = False
                return original(rewards, valid, group_B)
            if kind == "sign":
                return original(-rewards, valid, group_B)
            right = original(rewards, valid, group_B)
            # One member too many: what a wrong divisor of the mean does to every statistic after it.
            return replace(right, mean_P=right.mean_P * right.count_P / (right.count_P + 1))

        monkeypatch.setattr(groups, "group_values", spoiled)


@pytest.fixture(scope="session")
def lab(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return Lab(root.parent / "shared" / "oracles" / "algorithms", tmp_path_factory.mktemp("oracles"))
