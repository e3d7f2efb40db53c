"""Updates: micro-batches and padding change nothing, counts are global, pairs and hints arrive, NaN is skipped."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch

from planarena.formats import get as get_format
from planarena.trainers import algorithms
from planarena.trainers.config import (
    ModelConfig,
    RolloutConfig,
    StageConfig,
    TrainConfig,
    UpdateConfig,
    complete,
)
from planarena.trainers.local.backend import LocalBackend
from planarena.trainers.local.model import Policy
from planarena.trainers.local.optimiser import Optimiser
from planarena.trainers.loop.backend import Work
from planarena.trainers.loop.batches import (
    Expert,
    Sample,
    conditioned_messages,
    mini_batches,
    rollout_batch,
    step_of,
    token_type_codes,
)
from planarena.trainers.loop.encoding import PairTokens
from planarena.trainers.loop.rates import learning_rate, rate_of
from planarena.trainers.loop.update import Updater
from planarena.trainers.schedules import hint_length
from planarena.trainers.types import Step

FORM = get_format("planarena")


def _samples(algorithm: Any, *, demos: bool = False) -> list[Sample]:
    generator = torch.Generator().manual_seed(1)
    rows = []
    for group in range(3):
        prompt = torch.randint(7, 200, (4 + 3 * group,), generator=generator).tolist()
        for member in range(4):
            length = int(torch.randint(2, 9, (), generator=generator))
            ids = torch.randint(7, 200, (length,), generator=generator).tolist()
            reward = float(torch.rand((), generator=generator))
            rows.append(
                Sample(
                    prompt_ids=prompt,
                    response_ids=ids,
                    mask=[1] * (length - 1) + [member % 2],
                    logp=(-torch.rand(length, generator=generator) * 6).tolist(),
                    group=group,
                    key=f"row{group}",
                    is_demo=demos and member == 3,
                    token_types=[member % 7] * length,
                    reward=reward,
                    reason=1.0 - reward,
                    token_rewards=[reward * place for place in range(length)],
                    entropy=[0.5] * length,
                    anchors=[group],
                    returns=[reward],
                    trajectory=len(rows),
                )
            )
    return rows


def _experts() -> list[Expert]:
    generator = torch.Generator().manual_seed(2)
    found = []
    for number in range(5):
        prompt = torch.randint(7, 200, (3 + number,), generator=generator).tolist()
        target = torch.randint(7, 200, (2 + number,), generator=generator).tolist()
        found.append(
            Expert(prompt, target, [1] * len(target), [number % 2] * len(target), f"row{number % 3}")
        )
    return found


def _updater(policy: Policy, name: str, *, budget: int, **options: Any) -> Updater:
    config = complete(
        TrainConfig(
            algorithm=name,
            options=options,
            rollout=RolloutConfig(max_response_length=16),
            # A rate of 0.1 would hide nothing: gradients are compared before the step.
            update=UpdateConfig(micro_batch_tokens=budget, learning_rate=0.1, max_grad_norm=1e9),
        )
    )
    algorithm = algorithms.get(name, **options)
    # A teacher equal to the student would leave OPSD without a gradient.
    other = Policy(copy.deepcopy(policy.model), policy.chat)
    with torch.no_grad():
        other.model.model.embed_tokens.weight[::2] *= 3.0
    return _on(policy, other, algorithm, config)


def _on(policy: Policy, start: Policy, algorithm: Any, config: TrainConfig) -> Updater:
    backend = LocalBackend(config, algorithm).hold(policy)
    backend.start = start
    return Updater(backend, algorithm, config, 10)


def _held(updater: Updater) -> LocalBackend:
    assert isinstance(updater.backend, LocalBackend)
    return updater.backend


def _gradients(
    policy: Policy, name: str, budget: int, monkeypatch: pytest.MonkeyPatch, **options: Any
) -> tuple[dict[str, torch.Tensor], dict[str, float]]:
    updater = _updater(policy, name, budget=budget, **options)
    samples = _samples(updater.algorithm, demos=updater.algorithm.needs.demonstrations)
    batch = rollout_batch(samples, updater.algorithm.needs)
    seen: dict[str, torch.Tensor] = {}

    def take(rate: float, *, finite: bool) -> tuple[float, bool]:
        assert finite
        seen.update({key: value.grad.clone() for key, value in policy.trainable() if value.grad is not None})
        return 1.0, True

    monkeypatch.setattr(_held(updater).optimiser, "apply", take)
    needs = updater.algorithm.needs
    if needs.teacher_logp or needs.teacher_distribution:
        from dataclasses import replace

        batch = replace(batch, teacher_logp_BT=batch.old_logp_BT - 0.1, reverse_kl_BT=batch.old_logp_BT.abs())
    advantages = updater.algorithm.advantages(batch, Step(step=1, total_steps=10))
    work = Work(
        samples=samples,
        batch=batch,
        advantages=advantages,
        ref_logp_BT=batch.old_logp_BT,
        teacher_prompts=[sample.prompt_ids for sample in samples],
        hints=_experts()[:3],
        fresh=False,
    )
    metrics = updater.on_rollouts(work, range(len(samples)), _experts() if needs.experts else (), 1)
    return seen, metrics


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("grpo", {"kl_coef": 0.1, "entropy_coef": 0.01}),
        ("dupo", {}),
        ("toolupt", {}),
        ("chord-phi", {"weight": "entropy_top"}),
        ("chord-mu", {}),
        ("luffy", {}),
        ("srft", {}),
        ("dr-grpo", {}),
        ("gspo", {}),
        ("gear", {}),
        ("uft", {}),
        ("opsd", {}),
    ],
)
def test_micro_batches_add_up(
    name: str, options: dict[str, Any], make_policy: Callable[..., Policy], monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = make_policy()
    whole, told = _gradients(policy, name, 100_000, monkeypatch, **options)
    parts, told_parts = _gradients(policy, name, 40, monkeypatch, **options)
    assert told_parts["update/micro_batches"] > told["update/micro_batches"]
    assert whole
    assert any(float(value.abs().max()) > 1e-4 for value in whole.values())
    for key, value in whole.items():
        # Sums in another order, in float32; a wrong count would be off by tens of per cent.
        assert torch.allclose(value, parts[key], atol=1e-5 + 1e-4 * float(value.abs().max())), (name, key)
    assert told["loss/total"] == pytest.approx(told_parts["loss/total"], abs=1e-5)


def test_counts_are_of_the_whole_batch_and_leave_masked_tokens_out() -> None:
    samples = _samples(None, demos=True)
    step = step_of(3, 9, samples=samples, experts=_experts(), horizon=16)
    assert step.tokens == sum(sum(sample.mask) for sample in samples)
    assert step.tokens < sum(len(sample.mask) for sample in samples)
    assert step.demo_tokens == sum(sum(sample.mask) for sample in samples if sample.is_demo)
    assert step.demo_tokens > 0
    assert (step.step, step.total_steps, step.horizon) == (3, 9, 16)
    assert step.expert_tokens == 2 + 3 + 4 + 5 + 6
    assert step.expert_sequences == 5


def test_preference_updates_move_chosen_above_rejected(make_policy: Callable[..., Policy]) -> None:
    for name in ("dpo", "kto"):
        policy = make_policy()
        updater = _updater(policy, name, budget=60)
        frozen = Policy(copy.deepcopy(policy.model), policy.chat)
        _held(updater).start = frozen
        _held(updater).optimiser.config = UpdateConfig(max_grad_norm=1.0)
        updater.config = complete(TrainConfig(algorithm=name, update=UpdateConfig(learning_rate=3e-3)))
        pairs = [PairTokens([7, 8, 9 + n], [20 + n, 21, 22], [40 + n, 41]) for n in range(4)]
        first = updater.on_pairs(pairs, 0)
        for done in range(1, 12):
            last = updater.on_pairs(pairs, done)
        assert last["loss/total"] < first["loss/total"] - 0.01, name
        if name == "kto":
            assert "preference/z0" in last


def test_a_loss_that_is_not_finite_makes_no_step(make_policy: Callable[..., Policy]) -> None:
    policy = make_policy()
    updater = _updater(policy, "sft", budget=1000)
    before = {name: value.detach().clone() for name, value in policy.trainable()}
    for count in (1, 2):
        with torch.no_grad():
            policy.model.model.norm.weight[0] = float("nan")
        metrics = updater.on_experts(_experts(), 0)
        assert metrics["update/skipped"] == 1.0
        assert updater.skipped_in_a_row == count
    with torch.no_grad():
        policy.model.model.norm.weight.copy_(before["model.norm.weight"])
    for name, value in policy.trainable():
        assert torch.equal(value, before[name]), name
    assert updater.on_experts(_experts(), 0)["update/skipped"] == 0.0
    assert (updater.skipped, updater.skipped_in_a_row) == (2, 0)


def test_gradients_are_clipped_to_the_norm(make_policy: Callable[..., Policy]) -> None:
    policy = make_policy()
    optimiser = Optimiser(policy, UpdateConfig(max_grad_norm=0.5))
    for _, value in policy.trainable():
        value.grad = torch.ones_like(value)
    count = sum(value.numel() for _, value in policy.trainable())
    taken: list[float] = []
    optimiser.adam.step = lambda: taken.append(  # type: ignore[method-assign,assignment]
        float(torch.nn.utils.get_total_norm([value.grad for _, value in policy.trainable()]))
    )
    norm, made = optimiser.apply(0.1, finite=True)
    assert made
    assert norm == pytest.approx(count**0.5, rel=1e-5)
    assert taken[0] == pytest.approx(0.5, rel=1e-5)


def test_the_learning_rate_warms_up_and_falls() -> None:
    cosine = UpdateConfig(learning_rate=2.0, schedule="cosine", warmup=4, final_ratio=0.1)
    rates = [learning_rate(step, 24, cosine) for step in range(25)]
    assert rates[:4] == [0.5, 1.0, 1.5, 2.0]
    assert rates[4] == 2.0
    assert rates[14] == pytest.approx(1.1)
    assert rates[24] == pytest.approx(0.2)
    assert all(later <= earlier for earlier, later in itertools.pairwise(rates[4:]))
    constant = UpdateConfig(learning_rate=2.0, schedule="constant")
    assert {learning_rate(step, 24, constant) for step in range(24)} == {2.0}


def test_each_stage_warms_up_and_falls_by_itself() -> None:
    """A supervised stage of 4 steps at a rate of its own, then RL (ToolUPT Table 7)."""
    sft = StageConfig(learning_rate=8.0, schedule="cosine", final_ratio=0.0)
    update = UpdateConfig(learning_rate=2.0, schedule="constant", warmup=2, sft=sft)
    algorithm = algorithms.get("sft-rl", sft_steps=4)
    rates = [
        rate_of(algorithm, Step(step=done, total_steps=9), update, supervised=done < 4) for done in range(9)
    ]
    assert rates == pytest.approx(
        [8.0, 8.0 * 0.8535533905932737, 4.0, 8.0 * 0.14644660940672624, 1.0, 2.0, 2.0, 2.0, 2.0]
    )
    plain = UpdateConfig(learning_rate=2.0, schedule="constant", warmup=2)
    rates = [
        rate_of(algorithm, Step(step=done, total_steps=9), plain, supervised=done < 4) for done in range(9)
    ]
    assert rates == [1.0, *[2.0] * 8]
    # An algorithm that is supervised from end to end has one stage, and `update.sft` is not for it.
    alone = rate_of(algorithms.get("sft"), Step(step=3, total_steps=9), update, supervised=True)
    assert alone == 2.0


def test_a_recipe_gives_its_supervised_stage_a_rate() -> None:
    """The supervised stage of SFT+DAPO* runs at 1e-5 with a cosine, RL at 1e-6 (ToolUPT Table 7)."""
    update = complete(TrainConfig(algorithm="sft-dapo-star", model=ModelConfig(path="some/model"))).update
    assert (update.learning_rate, update.schedule) == (1e-6, "constant")
    assert update.sft == StageConfig(learning_rate=1e-5, schedule="cosine")
    algorithm = algorithms.get("sft-dapo-star")
    rates = {
        done: rate_of(algorithm, Step(step=done, total_steps=3600), update, supervised=done < 3000)
        for done in (0, 1500, 2999, 3000, 3599)
    }
    assert rates[0] == 1e-5
    assert rates[1500] == pytest.approx(5.5e-6)
    assert rates[2999] == pytest.approx(1e-6, rel=1e-4)
    assert (rates[3000], rates[3599]) == (1e-6, 1e-6)
    # The tiny model takes none of a recipe's rates.
    assert complete(TrainConfig(algorithm="sft-dapo-star")).update.sft is None


def test_mini_batches_keep_groups_whole_and_pass_over_all() -> None:
    groups = [row // 3 for row in range(30)]
    parts = mini_batches(groups, 4, 0)
    assert sorted(row for part in parts for row in part) == list(range(30))
    assert all(len({groups[row] for row in part}) * 3 == len(part) for part in parts)
    assert mini_batches(groups, 4, 0) == parts != mini_batches(groups, 4, 1)
    assert mini_batches(groups, 1, 0) == [list(range(30))]
    sized = mini_batches(groups, 5, 0, mini_batch_size=4)
    assert [len(part) for part in sized] == [12, 12, 6, 12, 12]
    assert sorted(row for part in sized[:3] for row in part) == list(range(30))


def test_the_teacher_sees_the_gold_after_the_last_thing_said() -> None:
    messages = [{"role": "system", "content": "S"}, {"role": "user", "content": "U"}]
    shown = conditioned_messages(messages, "GOLD {target}", "Truth: {target}")
    assert shown[1]["content"] == "U\n\nTruth: GOLD {target}"
    assert messages[1]["content"] == "U"
    assert conditioned_messages([], "G", "{target}") == [{"role": "user", "content": "G"}]


def test_hints_are_whole_segments() -> None:
    assert [hint_length(10, 5, kept) for kept in range(7)] == [0, 2, 4, 6, 8, 10, 10]
    assert hint_length(3, 5, 2) == 2
    assert hint_length(0, 5, 2) == 0


def test_token_types_are_those_of_the_format() -> None:
    text = "<plan>a</plan>"
    codes = token_type_codes(FORM.parse(text), [(0, 6), (6, 7), (7, 14)])
    assert codes == [0, 3, 0]
