"""Whose demonstrations an episode run imitates: all, those of other tasks, those of a share, those of other data."""

from __future__ import annotations

from pathlib import Path

import pytest

from planarena import Run
from planarena.rows import RowOptions, load_episodes, write_rows
from planarena.trainers.config import DataConfig, ExpertsConfig, RolloutConfig, TrainConfig, complete
from planarena.trainers.local.model import Policy, make_tiny
from planarena.trainers.loop.data import TrainingData, load_data, load_texts
from planarena.trainers.loop.encoding import make_encoder
from planarena.trainers.loop.tokenizer import ChatTokenizer, train_tokenizer
from planarena.trainers.types import Needs

NEEDS = Needs(experts=True)


def _config(run: Run, experts: ExpertsConfig) -> TrainConfig:
    return complete(
        TrainConfig(
            out="unused",
            algorithm="chord-mu",
            data=DataConfig(path=str(run.path), mode="episodes", experts=experts),
            rollout=RolloutConfig(max_prompt_length=3000, max_response_length=6000),
        )
    )


@pytest.fixture(scope="module")
def policy(built_run: Run) -> Policy:
    config = _config(built_run, ExpertsConfig())
    chat = ChatTokenizer(train_tokenizer(load_texts(config, NEEDS), 800))
    small = type(config.model.tiny)(hidden=16, layers=1, heads=2, intermediate=16)
    return Policy(make_tiny(small, chat, seed=0, positions=10_000), chat)


def _load(run: Run, policy: Policy, experts: ExpertsConfig) -> tuple[TrainingData, set[str], set[str]]:
    config = _config(run, experts)
    data = load_data(config, NEEDS, make_encoder(config, policy.chat, policy.context, NEEDS))
    return data, {prompt.row.row_id for prompt in data.prompts}, {expert.key for expert in data.experts}


def test_shared_demonstrations_are_those_of_the_prompts(built_run: Run, policy: Policy) -> None:
    _, acted, shown = _load(built_run, policy, ExpertsConfig())
    assert acted == shown
    assert len(acted) > 20


def test_disjoint_demonstrations_share_no_task_with_the_prompts(built_run: Run, policy: Policy) -> None:
    data, acted, shown = _load(built_run, policy, ExpertsConfig(mode="disjoint", ratio=0.4))
    _, everything, _ = _load(built_run, policy, ExpertsConfig())
    assert acted
    assert shown
    assert not acted & shown
    assert acted | shown == everything
    assert all(prompt.demonstration is None for prompt in data.prompts)


def test_aligned_demonstrations_stand_with_a_share_of_the_prompts(built_run: Run, policy: Policy) -> None:
    data, acted, shown = _load(built_run, policy, ExpertsConfig(mode="aligned", ratio=0.4))
    _, everything, _ = _load(built_run, policy, ExpertsConfig())
    assert acted == everything
    assert set() < shown < acted
    assert {p.row.row_id for p in data.prompts if p.demonstration is not None} == shown


def test_few_demonstrations_from_a_file_beside_many_tasks(
    built_run: Run, policy: Policy, tmp_path: Path
) -> None:
    few = list(load_episodes(built_run.path, RowOptions(template="short", plan="none")))[:5]
    write_rows(tmp_path / "few.jsonl", few)
    _, acted, shown = _load(built_run, policy, ExpertsConfig(data=str(tmp_path / "few.jsonl")))
    assert shown == {row.row_id for row in few}
    assert len(acted) > 20
