"""Sampling: the right distribution, draws fixed by the seed alone, log-probabilities that a full pass confirms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from planarena.trainers.local.forward import plan_micro_batches, score_responses
from planarena.trainers.local.generate import Generated, draw, generate
from planarena.trainers.local.model import Policy

PROMPTS = [[7, 8, 9], [10, 11], [12, 13, 14, 15, 16, 17], [18]]


def test_draws_follow_the_distribution_and_never_take_the_impossible() -> None:
    probs = torch.tensor([0.0, 0.5, 0.0, 0.3, 0.2, 0.0])
    uniform = (torch.arange(20_000) + 0.5) / 20_000
    index = draw(probs.expand(20_000, 6), uniform)
    # A grid of 20,000 points puts each share within one point of it.
    assert torch.allclose(torch.bincount(index, minlength=6) / 20_000, probs, atol=1e-4)
    edge = draw(probs.expand(2, 6), torch.tensor([0.0, 1.0 - 2**-24]))
    assert edge.tolist() == [1, 4]


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_recorded_log_probabilities_equal_a_pass_over_the_whole(
    make_policy: Callable[..., Policy], temperature: float
) -> None:
    policy = make_policy()
    rolled = generate(
        policy, PROMPTS, repeats=3, limits=[12, 5, 9, 12], temperature=temperature, seed=3, entropy=True
    )
    for prompt, group, limit in zip(PROMPTS, rolled, [12, 5, 9, 12], strict=True):
        assert len(group) == 3
        for one in group:
            assert 1 <= len(one.ids) <= limit
            assert one.ended == (one.ids[-1] in policy.chat.ends)
            with torch.no_grad():
                logits = policy.model(torch.tensor([[*prompt, *one.ids]])).logits[0] / temperature
            logprobs = torch.log_softmax(logits[len(prompt) - 1 : -1], -1)
            expected = logprobs[torch.arange(len(one.ids)), torch.tensor(one.ids)]
            # float32 through another order of additions.
            assert torch.allclose(torch.tensor(one.logp), expected, atol=2e-5)
            entropy = -(logprobs.exp() * logprobs).sum(-1)
            assert torch.allclose(torch.tensor(one.entropy), entropy, atol=2e-5)


def test_draws_depend_on_the_seed_and_the_place_alone(make_policy: Callable[..., Policy]) -> None:
    policy = make_policy()

    def ids(prompts: list[list[int]], rows: int, seed: int = 5) -> list[list[list[int]]]:
        rolled = generate(
            policy, prompts, repeats=2, limits=[10] * len(prompts), temperature=1.0, seed=seed, rows=rows
        )
        return [[one.ids for one in group] for group in rolled]

    whole = ids(PROMPTS, rows=64)
    assert ids(PROMPTS, rows=2) == whole
    assert ids(PROMPTS[:2], rows=64) == whole[:2]
    assert ids(PROMPTS, rows=64, seed=6) != whole
    assert whole[0][0] != whole[0][1]


@pytest.mark.parametrize(
    ("tokens", "shapes"), [(1, [(1, 1), (1, 2), (1, 3), (1, 6)]), (12, [(2, 2), (2, 6)])]
)
def test_prompts_read_in_several_passes_give_what_one_pass_gives(
    make_policy: Callable[..., Policy],
    monkeypatch: pytest.MonkeyPatch,
    tokens: int,
    shapes: list[tuple[int, int]],
) -> None:
    policy = make_policy()

    def roll() -> list[list[Generated]]:
        return generate(policy, PROMPTS, repeats=3, limits=[10] * 4, temperature=1.0, seed=5)

    whole = roll()
    passes = []
    forward = policy.forward

    def counted(ids: torch.Tensor, *rest: Any, **wanted: Any) -> torch.Tensor:
        passes.append(tuple(ids.shape))
        return forward(ids, *rest, **wanted)

    monkeypatch.setattr(policy, "forward", counted)
    monkeypatch.setattr("planarena.trainers.local.generate._PREFILL_ON_CPU", tokens)
    parts = roll()
    assert passes[: len(shapes)] == shapes
    for one, other in zip(whole, parts, strict=True):
        assert [row.ids for row in one] == [row.ids for row in other]
        for left, right in zip(one, other, strict=True):
            # float32 through another order of additions.
            assert left.logp == pytest.approx(right.logp, abs=2e-5)


def test_finished_rows_leave_and_the_others_are_untouched(make_policy: Callable[..., Policy]) -> None:
    policy = make_policy()
    # Every third token ends a response, so rows leave at every step.
    ends = list(range(0, len(policy.chat.tokenizer), 3))
    rolled = generate(policy, PROMPTS, repeats=8, limits=[40] * 4, temperature=1.0, seed=1, ends=ends)
    free = generate(policy, PROMPTS, repeats=8, limits=[40] * 4, temperature=1.0, seed=1, ends=[])
    lengths = set()
    for group, others in zip(rolled, free, strict=True):
        for one, other in zip(group, others, strict=True):
            assert one.ids == other.ids[: len(one.ids)]
            assert one.ids[-1] in ends or len(one.ids) == 40
            assert not set(one.ids[:-1]) & set(ends)
            lengths.add(len(one.ids))
    assert len(lengths) > 4


def test_greedy_takes_the_most_probable(make_policy: Callable[..., Policy]) -> None:
    policy = make_policy()
    one = generate(policy, [PROMPTS[0]], limits=[6], temperature=0.0, seed=0, ends=[])[0][0]
    ids = list(PROMPTS[0])
    for token in one.ids:
        with torch.no_grad():
            assert int(policy.model(torch.tensor([ids])).logits[0, -1].argmax()) == token
        ids.append(token)


def test_shared_prompts_give_the_same_values_and_gradients(make_policy: Callable[..., Policy]) -> None:
    policy = make_policy()
    prompts = [PROMPTS[0]] * 3 + [PROMPTS[2]] * 2 + [PROMPTS[3]]
    responses = [[20, 21, 22], [23], [24, 25, 26, 27], [28, 29], [30], [31, 32, 33]]
    results = []
    for groups in ([0, 0, 0, 1, 1, 2], [0, 1, 2, 3, 4, 5]):
        policy.model.zero_grad()
        scored = score_responses(policy, prompts, responses, groups, entropy=True)
        assert scored.entropy_BT is not None
        total = torch.where(scored.mask_BT, scored.logp_BT + 0.3 * scored.entropy_BT, 0.0).sum()
        total.backward()
        gradients = {name: value.grad.clone() for name, value in policy.trainable() if value.grad is not None}
        results.append((torch.where(scored.mask_BT, scored.logp_BT, 0.0).detach(), gradients))
    (shared, shared_gradients), (joined, joined_gradients) = results
    # The same sums in another order, in float32.
    assert torch.allclose(shared, joined, atol=1e-5)
    assert shared_gradients.keys() == joined_gradients.keys()
    for name, gradient in shared_gradients.items():
        assert torch.allclose(gradient, joined_gradients[name], atol=1e-4), name


def test_micro_batches_hold_every_row_once_within_the_budget() -> None:
    generator = torch.Generator().manual_seed(0)
    prompts = torch.randint(1, 60, (40,), generator=generator).repeat_interleave(4).tolist()
    responses = torch.randint(1, 40, (160,), generator=generator).tolist()
    groups = [row // 4 for row in range(160)]
    for budget in (100, 400, 10_000):
        plans = plan_micro_batches(prompts, responses, groups, budget=budget)
        assert sorted(row for plan in plans for row in plan) == list(range(160))
        for plan in plans:
            unique = len({groups[row] for row in plan})
            cost = unique * max(prompts[row] for row in plan) + len(plan) * max(
                responses[row] for row in plan
            )
            assert cost <= budget or len(plan) == 1
    together = plan_micro_batches(prompts, responses, groups, budget=50, together=True)
    assert all(
        len({row for row in plan if groups[row] == group}) in (0, 4)
        for plan in together
        for group in range(40)
    )


def test_a_seed_of_a_prompts_own_does_not_depend_on_its_place(make_policy: Callable[..., Policy]) -> None:
    policy = make_policy()

    def ids(prompts: list[list[int]], seeds: list[int]) -> list[list[int]]:
        limits = [9] * len(prompts)
        rolled = generate(policy, prompts, limits=limits, temperature=1.0, seed=0, seeds=seeds)
        return [group[0].ids for group in rolled]

    whole = ids(PROMPTS, [5, 6, 7, 8])
    assert ids(PROMPTS[::-1], [8, 7, 6, 5]) == whole[::-1]
    assert [ids([prompt], [seed])[0] for prompt, seed in zip(PROMPTS, [5, 6, 7, 8], strict=True)] == whole
    assert ids(PROMPTS, [1, 2, 3, 4]) != whole


def test_a_member_of_a_group_draws_the_same_alone(make_policy: Callable[..., Policy]) -> None:
    """What an episode draws in its second turn must not depend on which others have ended."""
    policy = make_policy()
    wanted: dict[str, Any] = {"temperature": 1.0, "seed": 0}
    (group,) = generate(policy, [PROMPTS[0]], repeats=4, limits=[9], seeds=[5], **wanted)
    assert len({tuple(one.ids) for one in group}) > 1
    for members in ([2], [3, 1]):
        count = len(members)
        alone = generate(
            policy, [PROMPTS[0]] * count, limits=[9] * count, seeds=[5] * count, members=members, **wanted
        )
        assert [one.ids for (one,) in alone] == [group[member].ids for member in members]
