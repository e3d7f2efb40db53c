"""Every loss and gradient equals its formula in numpy; wrong reductions and statistics are noticed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from planarena.trainers.algorithms import names

sys.path.append(str(Path(__file__).resolve().parents[2]))
from algorithm_formulas import FORMULAS, TOLERANCE, compare


def test_every_algorithm_has_a_formula() -> None:
    assert {name for name, _, _ in FORMULAS.values()} == set(names())


@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize("name", FORMULAS)
def test_loss_and_gradient_equal_the_formula(name: str, counted: bool, lab: Any) -> None:
    assert lab.mismatches(compare(name, counted=counted), **TOLERANCE) == []


@pytest.mark.parametrize("kind", ["sign", "mask", "normaliser"])
@pytest.mark.parametrize("name", FORMULAS)
def test_every_spoiled_formula_is_caught(
    name: str, kind: str, lab: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        calls = lab.spoil_loss(patch, kind, target=-1)
        assert lab.mismatches(compare(name), **TOLERANCE) == []
    assert calls[0] > 0
    for target in range(calls[0]):
        with monkeypatch.context() as patch:
            lab.spoil_loss(patch, kind, target)
            wrong = lab.mismatches(compare(name), **TOLERANCE)
        assert wrong, f"a wrong {kind} in reduction {target} of {name} goes unnoticed"


@pytest.mark.parametrize("kind", ["sign", "mask", "normaliser"])
@pytest.mark.parametrize(
    "name",
    [
        *("grpo", "dr-grpo", "dapo", "rloo", "gspo", "luffy", "gear", "fg-dapo", "toolupt"),
        *("chord-mu", "chord-phi", "dupo", "awpo", "uft", "rlsd", "gigpo", "relift", "sasr", "sft-rl"),
        *(
            "cispo",
            "sapo",
            "dppo",
            "gmpo",
            "gdpo",
            "gagpo",
            "gtpo",
            "opd with a reward",
            "awpo sequence",
            "srft clipped",
        ),
    ],
)
def test_every_spoiled_advantage_is_caught(
    name: str, kind: str, lab: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.spoil_statistics(monkeypatch, kind)
    assert lab.mismatches(compare(name), **TOLERANCE)
