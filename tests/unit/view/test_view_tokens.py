"""The numbers of the per-token view are the algorithm's own: its advantages, and the formulas of its loss by hand."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest
import torch

from planarena.errors import UserError
from planarena.formats import TokenType
from planarena.trainers import get
from planarena.trainers.loop.backend import Scores, Work
from planarena.trainers.loop.batches import Expert, Sample, rollout_batch
from planarena.trainers.loop.token_log import TokenLog
from planarena.trainers.loop.token_numbers import batch_of, token_numbers
from planarena.trainers.types import Step

STEP = Step(step=6, total_steps=100)
# float32 tensors against float64 formulas.
NEAR = {"rtol": 2e-5, "atol": 2e-6}


class Backend:
    """A tokenizer of one letter a token, and a policy that scores demonstrations by a fixed draw."""

    def __init__(self) -> None:
        self.chat = SimpleNamespace(
            text=lambda ids: ("".join(map(chr, ids)), [(n, n + 1) for n in range(len(ids))]),
            plain=lambda ids: "".join(map(chr, ids)),
        )

    def score(self, rows: list[Sample], **_: Any) -> Scores:
        rng, width = Random(9), max(len(row.response_ids) for row in rows)
        values = [[-3 * rng.random() for _ in range(width)] for _ in rows]
        return Scores(torch.tensor(values), torch.tensor(values).abs())


def samples(seed: int) -> list[Sample]:
    rng = Random(seed)
    made = []
    for number in range(4):
        length = 5 + number * 3
        made.append(
            Sample(
                prompt_ids=[65, 66],
                response_ids=[97 + rng.randrange(20) for _ in range(length)],
                mask=[1] * (length - 1) + [number % 2],
                logp=[-2.5 * rng.random() for _ in range(length)],
                group=0,
                key="row",
                entropy=[2 * rng.random() for _ in range(length)],
                token_types=[rng.randrange(7) for _ in range(length)],
                reward=[0.2, 1.0, 0.7, 1.6][number],
                token_rewards=[rng.random() for _ in range(length)],
                reason=[0.1, 0.9, 0.3, 0.6][number],
            )
        )
    return made


def recorded(folder: Path, name: str, **options: Any) -> tuple[dict[str, Any], Any, Any, Any]:
    """Write a line as training does; return it, the algorithm, its batch and its advantages."""
    algorithm = get(name, **options)
    listed = samples(3)
    batch = rollout_batch(listed, algorithm.needs)
    if algorithm.needs.teacher_distribution:
        rng = Random(4)
        values = [[rng.random() for _ in range(batch.mask_BT.shape[1])] for _ in listed]
        batch = replace(batch, reverse_kl_BT=torch.tensor(values))
    advantages = algorithm.advantages(batch, STEP)
    work = Work(listed, batch, advantages)
    demonstration = Expert([65], [97, 98, 99, 100], [1, 1, 1, 1], [1, 0, 1, 1], "row")
    log = TokenLog(folder, 1, 10, step=0)
    experts = {"row": demonstration} if algorithm.needs.experts else {}
    log.write(work, STEP, 6, name, Backend(), experts)  # type: ignore[arg-type]
    line = json.loads((folder / "rollouts.jsonl").read_bytes())
    return line, algorithm, batch, advantages


def flat(rows: list[list[float]], line: dict[str, Any]) -> np.ndarray[Any, Any]:
    """The values of all tokens that the policy wrote."""
    mask = [one for row in line["rows"] for one in row["mask"]]
    values = [value for row in rows for value in row]
    assert len(values) == len(mask)
    assert all(value == 0 for value, one in zip(values, mask, strict=True) if not one)
    return np.array([value for value, one in zip(values, mask, strict=True) if one])


def numbers(name: str, line: dict[str, Any]) -> np.ndarray[Any, Any]:
    values = [value for row in line["rows"] for value in row[name]]
    mask = [one for row in line["rows"] for one in row["mask"]]
    return np.array([value for value, one in zip(values, mask, strict=True) if one], dtype=float)


ALGORITHMS = ("dupo", "awpo", "toolupt", "chord-mu", "chord-phi", "gear", "grpo")


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("own", [True, False])
def test_advantages_are_those_of_the_algorithm(tmp_path: Path, name: str, own: bool) -> None:
    line, _, batch, advantages = recorded(tmp_path, name)
    found = token_numbers(line, get(name), own=own)
    expected = advantages.values_BT[batch.mask_BT.bool()].numpy()
    assert np.abs(expected).max() > 0.1
    # The record holds nine digits, which say a 32-bit number exactly; a second computation differs in none.
    assert flat(found.advantages, line).astype(np.float32).tolist() == expected.astype(np.float32).tolist()


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_pull_is_what_the_papers_print(tmp_path: Path, name: str) -> None:
    line, algorithm, batch, advantages = recorded(tmp_path, name)
    found = token_numbers(line, get(name), own=True)
    assert found.pull is not None and not found.note
    gain = advantages.values_BT[batch.mask_BT.bool()].double().numpy()
    logp = numbers("logp", line)
    prob, config = np.exp(logp), algorithm.config
    demonstrated = np.exp(np.array(line["experts"][0]["logp"])) if line["experts"] else np.zeros(0)
    expert: Any = None
    if name == "dupo":
        gamma = math.exp(-config.zeta * 7)
        rho = [getattr(config.rho, kind.name.lower(), 0.0) for kind in TokenType]
        weights = np.array([rho[int(code)] for code in numbers("types", line)])
        assert len(set(weights)) > 2
        expected, expert = (1 - gamma) * weights * gain, np.full(4, gamma)
    elif name == "toolupt":
        rise = config.gamma_period * config.gamma_rise
        gamma = config.gamma_low + (config.gamma_high - config.gamma_low) * 6 / rise

        def slope(value: Any) -> Any:
            at = 1 / (1 + np.exp(-config.beta * np.log(value)))
            return config.beta * at * (1 - at) * value * (1 - value)

        expected = (1 - gamma) * gain - gamma * slope(prob) * (gain < -1e-6)
        expert = gamma * slope(demonstrated) * np.array([1, 0, 1, 1])
        assert (gain < -1e-6).any()
    elif name.startswith("chord"):
        mu = 0.1 if name == "chord-phi" else 0.05 + 0.85 * (1 + math.cos(math.pi * 6 / 30)) / 2
        expected = (1 - mu) * gain
        expert = mu * (demonstrated * (1 - demonstrated) if name == "chord-phi" else np.ones(4))
    elif name == "grpo":  # a mean over sequences of the mean over their tokens
        lengths = batch.mask_BT.sum(1, keepdim=True).expand(batch.mask_BT.shape)[batch.mask_BT.bool()].numpy()
        expected = gain * len(gain) / (4 * lengths)
    else:
        expected = gain
    np.testing.assert_allclose(flat(found.pull, line), expected, **NEAR)
    assert (found.expert_pull is None) == (expert is None)
    if expert is not None and found.expert_pull is not None:
        np.testing.assert_allclose(found.expert_pull[0], expert, **NEAR)


def test_gear_moves_the_advantage_within_a_rollout_and_keeps_its_mean(tmp_path: Path) -> None:
    line, *_ = recorded(tmp_path, "gear")
    gear, grpo = token_numbers(line, get("gear"), own=False), token_numbers(line, get("grpo"), own=False)
    for row, moved, flat_row in zip(line["rows"], gear.advantages, grpo.advantages, strict=True):
        kept = [value for value, one in zip(moved, row["mask"], strict=True) if one]
        assert len(set(kept)) > 1
        assert math.isclose(sum(kept) / len(kept), flat_row[0], rel_tol=1e-5)


def test_another_algorithm_gets_the_same_batch(tmp_path: Path) -> None:
    line, *_ = recorded(tmp_path, "dupo")
    _, _, batch, _ = batch_of(line, get("toolupt"))
    direct = rollout_batch(samples(3), get("toolupt").needs)
    for name in ("mask_BT", "group_B", "rewards_B"):
        assert torch.equal(getattr(batch, name), getattr(direct, name))
    assert batch.token_rewards_BT is not None and direct.token_rewards_BT is not None
    torch.testing.assert_close(batch.token_rewards_BT, direct.token_rewards_BT, rtol=1e-8, atol=0)
    with pytest.raises(UserError, match="teacher"):
        token_numbers(line, get("gear"), own=False)


def test_a_run_that_goes_on_writes_the_same_lines(tmp_path: Path) -> None:
    def write(log: TokenLog, done: int) -> None:
        if log.due(done):
            algorithm, listed = get("grpo"), samples(done)
            batch = rollout_batch(listed, algorithm.needs)
            step = Step(step=done, total_steps=30)
            log.write(
                Work(listed, batch, algorithm.advantages(batch, step)), step, done, "grpo", Backend(), {}
            )  # type: ignore[arg-type]

    for folder, killed in (("whole", ()), ("resumed", (7, 12, 20))):
        (tmp_path / folder).mkdir()
        log = TokenLog(tmp_path / folder, 1, 5, step=0)
        for done in range(30):
            if done in killed:
                for lost in range(done, min(done + 4, 30)):
                    write(log, lost)
                log = TokenLog(tmp_path / folder, 1, 5, step=done)
            write(log, done)
    whole = (tmp_path / "whole" / "rollouts.jsonl").read_bytes()
    assert (tmp_path / "resumed" / "rollouts.jsonl").read_bytes() == whole
    assert [msgspec.json.decode(line)["step"] for line in whole.splitlines()] == [1, 6, 11, 16, 21, 26]


def test_a_group_with_something_to_learn_is_written_first(tmp_path: Path) -> None:
    algorithm = get("grpo")
    flat_group = [replace(one, reward=1.0) for one in samples(1)]
    listed = [*flat_group, *(replace(one, group=1) for one in samples(2))]
    batch = rollout_batch(listed, algorithm.needs)
    work = Work(listed, batch, algorithm.advantages(batch, STEP))
    for groups, expected in ((1, {1}), (2, {0, 1})):
        (tmp_path / str(groups)).mkdir()
        TokenLog(tmp_path / str(groups), groups, 1, step=0).write(work, STEP, 0, "grpo", Backend(), {})  # type: ignore[arg-type]
        line = json.loads((tmp_path / str(groups) / "rollouts.jsonl").read_bytes())
        assert {row["group"] for row in line["rows"]} == expected


def test_the_page_shows_every_token_and_number(tmp_path: Path, client_of: Callable[..., Any]) -> None:
    folder = tmp_path / "train"
    folder.mkdir()
    line, *_ = recorded(folder, "toolupt")
    (folder / "run.json").write_text(
        '{"kind": "training", "config": {"algorithm": "toolupt", "options": {}}}'
    )
    client = client_of(tmp_path)
    key = client.key(folder)
    page = client.page(f"/training/tokens?t={key}&row=1&algorithm=toolupt,dupo,gear")
    found = token_numbers(line, get("toolupt"), own=True)
    assert found.pull is not None
    for at, value in enumerate(found.pull[1]):
        assert f'<td class="n">{value:.6g}</td>' in page, at
    assert (
        page.count("no divergence from a teacher") == 1 and page.count('<section class="card v-strip">') == 3
    )
    for query in (
        "&row=99&step=5",
        "&algorithm=nothing",
        "&algorithm=sft,opsd,kto&show=x",
        "&show=advantage",
    ):
        client.page(f"/training/tokens?t={key}{query}")


def test_damaged_records_are_said(tmp_path: Path, client_of: Callable[..., Any]) -> None:
    line, *_ = recorded(tmp_path, "dupo")
    folder = tmp_path / "train"
    folder.mkdir()
    (folder / "run.json").write_text(
        '{"kind": "training", "config": {"algorithm": "dupo", "options": {"x": 1}}}'
    )
    client = client_of(tmp_path)
    rows = line["rows"]
    damaged: list[Any] = [
        {"step": 1, "rows": 5}, {"step": 1, "rows": []}, {"step": 1, "rows": [{"mask": [1]}]}, {**line, "total": "x"},
        {**line, "rows": [{**rows[0], "logp": [1]}]}, {**line, "rows": [{**rows[0], "types": ["x"] * 5}]},
        {**line, "rows": [{**rows[0], "mask": [{}] * 5}]}, {**line, "experts": [5]}, {**line, "scalars": []},
        {**line, "rows": [{**rows[0], "group": 2**70}]}, {**line, "step": 2**70}, {**line, "algorithm": 5},
        {**line, "rows": [{**rows[0], "pieces": 5}]}, {**line, "rows": [{**rows[0], "parts": {"a": "b"}}]},
    ]  # fmt: skip
    for one in damaged:
        (folder / "rollouts.jsonl").unlink(missing_ok=True)
        (folder / "rollouts.jsonl").write_text(json.dumps(one) + "\n")
        answer = client.get(f"/training/tokens?t={client.key(folder)}")
        assert answer.status_code in (200, 409), (one, client.guard.faults)
    assert not client.guard.faults
