"""Rollouts: gold actions reach every goal, observations are masked, hints and demonstrations stand where they belong."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from planarena import Run
from planarena.rows import EpisodeRow, TrainingRow
from planarena.trainers import algorithms
from planarena.trainers.config import DataConfig, RolloutConfig, TrainConfig, complete
from planarena.trainers.local.model import Policy, make_tiny
from planarena.trainers.loop.backend import Generated, Sampling
from planarena.trainers.loop.batches import Sample
from planarena.trainers.loop.data import Encoder, Order, Prompt, TrainingData, load_data, load_texts
from planarena.trainers.loop.encoding import make_encoder
from planarena.trainers.loop.episodes import _discard, sample_episodes
from planarena.trainers.loop.rollout import sample_steps
from planarena.trainers.loop.score import Scorer, open_judges
from planarena.trainers.loop.tokenizer import ChatTokenizer, train_tokenizer
from planarena.trainers.types import Needs
from planarena.users import Users

sys.path.append(str(Path(__file__).resolve().parents[2]))
from llm_server import Script, ScriptedServer
from user_model import BadUser, GoodUser

NEEDS = Needs(experts=True, token_types=True, token_rewards=True, entropy=True, demonstrations=True)


def _config(run: Run, **data: Any) -> TrainConfig:
    return complete(
        TrainConfig(
            out="unused",
            algorithm="toolrl",
            data=DataConfig(path=str(run.path), template="short", plan="step", **data),
            rollout=RolloutConfig(max_prompt_length=3000, max_response_length=6000),
        )
    )


@pytest.fixture(scope="module")
def policy(built_run: Run) -> Policy:
    config = _config(built_run)
    tiny = config.model.tiny
    chat = ChatTokenizer(train_tokenizer(load_texts(config, NEEDS), 800))
    small = type(tiny)(hidden=16, layers=1, heads=2, intermediate=16)
    return Policy(make_tiny(small, chat, seed=0, positions=10_000), chat)


def _load(config: TrainConfig, policy: Policy) -> tuple[TrainingData, Encoder]:
    encoder = make_encoder(config, policy.chat, policy.context, NEEDS)
    return load_data(config, NEEDS, encoder), encoder


def _scorer(
    config: TrainConfig, needs: Needs = NEEDS, name: str = "toolrl", users: Users | None = None
) -> Scorer:
    return Scorer(name, {}, None, config.data.format, needs, open_judges(""), users)


def _said(ids: Sequence[int]) -> Generated:
    return Generated(list(ids), [-0.5] * len(ids), [0.1] * len(ids), True)


def test_gold_actions_reach_the_goal_of_every_episode(built_run: Run, policy: Policy) -> None:
    config = _config(built_run, mode="episodes")
    data, _ = _load(config, policy)
    # The longest with them: the limit of decisions counts anew with each message of the user.
    prompts = sorted(data.prompts, key=_decisions)[-6:] + data.prompts[:14]
    prompts = list({prompt.row.row_id: prompt for prompt in prompts}.values())
    assert _decisions(prompts[5]) > config.rollout.max_turns

    def gold(ids: Sequence[Sequence[int]], *, repeats: int = 1, **_: Any) -> list[list[Generated]]:
        """Answer each dialogue with the gold action that comes next."""
        return [[_said(_next_target(policy, prompts, list(one)))] * repeats for one in ids]

    how = Sampling(temperature=1.0, repeats=2)
    found = sample_episodes(policy, prompts, config.rollout, _scorer(config), how, gold)
    assert [sample.success for sample in found.samples] == [1.0] * 2 * len(prompts)
    by_key = {expert.key: expert for expert in data.experts}
    for sample in found.samples:
        # Acting as the gold does writes, token by token, what imitating it would be taught.
        expert = by_key[sample.key]
        assert sample.response_ids == expert.target_ids
        assert sample.mask == expert.mask
        assert len(sample.turn) == len(sample.mask) == len(sample.logp) == len(sample.entropy)
        row = next(prompt.row for prompt in prompts if prompt.row.row_id == sample.key)
        assert isinstance(row, EpisodeRow)
        assert len(set(sample.turn)) == len(row.targets) == len(sample.anchors) == len(sample.returns)
        assert sample.parts["step_reward"] == 1.0
        assert all(value == 0.0 for value, flag in zip(sample.logp, sample.mask, strict=True) if not flag)
        assert sample.returns[0] == pytest.approx(1.0)
    assert found.tool_calls > 40
    assert found.observation_tokens > 0


def test_episodes_that_a_user_spoils_train_nothing_and_move_no_mean(
    built_run: Run, policy: Policy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The gold meets a model that plays the user: a good one leaves it at 1, one that lies is discarded and counted."""
    monkeypatch.setenv("PLANARENA_CACHE", str(tmp_path / "cache"))
    config = _config(built_run, mode="episodes")
    data, _ = _load(config, policy)
    prompts = [prompt for prompt in data.prompts if len(prompt.row.turns) > 1][:4] + data.prompts[:2]

    def gold(ids: Sequence[Sequence[int]], *, repeats: int = 1, **_: Any) -> list[list[Generated]]:
        return [[_said(_next_target(policy, prompts, list(one)))] * repeats for one in ids]

    how = Sampling(temperature=1.0, repeats=2)
    several = sum(len(prompt.row.turns) > 1 for prompt in prompts)
    for player, spoiled in ((GoodUser(), 0), (BadUser("lied"), 2 * several)):
        script = Script(reply=lambda body, player=player: json.dumps(player(body)))
        with ScriptedServer(script) as server, Users(f"model:person@{server.url}") as users:
            scorer = _scorer(config, users=users)
            found = sample_episodes(policy, prompts, config.rollout, scorer, how, gold)
        lost = [sample for sample in found.samples if sample.parts.get("discarded")]
        assert len(lost) == spoiled
        assert all(sample.parts["user_lied"] == 1.0 and not any(sample.mask) for sample in lost)
        kept = [sample for sample in found.samples if not sample.parts.get("discarded")]
        assert {sample.success for sample in kept} == {1.0}
        # Of a group of which nothing is left, no advantage comes; else its mean is that of the others.
        assert {sample.reward for sample in lost} <= {0.0}


def test_a_discarded_episode_has_the_mean_reward_of_its_group() -> None:
    def sample(reward: float, **parts: float) -> Sample:
        return Sample([1], [2, 3], [1, 1], [0.0, 0.0], 0, reward=reward, parts=dict(parts), returns=[reward])

    group = [sample(1.0), sample(0.0), sample(0.9, discarded=1.0), sample(0.5)]
    _discard(group)
    assert group[2].reward == pytest.approx(0.5)
    assert group[2].mask == [0, 0]
    assert [one.mask for one in group[:2]] == [[1, 1]] * 2


def _decisions(prompt: Prompt) -> int:
    assert isinstance(prompt.row, EpisodeRow)
    return len(prompt.row.targets)


def test_who_never_answers_is_stopped_after_as_many_decisions_as_a_message_may_take(
    built_run: Run, policy: Policy
) -> None:
    config = _config(built_run, mode="episodes")
    data, _ = _load(config, policy)
    # Nothing is held back, so that any answer is followed by the next message.
    rows = [(prompt, prompt.row) for prompt in data.prompts]
    prompts = [one for one, row in rows if len(row.turns) == 2 and '"asked"' not in row.brief][:3]
    assert len(prompts) == 3
    rollout = msgspec.structs.replace(config.rollout, max_turns=3)
    asked = 0

    def answers_once(ids: Sequence[Sequence[int]], *, repeats: int = 1, **_: Any) -> list[list[Generated]]:
        nonlocal asked
        asked += 1
        call = '<tool_call>\n{"name": "none", "arguments": {}}\n</tool_call>'
        words = "<response>Done.</response>" if asked == 2 else call
        return [[_said(policy.chat.target(words))] * repeats for _ in ids]

    found = sample_episodes(
        policy, prompts, rollout, _scorer(config), Sampling(temperature=1.0), answers_once
    )
    for sample in found.samples:
        # A call and the answer to the first message, three calls after the second.
        assert sample.parts["turns"] == 5.0
        assert sample.truncated
        assert sample.success == 0.0


def _next_target(policy: Policy, prompts: Sequence[Prompt], ids: list[int]) -> list[int]:
    for prompt in prompts:
        row = prompt.row
        assert isinstance(row, EpisodeRow)
        if ids[: len(prompt.ids)] == prompt.ids:
            taken = sum(
                1
                for token in ids[len(prompt.ids) :]
                if token == policy.chat.tokenizer.convert_tokens_to_ids("<|assistant|>")
            )
            return policy.chat.target(row.targets[taken])
    raise AssertionError("a prompt that nobody asked")


def test_doing_nothing_and_stopping_early_reach_no_goal(built_run: Run, policy: Policy) -> None:
    config = _config(built_run, mode="episodes")
    data, _ = _load(config, policy)

    def lazy(ids: Sequence[Any], *, repeats: int = 1, **_: Any) -> list[list[Generated]]:
        return [[_said(policy.chat.target("<response>Done.</response>"))] * repeats for _ in ids]

    # Where nothing can be done an answer is the right action; the others are what counts here.
    prompts = [prompt for prompt in data.prompts if prompt.row.category == "call"][:10]
    how = Sampling(temperature=1.0)
    found = sample_episodes(policy, prompts, config.rollout, _scorer(config), how, lazy)
    assert {sample.success for sample in found.samples} == {0.0}
    assert found.tool_calls == 0


def test_group_statistics_of_repeated_gold_are_equal_and_demonstrations_join(
    built_run: Run, policy: Policy
) -> None:
    config = _config(built_run)
    data, _ = _load(config, policy)
    prompts = data.prompts[:12]
    assert all(prompt.demonstration is not None for prompt in prompts)

    def gold(ids: Sequence[Any], *, repeats: int = 1, **_: Any) -> list[list[Generated]]:
        return [[_said(prompt.target)] * repeats for prompt in prompts]

    how = Sampling(temperature=1.0, repeats=3, demonstrations=True)
    found = sample_steps(policy, prompts, config.rollout, _scorer(config), how, gold)
    assert [sample.is_demo for sample in found.samples] == [False, False, True] * 12
    assert {sample.success for sample in found.samples} == {1.0}
    for sample in found.samples:
        assert len(sample.token_types) == len(sample.response_ids) == len(sample.token_rewards)
        assert sample.parsed is not None
        assert sample.parsed.valid
        assert sample.text == policy.chat.text(sample.response_ids)[0]
        assert 0.0 < sample.decay < 1.0
    for start in range(0, 36, 3):
        rewards = {sample.reward for sample in found.samples[start : start + 3]}
        assert len(rewards) == 1


def test_hints_are_part_of_the_prompt_and_of_what_is_read(built_run: Run, policy: Policy) -> None:
    config = _config(built_run)
    data, _ = _load(config, policy)
    prompts = data.prompts[:6]
    uft: Any = algorithms.get("uft", hint_low=0.9, hint_high=0.9, seed=1)
    asked: list[list[int]] = []

    def rest(ids: Sequence[Sequence[int]], *, repeats: int = 1, **_: Any) -> list[list[Generated]]:
        asked.extend(list(one) for one in ids)
        return [
            [_said(prompt.target[len(one) - len(prompt.ids) :])] * repeats
            for prompt, one in zip(prompts, ids, strict=True)
        ]

    how = Sampling(temperature=1.0, repeats=2, hint_tokens=uft.hint_tokens)
    found = sample_steps(policy, prompts, config.rollout, _scorer(config), how, rest)
    assert found.hints
    for prompt, ids in zip(prompts, asked, strict=True):
        assert ids[: len(prompt.ids)] == prompt.ids
        assert ids[len(prompt.ids) :] == prompt.target[: len(ids) - len(prompt.ids)]
        assert len(ids) < len(prompt.ids) + len(prompt.target)
    # The response alone would be unreadable; with its hint it is the gold.
    assert {sample.success for sample in found.samples} == {1.0}
    assert all(len(sample.token_types) == len(sample.response_ids) for sample in found.samples)


def test_judged_rewards_ask_once_a_group_and_fill_the_reasoning(built_run: Run, policy: Policy) -> None:
    config = _config(built_run)
    data, _ = _load(config, policy)
    prompts = data.prompts[:4]

    def gold(ids: Sequence[Any], *, repeats: int = 1, **_: Any) -> list[list[Generated]]:
        return [
            [_said(prompt.target)] * (repeats - 1) + [_said(policy.chat.target("<plan>"))]
            for prompt in prompts
        ]

    for name, needs in (("awpo", Needs(reasoning_reward=True)), ("dupo", Needs())):
        scorer = _scorer(config, needs, name)
        how = Sampling(temperature=1.0, repeats=3, judge=True)
        found = sample_steps(policy, prompts, config.rollout, scorer, how, gold)
        for start in range(0, 12, 3):
            right, _, wrong = found.samples[start : start + 3]
            assert right.reward > wrong.reward
            if name == "awpo":
                assert right.reason > wrong.reason
            else:
                assert right.parts["semantic"] == pytest.approx(0.0)
                assert wrong.parts["semantic"] < 0.0
        assert not scorer.counts


def test_disjoint_experts_share_no_prompt_and_orders_repeat(built_run: Run, policy: Policy) -> None:
    from planarena.trainers.config import ExpertsConfig

    config = _config(built_run, experts=ExpertsConfig(mode="disjoint", ratio=0.3))
    data, _ = _load(config, policy)
    sampled = {tuple(prompt.ids) for prompt in data.prompts}
    taught = {tuple(expert.prompt_ids) for expert in data.experts}
    assert sampled
    assert taught
    assert not sampled & taught
    assert data.coverage.experts >= len(data.experts)
    first, second = Order(7, 3, "a"), Order(7, 3, "a")
    taken = first.take(20)
    assert sorted(taken[:7]) == sorted(taken[7:14]) == list(range(7))
    assert taken[:7] != taken[7:14]
    second.taken = 5
    assert second.take(15) == taken[5:]


def test_step_rows_keep_their_targets_in_the_format(built_run: Run, policy: Policy) -> None:
    config = _config(built_run)
    data, encoder = _load(config, policy)
    for prompt in data.prompts[:30]:
        assert isinstance(prompt.row, TrainingRow)
        assert policy.chat.plain(prompt.target) == prompt.row.target
        assert prompt.target[-1] == policy.chat.end
    assert encoder.longest >= max(len(prompt.ids) for prompt in data.prompts)
